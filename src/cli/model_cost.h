// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What a token costs at least, from the tensors of a folder: the figures that a measured speed is held against.
#ifndef LAT_CLI_MODEL_COST_H
#define LAT_CLI_MODEL_COST_H

#include <stdbool.h>

#include "lattice/model.h"

struct lat_model_cost {
    // Bytes of weights that a decode step reads: every tensor in use once; of an embedding that is not the head, a row;
    // of experts, those that a token takes. States and the KV cache come on top and are not counted.
    double bytes_per_token;
    // Operations of a prompt's token: two for each weight of a matrix that it goes through. Without the head, which is
    // for the last token only; attention, convolution and delta rule come on top and are not counted.
    double ops_per_token;
    bool integer; // most of these weights are packed integers
};

LAT_NODISCARD enum lat_status lat_model_cost_of(struct lat_model_cost *cost, const struct lat_model *model,
                                                struct lat_error *error);

#endif
