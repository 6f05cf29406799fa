// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Runs the engine for one reference and judges every rung; what is wrong becomes a finding of the leg.
#ifndef LAT_GATE_PARITY_JUDGE_H
#define LAT_GATE_PARITY_JUDGE_H

#include "gate/leg.h"
#include "gate/parity_outcome.h"

// The folder of a reference's runs is WORK/parity/LEG/NAME, and is made here. LAT_OK: judged, or a finding says why not.
LAT_NODISCARD enum lat_status lat_parity_judge(const struct lat_gate_run *run, const struct lat_policy_leg *leg,
                                               const struct lat_parity_config *config, const struct lat_parity_reference *reference,
                                               struct lat_parity_outcome *outcome, struct lat_leg_result *result, struct lat_error *error);

// The files of a reference, before anything is run: there, undamaged, armed, of the model that lies in its folder, not too noisy
// (P801, P804, P807). False: it cannot be judged with; unarmed alone does not make it so.
bool lat_parity_reference_check(const struct lat_gate_run *run, const struct lat_parity_config *config,
                                const struct lat_parity_reference *reference, struct lat_parity_outcome *outcome,
                                struct lat_leg_result *result);

// WORK/parity/LEG, made with what lies above it.
LAT_NODISCARD enum lat_status lat_parity_folder(char *out, size_t size, const struct lat_gate_run *run, const char *leg,
                                                const char *name, struct lat_error *error);
// A finding about a reference and, from rung 0 on, what the rung says of it.
void lat_parity_note(struct lat_leg_result *result, struct lat_parity_outcome *outcome, int rung, enum lat_leg_state state,
                     const char *code, const char *fix, const char *format, ...) LAT_PRINTF(7, 8);

#endif
