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

// Decode, bound by reading weights: as few rows at a time as keep up with memory, and prefetches ahead of what the
// processor has in flight. A function of its own: inlined, its loop lost its registers to the tiles above.
static __attribute__((noinline)) void VEC_NAME(matvec)(const unsigned char *w, size_t cols, size_t rows, const float *x,
                                                       float *y, bool add)
{
    enum { STEP = 64 / VEC_WEIGHT_SIZE }; // columns of a cache line
    size_t row_bytes = cols * VEC_WEIGHT_SIZE, r = 0;
    for (; r + VEC_GEMV_ROWS <= rows; r += VEC_GEMV_ROWS) {
        v16 sum[8][8];
        const unsigned char *at[VEC_GEMV_ROWS];
        const size_t ahead = VEC_GEMV_ROWS == 1 ? PREFETCH_BYTES : VEC_GEMV_ROWS * row_bytes;
#pragma GCC unroll 8
        for (size_t k = 0; k < VEC_GEMV_ROWS; k++) {
            at[k] = w + (r + k) * row_bytes;
            sum[k][0] = v16_zero();
        }
        size_t i = 0;
        for (; i + STEP <= cols; i += STEP) {
#pragma GCC unroll 8
            for (size_t k = 0; k < VEC_GEMV_ROWS; k++)
                __builtin_prefetch(at[k] + ahead, 0, 3);
#pragma GCC unroll 4
            for (size_t j = 0; j < STEP; j += 16) {
                v16 xi = v16_load(x + i + j);
#pragma GCC unroll 8
                for (size_t k = 0; k < VEC_GEMV_ROWS; k++)
                    sum[k][0] = v16_fma(VEC_LOAD(at[k] + j * VEC_WEIGHT_SIZE), xi, sum[k][0]);
            }
#pragma GCC unroll 8
            for (size_t k = 0; k < VEC_GEMV_ROWS; k++)
                at[k] += 64;
        }
        for (; i < cols; i += 16) {
            size_t left = cols - i < 16 ? cols - i : 16;
            v16 xi = v16_load_n(x + i, left);
#pragma GCC unroll 8
            for (size_t k = 0; k < VEC_GEMV_ROWS; k++, at[k - 1] += 16 * VEC_WEIGHT_SIZE)
                sum[k][0] = v16_fma(left == 16 ? VEC_LOAD(at[k]) : VEC_LOAD_PART(at[k], left), xi, sum[k][0]);
        }
        store_sums(sum, 0, VEC_GEMV_ROWS, y + r, add);
    }
    for (; r < rows; r++)
        VEC_NAME(tile)(w + r * row_bytes, cols, x, 0, y + r, 0, add, 1, 1);
}

// Prefill. Rows of activations lie a multiple of 4 KB apart in common models, where loads of one tile hit each other's ways
// of the first-level cache; a tile of tokens is copied to where they do not, and serves a block of rows that stays in the
// second-level cache.
static __attribute__((noinline)) void VEC_NAME(matmul_packed)(const unsigned char *w, size_t cols, size_t row_begin,
                                                              size_t row_end, const float *x, size_t x_stride, size_t tokens,
                                                              float *y, size_t y_stride, bool add)
{
    float packed[VEC_TILE_TOKENS * (VEC_PACK_COLS + 16)];
    size_t row_bytes = cols * VEC_WEIGHT_SIZE, packed_stride = cols + 16;
    size_t block = VEC_CACHE_BYTES / (row_bytes ? row_bytes : 1) / VEC_TILE_ROWS * VEC_TILE_ROWS;
    if (block < VEC_TILE_ROWS)
        block = VEC_TILE_ROWS;
    for (size_t first = row_begin; first < row_end; first += block) {
        size_t end = row_end - first < block ? row_end : first + block, t = 0;
        for (; t + VEC_TILE_TOKENS <= tokens; t += VEC_TILE_TOKENS) {
            size_t r = first;
            for (size_t k = 0; k < VEC_TILE_TOKENS; k++)
                memcpy(packed + k * packed_stride, x + (t + k) * x_stride, cols * sizeof *x);
            for (; r + VEC_TILE_ROWS <= end; r += VEC_TILE_ROWS)
                VEC_NAME(tile)(w + r * row_bytes, cols, packed, packed_stride, y + t * y_stride + r, y_stride, add, VEC_TILE_ROWS,
                               VEC_TILE_TOKENS);
            for (; r < end; r++)
                VEC_NAME(tile)(w + r * row_bytes, cols, packed, packed_stride, y + t * y_stride + r, y_stride, add, 1,
                               VEC_TILE_TOKENS);
        }
        for (; t < tokens; t++)
            VEC_NAME(matvec)(w + first * row_bytes, cols, end - first, x + t * x_stride, y + t * y_stride + first, add);
    }
}

static void VEC_NAME(matmul)(const void *weights, size_t cols, size_t row_begin, size_t row_end, const float *x,
                             size_t x_stride, size_t tokens, float *y, size_t y_stride, bool add)
{
    const unsigned char *w = weights;
    size_t row_bytes = cols * VEC_WEIGHT_SIZE;
    if (tokens == 1) {
        VEC_NAME(matvec)(w + row_begin * row_bytes, cols, row_end - row_begin, x, y + row_begin, add);
        return;
    }
    // With a tile of two tokens f32 weights pass too often: there it is slower.
    bool packs = VEC_TILE_TOKENS > 2 || VEC_WEIGHT_SIZE == 2;
    if (packs && tokens >= VEC_TILE_TOKENS && cols <= VEC_PACK_COLS) {
        VEC_NAME(matmul_packed)(w, cols, row_begin, row_end, x, x_stride, tokens, y, y_stride, add);
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
