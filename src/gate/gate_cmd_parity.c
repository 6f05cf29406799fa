// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate parity compare | bisect | power`: commands about files.
#include <stdio.h>

#include "core/error.h"
#include "gate/gate_cmd.h"
#include "gate/parity_points.h"
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

struct points_values {
    double layer_ratio;
    bool all;
};

#define POINTS_AT(field) offsetof(struct points_values, field)

static const struct lat_option points_options[] = {
    { "--layer-ratio", "X", "a point is wrong above X of its floors (8)", LAT_OPTION_NUMBER, POINTS_AT(layer_ratio) },
    { "--all", NULL, "every point, not only what is around the first wrong one", LAT_OPTION_FLAG, POINTS_AT(all) },
};

static int print_buffer(struct lat_buf *out, int code)
{
    bool printed = lat_gate_print(out);
    lat_buf_release(out);
    return printed ? code : LAT_GATE_CANNOT_JUDGE;
}

static int cannot_judge(struct lat_error *error)
{
    lat_error_prefix(error, LAT_FAILED, "cannot judge");
    lat_gate_complain(error);
    return LAT_GATE_CANNOT_JUDGE;
}

static void add_point(struct lat_buf *out, const struct lat_parity_point *p, double limit)
{
    if (p->seen)
        lat_buf_addf(out, "%-22s %10.3g %10.3g %9.3g  %s\n", p->name, p->rms, p->floor, p->ratio, p->ratio > limit ? "WRONG" : "ok");
    else
        lat_buf_addf(out, "%-22s %10s %10.3g %9s  not in the trace\n", p->name, "-", p->floor, "-");
}

static int run_bisect(int argc, char **argv, const struct lat_command *self)
{
    struct points_values values = { .layer_ratio = lat_parity_limits_default().layer_ratio };
    struct lat_operands operands;
    struct lat_parity_points points;
    struct lat_error error = { 0 };
    struct lat_buf out;
    enum { AROUND = 3 };
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    if (lat_parity_points_compare(&points, operands.items[0], operands.items[1], values.layer_ratio, NULL, &error) != LAT_OK)
        return cannot_judge(&error);
    size_t first = points.first ? (size_t)(points.first - points.items) : points.count;
    lat_buf_init(&out, 1 << 26);
    lat_buf_addf(&out, "%-22s %10s %10s %9s\n", "point", "rms", "floor", "floors");
    for (size_t i = 0; i < points.count; i++)
        if (values.all || !points.first || (i + AROUND >= first && i <= first + AROUND))
            add_point(&out, &points.items[i], values.layer_ratio);
    if (points.first)
        lat_buf_addf(&out, "first wrong: %s, %.3g floors; worst at position %zu, channel %zu\n", points.first->name, points.first->ratio,
                     points.first->position, points.first->channel);
    else
        lat_buf_addf(&out, "nothing is wrong at %zu of %zu points\n", points.seen, points.count);
    bool wrong = points.first != NULL;
    lat_parity_points_release(&points);
    return print_buffer(&out, wrong ? LAT_GATE_FAIL : LAT_GATE_PASS);
}

static void add_size(struct lat_buf *out, double size)
{
    if (size > 0)
        lat_buf_addf(out, " %12.3g", size);
    else
        lat_buf_addf(out, " %12s", "NOT SEEN");
}

static int run_power(int argc, char **argv, const struct lat_command *self)
{
    struct points_values values = { .layer_ratio = lat_parity_limits_default().layer_ratio };
    struct lat_operands operands;
    struct lat_parity_powers powers;
    struct lat_error error = { 0 };
    struct lat_buf out;
    size_t blind = 0;
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    if (lat_parity_power_measure(&powers, operands.items[0], operands.items[1], values.layer_ratio, &error) != LAT_OK)
        return cannot_judge(&error);
    lat_buf_init(&out, 1 << 26);
    lat_buf_addf(&out, "smallest e at which a channel times 1+e is caught, and whether three coarse faults are\n"
                       "%-22s %12s %12s  %s\n", "point", "usual", "weakest", "position+1  halves swapped  oldest dropped");
    for (size_t i = 0; i < powers.count; i++) {
        const struct lat_parity_power *p = &powers.items[i];
        lat_buf_addf(&out, "%-22s", p->name);
        add_size(&out, p->median_channel);
        add_size(&out, p->weak_channel);
        lat_buf_addf(&out, "  %-11s %-15s %s\n", p->shifted ? "caught" : "NOT", p->halves ? "caught" : "NOT", p->oldest ? "caught" : "NOT");
        blind += p->median_channel <= 0 || !p->shifted || !p->halves || !p->oldest;
    }
    lat_buf_addf(&out, "%zu points, %zu where something is not seen\n", powers.count, blind);
    lat_parity_powers_release(&powers);
    return print_buffer(&out, blind ? LAT_GATE_FAIL : LAT_GATE_PASS);
}

const struct lat_command lat_gate_cmd_parity_bisect = {
    .program = "lattice-gate",
    .name = "parity bisect",
    .operands = "OPERATORS.safetensors TRACE.safetensors",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "names the first wrong layer of a trace and the first wrong operator in it",
    .details = "OPERATORS is written by tools/reference/operators.py, TRACE by `lattice trace --ops all`. Exit status: 0 nothing is\n"
               "wrong, 1 something is, 2 cannot judge.\n",
    .options = points_options,
    .option_count = 2,
    .run = run_bisect,
};

const struct lat_command lat_gate_cmd_parity_power = {
    .program = "lattice-gate",
    .name = "parity power",
    .operands = "OPERATORS.safetensors TRACE.safetensors",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "plants perturbations in a trace that passes and states the smallest that is caught at each point",
    .details = "Exit status: 0 every coarse perturbation and a doubled channel are caught at every point, 1 somewhere not, 2 cannot "
               "judge.\n",
    .options = points_options,
    .option_count = 1,
    .run = run_power,
};
