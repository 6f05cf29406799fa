// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate plan`: the plan of a run whose legs run elsewhere, one by one (jobs of a workflow). Every leg of the policy is
// needed: what a change cannot reach is not looked into.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/gate_cmd.h"
#include "gate/gate_place.h"
#include "gate/plan.h"

struct plan_values {
    const char *policy, *work;
    bool all, github_output;
};

#define AT(field) offsetof(struct plan_values, field)

struct planner {
    struct lat_gate_place place;
    struct lat_policy policy;
    struct lat_plan plan;
};

static enum lat_status make(struct planner *p, const struct plan_values *v, struct lat_error *error)
{
    struct lat_leg_need needs[LAT_POLICY_LEGS_MAX];
    LAT_TRY(lat_gate_place_find(&p->place, v->policy, v->work, error));
    LAT_TRY(lat_policy_read(&p->policy, p->place.policy, error));
    for (size_t i = 0; i < p->policy.leg_count; i++) {
        bool required = p->policy.legs[i].required;
        needs[i] = (struct lat_leg_need){ required || v->all, required ? "required" : "only informs: --all runs it" };
    }
    LAT_TRY(lat_plan_make(&p->plan, &p->policy, p->place.root, needs, error));
    char *path = lat_file_path_join(p->place.work, "plan.json");
    enum lat_status status = path ? lat_plan_write(&p->plan, path, error) : lat_error_memory(error, "a path");
    lat_mem_free(path);
    return status;
}

// legs=["unit","tidy"] for $GITHUB_OUTPUT; names of legs are plain words, which the policy sees to.
static void add_legs(const struct lat_plan *plan, bool json, struct lat_buf *out)
{
    bool any = false;
    lat_buf_add_text(out, json ? "legs=[" : "");
    for (size_t i = 0; i < plan->leg_count; i++) {
        if (!plan->legs[i].needed)
            continue;
        if (json)
            lat_buf_addf(out, "%s\"%s\"", any ? "," : "", plan->legs[i].name);
        else
            lat_buf_addf(out, "%s: %s\n", plan->legs[i].name, plan->legs[i].reason);
        any = true;
    }
    lat_buf_add_text(out, json ? "]\n" : "");
}

static enum lat_status append_output(const struct lat_plan *plan, struct lat_error *error)
{
    const char *path = getenv("GITHUB_OUTPUT");
    struct lat_buf text;
    if (!path)
        return lat_error_set(error, LAT_ARGUMENT, "--github-output: there is no GITHUB_OUTPUT");
    lat_buf_init(&text, 1 << 16);
    add_legs(plan, true, &text);
    FILE *file = text.failed ? NULL : fopen(path, "ae");
    bool fine = file && fwrite(text.bytes, 1, text.length, file) == text.length;
    if (file && fclose(file) != 0)
        fine = false;
    lat_buf_release(&text);
    return fine ? LAT_OK : lat_error_set(error, LAT_IO, "%s: cannot write", path);
}

static int run_plan(int argc, char **argv, const struct lat_command *self)
{
    struct plan_values values = { 0 };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    struct lat_buf out;
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    struct planner *p = lat_mem_new(1, sizeof *p);
    if (!p)
        return LAT_GATE_CANNOT_JUDGE;
    lat_buf_init(&out, 1 << 20);
    enum lat_status status = make(p, &values, &error);
    if (status == LAT_OK && values.github_output)
        status = append_output(&p->plan, &error);
    add_legs(&p->plan, false, &out);
    int code = status != LAT_OK ? lat_gate_complain(&error) : lat_gate_print(&out) ? LAT_GATE_PASS : LAT_GATE_CANNOT_JUDGE;
    lat_buf_release(&out);
    lat_plan_release(&p->plan);
    lat_policy_release(&p->policy);
    lat_mem_free(p);
    return code;
}

static const struct lat_option plan_options[] = {
    { "--policy", "FILE", "the policy (gate.yaml here or in the nearest folder above)", LAT_OPTION_TEXT, AT(policy) },
    { "--work", "DIR", "where the plan goes (.gate beside the policy)", LAT_OPTION_TEXT, AT(work) },
    { "--all", NULL, "also the legs that only inform", LAT_OPTION_FLAG, AT(all) },
    { "--github-output", NULL, "also 'legs', a JSON list of names, into $GITHUB_OUTPUT", LAT_OPTION_FLAG, AT(github_output) },
};

const struct lat_command lat_gate_cmd_plan = {
    .program = "lattice-gate",
    .name = "plan",
    .operands = "",
    .summary = "writes the plan that `run` and `verdict` are held to, for legs that run elsewhere one by one",
    .options = plan_options,
    .option_count = sizeof plan_options / sizeof plan_options[0],
    .run = run_plan,
};
