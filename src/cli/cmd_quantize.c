// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// lattice quantize: a folder with 8- or 4-bit matrices, rotated by QuaRot when asked for.
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/json.h"
#include "quant/folder_quantize.h"

struct quantize_values {
    size_t bits, head_bits, threads;
    const char *group, *search;
    uint64_t seed;
    bool quarot, seed_given, force, dry_run, json, quiet;
};

#define AT(field) offsetof(struct quantize_values, field)

static const struct lat_option options[] = {
    { "--bits", "4|8", "of the matrices; with --quarot also 16 and 32: rotated only, as they are or as f32 (4)", LAT_OPTION_COUNT,
      AT(bits) },
    { "--group", "N|channel", "columns that share a scale: 32, 64, 128, or a whole row (32)", LAT_OPTION_TEXT, AT(group) },
    { "--head-bits", "4|8|16", "of the head; 16 leaves it as it is (8)", LAT_OPTION_COUNT, AT(head_bits) },
    { "--search", "mse|none", "look for the scale with the least squared error (mse)", LAT_OPTION_TEXT, AT(search) },
    { "--quarot", NULL, "rotate the residual stream first (needs --seed)", LAT_OPTION_FLAG, AT(quarot) },
    { "--seed", "S", "of the rotation", LAT_OPTION_SEED, AT(seed) },
    { "--threads", "N", "(the processors of this process)", LAT_OPTION_COUNT, AT(threads) },
    { "--dry-run", NULL, "say what would be done, write nothing", LAT_OPTION_FLAG, AT(dry_run) },
    { "--force", NULL, "replace OUT when it is a model folder", LAT_OPTION_FLAG, AT(force) },
    { "--json", NULL, "a JSON object about what was done, instead of lines", LAT_OPTION_FLAG, AT(json) },
    { "--quiet", NULL, "neither progress nor notes on standard error", LAT_OPTION_FLAG, AT(quiet) },
};

static void show_progress(void *context, uint64_t done, uint64_t total)
{
    lat_progress_part(context, done, total);
}

static enum lat_status read_options(const struct quantize_values *v, struct lat_quantize_options *o, struct lat_error *error)
{
    *o = (struct lat_quantize_options){ .bits = v->bits > 64 ? 64 : (int)v->bits, .head_bits = v->head_bits > 64 ? 64 : (int)v->head_bits,
                                        .group = 32, .search = true, .rotate = v->quarot, .seed = v->seed, .force = v->force,
                                        .dry_run = v->dry_run, .cancel = lat_cli_cancel_flag() };
    if (v->group && strcmp(v->group, "channel") == 0)
        o->group = 0;
    else if (v->group && strcmp(v->group, "32") != 0) {
        o->group = strcmp(v->group, "64") == 0 ? 64 : strcmp(v->group, "128") == 0 ? 128 : 1;
        if (o->group == 1)
            return lat_error_set(error, LAT_ARGUMENT, "--group: '%.40s' is none of 32, 64, 128, channel", v->group);
    }
    if (v->search && strcmp(v->search, "mse") != 0 && strcmp(v->search, "none") != 0)
        return lat_error_set(error, LAT_ARGUMENT, "--search: '%.40s' is neither mse nor none", v->search);
    o->search = !v->search || strcmp(v->search, "mse") == 0;
    if (v->quarot != v->seed_given)
        return lat_error_set(error, LAT_ARGUMENT, v->quarot ? "--quarot needs --seed" : "--seed is for --quarot");
    return lat_cli_threads(v->threads, &o->threads, error);
}

static enum lat_status print_report(const struct quantize_values *v, const struct lat_quantize_options *o,
                                    const struct lat_quantize_report *r, double seconds, const char *out, struct lat_error *error)
{
    struct lat_buf text;
    lat_buf_init(&text, 1 << 24);
    if (v->json) {
        lat_buf_addf(&text, "{\"out\":");
        lat_json_add_string(&text, out, strlen(out));
        lat_buf_addf(&text, ",\"dry_run\":%s,\"bits\":%d,\"head_bits\":%d,\"group\":%zu,\"quarot\":%s,\"quantized\":%zu,\"kept\":%zu,"
                            "\"left_out\":%zu,\"bytes_before\":%llu,\"bytes_after\":%llu,\"relative_error\":",
                     o->dry_run ? "true" : "false", o->bits, o->head_bits, o->group, o->rotate ? "true" : "false", r->quantized,
                     r->kept, r->left_out, (unsigned long long)r->bytes_before, (unsigned long long)r->bytes_after);
        lat_json_add_double(&text, r->relative_error);
        lat_buf_addf(&text, ",\"seconds\":%.3f,\"peak_rss_bytes\":%llu,\"notes\":", seconds, (unsigned long long)lat_clock_peak_rss());
        lat_json_add_string(&text, r->notes.bytes ? r->notes.bytes : "", r->notes.length);
        lat_buf_add_text(&text, "}\n");
    } else
        lat_buf_addf(&text, "%s%s: %zu matrices quantised, %zu tensors kept, %zu left out; %.1f MB -> %.1f MB; relative error %.4f\n",
                     out, o->dry_run ? " (dry run, nothing written)" : "", r->quantized, r->kept, r->left_out,
                     (double)r->bytes_before / 1e6, (double)r->bytes_after / 1e6, r->relative_error);
    if (!v->json && !v->quiet && r->notes.length)
        fputs(r->notes.bytes, stderr);
    enum lat_status status = text.failed ? lat_error_memory(error, "the report") : lat_cli_print(&text, error);
    lat_buf_release(&text);
    return status;
}

static enum lat_status quantize(const struct quantize_values *v, const char *in, const char *out, struct lat_error *error)
{
    struct lat_quantize_options o;
    struct lat_quantize_report report;
    struct lat_model *model = NULL;
    struct lat_progress progress = { 0 };
    LAT_TRY(read_options(v, &o, error));
    LAT_TRY(lat_model_open(&model, in, error)); // every tensor's name and shape, before anything is done
    size_t hidden = lat_model_info_view(model)->hidden_size;
    bool tied = lat_model_info_view(model)->tied;
    lat_model_close(model);
    if (!v->quiet && !v->dry_run && lat_progress_wanted()) {
        lat_progress_begin(&progress, 1, 1);
        o.progress = show_progress;
        o.context = &progress;
    }
    double start = lat_clock_seconds();
    enum lat_status status = lat_folder_quantize(in, out, hidden, tied, &o, &report, error);
    lat_progress_end(&progress);
    if (status == LAT_OK)
        status = print_report(v, &o, &report, lat_clock_seconds() - start, out, error);
    lat_buf_release(&report.notes);
    return status;
}

static int run(int argc, char **argv, const struct lat_command *self)
{
    struct quantize_values values = { .bits = 4, .head_bits = 8 };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    for (int i = 0; i < argc; i++)
        values.seed_given = values.seed_given || strcmp(argv[i], "--seed") == 0 || strncmp(argv[i], "--seed=", 7) == 0;
    lat_cli_catch_signals();
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK
        || quantize(&values, operands.items[0], operands.items[1], &error) != LAT_OK)
        return lat_cli_fail(&error);
    return 0;
}

const struct lat_command lat_command_quantize = {
    .program = "lattice",
    .name = "quantize",
    .operands = "MODEL OUT",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "writes a folder with 8- or 4-bit matrices, rotated (QuaRot) when asked for",
    .details = "The layout is compressed-tensors' pack-quantized, which transformers and vLLM read. Embeddings, norms, gates and\n"
               "routers stay as they are; matrices whose columns are no whole groups stay, and are listed. OUT appears when it is\n"
               "whole; a run that is killed leaves no OUT. JSON: out, dry_run, bits, head_bits, group (0: channel), quarot,\n"
               "quantized, kept, left_out, bytes_before, bytes_after, relative_error, seconds, peak_rss_bytes, notes.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
