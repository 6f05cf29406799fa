// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/gate_codes.h"

#include <string.h>

// One table a line, by area.
const struct lat_gate_code_table *const lat_gate_code_tables[] = {
    &lat_gate_codes_bench,
    &lat_gate_codes_core,
    &lat_gate_codes_deny,
    &lat_gate_codes_doctor,
    &lat_gate_codes_features,
    &lat_gate_codes_parity,
    &lat_gate_codes_verdict,
    NULL,
};

const struct lat_gate_code *lat_gate_code_find(const char *code)
{
    for (const struct lat_gate_code_table *const *t = lat_gate_code_tables; *t; t++)
        for (size_t i = 0; i < (*t)->count; i++)
            if (strcmp((*t)->codes[i].code, code) == 0)
                return &(*t)->codes[i];
    return NULL;
}
