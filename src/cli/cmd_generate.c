// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <string.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"

struct generate_values {
    struct lat_sampling sampling;
    size_t max_new;
    struct lat_texts stops;
    const char *ids;
    struct lat_cli_run run;
    size_t context;
    bool json, plain, chat, ignore_eos, quiet;
};

#define AT(field) offsetof(struct generate_values, field)

static const struct lat_option options[] = {
    { "-n", "N", "at most N new tokens (128); 0 evaluates nothing", LAT_OPTION_COUNT, AT(max_new) },
    { "--temperature", "T", "0 is greedy (0)", LAT_OPTION_NUMBER, AT(sampling.temperature) },
    { "--top-k", "K", "keep the K most probable; 0 or -1 is off (0)", LAT_OPTION_SIGNED, AT(sampling.top_k) },
    { "--top-p", "P", "keep the fewest whose probabilities reach P; 1 is off (1)", LAT_OPTION_NUMBER, AT(sampling.top_p) },
    { "--min-p", "P", "keep those of at least P times the largest; 0 is off (0)", LAT_OPTION_NUMBER, AT(sampling.min_p) },
    { "--repetition-penalty", "R", "divides logits of ids seen in prompt or output; 1 is off (1)", LAT_OPTION_NUMBER,
      AT(sampling.repetition_penalty) },
    { "--presence-penalty", "R", "subtracted once for an id of the output; 0 is off (0)", LAT_OPTION_NUMBER,
      AT(sampling.presence_penalty) },
    { "--frequency-penalty", "R", "subtracted for each time an id is in the output; 0 is off (0)", LAT_OPTION_NUMBER,
      AT(sampling.frequency_penalty) },
    { "--seed", "S", "of the random numbers; the same text on every machine (0)", LAT_OPTION_SEED, AT(sampling.seed) },
    { "--stop", "TEXT", "ends the output, also across tokens; may be given several times", LAT_OPTION_TEXTS, AT(stops) },
    { "--ignore-eos", NULL, "go on after an end-of-text id", LAT_OPTION_FLAG, AT(ignore_eos) },
    { "--ids", "1,2,3", "the prompt as ids, instead of text", LAT_OPTION_TEXT, AT(ids) },
    { "--chat", NULL, "put the prompt into a user turn of the chat format; its text cannot forge turns", LAT_OPTION_FLAG, AT(chat) },
    { "--plain", NULL, "special tokens in the prompt are plain text (else they count, as in Hugging Face)", LAT_OPTION_FLAG,
      AT(plain) },
    LAT_CLI_RUN_OPTIONS(AT(run)),
    { "--ctx", "N", "positions to make room for (what prompt and -n need)", LAT_OPTION_COUNT, AT(context) },
    { "--json", NULL, "one JSON object instead of streamed text", LAT_OPTION_FLAG, AT(json) },
    { "--quiet", NULL, "neither progress nor figures on standard error", LAT_OPTION_FLAG, AT(quiet) },
};

// Everything that a run holds, so that there is one place that releases it.
struct generation {
    const struct generate_values *values;
    struct lat_model *model;
    struct lat_tokenizer *tokenizer;
    struct lat_session *session;
    struct lat_ids prompt;
    struct lat_generate_result result;
    struct lat_progress progress;
    double load_s;
    char last; // byte printed last
};

static enum lat_status encode(struct generation *g, const char *text, size_t length, unsigned flags, struct lat_error *error)
{
    return lat_tokenizer_encode(g->tokenizer, text, length, flags, &g->prompt, error);
}

static enum lat_status encode_chat(struct generation *g, const char *text, size_t length, struct lat_error *error)
{
    static const char before[] = "<|im_start|>user\n";
    static const char after[] = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
    if (lat_tokenizer_id(g->tokenizer, "<|im_start|>") < 0 || lat_tokenizer_id(g->tokenizer, "<|im_end|>") < 0)
        return lat_error_set(error, LAT_UNSUPPORTED, "--chat: the tokenizer has no <|im_start|> and <|im_end|>");
    LAT_TRY(encode(g, before, sizeof before - 1, 0, error));
    LAT_TRY(encode(g, text, length, LAT_ENCODE_PLAIN_ALL, error));
    return encode(g, after, sizeof after - 1, 0, error);
}

static enum lat_status read_prompt(struct generation *g, const char *operand, struct lat_error *error)
{
    const struct generate_values *v = g->values;
    if ((operand != NULL) == (v->ids != NULL))
        return lat_error_set(error, LAT_ARGUMENT, operand ? "give a prompt or --ids, not both"
                                                          : "no prompt: give a text, - for standard input, or --ids");
    if (v->ids && (v->chat || v->plain))
        return lat_error_set(error, LAT_ARGUMENT, "%s is about a text, the prompt is --ids", v->chat ? "--chat" : "--plain");
    if (v->ids) {
        size_t count = 0;
        LAT_TRY(lat_options_ids(v->ids, &g->prompt.items, &count, error));
        g->prompt.count = g->prompt.capacity = count;
    } else if (!g->tokenizer)
        return lat_error_set(error, LAT_NOT_FOUND, "the folder has no tokenizer.json: give the prompt as --ids");
    else {
        struct lat_buf text;
        enum lat_status status = lat_cli_read_text(operand, &text, error);
        if (status == LAT_OK && text.length == 0)
            status = lat_error_set(error, LAT_ARGUMENT, "the prompt is empty");
        if (status == LAT_OK)
            status = v->chat ? encode_chat(g, text.bytes, text.length, error)
                             : encode(g, text.bytes, text.length, v->plain ? LAT_ENCODE_PLAIN : 0, error);
        lat_buf_release(&text);
        LAT_TRY(status);
    }
    return g->prompt.count ? LAT_OK : lat_error_set(error, LAT_ARGUMENT, "the prompt is empty");
}

static enum lat_status watch(void *context, int point, size_t position, size_t rows, size_t width, const float *values,
                             struct lat_error *error)
{
    (void)width, (void)values, (void)error;
    lat_progress_see(context, point, position, rows);
    return LAT_OK;
}

// Short prompts are done before a bar could be read, and an observer costs a barrier per layer.
static bool shows_progress(const struct generation *g)
{
    return !g->values->quiet && g->prompt.count >= 256 && lat_progress_wanted();
}

static enum lat_status open_session(struct generation *g, struct lat_error *error)
{
    const struct generate_values *v = g->values;
    size_t most = lat_model_info_view(g->model)->positions_max, need = g->prompt.count;
    need = v->max_new > most || need + v->max_new > most ? (need > most ? need : most) : need + v->max_new;
    struct lat_session_options o = { .context = v->context ? v->context : need, .cancel = lat_cli_cancel_flag() };
    if (shows_progress(g)) {
        o.observe = watch;
        o.observe_context = &g->progress;
    }
    if (v->context && g->prompt.count > v->context)
        return lat_error_set(error, LAT_LIMIT, "the prompt has %zu ids, --ctx is %zu", g->prompt.count, v->context);
    LAT_TRY(lat_cli_run_options(&v->run, &o, error));
    return lat_session_new(&g->session, g->model, &o, error);
}

static enum lat_status stream_text(void *context, const char *text, size_t length, struct lat_error *error)
{
    struct generation *g = context;
    g->last = text[length - 1];
    return lat_cli_print_bytes(text, length, error);
}

static enum lat_status open_all(struct generation *g, const struct lat_operands *operands, struct lat_error *error)
{
    double start = lat_clock_seconds();
    LAT_TRY(lat_sampling_check(&g->values->sampling, error));
    LAT_TRY(lat_model_open(&g->model, operands->items[0], error));
    const char *warning = lat_model_info_view(g->model)->warning;
    if (warning)
        fprintf(stderr, "lattice: warning: %s\n", warning);
    char *path = lat_file_path_join(operands->items[0], "tokenizer.json");
    bool there = path && lat_file_exists(path);
    lat_mem_free(path);
    if (there)
        LAT_TRY(lat_tokenizer_open(&g->tokenizer, operands->items[0], error));
    LAT_TRY(read_prompt(g, operands->count > 1 ? operands->items[1] : NULL, error));
    lat_cli_catch_signals(); // until here there is nothing to save, and Ctrl-C just ends the program
    LAT_TRY(open_session(g, error));
    g->load_s = lat_clock_seconds() - start;
    return LAT_OK;
}

static void add_timing(struct lat_buf *out, const char *name, double seconds)
{
    lat_buf_addf(out, "\"%s\":", name);
    lat_json_add_double(out, seconds);
    lat_buf_add_char(out, ',');
}

static enum lat_status print_json(const struct generation *g, struct lat_error *error)
{
    const struct lat_generate_result *r = &g->result;
    struct lat_buf out;
    lat_buf_init(&out, 1 << 30);
    lat_buf_add_text(&out, "{\"prompt_ids\":");
    lat_cli_add_ids(&out, g->prompt.items, g->prompt.count);
    lat_buf_add_text(&out, ",\"ids\":");
    lat_cli_add_ids(&out, r->ids.items, r->ids.count);
    lat_buf_add_text(&out, ",\"text\":");
    if (r->text)
        lat_json_add_string(&out, r->text, r->length);
    else
        lat_buf_add_text(&out, "null");
    lat_buf_addf(&out, ",\"finish_reason\":\"%s\",\"timings\":{", lat_finish_name(r->finish));
    add_timing(&out, "load_s", g->load_s);
    lat_buf_addf(&out, "\"prompt_tokens\":%zu,", r->ids.count ? g->prompt.count : 0);
    add_timing(&out, "prompt_s", r->prompt_s);
    add_timing(&out, "ttft_s", r->first_token_s);
    lat_buf_addf(&out, "\"decode_tokens\":%zu,", r->decode_tokens);
    add_timing(&out, "decode_s", r->decode_s);
    out.length--; // the last comma
    lat_buf_addf(&out, "},\"peak_rss_bytes\":%llu,\"threads\":%d,\"isa\":\"%s\",\"dtype\":\"%s\"}\n",
                 (unsigned long long)lat_clock_peak_rss(), lat_session_threads(g->session), lat_isa_name(),
                 lat_model_info_view(g->model)->dtype);
    enum lat_status status = lat_cli_print(&out, error);
    lat_buf_release(&out);
    return status;
}

static void print_figures(const struct generation *g)
{
    const struct lat_generate_result *r = &g->result;
    fprintf(stderr, "[load %.2f s; prompt %zu tokens, %.0f/s; first token %.3f s; then %zu tokens, %.0f/s; %s; %.0f MB; %d threads, %s]\n",
            g->load_s, g->prompt.count, r->prompt_s > 0 ? (double)g->prompt.count / r->prompt_s : 0, r->first_token_s,
            r->decode_tokens, r->decode_s > 0 ? (double)r->decode_tokens / r->decode_s : 0, lat_finish_name(r->finish),
            (double)lat_clock_peak_rss() / 1e6, lat_session_threads(g->session), lat_isa_name());
}

static enum lat_status print_end(struct generation *g, struct lat_error *error)
{
    if (g->values->json)
        return print_json(g, error);
    struct lat_buf out;
    lat_buf_init(&out, 1 << 30);
    if (!g->tokenizer) // nothing was streamed: the ids are the data
        lat_cli_add_ids(&out, g->result.ids.items, g->result.ids.count);
    if (g->last != '\n')
        lat_buf_add_char(&out, '\n');
    enum lat_status status = lat_cli_print(&out, error);
    lat_buf_release(&out);
    if (!g->values->quiet)
        print_figures(g);
    return status;
}

static enum lat_status generate(struct generation *g, struct lat_error *error)
{
    struct lat_generate_options o = lat_generate_defaults();
    o.sampling = g->values->sampling;
    o.max_new = g->values->max_new;
    o.stops = g->values->stops.items;
    o.stop_count = g->values->stops.count;
    o.ignore_eos = g->values->ignore_eos;
    o.cancel = lat_cli_cancel_flag();
    o.on_text = g->values->json ? NULL : stream_text;
    o.context = g;
    lat_progress_begin(&g->progress, shows_progress(g) ? g->prompt.count : 0, lat_model_info_view(g->model)->layers);
    enum lat_status status = lat_generate(g->session, g->tokenizer, g->prompt.items, g->prompt.count, &o, &g->result, error);
    lat_progress_end(&g->progress);
    return status == LAT_OK ? print_end(g, error) : status;
}

static int run(int argc, char **argv, const struct lat_command *self)
{
    struct lat_generate_options defaults = lat_generate_defaults();
    struct generate_values values = { .sampling = defaults.sampling, .max_new = defaults.max_new };
    struct generation g = { .values = &values };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    enum lat_status status = lat_options_parse(self, argc, argv, &values, &operands, &error);
    if (status == LAT_OK)
        status = open_all(&g, &operands, &error);
    if (status == LAT_OK)
        status = generate(&g, &error);
    int code = status != LAT_OK ? lat_cli_fail(&error) : g.result.finish == LAT_FINISH_CANCELLED ? 3 : 0;
    lat_generate_result_release(&g.result);
    lat_session_free(g.session);
    lat_ids_release(&g.prompt);
    lat_tokenizer_free(g.tokenizer);
    lat_model_close(g.model);
    return code;
}

const struct lat_command lat_command_generate = {
    .program = "lattice",
    .name = "generate",
    .operands = "MODEL [PROMPT|-]",
    .operands_min = 1,
    .operands_max = 2,
    .summary = "continues a text with a Qwen3.5 model; MODEL is a Hugging Face folder",
    .details = "The prompt is continued as it is, special tokens in it recognised as Hugging Face does (--plain: not); - reads\n"
               "it from standard input. Text streams to standard output as it is generated. Greedy\n"
               "unless --temperature is given; of generation_config.json only the end-of-text ids are used. Generation\n"
               "ends at an end-of-text id of config.json, generation_config.json or the tokenizer, at a --stop text, after\n"
               "-n tokens or at the end of --ctx. Ctrl-C ends it with what was produced and exit status 3.\n"
               "JSON: prompt_ids, ids (an end-of-text id included), text, finish_reason (stop, length, cancelled),\n"
               "timings {load_s, prompt_tokens, prompt_s, ttft_s, decode_tokens, decode_s}, peak_rss_bytes, threads,\n"
               "isa, dtype.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
