// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate parity ...`
#include <stdio.h>

#include "core/error.h"
#include "gate/gate_cmd.h"
#include "gate/parity_report.h"

struct compare_values {
    struct lat_parity_limits limits;
    bool json, markdown;
};

#define AT(field) offsetof(struct compare_values, field)

static const struct lat_option compare_options[] = {
    { "--json", NULL, "a JSON object", LAT_OPTION_FLAG, AT(json) },
    { "--md", NULL, "a Markdown table", LAT_OPTION_FLAG, AT(markdown) },
    { "--max-ratio", "X", "largest |logit - truth| allowed, in floors (2)", LAT_OPTION_NUMBER, AT(limits.max_ratio) },
    { "--rms-ratio", "X", "root mean square allowed, in floors (1.2)", LAT_OPTION_NUMBER, AT(limits.rms_ratio) },
    { "--margin-floors", "X", "greedy ids must agree where the margin is above X floors (4)", LAT_OPTION_NUMBER,
      AT(limits.margin_floors) },
    { "--layer-ratio", "X", "a layer stands out above X of its floors (8)", LAT_OPTION_NUMBER, AT(limits.layer_ratio) },
};

static int print_report(const struct lat_parity_result *result, const struct compare_values *v)
{
    struct lat_buf out;
    lat_buf_init(&out, 1 << 26);
    if (v->json)
        lat_parity_report_json(&out, result, &v->limits);
    else if (v->markdown)
        lat_parity_report_markdown(&out, result, &v->limits);
    else
        lat_parity_report_text(&out, result, &v->limits);
    bool written = lat_gate_print(&out);
    lat_buf_release(&out);
    if (!written)
        return LAT_GATE_CANNOT_JUDGE;
    return result->passed ? LAT_GATE_PASS : LAT_GATE_FAIL;
}

static int run_compare(int argc, char **argv, const struct lat_command *self)
{
    struct compare_values values = { .limits = lat_parity_limits_default() };
    struct lat_operands operands;
    struct lat_parity_result result;
    struct lat_error error = { 0 };
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    if (values.json && values.markdown) {
        lat_error_set(&error, LAT_ARGUMENT, "give --json or --md, not both");
        return lat_gate_complain(&error);
    }
    if (lat_parity_compare(&result, operands.items[0], operands.items[1], &values.limits, &error) != LAT_OK) {
        lat_error_prefix(&error, LAT_FAILED, "cannot judge");
        lat_gate_complain(&error);
        return LAT_GATE_CANNOT_JUDGE;
    }
    int code = print_report(&result, &values);
    lat_parity_result_release(&result);
    return code;
}

const struct lat_command lat_gate_cmd_parity_compare = {
    .program = "lattice-gate",
    .name = "parity compare",
    .operands = "REF.safetensors TRACE.safetensors",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "judges whether an engine is as close to the exact answer as Hugging Face is",
    .details = "REF is written by tools/reference/make.py, TRACE by `lattice trace`. Exit status: 0 pass, 1 fail, 2 cannot\n"
               "judge (a missing prompt, other ids, another model, NaN, nothing to compare), 4 usage.\n",
    .options = compare_options,
    .option_count = sizeof compare_options / sizeof compare_options[0],
    .run = run_compare,
};
