// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "models/qwen35_config.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "kernels/kernels.h"

// Any one size of a model; keeps every product of three of them inside 64 bits.
enum { SIZE_LIMIT = 1 << 20 };

struct reader {
    const struct lat_json_node *text; // text_config, or the root
    const struct lat_json_node *root;
    const char *name;
    struct lat_error *error;
    enum lat_status status; // the first failure; reading goes on as a no-op after it
};

static void refuse(struct reader *r, const char *key, const char *what)
{
    if (r->status == LAT_OK)
        r->status = lat_error_set(r->error, LAT_FORMAT, "%s: %s %s", r->name, key, what);
}

static const struct lat_json_node *member(const struct reader *r, const char *key)
{
    const struct lat_json_node *node = lat_json_get(r->text, key);
    return node && node->kind != LAT_JSON_NULL ? node : NULL;
}

// A whole number of at least 1; `fallback` 0 means that the key must be there.
static size_t read_size(struct reader *r, const char *key, size_t fallback, size_t most)
{
    const struct lat_json_node *node = member(r, key);
    char what[96];
    if (!node) {
        if (!fallback)
            refuse(r, key, "is missing");
        return fallback;
    }
    if (node->kind != LAT_JSON_INT) {
        refuse(r, key, "is not a whole number");
        return fallback;
    }
    if (node->u.integer < 1 || (uint64_t)node->u.integer > most) {
        snprintf(what, sizeof what, "is %lld, outside 1 to %zu", (long long)node->u.integer, most);
        refuse(r, key, what);
        return fallback;
    }
    return (size_t)node->u.integer;
}

static bool read_bool(struct reader *r, const char *key, bool fallback)
{
    const struct lat_json_node *node = member(r, key);
    if (!node && r->text != r->root) {
        node = lat_json_get(r->root, key);
        if (node && node->kind == LAT_JSON_NULL)
            node = NULL;
    }
    if (!node)
        return fallback;
    if (node->kind != LAT_JSON_TRUE && node->kind != LAT_JSON_FALSE)
        refuse(r, key, "is neither true nor false");
    return node->kind == LAT_JSON_TRUE;
}

static double read_number(struct reader *r, const struct lat_json_node *object, const char *key, double fallback,
                          double least, double most)
{
    const struct lat_json_node *node = lat_json_get(object, key);
    double value = fallback;
    if (!node || node->kind == LAT_JSON_NULL)
        return fallback;
    char what[96];
    if (!lat_json_to_double(node, &value))
        refuse(r, key, "is not a number");
    else if (!(value >= least && value <= most)) {
        snprintf(what, sizeof what, "is %g, outside %g to %g", value, least, most);
        refuse(r, key, what);
    }
    return value;
}

static void read_model_type(struct reader *r, struct lat_qwen35_config *c)
{
    static const char *const dense[] = { "qwen3_5", "qwen3_5_text" }, *const moe[] = { "qwen3_5_moe", "qwen3_5_moe_text" };
    const struct lat_json_node *node = lat_json_get(r->root, "model_type");
    bool found = false;
    for (int i = 0; i < 2; i++) {
        found = found || lat_json_is_text(node, dense[i]) || lat_json_is_text(node, moe[i]);
        c->moe = c->moe || lat_json_is_text(node, moe[i]);
    }
    if (found) {
        snprintf(c->model_type, sizeof c->model_type, "%.*s", (int)node->count, node->u.string);
        return;
    }
    char what[200];
    if (!node || node->kind != LAT_JSON_STRING)
        snprintf(what, sizeof what, "is missing; known are qwen3_5, qwen3_5_text, qwen3_5_moe, qwen3_5_moe_text");
    else
        snprintf(what, sizeof what,
                 "\"%.*s\" is not supported; known are qwen3_5, qwen3_5_text, qwen3_5_moe, qwen3_5_moe_text",
                 node->count > 60 ? 60 : (int)node->count, node->u.string);
    refuse(r, "model_type", what);
    if (r->error && r->error->status == LAT_FORMAT)
        r->error->status = LAT_UNSUPPORTED;
    r->status = LAT_UNSUPPORTED;
}

// rope_parameters (new), rope_scaling or flat keys (old). Only plain rotation exists in the family's text models.
static void read_rope(struct reader *r, struct lat_qwen35_config *c)
{
    const struct lat_json_node *rope = member(r, "rope_parameters");
    if (!rope)
        rope = member(r, "rope_scaling");
    if (rope && rope->kind != LAT_JSON_OBJECT)
        refuse(r, "rope_parameters", "is not an object");
    const struct lat_json_node *type = lat_json_get(rope, "rope_type");
    if (!type)
        type = lat_json_get(rope, "type");
    if (type && !lat_json_is_text(type, "default") && !lat_json_is_text(type, "mrope"))
        refuse(r, "rope_parameters.rope_type", "is not \"default\", the only kind that is supported");
    c->rope_theta = read_number(r, r->text, "rope_theta", 10000.0, 1.0, 1e12);
    c->rope_theta = read_number(r, rope, "rope_theta", c->rope_theta, 1.0, 1e12);
    double part = read_number(r, r->text, "partial_rotary_factor", 0.25, 0.0, 1.0);
    part = read_number(r, rope, "partial_rotary_factor", part, 0.0, 1.0);
    c->rotary_dim = (size_t)((double)c->head_dim * part);
    c->rotary_half = (c->rotary_dim + 1) / 2;
    if (r->status == LAT_OK && 2 * c->rotary_half > c->head_dim)
        refuse(r, "partial_rotary_factor", "turns more dimensions than a head has");
}

static void read_layer_types(struct reader *r, struct lat_qwen35_config *c)
{
    const struct lat_json_node *types = member(r, "layer_types");
    if (!types) {
        size_t interval = read_size(r, "full_attention_interval", 4, SIZE_LIMIT);
        for (size_t i = 0; i < c->num_hidden_layers && interval; i++)
            c->layer_is_full[i] = (i + 1) % interval == 0;
        return;
    }
    if (types->kind != LAT_JSON_ARRAY || types->count != c->num_hidden_layers) {
        refuse(r, "layer_types", "does not have one entry for each of num_hidden_layers");
        return;
    }
    size_t i = 0;
    for (const struct lat_json_node *n = types->u.child; n; n = n->next, i++) {
        c->layer_is_full[i] = lat_json_is_text(n, "full_attention");
        if (!c->layer_is_full[i] && !lat_json_is_text(n, "linear_attention"))
            refuse(r, "layer_types", "has an entry that is neither full_attention nor linear_attention");
    }
}

static void add_eos(struct lat_qwen35_config *c, int64_t id)
{
    if (id < 0 || id > INT32_MAX || c->eos_count >= LAT_EOS_MAX)
        return;
    for (size_t i = 0; i < c->eos_count; i++)
        if (c->eos_ids[i] == id)
            return;
    c->eos_ids[c->eos_count++] = (int32_t)id;
}

// eos_token_id: a number, a list, or null.
static void read_eos(struct reader *r, struct lat_qwen35_config *c, const struct lat_json_node *object)
{
    const struct lat_json_node *node = lat_json_get(object, "eos_token_id");
    if (!node || node->kind == LAT_JSON_NULL)
        return;
    const struct lat_json_node *first = node->kind == LAT_JSON_ARRAY ? node->u.child : node;
    for (const struct lat_json_node *n = first; n; n = node->kind == LAT_JSON_ARRAY ? n->next : NULL) {
        if (n->kind == LAT_JSON_INT)
            add_eos(c, n->u.integer);
        else
            refuse(r, "eos_token_id", "is neither a whole number nor a list of them");
    }
}

static void read_attention(struct reader *r, struct lat_qwen35_config *c)
{
    c->num_attention_heads = read_size(r, "num_attention_heads", 0, SIZE_LIMIT);
    c->num_key_value_heads = read_size(r, "num_key_value_heads", 0, SIZE_LIMIT);
    c->head_dim = read_size(r, "head_dim", 256, SIZE_LIMIT);
    c->attention_bias = read_bool(r, "attention_bias", false);
    if (c->num_key_value_heads && c->num_attention_heads % c->num_key_value_heads != 0)
        refuse(r, "num_attention_heads", "is not a multiple of num_key_value_heads");
    if (!read_bool(r, "attn_output_gate", true))
        refuse(r, "attn_output_gate", "is false, which is not supported");
    read_rope(r, c);
}

static void read_linear(struct reader *r, struct lat_qwen35_config *c)
{
    c->linear_conv_kernel_dim = read_size(r, "linear_conv_kernel_dim", 4, LAT_CONV_TAPS_MAX);
    c->linear_key_head_dim = read_size(r, "linear_key_head_dim", 128, SIZE_LIMIT);
    c->linear_value_head_dim = read_size(r, "linear_value_head_dim", 128, SIZE_LIMIT);
    c->linear_num_key_heads = read_size(r, "linear_num_key_heads", 16, SIZE_LIMIT);
    c->linear_num_value_heads = read_size(r, "linear_num_value_heads", 32, SIZE_LIMIT);
    if (c->linear_num_key_heads && c->linear_num_value_heads % c->linear_num_key_heads != 0)
        refuse(r, "linear_num_value_heads", "is not a multiple of linear_num_key_heads");
}

static void read_mlp(struct reader *r, struct lat_qwen35_config *c)
{
    const struct lat_json_node *act = member(r, "hidden_act");
    if (act && !lat_json_is_text(act, "silu"))
        refuse(r, "hidden_act", "is not \"silu\", the only one that is supported");
    if (!c->moe) {
        c->intermediate_size = read_size(r, "intermediate_size", 0, SIZE_LIMIT);
        return;
    }
    c->num_experts = read_size(r, "num_experts", 0, 1 << 16);
    c->num_experts_per_tok = read_size(r, "num_experts_per_tok", 0, 1 << 10);
    c->moe_intermediate_size = read_size(r, "moe_intermediate_size", 0, SIZE_LIMIT);
    c->shared_expert_intermediate_size = read_size(r, "shared_expert_intermediate_size", 0, SIZE_LIMIT);
    if (c->num_experts_per_tok > c->num_experts)
        refuse(r, "num_experts_per_tok", "is more than num_experts");
}

// compressed-tensors, format pack-quantized, is what lat_packed_load reads; widths and groups follow from the tensors.
static void read_quantization(struct reader *r, struct lat_qwen35_config *c)
{
    const struct lat_json_node *q = lat_json_get(r->root, "quantization_config");
    if (!q || q->kind == LAT_JSON_NULL)
        q = lat_json_get(r->text, "quantization_config");
    if (!q || q->kind == LAT_JSON_NULL)
        return;
    if (!lat_json_is_text(lat_json_get(q, "quant_method"), "compressed-tensors"))
        refuse(r, "quantization_config", "names another quant_method than \"compressed-tensors\", the only one that is supported");
    else if (!lat_json_is_text(lat_json_get(q, "format"), "pack-quantized"))
        refuse(r, "quantization_config", "names another format than \"pack-quantized\", the only one that is supported");
    c->quantized = true;
}

static void read_all(struct reader *r, struct lat_qwen35_config *c)
{
    read_model_type(r, c);
    read_quantization(r, c);
    c->vocab_size = read_size(r, "vocab_size", 0, 1 << 24);
    c->hidden_size = read_size(r, "hidden_size", 0, SIZE_LIMIT);
    c->num_hidden_layers = read_size(r, "num_hidden_layers", 0, LAT_QWEN35_LAYERS_MAX);
    c->max_position_embeddings = read_size(r, "max_position_embeddings", 32768, 1 << 28);
    c->rms_norm_eps = read_number(r, r->text, "rms_norm_eps", 1e-6, 0, 1);
    c->tie_word_embeddings = read_bool(r, "tie_word_embeddings", false);
    read_attention(r, c);
    read_linear(r, c);
    read_mlp(r, c);
    if (r->status == LAT_OK)
        read_layer_types(r, c);
    read_eos(r, c, r->text);
    if (r->root != r->text)
        read_eos(r, c, r->root);
}

enum lat_status lat_qwen35_config_parse(struct lat_qwen35_config *config, const char *text, size_t length,
                                        const char *name, struct lat_error *error)
{
    *config = (struct lat_qwen35_config){ 0 };
    struct lat_json doc;
    LAT_TRY(lat_json_parse(&doc, text, length, name, error));
    struct reader r = { .root = doc.root, .name = name, .error = error };
    r.text = lat_json_get(doc.root, "text_config");
    if (doc.root->kind != LAT_JSON_OBJECT || (r.text && r.text->kind != LAT_JSON_OBJECT))
        r.status = lat_error_set(error, LAT_FORMAT, "%s: the configuration is not an object", name);
    if (!r.text)
        r.text = doc.root;
    if (r.status == LAT_OK)
        read_all(&r, config);
    lat_json_release(&doc);
    return r.status;
}

static enum lat_status read_generation_config(struct lat_qwen35_config *config, const char *path,
                                              struct lat_error *error)
{
    struct lat_file_map map;
    struct lat_json doc;
    LAT_TRY(lat_file_map_open(&map, path, error));
    enum lat_status status = lat_json_parse(&doc, (const char *)map.bytes, map.length, path, error);
    if (status == LAT_OK) {
        struct reader r = { .text = doc.root, .root = doc.root, .name = path, .error = error };
        read_eos(&r, config, doc.root);
        status = r.status;
        lat_json_release(&doc);
    }
    lat_file_map_close(&map);
    return status;
}

enum lat_status lat_qwen35_config_read(struct lat_qwen35_config *config, const char *folder, struct lat_error *error)
{
    char *path = lat_file_path_join(folder, "config.json"), *more = lat_file_path_join(folder, "generation_config.json");
    struct lat_file_map map = { 0 };
    enum lat_status status = path && more ? LAT_OK : lat_error_memory(error, "a path");
    if (status == LAT_OK)
        status = lat_file_map_open(&map, path, error);
    if (status == LAT_OK)
        status = lat_qwen35_config_parse(config, (const char *)map.bytes, map.length, path, error);
    if (status == LAT_OK && lat_file_exists(more))
        status = read_generation_config(config, more, error);
    lat_file_map_close(&map);
    lat_mem_free(path);
    lat_mem_free(more);
    return status;
}
