// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/sampler.h"
#include "runtime/stop.h"

static struct lat_sampling greedy(void) { return lat_generate_defaults().sampling; }

// How often each of `n` ids comes in `draws` draws.
static void draw(const struct lat_sampling *o, const float *logits, size_t n, size_t draws, size_t *hits)
{
    struct lat_sampler s;
    struct lat_error error = { 0 };
    memset(hits, 0, n * sizeof *hits);
    assert_int_equal(lat_sampler_init(&s, o, n, NULL, &error), LAT_OK);
    for (size_t i = 0; i < draws; i++) {
        int32_t id = -1;
        assert_int_equal(lat_sampler_next(&s, logits, &id, &error), LAT_OK);
        assert_in_range(id, 0, n - 1);
        hits[id]++;
    }
    lat_sampler_release(&s);
}

// Case SA-1: temperature 0 and 1e-30 take the best, the lowest id among equals; 1e30 is uniform.
static void test_temperature(void **state)
{
    (void)state;
    const float logits[] = { 1, 2, 2 };
    size_t hits[3];
    struct lat_sampling o = greedy();
    draw(&o, logits, 3, 10, hits);
    assert_int_equal(hits[1], 10);
    o.temperature = 1e30;
    draw(&o, logits, 3, 30000, hits);
    for (int i = 0; i < 3; i++)
        assert_in_range(hits[i], 9500, 10500);
    o.temperature = 1e-30;
    draw(&o, (const float[]){ 1, 2, 1.9f }, 3, 100, hits);
    assert_int_equal(hits[1], 100);
}

static void test_filters(void **state)
{
    (void)state;
    const float logits[] = { logf(0.5f), logf(0.25f), logf(0.15f), logf(0.1f) };
    size_t hits[4];
    struct lat_sampling o = greedy();
    o.temperature = 1;
    draw(&o, logits, 4, 40000, hits);
    assert_in_range(hits[0], 19500, 20500);
    assert_in_range(hits[3], 3700, 4300);
    o.top_k = 2;
    draw(&o, logits, 4, 3000, hits);
    assert_int_equal(hits[0] + hits[1], 3000);
    assert_in_range(hits[1], 850, 1150);
    o.top_k = 1 << 30;
    o.top_p = 0.6; // 0.5 does not reach it, 0.75 does
    draw(&o, logits, 4, 1000, hits);
    assert_int_equal(hits[0] + hits[1], 1000);
    assert_true(hits[1] > 0);
    o.top_p = 0;
    draw(&o, logits, 4, 100, hits);
    assert_int_equal(hits[0], 100);
    o.top_p = 1;
    o.min_p = 0.25; // 0.15 and more of 0.5
    draw(&o, logits, 4, 2000, hits);
    assert_int_equal(hits[3], 0);
    assert_true(hits[2] > 0);
}

static void test_penalties(void **state)
{
    (void)state;
    struct lat_sampling o = greedy();
    struct lat_sampler s;
    int32_t id = -1;
    o.repetition_penalty = 2;
    assert_int_equal(lat_sampler_init(&s, &o, 3, NULL, NULL), LAT_OK);
    lat_sampler_note(&s, 0, false); // a prompt's id counts: 3 -> 1.5
    assert_int_equal(lat_sampler_next(&s, (const float[]){ 3, 2, -1 }, &id, NULL), LAT_OK);
    assert_int_equal(id, 1);
    assert_int_equal(lat_sampler_next(&s, (const float[]){ -1, -1.5f, -3 }, &id, NULL), LAT_OK);
    assert_int_equal(id, 1); // a negative logit is multiplied: -2
    lat_sampler_release(&s);
    o = greedy();
    o.presence_penalty = 1;
    o.frequency_penalty = 0.5;
    assert_int_equal(lat_sampler_init(&s, &o, 3, NULL, NULL), LAT_OK);
    lat_sampler_note(&s, 0, false); // not in the output: no penalty
    assert_int_equal(lat_sampler_next(&s, (const float[]){ 3, 2.9f, 0 }, &id, NULL), LAT_OK);
    assert_int_equal(id, 0);
    lat_sampler_note(&s, 0, true);
    lat_sampler_note(&s, 0, true); // 3 - 1 - 2*0.5 = 1
    assert_int_equal(lat_sampler_next(&s, (const float[]){ 3, 1.1f, 0 }, &id, NULL), LAT_OK);
    assert_int_equal(id, 1);
    lat_sampler_release(&s);
}

static void test_allowed_and_finite(void **state)
{
    (void)state;
    const bool allowed[] = { true, false, true };
    struct lat_sampling o = greedy();
    struct lat_sampler s;
    struct lat_error error = { 0 };
    int32_t id = -1;
    assert_int_equal(lat_sampler_init(&s, &o, 3, allowed, NULL), LAT_OK);
    assert_int_equal(lat_sampler_next(&s, (const float[]){ 1, 9, 2 }, &id, NULL), LAT_OK);
    assert_int_equal(id, 2);
    assert_int_equal(lat_sampler_next(&s, (const float[]){ 1, NAN, 2 }, &id, &error), LAT_NOT_FINITE);
    lat_sampler_release(&s);
}

// A seed is a promise: these ids, from an independent Python implementation of the same rules, must come on every
// machine.
static void test_seed(void **state)
{
    (void)state;
    float logits[50];
    for (int i = 0; i < 50; i++)
        logits[i] = (float)((i * 37) % 50) / 10;
    struct lat_sampling o = greedy();
    o.temperature = 0.9;
    o.seed = 1234;
    struct lat_sampler s;
    int32_t ids[8];
    assert_int_equal(lat_sampler_init(&s, &o, 50, NULL, NULL), LAT_OK);
    for (int i = 0; i < 8; i++)
        assert_int_equal(lat_sampler_next(&s, logits, &ids[i], NULL), LAT_OK);
    const int32_t want[] = { 27, 9, 47, 13, 27, 40, 12, 31 };
    assert_memory_equal(ids, want, sizeof want);
    lat_sampler_release(&s);
}

// Case SA-2.
static void test_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t offset;
        double bad[4];
    } rows[] = {
        { "temperature", offsetof(struct lat_sampling, temperature), { -1, NAN, INFINITY, -1e-9 } },
        { "top_p", offsetof(struct lat_sampling, top_p), { -1, 2, NAN, INFINITY } },
        { "min_p", offsetof(struct lat_sampling, min_p), { -0.1, 1.1, NAN, -INFINITY } },
        { "repetition_penalty", offsetof(struct lat_sampling, repetition_penalty), { 0, -1, NAN, INFINITY } },
        { "presence_penalty", offsetof(struct lat_sampling, presence_penalty), { NAN, INFINITY, -INFINITY, NAN } },
        { "frequency_penalty", offsetof(struct lat_sampling, frequency_penalty), { NAN, INFINITY, -INFINITY, NAN } },
    };
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 4; k++) {
            struct lat_sampling o = greedy();
            struct lat_error error = { 0 };
            memcpy((char *)&o + rows[i].offset, &rows[i].bad[k], sizeof(double));
            assert_int_equal(lat_sampling_check(&o, &error), LAT_ARGUMENT);
            assert_non_null(strstr(error.text, rows[i].name));
        }
    struct lat_sampling o = greedy();
    o.top_k = -2;
    assert_int_equal(lat_sampling_check(&o, NULL), LAT_ARGUMENT);
    o.top_k = -1;
    assert_int_equal(lat_sampling_check(&o, NULL), LAT_OK);
}

// Finite penalties of any size: no NaN weight, and what they favour or forbid is what is drawn.
static void test_extreme_penalties(void **state)
{
    (void)state;
    const double temperatures[] = { 0, 1e-300, 0.7, 1e300 };
    for (size_t t = 0; t < 4; t++) {
        struct lat_sampling o = greedy();
        struct lat_sampler s;
        int32_t id = -1;
        o.temperature = temperatures[t];
        o.repetition_penalty = 1e-300; // what was seen becomes as likely as can be
        assert_int_equal(lat_sampler_init(&s, &o, 3, NULL, NULL), LAT_OK);
        lat_sampler_note(&s, 1, false);
        if (t < 3) { // at 1e300 even that is level with the rest
            assert_int_equal(lat_sampler_next(&s, (const float[]){ 2, 1, 3 }, &id, NULL), LAT_OK);
            assert_int_equal(id, 1);
        }
        lat_sampler_release(&s);
        o.repetition_penalty = 1;
        o.presence_penalty = o.frequency_penalty = 1.7e308;
        assert_int_equal(lat_sampler_init(&s, &o, 2, NULL, NULL), LAT_OK);
        lat_sampler_note(&s, 0, true);
        if (t < 3) {
            assert_int_equal(lat_sampler_next(&s, (const float[]){ 9, 1 }, &id, NULL), LAT_OK);
            assert_int_equal(id, 1);
        }
        lat_sampler_note(&s, 1, true); // all are forbidden alike: the lowest, or any
        assert_int_equal(lat_sampler_next(&s, (const float[]){ 9, 1 }, &id, NULL), LAT_OK);
        assert_in_range(id, 0, 1);
        lat_sampler_release(&s);
    }
}

struct ranked {
    double weight;
    float logit;
    int32_t id;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->logit != y->logit ? (x->logit > y->logit ? -1 : 1) : x->id - y->id;
}

// The rules as the header says them, by sorting everything: which id a uniform number chooses.
static int32_t choose_plainly(const struct lat_sampling *o, const float *logits, size_t n, double uniform)
{
    struct ranked r[64];
    for (size_t i = 0; i < n; i++)
        r[i] = (struct ranked){ 0, logits[i], (int32_t)i };
    qsort(r, n, sizeof *r, by_rank);
    if (o->top_k > 0 && (size_t)o->top_k < n)
        n = (size_t)o->top_k;
    double sum = 0, kept_sum = 0, passed = 0;
    for (size_t i = 0; i < n; i++)
        sum += r[i].weight = exp(((double)r[i].logit - r[0].logit) / o->temperature);
    size_t kept = 0;
    for (; kept < n; kept++) {
        if (kept && ((o->top_p < 1 && kept_sum / sum >= o->top_p) || r[kept].weight < o->min_p))
            break;
        kept_sum += r[kept].weight;
    }
    for (size_t i = 0; i < kept; i++) {
        passed += r[i].weight / kept_sum;
        if (uniform < passed)
            return r[i].id;
    }
    return r[kept - 1].id;
}

// The draws out of a heap are those of the plain rules, for every mixture of options.
static void test_against_plain_rules(void **state)
{
    (void)state;
    const int64_t ks[] = { 0, -1, 1, 2, 7, 59, 60, 61 };
    const double ps[] = { 1, 0.999, 0.8, 0.31, 0 }, ms[] = { 0, 0.013, 0.4, 1 }, ts[] = { 0.21, 1, 3.7 };
    struct lat_rng rng;
    size_t draws = 0, not_best = 0;
    lat_rng_init(&rng, 99);
    for (size_t c = 0; c < 8 * 5 * 4 * 3; c++) {
        struct lat_sampling o = greedy();
        o.top_k = ks[c % 8], o.top_p = ps[c / 8 % 5], o.min_p = ms[c / 40 % 4], o.temperature = ts[c / 160], o.seed = c;
        struct lat_sampler s;
        struct lat_rng same;
        lat_rng_init(&same, c);
        assert_int_equal(lat_sampler_init(&s, &o, 60, NULL, NULL), LAT_OK);
        for (int i = 0; i < 25; i++, draws++) {
            float logits[60];
            int32_t id = -1;
            for (size_t k = 0; k < 60; k++) // a grid, so that ties come often
                logits[k] = (float)(lat_rng_next(&rng) % 40) / 8;
            assert_int_equal(lat_sampler_next(&s, logits, &id, NULL), LAT_OK);
            assert_int_equal(id, choose_plainly(&o, logits, 60, lat_rng_uniform(&same)));
            not_best += id != lat_argmax(logits, 60, NULL);
        }
        lat_sampler_release(&s);
    }
    assert_true(not_best > draws / 4); // the draws were not all of the best
}

static void test_argmax(void **state)
{
    (void)state;
    float margin = 0;
    assert_int_equal(lat_argmax((const float[]){ 1, 3, 2.5f, 3 }, 4, &margin), 1);
    assert_true(margin == 0);
    assert_int_equal(lat_argmax((const float[]){ 4, 3, 1 }, 3, &margin), 0);
    assert_true(margin == 1);
}

// Feeds a text in pieces of every size: what comes out does not depend on them.
static void stop_gives(const char *text, const char *const *stops, size_t count, const char *want, bool hit)
{
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        struct lat_stop stop;
        char out[200] = "";
        lat_stop_init(&stop, stops, count);
        for (size_t at = 0; at < strlen(text); at += piece) {
            size_t n = strlen(text) - at < piece ? strlen(text) - at : piece;
            assert_int_equal(lat_stop_add(&stop, text + at, n, NULL), LAT_OK);
            strncat(out, stop.ready.length ? stop.ready.bytes : "", stop.ready.length);
        }
        assert_int_equal(stop.hit, hit);
        if (!stop.hit) {
            assert_int_equal(lat_stop_end(&stop, NULL), LAT_OK);
            strncat(out, stop.ready.length ? stop.ready.bytes : "", stop.ready.length);
        }
        assert_string_equal(out, want);
        lat_stop_release(&stop);
    }
}

static void test_stop(void **state)
{
    (void)state;
    const char *const one[] = { "END" }, *const two[] = { "aab", "ab" }, *const lines[] = { "\n\n" };
    stop_gives("some text END more", one, 1, "some text ", true);
    stop_gives("some text EN", one, 1, "some text EN", false);
    stop_gives("EENEND", one, 1, "EEN", true);
    stop_gives("aaab", two, 2, "a", true);
    stop_gives("a\nb\n\nc", lines, 1, "a\nb", true);
    stop_gives("plain", NULL, 0, "plain", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_temperature), cmocka_unit_test(test_filters), cmocka_unit_test(test_penalties),
        cmocka_unit_test(test_allowed_and_finite), cmocka_unit_test(test_seed), cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_argmax), cmocka_unit_test(test_extreme_penalties),
        cmocka_unit_test(test_against_plain_rules), cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
