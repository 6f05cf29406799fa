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

// Row-major [rows][cols] weights: a view of the mapped file (data), or quantised ones in the kernels' own layout
// (panels.data). Both are NULL when a model has no such matrix.
struct lat_matrix {
    const unsigned char *data;
    enum lat_dtype dtype; // F32, F16 or BF16
    size_t rows;
    size_t cols;
    struct lat_panels panels;
};

// What a product takes: activations x[t*x_stride + i], and for quantised weights either the same quantised, or (NULL)
// memory of this thread for 16 widened rows: then the weights are widened to f32 and the product is that of f32.
struct lat_operand {
    const float *x;
    size_t x_stride;
    const struct lat_quant_rows *quantized;
    float *scratch;
    const uint16_t *narrow;         // x as bf16 [tokens][cols], for `bf16_dot`; NULL: not wanted
    lat_bf16_matmul_fn *bf16_dot;
};

// True for the types that lat_matrix_multiply takes.
bool lat_matrix_dtype_ok(enum lat_dtype dtype);

static inline bool lat_matrix_is_quantized(const struct lat_matrix *matrix) { return matrix->panels.data != NULL; }

// y[t*y_stride + r] (+)= dot(row r, x[t]) for rows [row_begin, row_end): the part of the product that a thread owns.
// Both are multiples of 16, but for the end of the matrix.
void lat_matrix_multiply(const struct lat_kernels *kernels, const struct lat_matrix *matrix, size_t row_begin,
                         size_t row_end, const struct lat_operand *x, size_t tokens, float *y, size_t y_stride, bool add);

// Row `row` as f32 [cols]; not of a quantised matrix.
void lat_matrix_row(const struct lat_matrix *matrix, size_t row, float *out);

#endif
