// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// P4: the first point inside the model, layer by layer and operator by operator, whose output is wrong; and the power of
// that check: the smallest perturbation that it would catch.
#ifndef LAT_GATE_PARITY_POINTS_H
#define LAT_GATE_PARITY_POINTS_H

#include "core/buf.h"
#include "lattice/status.h"

struct lat_parity_point {
    char name[48];     // "layers.3.q_proj"
    bool seen;         // the trace has it
    size_t rows, width;
    double rms, floor, ratio; // distance to the truth, Hugging Face's, and the one in the other
    size_t position;   // of the row that is farthest off
    size_t channel;    // and in it the column
};

struct lat_parity_points {
    struct lat_parity_point *items; // in the order of computation
    size_t count, seen;
    const struct lat_parity_point *first; // first one above the limit, or NULL
};

// `operators`: a file as tools/reference/operators.py writes it. The trace's prompt is found by its ids. LAT_FORMAT,
// LAT_NOT_FOUND: cannot be judged; `*trace_at_fault` (may be NULL) says whether for the trace.
LAT_NODISCARD enum lat_status lat_parity_points_compare(struct lat_parity_points *out, const char *operators, const char *trace,
                                                        double layer_ratio, bool *trace_at_fault, struct lat_error *error);
void lat_parity_points_release(struct lat_parity_points *points);

// A perturbation of the trace's values at one point, and whether the check at this point sees it.
struct lat_parity_power {
    char name[48];
    double median_channel; // smallest 2^-k by which scaling a channel of usual size is caught; 0: not even doubling it
    double weak_channel;   // the same of the channel with the least energy
    bool shifted;   // every row in the place of the one before it (position + 1)
    bool halves;    // the two halves of each row exchanged (heads in each other's place)
    bool oldest;    // the first row forgotten: zeros in its place
};
struct lat_parity_powers {
    struct lat_parity_power *items;
    size_t count;
};
LAT_NODISCARD enum lat_status lat_parity_power_measure(struct lat_parity_powers *out, const char *operators, const char *trace,
                                                       double layer_ratio, struct lat_error *error);
void lat_parity_powers_release(struct lat_parity_powers *powers);

#endif
