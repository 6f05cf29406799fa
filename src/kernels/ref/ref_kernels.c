// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The definition of every kernel's result. Plain C, one operation at a time, fmaf where a product and a sum are
// rounded once. Read this to know what the vector kernels compute.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/ref/ref_quant.h"
#include "tensor/dtype.h"

enum { LANES = LAT_KERNEL_LANES, BLOCK = LAT_ATTENTION_BLOCK };

static float lanes_sum(float lanes[LANES])
{
    for (int step = LANES / 2; step > 0; step /= 2)
        for (int l = 0; l < step; l++)
            lanes[l] += lanes[l + step];
    return lanes[0];
}

static size_t padded(size_t n) { return (n + LANES - 1) / LANES * LANES; }

static float ref_dot(const float *a, const float *b, size_t n)
{
    float lanes[LANES] = { 0 };
    for (size_t i = 0; i < padded(n); i++)
        lanes[i % LANES] = i < n ? fmaf(a[i], b[i], lanes[i % LANES]) : fmaf(0, 0, lanes[i % LANES]);
    return lanes_sum(lanes);
}

static float ref_row_dot(enum lat_dtype dtype, const unsigned char *w, size_t row, const float *x, size_t cols)
{
    float lanes[LANES] = { 0 };
    for (size_t i = 0; i < padded(cols); i++) {
        float wi = i < cols ? lat_dtype_load(dtype, w, row * cols + i) : 0;
        lanes[i % LANES] = fmaf(wi, i < cols ? x[i] : 0, lanes[i % LANES]);
    }
    return lanes_sum(lanes);
}

static void ref_matmul(enum lat_dtype dtype, const unsigned char *w, size_t cols, size_t row_begin, size_t row_end,
                       const float *x, size_t x_stride, size_t tokens, float *y, size_t y_stride, bool add)
{
    for (size_t r = row_begin; r < row_end; r++)
        for (size_t t = 0; t < tokens; t++) {
            float *out = &y[t * y_stride + r], sum = ref_row_dot(dtype, w, r, x + t * x_stride, cols);
            *out = add ? *out + sum : sum;
        }
}

static void ref_matmul_f32(const void *w, size_t cols, size_t row_begin, size_t row_end, const float *x,
                           size_t x_stride, size_t tokens, float *y, size_t y_stride, bool add)
{
    ref_matmul(LAT_DTYPE_F32, w, cols, row_begin, row_end, x, x_stride, tokens, y, y_stride, add);
}

static void ref_matmul_bf16(const void *w, size_t cols, size_t row_begin, size_t row_end, const float *x,
                            size_t x_stride, size_t tokens, float *y, size_t y_stride, bool add)
{
    ref_matmul(LAT_DTYPE_BF16, w, cols, row_begin, row_end, x, x_stride, tokens, y, y_stride, add);
}

static void ref_matmul_f16(const void *w, size_t cols, size_t row_begin, size_t row_end, const float *x,
                           size_t x_stride, size_t tokens, float *y, size_t y_stride, bool add)
{
    ref_matmul(LAT_DTYPE_F16, w, cols, row_begin, row_end, x, x_stride, tokens, y, y_stride, add);
}

static float pow2(int n) { return lat_f32_from_bits((uint32_t)(n + 127) << 23); }

// exp by x = n ln2 + r, |r| <= 0.35, a Taylor polynomial of degree 7 (rest below 6e-9 of the value), and 2^n in two
// factors because 2^128 is no float.
static float exp1(float x)
{
    const float low = -87.33654f, high = 88.72283f;
    if (isnan(x))
        return x;
    float xc = x < low ? low : high < x ? high : x;
    float n = fmaf(xc, 0x1.715476p0f, 0x1.8p23f) - 0x1.8p23f; // nearest integer to x/ln2
    float r = fmaf(n, -0x1.62e400p-1f, xc);
    r = fmaf(n, -0x1.7f7d1cp-20f, r);
    float p = 1.0f / 5040;
    p = fmaf(p, r, 1.0f / 720);
    p = fmaf(p, r, 1.0f / 120);
    p = fmaf(p, r, 1.0f / 24);
    p = fmaf(p, r, 1.0f / 6);
    p = fmaf(p, r, 0.5f);
    p = fmaf(p, r, 1.0f);
    p = fmaf(p, r, 1.0f);
    int half = (int)n >> 1;
    float y = p * pow2(half) * pow2((int)n - half);
    return x < low ? 0 : high < x ? INFINITY : y;
}

static float sigmoid(float x) { return 1.0f / (1.0f + exp1(-x)); }
static float silu(float x) { return x * sigmoid(x); }

static void ref_exp(const float *x, size_t n, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = exp1(x[i]);
}

static float rms_factor(const float *x, double eps, size_t n)
{
    return (float)(1.0 / sqrt((double)ref_dot(x, x, n) / (double)n + eps));
}

static void ref_rms_norm(const float *x, const float *w, double eps, size_t n, float *y)
{
    float r = rms_factor(x, eps, n);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * r * w[i];
}

static void ref_gated_norm(const float *x, const float *z, const float *w, double eps, size_t n, float *y)
{
    float r = rms_factor(x, eps, n);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * r * w[i] * silu(z[i]);
}

static void ref_l2_norm(const float *x, double scale, double eps, size_t n, float *y)
{
    float r = (float)(scale / sqrt((double)ref_dot(x, x, n) + eps));
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * r;
}

static void ref_silu_mul(const float *gate, const float *up, size_t n, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = silu(gate[i]) * up[i];
}

static void ref_sigmoid_mul(const float *x, const float *gate, size_t n, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * sigmoid(gate[i]);
}

static void ref_conv_silu(const float *const *taps, size_t tap_count, const float *w, size_t w_stride, size_t n,
                          float *y)
{
    for (size_t c = 0; c < n; c++) {
        float sum = w[c] * taps[0][c];
        for (size_t j = 1; j < tap_count; j++)
            sum = fmaf(w[j * w_stride + c], taps[j][c], sum);
        y[c] = silu(sum);
    }
}

static void ref_delta_step(float *state, size_t stride, size_t dk, size_t n, const float *q, const float *k,
                           const float *v, float decay, float beta, float *o)
{
    for (size_t c = 0; c < n; c++) {
        float m = 0, out = 0;
        for (size_t i = 0; i < dk; i++) {
            state[i * stride + c] *= decay;
            m = fmaf(state[i * stride + c], k[i], m);
        }
        float u = beta * (v[c] - m);
        for (size_t i = 0; i < dk; i++) {
            state[i * stride + c] = fmaf(k[i], u, state[i * stride + c]);
            out = fmaf(state[i * stride + c], q[i], out);
        }
        o[c] = out;
    }
}

static void ref_attend(enum lat_dtype dtype, const float *q, const void *k, const void *v, size_t count, size_t dim,
                       float scale, float *out)
{
    float most = -INFINITY, lanes[LANES] = { 0 }, weight[BLOCK];
    for (size_t d = 0; d < dim; d++)
        out[d] = 0;
    for (size_t begin = 0; begin < count; begin += BLOCK) {
        size_t size = count - begin < BLOCK ? count - begin : BLOCK;
        float now = most;
        for (size_t j = 0; j < size; j++) {
            weight[j] = ref_row_dot(dtype, k, begin + j, q, dim) * scale;
            now = now < weight[j] ? weight[j] : now;
        }
        float shrink = exp1(most - now);
        for (size_t l = 0; l < LANES; l++)
            lanes[l] *= shrink;
        for (size_t d = 0; d < dim; d++)
            out[d] *= shrink;
        for (size_t j = 0; j < size; j++) {
            weight[j] = exp1(weight[j] - now);
            lanes[j % LANES] += weight[j];
            for (size_t d = 0; d < dim; d++)
                out[d] = fmaf(weight[j], lat_dtype_load(dtype, v, (begin + j) * dim + d), out[d]);
        }
        most = now;
    }
    float sum = lanes_sum(lanes);
    for (size_t d = 0; d < dim; d++)
        out[d] = out[d] / sum;
}

static void ref_attend_f32(const float *q, size_t queries, const void *k, const void *v, size_t count, size_t dim,
                           float scale, float *out)
{
    for (size_t n = 0; n < queries; n++)
        ref_attend(LAT_DTYPE_F32, q + n * dim, k, v, count, dim, scale, out + n * dim);
}

static void ref_attend_f16(const float *q, size_t queries, const void *k, const void *v, size_t count, size_t dim,
                           float scale, float *out)
{
    for (size_t n = 0; n < queries; n++)
        ref_attend(LAT_DTYPE_F16, q + n * dim, k, v, count, dim, scale, out + n * dim);
}

static void ref_narrow_f16(const float *x, size_t n, void *y)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t half = lat_f32_to_f16(x[i]);
        memcpy((char *)y + 2 * i, &half, sizeof half);
    }
}

static void ref_scale_add(float a, const float *x, size_t n, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = fmaf(a, x[i], y[i]);
}

const struct lat_kernels lat_kernels_scalar = {
    .isa = "scalar",
    .matmul_f32 = ref_matmul_f32,
    .matmul_bf16 = ref_matmul_bf16,
    .matmul_f16 = ref_matmul_f16,
    .quantize = lat_ref_quantize,
    .quant_matmul = lat_ref_quant_matmul,
    .dot = ref_dot,
    .exp = ref_exp,
    .rms_norm = ref_rms_norm,
    .gated_norm = ref_gated_norm,
    .l2_norm = ref_l2_norm,
    .silu_mul = ref_silu_mul,
    .sigmoid_mul = ref_sigmoid_mul,
    .conv_silu = ref_conv_silu,
    .delta_step = ref_delta_step,
    .attend_f32 = ref_attend_f32,
    .attend_f16 = ref_attend_f16,
    .narrow_f16 = ref_narrow_f16,
    .scale_add = ref_scale_add,
};
