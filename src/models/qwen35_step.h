// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// One chunk of rows through a Qwen3.5 model: tokens of one sequence, or of several (prefill and decode mixed). Every
// function here runs on all threads of the pool at once; a thread owns outputs (rows of a product, heads, tokens), never
// a part of a sum, and a row's values depend on its own sequence alone: so results depend neither on the number of
// threads nor on what else is in the chunk.
#ifndef LAT_MODELS_QWEN35_STEP_H
#define LAT_MODELS_QWEN35_STEP_H

#include <stdatomic.h>

#include "lattice/model.h"
#include "models/qwen35_state.h"

// Consecutive tokens of one sequence; they take `tokens` rows of the chunk from `first` on.
struct lat_qwen35_part {
    struct lat_qwen35_sequence *sequence;
    const int32_t *ids;
    size_t tokens;
    bool last;    // the logits of its last token are wanted
    size_t first; // set by the step
};

// Rows of a product come to threads in whole cache lines of its output, whole panels of quantised weights, and whole
// blocks of what is quantised next.
enum { LAT_QWEN35_ROW_UNIT = 32 };

struct lat_qwen35_step {
    const struct lat_kernels *kernels;
    const struct lat_qwen35_config *config;
    const struct lat_qwen35_weights *weights;
    struct lat_qwen35_work *work;
    struct lat_pool *pool;
    struct lat_qwen35_part *parts;
    size_t part_count;
    size_t tokens; // of all parts, at most work->rows; set by the step
    enum lat_compute compute;
    lat_bf16_matmul_fn *bf16_dot; // NULL: products of bf16 weights are of f32
    lat_observe_fn *observe; // NULL: nobody looks. Only with one part
    void *observe_context;
    bool observe_logits, observe_operators;
    struct lat_error *error;
    atomic_int observe_status; // enum lat_status; once not LAT_OK all threads stop at the next barrier
    atomic_llong bad_place;    // smallest layer*2^32+row whose values were not finite, or -1
};

// A thread's view of the step.
struct lat_qwen35_lane {
    struct lat_qwen35_step *step;
    int thread, threads;
};

// Runs the chunk: each sequence's position grows by its tokens. Logits of the parts that want them lie in work->logits, a
// row each, in order; there are at most work->logit_rows such parts.
LAT_NODISCARD enum lat_status lat_qwen35_step_run(struct lat_qwen35_step *step);

// The parts of a layer, for their files. Each begins after and ends with a barrier.
void lat_qwen35_attention_run(const struct lat_qwen35_lane *lane, size_t layer);
void lat_qwen35_deltanet_run(const struct lat_qwen35_lane *lane, size_t layer);
void lat_qwen35_mlp_run(const struct lat_qwen35_lane *lane, size_t layer);
void lat_qwen35_moe_run(const struct lat_qwen35_lane *lane, size_t layer);

// Makes x [tokens][cols] ready for products: when these are of integers (or of bf16), each thread quantises its share of x,
// and all wait for each other. Call it when x is whole and nobody reads what was prepared under the same name before.
void lat_qwen35_prepare(const struct lat_qwen35_lane *lane, enum lat_qwen35_input input, const float *x, size_t cols,
                        size_t tokens);
// The same without a barrier, for who has made a piece of x: columns [first, first + count) of a token, first a multiple
// of 32. Only when lat_qwen35_prepares_pieces says that pieces of this width can be prepared; otherwise x is prepared whole.
bool lat_qwen35_prepares_pieces(const struct lat_qwen35_step *step, size_t piece);
void lat_qwen35_prepare_piece(const struct lat_qwen35_step *step, enum lat_qwen35_input input, const float *x, size_t cols,
                              size_t token, size_t first, size_t count);
// This thread's rows of y (+)= x W^T for all tokens of `x`, which has been prepared as `input`; no barrier.
void lat_qwen35_product(const struct lat_qwen35_lane *lane, const struct lat_matrix *w, enum lat_qwen35_input input,
                        const float *x, size_t tokens, float *y, size_t y_stride, const float *bias, bool add);
void lat_qwen35_barrier(const struct lat_qwen35_lane *lane);
// Lets the observer see an operator's output for all tokens, rows `stride` apart, when it asked for operators (else nothing
// happens, no barrier either). Call it after a barrier; it ends with one.
void lat_qwen35_show_operator(const struct lat_qwen35_lane *lane, size_t layer, enum lat_operator op, const float *values,
                              size_t width, size_t stride);
// silu(gate x) * up x into `gate_rows` [tokens][inner], prepared as LAT_INPUT_INNER for the product with `down`; x
// has been prepared as LAT_INPUT_LAYER. Ends with
// a barrier.
void lat_qwen35_swiglu(const struct lat_qwen35_lane *lane, const struct lat_qwen35_mlp *mlp, const float *x,
                       size_t tokens, float *gate_rows, float *up_rows);

#endif
