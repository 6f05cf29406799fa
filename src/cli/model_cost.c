// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "cli/model_cost.h"

#include <string.h>

#include "core/error.h"
#include "models/qwen35_config.h"
#include "tensor/safetensors.h"

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

// Vision tower and prediction of further tokens: in real folders, and never read.
static bool is_unused(const char *name)
{
    return strstr(name, "visual.") || strncmp(name, "mtp.", 4) == 0 || strstr(name, ".mtp.");
}

static bool is_head(const char *name) { return strncmp(name, "lm_head.", 8) == 0 || strstr(name, ".lm_head."); }

// Elements of the matrix whose codes are packed in `t`: the product of its sibling "..._shape".
static double packed_elements(const struct lat_st_folder *weights, const struct lat_st_tensor *t)
{
    char name[300];
    int64_t shape[2];
    size_t stem = strlen(t->name) - strlen("packed");
    if (stem + sizeof "shape" > sizeof name)
        return 0;
    memcpy(name, t->name, stem);
    memcpy(name + stem, "shape", sizeof "shape");
    const struct lat_st_tensor *sibling = lat_st_folder_find(weights, name);
    if (!sibling || sibling->dtype != LAT_DTYPE_I64 || sibling->elements != 2)
        return 0;
    memcpy(shape, sibling->data, sizeof shape);
    return (double)shape[0] * (double)shape[1];
}

struct sums {
    struct lat_model_cost *cost;
    const struct lat_st_folder *weights;
    bool tied;
    double experts_share; // of the experts, that a token takes
    double packed_ops;
};

static void add(struct sums *s, const struct lat_st_tensor *t)
{
    if (is_unused(t->name) || (s->tied && is_head(t->name)))
        return;
    double share = strstr(t->name, ".mlp.experts.") ? s->experts_share : 1;
    bool embedding = strstr(t->name, "embed_tokens.") != NULL;
    if (embedding && !s->tied)
        share = t->shape[0] ? 1 / (double)t->shape[0] : 0;
    s->cost->bytes_per_token += share * (double)t->bytes;
    bool packed = ends_with(t->name, ".weight_packed");
    bool matrix = packed || ((t->rank == 2 || strstr(t->name, ".mlp.experts.")) && !ends_with(t->name, "_scale"));
    if (embedding || is_head(t->name) || !matrix)
        return;
    double ops = 2 * share * (packed ? packed_elements(s->weights, t) : (double)t->elements);
    s->cost->ops_per_token += ops;
    s->packed_ops += packed ? ops : 0;
}

enum lat_status lat_model_cost_of(struct lat_model_cost *cost, const struct lat_model *model, struct lat_error *error)
{
    const struct lat_model_info *info = lat_model_info_view(model);
    struct lat_qwen35_config config;
    struct lat_st_folder *weights = NULL;
    *cost = (struct lat_model_cost){ 0 };
    LAT_TRY(lat_qwen35_config_read(&config, info->folder, error));
    LAT_TRY(lat_st_folder_open(&weights, info->folder, error));
    struct sums s = { .cost = cost, .weights = weights, .tied = info->tied, .experts_share = 1 };
    if (config.num_experts)
        s.experts_share = (double)config.num_experts_per_tok / (double)config.num_experts;
    for (size_t i = 0; i < lat_st_folder_count(weights); i++)
        add(&s, lat_st_folder_at(weights, i));
    cost->integer = s.packed_ops > cost->ops_per_token / 2;
    lat_st_folder_close(weights);
    return LAT_OK;
}
