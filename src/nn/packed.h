// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Reading quantised matrices as the compressed-tensors library packs them (format pack-quantized): X.weight_packed
// I32 [out][ceil(in*bits/32)], X.weight_scale [out][groups], X.weight_shape I64 [2], and for asymmetric ones
// X.weight_zero_point I32 [ceil(out*bits/32)][groups]. Widths and groups follow from the shapes.
#ifndef LAT_NN_PACKED_H
#define LAT_NN_PACKED_H

#include "core/mem.h"
#include "nn/matrix.h"
#include "tensor/safetensors.h"

// True when the folder holds base.weight_packed.
bool lat_packed_exists(const struct lat_st_folder *folder, const char *base);

// Loads base.weight as a [rows][cols] matrix whose memory comes from `arena`; the pages of the file that were read are
// given back. Symmetric weights of 4 or 8 bits, and asymmetric ones of 4 bits (as 8-bit codes), with groups of a multiple
// of 32 columns or one group, become panels; any other is widened to f32. Refused by name: another width, wrong
// shapes, a scale that is not finite, activation ordering (g_idx). `stored` gets the bytes in the file.
LAT_NODISCARD enum lat_status lat_packed_load(struct lat_matrix *out, const struct lat_st_folder *folder, const char *base,
                                              size_t rows, size_t cols, struct lat_arena *arena, uint64_t *stored,
                                              struct lat_error *error);

#endif
