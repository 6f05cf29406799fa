// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Advisories: a snapshot of OSV entries, as a file (one entry, an array of them, or {"vulns": [...]}) or a folder of such
// files, against the locked components. What it says depends on the day, so it informs; its age is part of every answer,
// and a snapshot that is too old is no answer.
#ifndef LAT_GATE_OSV_H
#define LAT_GATE_OSV_H

#include "gate/deps_inventory.h"

struct lat_osv_options {
    const char *path;     // of the snapshot
    const char *shown;    // the same, as in gate.yaml
    double max_age_s;
    bool required;        // hits fail, and a stale snapshot is an ERROR
    int64_t now;          // seconds since 1970
    const char *release;  // "12": entries for "Debian:11" do not count; NULL: all do
};

// Adds findings to `result` and sets its population (entries). The snapshot's date is the newest "modified" in it.
LAT_NODISCARD enum lat_status lat_osv_check(const struct lat_inventory *inventory, const struct lat_osv_options *options,
                                            struct lat_leg_result *result, struct lat_error *error);

#endif
