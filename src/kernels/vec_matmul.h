// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The matrix product for one weight type; included once per type with
//   VEC_NAME(x)           the name with the type's suffix
//   VEC_LOAD, VEC_LOAD_PART, VEC_WEIGHT_SIZE
// A tile of R rows by T tokens keeps one accumulator per output, so the order of a sum does not depend on the tile:
// one-token decode and 512-token prefill have the same bits.

VEC_INLINE void VEC_NAME(tile)(const unsigned char *w, size_t cols, const float *x, size_t x_stride, float *y,
                               size_t y_stride, bool add, const size_t rows, const size_t tokens)
{
    v16 sum[8][8];
    size_t row_bytes = cols * VEC_WEIGHT_SIZE, full = cols / 16 * 16;
#pragma GCC unroll 8
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (size_t t = 0; t < tokens; t++)
            sum[r][t] = v16_zero();
    for (size_t i = 0; i < full; i += 16) {
        v16 wi[8];
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++)
            wi[r] = VEC_LOAD(w + r * row_bytes + i * VEC_WEIGHT_SIZE);
#pragma GCC unroll 8
        for (size_t t = 0; t < tokens; t++) {
            v16 xi = v16_load(x + t * x_stride + i);
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++)
                sum[r][t] = v16_fma(wi[r], xi, sum[r][t]);
        }
    }
    if (full < cols) {
        v16 wi[8];
#pragma GCC unroll 8
        for (size_t r = 0; r < rows; r++)
            wi[r] = VEC_LOAD_PART(w + r * row_bytes + full * VEC_WEIGHT_SIZE, cols - full);
#pragma GCC unroll 8
        for (size_t t = 0; t < tokens; t++) {
            v16 xi = v16_load_part(x + t * x_stride + full, cols - full);
#pragma GCC unroll 8
            for (size_t r = 0; r < rows; r++)
                sum[r][t] = v16_fma(wi[r], xi, sum[r][t]);
        }
    }
#pragma GCC unroll 8
    for (size_t t = 0; t < tokens; t++)
        store_sums(sum, t, rows, y + t * y_stride, add);
}

// Rows [0, rows) of one tile height over all tokens.
VEC_INLINE void VEC_NAME(strip)(const unsigned char *w, size_t cols, const float *x, size_t x_stride, size_t tokens,
                                float *y, size_t y_stride, bool add, const size_t rows)
{
    size_t t = 0;
    for (; t + VEC_TILE_TOKENS <= tokens; t += VEC_TILE_TOKENS)
        VEC_NAME(tile)(w, cols, x + t * x_stride, x_stride, y + t * y_stride, y_stride, add, rows, VEC_TILE_TOKENS);
    for (; t < tokens; t++)
        VEC_NAME(tile)(w, cols, x + t * x_stride, x_stride, y + t * y_stride, y_stride, add, rows, 1);
}

static void VEC_NAME(matmul)(const void *weights, size_t cols, size_t row_begin, size_t row_end, const float *x,
                             size_t x_stride, size_t tokens, float *y, size_t y_stride, bool add)
{
    const unsigned char *w = weights;
    size_t row_bytes = cols * VEC_WEIGHT_SIZE;
    if (tokens == 1) { // decode: more rows in flight, since each accumulator is a chain of dependent adds
        size_t r = row_begin;
        for (; r + VEC_GEMV_ROWS <= row_end; r += VEC_GEMV_ROWS)
            VEC_NAME(tile)(w + r * row_bytes, cols, x, x_stride, y + r, y_stride, add, VEC_GEMV_ROWS, 1);
        for (; r < row_end; r++)
            VEC_NAME(tile)(w + r * row_bytes, cols, x, x_stride, y + r, y_stride, add, 1, 1);
        return;
    }
    // Blocks of tokens whose activations stay in the second-level cache while all rows pass by.
    size_t block = VEC_CACHE_FLOATS / (cols ? cols : 1) / VEC_TILE_TOKENS * VEC_TILE_TOKENS;
    if (block < VEC_TILE_TOKENS)
        block = VEC_TILE_TOKENS;
    for (size_t t = 0; t < tokens; t += block) {
        size_t now = tokens - t < block ? tokens - t : block, r = row_begin;
        const float *xt = x + t * x_stride;
        float *yt = y + t * y_stride;
        for (; r + VEC_TILE_ROWS <= row_end; r += VEC_TILE_ROWS)
            VEC_NAME(strip)(w + r * row_bytes, cols, xt, x_stride, now, yt + r, y_stride, add, VEC_TILE_ROWS);
        for (; r < row_end; r++)
            VEC_NAME(strip)(w + r * row_bytes, cols, xt, x_stride, now, yt + r, y_stride, add, 1);
    }
}

#undef VEC_NAME
#undef VEC_LOAD
#undef VEC_LOAD_PART
#undef VEC_WEIGHT_SIZE
