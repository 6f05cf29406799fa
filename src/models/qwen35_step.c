// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "models/qwen35_step.h"

#include <math.h>
#include <string.h>

#include "core/dmath.h"
#include "core/error.h"
#include "core/fault.h"
#include "nn/rope.h"

// Blocks to be quantised come to threads in whole cache lines of their scales.
enum { SHARE_BLOCKS = 16 };

void lat_qwen35_barrier(const struct lat_qwen35_lane *lane) { lat_pool_barrier(lane->step->pool); }

static bool integer_products(const struct lat_qwen35_step *step)
{
    return step->config->quantized && step->compute != LAT_COMPUTE_EXACT;
}

static bool wants_prepared(const struct lat_qwen35_step *step) { return integer_products(step) || step->bf16_dot; }

bool lat_qwen35_prepares_pieces(const struct lat_qwen35_step *step, size_t piece)
{
    return piece % LAT_QUANT_BLOCK == 0 && wants_prepared(step);
}

void lat_qwen35_prepare_piece(const struct lat_qwen35_step *step, enum lat_qwen35_input input, const float *x, size_t cols,
                              size_t token, size_t first, size_t count)
{
    const struct lat_qwen35_prepared *prepared = &step->work->prepared[input];
    const struct lat_quant_rows *to = &prepared->quant;
    for (size_t i = first; step->bf16_dot && i < first + count; i++)
        prepared->narrow[token * cols + i] = lat_f32_to_bf16(x[token * cols + i]);
    if (!integer_products(step))
        return;
    size_t at = token * ((cols + LAT_QUANT_BLOCK - 1) / LAT_QUANT_BLOCK) + first / LAT_QUANT_BLOCK;
    LAT_BUG_IF(first % LAT_QUANT_BLOCK != 0);
    step->kernels->quantize(x + token * cols + first, count, to->q + at * LAT_QUANT_BLOCK, to->scale + at, to->sum + at);
}

void lat_qwen35_prepare(const struct lat_qwen35_lane *lane, enum lat_qwen35_input input, const float *x, size_t cols,
                        size_t tokens)
{
    size_t blocks = (cols + LAT_QUANT_BLOCK - 1) / LAT_QUANT_BLOCK, begin, end;
    if (!wants_prepared(lane->step))
        return;
    lat_pool_share(tokens * blocks, SHARE_BLOCKS, lane->thread, lane->threads, &begin, &end);
    while (begin < end) { // up to the end of a row at a time
        size_t t = begin / blocks, first = begin % blocks, count = end - begin < blocks - first ? end - begin : blocks - first;
        size_t from = first * LAT_QUANT_BLOCK, left = cols - from, n = count * LAT_QUANT_BLOCK;
        lat_qwen35_prepare_piece(lane->step, input, x, cols, t, from, n < left ? n : left);
        begin += count;
    }
    lat_qwen35_barrier(lane);
}

// The same product with its terms added in another order: those of a random half of the columns (by the seed) first.
static void product_reordered(const struct lat_qwen35_lane *lane, const struct lat_matrix *w, unsigned long seed,
                              struct lat_operand operand, size_t begin, size_t end, size_t tokens, float *y, size_t y_stride, bool add)
{
    const float *x = operand.x;
    float *half = lat_mem_new(tokens * w->cols, sizeof *half);
    LAT_BUG_IF(!half);
    operand.x = half;
    operand.narrow = NULL; // of the whole x
    operand.bf16_dot = NULL;
    for (unsigned part = 0; part < 2; part++) {
        for (size_t i = 0; i < tokens * w->cols; i++) {
            uint64_t hash = (i % w->cols + 1) * 0x9e3779b97f4a7c15u ^ seed * 0xbf58476d1ce4e5b9u;
            half[i] = ((hash ^ hash >> 29) * 0x94d049bb133111ebu >> 63) == part ? x[i] : 0;
        }
        lat_matrix_multiply(lane->step->kernels, w, begin, end, &operand, tokens, y, y_stride, add || part == 1);
    }
    lat_mem_free(half);
}

void lat_qwen35_product(const struct lat_qwen35_lane *lane, const struct lat_matrix *w, enum lat_qwen35_input input,
                        const float *x, size_t tokens, float *y, size_t y_stride, const float *bias, bool add)
{
    const struct lat_qwen35_work *work = lane->step->work;
    struct lat_quant_rows quantized = work->prepared[input].quant;
    struct lat_operand operand = { .x = x, .x_stride = w->cols, .bf16_dot = lane->step->bf16_dot,
                                   .narrow = lane->step->bf16_dot ? work->prepared[input].narrow : NULL };
    size_t begin, end;
    lat_pool_share(w->rows, LAT_QWEN35_ROW_UNIT, lane->thread, lane->threads, &begin, &end);
    quantized.blocks = (w->cols + LAT_QUANT_BLOCK - 1) / LAT_QUANT_BLOCK;
    if (integer_products(lane->step))
        operand.quantized = &quantized;
    else if (work->widened)
        operand.scratch = work->widened + (size_t)lane->thread * work->widened_floats;
    if (LAT_FAULT_REORDER())
        product_reordered(lane, w, LAT_FAULT_REORDER(), operand, begin, end, tokens, y, y_stride, add);
    else
        lat_matrix_multiply(lane->step->kernels, w, begin, end, &operand, tokens, y, y_stride, add);
    for (size_t t = 0; bias && t < tokens; t++)
        for (size_t r = begin; r < end; r++)
            y[t * y_stride + r] += bias[r];
}

// Notes the earliest place (in the order of computation) where a value was not finite.
static void note_bad(struct lat_qwen35_step *step, long long layer, size_t row)
{
    long long place = layer << 32 | (long long)row;
    long long old = atomic_load(&step->bad_place);
    while ((old < 0 || place < old) && !atomic_compare_exchange_weak(&step->bad_place, &old, place))
        ;
}

// normed = RMSNorm(hidden), this thread's tokens. `source` is the layer that wrote hidden (0: the embedding).
static void norm_rows(const struct lat_qwen35_lane *lane, const float *w, size_t source)
{
    struct lat_qwen35_step *s = lane->step;
    size_t h = s->config->hidden_size;
    double eps = s->config->rms_norm_eps;
    if (LAT_FAULT_AT("norm_eps", source) && w == s->weights->layers[source].input_norm)
        eps = 1e-3;
    for (size_t t = (size_t)lane->thread; t < s->tokens; t += (size_t)lane->threads) {
        const float *row = s->work->hidden + t * h;
        if (!isfinite(s->kernels->dot(row, row, h)))
            note_bad(s, (long long)source, t);
        s->kernels->rms_norm(row, w, eps, h, s->work->normed + t * h);
        if (wants_prepared(s))
            lat_qwen35_prepare_piece(s, LAT_INPUT_LAYER, s->work->normed, h, t, 0, h);
    }
    lat_qwen35_barrier(lane);
}

// Where each row belongs; before the threads start.
static void lay_out_rows(struct lat_qwen35_step *s)
{
    size_t row = 0;
    for (size_t p = 0; p < s->part_count; p++) {
        struct lat_qwen35_part *part = &s->parts[p];
        LAT_BUG_IF(part->tokens == 0 || part->tokens > s->work->rows - row);
        LAT_BUG_IF(part->sequence->position + part->tokens > part->sequence->context);
        part->first = row;
        for (size_t t = 0; t < part->tokens; t++)
            s->work->row[row++] = (struct lat_qwen35_row){ part->sequence, part->sequence->position + t };
    }
    s->tokens = row;
}

static void embed_rows(const struct lat_qwen35_lane *lane)
{
    struct lat_qwen35_step *s = lane->step;
    struct lat_qwen35_work *w = s->work;
    size_t half = s->config->rotary_half, h = s->config->hidden_size;
    for (size_t p = 0; p < s->part_count; p++) {
        const struct lat_qwen35_part *part = &s->parts[p];
        for (size_t i = (size_t)lane->thread; i < part->tokens; i += (size_t)lane->threads) {
            size_t t = part->first + i;
            lat_matrix_row(&s->weights->embed, (size_t)part->ids[i], w->hidden + t * h);
            size_t shift = LAT_FAULT("rope_decode") && s->tokens == 1 && w->row[t].position > 0;
            lat_rope_angles(s->weights->rope_frequency, half, w->row[t].position + shift, w->cosine + t * half, w->sine + t * half);
        }
    }
}

// Lets the observer see rows of the only part; thread 0 calls it, all threads learn what it said. False: stop.
static bool show(const struct lat_qwen35_lane *lane, int point, size_t first, size_t rows, size_t width,
                 const float *values)
{
    struct lat_qwen35_step *s = lane->step;
    if (!s->observe)
        return true;
    if (lane->thread == 0 && atomic_load(&s->observe_status) == LAT_OK)
        atomic_store(&s->observe_status, (int)s->observe(s->observe_context, point, s->work->row[first].position, rows,
                                                         width, values, s->error));
    lat_qwen35_barrier(lane);
    return atomic_load(&s->observe_status) == LAT_OK;
}

void lat_qwen35_show_operator(const struct lat_qwen35_lane *lane, size_t layer, enum lat_operator op, const float *values,
                              size_t width, size_t stride)
{
    struct lat_qwen35_step *s = lane->step;
    if (!s->observe || !s->observe_operators)
        return;
    // What the observer says counts at the end of the layer, where all threads look.
    for (size_t t = 0; lane->thread == 0 && t < s->tokens && atomic_load(&s->observe_status) == LAT_OK; t++)
        atomic_store(&s->observe_status, (int)s->observe(s->observe_context, LAT_POINT_OPERATOR(layer, op), s->work->row[t].position,
                                                         1, width, values + t * stride, s->error));
    lat_qwen35_barrier(lane);
}

// The planted fault of a layer that keeps its output in bfloat16.
static void round_rows(const struct lat_qwen35_lane *lane)
{
    struct lat_qwen35_step *s = lane->step;
    size_t h = s->config->hidden_size;
    for (size_t t = (size_t)lane->thread; t < s->tokens; t += (size_t)lane->threads)
        for (size_t i = t * h; i < (t + 1) * h; i++) {
            uint32_t bits;
            memcpy(&bits, s->work->hidden + i, sizeof bits);
            bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
            memcpy(s->work->hidden + i, &bits, sizeof bits);
        }
    lat_qwen35_barrier(lane);
}

static void logit_rows(const struct lat_qwen35_lane *lane, const float *x, size_t rows)
{
    struct lat_qwen35_step *s = lane->step;
    lat_qwen35_prepare(lane, LAT_INPUT_LAYER, x, s->config->hidden_size, rows);
    lat_qwen35_product(lane, &s->weights->head, LAT_INPUT_LAYER, x, rows, s->work->logits, s->config->vocab_size, NULL, false);
    lat_qwen35_barrier(lane);
}

// Logits of the parts that want those of their last token, a row each: the normed rows move together first.
static void last_logits(const struct lat_qwen35_lane *lane)
{
    struct lat_qwen35_step *s = lane->step;
    size_t h = s->config->hidden_size, rows = 0, only = 0;
    for (size_t p = 0; p < s->part_count; p++) {
        if (!s->parts[p].last)
            continue;
        only = s->parts[p].first + s->parts[p].tokens - 1;
        if (lane->thread == 0 && s->part_count > 1 && only != rows)
            memcpy(s->work->normed + rows * h, s->work->normed + only * h, h * sizeof(float));
        rows++;
    }
    if (s->part_count > 1) {
        only = 0;
        lat_qwen35_barrier(lane);
    }
    if (rows > 0)
        logit_rows(lane, s->work->normed + only * h, rows);
}

// Final norm and logits: of every token when an observer asks for them, and of the last ones.
static void finish(const struct lat_qwen35_lane *lane)
{
    struct lat_qwen35_step *s = lane->step;
    struct lat_qwen35_work *w = s->work;
    size_t h = s->config->hidden_size;
    norm_rows(lane, s->weights->norm, s->config->num_hidden_layers);
    if (!show(lane, LAT_POINT_NORM, 0, s->tokens, h, w->normed))
        return;
    for (size_t first = 0; s->observe && s->observe_logits && first < s->tokens; first += w->logit_rows) {
        size_t rows = s->tokens - first < w->logit_rows ? s->tokens - first : w->logit_rows;
        logit_rows(lane, w->normed + first * h, rows);
        if (!show(lane, LAT_POINT_LOGITS, first, rows, s->config->vocab_size, w->logits))
            return;
    }
    last_logits(lane);
}

static void run_lane(void *context, int thread, int threads)
{
    struct lat_qwen35_step *s = context;
    struct lat_qwen35_lane lane = { .step = s, .thread = thread, .threads = threads };
    size_t h = s->config->hidden_size;
    embed_rows(&lane);
    lat_qwen35_barrier(&lane);
    if (!show(&lane, LAT_POINT_EMBED, 0, s->tokens, h, s->work->hidden))
        return;
    for (size_t i = 0; i < s->config->num_hidden_layers; i++) {
        const struct lat_qwen35_layer *layer = &s->weights->layers[i];
        norm_rows(&lane, layer->input_norm, i);
        lat_qwen35_show_operator(&lane, i, LAT_OPERATOR_NORM, s->work->normed, h, h);
        if (s->config->layer_is_full[i])
            lat_qwen35_attention_run(&lane, i);
        else
            lat_qwen35_deltanet_run(&lane, i);
        lat_qwen35_show_operator(&lane, i, LAT_OPERATOR_MID, s->work->hidden, h, h);
        norm_rows(&lane, layer->post_norm, i + 1);
        lat_qwen35_show_operator(&lane, i, LAT_OPERATOR_MLP_NORM, s->work->normed, h, h);
        if (s->config->moe)
            lat_qwen35_moe_run(&lane, i);
        else
            lat_qwen35_mlp_run(&lane, i);
        if (LAT_FAULT_AT("bf16_residual", i))
            round_rows(&lane);
        if (!show(&lane, (int)i, 0, s->tokens, h, s->work->hidden))
            return;
    }
    finish(&lane);
}

static enum lat_status check_logits(const struct lat_qwen35_step *step)
{
    const float *logits = step->work->logits;
    for (size_t p = 0; p < step->part_count; p++) {
        if (!step->parts[p].last)
            continue;
        bool fine = lat_dmath_all_finite(logits, step->config->vocab_size);
        for (size_t i = 0; !fine && i < step->config->vocab_size; i++)
            if (!isfinite(logits[i]))
                return lat_error_set(step->error, LAT_NOT_FINITE, "the logit of token %zu after position %zu is not finite",
                                     i, step->parts[p].sequence->position - 1);
        logits += step->config->vocab_size;
    }
    return LAT_OK;
}

static enum lat_status report_bad(const struct lat_qwen35_step *step, long long bad)
{
    size_t position = step->work->row[bad & 0xffffffff].position;
    if (bad >> 32 == 0)
        return lat_error_set(step->error, LAT_NOT_FINITE, "the embedding at position %zu is not finite", position);
    return lat_error_set(step->error, LAT_NOT_FINITE, "the output of layer %lld at position %zu is not finite", (bad >> 32) - 1,
                         position);
}

enum lat_status lat_qwen35_step_run(struct lat_qwen35_step *step)
{
    LAT_BUG_IF(step->part_count == 0 || (step->observe && step->part_count != 1));
    lay_out_rows(step);
    atomic_store(&step->observe_status, LAT_OK);
    atomic_store(&step->bad_place, -1);
    lat_pool_run(step->pool, run_lane, step);
    enum lat_status status = (enum lat_status)atomic_load(&step->observe_status);
    if (status != LAT_OK)
        return status;
    long long bad = atomic_load(&step->bad_place);
    if (bad >= 0)
        return report_bad(step, bad);
    for (size_t p = 0; p < step->part_count; p++)
        step->parts[p].sequence->position += step->parts[p].tokens;
    return check_logits(step);
}
