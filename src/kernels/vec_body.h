// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// All vector kernels, written once over kernels/vec.h and compiled once per instruction set. The including file has
// included vec.h's set and defines VEC_TABLE (the table's name) and VEC_ISA (its text). kernels/ref says what each
// kernel computes; here stands only how.
#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/vec.h"

#define VEC_QUANT(x) quant_##x
#include "kernels/vec_quant.h"

enum { BLOCK = LAT_ATTENTION_BLOCK };

#if defined(LAT_VEC_AVX512)
enum { VEC_TILE_ROWS = 4, VEC_TILE_TOKENS = 6, VEC_GEMV_ROWS = 1 }; // 24 accumulators, 4 weights, 1 activation
#elif defined(LAT_VEC_AVX2)
enum { VEC_TILE_ROWS = 2, VEC_TILE_TOKENS = 2, VEC_GEMV_ROWS = 4 }; // 8 + 4 + 2 of 16 registers
#else
enum { VEC_TILE_ROWS = 2, VEC_TILE_TOKENS = 2, VEC_GEMV_ROWS = 4 }; // 16 + 8 + 4 of 32 registers
#endif
enum { VEC_CACHE_FLOATS = 96 * 1024, VEC_CACHE_BYTES = 512 * 1024, VEC_PACK_COLS = 4096 };

VEC_INLINE void store_sums(v16 sum[8][8], size_t t, const size_t rows, float *y, bool add)
{
    size_t r = 0;
#ifdef LAT_VEC_HAS_SUM4
#pragma GCC unroll 2
    for (; r + 4 <= rows; r += 4) {
        __m128 four = v16_sum4(sum[r][t], sum[r + 1][t], sum[r + 2][t], sum[r + 3][t]);
        _mm_storeu_ps(y + r, add ? _mm_add_ps(_mm_loadu_ps(y + r), four) : four);
    }
#endif
#pragma GCC unroll 8
    for (; r < rows; r++) {
        float one = v16_sum(sum[r][t]);
        y[r] = add ? y[r] + one : one;
    }
}

#define VEC_NAME(x) x##_f32
#define VEC_LOAD v16_load
#define VEC_LOAD_PART v16_load_part
#define VEC_WEIGHT_SIZE 4
#include "kernels/vec_matmul.h"

#define VEC_NAME(x) x##_bf16
#define VEC_LOAD v16_load_bf16
#define VEC_LOAD_PART v16_load_bf16_part
#define VEC_WEIGHT_SIZE 2
#include "kernels/vec_matmul.h"

#define VEC_NAME(x) x##_f16
#define VEC_LOAD v16_load_f16
#define VEC_LOAD_PART v16_load_f16_part
#define VEC_WEIGHT_SIZE 2
#include "kernels/vec_matmul.h"

static float vec_dot(const float *a, const float *b, size_t n)
{
    v16 sum = v16_zero();
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        sum = v16_fma(v16_load(a + i), v16_load(b + i), sum);
    if (i < n)
        sum = v16_fma(v16_load_part(a + i, n - i), v16_load_part(b + i, n - i), sum);
    return v16_sum(sum);
}

VEC_INLINE v16 exp16(v16 x)
{
    v16 low = v16_set(-87.33654f), high = v16_set(88.72283f), magic = v16_set(0x1.8p23f);
    v16 xc = v16_pick(x, low, low, v16_pick(high, x, high, x));
    v16 n = v16_sub(v16_fma(xc, v16_set(0x1.715476p0f), magic), magic);
    v16 r = v16_fma(n, v16_set(-0x1.62e400p-1f), xc);
    r = v16_fma(n, v16_set(-0x1.7f7d1cp-20f), r);
    v16 p = v16_set(1.0f / 5040), a, b;
    p = v16_fma(p, r, v16_set(1.0f / 720));
    p = v16_fma(p, r, v16_set(1.0f / 120));
    p = v16_fma(p, r, v16_set(1.0f / 24));
    p = v16_fma(p, r, v16_set(1.0f / 6));
    p = v16_fma(p, r, v16_set(0.5f));
    p = v16_fma(p, r, v16_set(1.0f));
    p = v16_fma(p, r, v16_set(1.0f));
    v16_pow2_halves(n, &a, &b);
    v16 y = v16_mul(v16_mul(p, a), b);
    return v16_pick(x, low, v16_zero(), v16_pick(high, x, v16_set(INFINITY), y));
}

VEC_INLINE v16 sigmoid16(v16 x)
{
    v16 one = v16_set(1);
    return v16_div(one, v16_add(one, exp16(v16_negate(x))));
}

VEC_INLINE v16 silu16(v16 x) { return v16_mul(x, sigmoid16(x)); }

static void vec_exp(const float *x, size_t n, float *y)
{
    for (size_t i = 0; i < n; i += 16)
        v16_store_n(y + i, exp16(v16_load_n(x + i, n - i)), n - i);
}

static float rms_factor(const float *x, double eps, size_t n)
{
    return (float)(1.0 / sqrt((double)vec_dot(x, x, n) / (double)n + eps));
}

static void vec_rms_norm(const float *x, const float *w, double eps, size_t n, float *y)
{
    v16 r = v16_set(rms_factor(x, eps, n));
    for (size_t i = 0; i < n; i += 16)
        v16_store_n(y + i, v16_mul(v16_mul(v16_load_n(x + i, n - i), r), v16_load_n(w + i, n - i)), n - i);
}

static void vec_gated_norm(const float *x, const float *z, const float *w, double eps, size_t n, float *y)
{
    v16 r = v16_set(rms_factor(x, eps, n));
    for (size_t i = 0; i < n; i += 16) {
        v16 normed = v16_mul(v16_mul(v16_load_n(x + i, n - i), r), v16_load_n(w + i, n - i));
        v16_store_n(y + i, v16_mul(normed, silu16(v16_load_n(z + i, n - i))), n - i);
    }
}

static void vec_l2_norm(const float *x, double scale, double eps, size_t n, float *y)
{
    v16 r = v16_set((float)(scale / sqrt((double)vec_dot(x, x, n) + eps)));
    for (size_t i = 0; i < n; i += 16)
        v16_store_n(y + i, v16_mul(v16_load_n(x + i, n - i), r), n - i);
}

static void vec_silu_mul(const float *gate, const float *up, size_t n, float *y)
{
    for (size_t i = 0; i < n; i += 16)
        v16_store_n(y + i, v16_mul(silu16(v16_load_n(gate + i, n - i)), v16_load_n(up + i, n - i)), n - i);
}

static void vec_sigmoid_mul(const float *x, const float *gate, size_t n, float *y)
{
    for (size_t i = 0; i < n; i += 16)
        v16_store_n(y + i, v16_mul(v16_load_n(x + i, n - i), sigmoid16(v16_load_n(gate + i, n - i))), n - i);
}

static void vec_conv_silu(const float *const *taps, size_t tap_count, const float *w, size_t w_stride, size_t n,
                          float *y)
{
    for (size_t c = 0; c < n; c += 16) {
        size_t left = n - c;
        v16 sum = v16_mul(v16_load_n(w + c, left), v16_load_n(taps[0] + c, left));
        for (size_t j = 1; j < tap_count; j++)
            sum = v16_fma(v16_load_n(w + j * w_stride + c, left), v16_load_n(taps[j] + c, left), sum);
        v16_store_n(y + c, silu16(sum), left);
    }
}

// `count` vectors of 16 columns at once, so that several chains of dependent adds overlap.
VEC_INLINE void delta_columns(float *state, size_t stride, size_t dk, const size_t count, const float *q,
                              const float *k, const float *v, float decay, float beta, float *o)
{
    v16 m[4], out[4], u[4], g = v16_set(decay);
#pragma GCC unroll 4
    for (size_t c = 0; c < count; c++)
        m[c] = out[c] = v16_zero();
    for (size_t i = 0; i < dk; i++) {
        v16 ki = v16_set(k[i]);
#pragma GCC unroll 4
        for (size_t c = 0; c < count; c++)
            m[c] = v16_fma(v16_mul(v16_load(state + i * stride + 16 * c), g), ki, m[c]);
    }
#pragma GCC unroll 4
    for (size_t c = 0; c < count; c++)
        u[c] = v16_mul(v16_set(beta), v16_sub(v16_load(v + 16 * c), m[c]));
    for (size_t i = 0; i < dk; i++) {
        v16 ki = v16_set(k[i]), qi = v16_set(q[i]);
#pragma GCC unroll 4
        for (size_t c = 0; c < count; c++) {
            float *s = state + i * stride + 16 * c;
            v16 now = v16_fma(ki, u[c], v16_mul(v16_load(s), g));
            v16_store(s, now);
            out[c] = v16_fma(now, qi, out[c]);
        }
    }
#pragma GCC unroll 4
    for (size_t c = 0; c < count; c++)
        v16_store(o + 16 * c, out[c]);
}

static void delta_tail(float *state, size_t stride, size_t dk, size_t n, const float *q, const float *k,
                       const float *v, float decay, float beta, float *o)
{
    v16 m = v16_zero(), out = v16_zero(), g = v16_set(decay);
    for (size_t i = 0; i < dk; i++)
        m = v16_fma(v16_mul(v16_load_part(state + i * stride, n), g), v16_set(k[i]), m);
    v16 u = v16_mul(v16_set(beta), v16_sub(v16_load_part(v, n), m));
    for (size_t i = 0; i < dk; i++) {
        v16 now = v16_fma(v16_set(k[i]), u, v16_mul(v16_load_part(state + i * stride, n), g));
        v16_store_part(state + i * stride, now, n);
        out = v16_fma(now, v16_set(q[i]), out);
    }
    v16_store_part(o, out, n);
}

static void vec_delta_step(float *state, size_t stride, size_t dk, size_t n, const float *q, const float *k,
                           const float *v, float decay, float beta, float *o)
{
    size_t c = 0;
    for (; c + 64 <= n; c += 64)
        delta_columns(state + c, stride, dk, 4, q, k, v + c, decay, beta, o + c);
    for (; c + 16 <= n; c += 16)
        delta_columns(state + c, stride, dk, 1, q, k, v + c, decay, beta, o + c);
    if (c < n)
        delta_tail(state + c, stride, dk, n - c, q, k, v + c, decay, beta, o + c);
}

enum { ATTEND_QUERIES = 4 };

// Scores of a block become weights; the running maximum and the lane sums of the weights follow.
static void attend_weights(float *weight, size_t size, float *most, v16 *lanes, float *shrink)
{
    float now = *most;
    for (size_t j = 0; j < size; j++)
        now = now < weight[j] ? weight[j] : now;
    *shrink = *most - now;
    vec_exp(shrink, 1, shrink);
    *lanes = v16_mul(*lanes, v16_set(*shrink));
    for (size_t j = 0; j < size; j += 16) {
        v16 w = exp16(v16_sub(v16_load_n(weight + j, size - j), v16_set(now)));
        v16_store_n(weight + j, w, size - j);
        *lanes = v16_add(*lanes, v16_load_n(weight + j, size - j));
    }
    *most = now;
}

#define VEC_NAME(x) x##_f32
#define VEC_LOAD v16_load
#define VEC_LOAD_PART v16_load_part
#define VEC_LOAD_N v16_load_n
#define VEC_WEIGHT_SIZE 4
#include "kernels/vec_attend.h"

#define VEC_NAME(x) x##_f16
#define VEC_LOAD v16_load_f16
#define VEC_LOAD_PART v16_load_f16_part
#define VEC_LOAD_N v16_load_f16_n
#define VEC_WEIGHT_SIZE 2
#include "kernels/vec_attend.h"

static void vec_narrow_f16(const float *x, size_t n, void *y)
{
    for (size_t i = 0; i < n; i += 16)
        v16_store_f16_n((char *)y + 2 * i, v16_load_n(x + i, n - i), n - i);
}

static void vec_scale_add(float a, const float *x, size_t n, float *y)
{
    for (size_t i = 0; i < n; i += 16)
        v16_store_n(y + i, v16_fma(v16_set(a), v16_load_n(x + i, n - i), v16_load_n(y + i, n - i)), n - i);
}

const struct lat_kernels VEC_TABLE = {
    .isa = VEC_ISA,
    .matmul_f32 = matmul_f32,
    .matmul_bf16 = matmul_bf16,
    .matmul_f16 = matmul_f16,
    .quantize = quant_quantize,
    .quant_matmul = quant_matmul,
    .dot = vec_dot,
    .exp = vec_exp,
    .rms_norm = vec_rms_norm,
    .gated_norm = vec_gated_norm,
    .l2_norm = vec_l2_norm,
    .silu_mul = vec_silu_mul,
    .sigmoid_mul = vec_sigmoid_mul,
    .conv_silu = vec_conv_silu,
    .delta_step = vec_delta_step,
    .attend_f32 = attend_f32,
    .attend_f16 = attend_f16,
    .narrow_f16 = vec_narrow_f16,
    .scale_add = vec_scale_add,
};
