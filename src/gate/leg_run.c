// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/leg_run.h"

#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "gate/spawn.h"

enum lat_status lat_legs_check(struct lat_policy *policy, struct lat_error *error)
{
    for (size_t i = 0; i < policy->leg_count; i++) {
        const struct lat_policy_leg *leg = &policy->legs[i];
        const struct lat_leg_kind *kind = lat_leg_kind_find(leg->kind);
        if (!kind)
            return lat_yaml_error(error, &policy->doc, lat_yaml_get(leg->node, "kind"),
                                  "leg '%s': legs of kind '%s' cannot be run by this build", leg->name, leg->kind);
        LAT_TRY(kind->check(policy, leg, error));
    }
    return LAT_OK;
}

static bool tools_are_there(const struct lat_policy_leg *leg, struct lat_leg_result *result)
{
    char path[4096];
    bool all = true;
    for (size_t i = 0; i < leg->tools.count; i++)
        if (!lat_spawn_find(leg->tools.items[i], path, sizeof path)) {
            lat_leg_find(result, LAT_LEG_ERROR, "E301", NULL, 0, "install it, or correct 'tools' of the leg", "'%s' is not in PATH",
                         leg->tools.items[i]);
            all = false;
        }
    return all;
}

static const char *code_of(enum lat_status status)
{
    if (status == LAT_IO)
        return "E302";
    return status == LAT_LIMIT || status == LAT_MEMORY ? "E304" : "E305";
}

void lat_leg_run(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result)
{
    const struct lat_leg_kind *kind = lat_leg_kind_find(leg->kind);
    struct lat_error error = { 0 };
    double start = lat_clock_seconds();
    lat_leg_result_init(result, leg->name);
    result->population_min = leg->population_min;
    if (!kind)
        lat_leg_find(result, LAT_LEG_ERROR, "E305", NULL, 0, NULL, "legs of kind '%s' cannot be run by this build", leg->kind);
    else if (tools_are_there(leg, result)) {
        enum lat_status status = kind->run(run, leg, result, &error);
        if (status != LAT_OK)
            lat_leg_find(result, LAT_LEG_ERROR, code_of(status), NULL, 0, NULL, "cannot judge: %s", error.text);
    }
    result->seconds = lat_clock_seconds() - start;
    // A leg that says itself why it did not get so far needs no second reason.
    if (result->state < LAT_LEG_ERROR || result->population > 0)
        lat_leg_result_close(result);
}

void lat_leg_not_run(const struct lat_policy_leg *leg, const char *need, struct lat_leg_result *result)
{
    lat_leg_result_init(result, leg->name);
    result->population_min = leg->population_min;
    lat_leg_find(result, LAT_LEG_ERROR, "V204", NULL, 0, "repair that one first", "not run: it needs '%s', which is not green", need);
}

static void add_in_order(const struct lat_policy *policy, const struct lat_policy_leg *leg, bool with_needs,
                         bool placed[LAT_POLICY_LEGS_MAX], const struct lat_policy_leg **order, size_t *count,
                         const bool wanted[LAT_POLICY_LEGS_MAX])
{
    size_t index = (size_t)(leg - policy->legs);
    if (placed[index])
        return;
    placed[index] = true; // needs have no cycles: the policy was checked
    for (size_t i = 0; i < leg->needs.count; i++) {
        const struct lat_policy_leg *need = lat_policy_leg_find(policy, leg->needs.items[i]);
        if (need)
            add_in_order(policy, need, with_needs, placed, order, count, wanted);
    }
    if (with_needs || wanted[index])
        order[(*count)++] = leg;
}

size_t lat_legs_order(const struct lat_policy *policy, const struct lat_policy_leg *const *wanted, size_t wanted_count, bool with_needs,
                      const struct lat_policy_leg **order)
{
    bool placed[LAT_POLICY_LEGS_MAX] = { false }, is_wanted[LAT_POLICY_LEGS_MAX] = { false };
    size_t count = 0;
    for (size_t i = 0; i < wanted_count; i++)
        is_wanted[wanted[i] - policy->legs] = true;
    for (size_t i = 0; i < wanted_count; i++)
        add_in_order(policy, wanted[i], with_needs, placed, order, &count, is_wanted);
    return count;
}
