// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What the rules of the linter share. Private to workflow_*.c.
#ifndef LAT_GATE_WORKFLOW_RULES_H
#define LAT_GATE_WORKFLOW_RULES_H

#include "gate/workflow_file.h"
#include "gate/workflow_lint.h"

struct lat_lint {
    struct lat_leg_result *result;
    const struct lat_lint_options *options;
    struct lat_text_list contexts; // told, or of the ruleset; none: jobs that judge are the required ones
    struct lat_workflow *workflows;
    size_t count;
    bool any_judge; // some job runs the verdict
};

// Findings with the fix of the code's table. At a place; at a value; at a key (a job's name); inside a script.
void lat_lint_find(struct lat_lint *lint, enum lat_leg_state state, const char *code, const struct lat_workflow *workflow, size_t line,
                   size_t column, const char *format, ...) LAT_PRINTF(7, 8);
#define LINT_AT(lint, code, w, node, ...) \
    lat_lint_find(lint, LAT_LEG_FAIL, code, w, (node)->line, (node)->column, __VA_ARGS__)
#define LINT_KEY(lint, code, w, node, ...) \
    lat_lint_find(lint, LAT_LEG_FAIL, code, w, (node)->key_line, (node)->key_column, __VA_ARGS__)
void lat_lint_script(struct lat_lint *lint, enum lat_leg_state state, const char *code, const struct lat_workflow *workflow,
                     const struct lat_workflow_step *step, size_t offset, const char *format, ...) LAT_PRINTF(7, 8);

// The job's check is a required one.
bool lat_lint_required(const struct lat_lint *lint, const struct lat_workflow_job *job);
// Required, and made of other jobs' results.
bool lat_lint_aggregates(const struct lat_lint *lint, const struct lat_workflow_job *job);
// The workflow has a required check.
bool lat_lint_owner(const struct lat_lint *lint, const struct lat_workflow *workflow);
// The job's failure should make a required check red: required, needed by a required one, called by such a job, or (when
// no required check is known) run for a pull request.
bool lat_lint_leg(const struct lat_lint *lint, const struct lat_workflow *workflow, const struct lat_workflow_job *job);
// Runs for a pull request or a merge queue, itself or through a caller.
bool lat_lint_on_pull_request(const struct lat_lint *lint, const struct lat_workflow *workflow);
// A step that reports to people: comments, labels, messages.
bool lat_lint_reporter(const struct lat_workflow_step *step);
bool lat_lint_one_of(const char *text, const char *const *list); // NULL-terminated

void lat_lint_rules_run(struct lat_lint *lint, const struct lat_workflow *w);     // D01 D02 D16 D18 D24
void lat_lint_rules_events(struct lat_lint *lint, const struct lat_workflow *w);  // D03 D04 D10 D25
void lat_lint_rules_verdict(struct lat_lint *lint, const struct lat_workflow *w); // D05 D06 D07 D08 D09 D17 D19
void lat_lint_rules_trust(struct lat_lint *lint, const struct lat_workflow *w);   // D11 D12 D13 D14 D15 D20 D23
void lat_lint_rules_together(struct lat_lint *lint);                              // D03 D05 D21, over all files
// D22; before the others: the required checks of the ruleset become those of the lint unless the caller told some.
LAT_NODISCARD enum lat_status lat_lint_ruleset(struct lat_lint *lint, struct lat_error *error);

#endif
