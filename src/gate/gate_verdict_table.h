// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A verdict as a table for people, and what `local` and `verdict` share around it.
#ifndef LAT_GATE_GATE_VERDICT_TABLE_H
#define LAT_GATE_GATE_VERDICT_TABLE_H

#include "core/buf.h"
#include "gate/evidence.h"
#include "gate/verdict.h"

// Joins the evidence over the plan.
LAT_NODISCARD enum lat_status lat_verdict_of(struct lat_verdict *verdict, const struct lat_plan *plan,
                                             const struct lat_leg_evidence_set *set, const struct lat_second_witness *second,
                                             size_t second_count, struct lat_error *error);
// A line a leg: state, name, population, time, the worst finding; then "verdict: PASS" or what it is.
void lat_verdict_table(struct lat_buf *out, const struct lat_verdict *verdict, const struct lat_leg_evidence_set *set, bool color);
void lat_verdict_json(struct lat_buf *out, const struct lat_verdict *verdict, const struct lat_plan *plan);

#endif
