// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The required check itself: D05 to D09, D17, D19; and what only shows over all files: D03, D05, D21.
#include <stdlib.h>
#include <string.h>

#include "gate/workflow_rules.h"

// The condition without `${{ }}` and blanks is exactly always().
static bool is_always(const char *condition)
{
    char text[400];
    size_t n = 0;
    for (const char *c = condition; *c && n < sizeof text - 1; c++)
        if (!strchr(" \t\n${}", *c))
            text[n++] = *c;
    text[n] = '\0';
    return strcmp(text, "always()") == 0;
}

// D05, D06
static void check_name(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_workflow_job *job)
{
    const struct lat_yaml_node *name = lat_yaml_get(job->node, "name");
    bool computed = strstr(job->name, "${{") != NULL;
    if (job->matrix)
        LINT_KEY(lint, "D05", w, job->node, "the required check '%s' comes from a matrix: each change of the matrix changes the "
                 "checks' names", job->name);
    else if (computed)
        LINT_AT(lint, "D05", w, name, "the name of a required check is computed: '%s'", job->name);
    const struct lat_yaml_node *condition = lat_yaml_get(job->node, "if");
    if (job->matrix && condition)
        LINT_KEY(lint, "D06", w, condition, "a matrix that is skipped reports once, as '%s': the checks that are required never "
                 "come", job->id);
}

// D07
static void check_condition(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_workflow_job *job)
{
    const struct lat_yaml_node *condition = lat_yaml_get(job->node, "if");
    bool needs = lat_yaml_get(job->node, "needs") != NULL;
    if (!condition && needs)
        LINT_KEY(lint, "D07", w, job->node, "'%s' is skipped when a job that it needs fails, and a skipped check counts as "
                 "green: 'if: always()' is missing", job->id);
    if (!condition || is_always(lat_workflow_text(condition)))
        return;
    const char *text = lat_workflow_text(condition);
    if (strstr(text, "cancelled()") && !strstr(text, "always()"))
        LINT_KEY(lint, "D07", w, condition, "'%s' is skipped in a cancelled run, and a skipped check counts as green", job->id);
    else if (!job->matrix) // that is D06
        LINT_KEY(lint, "D07", w, condition, "'%s' is a required check that can be skipped, and a skipped check counts as green", job->id);
}

// ---- D08

// Jobs whose result a required job need not know: those after it, and those that may fail.
static bool may_be_left_out(const struct lat_lint *lint, const struct lat_workflow *w, const struct lat_workflow_job *job,
                            const struct lat_workflow_job *gate)
{
    return job == gate || lat_lint_required(lint, job) || lat_workflow_depends(w, job, gate->id) || lat_workflow_not_on_pull_request(job) ||
        strcmp(lat_workflow_text(lat_yaml_get(job->node, "continue-on-error")), "true") == 0;
}

// The policy names legs: only jobs that run a required one, or the plan, must be needed.
static bool only_optional(const struct lat_policy *policy, const struct lat_workflow_job *job)
{
    if (!policy || !job->runs_legs || job->all_legs)
        return false;
    for (size_t i = 0; i < job->legs.count; i++) {
        const struct lat_policy_leg *leg = lat_policy_leg_find(policy, job->legs.items[i]);
        if (!leg || leg->required)
            return false;
    }
    return true;
}

static bool runs(const struct lat_workflow_job *job, const char *leg)
{
    for (size_t i = 0; i < job->legs.count; i++)
        if (strcmp(job->legs.items[i], leg) == 0)
            return true;
    return job->all_legs;
}

static void check_legs_of_policy(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_workflow_job *gate)
{
    const struct lat_policy *policy = lint->options->policy;
    bool any = false;
    for (size_t i = 0; i < lint->count; i++)
        for (size_t k = 0; k < lint->workflows[i].job_count; k++)
            any = any || lint->workflows[i].jobs[k].runs_legs;
    for (size_t i = 0; policy && any && i < policy->leg_count; i++) {
        bool found = !policy->legs[i].required;
        for (size_t k = 0; k < lint->count && !found; k++)
            for (size_t j = 0; j < lint->workflows[k].job_count && !found; j++)
                found = runs(&lint->workflows[k].jobs[j], policy->legs[i].name);
        if (!found)
            LINT_KEY(lint, "D08", w, gate->node, "the required leg '%s' of the policy is run by no job", policy->legs[i].name);
    }
}

static void check_needs(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_workflow_job *gate)
{
    const struct lat_yaml_node *needs = lat_yaml_get(gate->node, "needs");
    for (size_t i = 0; i < w->job_count; i++) {
        const struct lat_workflow_job *job = &w->jobs[i];
        if (!may_be_left_out(lint, w, job, gate) && !only_optional(lint->options->policy, job) && !lat_workflow_needs(gate, job->id))
            lat_lint_find(lint, LAT_LEG_FAIL, "D08", w, needs ? needs->key_line : gate->node->key_line,
                          needs ? needs->key_column : gate->node->key_column,
                          "job '%s' is not among the needs of '%s': its failure does not count", job->id, gate->id);
    }
    const struct lat_policy *policy = lint->options->policy;
    for (size_t i = 0; i < w->job_count && policy; i++)
        for (size_t k = 0; k < w->jobs[i].legs.count; k++)
            if (!lat_policy_leg_find(policy, w->jobs[i].legs.items[k]))
                LINT_KEY(lint, "D08", w, w->jobs[i].node, "job '%s' runs the leg '%.80s', which the policy does not have",
                         w->jobs[i].id, w->jobs[i].legs.items[k]);
    if (gate->judges)
        check_legs_of_policy(lint, w, gate);
}

// ---- D09, D19

static const struct lat_workflow_step *deciding_step(const struct lat_workflow_job *job, bool *judged)
{
    const struct lat_workflow_step *shell = NULL;
    *judged = job->judges;
    for (size_t i = 0; i < job->step_count; i++) {
        const struct lat_workflow_step *s = &job->steps[i];
        if (strncmp(s->uses_text, "re-actors/alls-green@", 21) == 0)
            *judged = true;
        for (size_t k = 0; k < s->script.count; k++) { // a program of the project that gets all the needs
            const struct lat_shell_command *c = &s->script.commands[k];
            size_t at = lat_shell_program(c);
            bool program = at < c->word_count && (strchr(c->words[at], '/') || strncmp(c->words[at], "python", 6) == 0);
            *judged = *judged || (program && (lat_workflow_mentions(s->node, "toJSON(needs)") ||
                                              lat_workflow_mentions(s->node, "toJson(needs)")));
        }
        if (s->run && !shell)
            shell = s;
        if (s->run && lat_workflow_mentions(s->node, "needs."))
            return s;
    }
    return shell;
}

static void check_verdict(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_workflow_job *job)
{
    bool judged = false;
    const struct lat_workflow_step *step = deciding_step(job, &judged);
    if (!judged && lat_yaml_get(job->node, "needs") && step)
        LINT_KEY(lint, "D09", w, step->run ? step->run : step->node,
                 "'%s' is decided in shell: a result that is missing, new or misspelt reads as green", job->id);
    for (size_t i = 0; i < job->step_count; i++) {
        const struct lat_workflow_step *s = &job->steps[i];
        if (!lat_lint_reporter(s) || *lat_workflow_text(lat_yaml_get(s->node, "continue-on-error")))
            continue;
        const struct lat_yaml_node *at = s->uses ? s->uses : s->run;
        LINT_KEY(lint, "D19", w, at, "a reporter in the job of the verdict: when it fails (a fork's token may only read) the "
                 "verdict is red");
    }
}

// D17: a leg runs whatever changed, although there is a plan.
static void check_plan(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_workflow_job *job)
{
    if (!job->runs_legs || job->judges || job->plans || lat_workflow_not_on_pull_request(job))
        return;
    bool planned = false, asked = false;
    for (size_t i = 0; i < w->job_count; i++) {
        if (!w->jobs[i].plans)
            continue;
        char text[200];
        size_t n = strlen(w->jobs[i].id);
        planned = true;
        if (n > 100)
            continue;
        memcpy(text, "needs.", 6);
        memcpy(text + 6, w->jobs[i].id, n);
        memcpy(text + 6 + n, ".outputs", 9);
        asked = asked || (lat_workflow_needs(job, w->jobs[i].id) && lat_workflow_mentions(job->node, text));
    }
    const char *minutes = lat_workflow_text(lat_yaml_get(job->node, "timeout-minutes"));
    bool cheap = *minutes && strtoul(minutes, NULL, 10) <= 10;
    if (planned && !asked && !cheap)
        lat_lint_find(lint, LAT_LEG_WARN, "D17", w, job->node->key_line, job->node->key_column,
                      "leg '%s' runs whatever changed: it does not look at the outputs of the plan", job->id);
}

void lat_lint_rules_verdict(struct lat_lint *lint, const struct lat_workflow *w)
{
    for (size_t i = 0; i < w->job_count; i++) {
        const struct lat_workflow_job *job = &w->jobs[i];
        check_plan(lint, w, job);
        if (!lat_lint_required(lint, job))
            continue;
        check_name(lint, w, job);
        check_condition(lint, w, job);
        if (lat_lint_aggregates(lint, job)) {
            check_needs(lint, w, job);
            check_verdict(lint, w, job);
        }
    }
}

// ---- over all files

// The step posts a commit status named `context`.
static bool posts_status(const struct lat_workflow_step *s, const char *context)
{
    const struct lat_yaml_node *with = lat_yaml_get(s->node, "with");
    if (s->run && strstr(s->run->text, "/statuses/") && strstr(s->run->text, "context"))
        return strstr(s->run->text, context) != NULL;
    const char *script = lat_workflow_text(lat_yaml_get(with, "script"));
    if (strstr(script, "createCommitStatus"))
        return strstr(script, context) != NULL;
    return strstr(s->uses_text, "status") && strcmp(lat_workflow_text(lat_yaml_get(with, "context")), context) == 0;
}

static void check_statuses(struct lat_lint *lint, const char *context)
{
    for (size_t i = 0; i < lint->count; i++)
        for (size_t j = 0; j < lint->workflows[i].job_count; j++)
            for (size_t k = 0; k < lint->workflows[i].jobs[j].step_count; k++) {
                const struct lat_workflow_step *s = &lint->workflows[i].jobs[j].steps[k];
                const struct lat_yaml_node *at = s->uses ? s->uses : s->run;
                if (at && posts_status(s, context))
                    LINT_KEY(lint, "D21", &lint->workflows[i], at,
                             "a commit status named '%s' beside the check of that name: both must pass, and any writer can post "
                                 "it", context);
            }
}

static void check_one_maker(struct lat_lint *lint, const char *context)
{
    const struct lat_workflow *first = NULL;
    const struct lat_workflow_job *first_job = NULL;
    for (size_t i = 0; i < lint->count; i++)
        for (size_t j = 0; j < lint->workflows[i].job_count; j++) {
            const struct lat_workflow_job *job = &lint->workflows[i].jobs[j];
            if (strcmp(job->name, context) != 0 || !lat_lint_on_pull_request(lint, &lint->workflows[i]))
                continue;
            if (first)
                LINT_KEY(lint, "D21", &lint->workflows[i], job->node, "the required check '%s' is made here and by %s:%zu",
                         context, first->path,
                         first_job->node->key_line);
            else {
                first = &lint->workflows[i];
                first_job = job;
            }
        }
}

static bool is_made(const struct lat_lint *lint, const char *context)
{
    struct lat_lint one = *lint;
    one.contexts = (struct lat_text_list){ &context, 1 };
    for (size_t i = 0; i < lint->count; i++)
        if (lat_lint_owner(&one, &lint->workflows[i]))
            return true;
    return false;
}

void lat_lint_rules_together(struct lat_lint *lint)
{
    for (size_t i = 0; i < lint->contexts.count; i++) {
        const char *context = lint->contexts.items[i];
        if (strstr(context, "${{"))
            lat_lint_find(lint, LAT_LEG_FAIL, "D05", NULL, 0, 0,
                          "the required check '%s' is an expression: no check has that name", context);
        else if (!is_made(lint, context))
            lat_lint_find(lint, LAT_LEG_FAIL, "D03", NULL, 0, 0, "no workflow makes the required check '%s'", context);
        check_one_maker(lint, context);
        check_statuses(lint, context);
    }
    for (size_t i = 0; i < lint->count && lint->contexts.count == 0; i++)
        for (size_t j = 0; j < lint->workflows[i].job_count; j++) {
            const struct lat_workflow_job *job = &lint->workflows[i].jobs[j];
            bool again = false;
            for (size_t k = 0; k <= i && !again; k++)
                for (size_t m = 0; m < (k < i ? lint->workflows[k].job_count : j) && !again; m++)
                    again = lat_lint_required(lint, &lint->workflows[k].jobs[m]) && strcmp(lint->workflows[k].jobs[m].name, job->name) == 0;
            if (again || !lat_lint_required(lint, job))
                continue;
            check_one_maker(lint, job->name);
            check_statuses(lint, job->name);
        }
}
