// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What one sequence needs while a Qwen3.5 model runs: caches and recurrent states (they live as long as the sequence),
// and the work space of one chunk of tokens. All of it is sized and allocated once.
#ifndef LAT_MODELS_QWEN35_STATE_H
#define LAT_MODELS_QWEN35_STATE_H

#include "core/pool.h"
#include "models/qwen35_weights.h"

// A full attention layer keeps keys and values: [kv heads][context][head_dim] each.
// A linear layer keeps the last taps-1 inputs of the convolution, [taps-1][conv_dim], and per value head the state
// S [key head dim][value head dim].
struct lat_qwen35_layer_state {
    float *keys, *values;
    float *conv, *delta;
};

// Work space, `rows` = tokens of a chunk. Layer kinds do not run at the same time, so they share `a` to `f`.
struct lat_qwen35_work {
    float *hidden;       // [rows][hidden_size], the residual stream
    float *normed;       // [rows][hidden_size]
    float *cosine, *sine; // [rows][rotary_half]
    float *a;            // linear: conv input [rows][conv_dim];  full: query+gate [rows][2*heads*head_dim]; MLP: gate
    float *b;            // linear: conv output [rows][conv_dim]; full: query [rows][heads*head_dim];        MLP: up
    float *c;            // linear: z [rows][value_dim];          full: attention output [rows][heads*head_dim]
    float *d;            // linear: b [rows][nv], then a [rows][nv]
    float *e;            // linear: delta output [rows][value_dim]
    float *key_rows;     // [rows][kv*head_dim], full: keys before they go into the cache
    float *value_rows;
    float *logits;       // [logit_rows][vocab_size]
    size_t logit_rows;
    // MoE
    float *router;       // [rows][experts]
    size_t *chosen;      // [rows][experts per token], ascending
    float *weight;       // [rows][experts per token]
    float *expert_in;    // [rows][hidden_size], the tokens of one expert side by side
    float *expert_out;   // [rows][hidden_size]
    float *mixed;        // [rows][hidden_size]
};

struct lat_qwen35_state {
    const struct lat_qwen35_config *config;
    size_t context;
    size_t chunk;
    size_t position; // tokens held
    struct lat_qwen35_layer_state *layers;
    struct lat_qwen35_work work;
    float *sequence_block; // caches; zero pages until they are used
    float *recurrent_block;
    float *work_block;
    size_t recurrent_floats;
};

// Bytes of a state; LAT_LIMIT when they do not fit in an address.
LAT_NODISCARD enum lat_status lat_qwen35_state_bytes(const struct lat_qwen35_config *config, size_t context,
                                                     size_t chunk, size_t logit_rows, uint64_t *bytes,
                                                     struct lat_error *error);
LAT_NODISCARD enum lat_status lat_qwen35_state_init(struct lat_qwen35_state *state,
                                                    const struct lat_qwen35_config *config, size_t context,
                                                    size_t chunk, size_t logit_rows, struct lat_error *error);
void lat_qwen35_state_release(struct lat_qwen35_state *state);
void lat_qwen35_state_reset(struct lat_qwen35_state *state);

#endif
