// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The kinds of legs. A kind reads its keys, does its work inside `root` and fills a result; evidence, plan and verdict
// are the caller's.
#ifndef LAT_GATE_LEG_H
#define LAT_GATE_LEG_H

#include "gate/finding.h"
#include "gate/policy.h"

struct lat_gate_run {
    const char *root;   // the project's folder, absolute
    const char *work;   // scratch and evidence folder, absolute, exists: ROOT/.gate unless told
    struct lat_policy *policy;
    bool verbose;       // progress lines on stderr
};

struct lat_leg_kind {
    const char *name;
    // Refuses wrong keys and values; called for every leg when a policy is read by a command that runs legs.
    enum lat_status (*check)(struct lat_policy *policy, const struct lat_policy_leg *leg, struct lat_error *error);
    // LAT_OK: `result` says it all. Anything else: could not judge (an ERROR result is made of it).
    enum lat_status (*run)(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result,
                           struct lat_error *error);
};

const struct lat_leg_kind *lat_leg_kind_find(const char *name);

extern const struct lat_leg_kind lat_leg_command, lat_leg_features, lat_leg_bench_compile, lat_leg_deny, lat_leg_feeds,
    lat_leg_parity, lat_leg_doctor;

#endif
