// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What traces of an engine say about each other, without a reference's numbers: the same run again or by another path
// must give the same bits (P3, P7), a faster number type must stay near (P5), and each id that was emitted must be the
// best by the engine's own logits (P1); and, with the reference's ids forced, P6.
#ifndef LAT_GATE_PARITY_TRACE_H
#define LAT_GATE_PARITY_TRACE_H

#include "gate/parity_compare.h"
#include "tensor/safetensors.h"

struct lat_parity_difference {
    bool same;
    size_t tensors;  // compared
    char where[96];  // of the first difference: "p2.layers.3, position 7"
    char point[48];  // "layers.3"
};

// Every tensor of `base` must be in `other` with the same bytes. The first one that is not, in
// the order of the base's file, which is the order of computation. LAT_FORMAT: `other` lacks one.
LAT_NODISCARD enum lat_status lat_parity_trace_same(struct lat_parity_difference *out, const struct lat_st_file *base,
                                                    const struct lat_st_file *other, struct lat_error *error);

struct lat_parity_nearness {
    size_t positions, top1_same;
    double mean_kl; // KL(base || other), nats
};
LAT_NODISCARD enum lat_status lat_parity_trace_near(struct lat_parity_nearness *out, const struct lat_st_file *base,
                                                    const struct lat_st_file *other, struct lat_error *error);

// `forced` is a trace of each prompt with the reference's greedy ids (but the last) behind it.
struct lat_parity_closure {
    size_t steps;       // positions looked at
    size_t leaks;       // P1: an emitted id is not the best of the engine's own logits
    size_t faults;      // P6: with the reference's ids before it, the engine's best is another, and the margin is not within reach
    size_t ties;        // P6: the same within the margin
    char leak[120], fault[120]; // where the first of each is
};
// `compared`: the prompts' floors. A margin within `margin_floors` of them excuses a difference from the reference.
LAT_NODISCARD enum lat_status lat_parity_closure_judge(struct lat_parity_closure *out, const struct lat_st_file *reference,
                                                       const struct lat_st_file *base, const struct lat_st_file *forced,
                                                       const struct lat_parity_result *compared, double margin_floors,
                                                       struct lat_error *error);

#endif
