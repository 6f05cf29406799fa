// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The definition of the integer products (kernels/quant.h), one operation at a time.
#include "kernels/ref/ref_quant.h"

#include <math.h>
#include <string.h>

#include "tensor/dtype.h"

enum { ROWS = LAT_PANEL_ROWS, BLOCK = LAT_QUANT_BLOCK };

static void quantize_block(const float *x, size_t n, int8_t *q, float *scale, int32_t *sum)
{
    uint32_t most = 0; // the bits of |x|: ordered like the values, infinities and NaN above all numbers
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffff;
        most = most < bits ? bits : most;
    }
    float amax = lat_f32_from_bits(most);
    memset(q, 0, BLOCK);
    *sum = 0;
    *scale = most >= 0x7f800000 ? NAN : amax < 0x1p-100f ? 0 : amax / 127.0f;
    if (!(*scale > 0))
        return;
    float inverse = 127.0f / amax;
    for (size_t i = 0; i < n; i++) {
        q[i] = (int8_t)nearbyintf(x[i] * inverse);
        *sum -= q[i];
    }
}

void lat_ref_quantize(const float *x, size_t n, int8_t *q, float *scale, int32_t *sum)
{
    for (size_t b = 0; b * BLOCK < n; b++)
        quantize_block(x + b * BLOCK, n - b * BLOCK < BLOCK ? n - b * BLOCK : BLOCK, q + b * BLOCK, scale + b, sum + b);
}

// q of row `row` of a panel, column `col` of the matrix.
static int code_of(const struct lat_panels *w, const unsigned char *panel, size_t row, size_t col)
{
    const unsigned char *codes = panel + lat_panel_codes_at(w, col / BLOCK);
    size_t in = col % BLOCK;
    if (w->bits == 8)
        return (int)codes[in / 4 * 64 + 4 * row + in % 4] - 128;
    unsigned char both = codes[in / 8 * 64 + 4 * row + in % 4];
    return (in / 4 % 2 ? both >> 4 : both & 15) - 8;
}

static float scale_of(const struct lat_panels *w, const unsigned char *panel, size_t row, size_t block)
{
    const unsigned char *scales = panel + lat_panel_scales_at(w, block / w->group_blocks);
    return lat_dtype_load(w->scale_bytes == 2 ? LAT_DTYPE_BF16 : LAT_DTYPE_F32, scales, row);
}

static float row_product(const struct lat_panels *w, const unsigned char *panel, size_t row, const int8_t *q,
                         const float *scale)
{
    float sum = 0;
    for (size_t b = 0; b < w->blocks; b++) {
        int32_t dot = 0;
        for (size_t i = 0; i < BLOCK; i++)
            dot += code_of(w, panel, row, b * BLOCK + i) * q[b * BLOCK + i];
        sum = fmaf((float)dot, scale_of(w, panel, row, b) * scale[b], sum);
    }
    return sum;
}

void lat_ref_quant_matmul(const struct lat_panels *w, size_t panel_begin, size_t panel_end,
                          const struct lat_quant_rows *x, size_t tokens, float *y, size_t y_stride, bool add)
{
    for (size_t p = panel_begin; p < panel_end; p++)
        for (size_t r = 0; r < ROWS && p * ROWS + r < w->rows; r++)
            for (size_t t = 0; t < tokens; t++) {
                float *out = &y[t * y_stride + p * ROWS + r];
                float sum = row_product(w, w->data + p * w->panel_bytes, r, x->q + t * x->blocks * BLOCK,
                                        x->scale + t * x->blocks);
                *out = add ? *out + sum : sum;
            }
}
