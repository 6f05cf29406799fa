// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate features plan`: what a features leg would build, without building it.
#include <string.h>

#include "core/error.h"
#include "gate/feature_plan.h"
#include "gate/gate_cmd.h"
#include "gate/gate_place.h"

struct features_values {
    const char *policy, *leg, *mode;
};

#define AT(field) offsetof(struct features_values, field)

static const struct lat_policy_leg *find_leg(const struct lat_policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->leg_count; i++)
        if (strcmp(policy->legs[i].kind, "features") == 0 && (!name || strcmp(policy->legs[i].name, name) == 0))
            return &policy->legs[i];
    return NULL;
}

static enum lat_status print_plan(struct lat_policy *policy, const struct features_values *v, struct lat_feature_plan *plan,
                                  struct lat_buf *out, struct lat_error *error)
{
    const struct lat_policy_leg *leg = find_leg(policy, v->leg);
    if (!leg)
        return lat_error_set(error, LAT_ARGUMENT, "the policy has no leg of kind features%s%s", v->leg ? " named " : "",
                             v->leg ? v->leg : "");
    LAT_TRY(lat_feature_plan_make(plan, policy, leg, v->mode, error));
    for (size_t i = 0; i < plan->rows.count; i++) {
        lat_feature_describe(&plan->model, &plan->rows.items[i], false, out);
        lat_buf_add_char(out, '\n');
    }
    lat_buf_addf(out, "%zu to build: %s\n", plan->rows.count, plan->coverage);
    return LAT_OK;
}

static int run_plan(int argc, char **argv, const struct lat_command *self)
{
    struct features_values values = { 0 };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    struct lat_buf out;
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    struct lat_gate_place *place = lat_mem_new(1, sizeof *place);
    struct lat_policy *policy = lat_mem_new(1, sizeof *policy);
    struct lat_feature_plan *plan = lat_mem_new(1, sizeof *plan);
    int code = LAT_GATE_CANNOT_JUDGE;
    lat_buf_init(&out, 1 << 26);
    if (place && policy && plan) {
        enum lat_status status = lat_gate_place_find(place, values.policy, NULL, &error);
        if (status == LAT_OK)
            status = lat_policy_read(policy, place->policy, &error);
        if (status == LAT_OK)
            status = print_plan(policy, &values, plan, &out, &error);
        code = status != LAT_OK ? lat_gate_complain(&error) : lat_gate_print(&out) ? LAT_GATE_PASS : LAT_GATE_CANNOT_JUDGE;
        lat_feature_plan_release(plan);
        lat_policy_release(policy);
    }
    lat_buf_release(&out);
    lat_mem_free(plan);
    lat_mem_free(policy);
    lat_mem_free(place);
    return code;
}

static const struct lat_option plan_options[] = {
    { "--policy", "FILE", "the policy (gate.yaml here or in the nearest folder above)", LAT_OPTION_TEXT, AT(policy) },
    { "--leg", "LEG", "the leg (the first of kind features)", LAT_OPTION_TEXT, AT(leg) },
    { "--mode", "MODE", "list, each, t2, t3 or exhaustive, instead of the leg's", LAT_OPTION_TEXT, AT(mode) },
};

const struct lat_command lat_gate_cmd_features_plan = {
    .program = "lattice-gate",
    .name = "features plan",
    .operands = "",
    .summary = "the assignments of build options that a features leg builds, and what they cover",
    .options = plan_options,
    .option_count = sizeof plan_options / sizeof plan_options[0],
    .run = run_plan,
};
