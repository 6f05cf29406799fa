// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Scalar integer products, and how a panel is read one code at a time (for loading rows, `exact` mode and tests).
#ifndef LAT_KERNELS_REF_QUANT_H
#define LAT_KERNELS_REF_QUANT_H

#include "kernels/quant.h"

lat_quantize_fn lat_ref_quantize;
lat_quant_matmul_fn lat_ref_quant_matmul;

int lat_ref_panel_code(const struct lat_panels *w, const unsigned char *panel, size_t row, size_t col);
float lat_ref_panel_scale(const struct lat_panels *w, const unsigned char *panel, size_t row, size_t block);

#endif
