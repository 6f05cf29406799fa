// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/verdict.h"

#include <string.h>

static void make_worse(struct lat_verdict_leg *leg, enum lat_leg_state state, const char *code, const char *why)
{
    if (state <= leg->state && leg->code)
        return; // the first rule that gave this state is named
    if (state >= leg->state) {
        leg->code = code;
        leg->why = why;
    }
    leg->state = lat_leg_state_worse(leg->state, state);
}

// A result that stands for another run, tree or attempt says nothing of this one.
static void judge_result(struct lat_verdict_leg *leg, const struct lat_witness *w)
{
    leg->state = lat_leg_state_worse(leg->state, w->state);
    if (!w->nonce_fits)
        make_worse(leg, LAT_LEG_ERROR, "V201", "the result is of another run: its nonce is not the plan's");
    if (!w->tree_fits)
        make_worse(leg, LAT_LEG_ERROR, "V201", "the result is of another tree");
    if (!w->attempt_fits)
        make_worse(leg, LAT_LEG_ERROR, "V207", "the result is of another attempt");
    if (w->state == LAT_LEG_NOT_REQUIRED)
        make_worse(leg, LAT_LEG_ERROR, "V204", "the result says that it was not needed, which only the plan may say");
    bool green = w->state < LAT_LEG_UNMEASURABLE;
    if (green && w->process_status != 0)
        make_worse(leg, LAT_LEG_ERROR, "V203", "the result says pass, its process did not");
    if (green && (w->population < w->population_min || w->population == 0))
        make_worse(leg, LAT_LEG_ERROR, "V205", "the result says pass, and less was looked at than must be");
}

static void judge_second(struct lat_verdict_leg *leg, const char *result)
{
    if (strcmp(result, "success") == 0)
        return;
    if (strcmp(result, "failure") == 0)
        make_worse(leg, LAT_LEG_FAIL, "V203", "the platform says that the job failed");
    else if (strcmp(result, "skipped") != 0 || leg->plan->needed)
        make_worse(leg, LAT_LEG_ERROR, "V204", "the platform says that the job did not come to its end");
}

static struct lat_verdict_leg join_leg(const struct lat_plan_leg *plan, const struct lat_witness *results, size_t count,
                                       const struct lat_second_witness *second, size_t second_count)
{
    struct lat_verdict_leg leg = { .plan = plan, .state = LAT_LEG_PASS };
    size_t seen = 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(results[i].leg, plan->name) == 0) {
            seen++;
            judge_result(&leg, &results[i]);
        }
    if (seen == 0 && plan->needed)
        make_worse(&leg, LAT_LEG_ERROR, "V202", "there is no result, and the plan needs one");
    if (seen == 0 && !plan->needed)
        leg.state = LAT_LEG_NOT_REQUIRED;
    if (seen > 1)
        make_worse(&leg, LAT_LEG_ERROR, "V202", "there are several results");
    for (size_t i = 0; i < second_count; i++)
        if (strcmp(second[i].leg, plan->name) == 0)
            judge_second(&leg, second[i].result);
    return leg;
}

void lat_verdict_join(struct lat_verdict *verdict, const struct lat_plan *plan, const struct lat_witness *results, size_t count,
                      size_t unreadable, const struct lat_second_witness *second, size_t second_count)
{
    *verdict = (struct lat_verdict){ .state = LAT_LEG_PASS, .unreadable = unreadable };
    size_t required = 0;
    for (size_t i = 0; i < plan->leg_count; i++) {
        struct lat_verdict_leg *leg = &verdict->legs[verdict->count++];
        *leg = join_leg(&plan->legs[i], results, count, second, second_count);
        required += plan->legs[i].required;
        if (plan->legs[i].required)
            verdict->state = lat_leg_state_worse(verdict->state, leg->state);
    }
    for (size_t i = 0; i < count; i++)
        verdict->unknown += lat_plan_find(plan, results[i].leg) == NULL;
    for (size_t i = 0; i < second_count; i++)
        verdict->unknown += lat_plan_find(plan, second[i].leg) == NULL;
    // An empty plan, or evidence that nobody asked for or can read: not green.
    if (required == 0 || verdict->unknown > 0 || unreadable > 0)
        verdict->state = LAT_LEG_ERROR;
}
