// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A GitHub workflow as a tree of jobs and steps with positions, scripts scanned: what the rules of the linter look at.
#ifndef LAT_GATE_WORKFLOW_FILE_H
#define LAT_GATE_WORKFLOW_FILE_H

#include "gate/shell_scan.h"
#include "gate/yaml_tree.h"

enum { LAT_WORKFLOW_JOBS_MAX = 256, LAT_WORKFLOW_STEPS_MAX = 1000 };

enum lat_workflow_shell {
    LAT_WORKFLOW_BASH_PLAIN,    // nothing said, or one that stops at the first failure but not inside a pipe
    LAT_WORKFLOW_BASH_PIPEFAIL, // `shell: bash`, or a template with pipefail
    LAT_WORKFLOW_BASH_CARELESS, // a template of ours without -e
    LAT_WORKFLOW_NO_BASH,       // PowerShell, Python, cmd
};

struct lat_workflow_step {
    const struct lat_yaml_node *node, *run, *uses; // run, uses: NULL when absent
    const char *id, *uses_text;                    // "" when absent
    enum lat_workflow_shell shell;
    struct lat_shell_script script; // of `run`; empty when the shell is none of ours
    bool scanned;
};

struct lat_workflow_job {
    const struct lat_yaml_node *node, *matrix; // matrix: strategy.matrix or NULL
    const char *id, *name;                     // name: the check's name; the id when none is given
    const char *condition;                     // `if`, or NULL
    struct lat_workflow_step *steps;
    size_t step_count;
    // What its steps do with the gate.
    bool plans, judges, runs_legs, all_legs; // changes; verdict; run; run with legs that the plan names
    struct lat_text_list legs;               // of `run`, as far as they are written down
    bool reads_needs;                        // looks at needs.*.result in a step
    bool runs_code;                          // checks something out, or calls what lies in the repository
};

struct lat_workflow {
    const char *path; // as findings show it
    const char *text;
    size_t length;
    struct lat_yaml doc;
    const struct lat_yaml_node *on, *jobs_node;
    struct lat_workflow_job *jobs;
    size_t job_count;
};

// Takes the tree apart. `text` and `path` are borrowed and must outlive the workflow. LAT_FORMAT with the place first
// when it is no YAML that can be read; a document without `on` or `jobs` is read and has NULL there.
LAT_NODISCARD enum lat_status lat_workflow_parse(struct lat_workflow *workflow, const char *text, size_t length, const char *path,
                                                 struct lat_error *error);
void lat_workflow_release(struct lat_workflow *workflow);

// The event's node in `on` (its filters; the scalar itself for `on: push`), or NULL.
const struct lat_yaml_node *lat_workflow_event(const struct lat_workflow *workflow, const char *event);
// The list of a job's `needs` has `id`.
bool lat_workflow_needs(const struct lat_workflow_job *job, const char *id);
// `id` is reached through needs, however far.
bool lat_workflow_depends(const struct lat_workflow *workflow, const struct lat_workflow_job *job, const char *id);
// A scalar's text, or "".
const char *lat_workflow_text(const struct lat_yaml_node *node);
// A list of scalars, or one scalar, has `text`.
bool lat_workflow_lists(const struct lat_yaml_node *node, const char *text);
// Is `text` somewhere in the scalars of the tree?
bool lat_workflow_mentions(const struct lat_yaml_node *node, const char *text);
// Where byte `offset` of a scalar stands in the file: exact for `|` blocks and one-line scalars, else the scalar's place.
void lat_workflow_place(const struct lat_workflow *workflow, const struct lat_yaml_node *node, size_t offset, size_t *line, size_t *column);
// The job cannot run for a pull request, by its `if`.
bool lat_workflow_not_on_pull_request(const struct lat_workflow_job *job);
// Index of the word behind `lattice-gate` that names its command, or 0.
size_t lat_workflow_gate_command(const struct lat_shell_command *command);

#endif
