// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "models/model_parts.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"

static void fill_info(struct lat_model *m)
{
    const struct lat_qwen35_config *c = &m->config;
    struct lat_model_info *info = &m->info;
    *info = (struct lat_model_info){
        .folder = m->path,
        .model_type = c->model_type,
        .vocab_size = c->vocab_size,
        .hidden_size = c->hidden_size,
        .layers = c->num_hidden_layers,
        .experts = c->num_experts,
        .positions_max = c->max_position_embeddings,
        .parameters = m->weights.parameters,
        .weight_bytes = m->weights.bytes,
        .tied = c->tie_word_embeddings,
        .eos_count = c->eos_count,
        .warning = m->weights.warning[0] ? m->weights.warning : NULL,
    };
    memcpy(info->eos_ids, c->eos_ids, sizeof info->eos_ids);
    for (size_t i = 0; i < c->num_hidden_layers; i++)
        info->full_attention_layers += c->layer_is_full[i];
    enum lat_dtype most = LAT_DTYPE_F32;
    for (size_t d = 0; d < LAT_DTYPE_COUNT; d++)
        if (m->weights.bytes_by_dtype[d] > m->weights.bytes_by_dtype[most])
            most = (enum lat_dtype)d;
    info->dtype = lat_dtype_name(most);
    const uint64_t *quantized = m->weights.bytes_by_width; // the table of embeddings may be larger, but is hardly read
    if (quantized[0] || quantized[1])
        info->dtype = quantized[1] > quantized[0] ? "INT4" : "INT8";
}

static enum lat_status open_parts(struct lat_model *m, const char *folder, struct lat_error *error)
{
    if (!lat_file_is_folder(folder))
        return lat_error_set(error, LAT_NOT_FOUND, "%s: not a folder", folder);
    m->path = lat_mem_copy_text(folder, strlen(folder));
    if (!m->path)
        return lat_error_memory(error, "the model");
    LAT_TRY(lat_kernels_choose(&m->kernels, error));
    LAT_TRY(lat_qwen35_config_read(&m->config, folder, error));
    LAT_TRY(lat_st_folder_open(&m->folder, folder, error));
    enum lat_status status = lat_qwen35_weights_load(&m->weights, &m->config, m->folder, error);
    if (status != LAT_OK)
        return lat_error_prefix(error, status, "%s", folder);
    fill_info(m);
    return LAT_OK;
}

enum lat_status lat_model_open(struct lat_model **out, const char *folder, struct lat_error *error)
{
    *out = NULL;
    struct lat_model *m = lat_mem_new(1, sizeof *m);
    if (!m)
        return lat_error_memory(error, "the model");
    enum lat_status status = open_parts(m, folder, error);
    if (status != LAT_OK) {
        lat_model_close(m);
        return status;
    }
    *out = m;
    return LAT_OK;
}

void lat_model_close(struct lat_model *model)
{
    if (!model)
        return;
    lat_qwen35_weights_release(&model->weights);
    lat_st_folder_close(model->folder);
    lat_mem_free(model->path);
    lat_mem_free(model);
}

const struct lat_model_info *lat_model_info_view(const struct lat_model *model) { return &model->info; }

enum lat_status lat_model_check_finite(const struct lat_model *model, struct lat_error *error)
{
    for (size_t i = 0; i < lat_st_folder_count(model->folder); i++) {
        const struct lat_st_tensor *t = lat_st_folder_at(model->folder, i);
        if (!lat_dtype_is_float(t->dtype))
            continue;
        for (size_t e = 0; e < t->elements; e++)
            if (!isfinite(lat_dtype_load(t->dtype, t->data, e)))
                return lat_error_set(error, LAT_NOT_FINITE, "tensor %s: element %zu is not finite", t->name, e);
    }
    return LAT_OK;
}

const char *lat_operator_name(enum lat_operator op)
{
    static const char *const names[] = {
#define LAT_OPERATOR_NAME(name, text) text,
        LAT_OPERATOR_MAP(LAT_OPERATOR_NAME)
#undef LAT_OPERATOR_NAME
    };
    return (size_t)op < LAT_OPERATOR_COUNT ? names[op] : "";
}

size_t lat_model_operator_width(const struct lat_model *model, size_t layer, enum lat_operator op)
{
    const struct lat_qwen35_config *c = &model->config;
    if (layer >= c->num_hidden_layers)
        return 0;
    bool full = c->layer_is_full[layer];
    size_t heads = c->num_attention_heads * c->head_dim, kv = c->num_key_value_heads * c->head_dim;
    size_t values = c->linear_num_value_heads * c->linear_value_head_dim, gates = c->linear_num_value_heads;
    switch (op) {
    case LAT_OPERATOR_NORM:
    case LAT_OPERATOR_MID:
    case LAT_OPERATOR_MLP_NORM: return c->hidden_size;
    case LAT_OPERATOR_Q_PROJ: return full ? 2 * heads : 0;
    case LAT_OPERATOR_Q:
    case LAT_OPERATOR_CONTEXT: return full ? heads : 0;
    case LAT_OPERATOR_K_PROJ:
    case LAT_OPERATOR_V_PROJ:
    case LAT_OPERATOR_K: return full ? kv : 0;
    case LAT_OPERATOR_QKV:
    case LAT_OPERATOR_CONV: return full ? 0 : lat_qwen35_conv_dim(c);
    case LAT_OPERATOR_Z:
    case LAT_OPERATOR_DELTA:
    case LAT_OPERATOR_GATED: return full ? 0 : values;
    case LAT_OPERATOR_B:
    case LAT_OPERATOR_A: return full ? 0 : gates;
    case LAT_OPERATOR_ROUTER: return c->moe ? c->num_experts : 0;
    case LAT_OPERATOR_ACT: return c->moe ? 0 : c->intermediate_size;
    case LAT_OPERATOR_COUNT: break;
    }
    return 0;
}
