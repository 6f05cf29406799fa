// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Attention of one query over a cache of one type; included once per type with VEC_NAME(x), VEC_LOAD_N and
// VEC_WEIGHT_SIZE, after the matrix product of that type.

// out = out * shrink + sum_j weight[j] * v[j], in order of j, 16 dimensions at a time.
static void VEC_NAME(attend_values)(const float *weight, const unsigned char *v, size_t size, size_t dim, float shrink,
                                    float *out)
{
    for (size_t d = 0; d < dim; d += 16) {
        size_t left = dim - d;
        v16 sum = v16_mul(v16_load_n(out + d, left), v16_set(shrink));
        for (size_t j = 0; j < size; j++)
            sum = v16_fma(v16_set(weight[j]), VEC_LOAD_N((const void *)(v + (j * dim + d) * VEC_WEIGHT_SIZE), left), sum);
        v16_store_n(out + d, sum, left);
    }
}

static void VEC_NAME(attend)(const float *q, const void *keys, const void *values, size_t count, size_t dim, float scale,
                             float *out)
{
    const unsigned char *k = keys, *v = values;
    float most = -INFINITY, weight[BLOCK];
    v16 lanes = v16_zero();
    for (size_t d = 0; d < dim; d++)
        out[d] = 0;
    for (size_t begin = 0; begin < count; begin += BLOCK) {
        size_t size = count - begin < BLOCK ? count - begin : BLOCK;
        VEC_NAME(matmul)(k + begin * dim * VEC_WEIGHT_SIZE, dim, 0, size, q, dim, 1, weight, 0, false);
        float now = most;
        for (size_t j = 0; j < size; j++) {
            weight[j] = weight[j] * scale;
            now = now < weight[j] ? weight[j] : now;
        }
        float shrink = most - now;
        vec_exp(&shrink, 1, &shrink);
        lanes = v16_mul(lanes, v16_set(shrink));
        for (size_t j = 0; j < size; j += 16) {
            v16 w = exp16(v16_sub(v16_load_n(weight + j, size - j), v16_set(now)));
            v16_store_n(weight + j, w, size - j);
            lanes = v16_add(lanes, v16_load_n(weight + j, size - j));
        }
        VEC_NAME(attend_values)(weight, v + begin * dim * VEC_WEIGHT_SIZE, size, dim, shrink, out);
        most = now;
    }
    v16 sum = v16_set(v16_sum(lanes));
    for (size_t d = 0; d < dim; d += 16)
        v16_store_n(out + d, v16_div(v16_load_n(out + d, dim - d), sum), dim - d);
}

#undef VEC_NAME
#undef VEC_LOAD_N
#undef VEC_WEIGHT_SIZE
