// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The legs `deny` and `feeds`: inventory, lock, checks and bills of materials in their order.
#ifndef LAT_GATE_LEG_DENY_H
#define LAT_GATE_LEG_DENY_H

#include <stdint.h>

#include "gate/leg.h"

struct lat_deny_options {
    unsigned checks;  // LAT_DENY_*
    int64_t now;      // seconds since 1970
    bool write_lock;  // write the lock instead of comparing with it
    const char *spdx, *cyclonedx; // where the bills of materials go; NULL: WORK/deny/sbom.*.json
};

LAT_NODISCARD enum lat_status lat_deny_run(const struct lat_gate_run *run, const struct lat_policy_leg *leg,
                                           const struct lat_deny_options *options, struct lat_leg_result *result,
                                           struct lat_error *error);
LAT_NODISCARD enum lat_status lat_feeds_run(const struct lat_gate_run *run, const struct lat_policy_leg *leg, int64_t now,
                                            struct lat_leg_result *result, struct lat_error *error);

#endif
