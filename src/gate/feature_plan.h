// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Which assignments a `features` leg builds, and in which of them it runs tests.
#ifndef LAT_GATE_FEATURE_PLAN_H
#define LAT_GATE_FEATURE_PLAN_H

#include "gate/feature_model.h"
#include "gate/leg.h"

// Keys of the leg beside those of the model.
struct lat_feature_plan {
    struct lat_feature_model model;
    const char *mode;                 // list (the named sets), each, t2, t3, exhaustive
    uint64_t max_assignments;         // of exhaustive (256)
    struct lat_text_list configure;   // further arguments of cmake's configure step
    struct lat_text_list test_configure; // the same for assignments whose tests run
    struct lat_text_list test_on;     // names of sets
    struct lat_text_list unlisted;    // globs of cache options that are no features
    uint64_t min_tests;
    struct lat_feature_rows rows;     // to be built
    char coverage[120];               // what these rows cover: "all 8 assignments", "all 42 pairs in 6 of 64 assignments"
};

// Reads and plans; LAT_FORMAT with the place, LAT_LIMIT when exhaustive is too much. Release it in any case.
LAT_NODISCARD enum lat_status lat_feature_plan_make(struct lat_feature_plan *plan, struct lat_policy *policy,
                                                    const struct lat_policy_leg *leg, const char *mode, struct lat_error *error);
void lat_feature_plan_release(struct lat_feature_plan *plan);

#endif
