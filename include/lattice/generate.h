// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Generation: sampling, stop strings, streaming, over a session and a tokenizer.
//
//   struct lat_generate_options options = lat_generate_defaults();    // greedy, 128 tokens
//   struct lat_generate_result result = {0};
//   if (lat_generate(session, tokenizer, ids.items, ids.count, &options, &result, &err) == LAT_OK)
//       printf("%s\n", result.text);
//   lat_generate_result_release(&result);
#ifndef LATTICE_GENERATE_H
#define LATTICE_GENERATE_H

#include "lattice/model.h"
#include "lattice/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

// How the next token is chosen. Everything but greedy is off by default, and generation_config.json's sampling fields
// are never applied silently: a folder's author and a program's user often want different things.
//
// Applied in this order, as transformers' processors: repetition penalty, presence and frequency penalty, temperature,
// top_k, top_p, min_p. A positive logit is divided by the repetition penalty, a negative one multiplied. Among equal
// logits the lower id wins. Ids that have a row in the model but no token in the tokenizer are never chosen. Weights are
// computed in double from basic operations, so a seed gives the same tokens on every machine.
struct lat_sampling {
    double temperature;        // >= 0; 0 is greedy
    int64_t top_k;             // 0 or -1: off; more than the vocabulary: off; other negative numbers are refused
    double top_p;              // 0 to 1; 1: off; the most probable token always stays
    double min_p;              // 0 to 1; 0: off; keeps p >= min_p * the largest p
    double repetition_penalty; // > 0; 1: off; over prompt and output
    double presence_penalty;   // finite; 0: off; over the output (OpenAI's definition)
    double frequency_penalty;  // finite; 0: off; over the output
    uint64_t seed;
};

struct lat_generate_options {
    struct lat_sampling sampling;
    size_t max_new; // tokens at most; 0: nothing is evaluated, the text is empty
    const char *const *stops; // texts that end the output; they are not part of it
    size_t stop_count;
    bool ignore_eos;
    // Called with text as it becomes final (whole characters, nothing that a stop text may still claim); anything but
    // LAT_OK ends the generation with that status. May be NULL.
    enum lat_status (*on_text)(void *context, const char *text, size_t length, struct lat_error *error);
    void *context;
    // Generation ends with what was produced once it is non-zero; may be NULL. Looked at between tokens: give the
    // session the same flag, and the evaluation of a long prompt ends soon, too.
    const volatile int *cancel;
};

enum lat_finish { LAT_FINISH_STOP, LAT_FINISH_LENGTH, LAT_FINISH_CANCELLED };

struct lat_generate_result {
    struct lat_ids ids;     // generated, an end-of-text id included
    char *text;             // NUL-terminated; without special tokens and stop text; NULL without a tokenizer
    size_t length;
    enum lat_finish finish; // stop: end-of-text id or stop text; length: max_new or the context is full
    int stop_index;         // of the stop text that ended the output; -1: none did
    double prompt_s;        // evaluation of the prompt
    double first_token_s;   // from the call to the first token
    double decode_s;        // of the tokens after the first
    size_t decode_tokens;
};

LAT_API struct lat_generate_options lat_generate_defaults(void);
// LAT_ARGUMENT with the field's name when a number is outside of its range or not finite.
LAT_API LAT_NODISCARD enum lat_status lat_sampling_check(const struct lat_sampling *sampling, struct lat_error *error);
LAT_API const char *lat_finish_name(enum lat_finish finish); // "stop", "length", "cancelled"

// Appends the prompt to the session and generates. Stop ids are those of config.json, generation_config.json and the
// tokenizer together. `tokenizer` may be NULL: ids only. On failure the result holds nothing. LAT_NOT_FINITE when the
// model's logits are NaN or infinite: such a token is never made up. After LAT_FINISH_CANCELLED, as after a failure, the
// session must be reset when its own flag broke the evaluation off.
LAT_API LAT_NODISCARD enum lat_status lat_generate(struct lat_session *session, const struct lat_tokenizer *tokenizer,
                                                   const int32_t *prompt, size_t prompt_count,
                                                   const struct lat_generate_options *options,
                                                   struct lat_generate_result *result, struct lat_error *error);
LAT_API void lat_generate_result_release(struct lat_generate_result *result);

// The model of a session.
LAT_API const struct lat_model *lat_session_model(const struct lat_session *session);

#ifdef __cplusplus
}
#endif
#endif
