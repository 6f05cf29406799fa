// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A weight matrix in its stored type, and the two things that are done with it: product and row look-up.
#ifndef LAT_NN_MATRIX_H
#define LAT_NN_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/kernels.h"
#include "tensor/dtype.h"

// A view of row-major [rows][cols] weights; data belongs to the mapped file. data is NULL when a model has no such
// matrix.
struct lat_matrix {
    const unsigned char *data;
    enum lat_dtype dtype; // F32, F16 or BF16
    size_t rows;
    size_t cols;
};

// True for the types that lat_matrix_multiply takes.
bool lat_matrix_dtype_ok(enum lat_dtype dtype);

// y[t*y_stride + r] (+)= dot(row r, x[t]) for rows [row_begin, row_end): the part of the product that a thread owns.
void lat_matrix_multiply(const struct lat_kernels *kernels, const struct lat_matrix *matrix, size_t row_begin,
                         size_t row_end, const float *x, size_t x_stride, size_t tokens, float *y, size_t y_stride,
                         bool add);

// Row `row` as f32 [cols].
void lat_matrix_row(const struct lat_matrix *matrix, size_t row, float *out);

#endif
