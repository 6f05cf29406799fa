// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Choosing the next token from logits. All weights are computed in double from basic operations, so that a seed gives
// the same tokens on every machine.
#ifndef LAT_RUNTIME_SAMPLER_H
#define LAT_RUNTIME_SAMPLER_H

#include "core/rng.h"
#include "lattice/generate.h"

struct lat_candidate;

struct lat_sampler {
    struct lat_sampling options;
    struct lat_rng rng;
    size_t vocab_size;
    float *logits;             // [vocab_size], after penalties
    uint32_t *counts;          // [vocab_size], how often an id is in the output
    bool *seen;                // [vocab_size], in prompt or output
    const bool *allowed;       // [vocab_size] or NULL: ids that may be drawn
    struct lat_candidate *candidates; // [vocab_size]
};

// `allowed`, when not NULL, must outlive the sampler.
LAT_NODISCARD enum lat_status lat_sampler_init(struct lat_sampler *sampler, const struct lat_sampling *options,
                                               size_t vocab_size, const bool *allowed, struct lat_error *error);
void lat_sampler_release(struct lat_sampler *sampler);
// An id of the prompt (or of the output) counts for the penalties from now on.
void lat_sampler_note(struct lat_sampler *sampler, int32_t id, bool output);
// The next id. LAT_NOT_FINITE when a logit is NaN or infinite.
LAT_NODISCARD enum lat_status lat_sampler_next(struct lat_sampler *sampler, const float *logits, int32_t *id,
                                               struct lat_error *error);

// The id of the largest logit, the lowest among equals; *margin, when asked for, is its distance to the second.
int32_t lat_argmax(const float *logits, size_t count, float *margin);

#endif
