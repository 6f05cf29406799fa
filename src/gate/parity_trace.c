// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/parity_trace.h"

#include <math.h>

#include "core/error.h"
#include "gate/parity_tensors.h"

static void note_difference(struct lat_parity_difference *out, const struct lat_st_tensor *a, const struct lat_st_tensor *b)
{
    size_t row = 0, bytes = a->rank == 2 && a->shape[0] ? a->bytes / a->shape[0] : a->bytes;
    while (a->rank == 2 && row + 1 < a->shape[0] && memcmp(a->data + row * bytes, b->data + row * bytes, bytes) == 0)
        row++;
    const char *dot = strchr(a->name, '.');
    bool prefixed = a->name[0] == 'p' && dot && a->name[1] >= '0' && a->name[1] <= '9';
    out->same = false;
    snprintf(out->where, sizeof out->where, "%.60s, position %zu", a->name, row);
    snprintf(out->point, sizeof out->point, "%.40s", prefixed ? dot + 1 : a->name);
}

enum lat_status lat_parity_trace_same(struct lat_parity_difference *out, const struct lat_st_file *base, const struct lat_st_file *other,
                                      struct lat_error *error)
{
    *out = (struct lat_parity_difference){ .same = true };
    for (size_t i = 0; i < lat_st_count(base); i++) {
        const struct lat_st_tensor *a = lat_st_at(base, i), *b = lat_st_find(other, a->name);
        if (!b)
            return lat_error_set(error, LAT_NOT_FOUND, "the other run has no %s", a->name);
        if (a->dtype != b->dtype || a->rank != b->rank || a->bytes != b->bytes || memcmp(a->shape, b->shape, sizeof a->shape) != 0)
            return lat_error_set(error, LAT_FORMAT, "the other run's %s is of another type or shape", a->name);
        if (out->same && memcmp(a->data, b->data, a->bytes) != 0)
            note_difference(out, a, b);
        out->tensors++;
    }
    return out->tensors ? LAT_OK : lat_error_set(error, LAT_FORMAT, "the first run's trace is empty");
}

static double row_lse(const struct lat_st_tensor *t, size_t row)
{
    size_t width = t->shape[1];
    double most = lat_parity_f32(t, row * width + lat_parity_argmax(t, row, NULL)), sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += exp(lat_parity_f32(t, row * width + i) - most);
    return most + log(sum);
}

static enum lat_status need_logits(const struct lat_st_file *file, const char *prompt, size_t rows, const struct lat_st_tensor **out,
                                   struct lat_error *error)
{
    *out = lat_parity_find(file, prompt, "logits");
    if (!*out || (*out)->dtype != LAT_DTYPE_F32 || (*out)->rank != 2 || (*out)->shape[0] != rows || (*out)->shape[1] < 2)
        return lat_error_set(error, LAT_FORMAT, "%s: no logits of %zu positions", prompt, rows);
    for (size_t i = 0; i < (*out)->elements; i++)
        if (!isfinite(lat_parity_f32(*out, i)))
            return lat_error_set(error, LAT_NOT_FINITE, "%s: a logit is not finite at element %zu", prompt, i);
    return LAT_OK;
}

enum lat_status lat_parity_trace_near(struct lat_parity_nearness *out, const struct lat_st_file *base, const struct lat_st_file *other,
                                      struct lat_error *error)
{
    size_t prompts = lat_parity_prompts(base);
    *out = (struct lat_parity_nearness){ 0 };
    for (size_t k = 0; k < prompts; k++) {
        const struct lat_st_tensor *a, *b;
        char name[32];
        snprintf(name, sizeof name, "p%zu", k);
        size_t rows = lat_parity_find(base, name, "input_ids")->elements;
        LAT_TRY(need_logits(base, name, rows, &a, error));
        LAT_TRY(need_logits(other, name, rows, &b, error));
        if (a->shape[1] != b->shape[1])
            return lat_error_set(error, LAT_FORMAT, "%s: logits of another vocabulary", name);
        for (size_t t = 0; t < rows; t++) {
            double lse_a = row_lse(a, t), lse_b = row_lse(b, t), kl = 0;
            for (size_t i = t * a->shape[1]; i < (t + 1) * a->shape[1]; i++) {
                double p = lat_parity_f32(a, i) - lse_a;
                kl += exp(p) * (p - (lat_parity_f32(b, i) - lse_b));
            }
            out->mean_kl += kl;
            out->top1_same += lat_parity_argmax(a, t, NULL) == lat_parity_argmax(b, t, NULL);
        }
        out->positions += rows;
    }
    if (out->positions == 0)
        return lat_error_set(error, LAT_FORMAT, "the first run's trace is empty");
    out->mean_kl /= (double)out->positions;
    return LAT_OK;
}

struct closing {
    const char *name;
    const struct lat_st_tensor *want, *margin, *got, *own, *forced;
    size_t tokens, steps;
    double floor;
};

static enum lat_status open_closing(struct closing *c, const struct lat_st_file *reference, const struct lat_st_file *base,
                                    const struct lat_st_file *forced, struct lat_error *error)
{
    const struct lat_st_tensor *ids = lat_parity_find(reference, c->name, "input_ids");
    c->want = lat_parity_find(reference, c->name, "greedy_ids");
    if (!ids || !c->want || c->want->dtype != LAT_DTYPE_I64 || c->want->rank != 1)
        return lat_error_set(error, LAT_FORMAT, "%s: the reference has no greedy_ids", c->name);
    c->tokens = ids->elements;
    c->margin = lat_parity_find_shaped(reference, c->name, "greedy_margin", LAT_DTYPE_F32, c->want->elements, 0);
    c->got = lat_parity_find(base, c->name, "greedy_ids");
    if (!c->margin || !c->got || c->got->dtype != LAT_DTYPE_I64 || c->got->rank != 1 || c->got->elements == 0)
        return lat_error_set(error, LAT_FORMAT, "%s: greedy_ids or their margins are missing", c->name);
    c->steps = c->got->elements < c->want->elements ? c->got->elements : c->want->elements;
    LAT_TRY(need_logits(base, c->name, c->tokens, &c->own, error));
    return need_logits(forced, c->name, c->tokens + c->want->elements - 1, &c->forced, error);
}

static void note_leak(struct lat_parity_closure *out, const struct closing *c, size_t step, int64_t id, size_t best)
{
    if (out->leaks++ == 0)
        snprintf(out->leak, sizeof out->leak, "%s, token %zu: id %lld was emitted, and its own logits say %zu", c->name, step,
                 (long long)id,
                 best);
}

// An emitted id must have the largest logit; of another path through the same sums (the forced run) within the floor.
static bool is_best(const struct lat_st_tensor *logits, size_t row, int64_t id, double reach, size_t *best)
{
    *best = lat_parity_argmax(logits, row, NULL);
    if (id < 0 || (size_t)id >= logits->shape[1])
        return false;
    const size_t at = row * logits->shape[1];
    double gap = (double)lat_parity_f32(logits, at + *best) - lat_parity_f32(logits, at + (size_t)id);
    return (size_t)id == *best || (reach > 0 && gap <= reach);
}

static void judge_closing(struct lat_parity_closure *out, const struct closing *c, double margin_floors)
{
    size_t best = 0;
    if (!is_best(c->own, c->tokens - 1, lat_parity_i64(c->got, 0), 0, &best))
        note_leak(out, c, 0, lat_parity_i64(c->got, 0), best);
    for (size_t i = 0; i < c->steps; i++) { // as long as both had the same ids before
        if (i > 0 && !is_best(c->forced, c->tokens - 1 + i, lat_parity_i64(c->got, i), c->floor, &best))
            note_leak(out, c, i, lat_parity_i64(c->got, i), best);
        if (lat_parity_i64(c->got, i) != lat_parity_i64(c->want, i))
            break;
    }
    for (size_t i = 0; i < c->want->elements; i++) {
        best = lat_parity_argmax(c->forced, c->tokens - 1 + i, NULL);
        if ((int64_t)best == lat_parity_i64(c->want, i))
            continue;
        double margin = lat_parity_f32(c->margin, i);
        if (margin <= margin_floors * c->floor)
            out->ties++;
        else if (out->faults++ == 0)
            snprintf(out->fault, sizeof out->fault, "%s, token %zu: best is %zu, not %lld (margin %.3g)", c->name, i, best,
                     (long long)lat_parity_i64(c->want, i), margin);
    }
    out->steps += c->want->elements;
}

enum lat_status lat_parity_closure_judge(struct lat_parity_closure *out, const struct lat_st_file *reference,
                                         const struct lat_st_file *base, const struct lat_st_file *forced,
                                         const struct lat_parity_result *compared, double margin_floors, struct lat_error *error)
{
    *out = (struct lat_parity_closure){ 0 };
    for (size_t k = 0; k < compared->count; k++) {
        struct closing c = { .name = compared->prompts[k].name, .floor = compared->prompts[k].floor_max };
        LAT_TRY(open_closing(&c, reference, base, forced, error));
        judge_closing(out, &c, margin_floors);
    }
    return out->steps ? LAT_OK : lat_error_set(error, LAT_FORMAT, "no greedy ids to look at");
}
