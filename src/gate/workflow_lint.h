// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The linter for merge-gate traps in GitHub workflow files: ways for a check to be green without having looked, red
// without a reason, or never there. Codes D01 to D25; what each means stands in codes_doctor.c.
#ifndef LAT_GATE_WORKFLOW_LINT_H
#define LAT_GATE_WORKFLOW_LINT_H

#include "gate/finding.h"
#include "gate/policy.h"

enum { LAT_LINT_FILES_MAX = 500 };

struct lat_lint_options {
    struct lat_text_list contexts;   // names of the required checks; none: those of jobs that run `lattice-gate verdict`
    const char *default_branch;      // NULL: main
    const struct lat_policy *policy; // whose legs must all be run and needed; may be NULL
    const char *ruleset;             // path of the repository's ruleset as JSON, or NULL
};

struct lat_lint_file {
    const char *path; // as findings show it
    const char *text;
    size_t length;
};

// Lints the files together and adds findings to `result`; its population grows by the number of files.
LAT_NODISCARD enum lat_status lat_lint_files(struct lat_leg_result *result, const struct lat_lint_file *files, size_t count,
                                             const struct lat_lint_options *options, struct lat_error *error);
// The same for every *.yml and *.yaml of `folder`, shown as `shown`/NAME. LAT_NOT_FOUND when the folder is not there.
LAT_NODISCARD enum lat_status lat_lint_folder(struct lat_leg_result *result, const char *folder, const char *shown,
                                              const struct lat_lint_options *options, struct lat_error *error);

#endif
