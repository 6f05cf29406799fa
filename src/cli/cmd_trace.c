// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice trace`: what the engine computes, as a safetensors file that can be held against a reference of Hugging
// Face's (docs/PARITY.md has the format).
#include <string.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/sha256.h"
#include "runtime/sampler.h"
#include "tensor/safetensors.h"

struct trace_values {
    const char *text, *ids, *ids_file, *output, *ops;
    struct lat_cli_run run;
    size_t greedy;
    bool layers, json;
};

#define AT(field) offsetof(struct trace_values, field)

static const struct lat_option options[] = {
    { "--text", "S", "the prompt as text", LAT_OPTION_TEXT, AT(text) },
    { "--ids", "1,2,3", "the prompt as ids", LAT_OPTION_TEXT, AT(ids) },
    { "--ids-file", "F.json", "prompts as a JSON list of ids, or a list of such lists (names get the prefix p0., p1., ...)",
      LAT_OPTION_TEXT, AT(ids_file) },
    { "--layers", NULL, "also embed, layers.<i> and norm", LAT_OPTION_FLAG, AT(layers) },
    { "--ops", "0,3|all", "also the operators inside these layers: layers.<i>.<operator>; implies --layers", LAT_OPTION_TEXT, AT(ops) },
    { "-n", "N", "also greedy_ids and greedy_margin of N further tokens, end-of-text ids ignored (0)", LAT_OPTION_COUNT, AT(greedy) },
    { "-o", "T.safetensors", "the file to write; it appears when it is whole", LAT_OPTION_TEXT, AT(output) },
    LAT_CLI_RUN_OPTIONS(AT(run)),
    { "--json", NULL, "a JSON object about what was written, instead of a line", LAT_OPTION_FLAG, AT(json) },
};

enum { PROMPTS_MAX = 10000 };

struct prompt {
    int32_t *ids;
    size_t count;
    size_t first_spec; // of its tensors
    size_t first_op;   // of its operators, behind the others
};

struct trace {
    const struct trace_values *values;
    struct lat_model *model;
    struct lat_session *session;
    struct prompt *prompts;
    size_t prompt_count;
    bool prefixed;
    bool *opened;                // [layers] whose operators are wanted
    struct operator_place { int point; size_t width; } *operators; // in the order of points
    size_t operator_count;
    struct lat_st_spec *specs;
    size_t spec_count;
    struct lat_arena arena; // names
    struct lat_st_writer *writer;
    const struct prompt *now; // whose rows the observer gets; NULL: not to be written
    struct lat_progress progress;
};

static enum lat_status add_prompt(struct trace *t, size_t count, struct prompt **out, struct lat_error *error)
{
    if (count == 0 || t->prompt_count == PROMPTS_MAX)
        return lat_error_set(error, LAT_ARGUMENT, count ? "more than 10000 prompts" : "a prompt is empty");
    struct prompt *grown = lat_mem_grow(t->prompts, t->prompt_count + 1, sizeof *grown);
    if (!grown)
        return lat_error_memory(error, "prompts");
    t->prompts = grown;
    *out = &t->prompts[t->prompt_count];
    **out = (struct prompt){ .ids = lat_mem_new(count, sizeof(int32_t)), .count = count };
    if (!(*out)->ids)
        return lat_error_memory(error, "prompts");
    t->prompt_count++;
    return LAT_OK;
}

static enum lat_status add_json_prompt(struct trace *t, const struct lat_json_node *list, struct lat_error *error)
{
    struct prompt *prompt = NULL;
    if (list->kind != LAT_JSON_ARRAY)
        return lat_error_set(error, LAT_FORMAT, "%s: a prompt is not a list of ids", t->values->ids_file);
    LAT_TRY(add_prompt(t, list->count, &prompt, error));
    size_t i = 0;
    for (const struct lat_json_node *n = list->u.child; n; n = n->next) {
        if (n->kind != LAT_JSON_INT || n->u.integer < 0 || n->u.integer > INT32_MAX)
            return lat_error_set(error, LAT_FORMAT, "%s: prompt %zu has an id that is no whole number from 0 on",
                                 t->values->ids_file, t->prompt_count - 1);
        prompt->ids[i++] = (int32_t)n->u.integer;
    }
    return LAT_OK;
}

static enum lat_status add_json_prompts(struct trace *t, const struct lat_json_node *root, struct lat_error *error)
{
    if (root->kind != LAT_JSON_ARRAY || root->count == 0)
        return lat_error_set(error, LAT_FORMAT, "%s: not a list of ids, nor a list of such lists", t->values->ids_file);
    t->prefixed = root->u.child->kind == LAT_JSON_ARRAY;
    if (!t->prefixed)
        return add_json_prompt(t, root, error);
    for (const struct lat_json_node *n = root->u.child; n; n = n->next)
        LAT_TRY(add_json_prompt(t, n, error));
    return LAT_OK;
}

static enum lat_status read_ids_file(struct trace *t, struct lat_error *error)
{
    struct lat_file_map map;
    struct lat_json doc;
    LAT_TRY(lat_file_map_open(&map, t->values->ids_file, error));
    enum lat_status status = lat_json_parse(&doc, (const char *)map.bytes, map.length, t->values->ids_file, error);
    if (status == LAT_OK) {
        status = add_json_prompts(t, doc.root, error);
        lat_json_release(&doc);
    }
    lat_file_map_close(&map);
    return status;
}

static enum lat_status take_ids(struct trace *t, const int32_t *ids, size_t count, struct lat_error *error)
{
    struct prompt *prompt = NULL;
    LAT_TRY(add_prompt(t, count, &prompt, error));
    memcpy(prompt->ids, ids, count * sizeof *ids);
    return LAT_OK;
}

static enum lat_status read_text_prompt(struct trace *t, const char *folder, struct lat_error *error)
{
    struct lat_tokenizer *tokenizer = NULL;
    struct lat_ids ids = { 0 };
    LAT_TRY(lat_tokenizer_open(&tokenizer, folder, error));
    enum lat_status status = lat_tokenizer_encode(tokenizer, t->values->text, strlen(t->values->text), 0, &ids, error);
    if (status == LAT_OK)
        status = take_ids(t, ids.items, ids.count, error);
    lat_ids_release(&ids);
    lat_tokenizer_free(tokenizer);
    return status;
}

static enum lat_status read_prompts(struct trace *t, const char *folder, struct lat_error *error)
{
    const struct trace_values *v = t->values;
    if (!v->output)
        return lat_error_set(error, LAT_ARGUMENT, "-o T.safetensors is missing");
    if ((v->text != NULL) + (v->ids != NULL) + (v->ids_file != NULL) != 1)
        return lat_error_set(error, LAT_ARGUMENT, "give one of --text, --ids, --ids-file");
    if (v->ids_file)
        return read_ids_file(t, error);
    if (v->text)
        return read_text_prompt(t, folder, error);
    int32_t *ids = NULL;
    size_t count = 0;
    LAT_TRY(lat_options_ids(v->ids, &ids, &count, error));
    enum lat_status status = take_ids(t, ids, count, error);
    lat_mem_free(ids);
    return status;
}

static enum lat_status add_spec(struct trace *t, size_t prompt, const char *name, enum lat_dtype dtype, size_t rows,
                                size_t cols, struct lat_error *error)
{
    char *full = lat_arena_new(&t->arena, strlen(name) + 24, 1);
    if (!full)
        return lat_error_memory(error, "tensor names");
    if (t->prefixed)
        snprintf(full, strlen(name) + 24, "p%zu.%s", prompt, name);
    else
        snprintf(full, strlen(name) + 24, "%s", name);
    t->specs[t->spec_count++] = (struct lat_st_spec){ .name = full, .dtype = dtype, .rank = cols ? 2 : 1, .shape = { rows, cols } };
    return LAT_OK;
}

static bool wants_layers(const struct trace *t) { return t->values->layers || t->values->ops; }

// Tensors of a prompt, always in this order: input_ids, [embed, layers.0 ..., norm,] logits, [greedy_ids, greedy_margin], [operators]
static enum lat_status plan_prompt(struct trace *t, size_t index, struct lat_error *error)
{
    const struct lat_model_info *info = lat_model_info_view(t->model);
    struct prompt *p = &t->prompts[index];
    char name[32];
    p->first_spec = t->spec_count;
    LAT_TRY(add_spec(t, index, "input_ids", LAT_DTYPE_I64, p->count, 0, error));
    if (wants_layers(t)) {
        LAT_TRY(add_spec(t, index, "embed", LAT_DTYPE_F32, p->count, info->hidden_size, error));
        for (size_t i = 0; i < info->layers; i++) {
            snprintf(name, sizeof name, "layers.%zu", i);
            LAT_TRY(add_spec(t, index, name, LAT_DTYPE_F32, p->count, info->hidden_size, error));
        }
        LAT_TRY(add_spec(t, index, "norm", LAT_DTYPE_F32, p->count, info->hidden_size, error));
    }
    LAT_TRY(add_spec(t, index, "logits", LAT_DTYPE_F32, p->count, info->vocab_size, error));
    if (t->values->greedy) {
        LAT_TRY(add_spec(t, index, "greedy_ids", LAT_DTYPE_I64, t->values->greedy, 0, error));
        LAT_TRY(add_spec(t, index, "greedy_margin", LAT_DTYPE_F32, t->values->greedy, 0, error));
    }
    p->first_op = t->spec_count;
    for (size_t i = 0; i < t->operator_count; i++) {
        int at = t->operators[i].point - LAT_POINT_OPERATORS;
        const char *op = lat_operator_name((enum lat_operator)(at % LAT_OPERATOR_COUNT));
        snprintf(name, sizeof name, "layers.%d.%s", at / LAT_OPERATOR_COUNT, op);
        LAT_TRY(add_spec(t, index, name, LAT_DTYPE_F32, p->count, t->operators[i].width, error));
    }
    return LAT_OK;
}

// Which layers --ops names.
static enum lat_status open_layers(struct trace *t, struct lat_error *error)
{
    size_t layers = lat_model_info_view(t->model)->layers, count = 0;
    int32_t *ids = NULL;
    t->opened = lat_mem_new(layers, sizeof *t->opened);
    t->operators = lat_mem_new(layers * LAT_OPERATOR_COUNT, sizeof *t->operators);
    if (!t->opened || !t->operators)
        return lat_error_memory(error, "the plan");
    if (!t->values->ops)
        return LAT_OK;
    if (strcmp(t->values->ops, "all") == 0)
        memset(t->opened, true, layers);
    else
        LAT_TRY(lat_options_ids(t->values->ops, &ids, &count, error));
    for (size_t i = 0; i < count; i++) {
        if ((size_t)ids[i] >= layers) {
            lat_error_set(error, LAT_ARGUMENT, "--ops: the model has no layer %d", ids[i]);
            lat_mem_free(ids);
            return LAT_ARGUMENT;
        }
        t->opened[ids[i]] = true;
    }
    lat_mem_free(ids);
    for (size_t i = 0; i < layers * LAT_OPERATOR_COUNT; i++) {
        size_t layer = i / LAT_OPERATOR_COUNT;
        size_t width = lat_model_operator_width(t->model, layer, (enum lat_operator)(i % LAT_OPERATOR_COUNT));
        if (t->opened[layer] && width)
            t->operators[t->operator_count++] = (struct operator_place){ LAT_POINT_OPERATOR(layer, i % LAT_OPERATOR_COUNT), width };
    }
    return LAT_OK;
}

static size_t logits_spec(const struct trace *t, const struct prompt *p)
{
    return p->first_spec + 1 + (wants_layers(t) ? lat_model_info_view(t->model)->layers + 2 : 0);
}

static enum lat_status hash_file(struct lat_buf *json, const char *folder, const char *name, bool first, struct lat_error *error)
{
    struct lat_file_map map;
    struct lat_sha256 hash;
    char hex[LAT_SHA256_HEX_SIZE];
    char *path = lat_file_path_join(folder, name);
    enum lat_status status = path ? lat_file_map_open(&map, path, error) : lat_error_memory(error, "a path");
    lat_mem_free(path);
    LAT_TRY(status);
    lat_sha256_init(&hash);
    lat_sha256_add(&hash, map.bytes, map.length);
    lat_sha256_hex(&hash, hex);
    lat_file_map_close(&map);
    if (!first)
        lat_buf_add_char(json, ',');
    lat_json_add_string(json, name, strlen(name));
    lat_buf_addf(json, ":\"%s\"", hex);
    return LAT_OK;
}

// {"config.json": digest, "model.safetensors": digest, ...}
static enum lat_status hash_model(struct lat_buf *json, const char *folder, struct lat_error *error)
{
    struct lat_st_folder *weights = NULL;
    LAT_TRY(lat_st_folder_open(&weights, folder, error));
    lat_buf_add_char(json, '{');
    enum lat_status status = hash_file(json, folder, "config.json", true, error);
    for (size_t i = 0; status == LAT_OK && i < lat_st_folder_files(weights); i++)
        status = hash_file(json, folder, lat_st_folder_file_name(weights, i), false, error);
    char *tokenizer = lat_file_path_join(folder, "tokenizer.json");
    if (status == LAT_OK && tokenizer && lat_file_exists(tokenizer))
        status = hash_file(json, folder, "tokenizer.json", false, error);
    lat_mem_free(tokenizer);
    lat_buf_add_char(json, '}');
    lat_st_folder_close(weights);
    return status == LAT_OK && json->failed ? lat_error_memory(error, "digests") : status;
}

static enum lat_status open_writer(struct trace *t, struct lat_error *error)
{
    const struct lat_model_info *info = lat_model_info_view(t->model);
    char threads[24];
    struct lat_buf digests;
    lat_buf_init(&digests, 1 << 24);
    enum lat_status status = hash_model(&digests, info->folder, error);
    snprintf(threads, sizeof threads, "%d", lat_session_threads(t->session));
    const struct lat_st_pair metadata[] = {
        { "format", "lattice-trace-1" }, { "model_sha256", digests.bytes }, { "lattice_version", lat_version() },
        { "isa", lat_isa_name() },       { "threads", threads },            { "dtype", info->dtype },
    };
    if (status == LAT_OK)
        status = lat_st_writer_open(&t->writer, t->values->output, t->specs, t->spec_count, metadata,
                                    sizeof metadata / sizeof metadata[0], error);
    lat_buf_release(&digests);
    return status;
}

static enum lat_status observe_operator(struct trace *t, int point, size_t position, size_t width, const float *values,
                                        struct lat_error *error)
{
    for (size_t i = 0; t->now && i < t->operator_count; i++)
        if (t->operators[i].point == point)
            return lat_st_writer_put(t->writer, t->now->first_op + i, position * width, values, width, error);
    return LAT_OK;
}

static enum lat_status observe(void *context, int point, size_t position, size_t rows, size_t width, const float *values,
                               struct lat_error *error)
{
    struct trace *t = context;
    if (point >= LAT_POINT_OPERATORS)
        return observe_operator(t, point, position, width, values, error);
    lat_progress_see(&t->progress, point, position, rows);
    if (!t->now || (point != LAT_POINT_LOGITS && !wants_layers(t)))
        return LAT_OK;
    size_t layers = lat_model_info_view(t->model)->layers, first = t->now->first_spec;
    size_t spec = point == LAT_POINT_LOGITS ? logits_spec(t, t->now)
                : point == LAT_POINT_EMBED  ? first + 1
                : point == LAT_POINT_NORM   ? first + 2 + layers
                                            : first + 2 + (size_t)point;
    return lat_st_writer_put(t->writer, spec, position * width, values, rows * width, error);
}

// Greedy ids by the sampler that `generate` uses, so that what it does is what is judged.
static enum lat_status continue_greedily(struct trace *t, const struct prompt *p, struct lat_sampler *sampler,
                                         struct lat_error *error)
{
    size_t vocab = lat_model_info_view(t->model)->vocab_size, spec = logits_spec(t, p) + 1;
    for (size_t i = 0; i < p->count; i++)
        lat_sampler_note(sampler, p->ids[i], false);
    for (size_t i = 0; i < t->values->greedy; i++) {
        float margin = 0;
        int32_t id = 0;
        lat_argmax(lat_session_logits(t->session), vocab, &margin);
        LAT_TRY(lat_sampler_next(sampler, lat_session_logits(t->session), &id, error));
        lat_sampler_note(sampler, id, true);
        int64_t wide = id;
        LAT_TRY(lat_st_writer_put(t->writer, spec, i, &wide, 1, error));
        LAT_TRY(lat_st_writer_put(t->writer, spec + 1, i, &margin, 1, error));
        if (i + 1 < t->values->greedy)
            LAT_TRY(lat_session_eval(t->session, &id, 1, error));
    }
    return LAT_OK;
}

static enum lat_status run_greedy(struct trace *t, const struct prompt *p, struct lat_error *error)
{
    struct lat_sampler sampler;
    struct lat_sampling greedy = lat_generate_defaults().sampling;
    LAT_TRY(lat_sampler_init(&sampler, &greedy, lat_model_info_view(t->model)->vocab_size, NULL, error));
    enum lat_status status = continue_greedily(t, p, &sampler, error);
    lat_sampler_release(&sampler);
    return status;
}

static enum lat_status run_prompt(struct trace *t, const struct prompt *p, struct lat_error *error)
{
    lat_session_reset(t->session);
    for (size_t i = 0; i < p->count; i++) {
        int64_t wide = p->ids[i];
        LAT_TRY(lat_st_writer_put(t->writer, p->first_spec, i, &wide, 1, error));
    }
    t->now = p;
    enum lat_status status = lat_session_eval(t->session, p->ids, p->count, error);
    t->now = NULL;
    LAT_TRY(status);
    return t->values->greedy ? run_greedy(t, p, error) : LAT_OK;
}

static enum lat_status open_session(struct trace *t, struct lat_error *error)
{
    size_t longest = 0;
    for (size_t i = 0; i < t->prompt_count; i++)
        longest = t->prompts[i].count > longest ? t->prompts[i].count : longest;
    if (t->values->greedy > (size_t)1 << 31)
        return lat_error_set(error, LAT_ARGUMENT, "-n: %zu is too much", t->values->greedy);
    struct lat_session_options o = { .context = longest + t->values->greedy, .observe = observe,
                                     .observe_context = t, .observe_logits = true,
                                     .observe_operators = t->values->ops != NULL, .cancel = lat_cli_cancel_flag() };
    LAT_TRY(lat_cli_run_options(&t->values->run, &o, error));
    return lat_session_new(&t->session, t->model, &o, error);
}

static enum lat_status run_prompts(struct trace *t, struct lat_error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < t->prompt_count; i++)
        total += t->prompts[i].count + t->values->greedy;
    lat_progress_begin(&t->progress, total, lat_model_info_view(t->model)->layers);
    for (size_t i = 0; i < t->prompt_count; i++) {
        LAT_TRY(run_prompt(t, &t->prompts[i], error));
        t->progress.before += t->prompts[i].count + t->values->greedy;
    }
    return LAT_OK;
}

static enum lat_status run_trace(struct trace *t, const char *folder, struct lat_error *error)
{
    LAT_TRY(lat_model_open(&t->model, folder, error));
    LAT_TRY(read_prompts(t, folder, error));
    LAT_TRY(open_layers(t, error));
    LAT_TRY(open_session(t, error));
    t->specs = lat_mem_new(t->prompt_count * (lat_model_info_view(t->model)->layers + 6 + t->operator_count), sizeof *t->specs);
    if (!t->specs)
        return lat_error_memory(error, "the plan");
    for (size_t i = 0; i < t->prompt_count; i++)
        LAT_TRY(plan_prompt(t, i, error));
    LAT_TRY(open_writer(t, error));
    enum lat_status status = run_prompts(t, error);
    lat_progress_end(&t->progress);
    LAT_TRY(status);
    struct lat_st_writer *writer = t->writer;
    t->writer = NULL; // commit frees it in every case
    return lat_st_writer_commit(writer, error);
}

static enum lat_status report(const struct trace *t, struct lat_error *error)
{
    struct lat_buf out;
    size_t positions = 0;
    for (size_t i = 0; i < t->prompt_count; i++)
        positions += t->prompts[i].count;
    if (!t->values->json) {
        fprintf(stderr, "%s: %zu prompts, %zu positions, %zu tensors\n", t->values->output, t->prompt_count, positions,
                t->spec_count);
        return LAT_OK;
    }
    lat_buf_init(&out, 1 << 20);
    lat_buf_add_text(&out, "{\"output\":");
    lat_json_add_string(&out, t->values->output, strlen(t->values->output));
    lat_buf_addf(&out, ",\"prompts\":%zu,\"positions\":%zu,\"tensors\":%zu}\n", t->prompt_count, positions, t->spec_count);
    enum lat_status status = lat_cli_print(&out, error);
    lat_buf_release(&out);
    return status;
}

static int run(int argc, char **argv, const struct lat_command *self)
{
    struct trace_values values = { 0 };
    struct trace t = { .values = &values };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    lat_arena_init(&t.arena, 1 << 28);
    lat_cli_catch_signals();
    enum lat_status status = lat_options_parse(self, argc, argv, &values, &operands, &error);
    if (status == LAT_OK)
        status = run_trace(&t, operands.items[0], &error);
    lat_st_writer_abort(t.writer);
    if (status == LAT_OK)
        status = report(&t, &error);
    lat_session_free(t.session);
    lat_model_close(t.model);
    for (size_t i = 0; i < t.prompt_count; i++)
        lat_mem_free(t.prompts[i].ids);
    lat_mem_free(t.prompts);
    lat_mem_free(t.specs);
    lat_mem_free(t.opened);
    lat_mem_free(t.operators);
    lat_arena_release(&t.arena);
    return status == LAT_OK ? 0 : lat_cli_fail(&error);
}

const struct lat_command lat_command_trace = {
    .program = "lattice",
    .name = "trace",
    .operands = "MODEL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "writes what the engine computes for given prompts, to be held against a reference",
    .details = "Tensors, floats F32: input_ids I64 [T]; with --layers embed, layers.<i>, norm [T, hidden]; logits [T, vocab];\n"
               "with -n greedy_ids I64 [N], greedy_margin [N]; with --ops layers.<i>.<operator> [T, width] (norm, q_proj, k_proj,\n"
               "v_proj, q, k, context; qkv, z, b, a, conv, delta, gated; mid, mlp_norm, act or router). Metadata: model_sha256\n"
               "(a JSON object of file digests), lattice_version, isa, threads, dtype.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
