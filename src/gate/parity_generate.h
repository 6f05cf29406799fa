// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The engine as its users run it: each prompt continued by the command `generate`, for the speeds and texts of the report.
// Its ids are held against those of the traced run, so that what is judged is what users get.
#ifndef LAT_GATE_PARITY_GENERATE_H
#define LAT_GATE_PARITY_GENERATE_H

#include "gate/leg.h"
#include "gate/parity_outcome.h"

// For every prompt of outcome->compared. `generate` prints a JSON object: ids, and if it likes text, timings {prompt_tokens,
// prompt_s, ttft_s, decode_tokens, decode_s} and peak_rss_bytes.
LAT_NODISCARD enum lat_status lat_parity_generate(const struct lat_gate_run *run, const struct lat_policy_leg *leg,
                                                  const struct lat_parity_config *config, struct lat_parity_outcome *outcome,
                                                  struct lat_leg_result *result, struct lat_error *error);

#endif
