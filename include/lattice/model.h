// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A model (read-only after opening, may be shared by threads) and sessions over it (one sequence each; a session
// belongs to one thread at a time).
//
//   struct lat_model *model;
//   struct lat_session *session;
//   if (lat_model_open(&model, "models/nano", &err) == LAT_OK
//       && lat_session_new(&session, model, NULL, &err) == LAT_OK
//       && lat_session_eval(session, ids, count, &err) == LAT_OK)
//       use(lat_session_logits(session));             // vocab_size floats, for the token after ids[count-1]
//   lat_session_free(session);
//   lat_model_close(model);                           // after its sessions
#ifndef LATTICE_MODEL_H
#define LATTICE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lattice/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lat_model;
struct lat_session;

enum { LAT_EOS_MAX = 16 };

// What a folder holds. Strings belong to the model.
struct lat_model_info {
    const char *folder;
    const char *model_type; // as in config.json: "qwen3_5_text", "qwen3_5_moe", ...
    const char *dtype;      // of the largest part of the weights: "BF16", "INT4", ...
    size_t vocab_size;
    size_t hidden_size;
    size_t layers;
    size_t full_attention_layers;
    size_t experts;       // 0 when dense
    size_t positions_max; // max_position_embeddings
    uint64_t parameters;  // elements of the tensors in use
    uint64_t weight_bytes;
    bool tied; // the head is the embedding
    int32_t eos_ids[LAT_EOS_MAX]; // union of config.json and generation_config.json
    size_t eos_count;
    const char *warning; // NULL, or what was odd but not wrong (a stored head that the config says is tied)
};

// Opens a Hugging Face folder: config.json and safetensors. Every tensor's name, type and shape is checked here.
LAT_API LAT_NODISCARD enum lat_status lat_model_open(struct lat_model **out, const char *folder,
                                                     struct lat_error *error);
LAT_API void lat_model_close(struct lat_model *model); // NULL is harmless
LAT_API const struct lat_model_info *lat_model_info_view(const struct lat_model *model);
// Reads every weight; the first one that is not finite is named in `error` (LAT_NOT_FINITE).
LAT_API LAT_NODISCARD enum lat_status lat_model_check_finite(const struct lat_model *model, struct lat_error *error);

// Where an observer can look: after the embedding, after decoder layer i (0, 1, ...), after the final norm, at the
// logits.
enum { LAT_POINT_EMBED = -1, LAT_POINT_NORM = -2, LAT_POINT_LOGITS = -3 };

// Operators inside a layer, in the order of computation. Rows of floats: what a projection gives, query and key after norm
// and rotation, the attention's output after its gate; what enters the convolution, what leaves it (queries and keys
// normalised), the delta rule's output, the same after its gated norm; the residual stream between the two halves of a layer.
#define LAT_OPERATOR_MAP(X) \
    X(NORM, "norm") X(Q_PROJ, "q_proj") X(K_PROJ, "k_proj") X(V_PROJ, "v_proj") X(Q, "q") X(K, "k") X(CONTEXT, "context") \
    X(QKV, "qkv") X(Z, "z") X(B, "b") X(A, "a") X(CONV, "conv") X(DELTA, "delta") X(GATED, "gated") X(MID, "mid") \
    X(MLP_NORM, "mlp_norm") X(ROUTER, "router") X(ACT, "act")
enum lat_operator {
#define LAT_OPERATOR_ENUM(name, text) LAT_OPERATOR_##name,
    LAT_OPERATOR_MAP(LAT_OPERATOR_ENUM)
#undef LAT_OPERATOR_ENUM
    LAT_OPERATOR_COUNT
};
enum { LAT_POINT_OPERATORS = 1 << 20 }; // points of operators begin here
#define LAT_POINT_OPERATOR(layer, op) (LAT_POINT_OPERATORS + (int)(layer)*LAT_OPERATOR_COUNT + (int)(op))
LAT_API const char *lat_operator_name(enum lat_operator op);
// Floats of an operator's row, 0 when the layer has no such operator.
LAT_API size_t lat_model_operator_width(const struct lat_model *model, size_t layer, enum lat_operator op);

// Called on the session's thread during lat_session_eval with `rows` consecutive positions from `position` on, each
// `width` floats. What it returns, when not LAT_OK, ends the evaluation.
typedef enum lat_status lat_observe_fn(void *context, int point, size_t position, size_t rows, size_t width,
                                       const float *values, struct lat_error *error);

// How products are computed. Each way has the same bits for any threads, chunk and batch; the first two also for any
// instruction set.
enum lat_compute {
    LAT_COMPUTE_DEFAULT, // activations quantised to 8 bits in blocks of 32, exact integer products
    LAT_COMPUTE_EXACT,   // f32 activations times weights widened to f32: what Hugging Face computes. Slow
    LAT_COMPUTE_FAST,    // as the default, but products with bf16 weights take bf16 activations where the machine has
                         // instructions for it: other bits there than elsewhere
};

struct lat_session_options {
    size_t context; // positions that the session can hold; 0: 4096, or positions_max when that is less
    size_t chunk;   // most tokens of one prefill step; 0: 192. Does not change a bit of any result
    int threads;    // 0: the processors of this process. Does not change a bit of any result
    lat_observe_fn *observe;
    void *observe_context;
    bool observe_logits;      // logits of every position, not only of the last
    bool observe_operators;   // also what each operator gives, a row at a time; slow
    enum lat_compute compute;
    bool half_cache; // keep keys and values as f16: half the memory, other bits
    const volatile int *cancel; // evaluation ends with LAT_CANCELLED soon after it becomes non-zero; may be NULL
};

// Bytes that lat_session_new would allocate.
LAT_API LAT_NODISCARD enum lat_status lat_session_bytes(const struct lat_model *model,
                                                        const struct lat_session_options *options, uint64_t *bytes,
                                                        struct lat_error *error);
// `options` may be NULL for the defaults. A context that memory cannot hold is refused before anything is allocated.
LAT_API LAT_NODISCARD enum lat_status lat_session_new(struct lat_session **out, const struct lat_model *model,
                                                      const struct lat_session_options *options,
                                                      struct lat_error *error);
LAT_API void lat_session_free(struct lat_session *session); // NULL is harmless
// Appends ids[0..count) to the sequence. Refuses ids outside the vocabulary and more positions than the context,
// before anything changes. After any other failure the session must be reset.
LAT_API LAT_NODISCARD enum lat_status lat_session_eval(struct lat_session *session, const int32_t *ids, size_t count,
                                                       struct lat_error *error);
// vocab_size logits after the last id; valid until the next call with this session. NULL before the first eval.
LAT_API const float *lat_session_logits(const struct lat_session *session);
LAT_API size_t lat_session_position(const struct lat_session *session); // ids held
LAT_API size_t lat_session_context(const struct lat_session *session);
LAT_API int lat_session_threads(const struct lat_session *session);
LAT_API void lat_session_reset(struct lat_session *session); // empty again, memory kept

// The instruction set whose kernels are in use: "scalar", "avx2", "avx512", "neon", "dotprod". LATTICE_ISA lowers it; an unknown
// value, or one that this machine lacks, is refused by lat_model_open.
LAT_API const char *lat_isa_name(void);

#ifdef __cplusplus
}
#endif
#endif
