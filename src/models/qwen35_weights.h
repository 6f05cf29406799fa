// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The weights of a Qwen3.5 text model, found by name in a folder, each shape checked against the config. Matrices stay
// views of the mapped files in their stored type; small vectors are widened to f32 once.
#ifndef LAT_MODELS_QWEN35_WEIGHTS_H
#define LAT_MODELS_QWEN35_WEIGHTS_H

#include "core/mem.h"
#include "models/qwen35_config.h"
#include "nn/matrix.h"
#include "tensor/safetensors.h"

// SwiGLU: down(silu(gate x) * up x)
struct lat_qwen35_mlp {
    struct lat_matrix gate, up; // [inner][hidden]
    struct lat_matrix down;     // [hidden][inner]
};

struct lat_qwen35_attention {
    struct lat_matrix q;       // [2*heads*head_dim][hidden]: per head the query rows, then its gate rows
    struct lat_matrix k, v, o; // [kv*head_dim][hidden], [hidden][heads*head_dim]
    const float *q_bias, *k_bias, *v_bias, *o_bias; // NULL without attention_bias
    const float *q_norm, *k_norm;                   // [head_dim], 1 + w
};

struct lat_qwen35_deltanet {
    struct lat_matrix qkv; // [2*key_dim + value_dim][hidden]
    struct lat_matrix z;   // [value_dim][hidden]
    struct lat_matrix b, a; // [value heads][hidden]
    struct lat_matrix out; // [hidden][value_dim]
    const float *conv;     // [taps][conv_dim]: the file's [conv_dim][1][taps], transposed
    const float *decay_rate; // exp(A_log), [value heads]
    const float *dt_bias;    // [value heads]
    const float *norm;       // [value head dim], plain w
};

struct lat_qwen35_layer {
    const float *input_norm, *post_norm; // [hidden], 1 + w
    struct lat_qwen35_attention attention; // a full attention layer's
    struct lat_qwen35_deltanet deltanet;   // a linear layer's
    struct lat_qwen35_mlp mlp;             // dense: the MLP; MoE: the shared expert
    struct lat_matrix router;              // [experts][hidden], MoE only
    struct lat_matrix shared_gate;         // [1][hidden], MoE only
    struct lat_qwen35_mlp *experts;        // [experts], MoE only
};

struct lat_qwen35_weights {
    struct lat_matrix embed; // [vocab][hidden]
    struct lat_matrix head;  // the same data as embed when tied
    const float *norm;       // [hidden], 1 + w
    double *rope_frequency;  // [rotary_half]
    struct lat_qwen35_layer *layers;
    struct lat_arena arena; // vectors and layers live here
    uint64_t parameters;
    uint64_t bytes;
    uint64_t bytes_by_dtype[LAT_DTYPE_COUNT];
    uint64_t bytes_by_width[2]; // quantised: 8 bits, 4 bits
    char warning[200]; // empty, or what was odd but not wrong
};

// On failure nothing is held. `folder` must outlive the weights.
LAT_NODISCARD enum lat_status lat_qwen35_weights_load(struct lat_qwen35_weights *weights,
                                                      const struct lat_qwen35_config *config,
                                                      const struct lat_st_folder *folder, struct lat_error *error);
void lat_qwen35_weights_release(struct lat_qwen35_weights *weights);

#endif
