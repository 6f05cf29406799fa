// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/policy.h"

#include <string.h>

#include "core/error.h"
#include "gate/glob.h"

enum { SCHEMA = 1, LIST_MAX = 1000, KEYS_MAX = 64 };

static const char *const kinds[] = { "command", "features", "bench-compile", "deny", "feeds", "parity", "doctor", NULL };
static const char *const leg_keys[] = { "kind", "required", "areas", "needs", "budget", "rss_max", "min", "tools", NULL };

static bool holds(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

// A member that must be there.
static enum lat_status need(const struct lat_policy *p, const struct lat_yaml_node *map, const char *key, const char *what,
                            const struct lat_yaml_node **out, struct lat_error *error)
{
    *out = lat_yaml_get(map, key);
    return *out ? LAT_OK : lat_yaml_error(error, &p->doc, map, "'%s' is missing: expected %s", key, what);
}

// Names become parts of file names, of job outputs and of messages.
static enum lat_status check_name(const struct lat_policy *p, const struct lat_yaml_node *n, const char *what, struct lat_error *error)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    struct lat_yaml_node at = { .line = n->key_line, .column = n->key_column };
    size_t length = strlen(n->key);
    if (length > 64 || n->key[0] == '-' || n->key[strspn(n->key, allowed)])
        return lat_yaml_error(error, &p->doc, &at, "%s '%.80s': expected at most 64 letters, digits, '-' and '_'", what, n->key);
    return LAT_OK;
}

// A list of texts, none of them twice, none empty.
static enum lat_status read_list(struct lat_policy *p, const struct lat_yaml_node *map, const char *key, struct lat_text_list *out,
                                 struct lat_error *error)
{
    const struct lat_yaml_node *n = lat_yaml_get(map, key);
    LAT_TRY(lat_yaml_read_texts(&p->doc, map, key, out, error));
    if (!n)
        return LAT_OK;
    if (out->count > LIST_MAX)
        return lat_yaml_error(error, &p->doc, n, "'%s': more than %d items", key, LIST_MAX);
    const struct lat_yaml_node *item = n->kind == LAT_YAML_SEQUENCE ? n->child : n;
    for (size_t i = 0; i < out->count; i++, item = item->next) {
        if (!*out->items[i])
            return lat_yaml_error(error, &p->doc, item, "'%s': an empty text", key);
        for (size_t k = 0; k < i; k++)
            if (strcmp(out->items[i], out->items[k]) == 0)
                return lat_yaml_error(error, &p->doc, item, "'%s': '%.80s' stands twice", key, out->items[i]);
    }
    return LAT_OK;
}

static enum lat_status read_globs(struct lat_policy *p, const struct lat_yaml_node *map, const char *key, struct lat_text_list *out,
                                  struct lat_error *error)
{
    LAT_TRY(read_list(p, map, key, out, error));
    const struct lat_yaml_node *n = lat_yaml_get(map, key);
    if (!n)
        return LAT_OK;
    const struct lat_yaml_node *item = n->kind == LAT_YAML_SEQUENCE ? n->child : n;
    for (size_t i = 0; i < out->count; i++, item = item->next) {
        struct lat_error why = { 0 };
        if (lat_glob_check(out->items[i], &why) != LAT_OK)
            return lat_yaml_error(error, &p->doc, item, "'%s': %s", key, why.text);
    }
    return LAT_OK;
}

static enum lat_status read_schema(struct lat_policy *p, struct lat_error *error)
{
    const struct lat_yaml_node *n = lat_yaml_get(p->doc.root, "schema");
    if (!n)
        return lat_yaml_error(error, &p->doc, p->doc.root, "'schema' is missing: expected 'schema: %d' (is this a policy of the gate?)",
                              SCHEMA);
    if (n->kind != LAT_YAML_SCALAR || !n->plain || strcmp(n->text, "1") != 0)
        return lat_yaml_error(error, &p->doc, n, "'schema': expected %d, the only one that this program reads, not %.40s", SCHEMA,
                              n->kind == LAT_YAML_SCALAR ? n->text : "a collection");
    return LAT_OK;
}

static enum lat_status read_project(struct lat_policy *p, struct lat_error *error)
{
    static const char *const known[] = { "name", "default_branch", NULL };
    const struct lat_yaml_node *n = NULL, *name = NULL;
    LAT_TRY(need(p, p->doc.root, "project", "'name' and 'default_branch'", &n, error));
    LAT_TRY(lat_yaml_check_keys(&p->doc, n, known, error));
    LAT_TRY(need(p, n, "name", "a text", &name, error));
    LAT_TRY(lat_yaml_read_text(&p->doc, n, "name", &p->project, error));
    LAT_TRY(lat_yaml_read_text(&p->doc, n, "default_branch", &p->default_branch, error));
    if (!*p->project || !*p->default_branch)
        return lat_yaml_error(error, &p->doc, n, "'project': expected a name and a branch, not an empty text");
    return LAT_OK;
}

static enum lat_status read_paths(struct lat_policy *p, struct lat_error *error)
{
    static const char *const known[] = { "always", "inert", "inert_except", NULL };
    const struct lat_yaml_node *n = lat_yaml_get(p->doc.root, "paths");
    LAT_TRY(lat_yaml_check_keys(&p->doc, n, known, error));
    LAT_TRY(read_globs(p, n, "always", &p->always, error));
    LAT_TRY(read_globs(p, n, "inert", &p->inert, error));
    return read_globs(p, n, "inert_except", &p->inert_except, error);
}

static enum lat_status need_collection(const struct lat_policy *p, const char *key, enum lat_yaml_kind kind, const char *what,
                                       const struct lat_yaml_node **out, struct lat_error *error)
{
    LAT_TRY(need(p, p->doc.root, key, what, out, error));
    if ((*out)->kind != kind || (*out)->count == 0)
        return lat_yaml_error(error, &p->doc, *out, "'%s': expected %s", key, what);
    return LAT_OK;
}

static enum lat_status read_areas(struct lat_policy *p, struct lat_error *error)
{
    const struct lat_yaml_node *n = NULL;
    LAT_TRY(need_collection(p, "areas", LAT_YAML_MAPPING, "at least one 'name: [globs]'", &n, error));
    for (const struct lat_yaml_node *c = n->child; c; c = c->next) {
        LAT_TRY(check_name(p, c, "area", error));
        if (p->area_count == LAT_POLICY_AREAS_MAX)
            return lat_yaml_error(error, &p->doc, c, "more than %d areas", LAT_POLICY_AREAS_MAX);
        struct lat_policy_area *area = &p->areas[p->area_count++];
        area->name = c->key;
        LAT_TRY(read_globs(p, n, c->key, &area->globs, error));
        if (area->globs.count == 0)
            return lat_yaml_error(error, &p->doc, c, "area '%s': expected at least one pattern", c->key);
    }
    return LAT_OK;
}

static bool area_exists(const struct lat_policy *p, const char *name)
{
    for (size_t i = 0; i < p->area_count; i++)
        if (strcmp(p->areas[i].name, name) == 0)
            return true;
    return strcmp(name, "*") == 0;
}

static enum lat_status check_leg_areas(const struct lat_policy *p, const struct lat_policy_leg *leg, struct lat_error *error)
{
    const struct lat_yaml_node *n = lat_yaml_get(leg->node, "areas");
    if (leg->areas.count == 0)
        return lat_yaml_error(error, &p->doc, n ? n : leg->node, "leg '%s': expected 'areas', names of areas or \"*\"", leg->name);
    for (size_t i = 0; i < leg->areas.count; i++)
        if (!area_exists(p, leg->areas.items[i]))
            return lat_yaml_error(error, &p->doc, n, "leg '%s': there is no area '%.80s'", leg->name, leg->areas.items[i]);
    return LAT_OK;
}

static enum lat_status read_leg(struct lat_policy *p, const struct lat_yaml_node *n, struct lat_error *error)
{
    const struct lat_yaml_node *kind = NULL;
    LAT_TRY(check_name(p, n, "leg", error));
    if (p->leg_count == LAT_POLICY_LEGS_MAX)
        return lat_yaml_error(error, &p->doc, n, "more than %d legs", LAT_POLICY_LEGS_MAX);
    struct lat_policy_leg *leg = &p->legs[p->leg_count++];
    *leg = (struct lat_policy_leg){ .name = n->key, .node = n, .required = true };
    if (n->kind != LAT_YAML_MAPPING)
        return lat_yaml_error(error, &p->doc, n, "leg '%s': expected keys and values", n->key);
    LAT_TRY(need(p, n, "kind", "one of command, features, bench-compile, deny, feeds, parity, doctor", &kind, error));
    LAT_TRY(lat_yaml_read_text(&p->doc, n, "kind", &leg->kind, error));
    if (!holds(kinds, leg->kind))
        return lat_yaml_error(error, &p->doc, kind,
                              "leg '%s': there is no kind '%.40s'; expected command, features, bench-compile, deny, feeds, parity, doctor",
                              n->key, leg->kind);
    LAT_TRY(lat_yaml_read_bool(&p->doc, n, "required", &leg->required, error));
    LAT_TRY(read_list(p, n, "areas", &leg->areas, error));
    LAT_TRY(check_leg_areas(p, leg, error));
    LAT_TRY(read_list(p, n, "needs", &leg->needs, error));
    LAT_TRY(lat_yaml_read_duration(&p->doc, n, "budget", &leg->budget_s, error));
    LAT_TRY(lat_yaml_read_bytes(&p->doc, n, "rss_max", &leg->rss_max, error));
    LAT_TRY(lat_yaml_read_count(&p->doc, n, "min", 1u << 30, &leg->population_min, error));
    if (lat_yaml_get(n, "budget") && leg->budget_s < 1)
        return lat_yaml_error(error, &p->doc, lat_yaml_get(n, "budget"), "leg '%s': a budget of no time", n->key);
    if (lat_yaml_get(n, "min") && leg->population_min == 0)
        return lat_yaml_error(error, &p->doc, lat_yaml_get(n, "min"), "leg '%s': expected a minimum of at least 1; nothing proves nothing",
                              n->key);
    return read_list(p, n, "tools", &leg->tools, error);
}

// Legs reachable from `at` by needs; a leg that reaches itself never starts.
static bool needs_itself(const struct lat_policy *p, const struct lat_policy_leg *start, const struct lat_policy_leg *at,
                         bool seen[LAT_POLICY_LEGS_MAX])
{
    for (size_t i = 0; i < at->needs.count; i++) {
        const struct lat_policy_leg *next = lat_policy_leg_find(p, at->needs.items[i]);
        if (next == start)
            return true;
        if (!next || seen[next - p->legs])
            continue;
        seen[next - p->legs] = true;
        if (needs_itself(p, start, next, seen))
            return true;
    }
    return false;
}

static enum lat_status check_needs(const struct lat_policy *p, struct lat_error *error)
{
    for (size_t i = 0; i < p->leg_count; i++) {
        const struct lat_policy_leg *leg = &p->legs[i];
        const struct lat_yaml_node *n = lat_yaml_get(leg->node, "needs");
        bool seen[LAT_POLICY_LEGS_MAX] = { false };
        for (size_t k = 0; k < leg->needs.count; k++)
            if (!lat_policy_leg_find(p, leg->needs.items[k]))
                return lat_yaml_error(error, &p->doc, n, "leg '%s' needs '%.80s', which is no leg", leg->name, leg->needs.items[k]);
        if (needs_itself(p, leg, leg, seen))
            return lat_yaml_error(error, &p->doc, n, "leg '%s' needs itself, directly or through others", leg->name);
    }
    return LAT_OK;
}

static enum lat_status read_legs(struct lat_policy *p, struct lat_error *error)
{
    const struct lat_yaml_node *n = NULL;
    LAT_TRY(need_collection(p, "legs", LAT_YAML_MAPPING, "at least one 'name: {kind: ..., areas: ...}'", &n, error));
    for (const struct lat_yaml_node *c = n->child; c; c = c->next)
        LAT_TRY(read_leg(p, c, error));
    return check_needs(p, error);
}

static bool is_date(const char *text)
{
    static const char shape[] = "dddd-dd-dd";
    static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    if (strlen(text) != sizeof shape - 1)
        return false;
    for (size_t i = 0; shape[i]; i++)
        if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
            return false;
    int year = (text[0] - '0') * 1000 + (text[1] - '0') * 100 + (text[2] - '0') * 10 + text[3] - '0';
    int month = (text[5] - '0') * 10 + text[6] - '0', day = (text[8] - '0') * 10 + text[9] - '0';
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] && (month != 2 || day < 29 || leap);
}

static enum lat_status check_waiver(const struct lat_policy *p, const struct lat_yaml_node *n, struct lat_error *error)
{
    static const char *const known[] = { "leg", "code", "path", "anchor", "rung", "issue", "reason", "owner", "until", NULL };
    static const char *const needed[] = { "leg", "reason", "owner", "until" };
    static const char *const anchors[] = { "code", "path", "anchor", "rung" };
    bool anchored = false;
    LAT_TRY(lat_yaml_check_keys(&p->doc, n, known, error));
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
        if (!lat_yaml_get(n, needed[i]))
            return lat_yaml_error(error, &p->doc, n, "a waiver needs '%s' (leg, reason, owner and until, each)", needed[i]);
    for (const struct lat_yaml_node *c = n->child; c; c = c->next) {
        const char *text = "";
        LAT_TRY(lat_yaml_read_text(&p->doc, n, c->key, &text, error));
        if (!*text)
            return lat_yaml_error(error, &p->doc, c, "'%s' of a waiver: an empty text", c->key);
    }
    for (size_t i = 0; i < sizeof anchors / sizeof anchors[0]; i++)
        anchored = anchored || lat_yaml_get(n, anchors[i]);
    if (!anchored)
        return lat_yaml_error(error, &p->doc, n, "a waiver needs something it is tied to: code, path, anchor or rung");
    const struct lat_yaml_node *leg = lat_yaml_get(n, "leg"), *until = lat_yaml_get(n, "until");
    if (!lat_policy_leg_find(p, leg->text))
        return lat_yaml_error(error, &p->doc, leg, "a waiver for '%.80s', which is no leg", leg->text);
    if (!is_date(until->text))
        return lat_yaml_error(error, &p->doc, until, "'until': expected a date like 2026-12-31, not '%.40s'", until->text);
    return LAT_OK;
}

static enum lat_status read_waivers(struct lat_policy *p, struct lat_error *error)
{
    const struct lat_yaml_node *n = lat_yaml_get(p->doc.root, "waivers");
    if (!n)
        return LAT_OK;
    if (n->kind != LAT_YAML_SEQUENCE)
        return lat_yaml_error(error, &p->doc, n, "'waivers': expected a list");
    for (const struct lat_yaml_node *c = n->child; c; c = c->next)
        LAT_TRY(check_waiver(p, c, error));
    p->waivers = n;
    return LAT_OK;
}

// An area may be called like any text, so keys of the top level only are known here; legs' own keys are their kinds'.
static enum lat_status read_document(struct lat_policy *p, struct lat_error *error)
{
    static const char *const known[] = { "schema", "project", "paths", "areas", "legs", "waivers", NULL };
    if (!p->doc.root)
        return lat_error_set(error, LAT_FORMAT, "%.150s:1:1: an empty file: expected 'schema: %d'", p->doc.name, SCHEMA);
    if (p->doc.root->kind != LAT_YAML_MAPPING)
        return lat_yaml_error(error, &p->doc, p->doc.root, "expected keys and values, with 'schema: %d'", SCHEMA);
    LAT_TRY(read_schema(p, error));
    LAT_TRY(lat_yaml_check_keys(&p->doc, p->doc.root, known, error));
    LAT_TRY(read_project(p, error));
    LAT_TRY(read_paths(p, error));
    LAT_TRY(read_areas(p, error));
    LAT_TRY(read_legs(p, error));
    return read_waivers(p, error);
}

static enum lat_status finish(struct lat_policy *p, enum lat_status parsed, struct lat_error *error)
{
    p->default_branch = "main";
    enum lat_status status = parsed == LAT_OK ? read_document(p, error) : parsed;
    if (status != LAT_OK)
        lat_policy_release(p);
    return status;
}

enum lat_status lat_policy_parse(struct lat_policy *policy, const char *text, size_t length, const char *name, struct lat_error *error)
{
    *policy = (struct lat_policy){ 0 };
    return finish(policy, lat_yaml_parse(&policy->doc, text, length, name, error), error);
}

enum lat_status lat_policy_read(struct lat_policy *policy, const char *path, struct lat_error *error)
{
    *policy = (struct lat_policy){ 0 };
    return finish(policy, lat_yaml_read(&policy->doc, path, error), error);
}

void lat_policy_release(struct lat_policy *policy)
{
    lat_yaml_release(&policy->doc);
    *policy = (struct lat_policy){ 0 };
}

const struct lat_policy_leg *lat_policy_leg_find(const struct lat_policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->leg_count; i++)
        if (strcmp(policy->legs[i].name, name) == 0)
            return &policy->legs[i];
    return NULL;
}

enum lat_status lat_policy_leg_keys_check(const struct lat_policy *policy, const struct lat_policy_leg *leg, const char *const *own,
                                          struct lat_error *error)
{
    const char *known[KEYS_MAX] = { NULL };
    size_t count = 0;
    for (const char *const *k = leg_keys; *k; k++)
        known[count++] = *k;
    for (; own && *own; own++) {
        LAT_BUG_IF(count == KEYS_MAX - 1);
        known[count++] = *own;
    }
    return lat_yaml_check_keys(&policy->doc, leg->node, known, error);
}

// Looks for patterns of one list that match no path.
struct dead_search {
    const char *const *paths;
    size_t path_count;
    struct lat_policy_dead_glob *out;
    size_t out_max, found;
};

static void search_list(struct dead_search *s, const struct lat_yaml_node *n, const char *key, bool is_area)
{
    if (!n)
        return;
    const struct lat_yaml_node *item = n->kind == LAT_YAML_SEQUENCE ? n->child : n;
    size_t alive = 0, first = s->found, total = n->kind == LAT_YAML_SEQUENCE ? n->count : 1;
    for (size_t k = 0; k < total; k++, item = item->next) {
        size_t i = 0;
        while (i < s->path_count && !lat_glob_match(item->text, s->paths[i], strlen(s->paths[i])))
            i++;
        if (i < s->path_count)
            alive++;
        else if (s->found++ < s->out_max)
            s->out[s->found - 1] = (struct lat_policy_dead_glob){ .list = key, .pattern = item->text, .line = item->line,
                                                                  .column = item->column };
    }
    for (size_t i = first; is_area && alive == 0 && i < s->found && i < s->out_max; i++)
        s->out[i].whole_area = true;
}

size_t lat_policy_dead_globs(const struct lat_policy *policy, const char *const *paths, size_t path_count,
                             struct lat_policy_dead_glob *out, size_t out_max)
{
    struct dead_search s = { .paths = paths, .path_count = path_count, .out = out, .out_max = out_max };
    static const char *const lists[] = { "always", "inert", "inert_except" };
    const struct lat_yaml_node *rules = lat_yaml_get(policy->doc.root, "paths"), *areas = lat_yaml_get(policy->doc.root, "areas");
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        search_list(&s, lat_yaml_get(rules, lists[i]), lists[i], false);
    for (const struct lat_yaml_node *c = areas ? areas->child : NULL; c; c = c->next)
        search_list(&s, c, c->key, true);
    return s.found;
}
