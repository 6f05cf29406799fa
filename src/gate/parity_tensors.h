// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Reading tensors of references and traces: what the files of the parity check share.
#ifndef LAT_GATE_PARITY_TENSORS_H
#define LAT_GATE_PARITY_TENSORS_H

#include <stdio.h>
#include <string.h>

#include "tensor/safetensors.h"

static inline float lat_parity_f32(const struct lat_st_tensor *t, size_t index) { return lat_dtype_load(LAT_DTYPE_F32, t->data, index); }

static inline int64_t lat_parity_i64(const struct lat_st_tensor *t, size_t index)
{
    int64_t value;
    memcpy(&value, t->data + 8 * index, sizeof value);
    return value;
}

// The tensor "<prompt>.<name>"; a file with one prompt may leave the prefix out.
static inline const struct lat_st_tensor *lat_parity_find(const struct lat_st_file *file, const char *prompt, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s.%s", prompt, name);
    const struct lat_st_tensor *t = lat_st_find(file, full);
    return t || strcmp(prompt, "p0") != 0 ? t : lat_st_find(file, name);
}

// The same, or NULL when it is not of this type and shape (cols 0: one dimension).
static inline const struct lat_st_tensor *lat_parity_find_shaped(const struct lat_st_file *file, const char *prompt, const char *name,
                                                                 enum lat_dtype dtype, size_t rows, size_t cols)
{
    const struct lat_st_tensor *t = lat_parity_find(file, prompt, name);
    bool fits = t && t->dtype == dtype && t->rank == (cols ? 2 : 1) && t->shape[0] == rows && (!cols || t->shape[1] == cols);
    return fits ? t : NULL;
}

// The largest of a row of F32, the lowest index among equals; `*margin` (may be NULL) to the second largest.
static inline size_t lat_parity_argmax(const struct lat_st_tensor *t, size_t row, double *margin)
{
    size_t width = t->shape[1], best = 0;
    double second = -1e300;
    for (size_t i = 1; i < width; i++) {
        double value = lat_parity_f32(t, row * width + i), most = lat_parity_f32(t, row * width + best);
        if (value > most) {
            second = most;
            best = i;
        } else if (value > second)
            second = value;
    }
    if (margin)
        *margin = lat_parity_f32(t, row * width + best) - second;
    return best;
}

// Prompts "p0.input_ids", "p1.input_ids", ... without a gap.
static inline size_t lat_parity_prompts(const struct lat_st_file *file)
{
    char name[32];
    for (size_t count = 0;; count++) {
        snprintf(name, sizeof name, "p%zu", count);
        if (!lat_parity_find(file, name, "input_ids"))
            return count;
    }
}

#endif
