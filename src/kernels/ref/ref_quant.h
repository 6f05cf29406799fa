// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Scalar integer products, for the scalar table.
#ifndef LAT_KERNELS_REF_QUANT_H
#define LAT_KERNELS_REF_QUANT_H

#include "kernels/quant.h"

lat_quantize_fn lat_ref_quantize;
lat_quant_matmul_fn lat_ref_quant_matmul;

#endif
