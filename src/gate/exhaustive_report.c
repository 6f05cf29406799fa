// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What the exhaustive proof found: options that drifted, units and links that fail and where, options that change
// nothing, and the certificate.
#include <string.h>

#include "gate/exhaustive_parts.h"
#include "gate/glob.h"

enum { CERTIFICATE_ITEMS_MAX = 200000 };

static int64_t option_of(const struct lat_feature_model *m, const char *name)
{
    for (size_t i = 0; i < m->option_count; i++)
        if (strcmp(m->options[i].name, name) == 0)
            return (int64_t)i;
    return -1;
}

static bool is_ignored(const struct lat_exhaustive_options *o, const char *name)
{
    for (size_t i = 0; i < o->ignore.count; i++)
        if (lat_glob_match(o->ignore.items[i], name, strlen(name)))
            return true;
    return false;
}

// CMake's view of the options of one row.
void proof_check_options(struct proof *p)
{
    const struct lat_feature_model *m = p->o->model;
    const struct lat_assignment *a = &p->o->rows->items[p->row];
    for (size_t i = 0; i < p->cmake.cache_count; i++) {
        const struct lat_cmake_entry *e = &p->cmake.cache[i];
        int64_t n = option_of(m, e->name);
        if (n >= 0) {
            p->declared[n] = p->declared[n] || strcmp(e->type, "UNINITIALIZED") != 0;
            p->replaced[n] = p->replaced[n] || strcmp(e->value, m->options[n].values[a->value[n]]) != 0;
        }
        size_t before = p->unknown_options.count;
        if (n >= 0 || !lat_cmake_is_option(e) || is_ignored(p->o, e->name))
            continue;
        if (lat_text_table_put(&p->unknown_options, e->name, strlen(e->name)) >= 0 && p->unknown_options.count > before)
            lat_leg_find(p->result, LAT_LEG_FAIL, "F403", NULL, 0, "name it under 'options' of the leg, or under 'unlisted'",
                         "CMake has an option %s (%s: %s) that the leg does not name", e->name, e->type, e->help);
    }
}

static void report_options(struct proof *p)
{
    const struct lat_feature_model *m = p->o->model;
    for (size_t i = 0; i < m->option_count && p->counts->configured > 0; i++) {
        if (!p->declared[i])
            lat_leg_find(p->result, LAT_LEG_FAIL, "F403", NULL, 0, "remove it from the leg, or repair its name",
                         "option %s is named by the leg, and no assignment makes CMake declare it", m->options[i].name);
        else if (p->replaced[i])
            lat_leg_find(p->result, LAT_LEG_INFO, "F408", NULL, 0, "state what forces it as a constraint",
                         "CMake replaces the value of %s in some assignments: what was asked for is not what was built",
                             m->options[i].name);
    }
}

// Two legal rows that differ in option i only and build something else.
static bool matters(const struct proof *p, size_t i)
{
    const struct lat_feature_rows *rows = p->o->rows;
    bool pair = false;
    for (size_t a = 0; a < rows->count; a++)
        for (size_t b = a + 1; b < rows->count; b++) {
            if (rows->items[a].value[i] == rows->items[b].value[i])
                continue;
            struct lat_assignment other = rows->items[a];
            other.value[i] = rows->items[b].value[i];
            if (!lat_feature_equal(p->o->model, &other, &rows->items[b]))
                continue;
            pair = true;
            if (p->rows[a].configured != p->rows[b].configured || strcmp(p->rows[a].digest, p->rows[b].digest) != 0)
                return true;
        }
    return !pair; // it never varies alone: nothing can be said
}

static void report_dead_options(struct proof *p)
{
    const struct lat_feature_model *m = p->o->model;
    if (!p->o->all_rows || !p->counts->complete || p->counts->configured == 0 || p->o->dead_option_ignored || p->o->rows->count > 4096)
        return;
    for (size_t i = 0; i < m->option_count; i++)
        if (p->declared[i] && !matters(p, i))
            lat_leg_find(p->result, p->o->dead_option_fails ? LAT_LEG_FAIL : LAT_LEG_WARN, "F407", NULL, 0, "remove the option, or use it",
                         "option %s changes no compilation and no link, in any assignment", m->options[i].name);
}

// What all rows of a failure have in common, as far as not all rows have it: "A=ON & B=OFF".
static void describe_rows(const struct proof *p, const uint32_t *rows, size_t count, struct lat_buf *out)
{
    const struct lat_feature_model *m = p->o->model;
    const struct lat_feature_rows *all = p->o->rows;
    struct lat_assignment common = all->items[rows[0]];
    for (size_t r = 1; r < count; r++)
        for (size_t i = 0; i < m->option_count; i++)
            if (all->items[rows[r]].value[i] != common.value[i])
                common.value[i] = LAT_FEATURE_UNSET;
    size_t have = 0, shown = 0;
    for (size_t r = 0; r < all->count; r++) {
        bool match = p->rows[r].configured;
        for (size_t i = 0; i < m->option_count && match; i++)
            match = common.value[i] == LAT_FEATURE_UNSET || common.value[i] == all->items[r].value[i];
        have += match;
    }
    for (size_t i = 0; i < m->option_count; i++) {
        bool varies = false;
        for (size_t r = 0; r < all->count && common.value[i] != LAT_FEATURE_UNSET; r++)
            varies = varies || all->items[r].value[i] != common.value[i];
        if (varies)
            lat_buf_addf(out, "%s%s=%s", shown++ ? " & " : "", m->options[i].name, m->options[i].values[common.value[i]]);
    }
    if (shown)
        lat_buf_add_text(out, have == count ? ", exactly there" : ", in all of them");
    else
        lat_buf_add_text(out, count == p->counts->configured ? "everywhere" : "nothing in common");
}

static void report_item(struct proof *p, const struct proof_item *item, const uint32_t *rows, size_t count)
{
    struct lat_buf where, first;
    lat_buf_init(&where, 1 << 14);
    lat_buf_init(&first, 1 << 14);
    describe_rows(p, rows, count, &where);
    lat_feature_describe(p->o->model, &p->o->rows->items[rows[0]], true, &first);
    lat_leg_find(p->result, LAT_LEG_FAIL, item->code, item->what, 0, NULL, "fails in %zu of %zu assignments (%s), first [%s]: %s", count,
                 p->counts->configured, where.bytes, first.bytes, item->message);
    lat_buf_release(&where);
    lat_buf_release(&first);
}

static bool has_failed(const struct proof_item *i) { return i->state == PROOF_FAILED || i->strict == PROOF_FAILED; }

// Marks the rows in which item n fails.
static void mark_rows(const struct proof *p, bool is_link, size_t n, bool *failed)
{
    const struct proof_item *unit = &p->units.items[n];
    for (size_t i = 0; !is_link && i < unit->failed_count; i++)
        failed[unit->failed_rows[i]] = true;
    for (size_t r = 0; is_link && r < p->row; r++)
        for (size_t k = 0; k < p->rows[r].link_count; k++)
            failed[r] = failed[r] || p->rows[r].links[k] == n;
}

// Failures of one source or artifact are one finding, whatever number of variants they are.
static void report_items(struct proof *p, bool is_link)
{
    struct proof_items *items = is_link ? &p->links : &p->units;
    bool *told = lat_mem_new(items->count, sizeof *told);
    bool *failed = lat_mem_new(p->o->rows->count, sizeof *failed);
    uint32_t *rows = lat_mem_new(p->o->rows->count, sizeof *rows);
    if (!told || !failed || !rows)
        lat_leg_find(p->result, LAT_LEG_ERROR, "E304", NULL, 0, NULL, "out of memory for what failed");
    for (size_t n = 0; told && failed && rows && n < items->count; n++) {
        size_t count = 0;
        if (!has_failed(&items->items[n]) || told[n])
            continue;
        memset(failed, 0, p->o->rows->count * sizeof *failed);
        for (size_t k = n; k < items->count; k++)
            if (has_failed(&items->items[k]) && !told[k] && strcmp(items->items[k].what, items->items[n].what) == 0 &&
                strcmp(items->items[k].code, items->items[n].code) == 0) {
                told[k] = true;
                mark_rows(p, is_link, k, failed);
            }
        for (size_t r = 0; r < p->o->rows->count; r++)
            if (failed[r])
                rows[count++] = (uint32_t)r;
        if (count)
            report_item(p, &items->items[n], rows, count);
    }
    lat_mem_free(told);
    lat_mem_free(failed);
    lat_mem_free(rows);
}

void proof_report(struct proof *p)
{
    if (!p->counts->complete)
        lat_leg_find(p->result, LAT_LEG_ERROR, "F401", NULL, 0, "raise 'budget', split by --partition, or use a covering mode",
                     "out of time after %zu of %zu assignments", p->row, p->o->rows->count);
    if (p->configure_failures > 5)
        lat_leg_find(p->result, LAT_LEG_FAIL, "F404", NULL, 0, NULL, "%zu assignments of %zu do not configure", p->configure_failures,
                     p->o->rows->count);
    report_items(p, false);
    report_items(p, true);
    report_options(p);
    report_dead_options(p);
}

static const char *state_name(const struct proof_item *i)
{
    if (i->state == PROOF_FAILED || i->strict == PROOF_FAILED)
        return i->state == PROOF_PASSED ? "fails with -Werror" : "failed";
    return i->state == PROOF_BLOCKED ? "blocked" : "passed";
}

static json_t *list_items(const struct proof *p, const struct proof_items *items, const char *name)
{
    json_t *list = json_array();
    for (size_t i = 0; i < items->count && i < CERTIFICATE_ITEMS_MAX; i++) {
        const struct proof_item *item = &items->items[i];
        json_array_append_new(list, json_pack("{s:s,s:s,s:I,s:I,s:s,s:f}", "key", item->key, name, item->what, "occurrences",
                                              (json_int_t)item->occurrences, "assignment", (json_int_t)item->first_row, "result",
                                              state_name(item), "seconds", item->seconds));
        if (item->message[0] && state_name(item)[0] == 'f')
            json_object_set_new(json_array_get(list, i), "message", json_string(lat_leg_text(p->result, item->message)));
    }
    return list;
}

json_t *proof_certificate(const struct proof *p)
{
    const struct lat_feature_model *m = p->o->model;
    const struct lat_exhaustive_counts *c = p->counts;
    json_t *rows = json_array();
    for (size_t r = 0; r < p->o->rows->count; r++) {
        json_t *options = json_object();
        for (size_t i = 0; i < m->option_count; i++)
            json_object_set_new(options, m->options[i].name, json_string(m->options[i].values[p->o->rows->items[r].value[i]]));
        json_array_append_new(rows, json_pack("{s:o,s:b,s:I,s:I}", "options", options, "configures", p->rows[r].configured, "units",
                                              (json_int_t)p->rows[r].unit_count, "links", (json_int_t)p->rows[r].link_count));
    }
    json_t *totals = json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:f,s:b}", "assignments", (json_int_t)p->o->rows->count,
                               "configured", (json_int_t)c->configured, "unit_occurrences", (json_int_t)c->tu_occurrences, "units_distinct",
                               (json_int_t)c->tu_distinct, "compilations", (json_int_t)c->tu_compiled, "link_occurrences",
                               (json_int_t)c->link_occurrences, "links_distinct", (json_int_t)c->link_distinct, "preprocessed",
                               (json_int_t)c->preprocessed, "custom_commands_not_run", (json_int_t)c->custom, "configure_seconds",
                               c->configure_seconds, "compile_seconds", c->compile_seconds, "link_seconds", c->link_seconds, "complete",
                               c->complete);
    return json_pack("{s:i,s:o,s:o,s:o,s:o,s:s}", "schema", 1, "totals", totals, "assignments", rows, "units",
                     list_items(p, &p->units, "source"), "links", list_items(p, &p->links, "artifact"), "limits",
                     "not run: commands after a link; a link's custom steps; programs. A generated file counts as it was generated here.");
}
