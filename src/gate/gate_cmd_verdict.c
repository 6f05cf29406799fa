// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate verdict`: one answer over the plan and the evidence. It always answers, and fails closed.
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/gate_cmd.h"
#include "gate/gate_place.h"
#include "gate/gate_verdict_table.h"

struct verdict_values {
    const char *policy, *work, *plan, *results, *needs;
    bool json;
};

#define AT(field) offsetof(struct verdict_values, field)
enum { SECOND_MAX = 256 };

struct judge {
    struct lat_plan plan;
    struct lat_leg_evidence_set set;
    struct lat_verdict verdict;
    struct lat_second_witness second[SECOND_MAX];
    size_t second_count;
    json_t *needs;
    struct lat_arena paths;
};

// GitHub's toJSON(needs): { "JOB": { "result": "success", ... }, ... }. Jobs that are no legs (the plan's own job) are left
// aside when they succeeded; else they stay, unknown to the plan, and make the verdict red.
static enum lat_status read_needs(struct judge *j, const char *path, struct lat_error *error)
{
    json_error_t where;
    const char *job;
    json_t *value;
    struct lat_file_map map;
    if (!path)
        return LAT_OK;
    LAT_TRY(lat_file_map_open(&map, path, error));
    j->needs = json_loadb((const char *)map.bytes, map.length, JSON_REJECT_DUPLICATES, &where);
    lat_file_map_close(&map);
    if (!json_is_object(j->needs))
        return lat_error_set(error, LAT_FORMAT, "%s: line %d: is no JSON object of jobs", path, where.line);
    json_object_foreach(j->needs, job, value)
    {
        const char *result = json_string_value(json_object_get(value, "result"));
        if (!lat_plan_find(&j->plan, job) && result && strcmp(result, "success") == 0)
            continue;
        if (j->second_count == SECOND_MAX)
            return lat_error_set(error, LAT_LIMIT, "%s: more than %d jobs", path, SECOND_MAX);
        j->second[j->second_count++] = (struct lat_second_witness){ job, result ? result : "" };
    }
    return LAT_OK;
}

static const char *path_in(struct judge *j, const char *given, const char *work, const char *name)
{
    if (given)
        return given;
    size_t size = strlen(work) + strlen(name) + 2;
    char *out = lat_arena_new(&j->paths, size, 1);
    if (out)
        snprintf(out, size, "%s/%s", work, name);
    return out;
}

static enum lat_status judge(struct judge *j, const struct verdict_values *v, struct lat_error *error)
{
    struct lat_gate_place place = { .work = "" };
    lat_arena_init(&j->paths, 1 << 16);
    if (!v->plan || !v->results)
        LAT_TRY(lat_gate_place_find(&place, v->policy, v->work, error));
    const char *plan = path_in(j, v->plan, place.work, "plan.json"), *results = path_in(j, v->results, place.work, "results");
    if (!plan || !results)
        return lat_error_memory(error, "a path");
    LAT_TRY(lat_plan_read(&j->plan, plan, error));
    if (j->plan.partial)
        return lat_error_set(error, LAT_FAILED, "%s: V201: the plan of some chosen legs (local --only) is none for a verdict", plan);
    LAT_TRY(lat_leg_evidence_set_read(&j->set, results, error));
    LAT_TRY(read_needs(j, v->needs, error));
    return lat_verdict_of(&j->verdict, &j->plan, &j->set, j->second, j->second_count, error);
}

static int run_verdict(int argc, char **argv, const struct lat_command *self)
{
    struct verdict_values values = { 0 };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    struct lat_buf out;
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    struct judge *j = lat_mem_new(1, sizeof *j);
    if (!j)
        return LAT_GATE_CANNOT_JUDGE;
    lat_buf_init(&out, 1 << 24);
    int code = LAT_GATE_CANNOT_JUDGE;
    if (judge(j, &values, &error) != LAT_OK) {
        lat_gate_complain(&error);
        lat_buf_add_text(&out, values.json
                                   ? "{\"schema\":\"lattice-gate-verdict-1\",\"state\":\"ERROR\",\"green\":false}\n"
                                   : "verdict: ERROR\n");
    } else {
        code = lat_gate_exit_of(j->verdict.state);
        if (values.json)
            lat_verdict_json(&out, &j->verdict, &j->plan);
        else
            lat_verdict_table(&out, &j->verdict, &j->set, lat_gate_color(stdout));
    }
    if (!lat_gate_print(&out))
        code = LAT_GATE_CANNOT_JUDGE;
    lat_buf_release(&out);
    lat_plan_release(&j->plan);
    lat_leg_evidence_set_release(&j->set);
    json_decref(j->needs);
    lat_arena_release(&j->paths);
    lat_mem_free(j);
    return code;
}

static const struct lat_option verdict_options[] = {
    { "--policy", "FILE", "the policy (gate.yaml here or in the nearest folder above)", LAT_OPTION_TEXT, AT(policy) },
    { "--work", "DIR", "where plan and evidence lie (.gate beside the policy)", LAT_OPTION_TEXT, AT(work) },
    { "--plan", "FILE", "the plan (plan.json there)", LAT_OPTION_TEXT, AT(plan) },
    { "--results", "DIR", "the evidence (results/ there)", LAT_OPTION_TEXT, AT(results) },
    { "--needs-json", "FILE", "what the platform says of the jobs (GitHub: toJSON(needs)), a second witness", LAT_OPTION_TEXT, AT(needs) },
    { "--json", NULL, "a JSON object", LAT_OPTION_FLAG, AT(json) },
};

const struct lat_command lat_gate_cmd_verdict = {
    .program = "lattice-gate",
    .name = "verdict",
    .operands = "",
    .summary = "joins the evidence over the plan: one answer, always given, never green for want of evidence",
    .details = "Exit status: 0 green, 1 a required leg failed, 2 something could not be judged, 3 not measurable. The last line is\n"
               "'verdict: PASS' or another state.\n",
    .options = verdict_options,
    .option_count = sizeof verdict_options / sizeof verdict_options[0],
    .run = run_verdict,
};
