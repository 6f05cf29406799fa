// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Every code that a finding can carry: `explain CODE` prints it, docs/gate/CODES.md is generated from it. Each area keeps
// its own table in codes_<area>.c.
#ifndef LAT_GATE_GATE_CODES_H
#define LAT_GATE_GATE_CODES_H

#include <stddef.h>

struct lat_gate_code {
    const char *code;    // letter and three digits (linter: D and two digits)
    const char *title;   // "illegal combination configures"
    const char *why;     // what goes wrong when it is let through; one or two sentences
    const char *fix;
    const char *example; // input that raises it, or NULL
};

struct lat_gate_code_table {
    const char *area; // "features"
    const struct lat_gate_code *codes;
    size_t count;
};

// codes_<area>.c defines lat_gate_codes_<area>; gate_codes.c lists it.
extern const struct lat_gate_code_table
    lat_gate_codes_bench,
    lat_gate_codes_core,
    lat_gate_codes_deny,
    lat_gate_codes_doctor,
    lat_gate_codes_features,
    lat_gate_codes_parity,
    lat_gate_codes_verdict;

extern const struct lat_gate_code_table *const lat_gate_code_tables[]; // NULL-terminated
const struct lat_gate_code *lat_gate_code_find(const char *code);

#endif
