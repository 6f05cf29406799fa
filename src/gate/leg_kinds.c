// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/leg.h"

#include <string.h>

// One kind a line.
static const struct lat_leg_kind *const kinds[] = {
    &lat_leg_bench_compile,
    &lat_leg_command,
    &lat_leg_deny,
    &lat_leg_feeds,
    &lat_leg_doctor,
    &lat_leg_features,
    &lat_leg_parity,
};

const struct lat_leg_kind *lat_leg_kind_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}
