// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate run LEG...`: the legs named, after those that they need.
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/evidence.h"
#include "gate/gate_cmd.h"
#include "gate/gate_place.h"
#include "gate/leg_run.h"

struct run_values {
    const char *policy, *work;
    bool no_needs, verbose;
};

#define AT(field) offsetof(struct run_values, field)

struct session {
    struct lat_policy policy;
    struct lat_gate_place place;
    const struct lat_policy_leg *order[LAT_POLICY_LEGS_MAX];
    enum lat_leg_state states[LAT_POLICY_LEGS_MAX]; // as in policy.legs; NOT_REQUIRED: not run here
    size_t count;
    struct lat_plan plan; // of WORK/plan.json, where there is one: then each result becomes evidence
    bool planned;
};

static void print_finding(const struct lat_finding *f, bool color)
{
    printf("  %s%s %s%s ", lat_gate_color_of(f->state, color), lat_leg_state_name(f->state), f->code, lat_gate_color_end(color));
    for (const char *c = f->path ? f->path : ""; *c; c++) // bytes of a stranger
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            printf("\\x%02x", (unsigned char)*c);
        else
            putchar(*c);
    if (f->path && f->line)
        printf(":%zu", f->line);
    printf("%s%s\n", f->path ? ": " : "", f->message);
    if (f->fix)
        printf("       fix: %s\n", f->fix);
}

static void print_result(const struct lat_leg_result *r, bool color)
{
    printf("%s%-12s%s %s: %llu %s", lat_gate_color_of(r->state, color), lat_leg_state_name(r->state), lat_gate_color_end(color), r->leg,
           (unsigned long long)r->population, r->population_unit);
    if (r->population_min)
        printf(" (at least %llu)", (unsigned long long)r->population_min);
    if (r->failed || r->skipped)
        printf(", %llu failed, %llu skipped", (unsigned long long)r->failed, (unsigned long long)r->skipped);
    printf(", %.1f s", r->seconds);
    if (r->rss_peak)
        printf(", %llu MiB", (unsigned long long)(r->rss_peak >> 20));
    putchar('\n');
    for (size_t i = 0; i < r->finding_count; i++)
        print_finding(&r->findings[i], color);
    if (r->findings_dropped)
        printf("  and %zu findings more\n", r->findings_dropped);
    fflush(stdout);
}

// A leg that this one needs, and that was run here and is red; NULL when there is none.
static const char *red_need(const struct session *s, const struct lat_policy_leg *leg)
{
    for (size_t i = 0; i < leg->needs.count; i++) {
        const struct lat_policy_leg *need = lat_policy_leg_find(&s->policy, leg->needs.items[i]);
        if (need && s->states[need - s->policy.legs] >= LAT_LEG_UNMEASURABLE)
            return need->name;
    }
    return NULL;
}

static enum lat_leg_state run_legs(struct session *s, bool verbose)
{
    struct lat_gate_run run = { .root = s->place.root, .work = s->place.work, .policy = &s->policy, .verbose = verbose };
    enum lat_leg_state worst = LAT_LEG_PASS;
    bool color = lat_gate_color(stdout);
    for (size_t i = 0; i < s->count; i++) {
        struct lat_leg_result result;
        const char *need = red_need(s, s->order[i]);
        if (need)
            lat_leg_not_run(s->order[i], need, &result);
        else
            lat_leg_run(&run, s->order[i], &result);
        print_result(&result, color);
        if (s->planned) {
            struct lat_error error = { 0 };
            if (lat_leg_evidence_write(&result, &s->plan, s->place.work, &error) != LAT_OK)
                worst = lat_leg_state_worse(worst, lat_gate_complain(&error) ? LAT_LEG_ERROR : LAT_LEG_PASS);
        }
        s->states[s->order[i] - s->policy.legs] = result.state;
        worst = lat_leg_state_worse(worst, result.state);
        lat_leg_result_release(&result);
    }
    return worst;
}

static enum lat_status open_session(struct session *s, const struct run_values *v, const struct lat_operands *names,
                                    struct lat_error *error)
{
    const struct lat_policy_leg *wanted[LAT_OPERANDS_MAX];
    LAT_TRY(lat_gate_place_find(&s->place, v->policy, v->work, error));
    LAT_TRY(lat_policy_read(&s->policy, s->place.policy, error));
    LAT_TRY(lat_legs_check(&s->policy, error));
    for (size_t i = 0; i < names->count; i++) {
        wanted[i] = lat_policy_leg_find(&s->policy, names->items[i]);
        if (!wanted[i])
            return lat_error_set(error, LAT_ARGUMENT, "there is no leg '%.80s' in %.200s", names->items[i], s->place.policy);
    }
    s->count = lat_legs_order(&s->policy, wanted, names->count, !v->no_needs, s->order);
    for (size_t i = 0; i < LAT_POLICY_LEGS_MAX; i++)
        s->states[i] = LAT_LEG_NOT_REQUIRED;
    char *plan = lat_file_path_join(s->place.work, "plan.json");
    enum lat_status status = plan ? LAT_OK : lat_error_memory(error, "a path");
    if (plan && lat_file_exists(plan)) {
        s->planned = true;
        status = lat_plan_read(&s->plan, plan, error);
    }
    lat_mem_free(plan);
    return status;
}

static int run_run(int argc, char **argv, const struct lat_command *self)
{
    struct run_values values = { 0 };
    struct lat_operands names;
    struct lat_error error = { 0 };
    int code = LAT_GATE_CANNOT_JUDGE;
    if (lat_options_parse(self, argc, argv, &values, &names, &error) != LAT_OK)
        return lat_gate_complain(&error);
    struct session *s = lat_mem_new(1, sizeof *s);
    if (!s)
        return LAT_GATE_CANNOT_JUDGE;
    if (open_session(s, &values, &names, &error) != LAT_OK)
        code = lat_gate_complain(&error);
    else {
        struct lat_buf nothing;
        lat_buf_init(&nothing, 0);
        code = lat_gate_exit_of(run_legs(s, values.verbose));
        if (!lat_gate_print(&nothing)) // what was printed did not arrive
            code = LAT_GATE_CANNOT_JUDGE;
    }
    lat_policy_release(&s->policy);
    lat_plan_release(&s->plan);
    lat_mem_free(s);
    return code;
}

static const struct lat_option run_options[] = {
    { "--policy", "FILE", "the policy (gate.yaml here or in the nearest folder above)", LAT_OPTION_TEXT, AT(policy) },
    { "--work", "DIR", "where logs and evidence go (.gate beside the policy)", LAT_OPTION_TEXT, AT(work) },
    { "--no-needs", NULL, "do not run the legs that these need", LAT_OPTION_FLAG, AT(no_needs) },
    { "--verbose", NULL, "progress on standard error", LAT_OPTION_FLAG, AT(verbose) },
};

const struct lat_command lat_gate_cmd_run = {
    .program = "lattice-gate",
    .name = "run",
    .operands = "LEG...",
    .operands_min = 1,
    .operands_max = LAT_OPERANDS_MAX,
    .summary = "runs legs of gate.yaml, after those that they need, and says what they found",
    .details = "Exit status: that of the worst leg: 1 FAIL, 2 ERROR, 3 UNMEASURABLE, else 0.\n",
    .options = run_options,
    .option_count = sizeof run_options / sizeof run_options[0],
    .run = run_run,
};
