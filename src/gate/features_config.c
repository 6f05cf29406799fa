// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/features_config.h"

#include <string.h>

#include "core/error.h"
#include "gate/covering.h"
#include "gate/glob.h"

static const char *const mode_names[] = { "list", "each", "t2", "t3", "exhaustive-tu" };
static const char *const own_keys[] = { "mode", "max_assignments", "fallback", "always_assign", "test_on", "tests", "source", "configure",
                                        "test_configure", "min_tests",
                                        "unlisted", "dead_option", "jobs" };

bool lat_features_mode_parse(const char *name, enum lat_features_mode *out)
{
    for (size_t i = 0; i < sizeof mode_names / sizeof mode_names[0]; i++)
        if (strcmp(mode_names[i], name) == 0) {
            *out = (enum lat_features_mode)i;
            return true;
        }
    return false;
}

const char *lat_features_mode_name(enum lat_features_mode mode) { return mode_names[mode]; }

struct reader {
    struct lat_features_config *c;
    struct lat_policy *policy;
    const struct lat_policy_leg *leg;
    struct lat_error *error;
};

static enum lat_status wrong(const struct reader *r, const char *key, const char *text)
{
    const struct lat_yaml_node *n = lat_yaml_get(r->leg->node, key);
    return lat_yaml_error(r->error, &r->policy->doc, n ? n : r->leg->node, "leg '%s': %s", r->leg->name, text);
}

static enum lat_status read_mode(const struct reader *r, const char *key, enum lat_features_mode *out)
{
    const char *text = NULL;
    LAT_TRY(lat_yaml_read_text(&r->policy->doc, r->leg->node, key, &text, r->error));
    if (text && !lat_features_mode_parse(text, out))
        return wrong(r, key, "expected exhaustive-tu, t3, t2, each or list");
    return LAT_OK;
}

static enum lat_status check_sets(const struct reader *r)
{
    for (size_t i = 0; i < r->c->always.count; i++)
        if (!lat_feature_set_find(&r->c->model, r->c->always.items[i]))
            return wrong(r, "always_assign", "'always_assign' names a set that does not exist");
    for (size_t i = 0; i < r->c->ignore.count; i++) {
        struct lat_error why = { 0 };
        if (lat_glob_check(r->c->ignore.items[i], &why) != LAT_OK)
            return wrong(r, "unlisted", why.text);
    }
    return LAT_OK;
}

static enum lat_status add_test_set(const struct reader *r, const struct lat_yaml_node *at, const char *name, uint64_t least)
{
    struct lat_features_config *c = r->c;
    const struct lat_feature_set *set = lat_feature_set_find(&c->model, name);
    if (!set)
        return lat_yaml_error(r->error, &r->policy->doc, at, "leg '%s': there is no set '%s'", r->leg->name, name);
    if (c->test_count == LAT_FEATURE_SETS_MAX)
        return wrong(r, "test_on", "too many sets");
    if (least == 0)
        return lat_yaml_error(r->error, &r->policy->doc, at, "leg '%s': expected 'min_tests' of at least 1; no test proves nothing",
                              r->leg->name);
    c->test_min[c->test_count] = least;
    c->tests[c->test_count++] = *set;
    return LAT_OK;
}

static enum lat_status read_test_sets(const struct reader *r)
{
    const struct lat_yaml_node *map = lat_yaml_get(r->leg->node, "test_on");
    uint64_t least = 0;
    LAT_TRY(lat_yaml_read_count(&r->policy->doc, r->leg->node, "min_tests", LAT_RESULTS_CASES_MAX, &least, r->error));
    if (map && map->kind == LAT_YAML_MAPPING) {
        for (const struct lat_yaml_node *n = map->child; n; n = n->next) {
            LAT_TRY(lat_yaml_read_count(&r->policy->doc, map, n->key, LAT_RESULTS_CASES_MAX, &least, r->error));
            LAT_TRY(add_test_set(r, n, n->key, least));
        }
        return LAT_OK;
    }
    struct lat_text_list names = { 0 };
    LAT_TRY(lat_yaml_read_texts(&r->policy->doc, r->leg->node, "test_on", &names, r->error));
    for (size_t i = 0; i < names.count; i++)
        LAT_TRY(add_test_set(r, map, names.items[i], least));
    return LAT_OK;
}

static enum lat_status read_tests(const struct reader *r)
{
    static const char *const known[] = { "run", "parse", "skips_allow", NULL };
    static const char *const ctest[] = { "ctest", "--test-dir", "{build}", "--output-junit", "{out}", "--no-tests=error" };
    const struct lat_yaml_node *map = lat_yaml_get(r->leg->node, "tests");
    struct lat_features_config *c = r->c;
    const char *parse = "junit";
    c->test_run = (struct lat_text_list){ ctest, sizeof ctest / sizeof ctest[0] };
    if (map) {
        LAT_TRY(lat_yaml_check_keys(&r->policy->doc, map, known, r->error));
        LAT_TRY(lat_yaml_read_texts(&r->policy->doc, map, "run", &c->test_run, r->error));
        LAT_TRY(lat_yaml_read_text(&r->policy->doc, map, "parse", &parse, r->error));
        LAT_TRY(lat_yaml_read_texts(&r->policy->doc, map, "skips_allow", &c->skips_allow, r->error));
    }
    if (!lat_results_format_parse(parse, &c->test_format) || c->test_format == LAT_RESULTS_EXIT)
        return wrong(r, "tests", "'tests': expected 'parse': junit, ctest, cmocka or tap, which count tests");
    if (c->test_run.count == 0)
        return wrong(r, "tests", "'tests': expected 'run', a program and its arguments as a list");
    return read_test_sets(r);
}

static enum lat_status check_keys(const struct reader *r)
{
    const char *known[64] = { NULL };
    size_t n = 0;
    for (size_t i = 0; lat_feature_model_keys[i]; i++)
        known[n++] = lat_feature_model_keys[i];
    for (size_t i = 0; i < sizeof own_keys / sizeof own_keys[0]; i++)
        known[n++] = own_keys[i];
    return lat_policy_leg_keys_check(r->policy, r->leg, known, r->error);
}

static enum lat_status read_config(const struct reader *r)
{
    struct lat_features_config *c = r->c;
    struct lat_yaml *doc = &r->policy->doc;
    const struct lat_yaml_node *n = r->leg->node;
    LAT_TRY(check_keys(r));
    LAT_TRY(read_mode(r, "mode", &c->mode));
    LAT_TRY(read_mode(r, "fallback", &c->fallback));
    if (c->fallback == LAT_FEATURES_EXHAUSTIVE)
        return wrong(r, "fallback", "'fallback': expected t3, t2, each or list");
    LAT_TRY(lat_yaml_read_count(doc, n, "max_assignments", LAT_FEATURE_ROWS_MAX, &c->max_assignments, r->error));
    LAT_TRY(lat_yaml_read_count(doc, n, "jobs", LAT_RESULTS_CASES_MAX, &c->jobs, r->error));
    LAT_TRY(lat_yaml_read_texts(doc, n, "always_assign", &c->always, r->error));
    LAT_TRY(lat_yaml_read_texts(doc, n, "configure", &c->configure, r->error));
    c->test_configure = c->configure;
    LAT_TRY(lat_yaml_read_texts(doc, n, "test_configure", &c->test_configure, r->error));
    LAT_TRY(lat_yaml_read_texts(doc, n, "unlisted", &c->ignore, r->error));
    LAT_TRY(lat_yaml_read_text(doc, n, "source", &c->source, r->error));
    LAT_TRY(lat_yaml_read_text(doc, n, "dead_option", &c->dead_option, r->error));
    if (strcmp(c->dead_option, "warn") != 0 && strcmp(c->dead_option, "fail") != 0 && strcmp(c->dead_option, "ignore") != 0)
        return wrong(r, "dead_option", "'dead_option': expected warn, fail or ignore");
    if (c->max_assignments == 0 || c->jobs > 256)
        return wrong(r, c->jobs > 256 ? "jobs" : "max_assignments", "expected 1 to 256 jobs and at least 1 assignment");
    LAT_TRY(check_sets(r));
    return read_tests(r);
}

enum lat_status lat_features_config_read(struct lat_features_config *config, struct lat_policy *policy, const struct lat_policy_leg *leg,
                                         struct lat_error *error)
{
    static const char *const always[] = { "default", "all-off", "all-on" };
    struct reader r = { config, policy, leg, error };
    *config = (struct lat_features_config){ .mode = LAT_FEATURES_EXHAUSTIVE, .fallback = LAT_FEATURES_T3, .max_assignments = 4096,
                                            .always = { always, 3 }, .source = ".", .dead_option = "warn" };
    LAT_TRY(lat_feature_model_read(&config->model, &policy->doc, leg->node, error));
    enum lat_status status = read_config(&r);
    if (status != LAT_OK)
        lat_features_config_release(config);
    return status;
}

void lat_features_config_release(struct lat_features_config *config) { lat_feature_model_release(&config->model); }

static enum lat_status add_once(const struct lat_feature_model *m, struct lat_feature_rows *rows, const struct lat_assignment *a,
                                struct lat_error *error)
{
    for (size_t i = 0; i < rows->count; i++)
        if (lat_feature_equal(m, &rows->items[i], a))
            return LAT_OK;
    return lat_feature_rows_add(rows, a, error);
}

// The default, and each other value of each option with as few further changes as the constraints need.
static enum lat_status plan_each(const struct lat_feature_model *m, struct lat_feature_rows *rows, struct lat_error *error)
{
    struct lat_assignment wish = lat_feature_default(m);
    LAT_TRY(lat_feature_rows_add(rows, &wish, error));
    for (size_t i = 0; i < m->option_count; i++)
        for (uint8_t v = 0; v < m->options[i].value_count; v++) {
            struct lat_assignment a = lat_feature_unset();
            a.value[i] = v;
            enum lat_status status = lat_feature_complete(m, &a, &wish, LAT_FEATURE_RULES_MAX, error);
            if (status == LAT_OK)
                status = add_once(m, rows, &a, error);
            if (status != LAT_NOT_FOUND)
                LAT_TRY(status);
        }
    return LAT_OK;
}

static enum lat_status plan_covering(struct lat_features_plan *plan, const struct lat_features_config *c, size_t strength,
                                     struct lat_error *error)
{
    struct lat_assignment seeds[LAT_FEATURE_SETS_MAX];
    struct lat_covering covering;
    for (size_t i = 0; i < c->always.count && i < LAT_FEATURE_SETS_MAX; i++)
        seeds[i] = lat_feature_set_find(&c->model, c->always.items[i])->a;
    LAT_TRY(lat_covering_new(&covering, &c->model, strength, seeds, c->always.count < LAT_FEATURE_SETS_MAX ? c->always.count : 0, error));
    plan->rows = covering.rows;
    plan->tuples = covering.tuples;
    plan->excluded = covering.excluded;
    return LAT_OK;
}

static enum lat_status plan_rows(struct lat_features_plan *plan, const struct lat_features_config *c, struct lat_error *error)
{
    const struct lat_feature_model *m = &c->model;
    enum lat_status status = LAT_OK;
    switch (plan->mode) {
    case LAT_FEATURES_EXHAUSTIVE:
        status = lat_feature_enumerate(m, c->max_assignments, &plan->rows, error);
        if (status == LAT_LIMIT) {
            lat_feature_rows_release(&plan->rows);
            plan->fell_back = true;
            plan->mode = c->fallback;
            return plan_rows(plan, c, error);
        }
        plan->all_rows = true;
        return status;
    case LAT_FEATURES_LIST:
        for (size_t i = 0; i < m->set_count && status == LAT_OK; i++)
            status = add_once(m, &plan->rows, &m->sets[i].a, error);
        return status;
    case LAT_FEATURES_EACH:
        return plan_each(m, &plan->rows, error);
    case LAT_FEATURES_T2:
        return plan_covering(plan, c, 2, error);
    case LAT_FEATURES_T3:
        return plan_covering(plan, c, 3, error);
    }
    return status;
}

enum lat_status lat_features_plan_make(struct lat_features_plan *plan, const struct lat_features_config *config, size_t part, size_t parts,
                                       struct lat_error *error)
{
    struct lat_feature_rows legal = { 0 };
    *plan = (struct lat_features_plan){ .mode = config->mode };
    enum lat_status status = lat_feature_enumerate(&config->model, config->max_assignments, &legal, NULL);
    plan->legal = status == LAT_OK ? legal.count : 0;
    lat_feature_rows_release(&legal);
    status = plan_rows(plan, config, error);
    if (status != LAT_OK) {
        lat_features_plan_release(plan);
        return status;
    }
    size_t kept = 0;
    plan->total = plan->rows.count;
    for (size_t i = 0; i < plan->total; i++)
        if (i % parts == part - 1)
            plan->rows.items[kept++] = plan->rows.items[i];
    plan->rows.count = kept;
    plan->all_rows = plan->all_rows && parts == 1;
    return LAT_OK;
}

void lat_features_plan_release(struct lat_features_plan *plan) { lat_feature_rows_release(&plan->rows); }
