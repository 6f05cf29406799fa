// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The kernels of kernels/vec_body.h for NEON with dot-product instructions; called only where they are there.
#define LAT_VEC_NEON
#define VEC_TABLE lat_kernels_dotprod
#define VEC_ISA "dotprod"
#include "kernels/vec_body.h"
