// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/feature_model.h"

#include <string.h>
#include <strings.h>

#include "core/error.h"

enum { ARENA_MAX = 16 << 20, STEPS_MAX = 1 << 20 };

const char *const lat_feature_model_keys[] = { "options", "requires", "conflicts", "at_least_one", "exactly_one", "forbid", "sets", NULL };

struct reader {
    struct lat_feature_model *model;
    struct lat_yaml *doc;
    struct lat_error *error;
};

static enum lat_status read_values(struct reader *r, const struct lat_yaml_node *node, struct lat_feature_option *o)
{
    static const char *const known[] = { "values", "default", NULL };
    struct lat_text_list values = { 0 };
    const char *preset = NULL;
    LAT_TRY(lat_yaml_check_keys(r->doc, node, known, r->error));
    LAT_TRY(lat_yaml_read_texts(r->doc, node, "values", &values, r->error));
    LAT_TRY(lat_yaml_read_text(r->doc, node, "default", &preset, r->error));
    if (values.count < 1 || values.count > LAT_FEATURE_VALUES_MAX)
        return lat_yaml_error(r->error, r->doc, node, "option '%s': expected 'values', a list of 1 to %d", o->name, LAT_FEATURE_VALUES_MAX);
    o->value_count = (uint8_t)values.count;
    o->preset = LAT_FEATURE_UNSET;
    for (size_t i = 0; i < values.count; i++) {
        o->values[i] = values.items[i];
        for (size_t k = 0; k < i; k++)
            if (strcmp(values.items[i], values.items[k]) == 0)
                return lat_yaml_error(r->error, r->doc, node, "option '%s': value '%s' stands twice", o->name, values.items[i]);
        if (!preset || strcmp(preset, values.items[i]) == 0)
            o->preset = preset ? (uint8_t)i : 0;
    }
    if (o->preset == LAT_FEATURE_UNSET)
        return lat_yaml_error(r->error, r->doc, node, "option '%s': default '%s' is none of its values", o->name, preset);
    return LAT_OK;
}

static bool is_option_name(const char *name)
{
    for (const char *c = name; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' || (c > name && *c >= '0' && *c <= '9')))
            return false;
    return *name != '\0';
}

static enum lat_status read_options(struct reader *r, const struct lat_yaml_node *map)
{
    struct lat_feature_model *m = r->model;
    if (!map)
        return LAT_OK;
    if (map->kind != LAT_YAML_MAPPING)
        return lat_yaml_error(r->error, r->doc, map, "'options': expected NAME: ON, or NAME: {values: [...], default: ...}");
    for (const struct lat_yaml_node *n = map->child; n; n = n->next) {
        if (m->option_count == LAT_FEATURE_OPTIONS_MAX)
            return lat_yaml_error(r->error, r->doc, n, "more than %d options", LAT_FEATURE_OPTIONS_MAX);
        struct lat_feature_option *o = &m->options[m->option_count++];
        *o = (struct lat_feature_option){ .name = n->key, .values = { "OFF", "ON" }, .value_count = 2 };
        if (!is_option_name(n->key))
            return lat_yaml_error(r->error, r->doc, n, "'%s': an option's name is letters, digits and '_'", n->key);
        if (n->kind == LAT_YAML_MAPPING) {
            LAT_TRY(read_values(r, n, o));
            continue;
        }
        bool on = n->kind == LAT_YAML_SCALAR && strcasecmp(n->text, "ON") == 0;
        if (!on && (n->kind != LAT_YAML_SCALAR || strcasecmp(n->text, "OFF") != 0))
            return lat_yaml_error(r->error, r->doc, n, "option '%s': expected ON, OFF, or {values: [...], default: ...}", n->key);
        o->preset = on;
    }
    return LAT_OK;
}

static enum lat_status add_rule(struct reader *r, const struct lat_yaml_node *node, const char *text, const char *message)
{
    struct lat_feature_model *m = r->model;
    struct lat_error inner = { 0 };
    if (m->rule_count == LAT_FEATURE_RULES_MAX)
        return lat_yaml_error(r->error, r->doc, node, "more than %d constraints", LAT_FEATURE_RULES_MAX);
    struct lat_feature_rule *rule = &m->rules[m->rule_count];
    *rule = (struct lat_feature_rule){ .text = text, .message = message, .line = node->line };
    if (lat_feature_expr_parse(&rule->expr, text, m->options, m->option_count, &m->arena, &inner) != LAT_OK)
        return lat_yaml_error(r->error, r->doc, node, "'%s': %s", text, inner.text);
    m->rule_count++;
    return LAT_OK;
}

static enum lat_status read_requires(struct reader *r, const struct lat_yaml_node *list)
{
    if (list && list->kind != LAT_YAML_SEQUENCE)
        return lat_yaml_error(r->error, r->doc, list, "'requires': expected a list of expressions");
    for (const struct lat_yaml_node *n = list ? list->child : NULL; n; n = n->next) {
        if (n->kind != LAT_YAML_SCALAR)
            return lat_yaml_error(r->error, r->doc, n, "'requires': expected an expression, such as \"A -> B\"");
        LAT_TRY(add_rule(r, n, n->text, NULL));
    }
    return LAT_OK;
}

static enum lat_status add_text_rule(struct reader *r, const struct lat_yaml_node *node, const struct lat_buf *text)
{
    char *copy = text->failed ? NULL : lat_arena_new(&r->model->arena, text->length + 1, 1);
    if (!copy)
        return lat_error_memory(r->error, "constraints");
    memcpy(copy, text->bytes, text->length);
    return add_rule(r, node, copy, NULL);
}

// One list of options: at most one (all pairs), at least one, or both.
static enum lat_status add_group(struct reader *r, const struct lat_yaml_node *group, bool at_most, bool at_least, struct lat_buf *text)
{
    if (group->kind != LAT_YAML_SEQUENCE || group->count < 2)
        return lat_yaml_error(r->error, r->doc, group, "expected a list of at least two options, such as [A, B=x]");
    for (const struct lat_yaml_node *n = group->child; n; n = n->next)
        if (n->kind != LAT_YAML_SCALAR)
            return lat_yaml_error(r->error, r->doc, n, "expected an option, or option=value");
    for (const struct lat_yaml_node *a = group->child; a && at_most; a = a->next)
        for (const struct lat_yaml_node *b = a->next; b; b = b->next) {
            lat_buf_clear(text);
            lat_buf_addf(text, "!((%s) & (%s))", a->text, b->text);
            LAT_TRY(add_text_rule(r, b, text));
        }
    lat_buf_clear(text);
    for (const struct lat_yaml_node *a = group->child; a; a = a->next)
        lat_buf_addf(text, "%s(%s)", a == group->child ? "" : " | ", a->text);
    return at_least ? add_text_rule(r, group, text) : LAT_OK;
}

static enum lat_status read_groups(struct reader *r, const struct lat_yaml_node *map, const char *key, bool at_most, bool at_least)
{
    const struct lat_yaml_node *list = lat_yaml_get(map, key);
    struct lat_buf text;
    enum lat_status status = LAT_OK;
    if (list && list->kind != LAT_YAML_SEQUENCE)
        return lat_yaml_error(r->error, r->doc, list, "'%s': expected a list of lists of options", key);
    lat_buf_init(&text, 1 << 16);
    for (const struct lat_yaml_node *n = list ? list->child : NULL; n && status == LAT_OK; n = n->next)
        status = add_group(r, n, at_most, at_least, &text);
    lat_buf_release(&text);
    return status;
}

static enum lat_status read_forbid(struct reader *r, const struct lat_yaml_node *list)
{
    static const char *const known[] = { "when", "message", NULL };
    if (list && list->kind != LAT_YAML_SEQUENCE)
        return lat_yaml_error(r->error, r->doc, list, "'forbid': expected a list of {when: ..., message: ...}");
    for (const struct lat_yaml_node *n = list ? list->child : NULL; n; n = n->next) {
        const char *when = NULL, *message = NULL;
        LAT_TRY(lat_yaml_check_keys(r->doc, n, known, r->error));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "when", &when, r->error));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "message", &message, r->error));
        if (!when || !message || !*message)
            return lat_yaml_error(r->error, r->doc, n, "'forbid': expected {when: EXPRESSION, message: TEXT}");
        LAT_TRY(add_rule(r, n, when, message));
    }
    return LAT_OK;
}

struct lat_assignment lat_feature_unset(void)
{
    struct lat_assignment a;
    memset(a.value, LAT_FEATURE_UNSET, sizeof a.value);
    return a;
}

struct lat_assignment lat_feature_default(const struct lat_feature_model *m)
{
    struct lat_assignment a = lat_feature_unset();
    for (size_t i = 0; i < m->option_count; i++)
        a.value[i] = m->options[i].preset;
    return a;
}

// False when some rule cannot hold any more.
static bool possible(const struct lat_feature_model *m, const struct lat_assignment *a, size_t exempt)
{
    for (size_t i = 0; i < m->rule_count; i++) {
        bool wanted = !m->rules[i].message != (i == exempt);
        enum lat_truth t = lat_feature_expr_eval(m->rules[i].expr, a);
        if (t != LAT_UNKNOWN && (t == LAT_TRUE) != wanted)
            return false;
    }
    return true;
}

bool lat_feature_legal(const struct lat_feature_model *m, const struct lat_assignment *a)
{
    for (size_t i = 0; i < m->option_count; i++)
        if (a->value[i] >= m->options[i].value_count)
            return false;
    return possible(m, a, LAT_FEATURE_RULES_MAX);
}

struct search {
    const struct lat_feature_model *m;
    struct lat_assignment *a;
    const struct lat_assignment *wish;
    size_t exempt, steps;
};

// Value number k to try for option i: the wish, the default, then the others.
static uint8_t nth_value(const struct search *s, size_t i, size_t k)
{
    uint8_t first = s->wish && s->wish->value[i] < s->m->options[i].value_count ? s->wish->value[i] : s->m->options[i].preset;
    uint8_t second = s->m->options[i].preset;
    if (k == 0)
        return first;
    if (second != first && k-- == 1)
        return second;
    for (uint8_t v = 0;; v++)
        if (v != first && v != second && --k == 0)
            return v;
}

static bool search_from(struct search *s, size_t i)
{
    while (i < s->m->option_count && s->a->value[i] != LAT_FEATURE_UNSET)
        i++;
    if (i == s->m->option_count)
        return true;
    for (size_t k = 0; k < s->m->options[i].value_count && s->steps < STEPS_MAX; k++) {
        s->steps++;
        s->a->value[i] = nth_value(s, i, k);
        if (possible(s->m, s->a, s->exempt) && search_from(s, i + 1))
            return true;
    }
    s->a->value[i] = LAT_FEATURE_UNSET;
    return false;
}

enum lat_status lat_feature_complete(const struct lat_feature_model *m, struct lat_assignment *a, const struct lat_assignment *wish,
                                     size_t exempt, struct lat_error *error)
{
    struct search s = { m, a, wish, exempt, 0 };
    if (possible(m, a, exempt) && search_from(&s, 0))
        return LAT_OK;
    if (s.steps >= STEPS_MAX)
        return lat_error_set(error, LAT_LIMIT, "the constraints are too tangled: no answer after %d steps", STEPS_MAX);
    return lat_error_set(error, LAT_NOT_FOUND, "the constraints allow no such assignment");
}

enum lat_status lat_feature_rows_add(struct lat_feature_rows *rows, const struct lat_assignment *a, struct lat_error *error)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? rows->capacity * 2 : 64;
        struct lat_assignment *items = lat_mem_grow(rows->items, capacity, sizeof *items);
        if (!items)
            return lat_error_memory(error, "assignments");
        rows->items = items;
        rows->capacity = capacity;
    }
    rows->items[rows->count++] = *a;
    return LAT_OK;
}

void lat_feature_rows_release(struct lat_feature_rows *rows)
{
    lat_mem_free(rows->items);
    *rows = (struct lat_feature_rows){ 0 };
}

struct walk {
    const struct lat_feature_model *m;
    struct lat_assignment a;
    uint64_t free; // options that vary
    size_t exempt, most, steps;
    struct lat_feature_rows *rows;
    struct lat_error *error;
};

static enum lat_status walk_from(struct walk *w, size_t i)
{
    while (i < w->m->option_count && !(w->free >> i & 1))
        i++;
    if (i == w->m->option_count) {
        if (w->rows->count == w->most)
            return lat_error_set(w->error, LAT_LIMIT, "more than %zu legal assignments", w->most);
        return lat_feature_rows_add(w->rows, &w->a, w->error);
    }
    for (uint8_t v = 0; v < w->m->options[i].value_count; v++) {
        if (++w->steps > (size_t)64 * STEPS_MAX)
            return lat_error_set(w->error, LAT_LIMIT, "the constraints are too tangled to list what they allow");
        w->a.value[i] = v;
        if (possible(w->m, &w->a, w->exempt))
            LAT_TRY(walk_from(w, i + 1));
    }
    w->a.value[i] = LAT_FEATURE_UNSET;
    return LAT_OK;
}

enum lat_status lat_feature_enumerate(const struct lat_feature_model *m, size_t most, struct lat_feature_rows *rows,
                                      struct lat_error *error)
{
    struct walk w = { m, lat_feature_unset(), UINT64_MAX, LAT_FEATURE_RULES_MAX, most, 0, rows, error };
    return possible(m, &w.a, w.exempt) ? walk_from(&w, 0) : LAT_OK;
}

enum lat_status lat_feature_forbidden(const struct lat_feature_model *m, size_t rule, size_t most, struct lat_feature_rows *rows,
                                      struct lat_error *error)
{
    struct lat_assignment wish = lat_feature_default(m);
    struct lat_feature_rows own = { 0 };
    struct walk w = { m, lat_feature_unset(), 0, rule, most, 0, &own, error };
    lat_feature_expr_options(m->rules[rule].expr, &w.free);
    enum lat_status status = possible(m, &w.a, rule) ? walk_from(&w, 0) : LAT_OK;
    if (status == LAT_LIMIT && own.count == most)
        status = LAT_OK;
    for (size_t i = 0; i < own.count && status == LAT_OK; i++) {
        status = lat_feature_complete(m, &own.items[i], &wish, rule, error);
        if (status == LAT_OK)
            status = lat_feature_rows_add(rows, &own.items[i], error);
        else if (status == LAT_NOT_FOUND) // another rule makes this way impossible
            status = LAT_OK;
    }
    lat_feature_rows_release(&own);
    return status;
}

// All options as false, or as true, as they can be.
static struct lat_assignment extreme(const struct lat_feature_model *m, bool on)
{
    struct lat_assignment a = lat_feature_default(m);
    for (size_t i = 0; i < m->option_count; i++) {
        const struct lat_feature_option *o = &m->options[i];
        for (uint8_t v = 0; v < o->value_count && lat_feature_value_is_false(o->values[a.value[i]]) == on; v++)
            if (lat_feature_value_is_false(o->values[v]) != on)
                a.value[i] = v;
    }
    return a;
}

static enum lat_status add_builtin_sets(struct reader *r, const struct lat_yaml_node *node)
{
    static const char *const names[] = { "default", "all-off", "all-on" };
    struct lat_feature_model *m = r->model;
    struct lat_assignment wishes[] = { lat_feature_default(m), extreme(m, false), extreme(m, true) };
    for (size_t i = 0; i < 3; i++) {
        struct lat_feature_set *set = &m->sets[m->set_count++];
        *set = (struct lat_feature_set){ .name = names[i], .a = lat_feature_unset() };
        if (i == 0 && !lat_feature_legal(m, &wishes[0]))
            return lat_yaml_error(r->error, r->doc, node, "the default assignment is illegal: it breaks the constraints");
        if (lat_feature_complete(m, &set->a, &wishes[i], LAT_FEATURE_RULES_MAX, r->error) != LAT_OK)
            return lat_yaml_error(r->error, r->doc, node, "the constraints allow no assignment");
        set->repaired = !lat_feature_equal(m, &set->a, &wishes[i]);
    }
    return LAT_OK;
}

static enum lat_status read_set(struct reader *r, const struct lat_yaml_node *node, struct lat_assignment *a)
{
    const struct lat_feature_model *m = r->model;
    if (node->kind != LAT_YAML_MAPPING)
        return lat_yaml_error(r->error, r->doc, node, "set '%s': expected {OPTION: value, ...}", node->key);
    for (const struct lat_yaml_node *n = node->child; n; n = n->next) {
        size_t i = 0, v = 0;
        while (i < m->option_count && strcmp(m->options[i].name, n->key) != 0)
            i++;
        if (i == m->option_count)
            return lat_yaml_error(r->error, r->doc, n, "set '%s': there is no option '%s'", node->key, n->key);
        while (n->kind == LAT_YAML_SCALAR && v < m->options[i].value_count && strcmp(m->options[i].values[v], n->text) != 0)
            v++;
        if (n->kind != LAT_YAML_SCALAR || v == m->options[i].value_count)
            return lat_yaml_error(r->error, r->doc, n, "set '%s': '%s' has no such value", node->key, n->key);
        a->value[i] = (uint8_t)v;
    }
    return LAT_OK;
}

static enum lat_status read_sets(struct reader *r, const struct lat_yaml_node *map)
{
    struct lat_feature_model *m = r->model;
    if (map && map->kind != LAT_YAML_MAPPING)
        return lat_yaml_error(r->error, r->doc, map, "'sets': expected NAME: {OPTION: value, ...}");
    for (const struct lat_yaml_node *n = map ? map->child : NULL; n; n = n->next) {
        if (lat_feature_set_find(m, n->key))
            return lat_yaml_error(r->error, r->doc, n, "set '%s' exists already", n->key);
        if (m->set_count == LAT_FEATURE_SETS_MAX)
            return lat_yaml_error(r->error, r->doc, n, "more than %d sets", LAT_FEATURE_SETS_MAX);
        struct lat_feature_set *set = &m->sets[m->set_count++];
        *set = (struct lat_feature_set){ .name = n->key, .a = lat_feature_default(m) };
        LAT_TRY(read_set(r, n, &set->a));
        if (!lat_feature_legal(m, &set->a))
            return lat_yaml_error(r->error, r->doc, n, "set '%s' breaks the constraints", n->key);
    }
    return LAT_OK;
}

static enum lat_status read_model(struct reader *r, const struct lat_yaml_node *node)
{
    LAT_TRY(read_options(r, lat_yaml_get(node, "options")));
    LAT_TRY(read_requires(r, lat_yaml_get(node, "requires")));
    LAT_TRY(read_groups(r, node, "conflicts", true, false));
    LAT_TRY(read_groups(r, node, "at_least_one", false, true));
    LAT_TRY(read_groups(r, node, "exactly_one", true, true));
    LAT_TRY(read_forbid(r, lat_yaml_get(node, "forbid")));
    LAT_TRY(add_builtin_sets(r, node));
    return read_sets(r, lat_yaml_get(node, "sets"));
}

enum lat_status lat_feature_model_read(struct lat_feature_model *model, struct lat_yaml *doc, const struct lat_yaml_node *node,
                                       struct lat_error *error)
{
    struct reader r = { model, doc, error };
    memset(model, 0, sizeof *model);
    lat_arena_init(&model->arena, ARENA_MAX);
    enum lat_status status = read_model(&r, node);
    if (status != LAT_OK)
        lat_feature_model_release(model);
    return status;
}

void lat_feature_model_release(struct lat_feature_model *model)
{
    lat_arena_release(&model->arena);
    model->option_count = model->rule_count = model->set_count = 0;
}

const struct lat_feature_set *lat_feature_set_find(const struct lat_feature_model *m, const char *name)
{
    for (size_t i = 0; i < m->set_count; i++)
        if (strcmp(m->sets[i].name, name) == 0)
            return &m->sets[i];
    return NULL;
}

bool lat_feature_equal(const struct lat_feature_model *m, const struct lat_assignment *a, const struct lat_assignment *b)
{
    return memcmp(a->value, b->value, m->option_count) == 0;
}

void lat_feature_describe(const struct lat_feature_model *m, const struct lat_assignment *a, bool difference, struct lat_buf *out)
{
    size_t shown = 0;
    for (size_t i = 0; i < m->option_count; i++) {
        const struct lat_feature_option *o = &m->options[i];
        if (a->value[i] >= o->value_count || (difference && a->value[i] == o->preset))
            continue;
        lat_buf_addf(out, "%s%s=%s", shown++ ? " " : "", o->name, o->values[a->value[i]]);
    }
    if (shown == 0)
        lat_buf_add_text(out, "default");
}
