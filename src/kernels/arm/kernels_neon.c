// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The kernels of kernels/vec_body.h for NEON; compiled with that instruction set's flags, called only where it is there.
#define LAT_VEC_NEON
#define VEC_TABLE lat_kernels_neon
#define VEC_ISA "neon"
#include "kernels/vec_body.h"
