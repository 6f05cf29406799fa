// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/parity_points.h"

#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/json.h"
#include "core/mem.h"
#include "gate/parity_tensors.h"

enum { POINTS_MAX = 100000 };

struct pair {
    struct lat_st_file *reference, *trace;
    struct lat_json points, floors;
    const struct lat_st_tensor *positions;
    size_t tokens;
    char prompt[32]; // of the trace
    bool trace_at_fault;
    struct lat_error *error;
};

static enum lat_status parse_metadata(const struct pair *p, const char *key, struct lat_json *doc)
{
    const char *text = lat_st_metadata(p->reference, key);
    return text ? lat_json_parse(doc, text, strlen(text), key, p->error)
                : lat_error_set(p->error, LAT_NOT_FOUND, "the operator reference has no %s in its metadata", key);
}

// The trace's prompt with the reference's ids.
static enum lat_status find_prompt(struct pair *p)
{
    const struct lat_st_tensor *want = lat_parity_find(p->reference, "p0", "input_ids");
    p->positions = lat_parity_find(p->reference, "p0", "positions");
    if (!want || want->dtype != LAT_DTYPE_I64 || want->rank != 1 || want->elements == 0 || !p->positions
        || p->positions->dtype != LAT_DTYPE_I64 || p->positions->rank != 1 || p->positions->elements == 0)
        return lat_error_set(p->error, LAT_FORMAT, "the operator reference has no input_ids or positions");
    p->tokens = want->elements;
    for (size_t i = 0; i < p->positions->elements; i++)
        if (lat_parity_i64(p->positions, i) < 0 || lat_parity_i64(p->positions, i) >= (int64_t)p->tokens)
            return lat_error_set(p->error, LAT_FORMAT, "the operator reference's positions lie outside of the prompt");
    size_t count = lat_parity_prompts(p->trace);
    for (size_t k = 0; k < count; k++) {
        snprintf(p->prompt, sizeof p->prompt, "p%zu", k);
        const struct lat_st_tensor *got = lat_parity_find(p->trace, p->prompt, "input_ids");
        if (got->dtype == LAT_DTYPE_I64 && got->bytes == want->bytes && memcmp(got->data, want->data, got->bytes) == 0)
            return LAT_OK;
    }
    p->trace_at_fault = true;
    return lat_error_set(p->error, LAT_NOT_FOUND, "the trace has no prompt with the operator reference's ids");
}

static enum lat_status open_pair(struct pair *p, const char *operators, const char *trace)
{
    LAT_TRY(lat_st_open(&p->reference, operators, p->error));
    const char *format = lat_st_metadata(p->reference, "format");
    if (!format || strcmp(format, "lattice-operators-1") != 0)
        return lat_error_set(p->error, LAT_FORMAT, "%s: not a reference of operators (metadata format)", operators);
    LAT_TRY(parse_metadata(p, "points", &p->points));
    LAT_TRY(parse_metadata(p, "point_floor", &p->floors));
    if (p->points.root->kind != LAT_JSON_ARRAY || p->points.root->count == 0 || p->points.root->count > POINTS_MAX)
        return lat_error_set(p->error, LAT_FORMAT, "the operator reference's points are no list");
    p->trace_at_fault = true;
    LAT_TRY(lat_st_open(&p->trace, trace, p->error));
    p->trace_at_fault = false;
    return find_prompt(p);
}

static void close_pair(struct pair *p)
{
    lat_json_release(&p->points);
    lat_json_release(&p->floors);
    lat_st_close(p->reference);
    lat_st_close(p->trace);
}

// A point's tensors; *got NULL when the trace does not have it.
static enum lat_status open_point(struct pair *p, const struct lat_json_node *node, struct lat_parity_point *out,
                                  const struct lat_st_tensor **truth, const struct lat_st_tensor **got)
{
    char name[80];
    if (node->kind != LAT_JSON_STRING || node->count == 0 || node->count >= sizeof out->name)
        return lat_error_set(p->error, LAT_FORMAT, "the operator reference names a point that is no short text");
    snprintf(out->name, sizeof out->name, "%.*s", (int)node->count, node->u.string);
    snprintf(name, sizeof name, "truth.%s", out->name);
    *truth = lat_parity_find(p->reference, "p0", name);
    const struct lat_json_node *floor = lat_json_get(lat_json_get(p->floors.root, "p0"), out->name);
    if (!*truth || (*truth)->dtype != LAT_DTYPE_F32 || (*truth)->rank != 2 || (*truth)->shape[0] != p->positions->elements
        || (*truth)->elements == 0 || !lat_json_to_double(lat_json_get(floor, "rms"), &out->floor))
        return lat_error_set(p->error, LAT_FORMAT, "the operator reference's %s is missing, of the wrong shape or without a floor",
                             out->name);
    out->rows = (*truth)->shape[0];
    out->width = (*truth)->shape[1];
    *got = lat_parity_find(p->trace, p->prompt, out->name);
    if (*got && !lat_parity_find_shaped(p->trace, p->prompt, out->name, LAT_DTYPE_F32, p->tokens, out->width)) {
        p->trace_at_fault = true;
        return lat_error_set(p->error, LAT_FORMAT, "the trace's %s is not F32 [%zu, %zu]", out->name, p->tokens, out->width);
    }
    return LAT_OK;
}

static float at(const struct pair *p, const struct lat_st_tensor *got, size_t row, size_t column)
{
    return lat_parity_f32(got, (size_t)lat_parity_i64(p->positions, row) * got->shape[1] + column);
}

// Never below the spacing of f32 at values of this size.
static void set_floor(struct lat_parity_point *out, const struct lat_st_tensor *truth)
{
    double size = 0;
    for (size_t i = 0; i < truth->elements; i++)
        size += (double)lat_parity_f32(truth, i) * lat_parity_f32(truth, i);
    out->floor = fmax(fmax(out->floor, sqrt(size / (double)truth->elements) * 0x1p-24), 1e-30);
}

static void measure(const struct pair *p, struct lat_parity_point *out, const struct lat_st_tensor *truth, const struct lat_st_tensor *got)
{
    double squares = 0, most = -1;
    set_floor(out, truth);
    for (size_t r = 0; r < out->rows; r++)
        for (size_t c = 0; c < out->width; c++) {
            double d = fabs((double)at(p, got, r, c) - lat_parity_f32(truth, r * out->width + c));
            squares += d * d;
            if (d > most || !isfinite(d)) {
                most = isfinite(d) ? d : INFINITY;
                out->position = (size_t)lat_parity_i64(p->positions, r);
                out->channel = c;
            }
        }
    out->seen = true;
    out->rms = sqrt(squares / (double)truth->elements);
    out->ratio = isfinite(out->rms) ? out->rms / out->floor : INFINITY;
}

static enum lat_status compare_points(struct pair *p, struct lat_parity_points *out, double layer_ratio)
{
    out->items = lat_mem_new(p->points.root->count, sizeof *out->items);
    if (!out->items)
        return lat_error_memory(p->error, "the points");
    for (const struct lat_json_node *n = p->points.root->u.child; n; n = n->next) {
        struct lat_parity_point *point = &out->items[out->count++];
        const struct lat_st_tensor *truth = NULL, *got = NULL;
        LAT_TRY(open_point(p, n, point, &truth, &got));
        if (!got)
            continue;
        measure(p, point, truth, got);
        out->seen++;
        if (!out->first && point->ratio > layer_ratio)
            out->first = point;
    }
    if (out->seen)
        return LAT_OK;
    p->trace_at_fault = true;
    return lat_error_set(p->error, LAT_NOT_FOUND, "the trace has none of the operator reference's points; write it with layers");
}

enum lat_status lat_parity_points_compare(struct lat_parity_points *out, const char *operators, const char *trace, double layer_ratio,
                                          bool *trace_at_fault, struct lat_error *error)
{
    struct pair p = { .error = error };
    *out = (struct lat_parity_points){ 0 };
    enum lat_status status = open_pair(&p, operators, trace);
    if (status == LAT_OK)
        status = compare_points(&p, out, layer_ratio);
    close_pair(&p);
    if (trace_at_fault)
        *trace_at_fault = p.trace_at_fault;
    if (status != LAT_OK)
        lat_parity_points_release(out);
    return status;
}

void lat_parity_points_release(struct lat_parity_points *points)
{
    lat_mem_free(points->items);
    *points = (struct lat_parity_points){ 0 };
}

// Power: the trace's own values are perturbed, and the sum of squares that the check looks at is computed anew.

struct perturbed {
    const struct pair *p;
    const struct lat_st_tensor *truth, *got;
    const struct lat_parity_point *point;
    double squares; // without a perturbation
    double limit;   // of the sum of squares
};

static double error_at(const struct perturbed *s, size_t r, size_t c)
{
    return (double)at(s->p, s->got, r, c) - lat_parity_f32(s->truth, r * s->point->width + c);
}

// Is scaling column c by 1 + e caught?
static bool scale_is_caught(const struct perturbed *s, size_t c, double e)
{
    double squares = s->squares;
    for (size_t r = 0; r < s->point->rows; r++) {
        double d = error_at(s, r, c), more = d + e * at(s->p, s->got, r, c);
        squares += more * more - d * d;
    }
    return squares > s->limit;
}

static double smallest_caught(const struct perturbed *s, size_t c)
{
    double caught = 0;
    for (int k = 0; k < 40 && scale_is_caught(s, c, ldexp(1, -k)); k++)
        caught = ldexp(1, -k);
    return caught;
}

struct energy {
    double value;
    size_t column;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct energy *)a)->value, y = ((const struct energy *)b)->value;
    return (x > y) - (x < y);
}

// What stands at (row, column) after one of the coarse perturbations.
enum coarse { SHIFTED, HALVES, OLDEST };
static double perturbed_at(const struct perturbed *s, enum coarse how, size_t r, size_t c)
{
    size_t position = (size_t)lat_parity_i64(s->p->positions, r), width = s->point->width;
    if (how == SHIFTED)
        return position == 0 ? 0 : lat_parity_f32(s->got, (position - 1) * width + c);
    if (how == HALVES)
        return at(s->p, s->got, r, c < width / 2 ? c + (width + 1) / 2 : c >= (width + 1) / 2 ? c - (width + 1) / 2 : c);
    return r == 0 ? 0 : at(s->p, s->got, r, c);
}

static bool coarse_is_caught(const struct perturbed *s, enum coarse how)
{
    double squares = 0;
    for (size_t r = 0; r < s->point->rows; r++)
        for (size_t c = 0; c < s->point->width; c++) {
            double d = perturbed_at(s, how, r, c) - lat_parity_f32(s->truth, r * s->point->width + c);
            squares += d * d;
        }
    return squares > s->limit;
}

static enum lat_status measure_power(const struct perturbed *s, struct lat_parity_power *out, struct lat_error *error)
{
    size_t width = s->point->width;
    struct energy *columns = lat_mem_new(width, sizeof *columns);
    if (!columns)
        return lat_error_memory(error, "the columns of a point");
    for (size_t c = 0; c < width; c++) {
        columns[c].column = c;
        for (size_t r = 0; r < s->point->rows; r++)
            columns[c].value += (double)at(s->p, s->got, r, c) * at(s->p, s->got, r, c);
    }
    qsort(columns, width, sizeof *columns, by_value);
    memcpy(out->name, s->point->name, sizeof out->name);
    out->weak_channel = smallest_caught(s, columns[0].column);
    out->median_channel = smallest_caught(s, columns[width / 2].column);
    out->shifted = coarse_is_caught(s, SHIFTED);
    out->halves = coarse_is_caught(s, HALVES);
    out->oldest = coarse_is_caught(s, OLDEST);
    lat_mem_free(columns);
    return LAT_OK;
}

static enum lat_status measure_powers(struct pair *p, struct lat_parity_powers *out, double layer_ratio)
{
    out->items = lat_mem_new(p->points.root->count, sizeof *out->items);
    if (!out->items)
        return lat_error_memory(p->error, "the points");
    for (const struct lat_json_node *n = p->points.root->u.child; n; n = n->next) {
        struct lat_parity_point point = { 0 };
        struct perturbed s = { .p = p, .point = &point };
        LAT_TRY(open_point(p, n, &point, &s.truth, &s.got));
        if (!s.got)
            continue;
        measure(p, &point, s.truth, s.got);
        if (!(point.ratio <= layer_ratio))
            return lat_error_set(p->error, LAT_FORMAT, "%s is wrong already (%.3g floors): power is measured on a trace that passes",
                                 point.name, point.ratio);
        s.squares = point.rms * point.rms * (double)s.truth->elements;
        s.limit = layer_ratio * layer_ratio * point.floor * point.floor * (double)s.truth->elements;
        LAT_TRY(measure_power(&s, &out->items[out->count++], p->error));
    }
    return out->count ? LAT_OK : lat_error_set(p->error, LAT_NOT_FOUND, "the trace has none of the reference's points");
}

enum lat_status lat_parity_power_measure(struct lat_parity_powers *out, const char *operators, const char *trace, double layer_ratio,
                                         struct lat_error *error)
{
    struct pair p = { .error = error };
    *out = (struct lat_parity_powers){ 0 };
    enum lat_status status = open_pair(&p, operators, trace);
    if (status == LAT_OK)
        status = measure_powers(&p, out, layer_ratio);
    close_pair(&p);
    if (status != LAT_OK)
        lat_parity_powers_release(out);
    return status;
}

void lat_parity_powers_release(struct lat_parity_powers *powers)
{
    lat_mem_free(powers->items);
    *powers = (struct lat_parity_powers){ 0 };
}
