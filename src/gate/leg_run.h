// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Running legs of any kind: what `run`, `local` and the self-test share.
#ifndef LAT_GATE_LEG_RUN_H
#define LAT_GATE_LEG_RUN_H

#include "gate/leg.h"

// Lets every leg's kind check the leg's keys. To be called once after a policy is read by a command that runs legs.
LAT_NODISCARD enum lat_status lat_legs_check(struct lat_policy *policy, struct lat_error *error);

// Runs one leg and fills `result` (initialised here; release it in any case). A missing tool is E301 ERROR before
// anything runs, what else prevents a judgement is E305 (E302, E304) ERROR; the result is closed.
void lat_leg_run(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result);

// Legs in an order in which each comes after those that it needs: `wanted` and, when `with_needs`, all that they need.
// Returns how many were put into `order` (room for LAT_POLICY_LEGS_MAX), each once.
size_t lat_legs_order(const struct lat_policy *policy, const struct lat_policy_leg *const *wanted, size_t wanted_count, bool with_needs,
                      const struct lat_policy_leg **order);

// The result of a leg that was not run because `need`, which it needs, is red: V204 ERROR.
void lat_leg_not_run(const struct lat_policy_leg *leg, const char *need, struct lat_leg_result *result);

#endif
