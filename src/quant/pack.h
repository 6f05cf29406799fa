// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Rounding rows of weights to 4 or 8 bits with one bf16 scale a group, and packing them as compressed-tensors does
// (nn/packed.h): symmetric, weight = q * scale, q in [-2^(bits-1), 2^(bits-1) - 1].
#ifndef LAT_QUANT_PACK_H
#define LAT_QUANT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lat_pack {
    int bits;     // 4 or 8
    size_t group; // columns that share a scale; divides the columns
    bool search;  // the scale with the least squared error among 40, else largest/(2^(bits-1) - 1/2)
};

// False when rows of that many columns cannot be packed so: the columns are no whole groups or words.
bool lat_pack_fits(const struct lat_pack *pack, size_t cols);
// One row of finite weights -> words [cols*bits/32], scales [cols/group] as bf16 bits. Returns the sum of squared errors.
double lat_pack_row(const struct lat_pack *pack, const float *w, size_t cols, uint32_t *words, uint16_t *scales);

#endif
