// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Gated attention (transformers, models/qwen3_5/modeling_qwen3_5.py, Qwen3_5Attention): q, k normalised per head, then
// partially rotated; grouped queries; the output is multiplied by sigmoid(gate) before the output projection.
#include <math.h>
#include <string.h>

#include "core/fault.h"
#include "models/qwen35_step.h"
#include "nn/rope.h"

// Query of (token, head): from the interleaved [query | gate] rows, normalised and rotated, into work.b.
static void prepare_query(const struct lat_qwen35_step *s, const struct lat_qwen35_attention *a, size_t token,
                          size_t head)
{
    const struct lat_qwen35_config *c = s->config;
    const struct lat_qwen35_work *w = s->work;
    size_t dim = c->head_dim, half = c->rotary_half;
    const float *from = w->a + (token * c->num_attention_heads + head) * 2 * dim;
    float *to = w->b + (token * c->num_attention_heads + head) * dim;
    s->kernels->rms_norm(from, a->q_norm, c->rms_norm_eps, dim, to);
    lat_rope_apply(w->cosine + token * half, w->sine + token * half, half, to);
}

// Key and value of (token, kv head) into the caches.
static void store_key_value(const struct lat_qwen35_step *s, const struct lat_qwen35_attention *a, size_t layer,
                            size_t token, size_t head)
{
    const struct lat_qwen35_config *c = s->config;
    const struct lat_qwen35_work *w = s->work;
    const struct lat_qwen35_row *row = &w->row[token];
    const struct lat_qwen35_layer_state *cache = &row->sequence->layers[layer];
    size_t dim = c->head_dim, half = c->rotary_half, from = (token * c->num_key_value_heads + head) * dim;
    size_t size = row->sequence->half_cache ? 2 : sizeof(float);
    size_t to = (head * row->sequence->context + row->position) * dim * size;
    float *key = w->key_rows + from;
    s->kernels->rms_norm(key, a->k_norm, c->rms_norm_eps, dim, key);
    lat_rope_apply(w->cosine + token * half, w->sine + token * half, half, key);
    if (row->sequence->half_cache) {
        s->kernels->narrow_f16(key, dim, cache->keys + to);
        s->kernels->narrow_f16(w->value_rows + from, dim, cache->values + to);
    } else {
        memcpy(cache->keys + to, key, dim * sizeof(float));
        memcpy(cache->values + to, w->value_rows + from, dim * sizeof(float));
    }
}

// Query heads [head, head + count) of a token, all of one key-value head.
static void attend(const struct lat_qwen35_step *s, size_t layer, size_t token, size_t head, size_t count)
{
    const struct lat_qwen35_config *c = s->config;
    const struct lat_qwen35_work *w = s->work;
    const struct lat_qwen35_row *row = &w->row[token];
    const struct lat_qwen35_layer_state *cache = &row->sequence->layers[layer];
    size_t dim = c->head_dim, at = token * c->num_attention_heads + head;
    size_t group = c->num_attention_heads / c->num_key_value_heads;
    bool half = row->sequence->half_cache;
    size_t offset = head / group * row->sequence->context * dim * (half ? 2 : sizeof(float));
    float scale = (float)((LAT_FAULT_AT("attention_scale", layer) ? 1.05 : 1.0) / sqrt((double)dim));
    size_t first = LAT_FAULT_AT("kv_window", layer) && row->position >= 96 ? row->position - 95 : 0; // 0: all keys are seen
    if (LAT_FAULT_AT("kv_mapping", layer))
        offset = (head / group + 1) % c->num_key_value_heads * row->sequence->context * dim * (half ? 2 : sizeof(float));
    offset += first * dim * (half ? 2 : sizeof(float));
    lat_attend_fn *attend_rows = half ? s->kernels->attend_f16 : s->kernels->attend_f32;
    attend_rows(w->b + at * dim, count, cache->keys + offset, cache->values + offset, row->position + 1 - first, dim, scale,
                w->c + at * dim);
    for (size_t i = at; i < at + count && !LAT_FAULT_AT("no_output_gate", layer); i++)
        s->kernels->sigmoid_mul(w->c + i * dim, w->a + i * 2 * dim + dim, dim, w->c + i * dim);
    for (size_t i = 0; LAT_FAULT_AT("head_decode", layer) && head == 0 && s->tokens == 1 && row->position > 0 && i < dim; i++)
        w->c[at * dim + i] *= 0.97f;
    if (lat_qwen35_prepares_pieces(s, dim))
        lat_qwen35_prepare_piece(s, LAT_INPUT_LAYER, w->c, c->num_attention_heads * dim, token, head * dim, count * dim);
}

void lat_qwen35_attention_run(const struct lat_qwen35_lane *lane, size_t layer)
{
    struct lat_qwen35_step *s = lane->step;
    const struct lat_qwen35_config *c = s->config;
    const struct lat_qwen35_attention *a = &s->weights->layers[layer].attention;
    struct lat_qwen35_work *w = s->work;
    size_t heads = c->num_attention_heads, kv_heads = c->num_key_value_heads;
    size_t threads = (size_t)lane->threads, thread = (size_t)lane->thread;
    lat_qwen35_product(lane, &a->q, LAT_INPUT_LAYER, w->normed, s->tokens, w->a, 2 * heads * c->head_dim, a->q_bias, false);
    lat_qwen35_product(lane, &a->k, LAT_INPUT_LAYER, w->normed, s->tokens, w->key_rows, kv_heads * c->head_dim, a->k_bias, false);
    lat_qwen35_product(lane, &a->v, LAT_INPUT_LAYER, w->normed, s->tokens, w->value_rows, kv_heads * c->head_dim, a->v_bias, false);
    lat_qwen35_barrier(lane);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_Q_PROJ, w->a, 2 * heads * c->head_dim, 2 * heads * c->head_dim);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_K_PROJ, w->key_rows, kv_heads * c->head_dim, kv_heads * c->head_dim);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_V_PROJ, w->value_rows, kv_heads * c->head_dim, kv_heads * c->head_dim);
    for (size_t i = thread; i < s->tokens * heads; i += threads)
        prepare_query(s, a, i / heads, i % heads);
    for (size_t i = thread; i < s->tokens * kv_heads; i += threads)
        store_key_value(s, a, layer, i / kv_heads, i % kv_heads);
    lat_qwen35_barrier(lane);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_Q, w->b, heads * c->head_dim, heads * c->head_dim);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_K, w->key_rows, kv_heads * c->head_dim, kv_heads * c->head_dim);
    // Later tokens see more keys: dealing work out in turn balances the threads. Query heads that share keys go together,
    // unless that leaves threads idle.
    size_t together = s->tokens * kv_heads >= threads ? heads / kv_heads : 1, units = heads / together;
    for (size_t i = thread; i < s->tokens * units; i += threads)
        attend(s, layer, i / units, i % units * together, together);
    lat_qwen35_barrier(lane);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_CONTEXT, w->c, heads * c->head_dim, heads * c->head_dim);
    if (!lat_qwen35_prepares_pieces(s, c->head_dim))
        lat_qwen35_prepare(lane, LAT_INPUT_LAYER, w->c, a->o.cols, s->tokens);
    lat_qwen35_product(lane, &a->o, LAT_INPUT_LAYER, w->c, s->tokens, w->hidden, c->hidden_size, a->o_bias, true);
    lat_qwen35_barrier(lane);
}
