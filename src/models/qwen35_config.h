// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The numbers of a Qwen3.5 text model, dense or MoE, read from config.json (nested under text_config, or flat).
// Field names are those of the file (transformers, models/qwen3_5/configuration_qwen3_5.py).
#ifndef LAT_MODELS_QWEN35_CONFIG_H
#define LAT_MODELS_QWEN35_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lattice/model.h"

enum { LAT_QWEN35_LAYERS_MAX = 1024 };

struct lat_qwen35_config {
    char model_type[32];
    bool moe;
    bool tie_word_embeddings;
    bool attention_bias;
    bool quantized; // matrices may be packed (nn/packed.h)
    size_t vocab_size;
    size_t hidden_size;
    size_t intermediate_size; // dense only
    size_t num_hidden_layers;
    size_t num_attention_heads;
    size_t num_key_value_heads;
    size_t head_dim;
    size_t rotary_dim;  // int(head_dim * partial_rotary_factor)
    size_t rotary_half; // pairs that turn: ceil(rotary_dim / 2)
    double rope_theta;
    double rms_norm_eps;
    size_t max_position_embeddings;
    size_t linear_conv_kernel_dim;
    size_t linear_key_head_dim;
    size_t linear_value_head_dim;
    size_t linear_num_key_heads;
    size_t linear_num_value_heads;
    size_t num_experts;
    size_t num_experts_per_tok;
    size_t moe_intermediate_size;
    size_t shared_expert_intermediate_size;
    bool layer_is_full[LAT_QWEN35_LAYERS_MAX]; // full attention, else linear
    int32_t eos_ids[LAT_EOS_MAX];
    size_t eos_count;
};

// Reads folder/config.json, and the end-of-text ids of folder/generation_config.json where it exists.
LAT_NODISCARD enum lat_status lat_qwen35_config_read(struct lat_qwen35_config *config, const char *folder,
                                                     struct lat_error *error);
// The same from a text in memory (without generation_config.json); `name` is for messages.
LAT_NODISCARD enum lat_status lat_qwen35_config_parse(struct lat_qwen35_config *config, const char *text,
                                                      size_t length, const char *name, struct lat_error *error);

static inline size_t lat_qwen35_key_dim(const struct lat_qwen35_config *c)
{
    return c->linear_num_key_heads * c->linear_key_head_dim;
}
static inline size_t lat_qwen35_value_dim(const struct lat_qwen35_config *c)
{
    return c->linear_num_value_heads * c->linear_value_head_dim;
}
// Channels of the convolution: queries, keys, values.
static inline size_t lat_qwen35_conv_dim(const struct lat_qwen35_config *c)
{
    return 2 * lat_qwen35_key_dim(c) + lat_qwen35_value_dim(c);
}

#endif
