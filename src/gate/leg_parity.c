// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Legs of kind "parity": does the engine say what the reference says? parity_config has the keys, parity_judge the rungs.
// Writes WORK/parity/LEG/report.md.
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/leg.h"
#include "gate/parity_generate.h"
#include "gate/parity_judge.h"

enum { PATH_BYTES = 4400, REPORT_MAX = 64 << 20 };

static enum lat_status check(struct lat_policy *policy, const struct lat_policy_leg *leg, struct lat_error *error)
{
    struct lat_parity_config *config = lat_mem_new(1, sizeof *config);
    if (!config)
        return lat_error_memory(error, "a leg");
    enum lat_status status = lat_parity_config_read(config, policy, leg, error);
    lat_parity_config_release(config);
    lat_mem_free(config);
    return status;
}

static enum lat_status write_report(const struct lat_gate_run *run, const struct lat_policy_leg *leg,
                                    const struct lat_parity_outcomes *outcomes, const struct lat_leg_result *result,
                                        struct lat_error *error)
{
    char folder[PATH_BYTES], path[PATH_BYTES + 16];
    struct lat_buf text;
    struct lat_file_out out;
    LAT_TRY(lat_parity_folder(folder, sizeof folder, run, leg->name, NULL, error));
    snprintf(path, sizeof path, "%s/report.md", folder);
    lat_buf_init(&text, REPORT_MAX);
    lat_parity_e2e_markdown(&text, outcomes, result->state, leg->name, result);
    enum lat_status status = text.failed ? lat_error_memory(error, "the report") : lat_file_out_open(&out, path, error);
    if (status == LAT_OK) {
        status = lat_file_out_write(&out, 0, text.bytes, text.length, error);
        if (status == LAT_OK)
            status = lat_file_out_commit(&out, error);
        else
            lat_file_out_abort(&out);
    }
    lat_buf_release(&text);
    return status;
}

static enum lat_status judge_references(const struct lat_gate_run *run, const struct lat_policy_leg *leg,
                                        const struct lat_parity_config *config, struct lat_parity_outcomes *outcomes,
                                        struct lat_leg_result *result, struct lat_error *error)
{
    for (size_t i = 0; i < config->reference_count; i++) {
        struct lat_parity_outcome *outcome = &outcomes->items[outcomes->count++];
        if (!lat_parity_reference_check(run, config, &config->references[i], outcome, result)) {
            result->failed++;
            continue;
        }
        LAT_TRY(lat_parity_judge(run, leg, config, &config->references[i], outcome, result, error));
        LAT_TRY(lat_parity_generate(run, leg, config, outcome, result, error));
        if (lat_parity_outcome_state(outcome) < LAT_LEG_UNMEASURABLE)
            result->passed++;
        else
            result->failed++;
    }
    return LAT_OK;
}

static enum lat_status run_config(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_parity_config *config,
                                  struct lat_leg_result *result, struct lat_error *error)
{
    struct lat_parity_outcomes *outcomes = lat_mem_new(1, sizeof *outcomes);
    if (!outcomes)
        return lat_error_memory(error, "a leg");
    enum lat_status status = lat_parity_config_read(config, run->policy, leg, error);
    if (status == LAT_OK)
        status = lat_parity_lock_read(config, run->root, error);
    if (status == LAT_OK)
        status = judge_references(run, leg, config, outcomes, result, error);
    if (status == LAT_OK)
        status = write_report(run, leg, outcomes, result, error);
    if (status == LAT_OK)
        result->details = lat_parity_e2e_json(outcomes);
    lat_parity_outcomes_release(outcomes);
    lat_mem_free(outcomes);
    return status;
}

static enum lat_status run(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result,
                           struct lat_error *error)
{
    struct lat_parity_config *config = lat_mem_new(1, sizeof *config);
    if (!config)
        return lat_error_memory(error, "a leg");
    result->population_unit = "positions";
    enum lat_status status = run_config(run, leg, config, result, error);
    lat_parity_config_release(config);
    lat_mem_free(config);
    return status;
}

const struct lat_leg_kind lat_leg_parity = { .name = "parity", .check = check, .run = run };
