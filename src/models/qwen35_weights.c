// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "models/qwen35_weights.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/dmath.h"
#include "core/error.h"
#include "core/fault.h"
#include "nn/packed.h"
#include "nn/rope.h"

struct loader {
    struct lat_qwen35_weights *weights;
    const struct lat_qwen35_config *config;
    const struct lat_st_folder *folder;
    const char *prefix; // of all names but the head's
    struct lat_error *error;
};

// Prefixes in real repositories: the multimodal class, text-only saves, MLX exports.
static const char *const prefixes[] = { "model.language_model.", "model.", "language_model.model." };

static const struct lat_st_tensor *find(const struct loader *l, const char *name)
{
    char full[256];
    snprintf(full, sizeof full, "%s%s", l->prefix, name);
    return lat_st_folder_find(l->folder, full);
}

static void shape_text(char *out, size_t size, const size_t *shape, int rank)
{
    size_t used = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, i ? ", %zu" : "%zu", shape[i]);
    if (used < size)
        snprintf(out + used, size - used, "]");
}

// The tensor of that name, with the shape that the config asks for and a type that we compute with.
static enum lat_status need(const struct loader *l, const struct lat_st_tensor *t, const char *name, int rank,
                            const size_t *shape)
{
    if (!t)
        return lat_error_set(l->error, LAT_NOT_FOUND, "tensor %s%s is missing", l->prefix, name);
    bool same = t->rank == rank;
    for (int i = 0; i < rank && same; i++)
        same = t->shape[i] == shape[i];
    if (!same) {
        char has[128], wants[128];
        shape_text(has, sizeof has, t->shape, t->rank);
        shape_text(wants, sizeof wants, shape, rank);
        return lat_error_set(l->error, LAT_FORMAT, "tensor %s has shape %s, the config asks for %s", t->name, has, wants);
    }
    if (!lat_matrix_dtype_ok(t->dtype))
        return lat_error_set(l->error, LAT_UNSUPPORTED, "tensor %s is of type %s; supported are F32, F16, BF16", t->name,
                             lat_dtype_name(t->dtype));
    l->weights->parameters += t->elements;
    l->weights->bytes += t->bytes;
    l->weights->bytes_by_dtype[t->dtype] += t->bytes;
    return LAT_OK;
}

// A quantised matrix by the full name of what would be its weight, if the folder has it so.
static enum lat_status load_packed(const struct loader *l, const char *full, size_t rows, size_t cols,
                                   struct lat_matrix *out, bool *there)
{
    char base[256];
    size_t length = strlen(full) - strlen(".weight");
    snprintf(base, sizeof base, "%.*s", (int)length, full);
    *there = l->config->quantized && lat_packed_exists(l->folder, base);
    if (!*there)
        return LAT_OK;
    uint64_t stored = 0;
    LAT_TRY(lat_packed_load(out, l->folder, base, rows, cols, &l->weights->arena, &stored, l->error));
    l->weights->parameters += (uint64_t)rows * cols;
    l->weights->bytes += stored;
    l->weights->bytes_by_width[lat_matrix_is_quantized(out) && out->panels.bits == 4] += stored;
    return LAT_OK;
}

static enum lat_status load_matrix(const struct loader *l, const char *name, size_t rows, size_t cols,
                                   struct lat_matrix *out)
{
    char full[256];
    bool packed = false;
    snprintf(full, sizeof full, "%s%s", l->prefix, name);
    LAT_TRY(load_packed(l, full, rows, cols, out, &packed));
    if (packed)
        return LAT_OK;
    const struct lat_st_tensor *t = find(l, name);
    LAT_TRY(need(l, t, name, 2, (const size_t[]){ rows, cols }));
    *out = (struct lat_matrix){ .data = t->data, .dtype = t->dtype, .rows = rows, .cols = cols };
    return LAT_OK;
}

// f32 copy of a vector; `offset` is added to each element (the family's norms store w and mean 1 + w).
static enum lat_status load_vector(const struct loader *l, const char *name, size_t count, float offset,
                                   const float **out)
{
    const struct lat_st_tensor *t = find(l, name);
    LAT_TRY(need(l, t, name, 1, (const size_t[]){ count }));
    float *values = lat_arena_new(&l->weights->arena, count, sizeof *values);
    if (!values)
        return lat_error_memory(l->error, name);
    for (size_t i = 0; i < count; i++)
        values[i] = lat_dtype_load(t->dtype, t->data, i) + offset;
    *out = values;
    return LAT_OK;
}

static const char *layer_name(char *buffer, size_t size, size_t layer, const char *tail)
{
    snprintf(buffer, size, "layers.%zu.%s", layer, tail);
    return buffer;
}
#define NAME(tail) layer_name(name, sizeof name, layer, tail)

static enum lat_status load_attention(const struct loader *l, size_t layer, struct lat_qwen35_attention *a)
{
    const struct lat_qwen35_config *c = l->config;
    size_t h = c->hidden_size, q = c->num_attention_heads * c->head_dim, kv = c->num_key_value_heads * c->head_dim;
    char name[96];
    LAT_TRY(load_matrix(l, NAME("self_attn.q_proj.weight"), 2 * q, h, &a->q));
    LAT_TRY(load_matrix(l, NAME("self_attn.k_proj.weight"), kv, h, &a->k));
    LAT_TRY(load_matrix(l, NAME("self_attn.v_proj.weight"), kv, h, &a->v));
    LAT_TRY(load_matrix(l, NAME("self_attn.o_proj.weight"), h, q, &a->o));
    LAT_TRY(load_vector(l, NAME("self_attn.q_norm.weight"), c->head_dim, 1, &a->q_norm));
    LAT_TRY(load_vector(l, NAME("self_attn.k_norm.weight"), c->head_dim, 1, &a->k_norm));
    if (!c->attention_bias)
        return LAT_OK;
    LAT_TRY(load_vector(l, NAME("self_attn.q_proj.bias"), 2 * q, 0, &a->q_bias));
    LAT_TRY(load_vector(l, NAME("self_attn.k_proj.bias"), kv, 0, &a->k_bias));
    LAT_TRY(load_vector(l, NAME("self_attn.v_proj.bias"), kv, 0, &a->v_bias));
    return load_vector(l, NAME("self_attn.o_proj.bias"), h, 0, &a->o_bias);
}

static enum lat_status load_conv(const struct loader *l, const char *name, const float **out)
{
    size_t channels = lat_qwen35_conv_dim(l->config), taps = l->config->linear_conv_kernel_dim;
    const struct lat_st_tensor *t = find(l, name);
    LAT_TRY(need(l, t, name, 3, (const size_t[]){ channels, 1, taps }));
    float *values = lat_arena_new(&l->weights->arena, channels * taps, sizeof *values);
    if (!values)
        return lat_error_memory(l->error, name);
    for (size_t ch = 0; ch < channels; ch++)
        for (size_t j = 0; j < taps; j++)
            values[j * channels + ch] = lat_dtype_load(t->dtype, t->data, ch * taps + j);
    *out = values;
    return LAT_OK;
}

static enum lat_status load_decay(const struct loader *l, const char *name, const float **out)
{
    size_t heads = l->config->linear_num_value_heads;
    LAT_TRY(load_vector(l, name, heads, 0, out));
    float *rate = lat_arena_new(&l->weights->arena, heads, sizeof *rate);
    if (!rate)
        return lat_error_memory(l->error, name);
    for (size_t i = 0; i < heads; i++)
        rate[i] = (float)lat_dmath_exp((*out)[i]);
    *out = rate;
    return LAT_OK;
}

static enum lat_status load_deltanet(const struct loader *l, size_t layer, struct lat_qwen35_deltanet *d)
{
    const struct lat_qwen35_config *c = l->config;
    size_t h = c->hidden_size, nv = c->linear_num_value_heads, value = lat_qwen35_value_dim(c);
    char name[96];
    LAT_TRY(load_matrix(l, NAME("linear_attn.in_proj_qkv.weight"), lat_qwen35_conv_dim(c), h, &d->qkv));
    LAT_TRY(load_matrix(l, NAME("linear_attn.in_proj_z.weight"), value, h, &d->z));
    LAT_TRY(load_matrix(l, NAME("linear_attn.in_proj_b.weight"), nv, h, &d->b));
    LAT_TRY(load_matrix(l, NAME("linear_attn.in_proj_a.weight"), nv, h, &d->a));
    LAT_TRY(load_matrix(l, NAME("linear_attn.out_proj.weight"), h, value, &d->out));
    LAT_TRY(load_conv(l, NAME("linear_attn.conv1d.weight"), &d->conv));
    LAT_TRY(load_decay(l, NAME("linear_attn.A_log"), &d->decay_rate));
    LAT_TRY(load_vector(l, NAME("linear_attn.dt_bias"), nv, 0, &d->dt_bias));
    return load_vector(l, NAME("linear_attn.norm.weight"), c->linear_value_head_dim, 0, &d->norm);
}

static enum lat_status load_mlp(const struct loader *l, size_t layer, const char *part, size_t inner,
                                struct lat_qwen35_mlp *m)
{
    size_t h = l->config->hidden_size;
    char name[96], tail[64];
    snprintf(tail, sizeof tail, "%s.gate_proj.weight", part);
    LAT_TRY(load_matrix(l, NAME(tail), inner, h, &m->gate));
    snprintf(tail, sizeof tail, "%s.up_proj.weight", part);
    LAT_TRY(load_matrix(l, NAME(tail), inner, h, &m->up));
    snprintf(tail, sizeof tail, "%s.down_proj.weight", part);
    return load_matrix(l, NAME(tail), h, inner, &m->down);
}

// One expert's matrix inside a fused [experts][rows][cols] tensor.
static struct lat_matrix fused_part(const struct lat_st_tensor *t, size_t first_row, size_t rows, size_t cols)
{
    size_t row_bytes = cols * lat_dtype_bits(t->dtype) / 8;
    return (struct lat_matrix){ .data = t->data + first_row * row_bytes, .dtype = t->dtype, .rows = rows, .cols = cols };
}

static enum lat_status load_fused_experts(const struct loader *l, size_t layer, const struct lat_st_tensor *gate_up,
                                          struct lat_qwen35_mlp *experts)
{
    const struct lat_qwen35_config *c = l->config;
    size_t h = c->hidden_size, inner = c->moe_intermediate_size;
    char name[96];
    LAT_TRY(need(l, gate_up, NAME("mlp.experts.gate_up_proj"), 3, (const size_t[]){ c->num_experts, 2 * inner, h }));
    const struct lat_st_tensor *down = find(l, NAME("mlp.experts.down_proj"));
    LAT_TRY(need(l, down, name, 3, (const size_t[]){ c->num_experts, h, inner }));
    for (size_t e = 0; e < c->num_experts; e++) {
        experts[e].gate = fused_part(gate_up, e * 2 * inner, inner, h);
        experts[e].up = fused_part(gate_up, e * 2 * inner + inner, inner, h);
        experts[e].down = fused_part(down, e * h, h, inner);
    }
    return LAT_OK;
}

static enum lat_status load_moe(const struct loader *l, size_t layer, struct lat_qwen35_layer *out)
{
    const struct lat_qwen35_config *c = l->config;
    char name[96], part[64];
    LAT_TRY(load_matrix(l, NAME("mlp.gate.weight"), c->num_experts, c->hidden_size, &out->router));
    LAT_TRY(load_matrix(l, NAME("mlp.shared_expert_gate.weight"), 1, c->hidden_size, &out->shared_gate));
    LAT_TRY(load_mlp(l, layer, "mlp.shared_expert", c->shared_expert_intermediate_size, &out->mlp));
    out->experts = lat_arena_new(&l->weights->arena, c->num_experts, sizeof *out->experts);
    if (!out->experts)
        return lat_error_memory(l->error, "the experts");
    const struct lat_st_tensor *fused = find(l, NAME("mlp.experts.gate_up_proj"));
    if (fused)
        return load_fused_experts(l, layer, fused, out->experts);
    for (size_t e = 0; e < c->num_experts; e++) {
        snprintf(part, sizeof part, "mlp.experts.%zu", e);
        LAT_TRY(load_mlp(l, layer, part, c->moe_intermediate_size, &out->experts[e]));
    }
    return LAT_OK;
}

static enum lat_status load_layer(const struct loader *l, size_t layer, struct lat_qwen35_layer *out)
{
    const struct lat_qwen35_config *c = l->config;
    float one = LAT_FAULT("plain_norm") ? 0 : 1;
    char name[96];
    LAT_TRY(load_vector(l, NAME("input_layernorm.weight"), c->hidden_size, one, &out->input_norm));
    LAT_TRY(load_vector(l, NAME("post_attention_layernorm.weight"), c->hidden_size, 1, &out->post_norm));
    if (c->layer_is_full[layer])
        LAT_TRY(load_attention(l, layer, &out->attention));
    else
        LAT_TRY(load_deltanet(l, layer, &out->deltanet));
    return c->moe ? load_moe(l, layer, out) : load_mlp(l, layer, "mlp", c->intermediate_size, &out->mlp);
}

// The head: its own tensor, or the embedding when the config ties them. A stored head that differs from a tied
// embedding is left aside, as transformers does, with a warning.
static enum lat_status load_head(struct loader *l)
{
    struct lat_qwen35_weights *w = l->weights;
    const struct lat_st_tensor *head = lat_st_folder_find(l->folder, "lm_head.weight");
    if (!head)
        head = lat_st_folder_find(l->folder, "language_model.lm_head.weight");
    if (l->config->tie_word_embeddings) {
        w->head = w->embed;
        size_t bytes = w->embed.rows * w->embed.cols * lat_dtype_bits(w->embed.dtype) / 8;
        if (head && (head->dtype != w->embed.dtype || head->bytes != bytes || memcmp(head->data, w->embed.data, bytes) != 0))
            snprintf(w->warning, sizeof w->warning,
                     "lm_head.weight differs from the embedding although tie_word_embeddings is true; the embedding is used");
        return LAT_OK;
    }
    bool packed = false;
    const size_t vocab = l->config->vocab_size, hidden = l->config->hidden_size;
    LAT_TRY(load_packed(l, "lm_head.weight", vocab, hidden, &w->head, &packed));
    if (!packed)
        LAT_TRY(load_packed(l, "language_model.lm_head.weight", vocab, hidden, &w->head, &packed));
    if (packed)
        return LAT_OK;
    if (!head)
        return lat_error_set(l->error, LAT_NOT_FOUND, "tensor lm_head.weight is missing and tie_word_embeddings is false");
    const char *prefix = l->prefix;
    l->prefix = "";
    LAT_TRY(need(l, head, head->name, 2, (const size_t[]){ l->config->vocab_size, l->config->hidden_size }));
    l->prefix = prefix;
    w->head = (struct lat_matrix){ .data = head->data, .dtype = head->dtype, .rows = head->shape[0], .cols = head->shape[1] };
    return LAT_OK;
}

static enum lat_status load_all(struct loader *l)
{
    struct lat_qwen35_weights *w = l->weights;
    const struct lat_qwen35_config *c = l->config;
    LAT_TRY(load_matrix(l, "embed_tokens.weight", c->vocab_size, c->hidden_size, &w->embed));
    LAT_TRY(load_vector(l, "norm.weight", c->hidden_size, LAT_FAULT("plain_final_norm") ? 0 : 1, &w->norm));
    LAT_TRY(load_head(l));
    w->rope_frequency = lat_arena_new(&w->arena, c->rotary_half, sizeof *w->rope_frequency);
    w->layers = lat_arena_new(&w->arena, c->num_hidden_layers, sizeof *w->layers);
    if (!w->layers || !w->rope_frequency)
        return lat_error_memory(l->error, "the layers");
    lat_rope_frequencies(c->rope_theta * (LAT_FAULT("rope_theta") ? 0.9 : 1), c->rotary_dim, c->rotary_half, w->rope_frequency);
    for (size_t i = 0; i < c->num_hidden_layers; i++)
        LAT_TRY(load_layer(l, i, &w->layers[i]));
    return LAT_OK;
}

enum lat_status lat_qwen35_weights_load(struct lat_qwen35_weights *weights, const struct lat_qwen35_config *config,
                                        const struct lat_st_folder *folder, struct lat_error *error)
{
    *weights = (struct lat_qwen35_weights){ 0 };
    lat_arena_init(&weights->arena, SIZE_MAX / 4);
    struct loader l = { .weights = weights, .config = config, .folder = folder, .prefix = "model.", .error = error };
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%sembed_tokens.weight", prefixes[i]);
        if (lat_st_folder_find(folder, name)) {
            l.prefix = prefixes[i];
            break;
        }
    }
    enum lat_status status = load_all(&l);
    if (status != LAT_OK)
        lat_qwen35_weights_release(weights);
    return status;
}

void lat_qwen35_weights_release(struct lat_qwen35_weights *weights) { lat_arena_release(&weights->arena); }
