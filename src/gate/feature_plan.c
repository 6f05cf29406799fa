// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/feature_plan.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "gate/covering.h"

static const char *const keys[] = { "mode",     "max_assignments", "configure", "test_configure", "test_on",  "unlisted",    "min_tests",
                                    "options",  "requires",        "conflicts", "at_least_one",   "exactly_one", "forbid", "sets", NULL };

static enum lat_status read_keys(struct lat_feature_plan *p, struct lat_policy *policy, const struct lat_policy_leg *leg,
                                 struct lat_error *error)
{
    struct lat_yaml *doc = &policy->doc;
    LAT_TRY(lat_policy_leg_keys_check(policy, leg, keys, error));
    LAT_TRY(lat_yaml_read_text(doc, leg->node, "mode", &p->mode, error));
    LAT_TRY(lat_yaml_read_count(doc, leg->node, "max_assignments", LAT_FEATURE_ROWS_MAX, &p->max_assignments, error));
    LAT_TRY(lat_yaml_read_texts(doc, leg->node, "configure", &p->configure, error));
    LAT_TRY(lat_yaml_read_texts(doc, leg->node, "test_configure", &p->test_configure, error));
    LAT_TRY(lat_yaml_read_texts(doc, leg->node, "test_on", &p->test_on, error));
    LAT_TRY(lat_yaml_read_texts(doc, leg->node, "unlisted", &p->unlisted, error));
    LAT_TRY(lat_yaml_read_count(doc, leg->node, "min_tests", UINT32_MAX, &p->min_tests, error));
    LAT_TRY(lat_feature_model_read(&p->model, doc, leg->node, error));
    for (size_t i = 0; i < p->test_on.count; i++)
        if (!lat_feature_set_find(&p->model, p->test_on.items[i]))
            return lat_yaml_error(error, doc, lat_yaml_get(leg->node, "test_on"), "leg '%s': there is no set '%s'", leg->name,
                                  p->test_on.items[i]);
    return LAT_OK;
}

static enum lat_status add_once(struct lat_feature_plan *p, const struct lat_assignment *a, struct lat_error *error)
{
    for (size_t i = 0; i < p->rows.count; i++)
        if (lat_feature_equal(&p->model, &p->rows.items[i], a))
            return LAT_OK;
    return lat_feature_rows_add(&p->rows, a, error);
}

// The default with one option changed at a time, to each of its other values, as far as that is legal.
static enum lat_status add_each(struct lat_feature_plan *p, struct lat_error *error)
{
    struct lat_assignment base = lat_feature_default(&p->model);
    for (size_t o = 0; o < p->model.option_count; o++)
        for (uint8_t v = 0; v < p->model.options[o].value_count; v++) {
            struct lat_assignment a = lat_feature_unset();
            struct lat_error unused = { 0 };
            a.value[o] = v;
            if (v != base.value[o] && lat_feature_complete(&p->model, &a, &base, LAT_FEATURE_RULES_MAX, &unused) == LAT_OK)
                LAT_TRY(add_once(p, &a, error));
        }
    return LAT_OK;
}

static enum lat_status add_covering(struct lat_feature_plan *p, size_t strength, struct lat_error *error)
{
    struct lat_covering covering;
    struct lat_assignment seed = lat_feature_default(&p->model);
    LAT_TRY(lat_covering_new(&covering, &p->model, strength, &seed, 1, error));
    enum lat_status status = LAT_OK;
    for (size_t i = 0; i < covering.rows.count && status == LAT_OK; i++)
        status = add_once(p, &covering.rows.items[i], error);
    snprintf(p->coverage, sizeof p->coverage, "all %zu legal %s of values in %zu assignments", covering.tuples,
             strength == 2 ? "pairs" : "triples", covering.rows.count);
    lat_covering_release(&covering);
    return status;
}

static enum lat_status choose(struct lat_feature_plan *p, struct lat_policy *policy, const struct lat_policy_leg *leg,
                              struct lat_error *error)
{
    for (size_t i = 0; i < p->test_on.count; i++)
        LAT_TRY(add_once(p, &lat_feature_set_find(&p->model, p->test_on.items[i])->a, error));
    if (strcmp(p->mode, "t2") == 0 || strcmp(p->mode, "t3") == 0)
        return add_covering(p, (size_t)(p->mode[1] - '0'), error);
    if (strcmp(p->mode, "exhaustive") == 0) {
        struct lat_feature_rows all = { 0 };
        enum lat_status status = lat_feature_enumerate(&p->model, p->max_assignments, &all, error);
        for (size_t i = 0; i < all.count && status == LAT_OK; i++)
            status = add_once(p, &all.items[i], error);
        snprintf(p->coverage, sizeof p->coverage, "all %zu legal assignments", all.count);
        lat_feature_rows_release(&all);
        return status;
    }
    bool each = strcmp(p->mode, "each") == 0;
    if (!each && strcmp(p->mode, "list") != 0)
        return lat_yaml_error(error, &policy->doc, lat_yaml_get(leg->node, "mode"),
                              "leg '%s': mode '%.40s': expected list, each, t2, t3 or exhaustive", leg->name, p->mode);
    for (size_t i = 0; i < p->model.set_count; i++)
        LAT_TRY(add_once(p, &p->model.sets[i].a, error));
    if (each)
        LAT_TRY(add_each(p, error));
    snprintf(p->coverage, sizeof p->coverage, "%zu %s", p->rows.count, each ? "assignments: the sets, and each value once" : "named sets");
    return LAT_OK;
}

enum lat_status lat_feature_plan_make(struct lat_feature_plan *plan, struct lat_policy *policy, const struct lat_policy_leg *leg,
                                      const char *mode, struct lat_error *error)
{
    *plan = (struct lat_feature_plan){ .mode = "t2", .max_assignments = 256 };
    LAT_TRY(read_keys(plan, policy, leg, error));
    if (mode)
        plan->mode = mode;
    return choose(plan, policy, leg, error);
}

void lat_feature_plan_release(struct lat_feature_plan *plan)
{
    lat_feature_rows_release(&plan->rows);
    lat_feature_model_release(&plan->model);
}
