// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Findings of the deny leg on their way into its result: which check they belong to, and whether a waiver covers them. A
// waiver turns a failure into a warning that says who and until when; one that is expired, covers nothing, or covers
// several findings without naming a path or an anchor is a failure itself.
#ifndef LAT_GATE_DENY_JUDGE_H
#define LAT_GATE_DENY_JUDGE_H

#include <stdint.h>

#include "gate/finding.h"
#include "gate/policy.h"

enum {
    LAT_DENY_BANS = 2,
    LAT_DENY_LICENSES = 4,
    LAT_DENY_SOURCES = 8,
    LAT_DENY_INTEGRITY = 16,
    LAT_DENY_ALL = 30,
};

enum { LAT_DENY_WAIVERS_MAX = 512 };

struct lat_deny_judge {
    struct lat_leg_result *result;
    const struct lat_policy *policy;
    const char *file; // the policy's, for places
    int64_t now;     // seconds since 1970
    unsigned checks; // LAT_DENY_* that were asked for; findings of others are dropped
    unsigned failed; // checks with a failure
    size_t matched[LAT_DENY_WAIVERS_MAX]; // findings that each waiver covers
};

// Where a finding stands, and what a waiver can be tied to.
struct lat_deny_place {
    const char *path; // may be NULL
    size_t line;
    const char *anchor; // name of a component; may be NULL
};

void lat_deny_find(struct lat_deny_judge *judge, unsigned check, enum lat_leg_state state, const char *code,
                   struct lat_deny_place place, const char *fix, const char *message, ...) LAT_PRINTF(7, 8);
// W701 for waivers of this leg that are expired or do not cover what they should; only after all checks.
void lat_deny_judge_close(struct lat_deny_judge *judge);

// Days since 1970 of "2026-12-31"; false when it is no date.
bool lat_date_parse(const char *text, size_t length, int64_t *days);

#endif
