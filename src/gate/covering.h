// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Covering arrays under constraints: few legal assignments in which every combination of values of every t options that
// some legal assignment has, occurs. Rows by greedy choice, then fewer rows by local search; the same rows on every
// machine.
#ifndef LAT_GATE_COVERING_H
#define LAT_GATE_COVERING_H

#include "gate/feature_model.h"

enum { LAT_COVERING_STRENGTH_MAX = 3 };

struct lat_covering {
    struct lat_feature_rows rows; // the seeds come first
    size_t tuples;   // combinations that must occur, and do
    size_t excluded; // combinations that the constraints forbid
};

// `strength` t: 1 to LAT_COVERING_STRENGTH_MAX. `seeds` are legal assignments that must be among the rows.
LAT_NODISCARD enum lat_status lat_covering_new(struct lat_covering *out, const struct lat_feature_model *model, size_t strength,
                                               const struct lat_assignment *seeds, size_t seed_count, struct lat_error *error);
void lat_covering_release(struct lat_covering *covering);

#endif
