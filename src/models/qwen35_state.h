// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What a Qwen3.5 model needs while it runs: a sequence's caches and recurrent states, which live as long as it does, and
// the work space of one chunk of rows, which all sequences of a batch share. Each is sized and allocated once.
#ifndef LAT_MODELS_QWEN35_STATE_H
#define LAT_MODELS_QWEN35_STATE_H

#include "core/pool.h"
#include "models/qwen35_weights.h"

// A full attention layer keeps keys and values: [kv heads][context][head_dim] each, f32 or f16.
// A linear layer keeps the last taps-1 inputs of the convolution, [taps-1][conv_dim], and per value head the state
// S [key head dim][value head dim].
struct lat_qwen35_layer_state {
    unsigned char *keys, *values;
    float *conv, *delta;
};

struct lat_qwen35_sequence {
    const struct lat_qwen35_config *config;
    size_t context;
    size_t position; // tokens held
    bool half_cache; // keys and values are f16
    struct lat_qwen35_layer_state *layers;
    unsigned char *cache_block; // keys and values; zero pages until they are used
    float *recurrent_block;
    size_t recurrent_floats;
};

// One row of a chunk: which sequence it belongs to, and where in it.
struct lat_qwen35_row {
    struct lat_qwen35_sequence *sequence;
    size_t position;
};

// What products take instead of f32 rows, [rows][widest input of a product].
struct lat_qwen35_prepared {
    struct lat_quant_rows quant; // for quantised weights
    uint16_t *narrow;            // bf16, for LAT_COMPUTE_FAST
};
enum lat_qwen35_input { LAT_INPUT_LAYER, LAT_INPUT_INNER }; // which of the two

// Work space. Layer kinds do not run at the same time, so they share `a` to `e`.
struct lat_qwen35_work {
    size_t rows;         // of a chunk, at most
    struct lat_qwen35_row *row; // [rows]
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
    struct lat_qwen35_prepared prepared[2]; // of a layer's inputs, and of an MLP's inner rows, made while others read
    float *widened;        // [threads][16][widest input]: for products that widen quantised weights
    size_t widened_floats; // of one thread
    // MoE
    float *router;       // [rows][experts]
    size_t *chosen;      // [rows][experts per token], ascending
    float *weight;       // [rows][experts per token]
    float *expert_in;    // [rows][hidden_size], the tokens of one expert side by side
    float *expert_out;   // [rows][hidden_size]
    float *mixed;        // [rows][hidden_size]
    void *block;
};

struct lat_qwen35_work_size {
    size_t rows, logit_rows;
    int threads;
    bool narrow; // products may want bf16 activations
};

// Bytes; LAT_LIMIT when they do not fit in an address.
LAT_NODISCARD enum lat_status lat_qwen35_sequence_bytes(const struct lat_qwen35_config *config, size_t context,
                                                        bool half_cache, uint64_t *bytes, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_qwen35_sequence_init(struct lat_qwen35_sequence *sequence,
                                                       const struct lat_qwen35_config *config, size_t context,
                                                       bool half_cache, struct lat_error *error);
void lat_qwen35_sequence_release(struct lat_qwen35_sequence *sequence);
void lat_qwen35_sequence_reset(struct lat_qwen35_sequence *sequence);

LAT_NODISCARD enum lat_status lat_qwen35_work_bytes(const struct lat_qwen35_config *config,
                                                    const struct lat_qwen35_work_size *size, uint64_t *bytes,
                                                    struct lat_error *error);
LAT_NODISCARD enum lat_status lat_qwen35_work_init(struct lat_qwen35_work *work, const struct lat_qwen35_config *config,
                                                   const struct lat_qwen35_work_size *size, struct lat_error *error);
void lat_qwen35_work_release(struct lat_qwen35_work *work);

#endif
