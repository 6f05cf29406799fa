// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "runtime/sampler.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/dmath.h"
#include "core/error.h"
#include "core/fault.h"
#include "core/mem.h"

struct lat_candidate {
    float logit;
    int32_t id;
    double weight;
};

static enum lat_status check_range(const char *name, double value, double least, double most, struct lat_error *error)
{
    if (value >= least && value <= most)
        return LAT_OK;
    if (most > 1e300)
        return lat_error_set(error, LAT_ARGUMENT, "%s: %g is not a finite number of at least %g", name, value, least);
    return lat_error_set(error, LAT_ARGUMENT, "%s: %g is outside %g to %g", name, value, least, most);
}

enum lat_status lat_sampling_check(const struct lat_sampling *s, struct lat_error *error)
{
    const double most = 1.7976931348623157e308;
    LAT_TRY(check_range("temperature", s->temperature, 0, most, error));
    LAT_TRY(check_range("top_p", s->top_p, 0, 1, error));
    LAT_TRY(check_range("min_p", s->min_p, 0, 1, error));
    LAT_TRY(check_range("presence_penalty", s->presence_penalty, -most, most, error));
    LAT_TRY(check_range("frequency_penalty", s->frequency_penalty, -most, most, error));
    if (!(s->repetition_penalty > 0 && s->repetition_penalty <= most))
        return lat_error_set(error, LAT_ARGUMENT, "repetition_penalty: %g is not a finite number above 0", s->repetition_penalty);
    if (s->top_k < -1)
        return lat_error_set(error, LAT_ARGUMENT, "top_k: %lld is negative (0 or -1 is off)", (long long)s->top_k);
    return LAT_OK;
}

enum lat_status lat_sampler_init(struct lat_sampler *sampler, const struct lat_sampling *options, size_t vocab_size,
                                 const bool *allowed, struct lat_error *error)
{
    *sampler = (struct lat_sampler){ .options = *options, .vocab_size = vocab_size, .allowed = allowed };
    LAT_TRY(lat_sampling_check(options, error));
    lat_rng_init(&sampler->rng, options->seed);
    if (LAT_FAULT("repetition_penalty"))
        sampler->options.repetition_penalty = 1.3;
    sampler->logits = lat_mem_new(vocab_size, sizeof *sampler->logits);
    sampler->counts = lat_mem_new(vocab_size, sizeof *sampler->counts);
    sampler->seen = lat_mem_new(vocab_size, sizeof *sampler->seen);
    sampler->candidates = lat_mem_new(vocab_size, sizeof *sampler->candidates);
    if (!sampler->logits || !sampler->counts || !sampler->seen || !sampler->candidates) {
        lat_sampler_release(sampler);
        return lat_error_memory(error, "the sampler");
    }
    return LAT_OK;
}

void lat_sampler_release(struct lat_sampler *sampler)
{
    lat_mem_free(sampler->logits);
    lat_mem_free(sampler->counts);
    lat_mem_free(sampler->seen);
    lat_mem_free(sampler->candidates);
    *sampler = (struct lat_sampler){ 0 };
}

void lat_sampler_note(struct lat_sampler *sampler, int32_t id, bool output)
{
    LAT_BUG_IF(id < 0 || (size_t)id >= sampler->vocab_size);
    sampler->seen[id] = true;
    sampler->counts[id] += output;
}

// The first of the largest. Blocks whose largest is no larger are passed over; finding a block's largest has no branches.
static size_t first_best(const float *logits, size_t count)
{
    enum { LANES = 16, BLOCK = 256 };
    size_t best = 0, i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        float lanes[LANES], most;
        memcpy(lanes, logits + i, sizeof lanes);
        for (size_t j = LANES; j < BLOCK; j += LANES)
            for (size_t l = 0; l < LANES; l++)
                lanes[l] = lanes[l] < logits[i + j + l] ? logits[i + j + l] : lanes[l];
        most = lanes[0];
        for (size_t l = 1; l < LANES; l++)
            most = most < lanes[l] ? lanes[l] : most;
        for (size_t j = i; most > logits[best] && j < i + BLOCK; j++)
            best = logits[j] > logits[best] ? j : best;
    }
    for (; i < count; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

int32_t lat_argmax(const float *logits, size_t count, float *margin)
{
    if (!margin)
        return (int32_t)first_best(logits, count);
    size_t best = 0;
    float second = -INFINITY;
    for (size_t i = 1; i < count; i++) {
        if (logits[i] > logits[best]) {
            second = logits[best];
            best = i;
        } else if (logits[i] > second)
            second = logits[i];
    }
    *margin = logits[best] - second;
    return (int32_t)best;
}

static bool has_penalties(const struct lat_sampling *o)
{
    return o->repetition_penalty != 1 || o->presence_penalty != 0 || o->frequency_penalty != 0;
}

static enum lat_status take_logits(struct lat_sampler *s, const float *logits, struct lat_error *error)
{
    const struct lat_sampling *o = &s->options;
    if (lat_dmath_all_finite(logits, s->vocab_size) && !has_penalties(o)) {
        memcpy(s->logits, logits, s->vocab_size * sizeof *logits);
        for (size_t i = 0; s->allowed && i < s->vocab_size; i++)
            s->logits[i] = s->allowed[i] ? s->logits[i] : -INFINITY;
        return LAT_OK;
    }
    for (size_t i = 0; i < s->vocab_size; i++) {
        double l = logits[i];
        if (!isfinite(l))
            return lat_error_set(error, LAT_NOT_FINITE, "the logit of token %zu is not finite", i);
        if (s->seen[i] && o->repetition_penalty != 1)
            l = l > 0 ? l / o->repetition_penalty : l * o->repetition_penalty;
        if (s->counts[i])
            l -= o->presence_penalty + o->frequency_penalty * s->counts[i];
        // A finite penalty may take a logit past what a float holds; it must stay a number that can be compared.
        l = l > FLT_MAX ? FLT_MAX : l < -FLT_MAX ? -FLT_MAX : l;
        s->logits[i] = s->allowed && !s->allowed[i] ? -INFINITY : (float)l;
    }
    return LAT_OK;
}

static bool better(const struct lat_candidate *a, const struct lat_candidate *b)
{
    return a->logit != b->logit ? a->logit > b->logit : a->id < b->id;
}

static bool worse(const struct lat_candidate *a, const struct lat_candidate *b) { return better(b, a); }

// Moves heap[at] down to its place; the root of the heap is the first in the order of `before`.
static void sift_down(struct lat_candidate *heap, size_t count, size_t at,
                      bool (*before)(const struct lat_candidate *, const struct lat_candidate *))
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &heap[at]))
            return;
        struct lat_candidate swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

// All candidates that may be drawn, in the order of their ids; with top_k, the k best.
static size_t collect(struct lat_sampler *s)
{
    size_t count = 0, k = s->options.top_k > 0 ? (size_t)s->options.top_k : s->vocab_size;
    for (size_t i = 0; i < s->vocab_size; i++) {
        struct lat_candidate c = { .logit = s->logits[i], .id = (int32_t)i };
        if (c.logit == -INFINITY)
            continue;
        if (count < k) {
            s->candidates[count++] = c;
            if (count == k && k < s->vocab_size)
                for (size_t at = count / 2 + 1; at-- > 0;)
                    sift_down(s->candidates, count, at, worse);
        } else if (better(&c, &s->candidates[0])) {
            s->candidates[0] = c;
            sift_down(s->candidates, count, 0, worse);
        }
    }
    return count;
}

// Gives each candidate its weight exp((logit - best) / temperature), makes them a heap with the best at its root, and
// returns the sum of the weights.
static double weigh(struct lat_sampler *s, size_t count)
{
    double sum = 0, best = -INFINITY;
    for (size_t i = 0; i < count; i++)
        best = s->candidates[i].logit > best ? s->candidates[i].logit : best;
    for (size_t i = 0; i < count; i++) {
        double distance = s->candidates[i].logit - best; // <= 0
        s->candidates[i].weight = distance == 0 ? 1 : lat_dmath_exp(distance / s->options.temperature);
        sum += s->candidates[i].weight;
    }
    for (size_t at = count / 2 + 1; at-- > 0;)
        sift_down(s->candidates, count, at, better);
    return sum;
}

// Takes the best of heap[0..count) out and puts it behind the rest, at heap[count-1].
static const struct lat_candidate *take_best(struct lat_candidate *heap, size_t count)
{
    struct lat_candidate best = heap[0];
    heap[0] = heap[count - 1];
    heap[count - 1] = best;
    sift_down(heap, count - 1, 0, better);
    return &heap[count - 1];
}

// One draw among heap[0..count) after top_p and min_p. Ranks come out of the heap one by one: sorting a vocabulary of
// 250,000 for each token would cost more than a small model's forward pass.
static int32_t draw(struct lat_sampler *s, size_t count, double sum)
{
    const struct lat_sampling *o = &s->options;
    bool cuts = o->top_p < 1 || o->min_p > 0;
    double uniform = lat_rng_uniform(&s->rng), reached = 0;
    struct lat_candidate *heap = s->candidates;
    size_t kept = 0;
    while (kept < count) {
        if (kept > 0 && ((o->top_p < 1 && reached >= o->top_p * sum) || heap[0].weight < o->min_p))
            break;
        const struct lat_candidate *c = take_best(heap, count - kept++);
        reached += c->weight;
        if (!cuts && uniform * sum < reached)
            return c->id;
    }
    double point = uniform * reached, passed = 0;
    for (size_t rank = 0; rank + 1 < kept; rank++) {
        passed += heap[count - 1 - rank].weight;
        if (point < passed)
            return heap[count - 1 - rank].id;
    }
    return heap[count - kept].id;
}

enum lat_status lat_sampler_next(struct lat_sampler *sampler, const float *logits, int32_t *id, struct lat_error *error)
{
    LAT_TRY(take_logits(sampler, logits, error));
    if (sampler->options.temperature == 0) {
        *id = lat_argmax(sampler->logits, sampler->vocab_size, NULL);
        return LAT_OK;
    }
    size_t count = collect(sampler);
    if (count == 0)
        return lat_error_set(error, LAT_FAILED, "no token may be drawn");
    *id = draw(sampler, count, weigh(sampler, count));
    return LAT_OK;
}
