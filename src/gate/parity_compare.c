// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/parity_compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "gate/parity_tensors.h"

struct lat_parity_limits lat_parity_limits_default(void)
{
    return (struct lat_parity_limits){ .max_ratio = 2, .rms_ratio = 1.2, .margin_floors = 4, .layer_ratio = 8 };
}

struct judge {
    const struct lat_st_file *reference, *trace;
    const struct lat_parity_limits *limits;
    struct lat_json floors, layer_floors;
    double largest_max, pooled_rms; // floors over all prompts
    bool *trace_at_fault;
    struct lat_error *error;
};

static enum lat_status refuse(const struct judge *j, const char *prompt, const char *what)
{
    return lat_error_set(j->error, LAT_FORMAT, "%s: %s", prompt, what);
}

// A tensor of a prompt, of a given type and shape (cols 0: one dimension); `where` is "reference" or "trace".
static enum lat_status need(const struct judge *j, const struct lat_st_file *file, const char *prompt, const char *name,
                            enum lat_dtype dtype, size_t rows, size_t cols, const struct lat_st_tensor **out)
{
    const char *where = file == j->reference ? "reference" : "trace";
    *out = lat_parity_find(file, prompt, name);
    *j->trace_at_fault = file == j->trace;
    if (!*out)
        return lat_error_set(j->error, LAT_NOT_FOUND, "the %s has no %s.%s", where, prompt, name);
    bool fits = (*out)->dtype == dtype && (*out)->rank == (cols ? 2 : 1) && (*out)->shape[0] == rows
             && (!cols || (*out)->shape[1] == cols);
    if (!fits)
        return lat_error_set(j->error, LAT_FORMAT, "the %s's %s.%s is not %s [%zu%s%.0zu]", where, prompt, name,
                             lat_dtype_name(dtype), rows, cols ? ", " : "", cols);
    *j->trace_at_fault = false;
    return LAT_OK;
}

// What is compared of one prompt.
struct pair {
    const char *name;
    size_t tokens, vocab;
    const struct lat_st_tensor *logits; // the engine's, [tokens][vocab]
    const struct lat_st_tensor *truth;  // [rows][vocab]
    const struct lat_st_tensor *positions; // [rows], or NULL: row r is position r
    const struct lat_st_tensor *top_ids, *top_truth, *lse_truth; // [tokens][k], [tokens]; NULL when all rows are whole
};

struct sums {
    double max, squares, kl;
    size_t entries, rows, top1;
};

static void add_distance(struct sums *s, double engine, double truth)
{
    double d = fabs(engine - truth);
    s->max = d > s->max ? d : s->max;
    s->squares += d * d;
    s->entries++;
}

static double log_sum_exp(const struct lat_st_tensor *t, size_t row, size_t width, size_t *best)
{
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < width; i++)
        if ((double)lat_parity_f32(t, row * width + i) > most) {
            most = lat_parity_f32(t, row * width + i);
            *best = i;
        }
    for (size_t i = 0; i < width; i++)
        sum += exp(lat_parity_f32(t, row * width + i) - most);
    return most + log(sum);
}

static void compare_full_row(const struct pair *p, size_t row, size_t position, struct sums *s)
{
    size_t best_truth = 0, best_engine = 0;
    double lse_truth = log_sum_exp(p->truth, row, p->vocab, &best_truth);
    double lse_engine = log_sum_exp(p->logits, position, p->vocab, &best_engine);
    for (size_t i = 0; i < p->vocab; i++) {
        double truth = lat_parity_f32(p->truth, row * p->vocab + i), engine = lat_parity_f32(p->logits, position * p->vocab + i);
        add_distance(s, engine, truth);
        s->kl += exp(truth - lse_truth) * ((truth - lse_truth) - (engine - lse_engine));
    }
    s->top1 += best_truth == best_engine;
    s->rows++;
}

// A position of which the reference keeps the largest logits and the log-sum-exp: what is not listed counts as one rest.
static void compare_top_row(const struct pair *p, size_t position, struct sums *s)
{
    size_t k = p->top_ids->shape[1], best_engine = 0;
    double lse_truth = lat_parity_f32(p->lse_truth, position), lse_engine = log_sum_exp(p->logits, position, p->vocab, &best_engine);
    double rest_truth = 1, rest_engine = 1;
    for (size_t i = 0; i < k; i++) {
        size_t id = (size_t)lat_parity_i64(p->top_ids, position * k + i);
        double truth = lat_parity_f32(p->top_truth, position * k + i), engine = lat_parity_f32(p->logits, position * p->vocab + id);
        double share = exp(truth - lse_truth);
        add_distance(s, engine, truth);
        s->kl += share * ((truth - lse_truth) - (engine - lse_engine));
        rest_truth -= share;
        rest_engine -= exp(engine - lse_engine);
    }
    if (rest_truth > 1e-9 && rest_engine > 1e-9)
        s->kl += rest_truth * log(rest_truth / rest_engine);
    s->top1 += (size_t)lat_parity_i64(p->top_ids, position * k) == best_engine;
    s->rows++;
}

static void compare_rows(const struct pair *p, struct sums *s)
{
    size_t next = 0, full = p->truth->shape[0];
    for (size_t t = 0; t < p->tokens; t++) {
        if (next < full && (!p->positions || (size_t)lat_parity_i64(p->positions, next) == t))
            compare_full_row(p, next++, t, s);
        else
            compare_top_row(p, t, s);
    }
}

static enum lat_status check_finite(const struct judge *j, const struct pair *p, const struct lat_st_tensor *t, const char *what)
{
    for (size_t i = 0; i < t->elements; i++)
        if (!isfinite(lat_parity_f32(t, i))) {
            *j->trace_at_fault = t == p->logits;
            return lat_error_set(j->error, LAT_NOT_FINITE, "%s: %s of the %s is not finite at element %zu", p->name, t->name,
                                 what, i);
        }
    return LAT_OK;
}

// Positions of whole rows must ascend and lie in the prompt; listed ids must lie in the vocabulary.
static enum lat_status check_indices(const struct judge *j, const struct pair *p)
{
    int64_t before = -1;
    for (size_t i = 0; p->positions && i < p->positions->elements; i++) {
        int64_t at = lat_parity_i64(p->positions, i);
        if (at <= before || at >= (int64_t)p->tokens)
            return refuse(j, p->name, "the reference's positions do not ascend inside the prompt");
        before = at;
    }
    for (size_t i = 0; p->top_ids && i < p->top_ids->elements; i++)
        if (lat_parity_i64(p->top_ids, i) < 0 || lat_parity_i64(p->top_ids, i) >= (int64_t)p->vocab)
            return refuse(j, p->name, "the reference's top_ids go outside of the vocabulary");
    return LAT_OK;
}

static enum lat_status open_partial(const struct judge *j, struct pair *p)
{
    const struct lat_st_tensor *top = lat_parity_find(j->reference, p->name, "top_ids");
    LAT_TRY(need(j, j->reference, p->name, "positions", LAT_DTYPE_I64, p->truth->shape[0], 0, &p->positions));
    if (!top || top->rank != 2 || top->shape[1] == 0)
        return refuse(j, p->name, "the reference keeps neither all rows nor top_ids");
    LAT_TRY(need(j, j->reference, p->name, "top_ids", LAT_DTYPE_I64, p->tokens, top->shape[1], &p->top_ids));
    LAT_TRY(need(j, j->reference, p->name, "top_truth", LAT_DTYPE_F32, p->tokens, top->shape[1], &p->top_truth));
    LAT_TRY(need(j, j->reference, p->name, "lse_truth", LAT_DTYPE_F32, p->tokens, 0, &p->lse_truth));
    LAT_TRY(check_finite(j, p, p->top_truth, "reference"));
    return check_finite(j, p, p->lse_truth, "reference");
}

static enum lat_status open_pair(const struct judge *j, const char *name, struct pair *p)
{
    const struct lat_st_tensor *want = lat_parity_find(j->reference, name, "input_ids"), *got = NULL;
    *p = (struct pair){ .name = name };
    if (!want || want->dtype != LAT_DTYPE_I64 || want->rank != 1 || want->elements == 0)
        return refuse(j, name, "the reference's input_ids are missing or empty");
    p->tokens = want->elements;
    LAT_TRY(need(j, j->trace, name, "input_ids", LAT_DTYPE_I64, p->tokens, 0, &got));
    *j->trace_at_fault = memcmp(want->data, got->data, want->bytes) != 0;
    if (*j->trace_at_fault)
        return refuse(j, name, "the trace was made from other input_ids than the reference");
    p->truth = lat_parity_find(j->reference, name, "truth");
    if (!p->truth || p->truth->dtype != LAT_DTYPE_F32 || p->truth->rank != 2 || p->truth->elements == 0
        || p->truth->shape[0] > p->tokens)
        return refuse(j, name, "the reference's truth is missing or of the wrong shape");
    p->vocab = p->truth->shape[1];
    LAT_TRY(need(j, j->trace, name, "logits", LAT_DTYPE_F32, p->tokens, p->vocab, &p->logits));
    LAT_TRY(check_finite(j, p, p->truth, "reference"));
    LAT_TRY(check_finite(j, p, p->logits, "trace"));
    if (p->truth->shape[0] < p->tokens)
        LAT_TRY(open_partial(j, p));
    return check_indices(j, p);
}

// Hugging Face's distance, of the two ways in which it computes (one call, step by step) the farther.
static bool prompt_floor(const struct judge *j, const char *name, double *max, double *rms)
{
    const struct lat_json_node *f = lat_json_get(j->floors.root, name);
    double a, b, c, d;
    if (!lat_json_to_double(lat_json_get(f, "max_prefill"), &a) || !lat_json_to_double(lat_json_get(f, "max_steps"), &b)
        || !lat_json_to_double(lat_json_get(f, "rms_prefill"), &c) || !lat_json_to_double(lat_json_get(f, "rms_steps"), &d))
        return false;
    *max = a > b ? a : b;
    *rms = c > d ? c : d;
    return isfinite(*max) && isfinite(*rms) && *max >= 0 && *rms >= 0;
}

// Floors of short prompts are the luck of a few numbers: a prompt's floor is at least the reference's as a
// whole, and never below the spacing of f32 at logits of this size.
static enum lat_status set_floor(const struct judge *j, const struct pair *p, struct lat_parity_prompt *out)
{
    double largest = 0;
    for (size_t i = 0; i < p->truth->elements; i++)
        largest = fmax(largest, fabs((double)lat_parity_f32(p->truth, i)));
    if (!prompt_floor(j, p->name, &out->floor_max, &out->floor_rms))
        return refuse(j, p->name, "the reference does not say how far Hugging Face is from the truth");
    out->floor_max = fmax(fmax(out->floor_max, j->largest_max), largest * 0x1p-23);
    out->floor_rms = fmax(fmax(out->floor_rms, j->pooled_rms), largest * 0x1p-25);
    return LAT_OK;
}

static enum lat_status judge_greedy(const struct judge *j, const struct pair *p, struct lat_parity_prompt *out)
{
    const struct lat_st_tensor *want = lat_parity_find(j->reference, p->name, "greedy_ids"), *margin = NULL, *got = NULL;
    if (!want)
        return LAT_OK;
    if (want->dtype != LAT_DTYPE_I64 || want->rank != 1)
        return refuse(j, p->name, "the reference's greedy_ids are not I64 [N]");
    LAT_TRY(need(j, j->reference, p->name, "greedy_margin", LAT_DTYPE_F32, want->elements, 0, &margin));
    LAT_TRY(need(j, j->trace, p->name, "greedy_ids", LAT_DTYPE_I64, want->elements, 0, &got));
    out->greedy_count = want->elements;
    while (out->greedy_same < want->elements && lat_parity_i64(want, out->greedy_same) == lat_parity_i64(got, out->greedy_same))
        out->greedy_same++;
    out->greedy_excused = true;
    if (out->greedy_same < want->elements) {
        out->greedy_margin = lat_parity_f32(margin, out->greedy_same);
        out->greedy_excused = out->greedy_margin <= j->limits->margin_floors * out->floor_max;
    }
    return LAT_OK;
}

// Root mean square distance of a point's output to the truth, in its floors; negative when the point is not there.
static enum lat_status point_ratio(const struct judge *j, const struct pair *p, const char *point, double *ratio)
{
    char name[48];
    snprintf(name, sizeof name, "truth.%s", point);
    const struct lat_st_tensor *truth = lat_parity_find(j->reference, p->name, name), *got = NULL;
    const struct lat_json_node *floor = lat_json_get(lat_json_get(j->layer_floors.root, p->name), point);
    double usual = 0, squares = 0, size = 0;
    *ratio = -1;
    if (!truth || !lat_parity_find(j->trace, p->name, point))
        return LAT_OK;
    if (truth->dtype != LAT_DTYPE_F32 || truth->rank != 2 || truth->shape[0] != p->tokens || truth->elements == 0
        || !lat_json_to_double(lat_json_get(floor, "rms"), &usual))
        return refuse(j, p->name, "the reference's layers are of the wrong shape or have no floor");
    LAT_TRY(need(j, j->trace, p->name, point, LAT_DTYPE_F32, p->tokens, truth->shape[1], &got));
    for (size_t i = 0; i < truth->elements; i++) {
        double t = lat_parity_f32(truth, i), d = lat_parity_f32(got, i) - t;
        squares += d * d;
        size += t * t;
    }
    double rms = sqrt(squares / (double)truth->elements), least = sqrt(size / (double)truth->elements) * 0x1p-24;
    *ratio = isfinite(rms) ? rms / fmax(fmax(usual, least), 1e-30) : INFINITY;
    return LAT_OK;
}

// The first point, in the order of computation, whose output stands out from what rounding explains.
static enum lat_status judge_layers(const struct judge *j, const struct pair *p, struct lat_parity_prompt *out)
{
    char point[24];
    double ratio = 0;
    for (int i = -1; !out->first_layer[0]; i++) {
        snprintf(point, sizeof point, i < 0 ? "embed" : "layers.%d", i);
        LAT_TRY(point_ratio(j, p, point, &ratio));
        if (ratio < 0)
            break;
        out->has_layers = true;
        if (ratio > j->limits->layer_ratio) {
            memcpy(out->first_layer, point, sizeof point);
            out->first_layer_ratio = ratio;
        }
    }
    if (!out->has_layers || out->first_layer[0])
        return LAT_OK;
    LAT_TRY(point_ratio(j, p, "norm", &ratio));
    bool norm = ratio > j->limits->layer_ratio, logits = out->max_ratio > j->limits->layer_ratio;
    if (norm || logits)
        snprintf(out->first_layer, sizeof out->first_layer, norm ? "norm" : "logits");
    out->first_layer_ratio = norm ? ratio : logits ? out->max_ratio : 0;
    return LAT_OK;
}

static enum lat_status judge_prompt(const struct judge *j, const char *name, struct lat_parity_prompt *out)
{
    struct pair p;
    struct sums s = { 0 };
    LAT_TRY(open_pair(j, name, &p));
    LAT_TRY(set_floor(j, &p, out));
    compare_rows(&p, &s);
    out->positions = p.tokens;
    out->full_positions = p.truth->shape[0];
    out->max = s.max;
    out->rms = sqrt(s.squares / (double)s.entries);
    out->max_ratio = out->max / out->floor_max;
    out->rms_ratio = out->rms / out->floor_rms;
    out->mean_kl = s.kl / (double)s.rows;
    out->top1_same = s.top1;
    LAT_TRY(judge_greedy(j, &p, out));
    LAT_TRY(judge_layers(j, &p, out));
    out->passed = out->max_ratio <= j->limits->max_ratio && out->rms_ratio <= j->limits->rms_ratio
               && (out->greedy_count == 0 || out->greedy_excused);
    return LAT_OK;
}

// Floors of the reference as a whole: the largest of the maxima, and the root mean square of the root mean squares.
static enum lat_status pool_floors(struct judge *j, size_t count)
{
    double squares = 0;
    for (size_t k = 0; k < count; k++) {
        char name[32];
        double max, rms;
        snprintf(name, sizeof name, "p%zu", k);
        if (!prompt_floor(j, name, &max, &rms))
            return refuse(j, name, "the reference does not say how far Hugging Face is from the truth");
        j->largest_max = fmax(j->largest_max, max);
        squares += rms * rms;
    }
    j->pooled_rms = sqrt(squares / (double)count);
    return LAT_OK;
}

static enum lat_status parse_metadata(const struct lat_st_file *file, const char *key, struct lat_json *doc,
                                      struct lat_error *error)
{
    const char *text = lat_st_metadata(file, key);
    if (!text)
        return lat_error_set(error, LAT_NOT_FOUND, "no %s in the metadata", key);
    return lat_json_parse(doc, text, strlen(text), key, error);
}

// Files that both were made from must have the same digests: else the two speak of different models.
static enum lat_status check_same_model(const struct judge *j)
{
    struct lat_json want = { 0 }, got = { 0 };
    size_t common = 0;
    LAT_TRY(parse_metadata(j->reference, "model_sha256", &want, j->error));
    *j->trace_at_fault = true;
    enum lat_status status = parse_metadata(j->trace, "model_sha256", &got, j->error);
    const struct lat_json_node *first = status == LAT_OK && want.root->kind == LAT_JSON_OBJECT ? want.root->u.child : NULL;
    for (const struct lat_json_node *n = first; n && status == LAT_OK; n = n->next) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)(n->key_length < 255 ? n->key_length : 255), n->key);
        const struct lat_json_node *other = lat_json_get(got.root, name);
        if (!other)
            continue;
        common++;
        if (other->kind != LAT_JSON_STRING || n->kind != LAT_JSON_STRING || other->count != n->count
            || memcmp(other->u.string, n->u.string, n->count) != 0)
            status = lat_error_set(j->error, LAT_FORMAT, "%s is another file for the trace than for the reference", name);
    }
    if (status == LAT_OK && common < 2)
        status = lat_error_set(j->error, LAT_FORMAT, "reference and trace do not say that they are of the same model");
    *j->trace_at_fault = status != LAT_OK;
    lat_json_release(&want);
    lat_json_release(&got);
    return status;
}

static size_t count_prompts(const struct lat_st_file *reference)
{
    char name[32];
    size_t count = 0;
    for (;; count++) {
        snprintf(name, sizeof name, "p%zu.input_ids", count);
        if (!lat_st_find(reference, name))
            return count;
    }
}

static enum lat_status judge_all(struct judge *j, struct lat_parity_result *result)
{
    const char *format = lat_st_metadata(j->reference, "format"), *said = lat_st_metadata(j->reference, "prompts");
    size_t count = count_prompts(j->reference);
    char text[24];
    snprintf(text, sizeof text, "%zu", count);
    if (!format || strcmp(format, "lattice-reference-1") != 0)
        return lat_error_set(j->error, LAT_FORMAT, "the first file is not a reference (metadata format)");
    if (count == 0 || !said || strcmp(said, text) != 0)
        return lat_error_set(j->error, LAT_FORMAT, "the reference holds %zu prompts and says that it holds %.20s", count,
                             said ? said : "none");
    LAT_TRY(check_same_model(j));
    LAT_TRY(parse_metadata(j->reference, "floor", &j->floors, j->error));
    LAT_TRY(parse_metadata(j->reference, "layer_floor", &j->layer_floors, j->error));
    LAT_TRY(pool_floors(j, count));
    result->prompts = lat_mem_new(count, sizeof *result->prompts);
    if (!result->prompts)
        return lat_error_memory(j->error, "the result");
    result->passed = true;
    for (; result->count < count; result->count++) {
        struct lat_parity_prompt *prompt = &result->prompts[result->count];
        snprintf(prompt->name, sizeof prompt->name, "p%zu", result->count);
        LAT_TRY(judge_prompt(j, prompt->name, prompt));
        result->positions += prompt->positions;
        result->passed = result->passed && prompt->passed;
    }
    return LAT_OK;
}

static enum lat_status hash_reference(const char *path, char hex[LAT_SHA256_HEX_SIZE], struct lat_error *error)
{
    struct lat_file_map map;
    struct lat_sha256 hash;
    LAT_TRY(lat_file_map_open(&map, path, error));
    lat_sha256_init(&hash);
    lat_sha256_add(&hash, map.bytes, map.length);
    lat_sha256_hex(&hash, hex);
    lat_file_map_close(&map);
    return LAT_OK;
}

enum lat_status lat_parity_compare(struct lat_parity_result *result, const char *reference, const char *trace,
                                   const struct lat_parity_limits *limits, struct lat_error *error)
{
    *result = (struct lat_parity_result){ 0 };
    struct lat_st_file *ref = NULL, *got = NULL;
    bool at_fault = false;
    struct judge j = { .limits = limits, .trace_at_fault = &at_fault, .error = error };
    enum lat_status status = hash_reference(reference, result->reference_sha256, error);
    if (status == LAT_OK)
        status = lat_st_open(&ref, reference, error);
    if (status == LAT_OK) {
        status = lat_st_open(&got, trace, error);
        at_fault = status != LAT_OK;
    }
    if (status == LAT_OK) {
        j.reference = ref;
        j.trace = got;
        status = judge_all(&j, result);
    }
    lat_json_release(&j.floors);
    lat_json_release(&j.layer_floors);
    lat_st_close(ref);
    lat_st_close(got);
    if (status != LAT_OK)
        lat_parity_result_release(result);
    result->trace_at_fault = status != LAT_OK && at_fault;
    return status;
}

void lat_parity_result_release(struct lat_parity_result *result)
{
    lat_mem_free(result->prompts);
    *result = (struct lat_parity_result){ 0 };
}
