// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Planted engine faults: with the build option LATTICE_FAULTS, the environment variable LATTICE_FAULT=<name> makes the
// engine wrong in one known way (<name>@<layer>: in that layer only), so that a test can show that the parity check
// catches it. In an ordinary build every test of a fault is the constant false, and the code of the fault is not compiled in.
// LATTICE_REORDER=<seed> is no fault: it adds the terms of every product in another order, which must not be called wrong.
#ifndef LAT_CORE_FAULT_H
#define LAT_CORE_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef LATTICE_FAULTS
#include <stdlib.h>
#include <string.h>
static inline bool lat_fault_on(const char *name)
{
    const char *wanted = getenv("LATTICE_FAULT");
    return wanted && strcmp(wanted, name) == 0;
}
static inline bool lat_fault_on_layer(const char *name, size_t layer)
{
    const char *wanted = getenv("LATTICE_FAULT");
    size_t length = strlen(name);
    return wanted && strncmp(wanted, name, length) == 0 && wanted[length] == '@'
        && strtoul(wanted + length + 1, NULL, 10) == layer;
}
static inline unsigned long lat_fault_seed(void)
{
    const char *seed = getenv("LATTICE_REORDER");
    return seed ? strtoul(seed, NULL, 10) : 0;
}
#define LAT_FAULT(name) lat_fault_on(name)
#define LAT_FAULT_AT(name, layer) lat_fault_on_layer(name, layer)
#define LAT_FAULT_REORDER() lat_fault_seed()
#else
#define LAT_FAULT(name) false
#define LAT_FAULT_AT(name, layer) ((void)(layer), false)
#define LAT_FAULT_REORDER() 0ul
#endif

#endif
