// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/parity_live.h"

#include <math.h>

#include "core/error.h"
#include "core/json.h"
#include "gate/parity_tensors.h"

struct pair {
    struct lat_st_file *frozen, *live;
    struct lat_json floors;
    double margin_floors;
    struct lat_parity_live *out;
    struct lat_error *error;
};

static void note_packages(struct pair *p)
{
    static const char *const keys[] = { "transformers", "torch", "generator_sha256" };
    size_t used = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *was = lat_st_metadata(p->frozen, keys[i]), *now = lat_st_metadata(p->live, keys[i]);
        if (strcmp(was ? was : "?", now ? now : "?") == 0 || used >= sizeof p->out->packages - 1)
            continue;
        int n = snprintf(p->out->packages + used, sizeof p->out->packages - used, "%s%s %.20s, now %.20s", used ? "; " : "", keys[i],
                         was ? was : "?", now ? now : "?");
        used += n > 0 ? (size_t)n : 0;
    }
}

static void disagree(struct pair *p, const char *prompt, const char *what, double value)
{
    if (p->out->agrees)
        snprintf(p->out->what, sizeof p->out->what, "%s: %s %.3g", prompt, what, value);
    p->out->agrees = false;
}

static double floor_of(const struct pair *p, const char *prompt)
{
    const struct lat_json_node *f = lat_json_get(p->floors.root, prompt);
    double a = 0, b = 0;
    if (!lat_json_to_double(lat_json_get(f, "max_prefill"), &a) || !lat_json_to_double(lat_json_get(f, "max_steps"), &b))
        return 0;
    return fmax(a, b);
}

// The truth is float64: two of them differ by its rounding to F32, far below a floor.
static enum lat_status compare_truth(struct pair *p, const char *prompt, double floor)
{
    const struct lat_st_tensor *a = lat_parity_find(p->frozen, prompt, "truth"), *b = lat_parity_find(p->live, prompt, "truth");
    if (!a || !b || a->dtype != LAT_DTYPE_F32 || b->dtype != LAT_DTYPE_F32 || a->rank != 2 || b->rank != 2
        || a->shape[1] != b->shape[1] || a->shape[0] > b->shape[0])
        return lat_error_set(p->error, LAT_FORMAT, "%s: the two references keep other rows", prompt);
    const struct lat_st_tensor *rows = lat_parity_find(p->frozen, prompt, "positions");
    double most = 0;
    for (size_t r = 0; r < a->shape[0]; r++) {
        bool whole = b->shape[0] > a->shape[0] && rows; // the live one keeps every row, the frozen one some
        size_t at = whole ? (size_t)lat_parity_i64(rows, r) : r;
        if (at >= b->shape[0])
            return lat_error_set(p->error, LAT_FORMAT, "%s: the two references keep other rows", prompt);
        for (size_t c = 0; c < a->shape[1]; c++) {
            double d = fabs((double)lat_parity_f32(a, r * a->shape[1] + c) - lat_parity_f32(b, at * a->shape[1] + c));
            most = d > most || isnan(d) ? (isnan(d) ? INFINITY : d) : most;
        }
    }
    double ratio = most / fmax(floor, 1e-30);
    p->out->max_ratio = fmax(p->out->max_ratio, ratio);
    p->out->rows += a->shape[0];
    if (!(ratio <= 1))
        disagree(p, prompt, "the truth has moved, in floors", ratio);
    return LAT_OK;
}

static enum lat_status compare_greedy(struct pair *p, const char *prompt, double floor)
{
    const struct lat_st_tensor *a = lat_parity_find(p->frozen, prompt, "greedy_ids"), *b = lat_parity_find(p->live, prompt, "greedy_ids");
    if (!a)
        return LAT_OK;
    const struct lat_st_tensor *margin = lat_parity_find_shaped(p->frozen, prompt, "greedy_margin", LAT_DTYPE_F32, a->elements, 0);
    if (!b || !margin || a->dtype != LAT_DTYPE_I64 || b->dtype != LAT_DTYPE_I64 || a->rank != 1 || a->elements != b->elements)
        return lat_error_set(p->error, LAT_FORMAT, "%s: the two references have other greedy_ids", prompt);
    for (size_t i = 0; i < a->elements; i++) {
        if (lat_parity_i64(a, i) == lat_parity_i64(b, i))
            continue;
        if (lat_parity_f32(margin, i) > p->margin_floors * floor) {
            p->out->ids_differ++;
            disagree(p, prompt, "another greedy id, at token", (double)i);
        }
        break; // behind a difference the two continue other texts
    }
    return LAT_OK;
}

static enum lat_status compare_all(struct pair *p)
{
    const char *floors = lat_st_metadata(p->frozen, "floor");
    size_t count = lat_parity_prompts(p->frozen);
    if (!floors || count == 0 || lat_parity_prompts(p->live) != count)
        return lat_error_set(p->error, LAT_FORMAT, "frozen and live reference are of %zu and %zu prompts", count,
                             lat_parity_prompts(p->live));
    LAT_TRY(lat_json_parse(&p->floors, floors, strlen(floors), "floor", p->error));
    note_packages(p);
    for (size_t k = 0; k < count; k++) {
        char name[32];
        snprintf(name, sizeof name, "p%zu", k);
        const struct lat_st_tensor *a = lat_parity_find(p->frozen, name, "input_ids"), *b = lat_parity_find(p->live, name, "input_ids");
        if (a->bytes != b->bytes || memcmp(a->data, b->data, a->bytes) != 0)
            return lat_error_set(p->error, LAT_FORMAT, "%s: the live reference is of other ids", name);
        double floor = floor_of(p, name);
        LAT_TRY(compare_truth(p, name, floor));
        LAT_TRY(compare_greedy(p, name, floor));
        p->out->prompts++;
    }
    return LAT_OK;
}

enum lat_status lat_parity_live_compare(struct lat_parity_live *out, const char *frozen, const char *live, double margin_floors,
                                        struct lat_error *error)
{
    struct pair p = { .margin_floors = margin_floors, .out = out, .error = error };
    *out = (struct lat_parity_live){ .agrees = true };
    enum lat_status status = lat_st_open(&p.frozen, frozen, error);
    if (status == LAT_OK)
        status = lat_st_open(&p.live, live, error);
    if (status == LAT_OK)
        status = compare_all(&p);
    lat_json_release(&p.floors);
    lat_st_close(p.frozen);
    lat_st_close(p.live);
    return status;
}
