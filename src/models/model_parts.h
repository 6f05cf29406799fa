// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Inside of the public handle struct lat_model: what sessions need.
#ifndef LAT_MODELS_MODEL_PARTS_H
#define LAT_MODELS_MODEL_PARTS_H

#include "kernels/kernels.h"
#include "lattice/model.h"
#include "models/qwen35_weights.h"

struct lat_model {
    const struct lat_kernels *kernels;
    struct lat_qwen35_config config;
    struct lat_qwen35_weights weights;
    struct lat_st_folder *folder;
    struct lat_model_info info;
    char *path;
};

#endif
