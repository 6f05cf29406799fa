// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <stdarg.h>
#include <string.h>

#include "cli/cli.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "tensor/safetensors.h"

struct doctor_values {
    size_t context;
    bool json;
};

#define AT(field) offsetof(struct doctor_values, field)

static const struct lat_option options[] = {
    { "--ctx", "N", "positions to compute the memory for (4096, or what the model allows)", LAT_OPTION_COUNT, AT(context) },
    { "--json", NULL, "a JSON object", LAT_OPTION_FLAG, AT(json) },
};

enum { PROBLEMS_MAX = 16 };

// What was found. A problem with `fatal` means that the folder cannot run.
struct diagnosis {
    char problems[PROBLEMS_MAX][640];
    bool fatal[PROBLEMS_MAX];
    size_t count;
    uint64_t session_bytes, memory_free;
    size_t context;
    size_t tokenizer_size; // 0: none
};

static void note(struct diagnosis *d, bool fatal, const char *text)
{
    if (d->count == PROBLEMS_MAX)
        return;
    snprintf(d->problems[d->count], sizeof d->problems[0], "%s", text);
    d->fatal[d->count++] = fatal;
}

// Against the model when there is one. A tokenizer.json that is there and broken stops every command but trace --ids.
static void check_tokenizer(struct diagnosis *d, const char *folder, const struct lat_model_info *info)
{
    struct lat_tokenizer *tokenizer = NULL;
    struct lat_error error = { 0 };
    char text[160];
    char *path = lat_file_path_join(folder, "tokenizer.json");
    bool there = path && lat_file_exists(path);
    lat_mem_free(path);
    if (!there) {
        note(d, false, "no tokenizer.json: without a tokenizer only --ids can be used");
        return;
    }
    if (lat_tokenizer_open(&tokenizer, folder, &error) != LAT_OK) {
        note(d, true, error.text);
        return;
    }
    d->tokenizer_size = lat_tokenizer_size(tokenizer);
    if (info && d->tokenizer_size > info->vocab_size) {
        snprintf(text, sizeof text, "the tokenizer has ids up to %zu, the model only %zu rows: some texts cannot be evaluated",
                 d->tokenizer_size - 1, info->vocab_size);
        note(d, false, text);
    }
    if (info && info->eos_count == 0 && lat_tokenizer_eos(tokenizer) < 0)
        note(d, false, "no end-of-text id in config.json, generation_config.json or tokenizer_config.json: only -n ends the output");
    lat_tokenizer_free(tokenizer);
}

// What else is wrong when the model could not be opened for `reason`: a broken config must not hide broken weights.
static void check_parts(struct diagnosis *d, const char *folder, const char *reason)
{
    struct lat_st_folder *weights = NULL;
    struct lat_error error = { 0 };
    if (!lat_file_is_folder(folder))
        return;
    if (lat_st_folder_open(&weights, folder, &error) != LAT_OK && strcmp(error.text, reason) != 0)
        note(d, true, error.text);
    lat_st_folder_close(weights);
    check_tokenizer(d, folder, NULL);
}

static void check_memory(struct diagnosis *d, const struct lat_model *model, size_t context)
{
    struct lat_session_options o = { .context = context };
    struct lat_error error = { 0 };
    char text[200];
    d->memory_free = lat_clock_memory_free();
    d->context = context ? context : 4096;
    if (!context && lat_model_info_view(model)->positions_max < d->context)
        d->context = lat_model_info_view(model)->positions_max;
    if (lat_session_bytes(model, &o, &d->session_bytes, &error) != LAT_OK)
        note(d, true, error.text);
    else if (d->session_bytes > d->memory_free) {
        snprintf(text, sizeof text, "a session of %zu positions needs %llu MB, %llu MB are available", d->context,
                 (unsigned long long)(d->session_bytes >> 20), (unsigned long long)(d->memory_free >> 20));
        note(d, true, text);
    }
}

static struct lat_model *examine(struct diagnosis *d, const char *folder, size_t context)
{
    struct lat_model *model = NULL;
    struct lat_error error = { 0 };
    if (lat_model_open(&model, folder, &error) != LAT_OK) {
        note(d, true, error.text);
        check_parts(d, folder, error.text);
        return NULL;
    }
    const struct lat_model_info *info = lat_model_info_view(model);
    if (info->warning)
        note(d, false, info->warning);
    if (lat_model_check_finite(model, &error) != LAT_OK)
        note(d, true, error.text);
    check_tokenizer(d, folder, info);
    check_memory(d, model, context);
    return model;
}

static bool cannot_run(const struct diagnosis *d)
{
    bool fatal = false;
    for (size_t i = 0; i < d->count; i++)
        fatal = fatal || d->fatal[i];
    return fatal;
}

static void add_model_text(struct lat_buf *out, const struct lat_model_info *i, const struct diagnosis *d)
{
    lat_buf_addf(out, "%s: %s, %zu layers (%zu of full attention), hidden size %zu, vocabulary %zu%s\n", i->folder,
                 i->model_type, i->layers, i->full_attention_layers, i->hidden_size, i->vocab_size,
                 i->tied ? ", tied head" : "");
    if (i->experts)
        lat_buf_addf(out, "%zu experts in a layer\n", i->experts);
    lat_buf_addf(out, "%.3f million parameters, %.1f MB, mostly %s\n", (double)i->parameters / 1e6, (double)i->weight_bytes / 1e6,
                 i->dtype);
    if (d->tokenizer_size)
        lat_buf_addf(out, "tokenizer: ids 0 to %zu\n", d->tokenizer_size - 1);
    lat_buf_addf(out, "a session of %zu positions (of %zu at most) takes %.1f MB; %.0f MB are available\n", d->context,
                 i->positions_max, (double)d->session_bytes / 1e6, (double)d->memory_free / 1e6);
}

static void add_text(struct lat_buf *out, const struct lat_model *model, const struct diagnosis *d)
{
    if (model)
        add_model_text(out, lat_model_info_view(model), d);
    for (size_t i = 0; i < d->count; i++)
        lat_buf_addf(out, "%s: %s\n", d->fatal[i] ? "problem" : "note", d->problems[i]);
    lat_buf_add_text(out, cannot_run(d) ? "This folder cannot run.\n" : "This folder can run.\n");
}

static void add_json(struct lat_buf *out, const struct lat_model *model, const struct diagnosis *d)
{
    lat_buf_addf(out, "{\"runs\":%s", cannot_run(d) ? "false" : "true");
    if (model) {
        const struct lat_model_info *i = lat_model_info_view(model);
        lat_buf_addf(out, ",\"model_type\":\"%s\",\"dtype\":\"%s\",\"layers\":%zu,\"full_attention_layers\":%zu,\"hidden_size\":%zu,"
                          "\"vocab_size\":%zu,\"experts\":%zu,\"tied\":%s,\"parameters\":%llu,\"weight_bytes\":%llu,"
                          "\"positions_max\":%zu,\"context\":%zu,\"session_bytes\":%llu,\"memory_free_bytes\":%llu,"
                          "\"tokenizer_size\":%zu",
                     i->model_type, i->dtype, i->layers, i->full_attention_layers, i->hidden_size, i->vocab_size, i->experts,
                     i->tied ? "true" : "false", (unsigned long long)i->parameters, (unsigned long long)i->weight_bytes,
                     i->positions_max, d->context, (unsigned long long)d->session_bytes, (unsigned long long)d->memory_free,
                     d->tokenizer_size);
    }
    lat_buf_add_text(out, ",\"problems\":[");
    for (size_t i = 0; i < d->count; i++) {
        lat_buf_addf(out, "%s{\"fatal\":%s,\"text\":", i ? "," : "", d->fatal[i] ? "true" : "false");
        lat_json_add_string(out, d->problems[i], strlen(d->problems[i]));
        lat_buf_add_char(out, '}');
    }
    lat_buf_add_text(out, "]}\n");
}

static int run(int argc, char **argv, const struct lat_command *self)
{
    struct doctor_values values = { 0 };
    struct diagnosis diagnosis = { 0 };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_cli_fail(&error);
    struct lat_model *model = examine(&diagnosis, operands.items[0], values.context);
    struct lat_buf out;
    lat_buf_init(&out, 1 << 20);
    if (values.json)
        add_json(&out, model, &diagnosis);
    else
        add_text(&out, model, &diagnosis);
    enum lat_status status = lat_cli_print(&out, &error);
    lat_buf_release(&out);
    lat_model_close(model);
    if (status != LAT_OK)
        return lat_cli_fail(&error);
    return cannot_run(&diagnosis) ? 2 : 0;
}

const struct lat_command lat_command_doctor = {
    .program = "lattice",
    .name = "doctor",
    .operands = "MODEL",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "says what a folder is, what it needs, and each problem; exit status 2 when it cannot run",
    .details = "Reads every weight, so the first that is NaN or infinite is found and named. JSON: runs, problems [{fatal, text}]\n"
               "and, when the model opens, model_type, dtype, layers, full_attention_layers, hidden_size, vocab_size, experts,\n"
               "tied, parameters, weight_bytes, positions_max, context, session_bytes, memory_free_bytes, tokenizer_size.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
