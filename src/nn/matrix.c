// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "nn/matrix.h"

#include "core/error.h"

bool lat_matrix_dtype_ok(enum lat_dtype dtype)
{
    return dtype == LAT_DTYPE_F32 || dtype == LAT_DTYPE_F16 || dtype == LAT_DTYPE_BF16;
}

// Sixteen rows at a time are widened, then multiplied as f32: the bits of a product with the dequantised matrix.
static void multiply_widened(const struct lat_kernels *kernels, const struct lat_panels *w, size_t panel_begin,
                             size_t panel_end, const struct lat_operand *x, size_t tokens, float *y, size_t y_stride,
                             bool add)
{
    for (size_t p = panel_begin; p < panel_end; p++) {
        size_t first = p * LAT_PANEL_ROWS, rows = w->rows - first < LAT_PANEL_ROWS ? w->rows - first : LAT_PANEL_ROWS;
        lat_panels_widen(w, p, x->scratch);
        kernels->matmul_f32(x->scratch, w->cols, 0, rows, x->x, x->x_stride, tokens, y + first, y_stride, add);
    }
}

static void multiply_quantized(const struct lat_kernels *kernels, const struct lat_panels *w, size_t row_begin,
                               size_t row_end, const struct lat_operand *x, size_t tokens, float *y, size_t y_stride,
                               bool add)
{
    size_t begin = row_begin / LAT_PANEL_ROWS, end = (row_end + LAT_PANEL_ROWS - 1) / LAT_PANEL_ROWS;
    LAT_BUG_IF(row_begin % LAT_PANEL_ROWS != 0 || (row_end % LAT_PANEL_ROWS != 0 && row_end != w->rows));
    if (row_begin == row_end)
        return;
    if (x->quantized)
        kernels->quant_matmul(w, begin, end, x->quantized, tokens, y, y_stride, add);
    else
        multiply_widened(kernels, w, begin, end, x, tokens, y, y_stride, add);
}

void lat_matrix_multiply(const struct lat_kernels *kernels, const struct lat_matrix *matrix, size_t row_begin,
                         size_t row_end, const struct lat_operand *x, size_t tokens, float *y, size_t y_stride, bool add)
{
    LAT_BUG_IF(row_end > matrix->rows);
    if (lat_matrix_is_quantized(matrix)) {
        multiply_quantized(kernels, &matrix->panels, row_begin, row_end, x, tokens, y, y_stride, add);
        return;
    }
    LAT_BUG_IF(!lat_matrix_dtype_ok(matrix->dtype));
    if (x->narrow && matrix->dtype == LAT_DTYPE_BF16) {
        x->bf16_dot(matrix->data, matrix->cols, row_begin, row_end, x->narrow, matrix->cols, tokens, y, y_stride, add);
        return;
    }
    lat_matmul_fn *multiply = matrix->dtype == LAT_DTYPE_F32    ? kernels->matmul_f32
                            : matrix->dtype == LAT_DTYPE_BF16 ? kernels->matmul_bf16
                                                              : kernels->matmul_f16;
    multiply(matrix->data, matrix->cols, row_begin, row_end, x->x, x->x_stride, tokens, y, y_stride, add);
}

void lat_matrix_row(const struct lat_matrix *matrix, size_t row, float *out)
{
    LAT_BUG_IF(lat_matrix_is_quantized(matrix));
    for (size_t i = 0; i < matrix->cols; i++)
        out[i] = lat_dtype_load(matrix->dtype, matrix->data, row * matrix->cols + i);
}
