// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// One chunk of tokens through a Qwen3.5 model. Every function here runs on all threads of the pool at once; a thread
// owns outputs (rows of a product, heads, tokens), never a part of a sum, so results do not depend on their number.
#ifndef LAT_MODELS_QWEN35_STEP_H
#define LAT_MODELS_QWEN35_STEP_H

#include <stdatomic.h>

#include "models/qwen35_state.h"

struct lat_qwen35_step {
    const struct lat_kernels *kernels;
    const struct lat_qwen35_config *config;
    const struct lat_qwen35_weights *weights;
    struct lat_qwen35_state *state;
    struct lat_pool *pool;
    const int32_t *ids;
    size_t tokens; // at most state->chunk
    bool last;     // the logits of the last token are wanted
    lat_observe_fn *observe; // NULL: nobody looks
    void *observe_context;
    bool observe_logits;
    struct lat_error *error;
    atomic_int observe_status; // enum lat_status; once not LAT_OK all threads stop at the next barrier
    atomic_llong bad_place;    // smallest layer*2^32+position whose values were not finite, or -1
};

// A thread's view of the step.
struct lat_qwen35_lane {
    struct lat_qwen35_step *step;
    int thread, threads;
};

// Runs the chunk: state->position grows by step->tokens.
LAT_NODISCARD enum lat_status lat_qwen35_step_run(struct lat_qwen35_step *step);

// The parts, for the layers' files. Each begins after and ends with a barrier.
void lat_qwen35_attention_run(const struct lat_qwen35_lane *lane, size_t layer);
void lat_qwen35_deltanet_run(const struct lat_qwen35_lane *lane, size_t layer);
void lat_qwen35_mlp_run(const struct lat_qwen35_lane *lane, size_t layer);
void lat_qwen35_moe_run(const struct lat_qwen35_lane *lane, size_t layer);

// This thread's rows of y (+)= x W^T for all tokens of `x`; no barrier.
void lat_qwen35_product(const struct lat_qwen35_lane *lane, const struct lat_matrix *w, const float *x, size_t tokens,
                        float *y, size_t y_stride, const float *bias, bool add);
void lat_qwen35_barrier(const struct lat_qwen35_lane *lane);
// silu(gate x) * up x, this thread's rows, into `gate_rows` [tokens][stride of inner]; no barrier.
void lat_qwen35_swiglu(const struct lat_qwen35_lane *lane, const struct lat_qwen35_mlp *mlp, const float *x,
                       size_t tokens, float *gate_rows, float *up_rows);

#endif
