// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Evidence: what a leg found, bound to the plan's nonce and tree, as a file that shows when it was cut or edited.
#ifndef LAT_GATE_EVIDENCE_H
#define LAT_GATE_EVIDENCE_H

#include "gate/finding.h"
#include "gate/plan.h"

// What a verdict needs to know of a result, and where it came from.
struct lat_leg_evidence {
    struct lat_leg_result result; // owned
    char nonce[33], tree[72];
    unsigned attempt;
};

// WORK/results/LEG.json
LAT_NODISCARD enum lat_status lat_leg_evidence_write(const struct lat_leg_result *result, const struct lat_plan *plan,
                                                 const char *work, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_leg_evidence_read(struct lat_leg_evidence *evidence, const char *path, struct lat_error *error);
void lat_leg_evidence_release(struct lat_leg_evidence *evidence);

// All *.json files of a folder, sorted by name. One that cannot be read is kept as such: a verdict must know of it.
struct lat_leg_evidence_set {
    struct lat_leg_evidence *items;
    size_t count, capacity;
    char (*unreadable)[700]; // messages
    size_t unreadable_count;
};
LAT_NODISCARD enum lat_status lat_leg_evidence_set_read(struct lat_leg_evidence_set *set, const char *folder, struct lat_error *error);
void lat_leg_evidence_set_release(struct lat_leg_evidence_set *set);

#endif
