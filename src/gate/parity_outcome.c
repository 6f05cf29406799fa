// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/parity_outcome.h"

#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "gate/parity_report.h"

enum { TEXT_SHOWN = 600 };

static const char *const rung_names[LAT_PARITY_RUNGS] = {
    "P0 the same ids",        "P1 emitted ids are the engine's best",  "P2 distance to the truth, ids forced",
    "P3 paths agree",         "P4 layers and operators",               "P5 fast type near f32",
    "P6 greedy, with margin", "P7 same again, other threads",          "P8 the path that was claimed",
};

void lat_parity_outcomes_release(struct lat_parity_outcomes *outcomes)
{
    for (size_t i = 0; i < outcomes->count; i++) {
        struct lat_parity_outcome *o = &outcomes->items[i];
        for (size_t k = 0; o->generations && k < o->compared.count; k++) {
            lat_mem_free(o->generations[k].text);
            lat_mem_free(o->generations[k].reference_text);
        }
        lat_mem_free(o->generations);
        lat_mem_free(o->hf_decode_tokens_s);
        lat_parity_result_release(&o->compared);
    }
    outcomes->count = 0;
}

enum lat_leg_state lat_parity_outcome_state(const struct lat_parity_outcome *outcome)
{
    return lat_leg_state_worse(outcome->state, outcome->armed ? LAT_LEG_PASS : LAT_LEG_UNMEASURABLE);
}

// Text of a stranger inside a table or a line of Markdown: nothing in it may be markup.
static void add_escaped(struct lat_buf *out, const char *text, size_t most)
{
    for (size_t i = 0; text[i] && i < most; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            lat_buf_add_text(out, "\xe2\x8f\x8e");
        else if (c < 0x20 || c == 0x7f)
            lat_buf_addf(out, "\\\\x%02x", c);
        else if (c == '<' || c == '>' || c == '&')
            lat_buf_add_text(out, c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;");
        else if (strchr("\\`*_[]#!|~@", c))
            lat_buf_addf(out, "\\%c", c);
        else
            lat_buf_add_char(out, (char)c);
    }
    if (strlen(text) > most)
        lat_buf_add_text(out, " ...");
}

static void add_speed(struct lat_buf *out, double tokens_s)
{
    if (tokens_s > 0)
        lat_buf_addf(out, " %.0f |", tokens_s);
    else
        lat_buf_add_text(out, " - |");
}

static void add_prompt(struct lat_buf *out, const struct lat_parity_outcome *o, size_t k)
{
    const struct lat_parity_prompt *p = &o->compared.prompts[k];
    const struct lat_parity_generation *g = o->generations ? &o->generations[k] : NULL;
    lat_buf_addf(out, "| %s | ", p->name);
    if (p->greedy_count == 0)
        lat_buf_add_text(out, "- | - |");
    else if (p->greedy_same == p->greedy_count)
        lat_buf_addf(out, "%zu/%zu | none |", p->greedy_same, p->greedy_count);
    else
        lat_buf_addf(out, "%zu/%zu | token %zu, margin %.2g%s |", p->greedy_same, p->greedy_count, p->greedy_same, p->greedy_margin,
                     p->greedy_excused ? ", excused" : "");
    add_speed(out, o->hf_decode_tokens_s ? o->hf_decode_tokens_s[k] : 0);
    add_speed(out, g ? g->decode_tokens_s : 0);
    lat_buf_addf(out, " %s | %zu | %.2g | %.2f | %.2f | %.1e | %zu/%zu | %s |", p->passed ? "pass" : "**FAIL**", p->positions, p->max,
                 p->max_ratio, p->rms_ratio, p->mean_kl, p->top1_same, p->positions,
                 p->first_layer[0] ? p->first_layer : p->has_layers ? "none" : "-");
    if (g && g->ttft_s > 0)
        lat_buf_addf(out, " %.1f ms |", g->ttft_s * 1e3);
    else
        lat_buf_add_text(out, " - |");
    if (g && g->rss_peak)
        lat_buf_addf(out, " %.1f MiB |\n", (double)g->rss_peak / (1 << 20));
    else
        lat_buf_add_text(out, " - |\n");
}

static void add_texts(struct lat_buf *out, const struct lat_parity_outcome *o)
{
    for (size_t k = 0; o->generations && k < o->compared.count; k++) {
        const struct lat_parity_generation *g = &o->generations[k];
        if (!g->ran || g->same == g->count)
            continue;
        lat_buf_addf(out, "\n%s differs from token %zu on:\n\n- reference: ", o->compared.prompts[k].name, g->same);
        add_escaped(out, g->reference_text ? g->reference_text : "(no command to show it)", TEXT_SHOWN);
        lat_buf_add_text(out, "\n- engine: ");
        add_escaped(out, g->text ? g->text : "", TEXT_SHOWN);
        lat_buf_add_char(out, '\n');
    }
}

static void add_rungs(struct lat_buf *out, const struct lat_parity_outcome *o)
{
    lat_buf_add_text(out, "| rung | state | seen |\n|---|---|---|\n");
    for (int r = 0; r < LAT_PARITY_RUNGS; r++) {
        const struct lat_parity_rung *rung = &o->rungs[r];
        lat_buf_addf(out, "| %s | %s | ", rung_names[r], rung->judged ? lat_leg_state_name(rung->state) : "not judged");
        add_escaped(out, rung->text, sizeof rung->text);
        lat_buf_add_text(out, " |\n");
    }
}

static void add_reference(struct lat_buf *out, const struct lat_parity_outcome *o)
{
    lat_buf_addf(out, "\n### %s: %s\n\n", o->reference->name, lat_leg_state_name(lat_parity_outcome_state(o)));
    lat_buf_addf(out, "Reference `%s`%s, id `%s`", o->reference->file, o->armed ? "" : " (UNARMED)", o->sha256[0] ? o->sha256 : "unknown");
    if (o->origin[0]) {
        lat_buf_add_text(out, "; ");
        add_escaped(out, o->origin, sizeof o->origin);
    }
    if (o->engine[0]) {
        lat_buf_add_text(out, ". Engine: ");
        add_escaped(out, o->engine, sizeof o->engine);
        lat_buf_addf(out, "; %.2f s, %.1f MiB for the traced run", o->engine_s, (double)o->rss_peak / (1 << 20));
    }
    lat_buf_add_text(out, ".\n\n");
    if (o->first_point[0])
        lat_buf_addf(out, "**First wrong: `%s`**, %.3g floors off.\n\n", o->first_point, o->first_ratio);
    add_rungs(out, o);
    if (o->compared.count == 0)
        return;
    lat_buf_add_text(out,
                     "\n| prompt | agreement | first difference | HF tok/s | engine tok/s | verdict | positions | max \\|Δlogit\\| "
                     "| max / floor "
                          "| rms / floor | mean KL | top-1 | first wrong layer | ttft | peak memory |\n"
                          "|---|---:|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---|---:|---:|\n");
    for (size_t k = 0; k < o->compared.count; k++)
        add_prompt(out, o, k);
    add_texts(out, o);
}

void lat_parity_e2e_markdown(struct lat_buf *out, const struct lat_parity_outcomes *outcomes, enum lat_leg_state state, const char *leg,
                             const struct lat_leg_result *result)
{
    size_t passed = 0, prompts = 0, positions = 0;
    for (size_t i = 0; i < outcomes->count; i++) {
        passed += lat_parity_outcome_state(&outcomes->items[i]) < LAT_LEG_UNMEASURABLE;
        prompts += outcomes->items[i].compared.count;
        positions += outcomes->items[i].compared.positions;
    }
    lat_buf_addf(out, "## E2E Parity Report\n\n**Verdict: %s** (%zu of %zu references agree; %zu prompts, %zu positions)\n",
                 lat_leg_state_name(state), passed, outcomes->count, prompts, positions);
    for (size_t i = 0; i < result->finding_count; i++) {
        const struct lat_finding *f = &result->findings[i];
        lat_buf_addf(out, "%s- %s %s: ", i ? "" : "\n", lat_leg_state_name(f->state), f->code);
        add_escaped(out, f->message, TEXT_SHOWN);
        lat_buf_add_char(out, '\n');
    }
    for (size_t i = 0; i < outcomes->count; i++)
        add_reference(out, &outcomes->items[i]);
    lat_buf_addf(out, "\nA floor is Hugging Face's own distance, in float32, from the float64 truth. How to reproduce: "
                      "`lattice-gate parity run %s`.\n", leg);
}

static json_t *prompts_json(const struct lat_parity_result *compared)
{
    struct lat_buf text;
    struct lat_parity_limits limits = lat_parity_limits_default();
    lat_buf_init(&text, 64u << 20);
    lat_parity_report_json(&text, compared, &limits);
    json_t *whole = text.failed ? NULL : json_loadb(text.bytes, text.length, 0, NULL);
    json_t *prompts = whole ? json_incref(json_object_get(whole, "prompts")) : NULL;
    json_decref(whole);
    lat_buf_release(&text);
    return prompts ? prompts : json_array();
}

static json_t *generations_json(const struct lat_parity_outcome *o)
{
    json_t *list = json_array();
    for (size_t k = 0; o->generations && k < o->compared.count; k++) {
        const struct lat_parity_generation *g = &o->generations[k];
        json_array_append_new(list, json_pack("{s:s,s:I,s:I,s:f,s:f,s:f,s:I}", "prompt", o->compared.prompts[k].name, "same",
                                              (json_int_t)g->same, "count", (json_int_t)g->count, "prompt_tokens_s", g->prompt_tokens_s,
                                              "decode_tokens_s", g->decode_tokens_s, "ttft_s", g->ttft_s, "rss_peak",
                                              (json_int_t)g->rss_peak));
    }
    return list;
}

json_t *lat_parity_e2e_json(const struct lat_parity_outcomes *outcomes)
{
    json_t *references = json_object();
    for (size_t i = 0; i < outcomes->count; i++) {
        const struct lat_parity_outcome *o = &outcomes->items[i];
        json_t *rungs = json_object(), *one = json_object();
        for (int r = 0; r < LAT_PARITY_RUNGS; r++) {
            char name[3] = { 'P', (char)('0' + r), '\0' };
            if (o->rungs[r].judged)
                json_object_set_new(rungs, name, json_pack("{s:s,s:o}", "state", lat_leg_state_name(o->rungs[r].state), "seen",
                                                           json_string_nocheck(o->rungs[r].text)));
        }
        json_object_set_new(one, "state", json_string(lat_leg_state_name(lat_parity_outcome_state(o))));
        json_object_set_new(one, "file", json_string_nocheck(o->reference->file));
        json_object_set_new(one, "sha256", json_string(o->sha256));
        json_object_set_new(one, "armed", json_boolean(o->armed));
        json_object_set_new(one, "engine", json_string_nocheck(o->engine));
        json_object_set_new(one, "first_wrong", o->first_point[0] ? json_string_nocheck(o->first_point) : json_null());
        json_object_set_new(one, "rungs", rungs);
        json_object_set_new(one, "prompts", prompts_json(&o->compared));
        json_object_set_new(one, "generations", generations_json(o));
        json_object_set_new(references, o->reference->name, one);
    }
    return json_pack("{s:o}", "references", references);
}
