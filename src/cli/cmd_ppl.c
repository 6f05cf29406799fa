// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice ppl`: how well a model foresees a text, and how far it is from another model on the same text.
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/logit_score.h"
#include "cli/progress.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"

struct ppl_values {
    const char *against;
    struct lat_cli_run run;
    const char *against_compute;
    size_t context, stride;
    bool json;
};

#define AT(field) offsetof(struct ppl_values, field)

static const struct lat_option options[] = {
    { "--ctx", "N", "tokens of a window (1024, or what the model allows)", LAT_OPTION_COUNT, AT(context) },
    { "--stride", "N", "tokens from one window's start to the next's (half of --ctx)", LAT_OPTION_COUNT, AT(stride) },
    { "--against", "OTHER", "also compare with this folder, taken as the reference", LAT_OPTION_TEXT, AT(against) },
    { "--against-compute", "WAY", "how OTHER is computed (as --compute)", LAT_OPTION_TEXT, AT(against_compute) },
    LAT_CLI_RUN_OPTIONS(AT(run)),
    { "--json", NULL, "a JSON object", LAT_OPTION_FLAG, AT(json) },
};

enum { CONTEXT_DEFAULT = 1024, PIECE_MAX = 128, PIECE_BYTES_MAX = 64 << 20 };
static const size_t UNSET = SIZE_MAX;

struct side {
    struct lat_model *model;
    struct lat_session *session;
};

struct measure {
    const struct ppl_values *values;
    const char *file;
    struct side model, reference; // reference: only with --against
    struct lat_ids ids;
    size_t bytes, context, stride, windows;
    // the window at work: scored are the targets from `first` on
    size_t begin, first;
    // logits of the reference for rows from `piece` on (a position in the window)
    float *rows;
    size_t rows_max, piece;
    struct lat_moments nll, reference_nll, difference, kl;
    double *kls; // one a scored token, for the quantile
    size_t same_top;
    double seconds;
    struct lat_progress progress;
};

static size_t vocabulary(const struct side *side) { return lat_model_info_view(side->model)->vocab_size; }

static enum lat_status read_file(const char *path, struct lat_buf *text, struct lat_error *error)
{
    struct lat_file_map map;
    if (strcmp(path, "-") == 0)
        return lat_cli_read_text(path, text, error);
    lat_buf_init(text, SIZE_MAX);
    LAT_TRY(lat_file_map_open(&map, path, error));
    lat_buf_add(text, map.bytes, map.length);
    lat_file_map_close(&map);
    return text->failed ? lat_error_memory(error, "the text") : LAT_OK;
}

static enum lat_status encode(const char *folder, const char *file, const struct lat_buf *text, struct lat_ids *ids,
                              struct lat_error *error)
{
    struct lat_tokenizer *tokenizer = NULL;
    LAT_TRY(lat_tokenizer_open(&tokenizer, folder, error));
    enum lat_status status = lat_tokenizer_encode(tokenizer, text->bytes, text->length, 0, ids, error);
    lat_tokenizer_free(tokenizer);
    return status == LAT_OK ? LAT_OK : lat_error_prefix(error, status, "%s", file);
}

// The other folder's tokenizer, where it has one, must read the text as the same ids: else the figures would be about
// different tokens.
static enum lat_status check_other_ids(const struct measure *m, const struct lat_buf *text, struct lat_error *error)
{
    struct lat_ids ids = { 0 };
    char *path = lat_file_path_join(m->values->against, "tokenizer.json");
    bool there = path && lat_file_exists(path);
    lat_mem_free(path);
    if (!there)
        return LAT_OK;
    enum lat_status status = encode(m->values->against, m->file, text, &ids, error);
    size_t i = 0;
    while (status == LAT_OK && i < ids.count && i < m->ids.count && ids.items[i] == m->ids.items[i])
        i++;
    if (status == LAT_OK && (i < ids.count || i < m->ids.count))
        status = lat_error_set(error, LAT_ARGUMENT, "--against: %s reads the text as other tokens, from token %zu on",
                               m->values->against, i);
    lat_ids_release(&ids);
    return status;
}

static enum lat_status read_ids(struct measure *m, const char *folder, struct lat_error *error)
{
    struct lat_buf text;
    enum lat_status status = read_file(m->file, &text, error);
    if (status == LAT_OK && text.length == 0)
        status = lat_error_set(error, LAT_ARGUMENT, "%s is empty", m->file);
    if (status == LAT_OK)
        status = encode(folder, m->file, &text, &m->ids, error);
    if (status == LAT_OK && m->ids.count < 2)
        status = lat_error_set(error, LAT_ARGUMENT, "%s: %zu token only, there is nothing to foresee", m->file, m->ids.count);
    if (status == LAT_OK && m->values->against)
        status = check_other_ids(m, &text, error);
    m->bytes = text.length;
    lat_buf_release(&text);
    return status;
}

static enum lat_status resolve_windows(struct measure *m, struct lat_error *error)
{
    const struct ppl_values *v = m->values;
    size_t most = lat_model_info_view(m->model.model)->positions_max;
    if (m->reference.model && lat_model_info_view(m->reference.model)->positions_max < most)
        most = lat_model_info_view(m->reference.model)->positions_max;
    m->context = v->context != UNSET ? v->context : most < CONTEXT_DEFAULT ? most : CONTEXT_DEFAULT;
    if (m->context < 2)
        return lat_error_set(error, LAT_ARGUMENT, "--ctx: a window of %zu tokens has nothing to foresee", m->context);
    if (m->context > most)
        return lat_error_set(error, LAT_LIMIT, "--ctx: %zu is more than the model's %zu positions", m->context, most);
    m->stride = v->stride != UNSET ? v->stride : m->context / 2;
    if (m->stride < 1 || m->stride > m->context)
        return lat_error_set(error, LAT_ARGUMENT, "--stride: %zu is outside 1 to the window of %zu", m->stride, m->context);
    return LAT_OK;
}

static enum lat_status open_models(struct measure *m, const char *folder, struct lat_error *error)
{
    LAT_TRY(lat_model_open(&m->model.model, folder, error));
    if (m->values->against)
        LAT_TRY(lat_model_open(&m->reference.model, m->values->against, error));
    if (m->values->against && vocabulary(&m->reference) != vocabulary(&m->model))
        return lat_error_set(error, LAT_ARGUMENT, "--against: %s has a vocabulary of %zu, %s one of %zu", m->values->against,
                             vocabulary(&m->reference), folder, vocabulary(&m->model));
    return resolve_windows(m, error);
}

static void score(struct measure *m, const float *logits, const float *reference, int32_t id)
{
    struct lat_logit_pair pair;
    if (!reference) {
        lat_moments_add(&m->nll, lat_logit_nll(logits, vocabulary(&m->model), id));
        return;
    }
    lat_logit_compare(&pair, logits, reference, vocabulary(&m->model), id);
    m->kls[m->kl.count] = pair.kl;
    lat_moments_add(&m->nll, pair.nll);
    lat_moments_add(&m->reference_nll, pair.reference_nll);
    lat_moments_add(&m->difference, pair.nll - pair.reference_nll);
    lat_moments_add(&m->kl, pair.kl);
    m->same_top += pair.same_top;
}

static enum lat_status observe(void *context, int point, size_t position, size_t rows, size_t width, const float *values,
                               struct lat_error *error)
{
    struct measure *m = context;
    (void)error;
    lat_progress_see(&m->progress, point, position, rows);
    for (size_t i = 0; point == LAT_POINT_LOGITS && i < rows; i++) {
        size_t target = m->begin + position + i + 1;
        if (target >= m->first)
            score(m, values + i * width, m->rows ? m->rows + (position + i - m->piece) * width : NULL, m->ids.items[target]);
    }
    return LAT_OK;
}

static enum lat_status observe_reference(void *context, int point, size_t position, size_t rows, size_t width,
                                         const float *values, struct lat_error *error)
{
    struct measure *m = context;
    (void)error;
    if (point == LAT_POINT_LOGITS)
        memcpy(m->rows + (position - m->piece) * width, values, rows * width * sizeof *values);
    return LAT_OK;
}

static enum lat_status open_session(struct measure *m, struct side *side, lat_observe_fn *fn, struct lat_error *error)
{
    size_t longest = m->context < m->ids.count ? m->context : m->ids.count;
    struct lat_session_options o = { .context = longest, .observe = fn, .observe_context = m, .observe_logits = true,
                                     .cancel = lat_cli_cancel_flag() };
    struct lat_cli_run run = m->values->run;
    if (side == &m->reference && m->values->against_compute)
        run.compute = m->values->against_compute;
    LAT_TRY(lat_cli_run_options(&run, &o, error));
    return lat_session_new(&side->session, side->model, &o, error);
}

static enum lat_status open_sessions(struct measure *m, struct lat_error *error)
{
    LAT_TRY(open_session(m, &m->model, observe, error));
    if (!m->values->against)
        return LAT_OK;
    LAT_TRY(open_session(m, &m->reference, observe_reference, error));
    size_t width = vocabulary(&m->model), rows = PIECE_BYTES_MAX / sizeof(float) / width;
    m->rows_max = rows < 1 ? 1 : rows > PIECE_MAX ? PIECE_MAX : rows;
    m->rows = lat_mem_new(m->rows_max * width, sizeof *m->rows);
    m->kls = lat_mem_new(m->ids.count, sizeof *m->kls);
    return m->rows && m->kls ? LAT_OK : lat_error_memory(error, "the comparison");
}

// ids[begin..end) through both models; the last id is not evaluated, as nothing that follows it is scored. The
// reference goes ahead by a piece, so that the logits of a piece and not of a window have to be kept.
static enum lat_status run_window(struct measure *m, size_t end, struct lat_error *error)
{
    const int32_t *ids = m->ids.items + m->begin;
    size_t count = end - m->begin - 1;
    lat_session_reset(m->model.session);
    if (!m->rows)
        return lat_session_eval(m->model.session, ids, count, error);
    lat_session_reset(m->reference.session);
    for (m->piece = 0; m->piece < count; m->piece += m->rows_max) {
        size_t now = count - m->piece < m->rows_max ? count - m->piece : m->rows_max;
        LAT_TRY(lat_session_eval(m->reference.session, ids + m->piece, now, error));
        LAT_TRY(lat_session_eval(m->model.session, ids + m->piece, now, error));
    }
    return LAT_OK;
}

static size_t window_end(const struct measure *m, size_t begin)
{
    return m->ids.count - begin < m->context ? m->ids.count : begin + m->context;
}

static enum lat_status run_windows(struct measure *m, struct lat_error *error)
{
    size_t total = 0, scored = 1, end = 0;
    for (size_t begin = 0; end < m->ids.count; begin += m->stride) {
        end = window_end(m, begin);
        total += end - begin - 1;
    }
    lat_progress_begin(&m->progress, total, lat_model_info_view(m->model.model)->layers);
    for (end = 0; end < m->ids.count; m->begin += m->stride) {
        end = window_end(m, m->begin);
        m->first = scored > m->begin + 1 ? scored : m->begin + 1; // a window's first token has nothing before it
        if (end > m->begin + 1)
            LAT_TRY(run_window(m, end, error));
        m->progress.before += end - m->begin - 1;
        scored = end;
        m->windows++;
    }
    return LAT_OK;
}

static enum lat_status measure(struct measure *m, const char *folder, struct lat_error *error)
{
    LAT_TRY(open_models(m, folder, error));
    LAT_TRY(read_ids(m, folder, error));
    LAT_TRY(open_sessions(m, error));
    double start = lat_clock_seconds();
    enum lat_status status = run_windows(m, error);
    lat_progress_end(&m->progress);
    m->seconds = lat_clock_seconds() - start;
    return status;
}

static void add_number(struct lat_buf *out, const char *name, double value)
{
    lat_buf_addf(out, ",\"%s\":", name);
    lat_json_add_double(out, value);
}

// A loss and its perplexity, each with its standard error.
static void add_loss(struct lat_buf *out, const struct lat_moments *nll)
{
    double error = lat_moments_error(nll), ppl = exp(nll->mean);
    add_number(out, "nll", nll->mean);
    add_number(out, "nll_error", error);
    add_number(out, "ppl", ppl);
    add_number(out, "ppl_error", ppl * error);
}

struct comparison {
    double same_top, same_top_error;
    struct lat_quantile p999;
};

static struct comparison compare(struct measure *m)
{
    double n = (double)m->kl.count, share = (double)m->same_top / n;
    return (struct comparison){ .same_top = share, .same_top_error = sqrt(share * (1 - share) / n),
                                .p999 = lat_quantile_of(m->kls, m->kl.count, 0.999) };
}

static void add_json_comparison(struct lat_buf *out, struct measure *m)
{
    struct comparison c = compare(m);
    lat_buf_add_text(out, ",\"against\":{\"folder\":");
    lat_json_add_string(out, m->values->against, strlen(m->values->against));
    lat_buf_addf(out, ",\"dtype\":\"%s\"", lat_model_info_view(m->reference.model)->dtype);
    add_loss(out, &m->reference_nll);
    add_number(out, "nll_difference", m->difference.mean);
    add_number(out, "nll_difference_error", lat_moments_error(&m->difference));
    add_number(out, "ppl_ratio", exp(m->difference.mean));
    add_number(out, "ppl_ratio_error", exp(m->difference.mean) * lat_moments_error(&m->difference));
    add_number(out, "kl_mean", m->kl.mean);
    add_number(out, "kl_mean_error", lat_moments_error(&m->kl));
    add_number(out, "kl_p999", c.p999.value);
    add_number(out, "kl_p999_low", c.p999.low);
    add_number(out, "kl_p999_high", c.p999.high);
    add_number(out, "same_top1", c.same_top);
    add_number(out, "same_top1_error", c.same_top_error);
    lat_buf_add_char(out, '}');
}

static void add_json(struct lat_buf *out, struct measure *m)
{
    const struct lat_model_info *info = lat_model_info_view(m->model.model);
    lat_buf_addf(out, "{\"tokens\":%zu,\"text_tokens\":%zu,\"text_bytes\":%zu,\"ctx\":%zu,\"stride\":%zu,\"windows\":%zu",
                 m->nll.count, m->ids.count, m->bytes, m->context, m->stride, m->windows);
    add_loss(out, &m->nll);
    if (m->values->against)
        add_json_comparison(out, m);
    add_number(out, "seconds", m->seconds);
    lat_buf_addf(out, ",\"threads\":%d,\"isa\":\"%s\",\"dtype\":\"%s\"}\n", lat_session_threads(m->model.session),
                 lat_isa_name(), info->dtype);
}

static void add_text(struct lat_buf *out, struct measure *m)
{
    double ppl = exp(m->nll.mean), error = lat_moments_error(&m->nll);
    lat_buf_addf(out, "%zu of %zu tokens scored, %zu windows of %zu, one every %zu\n", m->nll.count, m->ids.count, m->windows,
                 m->context, m->stride);
    lat_buf_addf(out, "perplexity %.5f +- %.5f (%.5f +- %.5f nats a token)\n", ppl, ppl * error, m->nll.mean, error);
    if (!m->values->against)
        return;
    struct comparison c = compare(m);
    double other = exp(m->reference_nll.mean), ratio = exp(m->difference.mean);
    lat_buf_addf(out, "reference  %.5f +- %.5f; ratio %.6f +- %.6f (paired)\n", other,
                 other * lat_moments_error(&m->reference_nll), ratio, ratio * lat_moments_error(&m->difference));
    lat_buf_addf(out, "KL mean    %.3e +- %.1e; 99.9 %%: %.3e [%.3e, %.3e]\n", m->kl.mean, lat_moments_error(&m->kl),
                 c.p999.value, c.p999.low, c.p999.high);
    lat_buf_addf(out, "same top 1 %.3f %% +- %.3f %%\n", 100 * c.same_top, 100 * c.same_top_error);
}

static enum lat_status report(struct measure *m, struct lat_error *error)
{
    struct lat_buf out;
    lat_buf_init(&out, 1 << 20);
    if (m->values->json)
        add_json(&out, m);
    else
        add_text(&out, m);
    enum lat_status status = lat_cli_print(&out, error);
    lat_buf_release(&out);
    return status;
}

static int run(int argc, char **argv, const struct lat_command *self)
{
    struct ppl_values values = { .context = UNSET, .stride = UNSET };
    struct measure m = { .values = &values };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    lat_cli_catch_signals();
    enum lat_status status = lat_options_parse(self, argc, argv, &values, &operands, &error);
    if (status == LAT_OK) {
        m.file = operands.items[1];
        status = measure(&m, operands.items[0], &error);
    }
    if (status == LAT_OK)
        status = report(&m, &error);
    lat_session_free(m.model.session);
    lat_session_free(m.reference.session);
    lat_model_close(m.model.model);
    lat_model_close(m.reference.model);
    lat_ids_release(&m.ids);
    lat_mem_free(m.rows);
    lat_mem_free(m.kls);
    return status == LAT_OK ? 0 : lat_cli_fail(&error);
}

const struct lat_command lat_command_ppl = {
    .program = "lattice",
    .name = "ppl",
    .operands = "MODEL FILE|-",
    .operands_min = 2,
    .operands_max = 2,
    .summary = "perplexity of a text (UTF-8), and the distance to another folder",
    .details = "A window of --ctx tokens slides over the text by --stride; each token is scored once, in the first window that\n"
               "has it, with at least ctx - stride tokens before it (fewer in the first window; the first token of a window\n"
               "has none and is not scored). +- is one standard error, tokens taken as independent. With --against also the\n"
               "Kullback-Leibler divergence of MODEL from OTHER in nats (mean, and the 99.9 % quantile with its range), the\n"
               "share of tokens where both have the same most probable token, and the ratio of perplexities, paired by token.\n"
               "JSON: tokens (scored), text_tokens, text_bytes, ctx, stride, windows, nll, nll_error, ppl, ppl_error, against\n"
               "{folder, dtype, nll, nll_error, ppl, ppl_error, nll_difference, nll_difference_error, ppl_ratio,\n"
               "ppl_ratio_error, kl_mean, kl_mean_error, kl_p999, kl_p999_low, kl_p999_high, same_top1, same_top1_error},\n"
               "seconds, threads, isa, dtype.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
