// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What a leg found, and what it concluded. Every report is a pure function of these.
#ifndef LAT_GATE_FINDING_H
#define LAT_GATE_FINDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/mem.h"
#include "lattice/status.h"

// Worst wins; from UNMEASURABLE on a required leg is red.
#define LAT_LEG_STATE_MAP(X) \
    X(PASS) X(REUSED) X(NOT_REQUIRED) X(INFO) X(WARN) X(UNMEASURABLE) X(FAIL) X(ERROR)
enum lat_leg_state {
#define LAT_LEG_STATE_ENUM(name) LAT_LEG_##name,
    LAT_LEG_STATE_MAP(LAT_LEG_STATE_ENUM)
#undef LAT_LEG_STATE_ENUM
    LAT_LEG_STATE_COUNT
};
const char *lat_leg_state_name(enum lat_leg_state state); // "PASS"
bool lat_leg_state_parse(const char *name, enum lat_leg_state *out);
static inline enum lat_leg_state lat_leg_state_worse(enum lat_leg_state a, enum lat_leg_state b) { return a > b ? a : b; }

struct lat_finding {
    const char *code;         // "F402"; described in gate_codes
    enum lat_leg_state state; // what it makes of its leg: INFO, WARN, UNMEASURABLE, FAIL or ERROR
    const char *path;         // NULL: no file; bytes as in the tree
    size_t line, column;      // 0: unknown
    const char *message;      // one line: what and why
    const char *fix;          // one line: how to repair; may be NULL
};

enum { LAT_LEG_FINDINGS_MAX = 2000 };

struct lat_leg_result {
    const char *leg;
    enum lat_leg_state state; // at least as bad as every finding
    uint64_t population, population_min; // what was looked at (tests, TUs, positions, ...), and the least that counts
    const char *population_unit;         // "tests"
    uint64_t passed, failed, skipped;
    double seconds;
    uint64_t rss_peak; // bytes; 0: not measured
    int process_status; // exit status of the leg's own process, the second witness; 0 when it ran inside the gate
    struct lat_finding *findings;
    size_t finding_count, finding_capacity;
    size_t findings_dropped; // beyond LAT_LEG_FINDINGS_MAX, or for want of memory; they count in `state`
    json_t *details; // object; what only this kind of leg has. May be NULL
    struct lat_arena arena; // owns every text above
};

void lat_leg_result_init(struct lat_leg_result *result, const char *leg);
void lat_leg_result_release(struct lat_leg_result *result);
// Adds a finding (texts are copied; all but the path become one line of UTF-8 with control bytes escaped) and worsens the
// state. A failed allocation worsens the state to ERROR all the same. `message` is printf style.
void lat_leg_find(struct lat_leg_result *result, enum lat_leg_state state, const char *code, const char *path,
                  size_t line, const char *fix, const char *message, ...) LAT_PRINTF(7, 8);
// `text` as one line of UTF-8, control bytes escaped, in the result's memory: for what comes from strangers and goes into
// JSON. NULL when memory is short.
const char *lat_leg_text(struct lat_leg_result *result, const char *text);
// Closes a result: a population below its minimum is V205 ERROR, whatever was found. Without a minimum a population of
// zero is that, too, unless the state says already that nothing could be measured.
void lat_leg_result_close(struct lat_leg_result *result);

#endif
