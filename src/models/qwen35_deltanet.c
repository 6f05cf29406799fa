// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Gated DeltaNet (Yang et al. 2024; transformers, Qwen3_5GatedDeltaNet), by the recurrence of the delta rule for
// prefill and decode alike: on a CPU it is no slower than the chunked form, and its bits do not depend on where a
// chunk begins.
#include <math.h>
#include <string.h>

#include "core/dmath.h"
#include "core/fault.h"
#include "models/qwen35_step.h"

enum { SLICE_COLUMNS = 64 };

// Input of the convolution `back` tokens before token `token` of a part, channel `first` on: from the chunk, or from the
// state of the tokens before it.
static const float *conv_input(const struct lat_qwen35_step *s, const struct lat_qwen35_part *part, size_t layer,
                               size_t token, size_t back, size_t first)
{
    size_t width = lat_qwen35_conv_dim(s->config), held = s->config->linear_conv_kernel_dim - 1;
    if (token >= back)
        return s->work->a + (part->first + token - back) * width + first;
    return part->sequence->layers[layer].conv + (held + token - back) * width + first;
}

// Convolution and SiLU over `count` channels from `first` on, all tokens; then the state takes the last inputs.
static void convolve_part(const struct lat_qwen35_step *s, const struct lat_qwen35_part *part, size_t layer, size_t first,
                          size_t count)
{
    size_t width = lat_qwen35_conv_dim(s->config), taps = s->config->linear_conv_kernel_dim, held = taps - 1;
    const float *w = s->weights->layers[layer].deltanet.conv + first;
    float *state = part->sequence->layers[layer].conv + first;
    const float *rows[LAT_CONV_TAPS_MAX];
    for (size_t t = 0; t < part->tokens; t++) {
        for (size_t j = 0; j < taps; j++)
            rows[j] = conv_input(s, part, layer, t, taps - 1 - j, first);
        s->kernels->conv_silu(rows, taps, w, width, count, s->work->b + (part->first + t) * width + first);
    }
    size_t shift = LAT_FAULT("conv_state") ? 1 : 0; // the planted fault keeps inputs one token too old
    for (size_t j = 0; j < held; j++) { // ascending: row j is read from row j + tokens >= j, or from the chunk
        size_t back = held - j - 1 + shift;
        if (back <= part->tokens - 1 + held)
            memmove(state + j * width, conv_input(s, part, layer, part->tokens - 1, back, first), count * sizeof(float));
    }
}

static void convolve(const struct lat_qwen35_step *s, size_t layer, size_t first, size_t count)
{
    for (size_t p = 0; p < s->part_count; p++)
        convolve_part(s, &s->parts[p], layer, first, count);
}

// Query or key head: convolution, then L2 norm (eps 1e-6 inside the root); queries also take dk^-1/2.
static void prepare_key_head(const struct lat_qwen35_step *s, size_t layer, size_t head)
{
    const struct lat_qwen35_config *c = s->config;
    size_t dk = c->linear_key_head_dim, width = lat_qwen35_conv_dim(c), first = head * dk;
    convolve(s, layer, first, dk);
    bool query = head < c->linear_num_key_heads;
    double scale = query ? 1.0 / sqrt((double)dk) : 1.0;
    for (size_t t = 0; t < s->tokens; t++) {
        float *x = s->work->b + t * width + first;
        if (!LAT_FAULT("no_l2_norm"))
            s->kernels->l2_norm(x, scale, 1e-6, dk, x);
    }
}

// decay = exp(-exp(A_log) softplus(a + dt_bias)), beta = sigmoid(b), in double, rounded once.
static void gates(const struct lat_qwen35_deltanet *d, size_t head, float a, float b, float *decay, float *beta)
{
    double x = (double)a + d->dt_bias[head];
    double softplus = x > 20 ? x : lat_dmath_log1p(lat_dmath_exp(x));
    *decay = (float)lat_dmath_exp(-(double)d->decay_rate[head] * softplus);
    *beta = (float)(1.0 / (1.0 + lat_dmath_exp(-(double)b)));
}

static size_t key_head_of(const struct lat_qwen35_config *c, size_t value_head)
{
    if (LAT_FAULT("head_mapping"))
        return value_head % c->linear_num_key_heads;
    return value_head / (c->linear_num_value_heads / c->linear_num_key_heads);
}

// One value head over all tokens of a part: the recurrence, a slice of columns at a time so that the slice of the state
// stays in the first-level cache; then the gated norm, into work.e.
static void run_value_head(const struct lat_qwen35_step *s, const struct lat_qwen35_part *part, size_t layer, size_t head)
{
    const struct lat_qwen35_config *c = s->config;
    const struct lat_qwen35_deltanet *d = &s->weights->layers[layer].deltanet;
    const struct lat_qwen35_work *w = s->work;
    size_t dk = c->linear_key_head_dim, dv = c->linear_value_head_dim, nv = c->linear_num_value_heads;
    size_t width = lat_qwen35_conv_dim(c), keys = lat_qwen35_key_dim(c), key_head = key_head_of(c, head);
    float *state = part->sequence->layers[layer].delta + head * dk * dv;
    for (size_t t = part->first; t < part->first + part->tokens; t++) { // the gates take the place of what they come from
        float *beta = &w->d[t * nv + head], *decay = &w->d[(s->tokens + t) * nv + head];
        float bias = LAT_FAULT_AT("no_dt_bias", layer) ? d->dt_bias[head] : 0, plain = *beta;
        gates(d, head, *decay - bias, *beta, decay, beta);
        if (LAT_FAULT_AT("plain_beta", layer))
            *beta = plain;
    }
    for (size_t column = 0; column < dv; column += SLICE_COLUMNS) {
        size_t count = dv - column < SLICE_COLUMNS ? dv - column : SLICE_COLUMNS;
        for (size_t t = part->first; t < part->first + part->tokens; t++) {
            const float *row = w->b + t * width;
            s->kernels->delta_step(state + column, dv, dk, count, row + key_head * dk, row + keys + key_head * dk,
                                   row + 2 * keys + head * dv + column, w->d[(s->tokens + t) * nv + head], w->d[t * nv + head],
                                   w->e + (t * nv + head) * dv + column);
        }
    }
    for (size_t t = part->first; t < part->first + part->tokens; t++) {
        float *out = w->e + (t * nv + head) * dv;
        if (s->observe_operators) // the values before the norm, where the inputs of this head's convolution were
            memcpy(w->a + t * width + 2 * keys + head * dv, out, dv * sizeof(float));
        s->kernels->gated_norm(out, w->c + (t * nv + head) * dv, d->norm, c->rms_norm_eps, dv, out);
        if (lat_qwen35_prepares_pieces(s, dv))
            lat_qwen35_prepare_piece(s, LAT_INPUT_LAYER, w->e, nv * dv, t, head * dv, dv);
    }
}

static void run_key_head(const struct lat_qwen35_step *s, size_t layer, size_t key_head)
{
    const struct lat_qwen35_config *c = s->config;
    size_t nk = c->linear_num_key_heads, dv = c->linear_value_head_dim;
    prepare_key_head(s, layer, key_head);
    prepare_key_head(s, layer, nk + key_head);
    for (size_t head = 0; head < c->linear_num_value_heads; head++) {
        if (key_head_of(c, head) != key_head)
            continue;
        convolve(s, layer, 2 * lat_qwen35_key_dim(c) + head * dv, dv);
        for (size_t p = 0; p < s->part_count; p++)
            run_value_head(s, &s->parts[p], layer, head);
    }
}

void lat_qwen35_deltanet_run(const struct lat_qwen35_lane *lane, size_t layer)
{
    struct lat_qwen35_step *s = lane->step;
    const struct lat_qwen35_config *c = s->config;
    const struct lat_qwen35_deltanet *d = &s->weights->layers[layer].deltanet;
    struct lat_qwen35_work *w = s->work;
    size_t nk = c->linear_num_key_heads, nv = c->linear_num_value_heads, dv = c->linear_value_head_dim;
    size_t threads = (size_t)lane->threads, thread = (size_t)lane->thread;
    lat_qwen35_product(lane, &d->qkv, LAT_INPUT_LAYER, w->normed, s->tokens, w->a, lat_qwen35_conv_dim(c), NULL, false);
    lat_qwen35_product(lane, &d->z, LAT_INPUT_LAYER, w->normed, s->tokens, w->c, nv * dv, NULL, false);
    lat_qwen35_product(lane, &d->b, LAT_INPUT_LAYER, w->normed, s->tokens, w->d, nv, NULL, false);
    lat_qwen35_product(lane, &d->a, LAT_INPUT_LAYER, w->normed, s->tokens, w->d + s->tokens * nv, nv, NULL, false);
    lat_qwen35_barrier(lane);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_QKV, w->a, lat_qwen35_conv_dim(c), lat_qwen35_conv_dim(c));
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_Z, w->c, nv * dv, nv * dv);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_B, w->d, nv, nv);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_A, w->d + s->tokens * nv, nv, nv);
    // A key head and its value heads stay with one thread, which keeps their states in its caches.
    for (size_t key_head = thread; key_head < nk; key_head += threads)
        run_key_head(s, layer, key_head);
    lat_qwen35_barrier(lane);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_CONV, w->b, lat_qwen35_conv_dim(c), lat_qwen35_conv_dim(c));
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_DELTA, w->a + 2 * lat_qwen35_key_dim(c), nv * dv, lat_qwen35_conv_dim(c));
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_GATED, w->e, nv * dv, nv * dv);
    if (!lat_qwen35_prepares_pieces(s, dv))
        lat_qwen35_prepare(lane, LAT_INPUT_LAYER, w->e, d->out.cols, s->tokens);
    lat_qwen35_product(lane, &d->out, LAT_INPUT_LAYER, w->e, s->tokens, w->hidden, c->hidden_size, NULL, true);
    lat_qwen35_barrier(lane);
}
