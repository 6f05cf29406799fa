// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/parity_judge.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "gate/parity_engine.h"
#include "gate/parity_points.h"
#include "gate/parity_tensors.h"
#include "gate/parity_trace.h"

enum { PATH_BYTES = 4400, PROBE_LENGTH = 24, TAIL_BYTES = 300 };

struct judge {
    const struct lat_gate_run *run;
    const struct lat_policy_leg *leg;
    const struct lat_parity_config *config;
    const struct lat_parity_reference *reference;
    struct lat_parity_outcome *outcome;
    struct lat_leg_result *result;
    struct lat_error *error;
    struct lat_parity_prompts prompts; // the reference's, and the probe
    struct lat_st_file *file, *base;   // the reference; the first run's trace
    char folder[PATH_BYTES], reference_path[PATH_BYTES], base_path[PATH_BYTES + 64];
};

#define NOTE(rung, state, code, fix, ...) lat_parity_note(j->result, j->outcome, rung, state, code, fix, __VA_ARGS__)

static const struct lat_parity_rung *judged(struct judge *j, int rung) { return &j->outcome->rungs[rung]; }

// What a rung says when nothing was wrong.
LAT_PRINTF(3, 4) static void pass(struct judge *j, int rung, const char *format, ...)
{
    struct lat_parity_rung *r = &j->outcome->rungs[rung];
    va_list arguments;
    if (r->judged)
        return;
    r->judged = true;
    r->state = LAT_LEG_PASS;
    va_start(arguments, format);
    vsnprintf(r->text, sizeof r->text, format, arguments);
    va_end(arguments);
}

static const char *tail(const struct lat_spawn_result *child)
{
    const struct lat_buf *from = child->err.length ? &child->err : &child->out;
    return from->bytes ? from->bytes + (from->length > TAIL_BYTES ? from->length - TAIL_BYTES : 0) : "";
}

static bool ended_well(struct judge *j, const char *what, const struct lat_spawn_result *child)
{
    if (lat_spawn_ok(child))
        return true;
    if (child->timed_out || child->over_memory)
        NOTE(-1, LAT_LEG_FAIL, "P802", "find what hangs or grows, or raise 'budget' or 'rss_max'",
             "the engine (%s) was ended after %.1f s: %s",
             what, child->seconds, child->timed_out ? "over its time" : "over its memory");
    else if (!child->exited)
        NOTE(-1, LAT_LEG_FAIL, "P802", "repair the crash", "the engine (%s) was ended by signal %d (%s); last it said: %s", what,
             child->signal, strsignal(child->signal), tail(child));
    else
        NOTE(-1, LAT_LEG_FAIL, "P802", "run it by hand", "the engine (%s) ended with exit status %d; last it said: %s", what, child->code,
             tail(child));
    return false;
}

struct engine_run {
    const char *label; // of its files, and in messages
    const struct lat_parity_prompts *prompts;
    const struct lat_parity_variant *variant; // or NULL
    const struct lat_text_list *more;         // or NULL
    uint64_t greedy;
    char out[PATH_BYTES + 64];
    double seconds;
    uint64_t rss_peak;
};

static enum lat_status run_child(struct judge *j, struct engine_run *e, const char *ids, struct lat_spawn_result *child)
{
    char threads[24], chunk[24], greedy[24];
    const struct lat_parity_variant *v = e->variant;
    snprintf(threads, sizeof threads, "%llu", (unsigned long long)(v ? v->threads : j->config->threads));
    snprintf(chunk, sizeof chunk, "%llu", (unsigned long long)(v ? v->chunk : j->config->chunk));
    snprintf(greedy, sizeof greedy, "%llu", (unsigned long long)e->greedy);
    const struct lat_parity_fill fills[] = {
        { "model", j->reference->model }, { "ids", ids },     { "out", e->out },
        { "threads", threads },           { "chunk", chunk }, { "greedy", greedy },
        { NULL, NULL },
    };
    struct lat_parity_command command = { .arguments = &j->config->engine, .more = v ? &v->arguments : e->more, .fills = fills,
                                          .env = j->config->env, .more_env = v ? v->env : NULL, .seconds_max = j->leg->budget_s,
                                          .rss_max = j->leg->rss_max };
    if (j->run->verbose)
        fprintf(stderr, "%s: %s, %s\n", j->leg->name, j->reference->name, e->label);
    return lat_parity_command_run(child, j->run, &command, j->error);
}

// Runs the engine once; false after a finding. Nothing that an earlier run left can be taken for its output.
static bool run_engine(struct judge *j, struct engine_run *e, enum lat_status *status)
{
    char ids[PATH_BYTES + 64];
    struct lat_spawn_result child = { 0 };
    bool fine = false;
    snprintf(e->out, sizeof e->out, "%s/%.40s.safetensors", j->folder, e->label);
    snprintf(ids, sizeof ids, "%s/%.40s.ids.json", j->folder, e->label);
    *status = unlink(e->out) == 0 || errno == ENOENT ? lat_parity_prompts_write(e->prompts, ids, j->error)
                                                     : lat_error_errno(j->error, errno, "remove old", e->out);
    if (*status != LAT_OK)
        return false;
    *status = run_child(j, e, ids, &child);
    if (*status == LAT_NOT_FOUND) {
        NOTE(-1, LAT_LEG_ERROR, "E301", "build it, or correct 'engine'", "%s", j->error->text);
        *status = LAT_OK;
    } else if (*status == LAT_OK) {
        fine = ended_well(j, e->label, &child);
        if (fine && !lat_file_exists(e->out)) {
            NOTE(-1, LAT_LEG_FAIL, "P802", "let the engine write {out}, or end with another status",
                 "the engine (%s) ended with exit status 0 and wrote nothing; last it said: %s", e->label, tail(&child));
            fine = false;
        }
        e->seconds = child.seconds;
        e->rss_peak = child.rss_peak;
        if (child.rss_peak > j->result->rss_peak)
            j->result->rss_peak = child.rss_peak;
        lat_spawn_result_release(&child);
    }
    unlink(ids);
    return fine;
}

static struct lat_st_file *open_trace(struct judge *j, const struct engine_run *e)
{
    struct lat_st_file *file = NULL;
    struct lat_error why = { 0 };
    if (lat_st_open(&file, e->out, &why) != LAT_OK)
        NOTE(-1, LAT_LEG_FAIL, "P802", "let the engine write whole files", "the engine's output (%s) cannot be read: %s", e->label,
             why.text);
    return file;
}

// The random prompt must have been answered: with its ids, logits for each, all finite.
static bool answers_probe(struct judge *j)
{
    char name[32];
    size_t last = j->prompts.count - 1, count = j->prompts.items[last].count;
    snprintf(name, sizeof name, "p%zu", last);
    const struct lat_st_tensor *ids = lat_parity_find_shaped(j->base, name, "input_ids", LAT_DTYPE_I64, count, 0);
    const struct lat_st_tensor *logits = lat_parity_find(j->base, name, "logits");
    bool fine = ids && memcmp(ids->data, j->prompts.items[last].ids, ids->bytes) == 0 && logits && logits->rank == 2
             && logits->shape[0] == count && logits->dtype == LAT_DTYPE_F32;
    if (!fine)
        NOTE(-1, LAT_LEG_FAIL, "P802", "let the engine run the prompts of {ids}",
             "the engine did not answer the prompt that was drawn at random for this run: its output may be an old one");
    return fine;
}

static const char ids_fix[] = "compare the tokenizer, or the ids that the engine was given";

static void judge_distance(struct judge *j)
{
    double max = 0, rms = 0;
    const struct lat_parity_result *r = &j->outcome->compared;
    for (size_t k = 0; k < r->count; k++) {
        const struct lat_parity_prompt *p = &r->prompts[k];
        max = p->max_ratio > max ? p->max_ratio : max;
        rms = p->rms_ratio > rms ? p->rms_ratio : rms;
        if (!(p->max_ratio <= j->reference->limits.max_ratio && p->rms_ratio <= j->reference->limits.rms_ratio) && !judged(j, 2)->judged)
            NOTE(2, LAT_LEG_FAIL, "P812", "'lattice-gate parity bisect' narrows it down",
                 "%s is farther from the truth than Hugging Face: max %.3g floors (%.3g allowed), rms %.3g (%.3g)", p->name, p->max_ratio,
                 j->reference->limits.max_ratio, p->rms_ratio, j->reference->limits.rms_ratio);
    }
    pass(j, 2, "%zu positions of %zu prompts, at most %.2f floors, rms %.2f", r->positions, r->count, max, rms);
}

// The first run: everything that it alone says.
static bool judge_base(struct judge *j, enum lat_status *status)
{
    struct engine_run e = { .label = "base", .prompts = &j->prompts, .greedy = j->config->greedy };
    struct lat_error why = { 0 };
    for (size_t k = 0; k + 1 < j->prompts.count; k++) // an engine that gives nothing has failed at all of them
        j->result->population += j->prompts.items[k].count;
    if (!run_engine(j, &e, status) || !(j->base = open_trace(j, &e)))
        return false;
    memcpy(j->base_path, e.out, sizeof e.out);
    j->outcome->engine_s = e.seconds;
    j->outcome->rss_peak = e.rss_peak;
    const char *version = lat_st_metadata(j->base, "lattice_version"), *isa = lat_st_metadata(j->base, "isa"),
               *threads = lat_st_metadata(j->base, "threads"), *dtype = lat_st_metadata(j->base, "dtype");
    snprintf(j->outcome->engine, sizeof j->outcome->engine, "version %.30s, isa %.30s, threads %.30s, dtype %.30s", version ? version : "?",
             isa ? isa : "?", threads ? threads : "?", dtype ? dtype : "?");
    enum lat_status judged_as = lat_parity_compare(&j->outcome->compared, j->reference_path, e.out, &j->reference->limits, &why);
    if (judged_as != LAT_OK) {
        bool trace = j->outcome->compared.trace_at_fault, number = judged_as == LAT_NOT_FINITE;
        NOTE(2, trace ? LAT_LEG_FAIL : LAT_LEG_ERROR, !trace ? "P801" : number ? "P803" : "P802",
             trace ? "let the engine write what docs/PARITY.md describes" : "restore the reference", "%s", why.text);
        return false;
    }
    if (j->config->rungs[0])
        pass(j, 0, "ids of %zu prompts", j->outcome->compared.count);
    judge_distance(j);
    return answers_probe(j);
}

// P1 and P6: the engine runs each prompt with the reference's continuation behind it.
static void judge_greedy(struct judge *j, enum lat_status *status)
{
    struct lat_parity_prompts forced;
    struct lat_parity_closure c;
    struct lat_error why = { 0 };
    struct engine_run e = { .label = "forced", .prompts = &forced };
    *status = lat_parity_prompts_read(&forced, j->file, true, j->error);
    struct lat_st_file *trace = *status == LAT_OK && run_engine(j, &e, status) ? open_trace(j, &e) : NULL;
    if (trace) {
        enum lat_status end = lat_parity_closure_judge(&c, j->file, j->base, trace, &j->outcome->compared,
                                                       j->reference->limits.margin_floors, &why);
        if (end != LAT_OK)
            NOTE(1, LAT_LEG_FAIL, end == LAT_NOT_FINITE ? "P803" : "P802", NULL, "%s", why.text);
        else {
            if (c.leaks && j->config->rungs[1])
                NOTE(1, LAT_LEG_FAIL, "P811", "look at the sampler: a penalty, a temperature, or ties broken otherwise",
                     "%s (and %zu more)", c.leak, c.leaks - 1);
            if (c.faults && j->config->rungs[6])
                NOTE(6, LAT_LEG_FAIL, "P816", NULL, "%s (and %zu more)", c.fault, c.faults - 1);
            if (c.ties > j->config->ties_max && j->config->rungs[6])
                NOTE(6, LAT_LEG_ERROR, "P804", "use prompts with wider margins", "%zu ties, at most %llu may be: a bad reference", c.ties,
                     (unsigned long long)j->config->ties_max);
            if (j->config->rungs[1])
                pass(j, 1, "%zu emitted ids are the best of the engine's own logits", c.steps);
            if (j->config->rungs[6])
                pass(j, 6, "%zu ids, %zu ties", c.steps, c.ties);
        }
        lat_st_close(trace);
        unlink(e.out);
    }
    lat_parity_prompts_release(&forced);
}

static long layer_number(const char *point)
{
    if (strncmp(point, "layers.", 7) == 0)
        return strtol(point + 7, NULL, 10);
    return strcmp(point, "embed") == 0 ? -1 : 1L << 30;
}

static void note_first(struct judge *j, const char *point, double ratio)
{
    struct lat_parity_outcome *o = j->outcome;
    if (o->first_point[0] && layer_number(o->first_point) <= layer_number(point))
        return;
    snprintf(o->first_point, sizeof o->first_point, "%s", point);
    o->first_ratio = ratio;
}

// P4: operators of one prompt, in a run of its own, then what the first run says of layers.
static void judge_operators(struct judge *j, size_t *seen, enum lat_status *status)
{
    struct lat_parity_points points;
    struct lat_parity_prompts prompts = { 0 };
    struct lat_st_file *file = NULL;
    char path[PATH_BYTES];
    bool trace = false;
    struct lat_error why = { 0 };
    struct engine_run e = { .label = "operators", .prompts = &prompts, .more = &j->config->operators };
    *status = lat_parity_path(path, sizeof path, j->run->root, j->reference->operators, j->error);
    if (*status == LAT_OK)
        *status = lat_st_open(&file, path, j->error);
    if (*status == LAT_OK)
        *status = lat_parity_prompts_read(&prompts, file, false, j->error);
    lat_st_close(file);
    if (*status == LAT_OK && run_engine(j, &e, status)) {
        if (lat_parity_points_compare(&points, path, e.out, j->reference->limits.layer_ratio, &trace, &why) != LAT_OK)
            NOTE(4, trace ? LAT_LEG_FAIL : LAT_LEG_ERROR, trace ? "P802" : "P801", NULL, "%s", why.text);
        else {
            *seen = points.seen;
            if (points.first)
                note_first(j, points.first->name, points.first->ratio);
            lat_parity_points_release(&points);
            unlink(e.out);
        }
    }
    lat_parity_prompts_release(&prompts);
}

static void judge_layers(struct judge *j, enum lat_status *status)
{
    size_t seen = 0, layered = 0;
    if (j->reference->operators)
        judge_operators(j, &seen, status);
    const struct lat_parity_result *r = &j->outcome->compared;
    for (size_t k = 0; k < r->count; k++) {
        layered += r->prompts[k].has_layers;
        if (r->prompts[k].first_layer[0] && strcmp(r->prompts[k].first_layer, "logits") != 0)
            note_first(j, r->prompts[k].first_layer, r->prompts[k].first_layer_ratio);
    }
    if (j->outcome->first_point[0])
        NOTE(4, LAT_LEG_FAIL, "P814", "look at this operator: what goes into it is right",
             "first wrong is %s, %.3g floors off (%.3g allowed)",
             j->outcome->first_point, j->outcome->first_ratio, j->reference->limits.layer_ratio);
    else if (seen || layered)
        pass(j, 4, "layers of %zu prompts, %zu points inside", layered, seen);
}

static bool says(const struct lat_yaml_node *n, const char *value)
{
    if (n->kind == LAT_YAML_SCALAR)
        return strcmp(n->text, value) == 0;
    for (const struct lat_yaml_node *c = n->child; c; c = c->next)
        if (c->kind == LAT_YAML_SCALAR && strcmp(c->text, value) == 0)
            return true;
    return false;
}

// P8: what the trace says of how it was computed.
static void judge_proof(struct judge *j, const struct lat_st_file *trace, const struct lat_yaml_node *proof, const char *label)
{
    for (const struct lat_yaml_node *n = proof ? proof->child : NULL; n; n = n->next) {
        const char *value = lat_st_metadata(trace, n->key);
        if (!value || !says(n, value))
            NOTE(8, LAT_LEG_FAIL, "P805", "make it take the path that it is tested for, or correct 'proof'",
                 "run '%s' does not prove its path: %s is %s", label, n->key, value ? value : "not said");
    }
    for (size_t i = 0; i < j->config->counters.count; i++) {
        const char *value = lat_st_metadata(trace, j->config->counters.items[i]);
        char *end = NULL;
        double number = value ? strtod(value, &end) : 0;
        if (!value || end == value || *end || !(number > 0))
            NOTE(8, LAT_LEG_FAIL, "P805", "the kernels that this run is to test were not used", "run '%s': counter %s is %s", label,
                 j->config->counters.items[i], value ? value : "not said");
    }
}

static const char *const variant_codes[8] = { [3] = "P813", [5] = "P815", [7] = "P817" };

static void judge_variant_trace(struct judge *j, const struct lat_parity_variant *v, const struct lat_st_file *trace)
{
    struct lat_parity_difference d;
    struct lat_parity_nearness n;
    struct lat_error why = { 0 };
    enum lat_status end = v->rung == 5 ? lat_parity_trace_near(&n, j->base, trace, &why) : lat_parity_trace_same(&d, j->base, trace, &why);
    if (end != LAT_OK)
        NOTE(v->rung, LAT_LEG_FAIL, end == LAT_NOT_FINITE ? "P803" : "P802", NULL, "variant '%s': %s", v->name, why.text);
    else if (v->rung == 5) {
        double share = (double)n.top1_same / (double)n.positions;
        if (!(n.mean_kl <= v->kl_max) || share < v->top1_min)
            NOTE(5, LAT_LEG_FAIL, variant_codes[5], NULL,
                 "variant '%s' is too far from the first run: mean KL %.3g (%.3g allowed), top-1 %.4f (%.4f)",
                 v->name, n.mean_kl, v->kl_max, share, v->top1_min);
    } else if (!d.same) {
        note_first(j, d.point, 0);
        NOTE(v->rung, LAT_LEG_FAIL, variant_codes[v->rung],
             v->rung == 3 ? "look at caches, positions and masks: the sums are the same by another path"
                          : "look for races and sums split by threads",
             "variant '%s' differs from the first run; first at %s", v->name, d.where);
    }
    if (j->config->rungs[8])
        judge_proof(j, trace, v->proof ? v->proof : v->env ? NULL : j->config->proof, v->name);
}

static void judge_variants(struct judge *j, enum lat_status *status)
{
    size_t runs[LAT_PARITY_RUNGS] = { 0 };
    for (size_t i = 0; i < j->config->variant_count && *status == LAT_OK; i++) {
        const struct lat_parity_variant *v = &j->config->variants[i];
        char label[32];
        snprintf(label, sizeof label, "variant-%zu", i);
        struct engine_run e = { .label = label, .prompts = &j->prompts, .variant = v, .greedy = j->config->greedy };
        if (!j->config->rungs[v->rung])
            continue;
        struct lat_st_file *trace = run_engine(j, &e, status) ? open_trace(j, &e) : NULL;
        if (!trace)
            continue;
        judge_variant_trace(j, v, trace);
        lat_st_close(trace);
        unlink(e.out);
        runs[v->rung]++;
    }
    for (int r = 3; r <= 7; r += 2)
        if (runs[r])
            pass(j, r, "%zu runs %s the first", runs[r], r == 5 ? "near" : "byte-equal to");
    if (j->config->rungs[8]) {
        judge_proof(j, j->base, j->config->proof, "base");
        pass(j, 8, "%s", j->outcome->engine);
    }
}

// P0 from texts: one JSON string a line to the tokenizer, one array of ids a line from it.
static void judge_texts(struct judge *j, const struct lat_json_node *texts)
{
    struct lat_buf input;
    struct lat_spawn_result child = { 0 };
    struct lat_error why = { 0 };
    const struct lat_parity_fill fills[] = { { "model", j->reference->model }, { NULL, NULL } };
    size_t wrong = 0, first = 0, k = 0, count = 0;
    lat_buf_init(&input, 64u << 20);
    for (const struct lat_json_node *n = texts->u.child; n; n = n->next)
        if (n->kind == LAT_JSON_STRING) {
            lat_json_add_string(&input, n->u.string, n->count);
            lat_buf_add_char(&input, '\n');
        }
    struct lat_parity_command command = { .arguments = &j->config->tokenizer, .fills = fills, .env = j->config->env, .input = input.bytes,
                                          .input_length = input.length, .seconds_max = j->leg->budget_s };
    enum lat_status end = lat_parity_command_run(&child, j->run, &command, &why);
    if (end != LAT_OK)
        NOTE(0, LAT_LEG_ERROR, end == LAT_NOT_FOUND ? "E301" : "E305", NULL, "tokenizer: %s", why.text);
    else if (ended_well(j, "tokenizer", &child)) {
        const char *line = child.out.bytes ? child.out.bytes : "";
        for (const struct lat_json_node *n = texts->u.child; n; n = n->next, k++) {
            struct lat_json doc;
            size_t length = strcspn(line, "\n"), i = 0;
            if (n->kind != LAT_JSON_STRING)
                continue;
            bool same = lat_json_parse(&doc, line, length, "the tokenizer's line", &why) == LAT_OK;
            if (same) {
                same = doc.root->kind == LAT_JSON_ARRAY && doc.root->count == j->prompts.items[k].count;
                for (const struct lat_json_node *id = same ? doc.root->u.child : NULL; id; id = id->next, i++)
                    same = same && id->kind == LAT_JSON_INT && id->u.integer == j->prompts.items[k].ids[i];
                lat_json_release(&doc);
            }
            count++;
            first = !same && !wrong ? k : first;
            wrong += !same;
            line += length + (line[length] == '\n');
        }
        if (wrong)
            NOTE(0, LAT_LEG_FAIL, "P810", ids_fix, "the tokenizer gives other ids for %zu of %zu texts; first prompt p%zu", wrong, count,
                 first);
        else
            pass(j, 0, "%zu texts to the same ids", count);
    }
    lat_spawn_result_release(&child);
    lat_buf_release(&input);
}

static void judge_tokens(struct judge *j, enum lat_status *status)
{
    char path[PATH_BYTES];
    struct lat_file_map map;
    struct lat_json doc;
    struct lat_error why = { 0 };
    *status = lat_parity_path(path, sizeof path, j->run->root, j->reference->texts, j->error);
    if (*status != LAT_OK)
        return;
    enum lat_status end = lat_file_map_open(&map, path, &why);
    if (end == LAT_OK) {
        end = lat_json_parse(&doc, (const char *)map.bytes, map.length, j->reference->texts, &why);
        if (end == LAT_OK) {
            if (doc.root->kind == LAT_JSON_ARRAY && doc.root->count == j->prompts.count - 1)
                judge_texts(j, doc.root);
            else
                end = lat_error_set(&why, LAT_FORMAT, "%s: not a list of %zu texts", j->reference->texts, j->prompts.count - 1);
            lat_json_release(&doc);
        }
        lat_file_map_close(&map);
    }
    if (end != LAT_OK)
        NOTE(0, LAT_LEG_ERROR, "P801", NULL, "texts: %s", why.text);
}

static enum lat_status open_judge(struct judge *j)
{
    LAT_TRY(lat_parity_folder(j->folder, sizeof j->folder, j->run, j->leg->name, j->reference->name, j->error));
    LAT_TRY(lat_parity_path(j->reference_path, sizeof j->reference_path, j->run->root, j->reference->file, j->error));
    LAT_TRY(lat_st_open(&j->file, j->reference_path, j->error));
    LAT_TRY(lat_parity_prompts_read(&j->prompts, j->file, false, j->error));
    return lat_parity_prompts_add_probe(&j->prompts, PROBE_LENGTH, j->error);
}

static enum lat_status judge_all(struct judge *j)
{
    enum lat_status status = LAT_OK;
    LAT_TRY(open_judge(j));
    if (j->reference->texts && j->config->tokenizer.count && j->config->rungs[0])
        judge_tokens(j, &status);
    if (status != LAT_OK || !judge_base(j, &status))
        return status;
    if (j->config->rungs[4])
        judge_layers(j, &status);
    if (status == LAT_OK && (j->config->rungs[1] || j->config->rungs[6]))
        judge_greedy(j, &status);
    if (status == LAT_OK)
        judge_variants(j, &status);
    return status;
}

enum lat_status lat_parity_judge(const struct lat_gate_run *run, const struct lat_policy_leg *leg, const struct lat_parity_config *config,
                                 const struct lat_parity_reference *reference, struct lat_parity_outcome *outcome,
                                 struct lat_leg_result *result, struct lat_error *error)
{
    struct judge *j = lat_mem_new(1, sizeof *j);
    if (!j)
        return lat_error_memory(error, "a reference's runs");
    *j = (struct judge){ .run = run, .leg = leg, .config = config, .reference = reference, .outcome = outcome, .result = result,
                         .error = error };
    enum lat_status status = judge_all(j);
    lat_st_close(j->base);
    lat_st_close(j->file);
    if (j->base_path[0] && lat_parity_outcome_state(outcome) < LAT_LEG_FAIL)
        unlink(j->base_path);
    lat_parity_prompts_release(&j->prompts);
    lat_mem_free(j);
    return status;
}
