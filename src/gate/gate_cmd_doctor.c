// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate doctor`: lints workflow files, and looks at the machine.
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/environment_check.h"
#include "gate/gate_cmd.h"
#include "gate/gate_place.h"
#include "gate/leg.h"
#include "gate/workflow_lint.h"

struct doctor_values {
    const char *workflows, *policy, *ruleset, *branch, *format;
    struct lat_texts contexts;
    bool only_workflows;
};

struct doctor_run {
    const struct doctor_values *v;
    struct lat_policy *policy; // NULL: there is none
    char root[4096];
    struct lat_leg_result result;
    struct lat_buf notes;
    bool linted;
};

#define AT(field) offsetof(struct doctor_values, field)

// The policy is wanted, not needed: without one the linter goes by what the workflows do.
static enum lat_status read_policy(struct doctor_run *d, struct lat_error *error)
{
    struct lat_gate_place *place = lat_mem_new(1, sizeof *place);
    struct lat_error why = { 0 };
    if (!place)
        return lat_error_memory(error, "a path");
    enum lat_status status = LAT_OK;
    memcpy(d->root, ".", 2);
    if (!d->v->policy && !lat_file_exists("gate.yaml"))
        lat_buf_addf(&d->notes, "policy: no gate.yaml here; legs and their tools are not known\n");
    else if ((status = lat_gate_place_find(place, d->v->policy ? d->v->policy : "gate.yaml", NULL, &why)) == LAT_OK) {
        d->policy = lat_mem_new(1, sizeof *d->policy);
        memcpy(d->root, place->root, sizeof d->root);
        status = d->policy ? lat_policy_read(d->policy, place->policy, &why) : lat_error_memory(&why, "the policy");
    }
    lat_mem_free(place);
    return status == LAT_OK ? LAT_OK : lat_error_set(error, status, "%s", why.text);
}

// What the policy's own leg of this kind says, unless the command line says otherwise.
static enum lat_status take_leg(struct doctor_run *d, struct lat_lint_options *options, const char **folder, char **ruleset,
                                struct lat_error *error)
{
    for (size_t i = 0; d->policy && i < d->policy->leg_count; i++) {
        const struct lat_policy_leg *leg = &d->policy->legs[i];
        const char *path = NULL;
        if (strcmp(leg->kind, "doctor") != 0)
            continue;
        LAT_TRY(lat_leg_doctor.check(d->policy, leg, error));
        if (!*folder)
            LAT_TRY(lat_yaml_read_text(&d->policy->doc, leg->node, "workflows", folder, error));
        if (options->contexts.count == 0)
            LAT_TRY(lat_yaml_read_texts(&d->policy->doc, leg->node, "contexts", &options->contexts, error));
        LAT_TRY(lat_yaml_read_text(&d->policy->doc, leg->node, "ruleset", &path, error));
        if (path && !options->ruleset && !(options->ruleset = *ruleset = lat_file_path_join(d->root, path)))
            return lat_error_memory(error, "a path");
        return LAT_OK;
    }
    return LAT_OK;
}

static enum lat_status lint(struct doctor_run *d, struct lat_error *error)
{
    const char *folder = d->v->workflows;
    char *ruleset = NULL, *path = NULL;
    struct lat_lint_options options = { .contexts = { d->v->contexts.items, d->v->contexts.count }, .policy = d->policy,
        .ruleset = d->v->ruleset };
    options.default_branch = d->v->branch ? d->v->branch : d->policy ? d->policy->default_branch : NULL;
    enum lat_status status = take_leg(d, &options, &folder, &ruleset, error);
    const char *shown = folder ? folder : ".github/workflows";
    bool told = folder != NULL;
    if (status == LAT_OK && !(path = d->v->workflows ? lat_mem_copy_text(shown, strlen(shown)) : lat_file_path_join(d->root, shown)))
        status = lat_error_memory(error, "a path");
    if (status == LAT_OK && !told && !lat_file_is_folder(path))
        lat_buf_addf(&d->notes, "workflows: %s is not there\n", shown);
    else if (status == LAT_OK) {
        status = lat_lint_folder(&d->result, path, shown, &options, error);
        d->linted = status == LAT_OK;
    }
    lat_mem_free(ruleset);
    lat_mem_free(path);
    return status;
}

static void add_text(struct lat_buf *out, const struct doctor_run *d)
{
    const struct lat_leg_result *r = &d->result;
    bool color = lat_gate_color(stdout);
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct lat_finding *f = &r->findings[i];
        if (f->path) {
            for (const char *c = f->path; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                    lat_buf_addf(out, "\\x%02x", (unsigned char)*c);
                else
                    lat_buf_add_char(out, *c);
            lat_buf_addf(out, ":%zu:%zu: ", f->line, f->column);
        }
        lat_buf_addf(out, "%s%s %s%s: %s\n", lat_gate_color_of(f->state, color), lat_leg_state_name(f->state), f->code,
                     lat_gate_color_end(color),
                     f->message);
        if (f->fix && f->state > LAT_LEG_INFO)
            lat_buf_addf(out, "  fix: %s\n", f->fix);
    }
    if (r->findings_dropped)
        lat_buf_addf(out, "and %zu findings more\n", r->findings_dropped);
    if (d->notes.length)
        lat_buf_add(out, d->notes.bytes, d->notes.length);
    if (d->linted)
        lat_buf_addf(out, "workflows: %llu files\n", (unsigned long long)r->population);
    lat_buf_addf(out, "%s%s%s\n", lat_gate_color_of(r->state, color), lat_leg_state_name(r->state), lat_gate_color_end(color));
}

static enum lat_status add_json(struct lat_buf *out, const struct doctor_run *d, struct lat_error *error)
{
    const struct lat_leg_result *r = &d->result;
    json_t *findings = json_array(), *root = NULL;
    for (size_t i = 0; findings && i < r->finding_count; i++) {
        const struct lat_finding *f = &r->findings[i];
        json_t *one = json_pack("{s:s, s:s, s:s?, s:I, s:I, s:s, s:s?}", "code", f->code, "state",
                                lat_leg_state_name(f->state), "path", f->path,
                                "line", (json_int_t)f->line, "column", (json_int_t)f->column, "message", f->message, "fix", f->fix);
        if (!one) // a file name that is no UTF-8
            one = json_pack("{s:s, s:s, s:I, s:I, s:s}", "code", f->code, "state", lat_leg_state_name(f->state), "line",
                            (json_int_t)f->line,
                            "column", (json_int_t)f->column, "message", f->message);
        if (!one || json_array_append_new(findings, one) != 0)
            return lat_error_memory(error, "the findings");
    }
    root = json_pack("{s:s, s:I, s:I, s:o}", "state", lat_leg_state_name(r->state), "workflows", (json_int_t)r->population, "dropped",
                     (json_int_t)r->findings_dropped, "findings", findings);
    char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    if (text) {
        lat_buf_add_text(out, text);
        lat_buf_add_char(out, '\n');
    }
    free(text);
    json_decref(root);
    return text ? LAT_OK : lat_error_memory(error, "the findings");
}

static enum lat_status doctor(struct doctor_run *d, struct lat_buf *out, struct lat_error *error)
{
    const struct doctor_values *v = d->v;
    bool json = strcmp(v->format, "json") == 0;
    if (!json && strcmp(v->format, "text") != 0)
        return lat_error_set(error, LAT_ARGUMENT, "--format: expected text or json, not '%.40s'", v->format);
    LAT_TRY(read_policy(d, error));
    LAT_TRY(lint(d, error));
    if (d->linted && d->result.population == 0)
        lat_leg_find(&d->result, LAT_LEG_ERROR, "V205", NULL, 0, "name the folder that holds the *.yml files",
                     "no workflow file in the folder");
    if (!v->only_workflows)
        lat_environment_check(&d->result, d->root, d->policy, &d->notes);
    if (!json)
        add_text(out, d);
    return json ? add_json(out, d, error) : LAT_OK;
}

static int run_doctor(int argc, char **argv, const struct lat_command *self)
{
    struct doctor_values values = { .format = "text" };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    struct lat_buf out;
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    struct doctor_run *d = lat_mem_new(1, sizeof *d);
    if (!d)
        return LAT_GATE_CANNOT_JUDGE;
    d->v = &values;
    lat_leg_result_init(&d->result, "doctor");
    lat_buf_init(&d->notes, 1 << 16);
    lat_buf_init(&out, 1 << 24);
    int code = LAT_GATE_CANNOT_JUDGE;
    if (doctor(d, &out, &error) != LAT_OK)
        code = lat_gate_complain(&error);
    else if (lat_gate_print(&out))
        code = lat_gate_exit_of(d->result.state);
    lat_buf_release(&out);
    lat_buf_release(&d->notes);
    lat_leg_result_release(&d->result);
    if (d->policy)
        lat_policy_release(d->policy);
    lat_mem_free(d->policy);
    lat_mem_free(d);
    return code;
}

static const struct lat_option doctor_options[] = {
    { "--workflows", "DIR", "the workflow files (.github/workflows, when it is there)", LAT_OPTION_TEXT, AT(workflows) },
    { "--context", "NAME", "a required check, may be given several times (of the policy, the ruleset, or who runs the verdict)",
      LAT_OPTION_TEXTS, AT(contexts) },
    { "--policy", "FILE", "the policy (gate.yaml, when it is there)", LAT_OPTION_TEXT, AT(policy) },
    { "--ruleset", "FILE", "the repository's ruleset as JSON, for D22", LAT_OPTION_TEXT, AT(ruleset) },
    { "--branch", "NAME", "the default branch (of the policy, or main)", LAT_OPTION_TEXT, AT(branch) },
    { "--only-workflows", NULL, "do not look at this machine", LAT_OPTION_FLAG, AT(only_workflows) },
    { "--format", "F", "text or json (text)", LAT_OPTION_TEXT, AT(format) },
};

const struct lat_command lat_gate_cmd_doctor = {
    .program = "lattice-gate",
    .name = "doctor",
    .operands = "",
    .operands_max = 0,
    .summary = "looks for traps in workflow files, and whether this machine can judge",
    .details = "Exit status: 1 when a workflow has a trap, 2 when this machine or a file keeps the gate from judging.\n"
               "'lattice-gate explain D01' says what a code means.\n",
    .options = doctor_options,
    .option_count = sizeof doctor_options / sizeof doctor_options[0],
    .run = run_doctor,
};
