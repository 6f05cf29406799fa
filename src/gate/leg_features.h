// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A leg of kind "features", with what its command may say differently.
#ifndef LAT_GATE_LEG_FEATURES_H
#define LAT_GATE_LEG_FEATURES_H

#include "gate/features_config.h"
#include "gate/leg.h"

struct lat_features_choice {
    const char *mode;   // NULL: the leg's
    size_t part, parts; // 1 of 1: all
    bool no_tests;
};

LAT_NODISCARD enum lat_status lat_features_run(const struct lat_gate_run *run, const struct lat_policy_leg *leg,
                                               const struct lat_features_choice *choice, struct lat_leg_result *result,
                                               struct lat_error *error);

#endif
