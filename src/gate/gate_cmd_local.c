// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate local`: the whole gate on this machine: plan, every needed leg, evidence, verdict.
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/gate_cmd.h"
#include "gate/gate_place.h"
#include "gate/gate_verdict_table.h"
#include "gate/leg_run.h"

struct local_values {
    const char *policy, *work;
    struct lat_texts only;
    bool all, verbose;
};

#define AT(field) offsetof(struct local_values, field)

struct local {
    struct lat_policy policy;
    struct lat_gate_place place;
    struct lat_plan plan;
    struct lat_leg_evidence_set set;
    struct lat_verdict verdict;
    enum lat_leg_state states[LAT_POLICY_LEGS_MAX];
};

// Evidence of earlier runs would stand in the way of this one's.
static void remove_old(const char *work)
{
    char *folder = lat_file_path_join(work, "results");
    DIR *dir = folder ? opendir(folder) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
    lat_mem_free(folder);
}

static const char not_chosen[] = "not among the legs chosen by --only";

// Without a choice every leg is needed; else those chosen, and what they need.
static enum lat_status make_plan(struct local *l, const struct local_values *v, struct lat_error *error)
{
    const struct lat_policy_leg *wanted[LAT_POLICY_LEGS_MAX], *order[LAT_POLICY_LEGS_MAX];
    struct lat_leg_need needs[LAT_POLICY_LEGS_MAX];
    if (v->all && v->only.count)
        return lat_error_set(error, LAT_ARGUMENT, "--all and --only exclude each other");
    for (size_t i = 0; i < v->only.count; i++) {
        wanted[i] = lat_policy_leg_find(&l->policy, v->only.items[i]);
        if (!wanted[i])
            return lat_error_set(error, LAT_ARGUMENT, "there is no leg '%.80s' in %.200s", v->only.items[i], l->place.policy);
    }
    for (size_t i = 0; i < l->policy.leg_count; i++)
        needs[i] = (struct lat_leg_need){ false, not_chosen };
    size_t count = lat_legs_order(&l->policy, wanted, v->only.count, true, order);
    for (size_t i = 0; i < count; i++)
        needs[order[i] - l->policy.legs] = (struct lat_leg_need){ true, "chosen by --only, or needed by one that is" };
    for (size_t i = 0; v->only.count == 0 && i < l->policy.leg_count; i++) {
        bool required = l->policy.legs[i].required;
        needs[i] = (struct lat_leg_need){ required || v->all, required ? "required" : "only informs: --all runs it" };
    }
    LAT_TRY(lat_plan_make(&l->plan, &l->policy, l->place.root, needs, error));
    l->plan.partial = v->only.count > 0;
    return LAT_OK;
}

static enum lat_status open_all(struct local *l, const struct local_values *v, struct lat_error *error)
{
    LAT_TRY(lat_gate_place_find(&l->place, v->policy, v->work, error));
    LAT_TRY(lat_policy_read(&l->policy, l->place.policy, error));
    LAT_TRY(lat_legs_check(&l->policy, error));
    LAT_TRY(make_plan(l, v, error));
    remove_old(l->place.work);
    char *path = lat_file_path_join(l->place.work, "plan.json");
    enum lat_status status = path ? lat_plan_write(&l->plan, path, error) : lat_error_memory(error, "a path");
    lat_mem_free(path);
    for (size_t i = 0; i < LAT_POLICY_LEGS_MAX; i++)
        l->states[i] = LAT_LEG_NOT_REQUIRED;
    return status;
}

static const char *red_need(const struct local *l, const struct lat_policy_leg *leg)
{
    for (size_t i = 0; i < leg->needs.count; i++) {
        const struct lat_policy_leg *need = lat_policy_leg_find(&l->policy, leg->needs.items[i]);
        if (need && l->states[need - l->policy.legs] >= LAT_LEG_UNMEASURABLE)
            return need->name;
    }
    return NULL;
}

static enum lat_status run_leg(struct local *l, const struct lat_policy_leg *leg, bool verbose, struct lat_error *error)
{
    struct lat_gate_run run = { .root = l->place.root, .work = l->place.work, .policy = &l->policy, .verbose = verbose };
    struct lat_leg_result result;
    const char *need = red_need(l, leg);
    fprintf(stderr, "leg %s ...\n", leg->name);
    if (need)
        lat_leg_not_run(leg, need, &result);
    else
        lat_leg_run(&run, leg, &result);
    l->states[leg - l->policy.legs] = result.state;
    fprintf(stderr, "leg %s: %s, %.1f s\n", leg->name, lat_leg_state_name(result.state), result.seconds);
    enum lat_status status = lat_leg_evidence_write(&result, &l->plan, l->place.work, error);
    lat_leg_result_release(&result);
    return status;
}

// The tree must still be what the plan says: a leg that writes into it judges something else than what will be merged.
static enum lat_status check_tree(const struct local *l, struct lat_error *error)
{
    char now[72];
    LAT_TRY(lat_plan_tree(l->place.root, now, error));
    if (strcmp(now, l->plan.tree) != 0)
        return lat_error_set(error, LAT_FAILED, "V201: the tree changed while it was judged (a leg wrote into it, or somebody edited it)");
    return LAT_OK;
}

static enum lat_status judge(struct local *l, bool verbose, struct lat_error *error)
{
    const struct lat_policy_leg *wanted[LAT_POLICY_LEGS_MAX], *order[LAT_POLICY_LEGS_MAX];
    size_t needed = 0;
    for (size_t i = 0; i < l->policy.leg_count; i++)
        if (l->plan.legs[i].needed)
            wanted[needed++] = &l->policy.legs[i];
    size_t count = lat_legs_order(&l->policy, wanted, needed, true, order);
    for (size_t i = 0; i < count; i++)
        LAT_TRY(run_leg(l, order[i], verbose, error));
    LAT_TRY(check_tree(l, error));
    char *path = lat_file_path_join(l->place.work, "results");
    enum lat_status status = path ? lat_leg_evidence_set_read(&l->set, path, error) : lat_error_memory(error, "a path");
    lat_mem_free(path);
    return status == LAT_OK ? lat_verdict_of(&l->verdict, &l->plan, &l->set, NULL, 0, error) : status;
}

static int run_local(int argc, char **argv, const struct lat_command *self)
{
    struct local_values values = { 0 };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    struct lat_buf out;
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    struct local *l = lat_mem_new(1, sizeof *l);
    if (!l)
        return LAT_GATE_CANNOT_JUDGE;
    lat_buf_init(&out, 1 << 24);
    int code = LAT_GATE_CANNOT_JUDGE;
    if (open_all(l, &values, &error) != LAT_OK || judge(l, values.verbose, &error) != LAT_OK) {
        code = lat_gate_complain(&error);
        lat_buf_add_text(&out, "verdict: ERROR\n");
    } else {
        code = lat_gate_exit_of(l->verdict.state);
        if (l->plan.partial)
            lat_buf_add_text(&out, "only some legs were judged: this is no verdict over the whole\n");
        lat_verdict_table(&out, &l->verdict, &l->set, lat_gate_color(stdout));
    }
    if (!lat_gate_print(&out))
        code = LAT_GATE_CANNOT_JUDGE;
    lat_buf_release(&out);
    lat_policy_release(&l->policy);
    lat_plan_release(&l->plan);
    lat_leg_evidence_set_release(&l->set);
    lat_mem_free(l);
    return code;
}

static const struct lat_option local_options[] = {
    { "--policy", "FILE", "the policy (gate.yaml here or in the nearest folder above)", LAT_OPTION_TEXT, AT(policy) },
    { "--work", "DIR", "where plan, logs and evidence go (.gate beside the policy)", LAT_OPTION_TEXT, AT(work) },
    { "--only", "LEG", "only this leg and what it needs; may be given again", LAT_OPTION_TEXTS, AT(only) },
    { "--all", NULL, "also the legs that only inform", LAT_OPTION_FLAG, AT(all) },
    { "--verbose", NULL, "progress of the legs on standard error", LAT_OPTION_FLAG, AT(verbose) },
};

const struct lat_command lat_gate_cmd_local = {
    .program = "lattice-gate",
    .name = "local",
    .operands = "",
    .summary = "the whole gate on this machine: every leg of gate.yaml, and the verdict in one table",
    .details = "Legs run after those that they need. Exit status: 0 green, 1 a required leg failed, 2 something could not be judged,\n"
               "3 not measurable.\n",
    .options = local_options,
    .option_count = sizeof local_options / sizeof local_options[0],
    .run = run_local,
};
