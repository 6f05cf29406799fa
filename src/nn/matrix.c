// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "nn/matrix.h"

#include "core/error.h"

bool lat_matrix_dtype_ok(enum lat_dtype dtype)
{
    return dtype == LAT_DTYPE_F32 || dtype == LAT_DTYPE_F16 || dtype == LAT_DTYPE_BF16;
}

void lat_matrix_multiply(const struct lat_kernels *kernels, const struct lat_matrix *matrix, size_t row_begin,
                         size_t row_end, const float *x, size_t x_stride, size_t tokens, float *y, size_t y_stride,
                         bool add)
{
    LAT_BUG_IF(!lat_matrix_dtype_ok(matrix->dtype) || row_end > matrix->rows);
    lat_matmul_fn *multiply = matrix->dtype == LAT_DTYPE_F32    ? kernels->matmul_f32
                            : matrix->dtype == LAT_DTYPE_BF16 ? kernels->matmul_bf16
                                                              : kernels->matmul_f16;
    multiply(matrix->data, matrix->cols, row_begin, row_end, x, x_stride, tokens, y, y_stride, add);
}

void lat_matrix_row(const struct lat_matrix *matrix, size_t row, float *out)
{
    for (size_t i = 0; i < matrix->cols; i++)
        out[i] = lat_dtype_load(matrix->dtype, matrix->data, row * matrix->cols + i);
}
