// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Legs of kind "doctor": the workflows of the project and the machine. Own keys: workflows (a folder), contexts (names of
// the required checks), ruleset (a JSON file), environment (true).
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/environment_check.h"
#include "gate/leg.h"
#include "gate/workflow_lint.h"

struct doctor {
    const char *workflows, *ruleset;
    struct lat_text_list contexts;
    bool environment;
};

static const char *const own_keys[] = { "workflows", "contexts", "ruleset", "environment", NULL };

static enum lat_status read_doctor(struct lat_policy *policy, const struct lat_policy_leg *leg, struct doctor *d, struct lat_error *error)
{
    *d = (struct doctor){ .workflows = ".github/workflows", .environment = true };
    LAT_TRY(lat_policy_leg_keys_check(policy, leg, own_keys, error));
    LAT_TRY(lat_yaml_read_text(&policy->doc, leg->node, "workflows", &d->workflows, error));
    LAT_TRY(lat_yaml_read_text(&policy->doc, leg->node, "ruleset", &d->ruleset, error));
    LAT_TRY(lat_yaml_read_texts(&policy->doc, leg->node, "contexts", &d->contexts, error));
    LAT_TRY(lat_yaml_read_bool(&policy->doc, leg->node, "environment", &d->environment, error));
    const char *const paths[] = { d->workflows, d->ruleset };
    static const char *const names[] = { "workflows", "ruleset" };
    for (size_t i = 0; i < 2; i++)
        if (paths[i] && (!*paths[i] || paths[i][0] == '/' || strcmp(paths[i], "..") == 0 || strncmp(paths[i], "../", 3) == 0 ||
                         strstr(paths[i], "/../")))
            return lat_yaml_error(error, &policy->doc, lat_yaml_get(leg->node, names[i]),
                                  "leg '%s': '%s': expected a path inside the project",
                                  leg->name, names[i]);
    return LAT_OK;
}

static enum lat_status check_doctor(struct lat_policy *policy, const struct lat_policy_leg *leg, struct lat_error *error)
{
    struct doctor d;
    return read_doctor(policy, leg, &d, error);
}

static enum lat_status run_doctor(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result,
                                  struct lat_error *error)
{
    struct doctor d;
    struct lat_buf notes;
    LAT_TRY(read_doctor(run->policy, leg, &d, error));
    result->population_unit = "workflow files";
    char *folder = lat_file_path_join(run->root, d.workflows), *ruleset = d.ruleset ? lat_file_path_join(run->root, d.ruleset) : NULL;
    struct lat_lint_options options = { .contexts = d.contexts, .default_branch = run->policy->default_branch, .policy = run->policy,
                                        .ruleset = ruleset };
    enum lat_status status = folder && (ruleset || !d.ruleset) ? LAT_OK : lat_error_memory(error, "a path");
    if (status == LAT_OK)
        status = lat_lint_folder(result, folder, d.workflows, &options, error);
    lat_buf_init(&notes, 1 << 16);
    size_t checks = status == LAT_OK && d.environment ? lat_environment_check(result, run->root, run->policy, &notes) : 0;
    lat_buf_release(&notes);
    lat_mem_free(folder);
    lat_mem_free(ruleset);
    if (status != LAT_OK)
        return status;
    result->details = json_pack("{s:I}", "environment_checks", (json_int_t)checks);
    uint64_t failed = 0;
    for (size_t i = 0; i < result->finding_count; i++)
        failed += result->findings[i].state >= LAT_LEG_UNMEASURABLE;
    result->failed = failed + result->findings_dropped;
    return LAT_OK;
}

const struct lat_leg_kind lat_leg_doctor = { "doctor", check_doctor, run_doctor };
