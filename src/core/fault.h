// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Planted engine faults: with the build option LATTICE_FAULTS, the environment variable LATTICE_FAULT=<name> makes the
// engine wrong in one known way, so that a test can show that the parity check catches it. In an ordinary build every
// test of a fault is the constant false, and the code of the fault is not compiled in.
#ifndef LAT_CORE_FAULT_H
#define LAT_CORE_FAULT_H

#include <stdbool.h>

#ifdef LATTICE_FAULTS
#include <stdlib.h>
#include <string.h>
static inline bool lat_fault_on(const char *name)
{
    const char *wanted = getenv("LATTICE_FAULT");
    return wanted && strcmp(wanted, name) == 0;
}
#define LAT_FAULT(name) lat_fault_on(name)
#else
#define LAT_FAULT(name) false
#endif

#endif
