// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Where the gate works: the policy's file, the project's folder, the folder of evidence.
#ifndef LAT_GATE_GATE_PLACE_H
#define LAT_GATE_GATE_PLACE_H

#include "lattice/status.h"

// Where a command works.
struct lat_gate_place {
    char policy[4096]; // path of the policy file
    char root[4096];   // its folder, absolute
    char work[4096];   // evidence; absolute, made with a .gitignore of its own
};
// `policy` NULL: gate.yaml here or in the nearest folder above. `work` NULL: ROOT/.gate.
LAT_NODISCARD enum lat_status lat_gate_place_find(struct lat_gate_place *place, const char *policy, const char *work,
                                                  struct lat_error *error);

#endif
