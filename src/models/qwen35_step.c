// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "models/qwen35_step.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "nn/rope.h"

enum { ROW_UNIT = 16 }; // rows of a product come to threads in whole cache lines of its output

void lat_qwen35_barrier(const struct lat_qwen35_lane *lane) { lat_pool_barrier(lane->step->pool); }

void lat_qwen35_product(const struct lat_qwen35_lane *lane, const struct lat_matrix *w, const float *x, size_t tokens,
                        float *y, size_t y_stride, const float *bias, bool add)
{
    size_t begin, end;
    lat_pool_share(w->rows, ROW_UNIT, lane->thread, lane->threads, &begin, &end);
    lat_matrix_multiply(lane->step->kernels, w, begin, end, x, w->cols, tokens, y, y_stride, add);
    for (size_t t = 0; bias && t < tokens; t++)
        for (size_t r = begin; r < end; r++)
            y[t * y_stride + r] += bias[r];
}

// Notes the earliest place (in the order of computation) where a value was not finite.
static void note_bad(struct lat_qwen35_step *step, long long layer, size_t token)
{
    long long place = layer << 32 | (long long)(step->state->position + token);
    long long old = atomic_load(&step->bad_place);
    while ((old < 0 || place < old) && !atomic_compare_exchange_weak(&step->bad_place, &old, place))
        ;
}

// normed = RMSNorm(hidden), this thread's tokens. `source` is the layer that wrote hidden (0: the embedding).
static void norm_rows(const struct lat_qwen35_lane *lane, const float *w, size_t source)
{
    struct lat_qwen35_step *s = lane->step;
    size_t h = s->config->hidden_size;
    for (size_t t = (size_t)lane->thread; t < s->tokens; t += (size_t)lane->threads) {
        const float *row = s->state->work.hidden + t * h;
        if (!isfinite(s->kernels->dot(row, row, h)))
            note_bad(s, (long long)source, t);
        s->kernels->rms_norm(row, w, s->config->rms_norm_eps, h, s->state->work.normed + t * h);
    }
}

static void embed_rows(const struct lat_qwen35_lane *lane)
{
    struct lat_qwen35_step *s = lane->step;
    struct lat_qwen35_work *w = &s->state->work;
    size_t half = s->config->rotary_half;
    for (size_t t = (size_t)lane->thread; t < s->tokens; t += (size_t)lane->threads) {
        lat_matrix_row(&s->weights->embed, (size_t)s->ids[t], w->hidden + t * s->config->hidden_size);
        lat_rope_angles(s->weights->rope_frequency, half, s->state->position + t, w->cosine + t * half, w->sine + t * half);
    }
}

// Lets the observer see rows; thread 0 calls it, all threads learn what it said. False: stop.
static bool show(const struct lat_qwen35_lane *lane, int point, size_t first, size_t rows, size_t width,
                 const float *values)
{
    struct lat_qwen35_step *s = lane->step;
    if (!s->observe)
        return true;
    if (lane->thread == 0)
        atomic_store(&s->observe_status, (int)s->observe(s->observe_context, point, s->state->position + first, rows,
                                                         width, values, s->error));
    lat_qwen35_barrier(lane);
    return atomic_load(&s->observe_status) == LAT_OK;
}

static void logit_rows(const struct lat_qwen35_lane *lane, size_t first, size_t rows)
{
    struct lat_qwen35_step *s = lane->step;
    const float *x = s->state->work.normed + first * s->config->hidden_size;
    lat_qwen35_product(lane, &s->weights->head, x, rows, s->state->work.logits, s->config->vocab_size, NULL, false);
    lat_qwen35_barrier(lane);
}

// Final norm and logits: of every token when an observer asks for them, else of the last one.
static void finish(const struct lat_qwen35_lane *lane)
{
    struct lat_qwen35_step *s = lane->step;
    struct lat_qwen35_work *w = &s->state->work;
    norm_rows(lane, s->weights->norm, s->config->num_hidden_layers);
    lat_qwen35_barrier(lane);
    if (!show(lane, LAT_POINT_NORM, 0, s->tokens, s->config->hidden_size, w->normed))
        return;
    for (size_t first = 0; s->observe && s->observe_logits && first < s->tokens; first += w->logit_rows) {
        size_t rows = s->tokens - first < w->logit_rows ? s->tokens - first : w->logit_rows;
        logit_rows(lane, first, rows);
        if (!show(lane, LAT_POINT_LOGITS, first, rows, s->config->vocab_size, w->logits))
            return;
    }
    if (s->last)
        logit_rows(lane, s->tokens - 1, 1);
}

static void run_lane(void *context, int thread, int threads)
{
    struct lat_qwen35_step *s = context;
    struct lat_qwen35_lane lane = { .step = s, .thread = thread, .threads = threads };
    size_t h = s->config->hidden_size;
    embed_rows(&lane);
    lat_qwen35_barrier(&lane);
    if (!show(&lane, LAT_POINT_EMBED, 0, s->tokens, h, s->state->work.hidden))
        return;
    for (size_t i = 0; i < s->config->num_hidden_layers; i++) {
        const struct lat_qwen35_layer *layer = &s->weights->layers[i];
        norm_rows(&lane, layer->input_norm, i);
        lat_qwen35_barrier(&lane);
        if (s->config->layer_is_full[i])
            lat_qwen35_attention_run(&lane, i);
        else
            lat_qwen35_deltanet_run(&lane, i);
        norm_rows(&lane, layer->post_norm, i + 1);
        lat_qwen35_barrier(&lane);
        if (s->config->moe)
            lat_qwen35_moe_run(&lane, i);
        else
            lat_qwen35_mlp_run(&lane, i);
        if (!show(&lane, (int)i, 0, s->tokens, h, s->state->work.hidden))
            return;
    }
    finish(&lane);
}

static enum lat_status check_logits(const struct lat_qwen35_step *step)
{
    const float *logits = step->state->work.logits;
    for (size_t i = 0; step->last && i < step->config->vocab_size; i++)
        if (!isfinite(logits[i]))
            return lat_error_set(step->error, LAT_NOT_FINITE, "the logit of token %zu after position %zu is not finite", i,
                                 step->state->position - 1);
    return LAT_OK;
}

enum lat_status lat_qwen35_step_run(struct lat_qwen35_step *step)
{
    LAT_BUG_IF(step->tokens == 0 || step->tokens > step->state->chunk);
    LAT_BUG_IF(step->state->position + step->tokens > step->state->context);
    atomic_store(&step->observe_status, LAT_OK);
    atomic_store(&step->bad_place, -1);
    lat_pool_run(step->pool, run_lane, step);
    enum lat_status status = (enum lat_status)atomic_load(&step->observe_status);
    if (status != LAT_OK)
        return status;
    long long bad = atomic_load(&step->bad_place);
    if (bad >= 0 && bad >> 32 == 0)
        return lat_error_set(step->error, LAT_NOT_FINITE, "the embedding at position %lld is not finite", bad & 0xffffffff);
    if (bad >= 0)
        return lat_error_set(step->error, LAT_NOT_FINITE, "the output of layer %lld at position %lld is not finite",
                             (bad >> 32) - 1, bad & 0xffffffff);
    step->state->position += step->tokens;
    return check_logits(step);
}
