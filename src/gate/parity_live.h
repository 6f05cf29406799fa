// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A reference made now against the frozen one. When they disagree beyond their floors, the reference has moved, and the
// package that changed is named.
#ifndef LAT_GATE_PARITY_LIVE_H
#define LAT_GATE_PARITY_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "lattice/status.h"

struct lat_parity_live {
    bool agrees;
    size_t prompts, rows;
    double max_ratio;    // largest |truth - truth|, in the frozen reference's floors
    size_t ids_differ;   // greedy ids that differ where the margin is wide
    char what[200];      // the first disagreement
    char packages[200];  // "transformers 5.24.0, now 5.25.1"; "" when they are the same
};

// LAT_FORMAT, LAT_NOT_FOUND: one of the files is no reference, or they are of other prompts.
LAT_NODISCARD enum lat_status lat_parity_live_compare(struct lat_parity_live *out, const char *frozen, const char *live,
                                                      double margin_floors, struct lat_error *error);

#endif
