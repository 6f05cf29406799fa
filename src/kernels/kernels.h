// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The one place where kernels are looked up: a table per instruction set, chosen at run time. kernels/ref is the
// definition of every result, bit for bit; each other table gives the same bits.
//
// Conventions: all activations are f32; weights are row-major [rows][cols] in their stored type, at any byte address.
// "dot" below is one order of summation everywhere: 16 lanes, lane l takes elements l, l+16, l+32, ... with fmaf from
// zero (the vectors count as padded with zeros to a multiple of 16), then the lanes are added pairwise:
// l and l+8, l and l+4, l and l+2, 0 and 1.
#ifndef LAT_KERNELS_KERNELS_H
#define LAT_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/quant.h"
#include "lattice/status.h"

enum { LAT_KERNEL_LANES = 16, LAT_ATTENTION_BLOCK = 64, LAT_CONV_TAPS_MAX = 16 };

// y[t*y_stride + r] = dot(w row r, x + t*x_stride) for rows [row_begin, row_end) and t in [0, tokens);
// with `add`, y[...] + dot instead.
typedef void lat_matmul_fn(const void *w, size_t cols, size_t row_begin, size_t row_end, const float *x,
                           size_t x_stride, size_t tokens, float *y, size_t y_stride, bool add);

// Softmax attention of `queries` queries [queries][dim] over keys [0, count), online over an absolute grid of 64 positions:
// s = dot(q,k)*scale; a new maximum rescales the 16 lane sums of weights and the output; weights and values join in order
// of position. k and v are [count][dim], f32 or f16, widened exactly. out [queries][dim]; a query's output does not
// depend on the others.
typedef void lat_attend_fn(const float *q, size_t queries, const void *k, const void *v, size_t count, size_t dim,
                           float scale, float *out);

struct lat_kernels {
    const char *isa;
    lat_matmul_fn *matmul_f32;
    lat_matmul_fn *matmul_bf16;
    lat_matmul_fn *matmul_f16;
    lat_quantize_fn *quantize;
    lat_quant_matmul_fn *quant_matmul;
    float (*dot)(const float *a, const float *b, size_t n);
    // y = exp(x); error below 1.5 ulp; 0 below -87.33, infinity above 88.72.
    void (*exp)(const float *x, size_t n, float *y);
    // y = (x * r) * w, r = 1/sqrt(dot(x,x)/n + eps) computed in double and rounded once. y may be x.
    void (*rms_norm)(const float *x, const float *w, double eps, size_t n, float *y);
    // y = ((x * r) * w) * silu(z): the DeltaNet output norm.
    void (*gated_norm)(const float *x, const float *z, const float *w, double eps, size_t n, float *y);
    // y = x * (scale / sqrt(dot(x,x) + eps)), the factor computed in double and rounded once.
    void (*l2_norm)(const float *x, double scale, double eps, size_t n, float *y);
    // y = silu(gate) * up;  silu(v) = v * (1 / (1 + exp(-v)))
    void (*silu_mul)(const float *gate, const float *up, size_t n, float *y);
    // y = x * (1 / (1 + exp(-gate)))
    void (*sigmoid_mul)(const float *x, const float *gate, size_t n, float *y);
    // y[c] = silu(w[0][c]*taps[0][c] + ... ), the first product rounded, then fmaf in order; w has w_stride a row.
    void (*conv_silu)(const float *const *taps, size_t tap_count, const float *w, size_t w_stride, size_t n, float *y);
    // One step of the gated delta rule on `n` columns of a head's state S [dk][stride]:
    //   P = decay*S; m = sum_i P_i k_i (i ascending, fmaf from 0); u = beta*(v - m); S = fmaf(k_i, u, P_i);
    //   o = sum_i S_i q_i (i ascending, fmaf from 0).
    void (*delta_step)(float *state, size_t stride, size_t dk, size_t n, const float *q, const float *k,
                       const float *v, float decay, float beta, float *o);
    lat_attend_fn *attend_f32, *attend_f16;
    // y = x as IEEE binary16, to the nearest, ties to even; beyond 65520 infinity.
    void (*narrow_f16)(const float *x, size_t n, void *y);
    // y = fmaf(a, x, y)
    void (*scale_add)(float a, const float *x, size_t n, float *y);
};

// bf16 weights times bf16 activations, for LAT_COMPUTE_FAST: other bits than the tables' products, and not the same on all
// machines. Arguments as of lat_matmul_fn.
typedef void lat_bf16_matmul_fn(const void *w, size_t cols, size_t row_begin, size_t row_end, const uint16_t *x,
                                size_t x_stride, size_t tokens, float *y, size_t y_stride, bool add);
// What this machine has for it beside the kernels of `kernels`, or NULL.
lat_bf16_matmul_fn *lat_kernels_bf16_dot(const struct lat_kernels *kernels);

// The table for this machine, lowered by the environment variable LATTICE_ISA (scalar, avx2, avx512, neon, dotprod). A name that
// is unknown, or that this machine or build lacks, is refused.
LAT_NODISCARD enum lat_status lat_kernels_choose(const struct lat_kernels **out, struct lat_error *error);
// The table of that name, or NULL when this machine or build lacks it.
const struct lat_kernels *lat_kernels_find(const char *isa);

extern const struct lat_kernels lat_kernels_scalar;
#if defined(LATTICE_SIMD) && defined(__x86_64__)
extern const struct lat_kernels lat_kernels_avx2;
extern const struct lat_kernels lat_kernels_avx512;
lat_bf16_matmul_fn lat_bf16_dot_matmul;
#endif
#if defined(LATTICE_SIMD) && defined(__aarch64__)
extern const struct lat_kernels lat_kernels_neon;
extern const struct lat_kernels lat_kernels_dotprod;
#endif

#endif
