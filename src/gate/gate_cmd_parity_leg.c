// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate parity run | freeze | live`: commands about a parity leg of the policy.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/gate_cmd.h"
#include "gate/gate_place.h"
#include "gate/leg_run.h"
#include "gate/parity_engine.h"
#include "gate/parity_judge.h"
#include "gate/parity_live.h"

enum { PATH_BYTES = 4400 };

struct values {
    const char *policy, *work;
    bool markdown, json, verbose;
};

#define AT(field) offsetof(struct values, field)

// A policy with its parity leg; everything that the three commands need.
struct session {
    struct values values;
    struct lat_gate_place place;
    struct lat_policy policy;
    struct lat_gate_run run;
    const struct lat_policy_leg *leg;
    struct lat_parity_config config;
    struct lat_leg_result result;
    struct lat_error error;
};

static enum lat_status find_leg(struct session *s, const char *name)
{
    const struct lat_policy *p = &s->policy;
    for (size_t i = 0; !name && i < p->leg_count; i++)
        if (strcmp(p->legs[i].kind, "parity") == 0) {
            if (s->leg)
                return lat_error_set(&s->error, LAT_ARGUMENT, "several legs are of kind parity: name one");
            s->leg = &p->legs[i];
        }
    if (name)
        s->leg = lat_policy_leg_find(p, name);
    if (!s->leg)
        return lat_error_set(&s->error, name ? LAT_ARGUMENT : LAT_NOT_FOUND, "there is no %s%.80s in %.200s",
                             name ? "leg " : "leg of kind parity",
                             name ? name : "", s->place.policy);
    if (strcmp(s->leg->kind, "parity") != 0)
        return lat_error_set(&s->error, LAT_ARGUMENT, "leg '%s' is of kind %s, not parity", s->leg->name, s->leg->kind);
    return LAT_OK;
}

static enum lat_status open_session(struct session *s, int argc, char **argv, const struct lat_command *self)
{
    struct lat_operands names;
    LAT_TRY(lat_options_parse(self, argc, argv, &s->values, &names, &s->error));
    if (s->values.json && s->values.markdown)
        return lat_error_set(&s->error, LAT_ARGUMENT, "give --json or --md, not both");
    LAT_TRY(lat_gate_place_find(&s->place, s->values.policy, s->values.work, &s->error));
    LAT_TRY(lat_policy_read(&s->policy, s->place.policy, &s->error));
    LAT_TRY(find_leg(s, names.count ? names.items[0] : NULL));
    LAT_TRY(lat_leg_parity.check(&s->policy, s->leg, &s->error));
    LAT_TRY(lat_parity_config_read(&s->config, &s->policy, s->leg, &s->error));
    LAT_TRY(lat_parity_lock_read(&s->config, s->place.root, &s->error));
    s->run = (struct lat_gate_run){ .root = s->place.root, .work = s->place.work, .policy = &s->policy, .verbose = s->values.verbose };
    lat_leg_result_release(&s->result);
    lat_leg_result_init(&s->result, s->leg->name);
    return LAT_OK;
}

static void add_findings(struct lat_buf *out, const struct lat_leg_result *r)
{
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct lat_finding *f = &r->findings[i];
        lat_buf_addf(out, "  %s %s %s\n", lat_leg_state_name(f->state), f->code, f->message);
        if (f->fix)
            lat_buf_addf(out, "       fix: %s\n", f->fix);
    }
}

static void add_table(struct lat_buf *out, const struct session *s)
{
    const char *name;
    json_t *one, *references = json_object_get(s->result.details, "references");
    json_object_foreach(references, name, one) {
        lat_buf_addf(out, "%-18s %-12s", name, json_string_value(json_object_get(one, "state")));
        const char *rung, *first = json_string_value(json_object_get(one, "first_wrong"));
        json_t *value;
        json_object_foreach(json_object_get(one, "rungs"), rung, value)
            lat_buf_addf(out, " %s:%s", rung, strcmp(json_string_value(json_object_get(value, "state")), "PASS") == 0 ? "ok" : "FAIL");
        lat_buf_addf(out, "%s%s\n", first ? "  first wrong: " : "", first ? first : "");
    }
}

static bool add_report_file(struct lat_buf *out, const struct session *s)
{
    char path[PATH_BYTES];
    struct lat_file_map map;
    snprintf(path, sizeof path, "%s/parity/%s/report.md", s->run.work, s->leg->name);
    if (lat_file_map_open(&map, path, NULL) != LAT_OK)
        return false;
    lat_buf_add(out, map.bytes, map.length);
    lat_file_map_close(&map);
    return true;
}

static void add_json(struct lat_buf *out, const struct session *s)
{
    json_t *findings = json_array();
    for (size_t i = 0; i < s->result.finding_count; i++)
        json_array_append_new(findings, json_pack("{s:s,s:s,s:o}", "state", lat_leg_state_name(s->result.findings[i].state), "code",
                                                  s->result.findings[i].code, "message",
                                                  json_string_nocheck(s->result.findings[i].message)));
    json_t *all = json_pack("{s:s,s:s,s:I,s:o,s:O?}", "leg", s->leg->name, "state", lat_leg_state_name(s->result.state), "positions",
                            (json_int_t)s->result.population, "findings", findings, "details", s->result.details);
    char *text = all ? json_dumps(all, JSON_INDENT(1)) : NULL;
    lat_buf_addf(out, "%s\n", text ? text : "null");
    free(text);
    json_decref(all);
}

static int print_run(const struct session *s)
{
    struct lat_buf out;
    lat_buf_init(&out, 128u << 20);
    if (s->values.json)
        add_json(&out, s);
    else if (!s->values.markdown || !add_report_file(&out, s)) {
        add_table(&out, s);
        lat_buf_addf(&out, "%s: %s, %llu positions, %.1f s\n", s->leg->name, lat_leg_state_name(s->result.state),
                     (unsigned long long)s->result.population, s->result.seconds);
        add_findings(&out, &s->result);
    }
    bool printed = lat_gate_print(&out);
    lat_buf_release(&out);
    return printed ? lat_gate_exit_of(s->result.state) : LAT_GATE_CANNOT_JUDGE;
}

static int judge_leg(struct session *s)
{
    lat_leg_result_release(&s->result);
    lat_leg_run(&s->run, s->leg, &s->result);
    return print_run(s);
}

// Never green: whoever freezes must look at the change and commit it.
static int freeze(struct session *s)
{
    bool fine = true;
    struct lat_buf out;
    for (size_t i = 0; i < s->config.reference_count; i++) {
        struct lat_parity_outcome outcome;
        struct lat_parity_reference now = s->config.references[i];
        now.sha256 = now.operators_sha256 = NULL; // whatever was agreed before is what is replaced
        fine = lat_parity_reference_check(&s->run, &s->config, &now, &outcome, &s->result) && fine;
        lat_mem_free(outcome.hf_decode_tokens_s);
    }
    lat_buf_init(&out, 1 << 20);
    if (!fine) {
        add_findings(&out, &s->result);
        lat_buf_add_text(&out, "nothing was frozen\n");
    } else if (lat_parity_lock_write(&s->config, s->run.root, &s->error) != LAT_OK) {
        lat_buf_release(&out);
        return lat_gate_complain(&s->error);
    } else
        lat_buf_addf(&out, "%s: %zu references frozen. Not measured: look at the change of this file, then commit it\n", s->config.lock,
                     s->config.reference_count);
    bool printed = lat_gate_print(&out);
    lat_buf_release(&out);
    return fine && printed ? LAT_GATE_UNMEASURABLE : LAT_GATE_CANNOT_JUDGE;
}

static enum lat_status make_live(struct session *s, const struct lat_parity_reference *r, const char *frozen, const char *out)
{
    char ids[PATH_BYTES + 32];
    struct lat_st_file *file = NULL;
    struct lat_parity_prompts prompts = { 0 };
    struct lat_spawn_result child = { 0 };
    snprintf(ids, sizeof ids, "%.*s.ids.json", PATH_BYTES + 16, out);
    unlink(out);
    LAT_TRY(lat_st_open(&file, frozen, &s->error));
    enum lat_status status = lat_parity_prompts_read(&prompts, file, false, &s->error);
    lat_st_close(file);
    if (status == LAT_OK)
        status = lat_parity_prompts_write(&prompts, ids, &s->error);
    lat_parity_prompts_release(&prompts);
    LAT_TRY(status);
    const struct lat_parity_fill fills[] = { { "model", r->model }, { "ids", ids }, { "out", out }, { NULL, NULL } };
    struct lat_parity_command command = { .arguments = &s->config.live, .fills = fills, .env = s->config.env,
                                          .seconds_max = s->leg->budget_s, .rss_max = s->leg->rss_max };
    status = lat_parity_command_run(&child, &s->run, &command, &s->error);
    if (status == LAT_OK && !lat_spawn_ok(&child))
        status = lat_error_set(&s->error, LAT_FAILED, "the live reference's command ended with %s %d: %.300s",
                               child.exited ? "exit status" : "signal",
                               child.exited ? child.code : child.signal, child.err.bytes ? child.err.bytes : "");
    lat_spawn_result_release(&child);
    unlink(ids);
    return status;
}

static void judge_live(struct session *s, const struct lat_parity_reference *r, struct lat_parity_outcome *o, struct lat_buf *out)
{
    char folder[PATH_BYTES], frozen[PATH_BYTES], live[PATH_BYTES + 32];
    struct lat_parity_live found;
    enum lat_status status = lat_parity_folder(folder, sizeof folder, &s->run, s->leg->name, r->name, &s->error);
    snprintf(live, sizeof live, "%s/live.safetensors", folder);
    if (status == LAT_OK)
        status = lat_parity_path(frozen, sizeof frozen, s->run.root, r->file, &s->error);
    if (status == LAT_OK)
        status = make_live(s, r, frozen, live);
    if (status == LAT_OK)
        status = lat_parity_live_compare(&found, frozen, live, r->limits.margin_floors, &s->error);
    if (status != LAT_OK) {
        lat_parity_note(&s->result, o, -1, LAT_LEG_ERROR, "P806", "run the command of 'live' by hand", "%s", s->error.text);
        return;
    }
    s->result.population += found.rows;
    if (!found.agrees)
        lat_parity_note(&s->result, o, -1, LAT_LEG_ERROR, "P806", "understand what moved before anything is frozen anew",
                        "live and frozen reference disagree: %s; packages: %s", found.what,
                            found.packages[0] ? found.packages : "the same");
    lat_buf_addf(out, "%-18s %s, %zu prompts, %zu rows, %.3g floors apart; packages: %s\n", r->name, found.agrees ? "agrees" : "DISAGREES",
                 found.prompts, found.rows, found.max_ratio, found.packages[0] ? found.packages : "the same");
}

static int live(struct session *s)
{
    struct lat_buf out;
    if (!s->config.live.count) {
        lat_error_set(&s->error, LAT_NOT_FOUND, "leg '%s' has no 'live': the command that writes a reference", s->leg->name);
        return lat_gate_complain(&s->error);
    }
    lat_buf_init(&out, 1 << 20);
    for (size_t i = 0; i < s->config.reference_count; i++) {
        struct lat_parity_outcome outcome;
        if (lat_parity_reference_check(&s->run, &s->config, &s->config.references[i], &outcome, &s->result))
            judge_live(s, &s->config.references[i], &outcome, &out);
        lat_mem_free(outcome.hf_decode_tokens_s);
    }
    add_findings(&out, &s->result);
    bool printed = lat_gate_print(&out);
    lat_buf_release(&out);
    return printed ? lat_gate_exit_of(s->result.state) : LAT_GATE_CANNOT_JUDGE;
}

static int with_session(int argc, char **argv, const struct lat_command *self, int (*act)(struct session *s))
{
    struct session *s = lat_mem_new(1, sizeof *s);
    if (!s)
        return LAT_GATE_CANNOT_JUDGE;
    lat_leg_result_init(&s->result, "parity");
    int code = open_session(s, argc, argv, self) == LAT_OK ? act(s) : lat_gate_complain(&s->error);
    lat_leg_result_release(&s->result);
    lat_parity_config_release(&s->config);
    lat_policy_release(&s->policy);
    lat_mem_free(s);
    return code;
}

static int run_run(int argc, char **argv, const struct lat_command *self) { return with_session(argc, argv, self, judge_leg); }
static int run_freeze(int argc, char **argv, const struct lat_command *self) { return with_session(argc, argv, self, freeze); }
static int run_live(int argc, char **argv, const struct lat_command *self) { return with_session(argc, argv, self, live); }

static const struct lat_option options[] = {
    { "--policy", "FILE", "the policy (gate.yaml here or in a folder above)", LAT_OPTION_TEXT, AT(policy) },
    { "--work", "DIR", "scratch and evidence (ROOT/.gate)", LAT_OPTION_TEXT, AT(work) },
    { "--verbose", NULL, "say what is run", LAT_OPTION_FLAG, AT(verbose) },
    { "--md", NULL, "the E2E Parity Report as Markdown (run)", LAT_OPTION_FLAG, AT(markdown) },
    { "--json", NULL, "a JSON object (run)", LAT_OPTION_FLAG, AT(json) },
};

#define COMMON .program = "lattice-gate", .operands = "[LEG]", .operands_min = 0, .operands_max = 1, .options = options

const struct lat_command lat_gate_cmd_parity_run = {
    COMMON,
    .name = "parity run",
    .summary = "runs the engine on every reference of a parity leg and judges rungs P0 to P8",
    .details = "LEG: needed only when the policy has several of kind parity. The report is also written to WORK/parity/LEG/report.md.\n"
               "Exit status: 0 pass, 1 fail, 2 cannot judge (P801, P804, P807, E3xx), 3 unarmed.\n",
    .option_count = sizeof options / sizeof options[0],
    .run = run_run,
};
const struct lat_command lat_gate_cmd_parity_freeze = {
    COMMON,
    .name = "parity freeze",
    .summary = "writes the references' digests into the lock file; never green (exit status 3)",
    .option_count = 3,
    .run = run_freeze,
};
const struct lat_command lat_gate_cmd_parity_live = {
    COMMON,
    .name = "parity live",
    .summary = "makes every reference anew with the leg's 'live' command and holds it against the frozen one",
    .details = "Exit status: 0 they agree, 2 they do not (P806, with the package that moved) or cannot be made, 3 unarmed.\n",
    .option_count = 3,
    .run = run_live,
};
