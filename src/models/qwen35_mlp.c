// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The SwiGLU MLP, and the mixture of experts (transformers, Qwen3_5MoeSparseMoeBlock): softmax over all experts, the
// best k renormalised, plus a shared expert behind a sigmoid gate.
#include <math.h>
#include <string.h>

#include "core/dmath.h"
#include "core/fault.h"
#include "models/qwen35_step.h"

void lat_qwen35_swiglu(const struct lat_qwen35_lane *lane, const struct lat_qwen35_mlp *mlp, const float *x,
                       size_t tokens, float *gate_rows, float *up_rows)
{
    size_t inner = mlp->gate.rows, begin, end;
    lat_qwen35_product(lane, &mlp->gate, LAT_INPUT_LAYER, x, tokens, gate_rows, inner, NULL, false);
    lat_qwen35_product(lane, &mlp->up, LAT_INPUT_LAYER, x, tokens, up_rows, inner, NULL, false);
    lat_pool_share(inner, LAT_QWEN35_ROW_UNIT, lane->thread, lane->threads, &begin, &end); // the rows that it has just made
    bool pieces = lat_qwen35_prepares_pieces(lane->step, LAT_QWEN35_ROW_UNIT); // they are whole blocks, but for the last
    for (size_t t = 0; t < tokens; t++) {
        float *gate = gate_rows + t * inner + begin;
        lane->step->kernels->silu_mul(gate, up_rows + t * inner + begin, end - begin, gate);
        if (pieces && begin < end)
            lat_qwen35_prepare_piece(lane->step, LAT_INPUT_INNER, gate_rows, inner, t, begin, end - begin);
    }
    lat_qwen35_barrier(lane);
}

// Two planted faults of this layer: one inner row 5 % too large; GELU in place of SiLU.
static void plant_faults(const struct lat_qwen35_lane *lane, const struct lat_qwen35_mlp *mlp, size_t layer)
{
    struct lat_qwen35_work *w = lane->step->work;
    size_t inner = mlp->gate.rows, tokens = lane->step->tokens, begin, end;
    lat_pool_share(inner, LAT_QWEN35_ROW_UNIT, lane->thread, lane->threads, &begin, &end);
    if (LAT_FAULT_AT("gelu", layer)) {
        lat_qwen35_product(lane, &mlp->gate, LAT_INPUT_LAYER, w->normed, tokens, w->a, inner, NULL, false);
        for (size_t t = 0; t < tokens; t++)
            for (size_t i = t * inner + begin; i < t * inner + end; i++)
                w->a[i] = (float)(0.5 * w->a[i] * (1 + erf(w->a[i] * 0.7071067811865476))) * w->b[i];
        lat_qwen35_barrier(lane);
    }
    if (LAT_FAULT_AT("ffn_row", layer)) {
        for (size_t t = 0; begin == 0 && begin < end && t < tokens; t++)
            w->a[t * inner] *= 1.05f;
        lat_qwen35_barrier(lane);
    }
}

void lat_qwen35_mlp_run(const struct lat_qwen35_lane *lane, size_t layer)
{
    struct lat_qwen35_step *s = lane->step;
    const struct lat_qwen35_mlp *mlp = &s->weights->layers[layer].mlp;
    struct lat_qwen35_work *w = s->work;
    lat_qwen35_swiglu(lane, mlp, w->normed, s->tokens, w->a, w->b);
    plant_faults(lane, mlp, layer);
    lat_qwen35_show_operator(lane, layer, LAT_OPERATOR_ACT, w->a, mlp->gate.rows, mlp->gate.rows);
    lat_qwen35_product(lane, &mlp->down, LAT_INPUT_INNER, w->a, s->tokens, w->hidden, s->config->hidden_size, NULL, true);
    lat_qwen35_barrier(lane);
}

// The k best experts of a token in ascending order of their number, with weights softmax over the chosen (the same as
// softmax over all, renormalised). Equal logits: the lower number wins.
static void choose(const struct lat_qwen35_step *s, size_t token)
{
    const struct lat_qwen35_config *c = s->config;
    size_t k = c->num_experts_per_tok;
    const float *logits = s->work->router + token * c->num_experts;
    size_t *chosen = s->work->chosen + token * k, count = 0;
    float *weight = s->work->weight + token * k;
    for (size_t e = 0; e < c->num_experts; e++) { // insertion into a list kept from best to worst
        size_t at = count;
        while (at > 0 && logits[e] > logits[chosen[at - 1]])
            at--;
        if (at == k)
            continue;
        count += count < k;
        memmove(chosen + at + 1, chosen + at, (count - at - 1) * sizeof *chosen);
        chosen[at] = e;
    }
    double most = logits[chosen[0]], sum = 0;
    for (size_t i = 1; i < k; i++) // ascending numbers: experts are summed in that order
        for (size_t j = i; j > 0 && chosen[j] < chosen[j - 1]; j--) {
            size_t swap = chosen[j];
            chosen[j] = chosen[j - 1];
            chosen[j - 1] = swap;
        }
    for (size_t i = 0; i < k; i++)
        sum += lat_dmath_exp(logits[chosen[i]] - most);
    for (size_t i = 0; i < k; i++)
        weight[i] = (float)(lat_dmath_exp(logits[chosen[i]] - most) / sum);
}

// The weight of `expert` for a token, or a negative number when it was not chosen.
static float weight_of(const struct lat_qwen35_step *s, size_t token, size_t expert)
{
    size_t k = s->config->num_experts_per_tok;
    for (size_t i = 0; i < k; i++)
        if (s->work->chosen[token * k + i] == expert)
            return s->work->weight[token * k + i];
    return -1;
}

// Gathers the tokens of an expert side by side (each thread copies its share); returns how many there are.
static size_t gather(const struct lat_qwen35_lane *lane, size_t expert)
{
    struct lat_qwen35_step *s = lane->step;
    size_t h = s->config->hidden_size, count = 0;
    for (size_t t = 0; t < s->tokens; t++) {
        if (weight_of(s, t, expert) < 0)
            continue;
        if (count % (size_t)lane->threads == (size_t)lane->thread)
            memcpy(s->work->expert_in + count * h, s->work->normed + t * h, h * sizeof(float));
        count++;
    }
    return count;
}

// mixed[t] += weight * expert_out, this thread's columns.
static void scatter(const struct lat_qwen35_lane *lane, size_t expert)
{
    struct lat_qwen35_step *s = lane->step;
    size_t h = s->config->hidden_size, begin, end, count = 0;
    lat_pool_share(h, LAT_QWEN35_ROW_UNIT, lane->thread, lane->threads, &begin, &end);
    for (size_t t = 0; t < s->tokens; t++) {
        float weight = weight_of(s, t, expert);
        if (weight < 0)
            continue;
        s->kernels->scale_add(weight, s->work->expert_out + count * h + begin, end - begin,
                              s->work->mixed + t * h + begin);
        count++;
    }
}

static void run_expert(const struct lat_qwen35_lane *lane, const struct lat_qwen35_layer *layer, size_t expert)
{
    struct lat_qwen35_work *w = lane->step->work;
    const struct lat_qwen35_mlp *mlp = &layer->experts[expert];
    size_t count = gather(lane, expert);
    if (count == 0)
        return;
    lat_qwen35_barrier(lane);
    lat_qwen35_prepare(lane, LAT_INPUT_LAYER, w->expert_in, lane->step->config->hidden_size, count);
    lat_qwen35_swiglu(lane, mlp, w->expert_in, count, w->a, w->b);
    lat_qwen35_product(lane, &mlp->down, LAT_INPUT_INNER, w->a, count, w->expert_out, lane->step->config->hidden_size, NULL, false);
    scatter(lane, expert); // the same columns that this thread has just made
}

// hidden += mixed + sigmoid(shared gate) * shared expert, this thread's columns.
static void add_shared(const struct lat_qwen35_lane *lane)
{
    struct lat_qwen35_step *s = lane->step;
    struct lat_qwen35_work *w = s->work;
    size_t h = s->config->hidden_size, begin, end;
    lat_pool_share(h, LAT_QWEN35_ROW_UNIT, lane->thread, lane->threads, &begin, &end);
    for (size_t t = 0; t < s->tokens; t++) {
        float gate = (float)(1.0 / (1.0 + lat_dmath_exp(-(double)w->d[t])));
        s->kernels->scale_add(gate, w->expert_out + t * h + begin, end - begin, w->mixed + t * h + begin);
        for (size_t i = begin; i < end; i++)
            w->hidden[t * h + i] += w->mixed[t * h + i];
    }
}

void lat_qwen35_moe_run(const struct lat_qwen35_lane *lane, size_t layer_index)
{
    struct lat_qwen35_step *s = lane->step;
    const struct lat_qwen35_config *c = s->config;
    const struct lat_qwen35_layer *layer = &s->weights->layers[layer_index];
    struct lat_qwen35_work *w = s->work;
    size_t h = c->hidden_size, begin, end;
    lat_qwen35_product(lane, &layer->router, LAT_INPUT_LAYER, w->normed, s->tokens, w->router, c->num_experts, NULL, false);
    lat_qwen35_product(lane, &layer->shared_gate, LAT_INPUT_LAYER, w->normed, s->tokens, w->d, 1, NULL, false);
    lat_qwen35_barrier(lane);
    for (size_t t = (size_t)lane->thread; t < s->tokens; t += (size_t)lane->threads)
        choose(s, t);
    lat_qwen35_show_operator(lane, layer_index, LAT_OPERATOR_ROUTER, w->router, c->num_experts, c->num_experts);
    lat_pool_share(h, LAT_QWEN35_ROW_UNIT, lane->thread, lane->threads, &begin, &end);
    for (size_t t = 0; t < s->tokens; t++)
        memset(w->mixed + t * h + begin, 0, (end - begin) * sizeof(float));
    lat_qwen35_barrier(lane);
    for (size_t e = 0; e < c->num_experts; e++)
        run_expert(lane, layer, e);
    lat_qwen35_barrier(lane);
    lat_qwen35_prepare(lane, LAT_INPUT_LAYER, w->normed, h, s->tokens);
    lat_qwen35_swiglu(lane, &layer->mlp, w->normed, s->tokens, w->a, w->b);
    lat_qwen35_product(lane, &layer->mlp.down, LAT_INPUT_INNER, w->a, s->tokens, w->expert_out, h, NULL, false);
    add_shared(lane);
    lat_qwen35_barrier(lane);
}
