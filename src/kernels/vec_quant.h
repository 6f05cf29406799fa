// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Integer products (kernels/quant.h) over kernels/vec_int.h, compiled once per instruction set; the including file
// defines VEC_QUANT(x), a name with its suffix. kernels/ref/ref_quant.c says what is computed.
//
// Decode is bound by reading weights: a panel streams by once, lanes are rows, nothing is shuffled. Prefill is bound by
// the dot products: a tile of 2 panels x 6 tokens (AVX-512) shares each load of weights. 4-bit codes are split in
// registers: unpacking them once for all tokens was measured, and is no faster.
#include <math.h>

#include "kernels/quant.h"
#include "kernels/vec_int.h"

#if defined(LAT_VEC_AVX512)
enum { Q_PANELS = 2, Q_TOKENS = 6 }; // 12 integer and 12 float sums, 2 weights, 2 scales
#elif defined(LAT_VEC_AVX2)
enum { Q_PANELS = 1, Q_TOKENS = 2 };
#else
enum { Q_PANELS = 1, Q_TOKENS = 3 };
#endif
enum { PREFETCH_BYTES = 4096 };

VEC_INLINE v16 q_scales(const struct lat_panels *w, const unsigned char *at)
{
    return w->scale_bytes == 2 ? v16_load_bf16(at) : v16_load(at);
}

// One tile: `panels` panels by `tokens` tokens, all columns.
VEC_INLINE void q_tile(const struct lat_panels *w, const unsigned char *panel, const struct lat_quant_rows *x,
                       size_t token, v16 sum[Q_PANELS][Q_TOKENS], const int bits, const size_t panels, const size_t tokens)
{
    const bool packed = bits == 4;
    const size_t block_bytes = lat_panel_code_bytes(bits), blocks = w->blocks, scale_bytes = LAT_PANEL_ROWS * w->scale_bytes;
    const int8_t *q = x->q + token * blocks * LAT_QUANT_BLOCK;
    const float *scale = x->scale + token * blocks;
    const int32_t *minus = x->sum + token * blocks;
    v16 ws[Q_PANELS];
    qacc acc[Q_PANELS][Q_TOKENS];
#pragma GCC unroll 8
    for (size_t p = 0; p < panels; p++)
#pragma GCC unroll 8
        for (size_t t = 0; t < tokens; t++)
            sum[p][t] = v16_zero();
    const unsigned char *at[Q_PANELS]; // a panel is read from its begin to its end, once
#pragma GCC unroll 8
    for (size_t p = 0; p < panels; p++)
        at[p] = panel + p * w->panel_bytes;
    for (size_t b = 0, left = 0; b < blocks; b++, left--) {
        if (left == 0) {
#pragma GCC unroll 8
            for (size_t p = 0; p < panels; p++) {
                ws[p] = q_scales(w, at[p]);
                at[p] += scale_bytes;
            }
            left = w->group_blocks;
        }
#pragma GCC unroll 8
        for (size_t p = 0; p < panels; p++)
#pragma GCC unroll 8
            for (size_t t = 0; t < tokens; t++)
                acc[p][t] = qacc_start(minus[t * blocks + b], bits);
#pragma GCC unroll 8
        for (size_t j = 0; j < 8; j += packed ? 2 : 1) {
            vq low[Q_PANELS], high[Q_PANELS];
#pragma GCC unroll 8
            for (size_t p = 0; p < panels; p++) {
                low[p] = vq_load(at[p] + (packed ? j / 2 : j) * 64);
                if (packed)
                    vq_split(low[p], &low[p], &high[p]);
            }
#pragma GCC unroll 8
            for (size_t t = 0; t < tokens; t++) {
                const int8_t *quad = q + (t * blocks + b) * LAT_QUANT_BLOCK + 4 * j;
#pragma GCC unroll 8
                for (size_t p = 0; p < panels; p++) {
                    acc[p][t] = qacc_add(acc[p][t], low[p], quad_load(quad), bits);
                    if (packed)
                        acc[p][t] = qacc_add(acc[p][t], high[p], quad_load(quad + 4), bits);
                }
            }
        }
#pragma GCC unroll 8
        for (size_t t = 0; t < tokens; t++) {
            v16 xs = v16_set(scale[t * blocks + b]);
#pragma GCC unroll 8
            for (size_t p = 0; p < panels; p++)
                sum[p][t] = v16_fma(qacc_end(acc[p][t], minus[t * blocks + b], bits), v16_mul(ws[p], xs), sum[p][t]);
        }
#pragma GCC unroll 8
        for (size_t p = 0; p < panels; p++) {
            if (tokens == 1) // bound by memory: reads ahead of what the processor has in flight (docs/models/qwen35/SPEED.md)
                for (size_t i = 0; i < block_bytes; i += 64)
                    __builtin_prefetch(at[p] + PREFETCH_BYTES + i, 0, 3);
            at[p] += block_bytes;
        }
    }
}

struct q_target {
    float *y; // of the first panel's first row, token 0
    size_t y_stride, rows; // rows that exist from y on
    bool add;
};

VEC_INLINE void q_run(const struct lat_panels *w, const unsigned char *panel, const struct lat_quant_rows *x,
                      size_t token, const struct q_target *to, const int bits, const size_t panels, const size_t tokens)
{
    v16 sum[Q_PANELS][Q_TOKENS];
    q_tile(w, panel, x, token, sum, bits, panels, tokens);
#pragma GCC unroll 8
    for (size_t t = 0; t < tokens; t++)
#pragma GCC unroll 8
        for (size_t p = 0; p < panels; p++) {
            float *y = to->y + (token + t) * to->y_stride + p * LAT_PANEL_ROWS;
            size_t n = to->rows - p * LAT_PANEL_ROWS;
            v16_store_n(y, to->add ? v16_add(v16_load_n(y, n), sum[p][t]) : sum[p][t], n);
        }
}

// All tokens of one group of panels.
VEC_INLINE void q_strip(const struct lat_panels *w, const unsigned char *panel, const struct lat_quant_rows *x,
                        size_t tokens, const struct q_target *to, const int bits, const size_t panels)
{
    size_t t = 0;
    for (; t + Q_TOKENS <= tokens; t += Q_TOKENS)
        q_run(w, panel, x, t, to, bits, panels, Q_TOKENS);
    for (; t + 2 <= tokens; t += 2)
        q_run(w, panel, x, t, to, bits, panels, 2);
    if (t < tokens)
        q_run(w, panel, x, t, to, bits, panels, 1);
}

VEC_INLINE void q_panels(const struct lat_panels *w, size_t panel, const struct lat_quant_rows *x, size_t tokens,
                         float *y, size_t y_stride, bool add, const size_t panels)
{
    const unsigned char *first = w->data + panel * w->panel_bytes;
    struct q_target to = { .y = y + panel * LAT_PANEL_ROWS, .y_stride = y_stride, .rows = w->rows - panel * LAT_PANEL_ROWS,
                           .add = add };
    if (w->bits == 8)
        q_strip(w, first, x, tokens, &to, 8, panels);
    else
        q_strip(w, first, x, tokens, &to, 4, panels);
}

static void VEC_QUANT(matmul)(const struct lat_panels *w, size_t panel_begin, size_t panel_end,
                              const struct lat_quant_rows *x, size_t tokens, float *y, size_t y_stride, bool add)
{
    size_t p = panel_begin;
    for (; tokens > 1 && p + Q_PANELS <= panel_end; p += Q_PANELS) // decode: one stream from memory is the fastest
        q_panels(w, p, x, tokens, y, y_stride, add, Q_PANELS);
    for (; p < panel_end; p++)
        q_panels(w, p, x, tokens, y, y_stride, add, 1);
}

static void VEC_QUANT(quantize)(const float *x, size_t n, int8_t *q, float *scale, int32_t *sum)
{
    for (size_t b = 0; b * LAT_QUANT_BLOCK < n; b++) {
        size_t left = n - b * LAT_QUANT_BLOCK;
        const float *from = x + b * LAT_QUANT_BLOCK;
        v16 low = v16_load_n(from, left), high = left > 16 ? v16_load_n(from + 16, left - 16) : v16_zero();
        uint32_t most = v16_most_bits(low, high);
        float amax;
        memcpy(&amax, &most, sizeof amax);
        scale[b] = most >= 0x7f800000 ? NAN : amax < 0x1p-100f ? 0 : amax / 127.0f;
        v16 inverse = v16_set(scale[b] > 0 ? 127.0f / amax : 0);
        if (most >= 0x7f800000)
            low = high = v16_zero();
        sum[b] = v16_store_int8(q + b * LAT_QUANT_BLOCK, v16_mul(low, inverse), v16_mul(high, inverse));
    }
}
