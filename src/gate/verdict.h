// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The verdict: a join over the plan. A pure function of the plan, the evidence and what a second witness saw; total,
// independent of order, and monotone: no input that gets worse can make red green. (NOT_REQUIRED is the plan's word; a
// result that says it is an error.)
#ifndef LAT_GATE_VERDICT_H
#define LAT_GATE_VERDICT_H

#include "gate/finding.h"
#include "gate/plan.h"

// What is known of one result.
struct lat_witness {
    const char *leg;
    enum lat_leg_state state;
    bool nonce_fits, tree_fits, attempt_fits;
    int process_status;
    uint64_t population, population_min;
};

// What the platform that ran the legs says of one (GitHub's needs.*.result), a second witness.
struct lat_second_witness {
    const char *leg;
    const char *result; // "success", "failure", "skipped", ...
};

struct lat_verdict_leg {
    const struct lat_plan_leg *plan;
    enum lat_leg_state state; // after all rules
    const char *code;         // of the rule that made it red: "V202", ...; NULL: what the leg itself found
    const char *why;          // of that rule
};

struct lat_verdict {
    struct lat_verdict_leg legs[LAT_POLICY_LEGS_MAX];
    size_t count;
    enum lat_leg_state state; // worst of the required legs, and of what stands outside of the plan
    size_t unknown;           // results of legs that the plan does not know: V202
    size_t unreadable;        // results that cannot be read: E302
};

void lat_verdict_join(struct lat_verdict *verdict, const struct lat_plan *plan, const struct lat_witness *results, size_t count,
                      size_t unreadable, const struct lat_second_witness *second, size_t second_count);
// Left of UNMEASURABLE is green.
static inline bool lat_verdict_is_green(const struct lat_verdict *verdict) { return verdict->state < LAT_LEG_UNMEASURABLE; }

#endif
