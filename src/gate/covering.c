// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/covering.h"

#include <string.h>

#include "core/error.h"
#include "core/rng.h"

enum {
    CANDIDATES = 30,       // rows tried for each that is taken
    TUPLES_MAX = 8 << 20,  // bounds memory
    TENURE = 3,            // steps for which a changed place stays
    SEED = 20260101,
};
#define WORK_MAX 1e8 // elementary steps of the search for fewer rows, in all

// Which options meet in a set, and where the set's combinations stand among all.
struct subset {
    uint8_t column[LAT_COVERING_STRENGTH_MAX];
    uint32_t base;
};

struct array {
    const struct lat_feature_model *m;
    size_t t, columns;
    struct subset *subsets;
    size_t subset_count;
    uint32_t *of_column[LAT_FEATURE_OPTIONS_MAX]; // subsets that hold this column
    size_t of_column_count[LAT_FEATURE_OPTIONS_MAX];
    int32_t *covers;    // per combination: rows that have it; -1: forbidden by the constraints
    uint32_t *subset_of; // per combination
    size_t tuple_count;
    uint32_t *open, *place; // combinations that no row has, and where each stands in that list
    size_t open_count;
    struct lat_feature_rows rows;
    size_t seed_count;
    uint32_t *changed_at; // per row and column, the step of the last change
    struct lat_rng rng;
    double work;
    struct lat_arena arena;
    struct lat_error *error;
};

static uint32_t tuple_of(const struct array *a, const struct subset *s, const struct lat_assignment *row)
{
    uint32_t at = 0;
    for (size_t i = 0; i < a->t; i++)
        at = at * a->m->options[s->column[i]].value_count + row->value[s->column[i]];
    return s->base + at;
}

static void tuple_values(const struct array *a, uint32_t tuple, struct lat_assignment *row)
{
    const struct subset *s = &a->subsets[a->subset_of[tuple]];
    uint32_t at = tuple - s->base;
    for (size_t i = a->t; i-- > 0;) {
        uint32_t n = a->m->options[s->column[i]].value_count;
        row->value[s->column[i]] = (uint8_t)(at % n);
        at /= n;
    }
}

static void open_add(struct array *a, uint32_t tuple)
{
    a->place[tuple] = (uint32_t)a->open_count;
    a->open[a->open_count++] = tuple;
}

static void open_remove(struct array *a, uint32_t tuple)
{
    uint32_t last = a->open[--a->open_count];
    a->open[a->place[tuple]] = last;
    a->place[last] = a->place[tuple];
}

static void count_tuple(struct array *a, uint32_t tuple, int by)
{
    int32_t before = a->covers[tuple];
    a->covers[tuple] = before + by;
    if (before == 0)
        open_remove(a, tuple);
    else if (before + by == 0)
        open_add(a, tuple);
}

static void count_row(struct array *a, const struct lat_assignment *row, int by)
{
    for (size_t i = 0; i < a->subset_count; i++)
        count_tuple(a, tuple_of(a, &a->subsets[i], row), by);
}

// All t-subsets of the columns in order.
static enum lat_status make_subsets(struct array *a)
{
    size_t t = a->t, n = a->columns, pick[LAT_COVERING_STRENGTH_MAX] = { 0, 1, 2 }, count = 1, at = 0;
    for (size_t i = 0; i < t; i++)
        count = count * (n - i) / (i + 1);
    a->subsets = lat_arena_new(&a->arena, count, sizeof *a->subsets);
    for (size_t c = 0; c < n; c++)
        a->of_column[c] = lat_arena_new(&a->arena, count * t / n + 1, sizeof(uint32_t));
    if (!a->subsets || !a->of_column[n - 1])
        return lat_error_memory(a->error, "a covering array");
    for (a->subset_count = 0; a->subset_count < count; a->subset_count++) {
        struct subset *s = &a->subsets[a->subset_count];
        size_t tuples = 1, i = t;
        s->base = (uint32_t)at;
        for (size_t k = 0; k < t; k++) {
            s->column[k] = (uint8_t)pick[k];
            a->of_column[pick[k]][a->of_column_count[pick[k]]++] = (uint32_t)a->subset_count;
            tuples *= a->m->options[pick[k]].value_count;
        }
        at += tuples;
        if (at > TUPLES_MAX)
            return lat_error_set(a->error, LAT_LIMIT, "more than %d combinations to cover", TUPLES_MAX);
        while (i > 0 && pick[i - 1] == n - t + i - 1)
            i--;
        if (i == 0)
            continue;
        pick[i - 1]++;
        for (; i < t; i++)
            pick[i] = pick[i - 1] + 1;
    }
    a->tuple_count = at;
    return LAT_OK;
}

// Finds out which combinations some legal assignment has.
static enum lat_status make_tuples(struct array *a, struct lat_covering *out)
{
    a->covers = lat_arena_new(&a->arena, a->tuple_count, sizeof *a->covers);
    a->subset_of = lat_arena_new(&a->arena, a->tuple_count, sizeof *a->subset_of);
    a->open = lat_arena_new(&a->arena, a->tuple_count, sizeof *a->open);
    a->place = lat_arena_new(&a->arena, a->tuple_count, sizeof *a->place);
    if (!a->covers || !a->subset_of || !a->open || !a->place)
        return lat_error_memory(a->error, "a covering array");
    for (uint32_t s = 0, tuple = 0; tuple < a->tuple_count; tuple++) {
        while (s + 1 < a->subset_count && a->subsets[s + 1].base <= tuple)
            s++;
        a->subset_of[tuple] = s;
        struct lat_assignment row = lat_feature_unset();
        tuple_values(a, tuple, &row);
        enum lat_status status = lat_feature_complete(a->m, &row, NULL, LAT_FEATURE_RULES_MAX, a->error);
        if (status == LAT_OK) {
            open_add(a, tuple);
            out->tuples++;
        } else if (status == LAT_NOT_FOUND) {
            a->covers[tuple] = -1;
            out->excluded++;
        } else
            return status;
    }
    return LAT_OK;
}

static size_t below(struct array *a, size_t n) { return (size_t)(lat_rng_next(&a->rng) % n); }

static bool all_set(const struct array *a, const struct subset *s, const struct lat_assignment *row)
{
    for (size_t i = 0; i < a->t; i++)
        if (row->value[s->column[i]] == LAT_FEATURE_UNSET)
            return false;
    return true;
}

// Combinations with column c that the partial row newly has.
static size_t gain_of(struct array *a, size_t c, const struct lat_assignment *row)
{
    size_t gain = 0;
    for (size_t i = 0; i < a->of_column_count[c]; i++) {
        const struct subset *s = &a->subsets[a->of_column[c][i]];
        gain += all_set(a, s, row) && a->covers[tuple_of(a, s, row)] == 0;
    }
    return gain;
}

// A legal row with the combination `tuple`, the other columns in random order, each with the value that gains most.
static enum lat_status make_candidate(struct array *a, uint32_t tuple, struct lat_assignment *row)
{
    uint8_t order[LAT_FEATURE_OPTIONS_MAX];
    *row = lat_feature_unset();
    tuple_values(a, tuple, row);
    for (size_t i = 0; i < a->columns; i++) {
        size_t k = below(a, i + 1);
        order[i] = order[k];
        order[k] = (uint8_t)i;
    }
    for (size_t i = 0; i < a->columns; i++) {
        size_t c = order[i], best_gain = 0;
        uint8_t best = LAT_FEATURE_UNSET, n = a->m->options[c].value_count;
        if (row->value[c] != LAT_FEATURE_UNSET)
            continue;
        size_t first = below(a, n);
        for (size_t k = 0; k < n; k++) {
            struct lat_assignment probe = *row;
            probe.value[c] = (uint8_t)((first + k) % n);
            size_t gain = gain_of(a, c, &probe);
            if (best != LAT_FEATURE_UNSET && gain <= best_gain)
                continue;
            uint8_t value = probe.value[c];
            enum lat_status status = lat_feature_complete(a->m, &probe, NULL, LAT_FEATURE_RULES_MAX, a->error);
            if (status == LAT_OK)
                best = value, best_gain = gain;
            else if (status != LAT_NOT_FOUND)
                return status;
        }
        LAT_BUG_IF(best == LAT_FEATURE_UNSET); // the row could be completed before this column
        row->value[c] = best;
    }
    return LAT_OK;
}

static size_t gain_of_row(const struct array *a, const struct lat_assignment *row)
{
    size_t gain = 0;
    for (size_t i = 0; i < a->subset_count; i++)
        gain += a->covers[tuple_of(a, &a->subsets[i], row)] == 0;
    return gain;
}

static enum lat_status add_greedy_rows(struct array *a)
{
    while (a->open_count > 0) {
        struct lat_assignment best = lat_feature_unset(), row;
        size_t best_gain = 0;
        for (int i = 0; i < CANDIDATES; i++) {
            LAT_TRY(make_candidate(a, a->open[below(a, a->open_count)], &row));
            size_t gain = gain_of_row(a, &row);
            if (gain > best_gain)
                best = row, best_gain = gain;
        }
        LAT_TRY(lat_feature_rows_add(&a->rows, &best, a->error));
        count_row(a, &best, 1);
    }
    return LAT_OK;
}

// Changes a row's column in the counts.
static void move_column(struct array *a, struct lat_assignment *row, size_t c, uint8_t value)
{
    for (int by = -1; by <= 1; by += 2) {
        for (size_t i = 0; i < a->of_column_count[c]; i++)
            count_tuple(a, tuple_of(a, &a->subsets[a->of_column[c][i]], row), by);
        row->value[c] = value;
    }
    a->work += 2.0 * (double)a->of_column_count[c];
}

static void move_row(struct array *a, struct lat_assignment *row, const struct lat_assignment *to)
{
    for (size_t c = 0; c < a->columns; c++)
        if (row->value[c] != to->value[c])
            move_column(a, row, c, to->value[c]);
}

// How many more combinations are open when row r becomes `to`; nothing is changed.
static long delta_of(struct array *a, size_t r, const struct lat_assignment *to)
{
    struct lat_assignment before = a->rows.items[r];
    long open = (long)a->open_count;
    move_row(a, &a->rows.items[r], to);
    long delta = (long)a->open_count - open;
    move_row(a, &a->rows.items[r], &before);
    return delta;
}

static bool is_tabu(const struct array *a, size_t r, const struct lat_assignment *to, uint32_t step)
{
    for (size_t c = 0; c < a->columns; c++) {
        uint32_t at = a->changed_at[r * a->columns + c];
        if (to->value[c] != a->rows.items[r].value[c] && at != 0 && step - at <= TENURE)
            return true;
    }
    return false;
}

// One step: an open combination is put into the row where that opens the fewest others.
static void search_step(struct array *a, uint32_t step)
{
    uint32_t tuple = a->open[below(a, a->open_count)];
    struct lat_assignment best = { { 0 } };
    long best_delta = 0;
    size_t best_row = SIZE_MAX, ties = 0;
    for (size_t r = a->seed_count; r < a->rows.count; r++) {
        struct lat_assignment to = a->rows.items[r];
        tuple_values(a, tuple, &to);
        if (is_tabu(a, r, &to, step) || !lat_feature_legal(a->m, &to))
            continue;
        long delta = delta_of(a, r, &to);
        if (best_row == SIZE_MAX || delta < best_delta)
            ties = 0;
        if (best_row == SIZE_MAX || delta < best_delta || (delta == best_delta && below(a, ++ties + 1) == 0))
            best = to, best_delta = delta, best_row = r;
    }
    if (best_row == SIZE_MAX || below(a, 500) == 0) {
        // No row takes it as it stands: one takes it and what else has to change with it.
        best_row = a->seed_count + below(a, a->rows.count - a->seed_count);
        best = lat_feature_unset();
        tuple_values(a, tuple, &best);
        if (lat_feature_complete(a->m, &best, &a->rows.items[best_row], LAT_FEATURE_RULES_MAX, NULL) != LAT_OK)
            return;
        a->work += 1000;
    }
    for (size_t c = 0; c < a->columns; c++)
        if (best.value[c] != a->rows.items[best_row].value[c])
            a->changed_at[best_row * a->columns + c] = step;
    move_row(a, &a->rows.items[best_row], &best);
}

// The row that is missed least.
static size_t least_row(struct array *a)
{
    size_t least = SIZE_MAX, best = a->seed_count;
    for (size_t r = a->seed_count; r < a->rows.count; r++) {
        size_t alone = 0;
        for (size_t i = 0; i < a->subset_count; i++)
            alone += a->covers[tuple_of(a, &a->subsets[i], &a->rows.items[r])] == 1;
        if (alone < least)
            least = alone, best = r;
    }
    return best;
}

static size_t least_rows_possible(const struct array *a)
{
    size_t most = 1;
    for (size_t i = 0; i < a->subset_count; i++) { // rows that one set of options needs alone
        size_t need = 0, n = 1;
        for (size_t k = 0; k < a->t; k++)
            n *= a->m->options[a->subsets[i].column[k]].value_count;
        for (size_t k = 0; k < n; k++)
            need += a->covers[a->subsets[i].base + k] >= 0;
        most = need > most ? need : most;
    }
    return most;
}

// Takes rows away as long as the rest can be changed to cover all again.
static enum lat_status remove_rows(struct array *a)
{
    size_t floor = least_rows_possible(a);
    struct lat_feature_rows good = { 0 };
    enum lat_status status = LAT_OK;
    a->changed_at = lat_arena_new(&a->arena, a->rows.count * a->columns, sizeof *a->changed_at);
    if (!a->changed_at)
        return lat_error_memory(a->error, "a covering array");
    for (size_t i = 0; i < a->rows.count && status == LAT_OK; i++)
        status = lat_feature_rows_add(&good, &a->rows.items[i], a->error);
    uint32_t step = 1;
    while (status == LAT_OK && a->rows.count > floor && a->rows.count > a->seed_count + 1 && a->work < WORK_MAX) {
        size_t r = least_row(a);
        count_row(a, &a->rows.items[r], -1);
        a->rows.items[r] = a->rows.items[--a->rows.count];
        while (a->open_count > 0 && a->work < WORK_MAX)
            search_step(a, ++step);
        if (a->open_count > 0)
            break;
        memcpy(good.items, a->rows.items, a->rows.count * sizeof *good.items);
        good.count = a->rows.count;
    }
    if (status == LAT_OK) {
        struct lat_feature_rows last = a->rows;
        a->rows = good;
        good = last;
    }
    lat_feature_rows_release(&good);
    return status;
}

static enum lat_status build(struct array *a, const struct lat_assignment *seeds, size_t seed_count, struct lat_covering *out)
{
    LAT_TRY(make_subsets(a));
    LAT_TRY(make_tuples(a, out));
    for (size_t i = 0; i < seed_count; i++) {
        bool twice = false;
        for (size_t k = 0; k < a->rows.count; k++)
            twice = twice || lat_feature_equal(a->m, &a->rows.items[k], &seeds[i]);
        if (twice)
            continue;
        LAT_TRY(lat_feature_rows_add(&a->rows, &seeds[i], a->error));
        count_row(a, &seeds[i], 1);
        a->seed_count++;
    }
    LAT_TRY(add_greedy_rows(a));
    return remove_rows(a);
}

enum lat_status lat_covering_new(struct lat_covering *out, const struct lat_feature_model *model, size_t strength,
                                 const struct lat_assignment *seeds, size_t seed_count, struct lat_error *error)
{
    struct array a = { .m = model, .columns = model->option_count, .error = error };
    *out = (struct lat_covering){ 0 };
    if (strength < 1 || strength > LAT_COVERING_STRENGTH_MAX)
        return lat_error_set(error, LAT_ARGUMENT, "strength %zu: expected 1 to %d", strength, LAT_COVERING_STRENGTH_MAX);
    if (a.columns == 0) {
        struct lat_assignment only = lat_feature_unset();
        return lat_feature_rows_add(&out->rows, &only, error);
    }
    a.t = strength < a.columns ? strength : a.columns;
    lat_rng_init(&a.rng, SEED);
    lat_arena_init(&a.arena, (size_t)512 << 20);
    enum lat_status status = build(&a, seeds, seed_count, out);
    lat_arena_release(&a.arena);
    out->rows = a.rows;
    if (status != LAT_OK)
        lat_covering_release(out);
    return status;
}

void lat_covering_release(struct lat_covering *covering) { lat_feature_rows_release(&covering->rows); }
