// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/parity_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"

// "64/64", or "12/64 (margin 0.0001, excused)"
static void greedy_text(char *out, size_t size, const struct lat_parity_prompt *p)
{
    if (p->greedy_count == 0)
        snprintf(out, size, "-");
    else if (p->greedy_same == p->greedy_count)
        snprintf(out, size, "%zu/%zu", p->greedy_same, p->greedy_count);
    else
        snprintf(out, size, "%zu/%zu (margin %.2g, %s)", p->greedy_same, p->greedy_count, p->greedy_margin,
                 p->greedy_excused ? "excused" : "too wide");
}

static void layer_text(char *out, size_t size, const struct lat_parity_prompt *p)
{
    if (p->first_layer[0])
        snprintf(out, size, "%s (%.3g x)", p->first_layer, p->first_layer_ratio);
    else
        snprintf(out, size, p->has_layers ? "none" : "-");
}

static void add_verdict(struct lat_buf *out, const struct lat_parity_result *r, const struct lat_parity_limits *l)
{
    lat_buf_addf(out, "%zu prompts, %zu positions; limits: max %.3g x, rms %.3g x Hugging Face's own distance to the float64 truth\n",
                 r->count, r->positions, l->max_ratio, l->rms_ratio);
    lat_buf_addf(out, "reference sha256 %s\n", r->reference_sha256);
}

void lat_parity_report_text(struct lat_buf *out, const struct lat_parity_result *r, const struct lat_parity_limits *limits)
{
    lat_buf_addf(out, "%-6s %9s %10s %6s %10s %6s %9s %11s  %-9s %-18s %s\n", "prompt", "positions", "max", "x HF", "rms", "x HF",
                 "mean KL", "top-1", "greedy", "first bad layer", "verdict");
    for (size_t i = 0; i < r->count; i++) {
        const struct lat_parity_prompt *p = &r->prompts[i];
        char greedy[64], layer[48], top1[32];
        greedy_text(greedy, sizeof greedy, p);
        layer_text(layer, sizeof layer, p);
        snprintf(top1, sizeof top1, "%zu/%zu", p->top1_same, p->positions);
        lat_buf_addf(out, "%-6s %9zu %10.3g %6.2f %10.3g %6.2f %9.1e %11s  %-9s %-18s %s\n", p->name, p->positions, p->max,
                     p->max_ratio, p->rms, p->rms_ratio, p->mean_kl, top1, greedy, layer, p->passed ? "pass" : "FAIL");
    }
    add_verdict(out, r, limits);
    lat_buf_addf(out, "parity: %s\n", r->passed ? "pass" : "FAIL");
}

void lat_parity_report_markdown(struct lat_buf *out, const struct lat_parity_result *r, const struct lat_parity_limits *limits)
{
    lat_buf_addf(out, "**Parity with Hugging Face: %s**\n\n", r->passed ? "pass" : "FAIL");
    lat_buf_add_text(out, "| prompt | positions | max | x HF | rms | x HF | mean KL | top-1 | greedy | first bad layer | verdict |\n");
    lat_buf_add_text(out, "|---|---:|---:|---:|---:|---:|---:|---:|---|---|---|\n");
    for (size_t i = 0; i < r->count; i++) {
        const struct lat_parity_prompt *p = &r->prompts[i];
        char greedy[64], layer[48];
        greedy_text(greedy, sizeof greedy, p);
        layer_text(layer, sizeof layer, p);
        lat_buf_addf(out, "| %s | %zu | %.3g | %.2f | %.3g | %.2f | %.1e | %zu/%zu | %s | %s | %s |\n", p->name, p->positions, p->max,
                     p->max_ratio, p->rms, p->rms_ratio, p->mean_kl, p->top1_same, p->positions, greedy, layer,
                     p->passed ? "pass" : "**FAIL**");
    }
    lat_buf_add_char(out, '\n');
    add_verdict(out, r, limits);
}

static void add_number(struct lat_buf *out, const char *name, double value)
{
    lat_buf_addf(out, ",\"%s\":", name);
    lat_json_add_double(out, value);
}

static void add_prompt(struct lat_buf *out, const struct lat_parity_prompt *p)
{
    lat_buf_addf(out, "{\"prompt\":\"%s\",\"passed\":%s,\"positions\":%zu,\"full_positions\":%zu", p->name,
                 p->passed ? "true" : "false", p->positions, p->full_positions);
    add_number(out, "max", p->max);
    add_number(out, "rms", p->rms);
    add_number(out, "floor_max", p->floor_max);
    add_number(out, "floor_rms", p->floor_rms);
    add_number(out, "max_ratio", p->max_ratio);
    add_number(out, "rms_ratio", p->rms_ratio);
    add_number(out, "mean_kl", p->mean_kl);
    lat_buf_addf(out, ",\"top1_same\":%zu,\"greedy_count\":%zu,\"greedy_same\":%zu,\"greedy_excused\":%s", p->top1_same,
                 p->greedy_count, p->greedy_same, p->greedy_excused ? "true" : "false");
    add_number(out, "greedy_margin", p->greedy_margin);
    lat_buf_add_text(out, ",\"first_bad_layer\":");
    if (p->first_layer[0])
        lat_json_add_string(out, p->first_layer, strlen(p->first_layer));
    else
        lat_buf_add_text(out, "null");
    add_number(out, "first_bad_layer_ratio", isfinite(p->first_layer_ratio) ? p->first_layer_ratio : 1e300);
    lat_buf_add_char(out, '}');
}

void lat_parity_report_json(struct lat_buf *out, const struct lat_parity_result *r, const struct lat_parity_limits *limits)
{
    lat_buf_addf(out, "{\"verdict\":\"%s\",\"reference_sha256\":\"%s\",\"positions\":%zu,\"limits\":{\"max_ratio\":",
                 r->passed ? "pass" : "fail", r->reference_sha256, r->positions);
    lat_json_add_double(out, limits->max_ratio);
    add_number(out, "rms_ratio", limits->rms_ratio);
    add_number(out, "margin_floors", limits->margin_floors);
    add_number(out, "layer_ratio", limits->layer_ratio);
    lat_buf_add_text(out, "},\"prompts\":[");
    for (size_t i = 0; i < r->count; i++) {
        if (i)
            lat_buf_add_char(out, ',');
        add_prompt(out, &r->prompts[i]);
    }
    lat_buf_add_text(out, "]}\n");
}
