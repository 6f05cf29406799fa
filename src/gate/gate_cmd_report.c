// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate report`: the evidence in the form that somebody reads. It cannot change a verdict.
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/gate_cmd.h"
#include "gate/gate_place.h"
#include "gate/gate_verdict_table.h"
#include "gate/report.h"

struct report_values {
    const char *policy, *work, *format, *output;
};

#define AT(field) offsetof(struct report_values, field)

struct reporter {
    struct lat_gate_place place;
    struct lat_plan plan;
    struct lat_leg_evidence_set set;
    struct lat_verdict verdict;
    struct lat_report report;
};

static const struct {
    const char *name;
    void (*write)(struct lat_buf *out, const struct lat_report *report);
} formats[] = {
    { "text", lat_report_text },   { "md", lat_report_markdown }, { "json", lat_report_json },
    { "junit", lat_report_junit }, { "sarif", lat_report_sarif }, { "github", lat_report_github },
};

static enum lat_status write_report(struct lat_buf *out, const struct lat_report *report, const char *format, struct lat_error *error)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(format, formats[i].name) == 0) {
            formats[i].write(out, report);
            return out->failed ? lat_error_set(error, LAT_LIMIT, "the report does not fit") : LAT_OK;
        }
    return lat_error_set(error, LAT_ARGUMENT, "--format: expected text, md, json, junit, sarif or github, not '%.40s'", format);
}

static enum lat_status read_all(struct reporter *r, const struct report_values *v, struct lat_error *error)
{
    LAT_TRY(lat_gate_place_find(&r->place, v->policy, v->work, error));
    char *plan = lat_file_path_join(r->place.work, "plan.json"), *results = lat_file_path_join(r->place.work, "results");
    enum lat_status status = plan && results ? lat_plan_read(&r->plan, plan, error) : lat_error_memory(error, "a path");
    if (status == LAT_OK)
        status = lat_leg_evidence_set_read(&r->set, results, error);
    lat_mem_free(plan);
    lat_mem_free(results);
    LAT_TRY(status);
    LAT_TRY(lat_verdict_of(&r->verdict, &r->plan, &r->set, NULL, 0, error));
    return lat_report_open(&r->report, &r->plan, &r->verdict, &r->set, error);
}

static enum lat_status write_file(const char *path, const struct lat_buf *text, struct lat_error *error)
{
    struct lat_file_out out;
    LAT_TRY(lat_file_out_open(&out, path, error));
    enum lat_status status = lat_file_out_write(&out, 0, text->bytes, text->length, error);
    if (status == LAT_OK)
        return lat_file_out_commit(&out, error);
    lat_file_out_abort(&out);
    return status;
}

static int run_report(int argc, char **argv, const struct lat_command *self)
{
    struct report_values values = { .format = "text" };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    struct lat_buf out;
    int code = LAT_GATE_PASS;
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    struct reporter *r = lat_mem_new(1, sizeof *r);
    if (!r)
        return LAT_GATE_CANNOT_JUDGE;
    lat_buf_init(&out, LAT_REPORT_BYTES_MAX);
    enum lat_status status = read_all(r, &values, &error);
    if (status == LAT_OK)
        status = write_report(&out, &r->report, values.format, &error);
    if (status == LAT_OK && values.output)
        status = write_file(values.output, &out, &error);
    else if (status == LAT_OK && !lat_gate_print(&out))
        code = LAT_GATE_CANNOT_JUDGE;
    if (status != LAT_OK)
        code = lat_gate_complain(&error);
    lat_report_close(&r->report);
    lat_buf_release(&out);
    lat_plan_release(&r->plan);
    lat_leg_evidence_set_release(&r->set);
    lat_mem_free(r);
    return code;
}

static const struct lat_option report_options[] = {
    { "--policy", "FILE", "the policy (gate.yaml here or in the nearest folder above)", LAT_OPTION_TEXT, AT(policy) },
    { "--work", "DIR", "where plan and evidence lie (.gate beside the policy)", LAT_OPTION_TEXT, AT(work) },
    { "--format", "NAME", "text, md, json, junit, sarif or github (text)", LAT_OPTION_TEXT, AT(format) },
    { "-o", "FILE", "write there instead of standard output", LAT_OPTION_TEXT, AT(output) },
};

const struct lat_command lat_gate_cmd_report = {
    .program = "lattice-gate",
    .name = "report",
    .operands = "",
    .summary = "the evidence as text, Markdown, JSON, JUnit, SARIF or GitHub annotations",
    .details = "A report is at most 900 KiB and cannot change a verdict. Exit status: 0 when it was written, whatever it says; 2 when\n"
               "there is no plan, or a file cannot be read or written.\n",
    .options = report_options,
    .option_count = sizeof report_options / sizeof report_options[0],
    .run = run_report,
};
