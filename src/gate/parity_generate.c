// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/parity_generate.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/json.h"
#include "gate/parity_engine.h"
#include "gate/parity_judge.h"
#include "gate/parity_tensors.h"

struct generator {
    const struct lat_gate_run *run;
    const struct lat_policy_leg *leg;
    const struct lat_parity_config *config;
    struct lat_parity_outcome *outcome;
    struct lat_leg_result *result;
    struct lat_error *error;
};

#define NOTE(rung, state, code, fix, ...) lat_parity_note(g->result, g->outcome, rung, state, code, fix, __VA_ARGS__)

static double number(const struct lat_json_node *object, const char *key)
{
    double value = 0;
    return lat_json_to_double(lat_json_get(object, key), &value) ? value : 0;
}

static double rate(const struct lat_json_node *timings, const char *tokens, const char *seconds)
{
    double s = number(timings, seconds);
    return s > 0 ? number(timings, tokens) / s : 0;
}

// Runs a command with one prompt as {prompt}; its standard output stays in `child`.
static bool run_command(struct generator *g, const struct lat_text_list *arguments, const int64_t *ids, size_t count, uint64_t greedy,
                        struct lat_spawn_result *child, struct lat_error *why)
{
    char steps[24], threads[24];
    char *prompt = lat_parity_ids_text(ids, count);
    snprintf(steps, sizeof steps, "%llu", (unsigned long long)greedy);
    snprintf(threads, sizeof threads, "%llu", (unsigned long long)g->config->threads);
    const struct lat_parity_fill fills[] = { { "model", g->outcome->reference->model }, { "prompt", prompt ? prompt : "" },
                                             { "greedy", steps }, { "threads", threads }, { NULL, NULL } };
    struct lat_parity_command command = { .arguments = arguments, .fills = fills, .env = g->config->env, .seconds_max = g->leg->budget_s };
    enum lat_status status = prompt ? lat_parity_command_run(child, g->run, &command, why) : lat_error_memory(why, "a prompt");
    lat_mem_free(prompt);
    if (status == LAT_OK && !lat_spawn_ok(child))
        status = lat_error_set(why, LAT_FAILED, "ended with exit status %d: %.200s", child->code, child->err.bytes ? child->err.bytes : "");
    return status == LAT_OK;
}

static void read_reply(struct generator *g, const struct lat_json_node *root, const struct lat_st_tensor *want, size_t k)
{
    struct lat_parity_generation *out = &g->outcome->generations[k];
    const struct lat_json_node *ids = lat_json_get(root, "ids"), *text = lat_json_get(root, "text"), *t = lat_json_get(root, "timings");
    const struct lat_parity_prompt *p = &g->outcome->compared.prompts[k];
    out->ran = ids && ids->kind == LAT_JSON_ARRAY;
    out->count = want->elements;
    bool same = out->ran;
    for (const struct lat_json_node *n = out->ran ? ids->u.child : NULL; n && same && out->same < out->count; n = n->next) {
        same = n->kind == LAT_JSON_INT && n->u.integer == lat_parity_i64(want, out->same);
        out->same += same;
    }
    if (text && text->kind == LAT_JSON_STRING)
        out->text = lat_mem_copy_text(text->u.string, text->count);
    out->prompt_tokens_s = rate(t, "prompt_tokens", "prompt_s");
    out->decode_tokens_s = rate(t, "decode_tokens", "decode_s");
    out->ttft_s = number(t, "ttft_s");
    out->rss_peak = (uint64_t)number(root, "peak_rss_bytes");
    if (!out->ran)
        NOTE(-1, LAT_LEG_FAIL, "P802", "let 'generate' print a JSON object with ids", "%s: the reply of 'generate' has no ids", p->name);
    else if (out->same != p->greedy_same)
        NOTE(1, LAT_LEG_FAIL, "P811", "what is traced and what users get must be the same code",
             "%s: 'generate' agrees with the reference for %zu ids, the traced run for %zu", p->name, out->same, p->greedy_same);
}

static void generate_one(struct generator *g, const struct lat_parity_prompts *prompts, const struct lat_st_tensor *want, size_t k)
{
    struct lat_spawn_result child = { 0 };
    struct lat_error why = { 0 };
    struct lat_json doc;
    const char *name = g->outcome->compared.prompts[k].name;
    if (!run_command(g, &g->config->generate, prompts->items[k].ids, prompts->items[k].count, want->elements, &child, &why))
        NOTE(-1, LAT_LEG_FAIL, "P802", "run it by hand", "%s: 'generate' failed: %s", name, why.text);
    else if (lat_json_parse(&doc, child.out.bytes ? child.out.bytes : "", child.out.length, "the reply of 'generate'", &why) != LAT_OK)
        NOTE(-1, LAT_LEG_FAIL, "P802", "let 'generate' print one JSON object", "%s: %s", name, why.text);
    else {
        read_reply(g, doc.root, want, k);
        lat_json_release(&doc);
    }
    lat_spawn_result_release(&child);
}

static void show_reference(struct generator *g, const struct lat_st_tensor *want, size_t k)
{
    struct lat_parity_generation *out = &g->outcome->generations[k];
    struct lat_spawn_result child = { 0 };
    struct lat_error why = { 0 };
    if (!out->ran || out->same == out->count || !g->config->detokenize.count)
        return;
    int64_t *ids = lat_mem_new(want->elements, sizeof *ids);
    for (size_t i = 0; ids && i < want->elements; i++)
        ids[i] = lat_parity_i64(want, i);
    if (ids && run_command(g, &g->config->detokenize, ids, want->elements, want->elements, &child, &why))
        out->reference_text = lat_mem_copy_text(child.out.bytes ? child.out.bytes : "",
                                                child.out.length - (child.out.length && child.out.bytes[child.out.length - 1] == '\n'));
    lat_mem_free(ids);
    lat_spawn_result_release(&child);
}

static enum lat_status generate_all(struct generator *g, const struct lat_st_file *file)
{
    struct lat_parity_prompts prompts = { 0 };
    enum lat_status status = lat_parity_prompts_read(&prompts, file, false, g->error);
    g->outcome->generations = lat_mem_new(g->outcome->compared.count, sizeof *g->outcome->generations);
    if (status == LAT_OK && !g->outcome->generations)
        status = lat_error_memory(g->error, "generations");
    for (size_t k = 0; status == LAT_OK && k < g->outcome->compared.count; k++) {
        const struct lat_st_tensor *want = lat_parity_find(file, g->outcome->compared.prompts[k].name, "greedy_ids");
        if (!want || want->dtype != LAT_DTYPE_I64 || want->rank != 1)
            continue;
        generate_one(g, &prompts, want, k);
        show_reference(g, want, k);
    }
    lat_parity_prompts_release(&prompts);
    return status;
}

enum lat_status lat_parity_generate(const struct lat_gate_run *run, const struct lat_policy_leg *leg,
                                    const struct lat_parity_config *config,
                                    struct lat_parity_outcome *outcome, struct lat_leg_result *result, struct lat_error *error)
{
    struct generator g = { run, leg, config, outcome, result, error };
    struct lat_st_file *file = NULL;
    char path[4400];
    if (outcome->compared.count == 0 || !config->generate.count)
        return LAT_OK;
    LAT_TRY(lat_parity_path(path, sizeof path, run->root, outcome->reference->file, error));
    LAT_TRY(lat_st_open(&file, path, error));
    enum lat_status status = generate_all(&g, file);
    lat_st_close(file);
    return status;
}
