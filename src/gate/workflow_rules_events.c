// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// When a workflow runs, and what may cancel it: D03, D04, D10; and what a workflow must be at all: D25.
#include <string.h>

#include "gate/workflow_rules.h"

static bool looks_at_draft(const struct lat_workflow *w)
{
    return lat_workflow_mentions(w->doc.root, "pull_request.draft") || lat_workflow_mentions(w->doc.root, "isDraft");
}

// D03: the events that a required check must answer.
static void check_events(struct lat_lint *lint, const struct lat_workflow *w)
{
    static const char *const types[] = { "opened", "synchronize", "reopened" };
    const struct lat_yaml_node *pull = lat_workflow_event(w, "pull_request"), *target = lat_workflow_event(w, "pull_request_target");
    if (!pull && !target) {
        LINT_AT(lint, "D03", w, w->on, "the required check of this workflow is not made for pull requests: 'on' lacks pull_request");
        return;
    }
    if (!lat_workflow_event(w, "merge_group"))
        LINT_AT(lint, "D03", w, w->on, "the required check of this workflow is not made in a merge queue: 'on' lacks merge_group");
    const struct lat_yaml_node *listed = lat_yaml_get(pull ? pull : target, "types");
    for (size_t i = 0; listed && i < sizeof types / sizeof types[0]; i++)
        if (!lat_workflow_lists(listed, types[i]))
            LINT_AT(lint, "D03", w, listed, "the required check is not made when a pull request is %s: 'types' lacks it", types[i]);
    // Not among the defaults, either.
    if (listed && lat_workflow_lists(listed, "ready_for_review"))
        return;
    const struct lat_yaml_node *at = listed ? listed : pull ? pull : target;
    bool matters = looks_at_draft(w);
    if (matters || listed) {
        bool on_key = at->kind == LAT_YAML_SCALAR && at->key && !*at->text;
        lat_lint_find(lint, matters ? LAT_LEG_FAIL : LAT_LEG_WARN, "D03", w, on_key ? at->key_line : at->line,
                      on_key ? at->key_column : at->column,
                      "%s: the type ready_for_review is missing",
                      matters ? "jobs look at 'draft', and nothing runs when a draft becomes ready" : "a pull request that "
                          "leaves draft does not report anew");
    }
}

// D04: filters that keep the workflow, and so its check, from being there at all.
static void check_filters(struct lat_lint *lint, const struct lat_workflow *w)
{
    static const char *const events[] = { "pull_request", "pull_request_target", "merge_group" };
    const char *branch = lint->options->default_branch ? lint->options->default_branch : "main";
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        const struct lat_yaml_node *event = lat_workflow_event(w, events[i]);
        const struct lat_yaml_node *paths = lat_yaml_get(event, "paths"), *ignore = lat_yaml_get(event, "paths-ignore");
        const struct lat_yaml_node *only = lat_yaml_get(event, "branches"), *not_these = lat_yaml_get(event, "branches-ignore");
        if (paths || ignore)
            LINT_KEY(lint, "D04", w, paths ? paths : ignore,
                     "a path filter on %s: a change outside it makes no check, and the required one waits for ever",
                     events[i]);
        if (only && !lat_workflow_lists(only, branch) && !lat_workflow_lists(only, "**"))
            LINT_KEY(lint, "D04", w, only, "the branch filter on %s leaves out '%s', where the check is required", events[i], branch);
        else if (only && !lat_workflow_lists(only, "**") && strcmp(events[i], "merge_group") != 0 &&
                 !lat_workflow_lists(lat_yaml_get(event, "types"), "edited"))
            lat_lint_find(lint, LAT_LEG_WARN, "D04", w, only->key_line, only->key_column,
                          "a pull request that is moved to another base starts nothing: a branch filter on %s without the type "
                              "'edited'", events[i]);
        if (not_these)
            LINT_KEY(lint, "D04", w, not_these, "a branch filter on %s: where it does not run, the required check waits for "
                     "ever", events[i]);
    }
}

static bool names_sha(const char *group)
{
    return strstr(group, "github.sha") || strstr(group, "head.sha") || strstr(group, "head_sha");
}

// D10
static void check_concurrency(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_yaml_node *owner, const char *whose)
{
    const struct lat_yaml_node *c = lat_yaml_get(owner, "concurrency");
    if (!c)
        return;
    const struct lat_yaml_node *group = c->kind == LAT_YAML_MAPPING ? lat_yaml_get(c, "group") : c,
        *cancel = lat_yaml_get(c, "cancel-in-progress");
    const char *name = lat_workflow_text(group), *cancels = lat_workflow_text(cancel);
    if (strstr(name, "github.run_id"))
        return; // a group of its own for every run
    if (*cancels && strcmp(cancels, "false") != 0)
        LINT_KEY(lint, "D10", w, cancel, "%s: a run can cancel another one of the same commit%s; a cancelled check is red, or "
                 "skipped and green", whose,
                 names_sha(name) ? "" : ", or of the default branch");
    else if (!names_sha(name))
        LINT_AT(lint, "D10", w, group ? group : c, "%s: the group lacks the commit: a run that waits is dropped when a third "
                "one comes", whose);
}

// Keys whose values GitHub takes as booleans; yes, on and their like are texts there.
static void check_booleans(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_yaml_node *node)
{
    static const char *const keys[] = { "continue-on-error", "cancel-in-progress", "fail-fast", NULL };
    static const char *const not_boolean[] = { "yes", "no", "on", "off", "Yes", "No", "On", "Off", "YES", "NO", "ON", "OFF",
        "y", "n", NULL };
    for (const struct lat_yaml_node *c = node->child; c; c = c->next) {
        if (c->key && c->kind == LAT_YAML_SCALAR && c->plain && lat_lint_one_of(c->key, keys) && lat_lint_one_of(c->text, not_boolean))
            LINT_AT(lint, "D25", w, c, "'%s: %s' is a text for GitHub, and a boolean for other readers of YAML", c->key, c->text);
        check_booleans(lint, w, c);
    }
}

// D25: no workflow. False: nothing more can be said about it.
static bool check_form(struct lat_lint *lint, const struct lat_workflow *w)
{
    const struct lat_yaml_node *root = w->doc.root;
    if (!root) {
        lat_lint_find(lint, LAT_LEG_FAIL, "D25", w, 1, 1, "an empty file is no workflow");
        return false;
    }
    const struct lat_yaml_node *boolean = lat_yaml_get(root, "true");
    if (!w->on && boolean)
        LINT_KEY(lint, "D25", w, boolean, "the key 'on' has become 'true': a tool read it as a boolean and wrote it back");
    else if (!w->on)
        LINT_AT(lint, "D25", w, root, "no 'on': GitHub never runs this file");
    if (!w->jobs_node || w->job_count == 0)
        LINT_AT(lint, "D25", w, root, "no 'jobs': there is nothing to run");
    check_booleans(lint, w, root);
    return w->on && w->jobs_node;
}

void lat_lint_rules_events(struct lat_lint *lint, const struct lat_workflow *w)
{
    if (!check_form(lint, w) || !lat_lint_owner(lint, w))
        return;
    if (!lat_workflow_event(w, "workflow_call")) { // else the caller's events count
        check_events(lint, w);
        check_filters(lint, w);
    }
    check_concurrency(lint, w, w->doc.root, "the workflow");
    for (size_t i = 0; i < w->job_count; i++)
        if (lat_lint_leg(lint, w, &w->jobs[i]))
            check_concurrency(lint, w, w->jobs[i].node, w->jobs[i].id);
}
