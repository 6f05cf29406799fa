// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The kernels of kernels/vec_body.h for AVX2; compiled with that instruction set's flags, called only where it is there.
#define LAT_VEC_AVX2
#define VEC_TABLE lat_kernels_avx2
#define VEC_ISA "avx2"
#include "kernels/vec_body.h"
