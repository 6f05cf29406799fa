// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice bench`: how fast a model runs, beside what the machine could do at best in the same minutes.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/machine_roof.h"
#include "cli/model_cost.h"
#include "cli/shape_model.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/rng.h"
#include "lattice/batch.h"
#include "runtime/sampler.h"

struct bench_values {
    const char *shape, *output;
    struct lat_cli_run run;
    size_t bits, head_bits, prompt, decode, batch, repeats;
    uint64_t seed;
    bool json, csv;
};

#define AT(field) offsetof(struct bench_values, field)

static const struct lat_option options[] = {
    { "--shape", "C.json", "random weights in the shape of this config.json, instead of MODEL", LAT_OPTION_TEXT, AT(shape) },
    { "--bits", "16|8|4", "of the random matrices (16)", LAT_OPTION_COUNT, AT(bits) },
    { "--head-bits", "16|8|4", "of the random head (8 when --bits is 8 or 4, else 16)", LAT_OPTION_COUNT, AT(head_bits) },
    { "--seed", "S", "of weights and prompts (0)", LAT_OPTION_SEED, AT(seed) },
    { "-o", "FOLDER", "write the random model there, as a Hugging Face folder, and end", LAT_OPTION_TEXT, AT(output) },
    { "-p", "N", "tokens of the prompt (512)", LAT_OPTION_COUNT, AT(prompt) },
    { "-n", "N", "tokens decoded after it; 0 leaves decoding out (64)", LAT_OPTION_COUNT, AT(decode) },
    { "-r", "N", "repetitions, after one that does not count (5)", LAT_OPTION_COUNT, AT(repeats) },
    { "--batch", "B", "sequences at once, each with its own prompt; rates are of all together (1)", LAT_OPTION_COUNT, AT(batch) },
    LAT_CLI_RUN_OPTIONS(AT(run)),
    { "--json", NULL, "a JSON object", LAT_OPTION_FLAG, AT(json) },
    { "--csv", NULL, "a line of names and a line of values", LAT_OPTION_FLAG, AT(csv) },
};

enum { REPEATS_MAX = 1000, BITS_UNSET = 0 };

struct series {
    double values[REPEATS_MAX];
    size_t count;
};

struct spread {
    double median, min, max;
};

struct bench {
    const struct bench_values *values;
    struct lat_model *model;
    struct lat_session *session; // one sequence
    struct lat_batch *batch;     // several
    int threads;
    struct lat_roof *roof;
    struct lat_model_cost cost;
    struct lat_ids prompt;
    struct series prefill, decode, first; // seconds
    double load_s;
    uint64_t peak_rss;
};

static bool is_bits(size_t bits) { return bits == 16 || bits == 8 || bits == 4; }

static enum lat_status check(const struct bench_values *v, const struct lat_operands *operands, struct lat_error *error)
{
    if ((operands->count == 1) == (v->shape != NULL))
        return lat_error_set(error, LAT_ARGUMENT, "give one of MODEL and --shape");
    if (!v->shape && (v->bits != BITS_UNSET || v->head_bits != BITS_UNSET || v->output))
        return lat_error_set(error, LAT_ARGUMENT, "--bits, --head-bits and -o go with --shape");
    if ((v->bits != BITS_UNSET && !is_bits(v->bits)) || (v->head_bits != BITS_UNSET && !is_bits(v->head_bits)))
        return lat_error_set(error, LAT_ARGUMENT, "%s: bits are 16, 8 or 4",
                             v->bits == BITS_UNSET || is_bits(v->bits) ? "--head-bits" : "--bits");
    if (v->prompt < 1 || v->prompt > INT32_MAX || v->decode > INT32_MAX)
        return lat_error_set(error, LAT_ARGUMENT, "-p, -n: %zu and %zu tokens are not from 1 and from 0 on", v->prompt, v->decode);
    if (v->repeats < 1 || v->repeats > REPEATS_MAX)
        return lat_error_set(error, LAT_ARGUMENT, "-r: %zu is outside 1 to %d", v->repeats, REPEATS_MAX);
    if (v->batch < 1 || v->batch > LAT_BATCH_SEQUENCES_MAX)
        return lat_error_set(error, LAT_ARGUMENT, "--batch: %zu is outside 1 to %d", v->batch, LAT_BATCH_SEQUENCES_MAX);
    if (v->json && v->csv)
        return lat_error_set(error, LAT_ARGUMENT, "give one of --json and --csv");
    return LAT_OK;
}

static struct lat_shape_options shape_options(const struct bench_values *v)
{
    int bits = v->bits == BITS_UNSET ? 16 : (int)v->bits;
    int head = v->head_bits != BITS_UNSET ? (int)v->head_bits : bits == 16 ? 16 : 8;
    return (struct lat_shape_options){ .bits = bits, .head_bits = head, .seed = v->seed, .cancel = lat_cli_cancel_flag() };
}

static enum lat_status open_folder(struct bench *b, const char *folder, struct lat_error *error)
{
    double start = lat_clock_seconds();
    LAT_TRY(lat_model_open(&b->model, folder, error));
    b->load_s = lat_clock_seconds() - start;
    return lat_model_cost_of(&b->cost, b->model, error);
}

// The folder of a shape is gone again once the model is open: its maps stay, and nothing is left behind.
static enum lat_status open_shape(struct bench *b, struct lat_error *error)
{
    struct lat_shape_options o = shape_options(b->values);
    char *folder = NULL;
    LAT_TRY(lat_shape_write_temporary(&folder, b->values->shape, &o, error));
    enum lat_status status = open_folder(b, folder, error);
    lat_shape_remove(folder);
    lat_mem_free(folder);
    return status;
}

static enum lat_status open_session(struct bench *b, struct lat_error *error)
{
    const struct bench_values *v = b->values;
    struct lat_session_options o = { .context = v->prompt + v->decode + 1, .cancel = lat_cli_cancel_flag() };
    LAT_TRY(lat_cli_run_options(&v->run, &o, error));
    double start = lat_clock_seconds();
    if (v->batch > 1)
        LAT_TRY(lat_batch_new(&b->batch, b->model, &o, v->batch, error));
    else
        LAT_TRY(lat_session_new(&b->session, b->model, &o, error));
    b->threads = b->batch ? lat_batch_threads(b->batch) : lat_session_threads(b->session);
    b->load_s += lat_clock_seconds() - start;
    size_t ids = v->prompt;
    b->prompt.items = lat_size_mul(v->prompt, v->batch, &ids) ? lat_mem_new(ids, sizeof *b->prompt.items) : NULL;
    if (!b->prompt.items)
        return lat_error_memory(error, "the prompts");
    b->prompt.count = b->prompt.capacity = ids;
    return LAT_OK;
}

static void draw_prompt(struct bench *b, uint64_t seed)
{
    struct lat_rng rng;
    size_t vocab = lat_model_info_view(b->model)->vocab_size;
    lat_rng_init(&rng, seed);
    for (size_t i = 0; i < b->prompt.count; i++)
        b->prompt.items[i] = (int32_t)(lat_rng_next(&rng) % vocab);
}

static void put(struct series *series, double value) { series->values[series->count++] = value; }

// A prompt and what is decoded after it, as lat_generate does it for anybody. Each prompt is another.
static enum lat_status run_once(struct bench *b, uint64_t seed, bool counts, struct lat_error *error)
{
    struct lat_generate_options o = lat_generate_defaults();
    struct lat_generate_result result;
    draw_prompt(b, seed);
    o.max_new = b->values->decode + 1; // the first token comes with the prompt
    o.ignore_eos = true;
    o.cancel = lat_cli_cancel_flag();
    lat_session_reset(b->session);
    LAT_TRY(lat_generate(b->session, NULL, b->prompt.items, b->prompt.count, &o, &result, error));
    bool whole = result.finish == LAT_FINISH_LENGTH && result.decode_tokens == b->values->decode;
    if (counts) {
        put(&b->prefill, result.prompt_s);
        put(&b->first, result.first_token_s);
        put(&b->decode, result.decode_s);
    }
    lat_generate_result_release(&result);
    return whole ? LAT_OK : lat_error_set(error, LAT_CANCELLED, "cancelled");
}

// All sequences' prompts, then a token of each at a time: the most probable one.
static enum lat_status run_batch(struct bench *b, uint64_t seed, bool counts, struct lat_error *error)
{
    const struct bench_values *v = b->values;
    struct lat_batch_item items[LAT_BATCH_SEQUENCES_MAX];
    int32_t next[LAT_BATCH_SEQUENCES_MAX];
    size_t vocab = lat_model_info_view(b->model)->vocab_size;
    draw_prompt(b, seed);
    for (size_t i = 0; i < v->batch; i++) {
        lat_batch_reset(b->batch, i);
        items[i] = (struct lat_batch_item){ i, b->prompt.items + i * v->prompt, v->prompt };
    }
    double start = lat_clock_seconds(), prompts_s = 0;
    for (size_t step = 0; step <= v->decode; step++) {
        LAT_TRY(lat_batch_eval(b->batch, items, v->batch, error));
        for (size_t i = 0; i < v->batch; i++) {
            next[i] = lat_argmax(lat_batch_logits(b->batch, i), vocab, NULL);
            items[i] = (struct lat_batch_item){ i, &next[i], 1 };
        }
        if (step == 0)
            prompts_s = lat_clock_seconds() - start;
    }
    if (counts) {
        put(&b->prefill, prompts_s);
        put(&b->first, prompts_s);
        put(&b->decode, lat_clock_seconds() - start - prompts_s);
    }
    return LAT_OK;
}

static enum lat_status run_all(struct bench *b, struct lat_error *error)
{
    const struct bench_values *v = b->values;
    enum lat_status (*run)(struct bench *, uint64_t, bool, struct lat_error *) = b->batch ? run_batch : run_once;
    LAT_TRY(run(b, v->seed, false, error));
    b->peak_rss = lat_clock_peak_rss(); // before the buffer of the machine's own measure is there
    LAT_TRY(lat_roof_new(&b->roof, b->threads, error));
    for (size_t i = 0; i < v->repeats; i++) {
        lat_roof_sample(b->roof);
        LAT_TRY(run(b, v->seed + 1 + i, true, error));
    }
    lat_roof_sample(b->roof);
    return LAT_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// work / seconds over a series, work > 0; or, with work 0, the seconds themselves.
static struct spread spread_of(const struct series *series, double work)
{
    static const struct spread none = { 0 };
    double values[REPEATS_MAX];
    size_t n = series->count;
    if (n == 0)
        return none;
    for (size_t i = 0; i < n; i++)
        values[i] = work > 0 ? work / series->values[i] : series->values[i];
    qsort(values, n, sizeof *values, ascending);
    return (struct spread){ (values[(n - 1) / 2] + values[n / 2]) / 2, values[0], values[n - 1] };
}

// ---- what is printed: a list of names with values, as JSON, CSV or text

struct column {
    char name[40];
    char value[80]; // JSON
};

struct table {
    struct column columns[64];
    size_t count;
};

static struct column *column(struct table *t, const char *name, const char *suffix)
{
    LAT_BUG_IF(t->count == sizeof t->columns / sizeof t->columns[0]);
    struct column *c = &t->columns[t->count++];
    snprintf(c->name, sizeof c->name, "%s%s", name, suffix);
    return c;
}

static void put_number(struct table *t, const char *name, const char *suffix, double value)
{
    struct column *c = column(t, name, suffix);
    struct lat_buf buf;
    lat_buf_init(&buf, sizeof c->value);
    lat_json_add_double(&buf, value);
    snprintf(c->value, sizeof c->value, "%s", buf.bytes ? buf.bytes : "null");
    lat_buf_release(&buf);
}

static void put_whole(struct table *t, const char *name, unsigned long long value)
{
    struct column *c = column(t, name, "");
    snprintf(c->value, sizeof c->value, "%llu", value);
}

static void put_text(struct table *t, const char *name, const char *text) // plain words only
{
    struct column *c = column(t, name, "");
    snprintf(c->value, sizeof c->value, text ? "\"%s\"" : "null", text);
}

static void put_spread(struct table *t, const char *name, struct spread s)
{
    put_number(t, name, "", s.median);
    put_number(t, name, "_min", s.min);
    put_number(t, name, "_max", s.max);
}

static struct spread scaled(struct spread s, double factor)
{
    return (struct spread){ s.median * factor, s.min * factor, s.max * factor };
}

// The peak of the operation that the model's matrices are multiplied with.
static struct lat_roof_peak peak_in_use(const struct bench *b)
{
    const struct lat_roof_figures *f = lat_roof_view(b->roof);
    if (!b->cost.integer)
        return f->f32;
    if (strstr(lat_isa_name(), "amx") && f->tile.how)
        return f->tile;
    return f->int8.how ? f->int8 : f->f32;
}

static void put_roof(struct table *t, const struct lat_roof_figures *f)
{
    put_whole(t, "read_bytes_s", (unsigned long long)f->read_bytes_s);
    put_whole(t, "read_buffer_bytes", f->buffer_bytes);
    put_whole(t, "f32_ops_s", (unsigned long long)f->f32.rate);
    put_text(t, "f32_how", f->f32.how);
    put_whole(t, "int8_ops_s", (unsigned long long)f->int8.rate);
    put_text(t, "int8_how", f->int8.how);
    put_whole(t, "tile_ops_s", (unsigned long long)f->tile.rate);
    put_text(t, "tile_how", f->tile.how);
}

static void fill(struct table *t, const struct bench *b)
{
    const struct bench_values *v = b->values;
    const struct lat_roof_figures *roof = lat_roof_view(b->roof);
    struct lat_roof_peak peak = peak_in_use(b);
    struct spread prefill = spread_of(&b->prefill, (double)(v->prompt * v->batch));
    struct spread decode = v->decode ? spread_of(&b->decode, (double)(v->decode * v->batch)) : (struct spread){ 0 };
    put_whole(t, "prompt", v->prompt);
    put_whole(t, "decode", v->decode);
    put_whole(t, "batch", v->batch);
    put_whole(t, "repeats", v->repeats);
    put_spread(t, "prefill_tok_s", prefill);
    put_spread(t, "decode_tok_s", decode);
    put_spread(t, "ttft_s", spread_of(&b->first, 0));
    put_whole(t, "peak_rss_bytes", b->peak_rss);
    put_whole(t, "bytes_per_token", (unsigned long long)(b->cost.bytes_per_token + 0.5));
    put_spread(t, "bandwidth_share", scaled(decode, b->cost.bytes_per_token / (double)v->batch / roof->read_bytes_s));
    put_whole(t, "ops_per_token", (unsigned long long)(b->cost.ops_per_token + 0.5));
    put_spread(t, "op_share", scaled(prefill, peak.rate > 0 ? b->cost.ops_per_token / peak.rate : 0));
    put_text(t, "op_how", peak.how);
    put_roof(t, roof);
    put_text(t, "isa", lat_isa_name());
    put_whole(t, "threads", (unsigned long long)b->threads);
    put_text(t, "dtype", lat_model_info_view(b->model)->dtype);
    put_whole(t, "weight_bytes", lat_model_info_view(b->model)->weight_bytes);
    put_whole(t, "parameters", lat_model_info_view(b->model)->parameters);
    put_number(t, "load_s", "", b->load_s);
}

static void add_json(struct lat_buf *out, const struct table *t)
{
    for (size_t i = 0; i < t->count; i++)
        lat_buf_addf(out, "%s\"%s\":%s", i ? "," : "{", t->columns[i].name, t->columns[i].value);
    lat_buf_add_text(out, "}\n");
}

static void add_csv(struct lat_buf *out, const struct table *t)
{
    for (size_t i = 0; i < t->count; i++)
        lat_buf_addf(out, "%s%s", i ? "," : "", t->columns[i].name);
    lat_buf_add_char(out, '\n');
    for (size_t i = 0; i < t->count; i++)
        lat_buf_addf(out, "%s%s", i ? "," : "", strcmp(t->columns[i].value, "null") == 0 ? "" : t->columns[i].value);
    lat_buf_add_char(out, '\n');
}

static void add_text(struct lat_buf *out, const struct bench *b)
{
    const struct bench_values *v = b->values;
    const struct lat_roof_figures *f = lat_roof_view(b->roof);
    struct lat_roof_peak peak = peak_in_use(b);
    struct spread prefill = spread_of(&b->prefill, (double)(v->prompt * v->batch)), first = spread_of(&b->first, 0);
    lat_buf_addf(out, "prefill %4zu   %9.1f tokens/s [%.1f - %.1f], %.1f %% of %.1f G operations/s (%s)\n", v->prompt, prefill.median,
                 prefill.min, prefill.max, 100 * prefill.median * b->cost.ops_per_token / peak.rate, peak.rate / 1e9, peak.how);
    if (v->decode) {
        struct spread decode = spread_of(&b->decode, (double)(v->decode * v->batch));
        lat_buf_addf(out, "decode  %4zu   %9.1f tokens/s [%.1f - %.1f], %.1f %% of %.1f GB/s\n", v->decode, decode.median, decode.min,
                     decode.max, 100 * decode.median / (double)v->batch * b->cost.bytes_per_token / f->read_bytes_s, f->read_bytes_s / 1e9);
    }
    lat_buf_addf(out, "first token    %9.4f s [%.4f - %.4f]; %.1f MB a token; peak RSS %.0f MB\n", first.median, first.min, first.max,
                 b->cost.bytes_per_token / 1e6, (double)b->peak_rss / 1e6);
    lat_buf_addf(out, "%s, %d threads, %s, %zu repetitions\n", lat_isa_name(), b->threads,
                 lat_model_info_view(b->model)->dtype, v->repeats);
}

static enum lat_status report(const struct bench *b, struct lat_error *error)
{
    struct table table = { 0 };
    struct lat_buf out;
    lat_buf_init(&out, 1 << 20);
    fill(&table, b);
    if (b->values->json)
        add_json(&out, &table);
    else if (b->values->csv)
        add_csv(&out, &table);
    else
        add_text(&out, b);
    enum lat_status status = lat_cli_print(&out, error);
    lat_buf_release(&out);
    return status;
}

static enum lat_status bench(struct bench *b, const struct lat_operands *operands, struct lat_error *error)
{
    const struct bench_values *v = b->values;
    int threads;
    LAT_TRY(check(v, operands, error));
    LAT_TRY(lat_cli_threads(v->run.threads, &threads, error)); // before anything large is made
    if (v->output) {
        struct lat_shape_options o = shape_options(v);
        return lat_shape_write(v->shape, v->output, &o, error);
    }
    LAT_TRY(v->shape ? open_shape(b, error) : open_folder(b, operands->items[0], error));
    LAT_TRY(open_session(b, error));
    LAT_TRY(run_all(b, error));
    return report(b, error);
}

static int run(int argc, char **argv, const struct lat_command *self)
{
    struct bench_values values = { .prompt = 512, .decode = 64, .batch = 1, .repeats = 5 };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    struct bench *b = lat_mem_new(1, sizeof *b);
    enum lat_status status = b ? LAT_OK : lat_error_memory(&error, "the figures");
    lat_cli_catch_signals();
    if (status == LAT_OK)
        status = lat_options_parse(self, argc, argv, &values, &operands, &error);
    if (status == LAT_OK) {
        b->values = &values;
        status = bench(b, &operands, &error);
    }
    if (b) {
        lat_roof_free(b->roof);
        lat_session_free(b->session);
        lat_batch_free(b->batch);
        lat_ids_release(&b->prompt);
        lat_model_close(b->model);
    }
    lat_mem_free(b);
    return status == LAT_OK ? 0 : lat_cli_fail(&error);
}

const struct lat_command lat_command_bench = {
    .program = "lattice",
    .name = "bench",
    .operands = "MODEL|--shape C.json",
    .operands_min = 0,
    .operands_max = 1,
    .summary = "speed and memory, beside what the machine can do at best",
    .details = "Each repetition evaluates another random prompt of -p tokens and decodes -n after it. Between them the machine's\n"
               "own ceilings are measured with as many threads: bytes read from memory, and multiply-adds on registers (f32, and\n"
               "int8 where there are instructions for it); the best of each counts. bytes_per_token is what a decode step reads\n"
               "of the weights; ops_per_token is two for each weight a prompt's token meets, the head left out; states, caches\n"
               "and attention are in neither. Shares are these over the ceilings; of a model that fits into a cache they can be\n"
               "above 1. --shape makes weights from the seed in a folder in memory (TMPDIR, else /dev/shm, else /tmp), which is\n"
               "removed as soon as it is open. 8 and 4 bits are groups of 32 with bf16 scales.\n"
               "JSON and CSV, medians with _min and _max: prompt, decode, batch, repeats, prefill_tok_s, decode_tok_s, ttft_s,\n"
               "peak_rss_bytes, bytes_per_token, bandwidth_share, ops_per_token, op_share, op_how, read_bytes_s,\n"
               "read_buffer_bytes, f32_ops_s, f32_how, int8_ops_s, int8_how, tile_ops_s, tile_how, isa, threads, dtype,\n"
               "weight_bytes, parameters, load_s.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
