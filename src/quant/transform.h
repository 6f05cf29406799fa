// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// QuaRot's offline rotation of the residual stream of a Qwen3.5 model (shared form of Ashkboos et al. 2024, section 3.1):
// h' = R h. What reads the stream, W -> W diag(1 + w) R^T with the norm's weight w folded in, so that norms become 0 (the
// family stores w and means 1 + w); what writes it, W -> R W; the embedding E -> E R^T. Done in double precision.
#ifndef LAT_QUANT_TRANSFORM_H
#define LAT_QUANT_TRANSFORM_H

#include "quant/hadamard.h"
#include "tensor/safetensors.h"

// What a tensor is to the residual stream.
enum lat_role {
    LAT_ROLE_OTHER,      // stays as it is
    LAT_ROLE_READER,     // rows take a norm's output
    LAT_ROLE_WRITER,     // columns add up into the stream
    LAT_ROLE_EMBEDDING,  // rows are put into the stream
    LAT_ROLE_BIAS,       // a vector added to the stream
    LAT_ROLE_NORM,       // folded into its readers
    LAT_ROLE_PREDICTION, // of the multi-token-prediction head, which cannot follow a rotation
};

struct lat_tensor_role {
    enum lat_role role;
    bool linear;     // a matrix that quantisation is for
    bool experts;    // [experts][rows][cols]
    bool gate_up;    // experts whose rows are those of two matrices
    char norm[256];  // of a reader: the name of the norm's weight
};

// By the tensor's name, as Qwen3.5 repositories write it with any of their prefixes.
void lat_tensor_role_find(struct lat_tensor_role *out, const char *name);

// One matrix inside a tensor.
struct lat_source {
    const struct lat_st_tensor *tensor;
    size_t first; // element
    size_t rows, cols;
    enum lat_role role;
    const struct lat_st_tensor *norm;     // of a reader, NULL without rotation
    const struct lat_rotation *rotation;  // NULL: none
};

// A random vector and what the rotation makes of it: the proof that nothing is kept that would compute something else.
struct lat_probe {
    const double *x, *rotated; // [rotation->size]
};

// Row `row` as f32 into out [cols], transformed when the role works on rows; scratch: 2*cols doubles. LAT_NOT_FINITE with
// tensor and element; LAT_FAILED when the transformed row gives with R x another number than the row gave with x, further
// off than rounding to f32 explains.
LAT_NODISCARD enum lat_status lat_source_row(const struct lat_source *source, size_t row, const struct lat_probe *probe,
                                             float *out, double *scratch, struct lat_error *error);
// Columns [begin, end) of a writer, transformed and checked in the same way, into out [rows][cols]; scratch: 2*rows doubles.
LAT_NODISCARD enum lat_status lat_source_columns(const struct lat_source *source, size_t begin, size_t end,
                                                 const struct lat_probe *probe, float *out, double *scratch,
                                                 struct lat_error *error);

#endif
