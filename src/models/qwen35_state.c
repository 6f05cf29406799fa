// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "models/qwen35_state.h"

#include <string.h>

#include "core/error.h"

// Adds up floats; once a sum or product has overflowed it stays so.
struct tally {
    size_t floats;
    bool overflow;
};

static size_t times(struct tally *t, size_t a, size_t b)
{
    size_t product = 0;
    t->overflow = t->overflow || !lat_size_mul(a, b, &product);
    return product;
}

static void add(struct tally *t, size_t floats)
{
    size_t rounded = 0;
    t->overflow = t->overflow || !lat_size_add(floats, 15, &rounded); // each part starts on a cache line
    rounded -= rounded % 16;
    t->overflow = t->overflow || !lat_size_add(t->floats, rounded, &t->floats);
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

struct widths {
    size_t a, b, c, d, e, kv;
};

static struct widths work_widths(const struct lat_qwen35_config *c)
{
    size_t heads = c->num_attention_heads * c->head_dim, conv = lat_qwen35_conv_dim(c), value = lat_qwen35_value_dim(c);
    size_t inner = larger(larger(c->intermediate_size, c->moe_intermediate_size), c->shared_expert_intermediate_size);
    return (struct widths){
        .a = larger(larger(conv, 2 * heads), inner),
        .b = larger(larger(conv, heads), inner),
        .c = larger(value, heads),
        .d = 2 * c->linear_num_value_heads,
        .e = value,
        .kv = c->num_key_value_heads * c->head_dim,
    };
}

static size_t cache_floats(const struct lat_qwen35_config *c, size_t context, struct tally *t)
{
    return times(t, times(t, c->num_key_value_heads, context), c->head_dim);
}

static void tally_sequence(const struct lat_qwen35_config *c, size_t context, struct tally *cache,
                           struct tally *recurrent)
{
    for (size_t i = 0; i < c->num_hidden_layers; i++) {
        if (c->layer_is_full[i]) {
            add(cache, cache_floats(c, context, cache));
            add(cache, cache_floats(c, context, cache));
        } else {
            add(recurrent, times(recurrent, c->linear_conv_kernel_dim - 1, lat_qwen35_conv_dim(c)));
            add(recurrent, times(recurrent, lat_qwen35_value_dim(c), c->linear_key_head_dim));
        }
    }
}

// Walks over the parts of the work space: with base NULL it only counts, else it also places the pointers.
static void place(struct tally *t, float *base, float **part, size_t rows, size_t width)
{
    size_t start = t->floats;
    add(t, times(t, rows, width));
    if (base)
        *part = base + start;
}

static void layout_work(const struct lat_qwen35_config *c, size_t rows, size_t logit_rows, float *base,
                        struct lat_qwen35_work *w, struct tally *t)
{
    struct widths n = work_widths(c);
    place(t, base, &w->hidden, rows, c->hidden_size);
    place(t, base, &w->normed, rows, c->hidden_size);
    place(t, base, &w->cosine, rows, c->rotary_half);
    place(t, base, &w->sine, rows, c->rotary_half);
    place(t, base, &w->a, rows, n.a);
    place(t, base, &w->b, rows, n.b);
    place(t, base, &w->c, rows, n.c);
    place(t, base, &w->d, rows, n.d);
    place(t, base, &w->e, rows, n.e);
    place(t, base, &w->key_rows, rows, n.kv);
    place(t, base, &w->value_rows, rows, n.kv);
    place(t, base, &w->logits, logit_rows, c->vocab_size);
    w->logit_rows = logit_rows;
    if (!c->moe)
        return;
    float *chosen = NULL;
    place(t, base, &w->router, rows, c->num_experts);
    place(t, base, &chosen, rows, c->num_experts_per_tok * (sizeof(size_t) / sizeof(float)));
    w->chosen = (size_t *)(void *)chosen; // placed on a cache line, so aligned for any type
    place(t, base, &w->weight, rows, c->num_experts_per_tok);
    place(t, base, &w->expert_in, rows, c->hidden_size);
    place(t, base, &w->expert_out, rows, c->hidden_size);
    place(t, base, &w->mixed, rows, c->hidden_size);
}

enum lat_status lat_qwen35_state_bytes(const struct lat_qwen35_config *config, size_t context, size_t chunk,
                                       size_t logit_rows, uint64_t *bytes, struct lat_error *error)
{
    struct tally cache = { 0 }, recurrent = { 0 }, work = { 0 };
    struct lat_qwen35_work unused = { 0 };
    tally_sequence(config, context, &cache, &recurrent);
    layout_work(config, chunk, logit_rows, NULL, &unused, &work);
    size_t floats = 0, total = 0;
    if (cache.overflow || recurrent.overflow || work.overflow || !lat_size_add(cache.floats, recurrent.floats, &floats)
        || !lat_size_add(floats, work.floats, &floats) || !lat_size_mul(floats, sizeof(float), &total))
        return lat_error_set(error, LAT_LIMIT, "a context of %zu positions needs more memory than can be addressed", context);
    *bytes = total;
    return LAT_OK;
}

static void place_sequence(struct lat_qwen35_state *s)
{
    const struct lat_qwen35_config *c = s->config;
    struct tally cache = { 0 }, recurrent = { 0 };
    for (size_t i = 0; i < c->num_hidden_layers; i++) {
        struct lat_qwen35_layer_state *layer = &s->layers[i];
        if (c->layer_is_full[i]) {
            place(&cache, s->sequence_block, &layer->keys, c->num_key_value_heads * s->context, c->head_dim);
            place(&cache, s->sequence_block, &layer->values, c->num_key_value_heads * s->context, c->head_dim);
        } else {
            place(&recurrent, s->recurrent_block, &layer->conv, c->linear_conv_kernel_dim - 1, lat_qwen35_conv_dim(c));
            place(&recurrent, s->recurrent_block, &layer->delta, lat_qwen35_value_dim(c), c->linear_key_head_dim);
        }
    }
}

enum lat_status lat_qwen35_state_init(struct lat_qwen35_state *state, const struct lat_qwen35_config *config,
                                      size_t context, size_t chunk, size_t logit_rows, struct lat_error *error)
{
    *state = (struct lat_qwen35_state){ .config = config, .context = context, .chunk = chunk };
    struct tally cache = { 0 }, recurrent = { 0 }, work = { 0 };
    uint64_t bytes = 0;
    LAT_TRY(lat_qwen35_state_bytes(config, context, chunk, logit_rows, &bytes, error));
    tally_sequence(config, context, &cache, &recurrent);
    layout_work(config, chunk, logit_rows, NULL, &state->work, &work);
    state->recurrent_floats = recurrent.floats;
    state->layers = lat_mem_new(config->num_hidden_layers, sizeof *state->layers);
    // The cache is not written before it is used, so that a long context costs memory only as it fills.
    state->sequence_block = lat_mem_new(cache.floats, sizeof(float));
    state->recurrent_block = lat_mem_new_aligned(recurrent.floats, sizeof(float));
    state->work_block = lat_mem_new_aligned(work.floats, sizeof(float));
    if (!state->layers || !state->sequence_block || !state->recurrent_block || !state->work_block) {
        lat_qwen35_state_release(state);
        return lat_error_set(error, LAT_MEMORY, "out of memory for a session of %zu positions", context);
    }
    work = (struct tally){ 0 };
    layout_work(config, chunk, logit_rows, state->work_block, &state->work, &work);
    place_sequence(state);
    return LAT_OK;
}

void lat_qwen35_state_release(struct lat_qwen35_state *state)
{
    lat_mem_free(state->layers);
    lat_mem_free(state->sequence_block);
    lat_mem_free(state->recurrent_block);
    lat_mem_free(state->work_block);
    *state = (struct lat_qwen35_state){ 0 };
}

void lat_qwen35_state_reset(struct lat_qwen35_state *state)
{
    memset(state->recurrent_block, 0, state->recurrent_floats * sizeof(float));
    state->position = 0;
}
