// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// bf16 weights times bf16 activations with AVX-512 BF16's dot products (VDPBF16PS: pairs of products added in f32,
// subnormals flushed). Twice the operations of f32, other bits, and those of this instruction only: for LAT_COMPUTE_FAST.
// A tile of 4 rows x 6 tokens keeps one accumulator an output, so a sum's order still does not depend on the tile.
#define LAT_VEC_AVX512
#include "kernels/kernels.h"
#include "kernels/vec.h"

enum { ROWS = 4, TOKENS = 6, STEP = 32, PACK_COLS = 4096, CACHE_BYTES = 512 * 1024 };

VEC_INLINE __m512bh load32(const void *p) { return (__m512bh)_mm512_loadu_si512(p); }
VEC_INLINE __m512bh load_part(const void *p, size_t n)
{
    return (__m512bh)_mm512_maskz_loadu_epi16((__mmask32)((1ull << n) - 1), p);
}

VEC_INLINE void tile(const unsigned char *w, size_t cols, const uint16_t *x, size_t x_stride, float *y, size_t y_stride,
                     bool add, const size_t rows, const size_t tokens)
{
    v16 sum[ROWS][TOKENS];
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (size_t t = 0; t < tokens; t++)
            sum[r][t] = v16_zero();
    for (size_t i = 0; i < cols; i += STEP) {
        size_t left = cols - i;
        __m512bh wi[ROWS];
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++)
            wi[r] = left >= STEP ? load32(w + (r * cols + i) * 2) : load_part(w + (r * cols + i) * 2, left);
#pragma GCC unroll 8
        for (size_t t = 0; t < tokens; t++) {
            __m512bh xi = left >= STEP ? load32(x + t * x_stride + i) : load_part(x + t * x_stride + i, left);
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++)
                sum[r][t] = _mm512_dpbf16_ps(sum[r][t], wi[r], xi);
        }
    }
#pragma GCC unroll 8
    for (size_t t = 0; t < tokens; t++) {
        float *to = y + t * y_stride;
        if (rows == 4) { // four sums share their shuffles
            __m128 four = v16_sum4(sum[0][t], sum[1][t], sum[2][t], sum[3][t]);
            _mm_storeu_ps(to, add ? _mm_add_ps(_mm_loadu_ps(to), four) : four);
            continue;
        }
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++) {
            float one = v16_sum(sum[r][t]);
            to[r] = add ? to[r] + one : one;
        }
    }
}

VEC_INLINE void strip(const unsigned char *w, size_t cols, const uint16_t *x, size_t x_stride, size_t tokens, float *y,
                      size_t y_stride, bool add, const size_t rows)
{
    size_t t = 0;
    for (; t + TOKENS <= tokens; t += TOKENS)
        tile(w, cols, x + t * x_stride, x_stride, y + t * y_stride, y_stride, add, rows, TOKENS);
    for (; t < tokens; t++)
        tile(w, cols, x + t * x_stride, x_stride, y + t * y_stride, y_stride, add, rows, 1);
}

// A tile of tokens is copied to where its rows do not share the sets of the first-level cache (kernels/vec_matmul.h).
static void packed_block(const unsigned char *w, size_t cols, size_t rows, const uint16_t *x, size_t x_stride, size_t tokens,
                         float *y, size_t y_stride, bool add)
{
    uint16_t packed[TOKENS * (PACK_COLS + 32)];
    size_t stride = cols + 32, t = 0;
    for (; t + TOKENS <= tokens; t += TOKENS) {
        size_t r = 0;
        for (size_t k = 0; k < TOKENS; k++)
            memcpy(packed + k * stride, x + (t + k) * x_stride, cols * sizeof *x);
        for (; r + ROWS <= rows; r += ROWS)
            tile(w + r * cols * 2, cols, packed, stride, y + t * y_stride + r, y_stride, add, ROWS, TOKENS);
        for (; r < rows; r++)
            tile(w + r * cols * 2, cols, packed, stride, y + t * y_stride + r, y_stride, add, 1, TOKENS);
    }
    for (size_t r = 0; t < tokens && r < rows; r += ROWS) {
        size_t now = rows - r < ROWS ? rows - r : ROWS;
        for (size_t k = 0; k < now; k++)
            strip(w + (r + k) * cols * 2, cols, x + t * x_stride, x_stride, tokens - t, y + t * y_stride + r + k, y_stride, add, 1);
    }
}

void lat_bf16_dot_matmul(const void *weights, size_t cols, size_t row_begin, size_t row_end, const uint16_t *x,
                         size_t x_stride, size_t tokens, float *y, size_t y_stride, bool add)
{
    const unsigned char *w = weights;
    size_t r = row_begin, block = CACHE_BYTES / (2 * cols + 1) / ROWS * ROWS;
    if (block < ROWS)
        block = ROWS;
    for (; tokens >= TOKENS && cols <= PACK_COLS && r < row_end; r += block) {
        size_t rows = row_end - r < block ? row_end - r : block;
        packed_block(w + r * cols * 2, cols, rows, x, x_stride, tokens, y + r, y_stride, add);
    }
    for (; r + ROWS <= row_end; r += ROWS)
        strip(w + r * cols * 2, cols, x, x_stride, tokens, y + r, y_stride, add, ROWS);
    for (; r < row_end; r++)
        strip(w + r * cols * 2, cols, x, x_stride, tokens, y + r, y_stride, add, 1);
}
