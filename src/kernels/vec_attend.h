// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Attention over a cache of one type; included once per type with VEC_NAME(x), VEC_LOAD, VEC_LOAD_PART, VEC_LOAD_N and
// VEC_WEIGHT_SIZE. Up to ATTEND_QUERIES queries share each load of a key or value.

// weight[j] of `queries` queries = dot(query, key j) * scale for `rows` keys.
VEC_INLINE void VEC_NAME(score_tile)(const unsigned char *k, size_t dim, const float *q, float scale, float *weight,
                                     const size_t rows, const size_t queries)
{
    v16 sum[4][ATTEND_QUERIES];
    size_t full = dim / 16 * 16;
#pragma GCC unroll 4
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (size_t n = 0; n < queries; n++)
            sum[r][n] = v16_zero();
    for (size_t i = 0; i < dim; i += 16) {
        v16 ki[4];
#pragma GCC unroll 4
        for (size_t r = 0; r < rows; r++) {
            const unsigned char *at = k + (r * dim + i) * VEC_WEIGHT_SIZE;
            ki[r] = i < full ? VEC_LOAD(at) : VEC_LOAD_PART(at, dim - i);
        }
#pragma GCC unroll 4
        for (size_t n = 0; n < queries; n++) {
            v16 qi = i < full ? v16_load(q + n * dim + i) : v16_load_part(q + n * dim + i, dim - i);
#pragma GCC unroll 4
            for (size_t r = 0; r < rows; r++)
                sum[r][n] = v16_fma(ki[r], qi, sum[r][n]);
        }
    }
#pragma GCC unroll 4
    for (size_t n = 0; n < queries; n++)
#pragma GCC unroll 4
        for (size_t r = 0; r < rows; r++)
            weight[n * BLOCK + r] = v16_sum(sum[r][n]) * scale;
}

// out = out * shrink + sum_j weight[j] * v[j], in order of j, `width` vectors of dimensions at a time.
VEC_INLINE void VEC_NAME(value_tile)(const float *weight, const unsigned char *v, size_t size, size_t dim, size_t d,
                                     const float *shrink, float *out, const size_t width, const size_t queries)
{
    v16 sum[ATTEND_QUERIES][2];
    size_t left = dim - d;
#pragma GCC unroll 4
    for (size_t n = 0; n < queries; n++)
#pragma GCC unroll 2
        for (size_t c = 0; c < width; c++)
            sum[n][c] = v16_mul(v16_load_n(out + n * dim + d + 16 * c, left - 16 * c), v16_set(shrink[n]));
    for (size_t j = 0; j < size; j++) {
        v16 vj[2];
#pragma GCC unroll 2
        for (size_t c = 0; c < width; c++)
            vj[c] = VEC_LOAD_N((const void *)(v + (j * dim + d + 16 * c) * VEC_WEIGHT_SIZE), left - 16 * c);
#pragma GCC unroll 4
        for (size_t n = 0; n < queries; n++)
#pragma GCC unroll 2
            for (size_t c = 0; c < width; c++)
                sum[n][c] = v16_fma(v16_set(weight[n * BLOCK + j]), vj[c], sum[n][c]);
    }
#pragma GCC unroll 4
    for (size_t n = 0; n < queries; n++)
#pragma GCC unroll 2
        for (size_t c = 0; c < width; c++)
            v16_store_n(out + n * dim + d + 16 * c, sum[n][c], left - 16 * c);
}

VEC_INLINE void VEC_NAME(attend_tile)(const float *q, const unsigned char *k, const unsigned char *v, size_t count, size_t dim,
                                      float scale, float *out, const size_t queries)
{
    float most[ATTEND_QUERIES], shrink[ATTEND_QUERIES], weight[ATTEND_QUERIES * BLOCK];
    v16 lanes[ATTEND_QUERIES];
    for (size_t n = 0; n < queries; n++) {
        most[n] = -INFINITY;
        lanes[n] = v16_zero();
    }
    memset(out, 0, queries * dim * sizeof *out);
    for (size_t begin = 0; begin < count; begin += BLOCK) {
        size_t size = count - begin < BLOCK ? count - begin : BLOCK, j = 0, d = 0;
        const unsigned char *kb = k + begin * dim * VEC_WEIGHT_SIZE, *vb = v + begin * dim * VEC_WEIGHT_SIZE;
        for (; j + 4 <= size; j += 4)
            VEC_NAME(score_tile)(kb + j * dim * VEC_WEIGHT_SIZE, dim, q, scale, weight + j, 4, queries);
        for (; j < size; j++)
            VEC_NAME(score_tile)(kb + j * dim * VEC_WEIGHT_SIZE, dim, q, scale, weight + j, 1, queries);
        for (size_t n = 0; n < queries; n++)
            attend_weights(weight + n * BLOCK, size, &most[n], &lanes[n], &shrink[n]);
        for (; d + 32 <= dim; d += 32)
            VEC_NAME(value_tile)(weight, vb, size, dim, d, shrink, out, 2, queries);
        for (; d < dim; d += 16)
            VEC_NAME(value_tile)(weight, vb, size, dim, d, shrink, out, 1, queries);
    }
    for (size_t n = 0; n < queries; n++) {
        v16 sum = v16_set(v16_sum(lanes[n]));
        for (size_t d = 0; d < dim; d += 16)
            v16_store_n(out + n * dim + d, v16_div(v16_load_n(out + n * dim + d, dim - d), sum), dim - d);
    }
}

static void VEC_NAME(attend)(const float *q, size_t queries, const void *keys, const void *values, size_t count, size_t dim,
                             float scale, float *out)
{
    size_t n = 0;
    for (; n + ATTEND_QUERIES <= queries; n += ATTEND_QUERIES)
        VEC_NAME(attend_tile)(q + n * dim, keys, values, count, dim, scale, out + n * dim, ATTEND_QUERIES);
    for (; n < queries; n++)
        VEC_NAME(attend_tile)(q + n * dim, keys, values, count, dim, scale, out + n * dim, 1);
}

#undef VEC_NAME
#undef VEC_LOAD
#undef VEC_LOAD_PART
#undef VEC_LOAD_N
#undef VEC_WEIGHT_SIZE
