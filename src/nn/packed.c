// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "nn/packed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"

enum { FORGET_ROWS = 1024 };

struct packed {
    const char *base;
    size_t rows, cols, words, groups;
    int bits;
    const struct lat_st_tensor *codes, *scales, *zeros; // zeros: NULL when symmetric
    struct lat_error *error;
};

static const struct lat_st_tensor *find(const struct lat_st_folder *folder, const char *base, const char *tail)
{
    char name[320];
    snprintf(name, sizeof name, "%s.weight_%s", base, tail);
    return lat_st_folder_find(folder, name);
}

bool lat_packed_exists(const struct lat_st_folder *folder, const char *base)
{
    return find(folder, base, "packed") != NULL;
}

static enum lat_status refuse(const struct packed *p, const char *tail, const char *what)
{
    return lat_error_set(p->error, LAT_FORMAT, "tensor %s.weight_%s %s", p->base, tail, what);
}

static enum lat_status check_codes(struct packed *p)
{
    const struct lat_st_tensor *t = p->codes;
    if (!t)
        return lat_error_set(p->error, LAT_NOT_FOUND, "tensor %s.weight_packed is missing", p->base);
    if (t->dtype != LAT_DTYPE_I32 || t->rank != 2 || t->shape[0] != p->rows)
        return refuse(p, "packed", "is not I32 with a row for each output");
    p->words = t->shape[1];
    p->bits = p->words == (p->cols + 7) / 8 ? 4 : p->words == (p->cols + 3) / 4 ? 8 : 0;
    if (!p->bits || (p->cols + 7) / 8 == (p->cols + 3) / 4)
        return lat_error_set(p->error, LAT_UNSUPPORTED, "tensor %s.weight_packed has %zu words for %zu columns, neither 4 nor 8 bits",
                             p->base, p->words, p->cols);
    return LAT_OK;
}

static enum lat_status check_scales(struct packed *p)
{
    const struct lat_st_tensor *t = p->scales;
    if (!t)
        return lat_error_set(p->error, LAT_NOT_FOUND, "tensor %s.weight_scale is missing", p->base);
    bool shape = (t->rank == 2 && t->shape[0] == p->rows && t->shape[1] > 0) || (t->rank == 1 && t->shape[0] == p->rows);
    if (!shape || !lat_matrix_dtype_ok(t->dtype))
        return refuse(p, "scale", "is not F32, F16 or BF16 with a row of groups for each output");
    p->groups = t->rank == 2 ? t->shape[1] : 1;
    if (p->groups > p->cols || p->cols % p->groups != 0)
        return refuse(p, "scale", "has a number of groups that does not divide the columns");
    for (size_t i = 0; i < t->elements; i++)
        if (!isfinite(lat_dtype_load(t->dtype, t->data, i)))
            return lat_error_set(p->error, LAT_NOT_FINITE, "tensor %s.weight_scale: element %zu is not finite", p->base, i);
    return LAT_OK;
}

static enum lat_status check_shape(const struct packed *p, const struct lat_st_tensor *t)
{
    int64_t shape[2];
    if (!t)
        return LAT_OK; // newer writers leave it out
    if (t->dtype != LAT_DTYPE_I64 || t->elements != 2)
        return refuse(p, "shape", "is not two I64 numbers");
    memcpy(shape, t->data, sizeof shape);
    if (shape[0] != (int64_t)p->rows || shape[1] != (int64_t)p->cols)
        return lat_error_set(p->error, LAT_FORMAT, "tensor %s.weight_shape says [%lld, %lld], the config asks for [%zu, %zu]",
                             p->base, (long long)shape[0], (long long)shape[1], p->rows, p->cols);
    return LAT_OK;
}

static enum lat_status check_zeros(const struct packed *p)
{
    const struct lat_st_tensor *t = p->zeros;
    size_t per_word = 32 / (size_t)p->bits;
    if (!t)
        return LAT_OK;
    if (t->dtype != LAT_DTYPE_I32 || t->rank != 2 || t->shape[0] != (p->rows + per_word - 1) / per_word
        || t->shape[1] != p->groups)
        return refuse(p, "zero_point", "is not I32, packed along the outputs, with a column for each group");
    return LAT_OK;
}

// Code number `i` of packed words, minus its offset.
static int code_at(const unsigned char *words, size_t i, int bits)
{
    size_t per_word = 32 / (size_t)bits;
    uint32_t word;
    memcpy(&word, words + i / per_word * 4, sizeof word);
    return (int)(word >> (i % per_word * (size_t)bits) & ((1u << bits) - 1)) - (1 << (bits - 1));
}

static int zero_at(const struct packed *p, size_t row, size_t group)
{
    size_t per_word = 32 / (size_t)p->bits;
    uint32_t word;
    memcpy(&word, p->zeros->data + (row / per_word * p->groups + group) * 4, sizeof word);
    return (int)(word >> (row % per_word * (size_t)p->bits) & ((1u << p->bits) - 1)) - (1 << (p->bits - 1));
}

static float scale_at(const struct packed *p, size_t row, size_t group)
{
    return lat_dtype_load(p->scales->dtype, p->scales->data, row * p->groups + group);
}

// What panels cannot hold, as f32: (q - zero) * scale.
static enum lat_status load_wide(const struct packed *p, struct lat_arena *arena, struct lat_matrix *out)
{
    float *values = lat_arena_new_aligned(arena, p->rows, p->cols * sizeof *values);
    if (!values)
        return lat_error_memory(p->error, p->base);
    size_t group = p->cols / p->groups;
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->cols; c++) {
            int q = code_at(p->codes->data + r * p->words * 4, c, p->bits);
            int zero = p->zeros ? zero_at(p, r, c / group) : 0;
            values[r * p->cols + c] = (float)(q - zero) * scale_at(p, r, c / group);
        }
    *out = (struct lat_matrix){ .data = (const unsigned char *)values, .dtype = LAT_DTYPE_F32, .rows = p->rows, .cols = p->cols };
    return LAT_OK;
}

static void fill_row(const struct packed *p, const struct lat_panels *w, unsigned char *data, size_t row)
{
    const unsigned char *words = p->codes->data + row * p->words * 4;
    for (size_t g = 0; g < p->groups; g++)
        lat_panels_put_scale(w, data, row, g, scale_at(p, row, g));
    if (!p->zeros) {
        lat_panels_put_words(w, data, row, words);
        return;
    }
    for (size_t c = 0; c < p->cols; c++)
        lat_panels_put_code(w, data, row, c, code_at(words, c, p->bits) - zero_at(p, row, c / (p->cols / p->groups)));
}

static enum lat_status load_panels(const struct packed *p, struct lat_arena *arena, struct lat_matrix *out)
{
    struct lat_panels w = { .rows = p->rows, .cols = p->cols, .bits = p->zeros ? 8 : p->bits };
    w.scale_bytes = p->scales->dtype == LAT_DTYPE_BF16 ? 2 : 4;
    w.group_blocks = p->groups == 1 ? p->cols / LAT_QUANT_BLOCK + 1 : p->cols / p->groups / LAT_QUANT_BLOCK;
    size_t bytes = 0;
    unsigned char *data = lat_panels_plan(&w, &bytes) ? lat_arena_new_aligned(arena, bytes, 1) : NULL;
    if (!data)
        return lat_error_memory(p->error, p->base);
    if (p->rows % LAT_PANEL_ROWS != 0 || p->cols % LAT_QUANT_BLOCK != 0)
        lat_panels_clear(&w, data, bytes);
    for (size_t r = 0; r < p->rows; r++) {
        fill_row(p, &w, data, r);
        if (r % FORGET_ROWS == FORGET_ROWS - 1) // so that a large matrix is not there twice
            lat_file_map_forget(p->codes->data + (r + 1 - FORGET_ROWS) * p->words * 4, FORGET_ROWS * p->words * 4);
    }
    w.data = data;
    *out = (struct lat_matrix){ .dtype = LAT_DTYPE_I32, .rows = p->rows, .cols = p->cols, .panels = w };
    return LAT_OK;
}

enum lat_status lat_packed_load(struct lat_matrix *out, const struct lat_st_folder *folder, const char *base, size_t rows,
                                size_t cols, struct lat_arena *arena, uint64_t *stored, struct lat_error *error)
{
    struct packed p = { .base = base, .rows = rows, .cols = cols, .error = error };
    p.codes = find(folder, base, "packed");
    p.scales = find(folder, base, "scale");
    p.zeros = find(folder, base, "zero_point");
    if (find(folder, base, "g_idx"))
        return lat_error_set(error, LAT_UNSUPPORTED, "tensor %s.weight_g_idx: activation ordering is not supported", base);
    LAT_TRY(check_codes(&p));
    LAT_TRY(check_shape(&p, find(folder, base, "shape")));
    LAT_TRY(check_scales(&p));
    LAT_TRY(check_zeros(&p));
    bool fits = (p.groups == 1 || cols / p.groups % LAT_QUANT_BLOCK == 0) && !(p.zeros && p.bits == 8);
    LAT_TRY((fits ? load_panels : load_wide)(&p, arena, out));
    *stored = p.codes->bytes + p.scales->bytes + (p.zeros ? p.zeros->bytes : 0);
    lat_file_map_forget(p.codes->data, p.codes->bytes);
    lat_file_map_forget(p.scales->data, p.scales->bytes);
    return LAT_OK;
}
