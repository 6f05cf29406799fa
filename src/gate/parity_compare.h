// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Is an engine as close to the exact answer as Hugging Face is? Judges a trace (what the engine computed) against a
// reference (what Hugging Face computed, the truth in float64, and Hugging Face's own distance from it: the floor).
// docs/PARITY.md explains the numbers.
#ifndef LAT_GATE_PARITY_COMPARE_H
#define LAT_GATE_PARITY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/sha256.h"
#include "lattice/status.h"

struct lat_parity_limits {
    double max_ratio;     // largest |logit - truth|, in floors
    double rms_ratio;     // root mean square of the same, in floors
    double margin_floors; // greedy ids must agree where Hugging Face's margin is above this many floors
    double layer_ratio;   // a layer's output stands out from this many of its floors on
};

struct lat_parity_limits lat_parity_limits_default(void); // 2, 1.2, 4, 8

struct lat_parity_prompt {
    char name[24]; // "p3"
    size_t positions;
    size_t full_positions; // of which whole rows of logits were compared (of the others, the 64 largest)
    double max, rms;             // distance of the logits to the truth
    double floor_max, floor_rms; // Hugging Face's: the prompt's own, at least the reference's as a whole
    double max_ratio, rms_ratio;
    double mean_kl; // KL(truth || engine), nats
    size_t top1_same;
    size_t greedy_count;   // ids in the reference's continuation
    size_t greedy_same;    // agreeing ids before the first difference
    double greedy_margin;  // Hugging Face's margin at the first difference; 0 when there is none
    bool greedy_excused;   // the difference lies within the margin
    char first_layer[24];  // first point whose error stands out: "embed", "layers.3", "norm", "logits"; empty: none
    double first_layer_ratio;
    bool has_layers;
    bool passed;
};

struct lat_parity_result {
    struct lat_parity_prompt *prompts;
    size_t count;
    size_t positions;
    bool passed;
    char reference_sha256[LAT_SHA256_HEX_SIZE];
    bool trace_at_fault; // after a status other than LAT_OK: it is the trace that cannot be judged, not the reference
};

// LAT_OK: judged, see result->passed. Anything else: it cannot be judged (unreadable, another model, a missing prompt,
// other ids, values that are not finite, nothing to compare), with the reason in `error`.
LAT_NODISCARD enum lat_status lat_parity_compare(struct lat_parity_result *result, const char *reference,
                                                 const char *trace, const struct lat_parity_limits *limits,
                                                 struct lat_error *error);
void lat_parity_result_release(struct lat_parity_result *result);

#endif
