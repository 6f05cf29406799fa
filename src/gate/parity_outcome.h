// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What a parity leg concluded about each reference, rung by rung, and what its report is written from.
#ifndef LAT_GATE_PARITY_OUTCOME_H
#define LAT_GATE_PARITY_OUTCOME_H

#include "core/buf.h"
#include "gate/finding.h"
#include "gate/parity_compare.h"
#include "gate/parity_config.h"

struct lat_parity_rung {
    bool judged;
    enum lat_leg_state state;
    char text[240]; // what was seen: "214 positions, at most 0.4 floors", or the first thing that is wrong
};

// A prompt continued by the engine's own command for users; informational.
struct lat_parity_generation {
    bool ran;
    double prompt_tokens_s, decode_tokens_s, ttft_s; // 0: not said
    uint64_t rss_peak;
    size_t same, count;    // ids agreeing with the reference's before the first difference, of so many
    char *text, *reference_text; // heap; reference_text only where they differ
};

struct lat_parity_outcome {
    const struct lat_parity_reference *reference;
    char sha256[LAT_SHA256_HEX_SIZE];
    bool armed;
    enum lat_leg_state state; // worst of its findings
    struct lat_parity_result compared; // count 0: it did not come so far
    struct lat_parity_rung rungs[LAT_PARITY_RUNGS];
    char first_point[64]; // first wrong layer or operator, or ""
    double first_ratio;
    char engine[200], origin[200]; // what the engine and the reference say they are
    double *hf_decode_tokens_s;    // [count], from the reference; NULL: it does not say
    struct lat_parity_generation *generations; // [count], or NULL
    double engine_s; // of the first run
    uint64_t rss_peak;
};

struct lat_parity_outcomes {
    struct lat_parity_outcome items[LAT_PARITY_REFERENCES_MAX];
    size_t count;
};

void lat_parity_outcomes_release(struct lat_parity_outcomes *outcomes);
enum lat_leg_state lat_parity_outcome_state(const struct lat_parity_outcome *outcome);

// The E2E Parity Report, Markdown. `leg` for the line that says how to reproduce.
void lat_parity_e2e_markdown(struct lat_buf *out, const struct lat_parity_outcomes *outcomes, enum lat_leg_state state, const char *leg,
                             const struct lat_leg_result *result);
// Details of the leg's result.
json_t *lat_parity_e2e_json(const struct lat_parity_outcomes *outcomes);

#endif
