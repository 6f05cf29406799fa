// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The checks of an inventory against the policy: licences, bans and duplicates, origins. Pure: no files are read.
#ifndef LAT_GATE_DENY_CHECKS_H
#define LAT_GATE_DENY_CHECKS_H

#include "gate/deps_inventory.h"

LAT_NODISCARD enum lat_status lat_deny_check_licenses(const struct lat_inventory *inventory, struct lat_deny_policy *policy,
                                                      struct lat_deny_judge *judge, struct lat_error *error);
void lat_deny_check_bans(const struct lat_inventory *inventory, const struct lat_deny_policy *policy, struct lat_deny_judge *judge);
void lat_deny_check_sources(const struct lat_inventory *inventory, const struct lat_deny_policy *policy, struct lat_deny_judge *judge);
// D617, a warning, for allowed licences, exceptions, clarifications and the like that nothing needs; after the others.
void lat_deny_check_unused(const struct lat_deny_policy *policy, struct lat_deny_judge *judge);

// "https://host/org/*" against an address; the scheme must be the same.
bool lat_address_matches(const char *pattern, const char *address);

#endif
