// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The plan: which legs a change must have green, written before anything runs. A verdict is a join over it, so what is
// missing from the evidence is an error and not a pass.
#ifndef LAT_GATE_PLAN_H
#define LAT_GATE_PLAN_H

#include "core/buf.h"
#include "gate/policy.h"

struct lat_plan_leg {
    const char *name;
    bool required;      // its state counts in the verdict
    bool needed;        // false: this change cannot reach it; only then may it be missing
    const char *reason; // why, or why not
};

struct lat_plan {
    char nonce[33]; // of this run: evidence of another run does not count
    char tree[72];  // git's id of the tree that is judged, or "files:" and a digest where there is no git
    unsigned attempt;
    bool wide; // nothing is known of the change, or too little: every leg is needed
    bool partial; // somebody chose legs: its verdict is not one over the change
    struct lat_plan_leg legs[LAT_POLICY_LEGS_MAX];
    size_t leg_count;
    struct lat_arena arena; // owns the texts
};

// What a change set says of each leg of a policy, in its order.
struct lat_leg_need {
    bool needed;
    const char *reason;
};

// `needs`: leg_count of them, or NULL when nothing is known of the change: every leg is needed. The tree is that of
// `root`, edits and untracked files included.
LAT_NODISCARD enum lat_status lat_plan_make(struct lat_plan *plan, const struct lat_policy *policy, const char *root,
                                            const struct lat_leg_need *needs, struct lat_error *error);
void lat_plan_release(struct lat_plan *plan);
const struct lat_plan_leg *lat_plan_find(const struct lat_plan *plan, const char *leg);

// WORK/plan.json. Reading checks everything, the digest included: E302 in the text when the file is cut or edited.
LAT_NODISCARD enum lat_status lat_plan_write(const struct lat_plan *plan, const char *path, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_plan_read(struct lat_plan *plan, const char *path, struct lat_error *error);

// The id of the tree in `root` as it lies there now: git's, as of `git add -A; git write-tree` (the user's index and objects
// stay as they are), or, where there is no repository, "files:" and a digest over path, mode and content of every file.
LAT_NODISCARD enum lat_status lat_plan_tree(const char *root, char out[72], struct lat_error *error);

#endif
