// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The kernels of kernels/vec_body.h for AVX512; compiled with that instruction set's flags, called only where it is there.
#define LAT_VEC_AVX512
#define VEC_TABLE lat_kernels_avx512
#define VEC_ISA "avx512"
#include "kernels/vec_body.h"
