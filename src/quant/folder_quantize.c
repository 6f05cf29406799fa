// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "quant/folder_quantize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"
#include "quant/folder_output.h"
#include "quant/json_edit.h"
#include "quant/pack.h"
#include "quant/transform.h"

enum { BLOCK_FLOATS = 4 << 20, FORGET_BYTES = 32 << 20 };

// One matrix on its way: where it comes from, and which tensors of the output it becomes.
struct job {
    struct lat_source source;
    size_t spec;       // of the output: packed, scale and shape in a row when bits is set, else the tensor itself
    size_t first;      // element of that tensor, when several matrices share it
    int bits;          // 0: kept as floats
};

struct quantizer {
    const struct lat_quantize_options *options;
    struct lat_quantize_report *report;
    struct lat_error *error;
    const char *in;
    struct lat_file_map config; // config.json
    size_t hidden;
    bool tied, untie;
    bool experts_fit; // all experts can be packed; transformers does not load packed and plain ones together
    struct lat_st_folder *folder;
    struct lat_rotation rotation;
    double *probe_x, *probe_rotated;
    const struct lat_st_tensor *embedding, *final_norm;
    struct job *jobs;
    size_t job_count, job_capacity;
    struct lat_output *output;
    struct lat_pool *pool;
    uint64_t done, total;
    double error_squares, squares;
    struct lat_buf ignored; // names of matrices that stay, as a JSON list's inside
};

static struct lat_pack pack_of(const struct quantizer *q, int bits, size_t cols)
{
    return (struct lat_pack){ .bits = bits, .group = q->options->group ? q->options->group : cols, .search = q->options->search };
}

static enum lat_status add_job(struct quantizer *q, const struct job *job)
{
    if (q->job_count == q->job_capacity) {
        size_t more = q->job_capacity ? 2 * q->job_capacity : 256;
        struct job *grown = lat_mem_grow(q->jobs, more, sizeof *grown);
        if (!grown)
            return lat_error_memory(q->error, "the plan");
        q->jobs = grown;
        q->job_capacity = more;
    }
    q->jobs[q->job_count++] = *job;
    q->total += (uint64_t)job->source.rows * job->source.cols;
    return LAT_OK;
}

static void note(struct quantizer *q, const char *name, const char *what)
{
    lat_buf_addf(&q->report->notes, "%s: %s\n", name, what);
}

// The three tensors of a packed matrix; `base` is its name without ".weight".
static enum lat_status add_packed(struct quantizer *q, struct job *job, const char *base)
{
    char name[320];
    size_t rows = job->source.rows, cols = job->source.cols, per_word = 32 / (size_t)job->bits;
    size_t groups = cols / pack_of(q, job->bits, cols).group;
    snprintf(name, sizeof name, "%s.weight_packed", base);
    LAT_TRY(lat_output_add(q->output, name, LAT_DTYPE_I32, 2, (const size_t[]){ rows, cols / per_word }, &job->spec, q->error));
    snprintf(name, sizeof name, "%s.weight_scale", base);
    size_t unused;
    LAT_TRY(lat_output_add(q->output, name, LAT_DTYPE_BF16, 2, (const size_t[]){ rows, groups }, &unused, q->error));
    snprintf(name, sizeof name, "%s.weight_shape", base);
    LAT_TRY(lat_output_add(q->output, name, LAT_DTYPE_I64, 1, (const size_t[]){ 2 }, &unused, q->error));
    q->report->quantized++;
    return add_job(q, job);
}

// The type of a tensor that stays floats: what was rotated is f32 when it is small or asked for, else as it was.
static enum lat_dtype kept_dtype(const struct quantizer *q, const struct lat_st_tensor *t, const struct lat_source *s)
{
    bool changed = s->rotation && s->role != LAT_ROLE_OTHER && s->role != LAT_ROLE_NORM;
    if (!lat_dtype_is_float(t->dtype) || !changed)
        return t->dtype;
    if (q->options->bits == 32)
        return LAT_DTYPE_F32;
    return q->options->bits == 16 || s->role == LAT_ROLE_EMBEDDING ? t->dtype : LAT_DTYPE_F32;
}

// A tensor as floats: one job a matrix, all into one tensor of the output.
static enum lat_status add_kept(struct quantizer *q, const struct lat_st_tensor *t, struct job *job, size_t matrices,
                                const char *name)
{
    LAT_TRY(lat_output_add(q->output, name, kept_dtype(q, t, &job->source), t->rank, t->shape, &job->spec, q->error));
    q->report->kept++;
    for (size_t i = 0; i < matrices; i++) {
        job->first = i * job->source.rows * job->source.cols;
        job->source.first = job->first;
        LAT_TRY(add_job(q, job));
    }
    return LAT_OK;
}

static enum lat_status add_head(struct quantizer *q, const struct lat_st_tensor *t, struct job *job)
{
    int bits = q->options->bits > 8 ? 16 : q->options->head_bits;
    struct lat_pack pack = pack_of(q, bits == 16 ? 8 : bits, job->source.cols);
    if (bits < 16 && !lat_pack_fits(&pack, job->source.cols)) {
        note(q, "lm_head", "its columns are no whole groups: kept as it is");
        bits = 16;
    }
    if (bits < 16) {
        job->bits = bits;
        return add_packed(q, job, "lm_head");
    }
    lat_buf_add_text(&q->ignored, ", \"re:.*lm_head$\"");
    return add_kept(q, t, job, 1, "lm_head.weight");
}

// Experts of one tensor become the matrices of each expert, the only layout in which packed experts are known.
static enum lat_status add_experts(struct quantizer *q, const struct lat_st_tensor *t, struct job *job, bool gate_up)
{
    size_t rows = t->shape[1] / (gate_up ? 2 : 1), cols = t->shape[2];
    const char *const parts[] = { gate_up ? "gate_proj" : "down_proj", "up_proj" };
    char base[300];
    job->source.rows = rows;
    job->source.cols = cols;
    for (size_t e = 0; e < t->shape[0]; e++)
        for (size_t k = 0; k < (gate_up ? 2u : 1u); k++) {
            job->source.first = (e * t->shape[1] + k * rows) * cols;
            snprintf(base, sizeof base, "%.*s.%zu.%s", (int)(strrchr(t->name, '.') - t->name), t->name, e, parts[k]);
            LAT_TRY(add_packed(q, job, base));
        }
    return LAT_OK;
}

static const char experts_mark[] = ".mlp.experts.";
static bool is_expert(const char *name) { return strstr(name, experts_mark) != NULL; }

// Every expert's matrices of one part (gate and up, or down) go into the tensor `to`.
static enum lat_status add_merged_jobs(struct quantizer *q, const char *stem, const size_t *to, struct job *job, bool gate)
{
    static const char *const gate_up[] = { "gate_proj", "up_proj" }, *const down[] = { "down_proj" };
    size_t parts = gate ? 2 : 1;
    char name[320];
    for (size_t i = 0; i < to[0] * parts; i++) {
        snprintf(name, sizeof name, "%s.%zu.%s.weight", stem, i / parts, (gate ? gate_up : down)[i % parts]);
        const struct lat_st_tensor *t = lat_st_folder_find(q->folder, name);
        if (!t || t->rank != 2 || t->shape[0] != job->source.rows || t->shape[1] != job->source.cols)
            return lat_error_set(q->error, LAT_FORMAT, "tensor %s is missing or unlike that of expert 0", name);
        job->source.tensor = t;
        job->first = i * t->elements;
        LAT_TRY(add_job(q, job));
    }
    return LAT_OK;
}

// Experts in a tensor each that are not packed become one tensor again: beside packed matrices transformers reads plain
// experts in that layout only. All is done at expert 0; the others come along.
static enum lat_status add_merged_experts(struct quantizer *q, const struct lat_st_tensor *t, struct job *job)
{
    const char *tail = strstr(t->name, experts_mark) + strlen(experts_mark);
    bool gate = strcmp(tail, "0.gate_proj.weight") == 0;
    char stem[256], name[320];
    if (!gate && strcmp(tail, "0.down_proj.weight") != 0)
        return LAT_OK;
    size_t shape[3] = { 0, t->shape[0] * (gate ? 2 : 1), t->shape[1] };
    snprintf(stem, sizeof stem, "%.*s", (int)(tail - t->name - 1), t->name);
    do
        snprintf(name, sizeof name, "%s.%zu.down_proj.weight", stem, ++shape[0]);
    while (lat_st_folder_find(q->folder, name));
    snprintf(name, sizeof name, "%s.%s", stem, gate ? "gate_up_proj" : "down_proj");
    LAT_TRY(lat_output_add(q->output, name, kept_dtype(q, t, &job->source), 3, shape, &job->spec, q->error));
    q->report->kept++;
    note(q, name, "not all experts' columns are whole groups: kept as they are");
    lat_buf_addf(&q->ignored, ", \"%s\"", name);
    return add_merged_jobs(q, stem, shape, job, gate);
}

static enum lat_status add_linear(struct quantizer *q, const struct lat_st_tensor *t, const struct lat_tensor_role *role,
                                  struct job *job)
{
    size_t cols = t->shape[t->rank - 1], matrices = role->experts ? t->shape[0] : 1;
    struct lat_pack pack = pack_of(q, q->options->bits, cols);
    bool fits = lat_pack_fits(&pack, cols), expert = is_expert(t->name);
    char base[300];
    snprintf(base, sizeof base, "%.*s", (int)(strlen(t->name) - (role->experts ? 0 : strlen(".weight"))), t->name);
    if (q->options->bits <= 8 && fits && (!expert || q->experts_fit)) {
        job->bits = q->options->bits;
        return role->experts ? add_experts(q, t, job, role->gate_up) : add_packed(q, job, base);
    }
    if (q->options->bits <= 8 && expert && !role->experts)
        return add_merged_experts(q, t, job);
    if (q->options->bits <= 8) {
        note(q, t->name, fits ? "not all experts' columns are whole groups: kept as it is"
                              : "its columns are no whole groups: kept as it is");
        lat_buf_addf(&q->ignored, ", \"%s\"", base);
    }
    return add_kept(q, t, job, matrices, t->name);
}

static enum lat_status plan_tensor(struct quantizer *q, const struct lat_st_tensor *t)
{
    struct lat_tensor_role role;
    lat_tensor_role_find(&role, t->name);
    bool head = strstr(t->name, "lm_head.weight") != NULL, rotate = q->options->rotate;
    if ((role.role == LAT_ROLE_PREDICTION && rotate) || (head && q->tied)) {
        q->report->left_out++;
        note(q, t->name, head ? "left out: the head is the embedding" : "left out: multi-token prediction cannot follow a rotation");
        return LAT_OK;
    }
    size_t rank = (size_t)t->rank, cols = rank ? t->shape[rank - 1] : 1;
    if (role.role == LAT_ROLE_OTHER || role.role == LAT_ROLE_PREDICTION || rank == 0 || t->elements == 0) {
        struct job copy = { .source = { .tensor = t, .rows = 1, .cols = t->elements } };
        LAT_TRY(lat_output_add(q->output, t->name, t->dtype, t->rank, t->shape, &copy.spec, q->error));
        q->report->kept++;
        return add_job(q, &copy);
    }
    size_t matrices = role.experts ? t->shape[0] : 1;
    struct job job = { .source = { .tensor = t, .rows = t->elements / cols / matrices, .cols = cols, .role = role.role } };
    if (rotate) {
        job.source.rotation = &q->rotation;
        job.source.norm = head ? q->final_norm : role.norm[0] ? lat_st_folder_find(q->folder, role.norm) : NULL;
        if (role.role == LAT_ROLE_READER && !job.source.norm)
            return lat_error_set(q->error, LAT_NOT_FOUND, "tensor %s: the norm that it reads is missing", t->name);
    }
    if (head)
        return add_head(q, t, &job);
    return role.linear ? add_linear(q, t, &role, &job) : add_kept(q, t, &job, matrices, t->name);
}

static enum lat_status look_around(struct quantizer *q)
{
    q->experts_fit = q->options->bits <= 8;
    for (size_t i = 0; i < lat_st_folder_count(q->folder); i++) {
        const struct lat_st_tensor *t = lat_st_folder_at(q->folder, i);
        struct lat_tensor_role role;
        lat_tensor_role_find(&role, t->name);
        if (role.role == LAT_ROLE_EMBEDDING)
            q->embedding = t;
        if (role.role == LAT_ROLE_NORM && !strstr(t->name, "layers."))
            q->final_norm = t;
        if (role.linear && is_expert(t->name) && q->experts_fit) {
            struct lat_pack pack = pack_of(q, q->options->bits, t->shape[t->rank - 1]);
            q->experts_fit = lat_pack_fits(&pack, t->shape[t->rank - 1]);
        }
    }
    if (!q->embedding || !q->final_norm)
        return lat_error_set(q->error, LAT_NOT_FOUND, "%s: the embedding or the final norm is missing", q->in);
    return LAT_OK;
}

static enum lat_status plan(struct quantizer *q)
{
    LAT_TRY(look_around(q));
    q->untie = q->tied && (q->options->rotate || (q->options->bits <= 8 && q->options->head_bits < 16));
    for (size_t i = 0; i < lat_st_folder_count(q->folder); i++) {
        const struct lat_st_tensor *t = lat_st_folder_at(q->folder, i);
        q->report->bytes_before += t->bytes;
        LAT_TRY(plan_tensor(q, t));
    }
    if (!q->untie)
        return LAT_OK;
    struct job head = { .source = { .tensor = q->embedding, .rows = q->embedding->shape[0], .cols = q->embedding->shape[1],
                                    .role = LAT_ROLE_READER } };
    if (q->options->rotate) {
        head.source.rotation = &q->rotation;
        head.source.norm = q->final_norm;
    }
    return add_head(q, q->embedding, &head);
}

// ---- the work: all threads run over the rows (or columns) of a block together

struct block {
    struct quantizer *q;
    const struct job *job;
    size_t first, rows; // rows of the matrix
    float *values;      // [rows][cols], or the whole matrix of a writer
    double *scratch;    // [threads][2 * longest]
    size_t scratch_doubles;
    uint32_t *words;
    uint16_t *scales;
    double *row_errors; // [rows]
    enum lat_status status[LAT_POOL_THREADS_MAX];
    struct lat_error errors[LAT_POOL_THREADS_MAX];
};

static struct lat_probe probe_of(const struct quantizer *q)
{
    return (struct lat_probe){ q->probe_x, q->probe_rotated };
}

static void load_rows(void *context, int thread, int threads)
{
    struct block *b = context;
    const struct lat_source *s = &b->job->source;
    struct lat_probe probe = probe_of(b->q);
    size_t begin, end;
    lat_pool_share(b->rows, 1, thread, threads, &begin, &end);
    for (size_t r = begin; r < end && b->status[thread] == LAT_OK; r++)
        b->status[thread] = lat_source_row(s, b->first + r, &probe, b->values + r * s->cols,
                                           b->scratch + (size_t)thread * b->scratch_doubles, &b->errors[thread]);
}

static void load_columns(void *context, int thread, int threads)
{
    struct block *b = context;
    struct lat_probe probe = probe_of(b->q);
    size_t begin, end;
    lat_pool_share(b->job->source.cols, 16, thread, threads, &begin, &end);
    b->status[thread] = lat_source_columns(&b->job->source, begin, end, &probe, b->values,
                                           b->scratch + (size_t)thread * b->scratch_doubles, &b->errors[thread]);
}

static void pack_rows(void *context, int thread, int threads)
{
    struct block *b = context;
    size_t cols = b->job->source.cols, begin, end;
    struct lat_pack pack = pack_of(b->q, b->job->bits, cols);
    lat_pool_share(b->rows, 1, thread, threads, &begin, &end);
    for (size_t r = begin; r < end; r++)
        b->row_errors[r] = lat_pack_row(&pack, b->values + r * cols, cols, b->words + r * (cols * (size_t)pack.bits / 32),
                                        b->scales + r * (cols / pack.group));
}

static enum lat_status run_all(struct block *b, lat_pool_fn *fn)
{
    memset(b->status, 0, sizeof b->status);
    lat_pool_run(b->q->pool, fn, b);
    for (int t = 0; t < lat_pool_threads(b->q->pool); t++)
        if (b->status[t] != LAT_OK)
            return lat_error_set(b->q->error, b->status[t], "%s", b->errors[t].text);
    return LAT_OK;
}

static enum lat_status put_packed(struct block *b, const float *values)
{
    struct quantizer *q = b->q;
    const struct job *j = b->job;
    size_t cols = j->source.cols, words = cols * (size_t)j->bits / 32, groups = cols / pack_of(q, j->bits, cols).group;
    b->values = (float *)(uintptr_t)values;
    LAT_TRY(run_all(b, pack_rows));
    for (size_t r = 0; r < b->rows; r++)
        q->error_squares += b->row_errors[r];
    for (size_t i = 0; i < b->rows * cols; i++)
        q->squares += (double)values[i] * (double)values[i];
    LAT_TRY(lat_output_put(q->output, j->spec, b->first * words, b->words, b->rows * words, q->error));
    LAT_TRY(lat_output_put(q->output, j->spec + 1, b->first * groups, b->scales, b->rows * groups, q->error));
    if (b->first + b->rows < j->source.rows)
        return LAT_OK;
    int64_t shape[2] = { (int64_t)j->source.rows, (int64_t)cols };
    return lat_output_put(q->output, j->spec + 2, 0, shape, 2, q->error);
}

// Floats in the output's type, made in place: a narrower value never overtakes the ones still to be read.
static enum lat_status put_floats(struct block *b, float *values)
{
    const struct job *j = b->job;
    size_t count = b->rows * j->source.cols, first = j->first + b->first * j->source.cols;
    enum lat_dtype dtype = lat_output_dtype(b->q->output, j->spec);
    uint16_t *narrow = (uint16_t *)(void *)values;
    for (size_t i = 0; i < count && dtype != LAT_DTYPE_F32; i++) {
        float value = values[i];
        uint16_t half = dtype == LAT_DTYPE_BF16 ? lat_f32_to_bf16(value) : lat_f32_to_f16(value);
        memcpy(narrow + i, &half, sizeof half);
    }
    return lat_output_put(b->q->output, j->spec, first, values, count, b->q->error);
}

static enum lat_status step_done(struct block *b)
{
    struct quantizer *q = b->q;
    const struct lat_source *s = &b->job->source;
    size_t bytes = lat_dtype_bits(s->tensor->dtype) / 8;
    q->done += (uint64_t)b->rows * s->cols;
    if (s->role != LAT_ROLE_WRITER || !s->rotation)
        lat_file_map_forget(s->tensor->data + (s->first + b->first * s->cols) * bytes, b->rows * s->cols * bytes);
    if (q->options->progress)
        q->options->progress(q->options->context, q->done, q->total);
    if (q->options->cancel && *q->options->cancel)
        return lat_error_set(q->error, LAT_CANCELLED, "cancelled");
    return LAT_OK;
}

static enum lat_status run_blocks(struct block *b, float *whole, size_t block_rows)
{
    const struct lat_source *s = &b->job->source;
    float *own = b->values;
    for (b->first = 0; b->first < s->rows; b->first += b->rows) {
        b->rows = s->rows - b->first < block_rows ? s->rows - b->first : block_rows;
        b->values = own;
        if (!whole)
            LAT_TRY(run_all(b, load_rows));
        float *values = whole ? whole + b->first * s->cols : own;
        LAT_TRY(b->job->bits ? put_packed(b, values) : put_floats(b, values));
        LAT_TRY(step_done(b));
    }
    return LAT_OK;
}

static enum lat_status transform_and_put(struct block *b, size_t block_rows)
{
    const struct lat_source *s = &b->job->source;
    bool columns = s->role == LAT_ROLE_WRITER && s->rotation;
    if (!columns)
        return run_blocks(b, NULL, block_rows);
    float *own = b->values, *whole = lat_mem_new(s->rows, s->cols * sizeof *whole);
    if (!whole)
        return lat_error_memory(b->q->error, s->tensor->name);
    b->values = whole;
    enum lat_status status = run_all(b, load_columns);
    lat_file_map_forget(s->tensor->data, s->tensor->bytes);
    b->values = own;
    if (status == LAT_OK)
        status = run_blocks(b, whole, block_rows);
    lat_mem_free(whole);
    return status;
}

static enum lat_status run_matrix(struct quantizer *q, const struct job *job)
{
    const struct lat_source *s = &job->source;
    size_t block_rows = BLOCK_FLOATS / (s->cols ? s->cols : 1), longest = s->cols > s->rows ? s->cols : s->rows;
    if (block_rows < 1)
        block_rows = 1;
    if (block_rows > s->rows)
        block_rows = s->rows;
    struct block *b = lat_mem_new(1, sizeof *b);
    if (!b)
        return lat_error_memory(q->error, "a block");
    *b = (struct block){ .q = q, .job = job, .scratch_doubles = 2 * longest };
    b->values = lat_mem_new(block_rows, s->cols * sizeof(float));
    b->scratch = lat_mem_new((size_t)lat_pool_threads(q->pool), b->scratch_doubles * sizeof(double));
    b->words = lat_mem_new(block_rows, (s->cols / 4 + 1) * sizeof(uint32_t));
    b->scales = lat_mem_new(block_rows, (s->cols + 1) * sizeof(uint16_t));
    b->row_errors = lat_mem_new(block_rows, sizeof(double));
    float *values = b->values;
    enum lat_status status = b->values && b->scratch && b->words && b->scales && b->row_errors
                               ? transform_and_put(b, block_rows) : lat_error_memory(q->error, s->tensor->name);
    void *all[] = { values, b->scratch, b->words, b->scales, b->row_errors, b };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        lat_mem_free(all[i]);
    return status;
}

// Bytes as they are, of any type. What a text model does not use may hold anything.
static enum lat_status run_copy(struct quantizer *q, const struct job *job)
{
    const struct lat_st_tensor *t = job->source.tensor;
    size_t size = lat_dtype_bits(t->dtype) / 8, step = FORGET_BYTES / (size ? size : 1);
    bool used = lat_dtype_is_float(t->dtype) && !strstr(t->name, "visual.") && !strstr(t->name, "mtp.");
    for (size_t i = 0; used && i < t->elements; i++)
        if (!isfinite(lat_dtype_load(t->dtype, t->data, i)))
            return lat_error_set(q->error, LAT_NOT_FINITE, "tensor %s: element %zu is not finite", t->name, i);
    for (size_t at = 0; at < t->elements; at += step) {
        size_t now = t->elements - at < step ? t->elements - at : step;
        LAT_TRY(lat_output_put(q->output, job->spec, at, t->data + at * size, now, q->error));
        lat_file_map_forget(t->data + at * size, now * size);
        q->done += now;
        if (q->options->progress)
            q->options->progress(q->options->context, q->done, q->total);
    }
    return LAT_OK;
}

static enum lat_status run_jobs(struct quantizer *q)
{
    for (size_t i = 0; i < q->job_count; i++) {
        const struct job *job = &q->jobs[i];
        bool plain = job->source.role == LAT_ROLE_OTHER && !job->bits;
        LAT_TRY(plain ? run_copy(q, job) : run_matrix(q, job));
    }
    return LAT_OK;
}

// ---- config.json

static void add_group(struct lat_buf *out, const char *name, const char *target, int bits, size_t group)
{
    lat_buf_addf(out, "\"%s\": {\"targets\": [\"%s\"], \"weights\": {\"num_bits\": %d, \"type\": \"int\", \"symmetric\": true, ", name,
                 target, bits);
    if (group)
        lat_buf_addf(out, "\"strategy\": \"group\", \"group_size\": %zu, ", group);
    else
        lat_buf_add_text(out, "\"strategy\": \"channel\", ");
    lat_buf_add_text(out, "\"dynamic\": false}}");
}

static void quantization_config(const struct quantizer *q, struct lat_buf *out)
{
    const struct lat_quantize_options *o = q->options;
    lat_buf_add_text(out, "{\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\", "
                          "\"quantization_status\": \"compressed\", \"config_groups\": {");
    add_group(out, "group_0", "Linear", o->bits, o->group);
    if (o->head_bits < 16 && o->head_bits != o->bits) {
        lat_buf_add_text(out, ", ");
        add_group(out, "group_1", "re:.*lm_head$", o->head_bits, o->group);
    }
    lat_buf_addf(out, "}, \"ignore\": [\"re:.*in_proj_a$\", \"re:.*in_proj_b$\", \"re:.*mlp[.]gate$\", \"re:.*shared_expert_gate$\", "
                      "\"re:.*visual.*\", \"re:.*mtp.*\"%s]}", q->ignored.bytes ? q->ignored.bytes : "");
}

static enum lat_status write_config(struct quantizer *q, const struct lat_json_node *root)
{
    struct lat_buf text, quantization;
    char seed[24];
    lat_buf_init(&text, 1 << 24);
    lat_buf_init(&quantization, 1 << 24);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)q->options->seed);
    quantization_config(q, &quantization);
    struct lat_json_change changes[6];
    size_t count = 0;
    if (q->options->bits <= 8)
        changes[count++] = (struct lat_json_change){ NULL, "quantization_config", quantization.bytes };
    if (q->untie) {
        changes[count++] = (struct lat_json_change){ NULL, "tie_word_embeddings", "false" };
        changes[count++] = (struct lat_json_change){ "text_config", "tie_word_embeddings", "false" };
    }
    if (q->options->rotate) {
        changes[count++] = (struct lat_json_change){ NULL, "quarot_rotation_seed", seed };
        changes[count++] = (struct lat_json_change){ "text_config", "quarot_rotation_seed", seed };
    }
    lat_json_edit(&text, root, (const char *)q->config.bytes, q->config.length, changes, count);
    enum lat_status status = text.failed || quantization.failed || q->ignored.failed
                               ? lat_error_memory(q->error, "config.json")
                               : lat_output_write_file(q->output, "config.json", text.bytes, text.length, q->error);
    lat_buf_release(&text);
    lat_buf_release(&quantization);
    return status;
}

// The folded norms under their own names, f32: what moves an adapter to the rotated base.
static enum lat_status write_sidecar(struct quantizer *q)
{
    struct lat_sidecar *side = NULL;
    if (!q->options->rotate)
        return LAT_OK;
    LAT_TRY(lat_sidecar_open(&side, q->output, q->error));
    for (size_t i = 0; i < lat_st_folder_count(q->folder); i++) {
        const struct lat_st_tensor *t = lat_st_folder_at(q->folder, i);
        struct lat_tensor_role role;
        lat_tensor_role_find(&role, t->name);
        if (role.role == LAT_ROLE_NORM && lat_sidecar_add(side, t, q->error) != LAT_OK) {
            lat_sidecar_abort(side);
            return q->error ? q->error->status : LAT_MEMORY;
        }
    }
    return lat_sidecar_commit(side, q->error);
}

static enum lat_status make_rotation(struct quantizer *q)
{
    struct lat_rng rng;
    if (!q->options->rotate)
        return LAT_OK;
    LAT_TRY(lat_rotation_init(&q->rotation, q->hidden, q->options->seed, q->error));
    q->probe_x = lat_mem_new(q->hidden, sizeof(double));
    q->probe_rotated = lat_mem_new(2 * q->hidden, sizeof(double));
    if (!q->probe_x || !q->probe_rotated)
        return lat_error_memory(q->error, "a rotation");
    lat_rng_init(&rng, ~q->options->seed);
    for (size_t i = 0; i < q->hidden; i++)
        q->probe_rotated[i] = q->probe_x[i] = 2 * lat_rng_uniform(&rng) - 1;
    lat_rotation_apply(&q->rotation, q->probe_rotated, q->probe_rotated + q->hidden);
    return LAT_OK;
}

static enum lat_status run_with_config(struct quantizer *q, const char *out, const struct lat_json_node *root)
{
    const struct lat_json_node *text = lat_json_get(root, "text_config");
    if (lat_json_get(root, "quantization_config") || lat_json_get(text, "quantization_config"))
        return lat_error_set(q->error, LAT_ARGUMENT, "%s: is quantised already", q->in);
    if ((lat_json_get(root, "quarot_rotation_seed") || lat_json_get(text, "quarot_rotation_seed")) && q->options->rotate)
        return lat_error_set(q->error, LAT_ARGUMENT, "%s: is rotated already", q->in);
    LAT_TRY(make_rotation(q));
    LAT_TRY(lat_output_new(&q->output, q->in, out, q->options->force, q->error));
    LAT_TRY(plan(q));
    if (q->report->notes.failed)
        return lat_error_memory(q->error, "the notes");
    q->report->bytes_after = lat_output_bytes(q->output);
    if (q->options->dry_run)
        return LAT_OK;
    LAT_TRY(lat_pool_new(&q->pool, q->options->threads ? q->options->threads : lat_pool_processors(), q->error));
    LAT_TRY(lat_output_begin(q->output, q->error));
    LAT_TRY(run_jobs(q));
    LAT_TRY(write_config(q, root));
    LAT_TRY(write_sidecar(q));
    LAT_TRY(lat_output_commit(q->output, q->error));
    q->report->relative_error = q->squares > 0 ? sqrt(q->error_squares / q->squares) : 0;
    return LAT_OK;
}

static enum lat_status run(struct quantizer *q, const char *out)
{
    char *path = lat_file_path_join(q->in, "config.json");
    struct lat_json doc;
    enum lat_status status = path ? lat_file_map_open(&q->config, path, q->error) : lat_error_memory(q->error, "a path");
    if (status == LAT_OK)
        status = lat_json_parse(&doc, (const char *)q->config.bytes, q->config.length, path, q->error);
    if (status == LAT_OK) {
        status = lat_st_folder_open(&q->folder, q->in, q->error);
        if (status == LAT_OK)
            status = run_with_config(q, out, doc.root);
        lat_json_release(&doc);
    }
    lat_file_map_close(&q->config);
    lat_mem_free(path);
    return status;
}

static enum lat_status check_options(const struct lat_quantize_options *o, struct lat_error *error)
{
    bool floats = o->bits == 16 || o->bits == 32;
    if (o->bits != 4 && o->bits != 8 && !floats)
        return lat_error_set(error, LAT_ARGUMENT, "bits: %d is neither 4 nor 8", o->bits);
    if (floats && !o->rotate)
        return lat_error_set(error, LAT_ARGUMENT, "bits: %d is for a rotation without quantising only", o->bits);
    if (o->head_bits != 4 && o->head_bits != 8 && o->head_bits != 16)
        return lat_error_set(error, LAT_ARGUMENT, "head bits: %d is none of 4, 8, 16", o->head_bits);
    if (o->group != 0 && o->group != 32 && o->group != 64 && o->group != 128)
        return lat_error_set(error, LAT_ARGUMENT, "group: %zu is none of 32, 64, 128", o->group);
    return LAT_OK;
}

enum lat_status lat_folder_quantize(const char *in, const char *out, size_t hidden_size, bool tied,
                                    const struct lat_quantize_options *options, struct lat_quantize_report *report,
                                    struct lat_error *error)
{
    *report = (struct lat_quantize_report){ 0 };
    lat_buf_init(&report->notes, 1 << 24);
    LAT_TRY(check_options(options, error));
    struct quantizer q = { .options = options, .report = report, .error = error, .in = in, .hidden = hidden_size, .tied = tied };
    lat_buf_init(&q.ignored, 1 << 22);
    enum lat_status status = run(&q, out);
    lat_output_free(q.output);
    lat_pool_free(q.pool);
    lat_st_folder_close(q.folder);
    lat_rotation_release(&q.rotation);
    lat_mem_free(q.probe_x);
    lat_mem_free(q.probe_rotated);
    lat_mem_free(q.jobs);
    lat_buf_release(&q.ignored);
    return status;
}
