// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "models/qwen35_state.h"

#include <string.h>

#include "core/error.h"

enum { LINE = 64 };

// Adds up bytes, each part on a cache line; once a sum or product has overflowed it stays so. With `base` the parts are
// also placed.
struct tally {
    unsigned char *base;
    size_t bytes;
    bool overflow;
};

static void *place(struct tally *t, size_t rows, size_t width, size_t size)
{
    size_t at = t->bytes, count = 0, bytes = 0, rounded = 0;
    bool fits = lat_size_mul(rows, width, &count) && lat_size_mul(count, size, &bytes) && lat_size_add(bytes, LINE - 1, &rounded)
        && lat_size_add(t->bytes, rounded - rounded % LINE, &t->bytes);
    t->overflow = t->overflow || !fits;
    return t->base ? t->base + at : NULL;
}

static float *place_floats(struct tally *t, size_t rows, size_t width) { return place(t, rows, width, sizeof(float)); }

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static enum lat_status too_large(size_t count, const char *what, struct lat_error *error)
{
    return lat_error_set(error, LAT_LIMIT, "%zu %s need more memory than can be addressed", count, what);
}

// ---- a sequence

static void layout_layer(const struct lat_qwen35_config *c, size_t layer, size_t context, bool half_cache,
                         struct tally *cache, struct tally *recurrent, struct lat_qwen35_layer_state *out)
{
    size_t size = half_cache ? 2 : sizeof(float), rows = 0;
    if (c->layer_is_full[layer]) {
        cache->overflow = cache->overflow || !lat_size_mul(c->num_key_value_heads, context, &rows);
        out->keys = place(cache, rows, c->head_dim, size);
        out->values = place(cache, rows, c->head_dim, size);
    } else {
        out->conv = place_floats(recurrent, c->linear_conv_kernel_dim - 1, lat_qwen35_conv_dim(c));
        out->delta = place_floats(recurrent, lat_qwen35_value_dim(c), c->linear_key_head_dim);
    }
}

static void layout_sequence(const struct lat_qwen35_config *c, size_t context, bool half_cache, struct tally *cache,
                            struct tally *recurrent, struct lat_qwen35_layer_state *layers)
{
    struct lat_qwen35_layer_state unused;
    for (size_t i = 0; i < c->num_hidden_layers; i++)
        layout_layer(c, i, context, half_cache, cache, recurrent, layers ? &layers[i] : &unused);
}

enum lat_status lat_qwen35_sequence_bytes(const struct lat_qwen35_config *config, size_t context, bool half_cache,
                                          uint64_t *bytes, struct lat_error *error)
{
    struct tally cache = { 0 }, recurrent = { 0 };
    size_t total = 0;
    layout_sequence(config, context, half_cache, &cache, &recurrent, NULL);
    if (cache.overflow || recurrent.overflow || !lat_size_add(cache.bytes, recurrent.bytes, &total))
        return too_large(context, "positions of context", error);
    *bytes = total;
    return LAT_OK;
}

enum lat_status lat_qwen35_sequence_init(struct lat_qwen35_sequence *sequence, const struct lat_qwen35_config *config,
                                         size_t context, bool half_cache, struct lat_error *error)
{
    *sequence = (struct lat_qwen35_sequence){ .config = config, .context = context, .half_cache = half_cache };
    struct tally cache = { 0 }, recurrent = { 0 };
    uint64_t bytes = 0;
    LAT_TRY(lat_qwen35_sequence_bytes(config, context, half_cache, &bytes, error));
    layout_sequence(config, context, half_cache, &cache, &recurrent, NULL);
    sequence->recurrent_floats = recurrent.bytes / sizeof(float);
    sequence->layers = lat_mem_new(config->num_hidden_layers, sizeof *sequence->layers);
    // The cache is not written before it is used, so that a long context costs memory only as it fills.
    sequence->cache_block = lat_mem_new(cache.bytes, 1);
    sequence->recurrent_block = lat_mem_new_aligned(recurrent.bytes, 1);
    if (!sequence->layers || !sequence->cache_block || !sequence->recurrent_block) {
        lat_qwen35_sequence_release(sequence);
        return lat_error_set(error, LAT_MEMORY, "out of memory for a sequence of %zu positions", context);
    }
    cache = (struct tally){ .base = sequence->cache_block };
    recurrent = (struct tally){ .base = (unsigned char *)sequence->recurrent_block };
    layout_sequence(config, context, half_cache, &cache, &recurrent, sequence->layers);
    return LAT_OK;
}

void lat_qwen35_sequence_release(struct lat_qwen35_sequence *sequence)
{
    lat_mem_free(sequence->layers);
    lat_mem_free(sequence->cache_block);
    lat_mem_free(sequence->recurrent_block);
    *sequence = (struct lat_qwen35_sequence){ 0 };
}

void lat_qwen35_sequence_reset(struct lat_qwen35_sequence *sequence)
{
    memset(sequence->recurrent_block, 0, sequence->recurrent_floats * sizeof(float));
    sequence->position = 0;
}

// ---- work space

struct widths {
    size_t a, b, c, d, e, kv, input; // input: the widest that any product takes
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
        .input = larger(larger(c->hidden_size, inner), larger(value, heads)),
    };
}

static void layout_prepared(const struct lat_qwen35_config *c, const struct lat_qwen35_work_size *size, size_t input,
                            struct lat_qwen35_prepared *to, struct tally *t)
{
    size_t blocks = (input + LAT_QUANT_BLOCK - 1) / LAT_QUANT_BLOCK;
    if (size->narrow)
        to->narrow = place(t, size->rows, input, sizeof *to->narrow);
    if (!c->quantized)
        return;
    to->quant.q = place(t, size->rows, blocks * LAT_QUANT_BLOCK, 1);
    to->quant.scale = place_floats(t, size->rows, blocks);
    to->quant.sum = place(t, size->rows, blocks, sizeof(int32_t));
}

static void layout_work(const struct lat_qwen35_config *c, const struct lat_qwen35_work_size *size,
                        struct lat_qwen35_work *w, struct tally *t)
{
    struct widths n = work_widths(c);
    size_t rows = size->rows;
    w->rows = rows;
    w->row = place(t, rows, 1, sizeof *w->row);
    w->hidden = place_floats(t, rows, c->hidden_size);
    w->normed = place_floats(t, rows, c->hidden_size);
    w->cosine = place_floats(t, rows, c->rotary_half);
    w->sine = place_floats(t, rows, c->rotary_half);
    w->a = place_floats(t, rows, n.a);
    w->b = place_floats(t, rows, n.b);
    w->c = place_floats(t, rows, n.c);
    w->d = place_floats(t, rows, n.d);
    w->e = place_floats(t, rows, n.e);
    w->key_rows = place_floats(t, rows, n.kv);
    w->value_rows = place_floats(t, rows, n.kv);
    w->logits = place_floats(t, size->logit_rows, c->vocab_size);
    w->logit_rows = size->logit_rows;
    for (int i = 0; i < 2; i++)
        layout_prepared(c, size, n.input, &w->prepared[i], t);
    if (c->quantized) {
        w->widened_floats = LAT_PANEL_ROWS * n.input;
        w->widened = place_floats(t, (size_t)size->threads, w->widened_floats);
    }
    if (!c->moe)
        return;
    w->router = place_floats(t, rows, c->num_experts);
    w->chosen = place(t, rows, c->num_experts_per_tok, sizeof *w->chosen);
    w->weight = place_floats(t, rows, c->num_experts_per_tok);
    w->expert_in = place_floats(t, rows, c->hidden_size);
    w->expert_out = place_floats(t, rows, c->hidden_size);
    w->mixed = place_floats(t, rows, c->hidden_size);
}

enum lat_status lat_qwen35_work_bytes(const struct lat_qwen35_config *config, const struct lat_qwen35_work_size *size,
                                      uint64_t *bytes, struct lat_error *error)
{
    struct tally t = { 0 };
    struct lat_qwen35_work unused = { 0 };
    layout_work(config, size, &unused, &t);
    if (t.overflow)
        return too_large(size->rows, "rows of a chunk", error);
    *bytes = t.bytes;
    return LAT_OK;
}

enum lat_status lat_qwen35_work_init(struct lat_qwen35_work *work, const struct lat_qwen35_config *config,
                                     const struct lat_qwen35_work_size *size, struct lat_error *error)
{
    uint64_t bytes = 0;
    *work = (struct lat_qwen35_work){ 0 };
    LAT_TRY(lat_qwen35_work_bytes(config, size, &bytes, error));
    void *block = lat_mem_new_aligned(bytes, 1);
    if (!block)
        return lat_error_set(error, LAT_MEMORY, "out of memory for a chunk of %zu rows", size->rows);
    struct tally t = { .base = block };
    layout_work(config, size, work, &t);
    work->block = block;
    return LAT_OK;
}

void lat_qwen35_work_release(struct lat_qwen35_work *work)
{
    lat_mem_free(work->block);
    *work = (struct lat_qwen35_work){ 0 };
}
