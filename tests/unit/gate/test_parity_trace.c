// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What traces say about each other: the sampler's closure, ties, the first difference; and points inside a layer with the
// smallest perturbation that is caught. Small files of which one thing is changed at a time.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gate/parity_points.h"
#include "gate/parity_trace.h"
#include "tensor/safetensors.h"

enum { T = 3, V = 5, N = 4, W = 6 };

static char folder[] = "/tmp/lattice-trace-XXXXXX";
static struct lat_error error;

struct tensor {
    const char *name;
    enum lat_dtype dtype;
    size_t rows, cols;
    const void *values;
};

static const char *write_file(const char *name, const struct tensor *tensors, size_t count, const struct lat_st_pair *metadata,
                              size_t pairs)
{
    static char path[4][128];
    static int next;
    char *out = path[next++ % 4];
    struct lat_st_spec specs[8];
    struct lat_st_writer *w = NULL;
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    for (size_t i = 0; i < count; i++)
        specs[i] = (struct lat_st_spec){ tensors[i].name, tensors[i].dtype, tensors[i].cols ? 2 : 1, { tensors[i].rows, tensors[i].cols } };
    assert_int_equal(lat_st_writer_open(&w, out, specs, count, metadata, pairs, NULL), LAT_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(
            lat_st_writer_put(w, i, 0, tensors[i].values, tensors[i].rows * (tensors[i].cols ? tensors[i].cols : 1), NULL), LAT_OK);
    assert_int_equal(lat_st_writer_commit(w, NULL), LAT_OK);
    return out;
}

static struct lat_st_file *open_file(const char *path)
{
    struct lat_st_file *file = NULL;
    assert_int_equal(lat_st_open(&file, path, &error), LAT_OK);
    return file;
}

static int64_t input[T] = { 1, 2, 3 }, forced_input[T + N - 1], want[N] = { 4, 0, 2, 1 }, got[N];
static float margins[N], logits[T * V], forced[(T + N - 1) * V];

// The engine's logits say `want` everywhere, with a distance of 1 to the next.
static void make_closing(void)
{
    memcpy(got, want, sizeof got);
    memset(logits, 0, sizeof logits);
    memset(forced, 0, sizeof forced);
    for (int i = 0; i < N; i++) {
        margins[i] = 1;
        forced[(T - 1 + i) * V + want[i]] = 1;
    }
    logits[(T - 1) * V + want[0]] = 1;
}

static struct lat_parity_closure closure(void)
{
    struct lat_parity_closure c;
    struct lat_parity_prompt prompt = { .name = "p0", .floor_max = 1e-3 };
    struct lat_parity_result compared = { .prompts = &prompt, .count = 1 };
    const struct tensor reference[] = { { "p0.input_ids", LAT_DTYPE_I64, T, 0, input }, { "p0.greedy_ids", LAT_DTYPE_I64, N, 0, want },
                                        { "p0.greedy_margin", LAT_DTYPE_F32, N, 0, margins } };
    const struct tensor base[] = { { "p0.input_ids", LAT_DTYPE_I64, T, 0, input }, { "p0.logits", LAT_DTYPE_F32, T, V, logits },
                                   { "p0.greedy_ids", LAT_DTYPE_I64, N, 0, got } };
    const struct tensor run[] = { { "p0.input_ids", LAT_DTYPE_I64, T + N - 1, 0, forced_input },
                                  { "p0.logits", LAT_DTYPE_F32, T + N - 1, V, forced } };
    struct lat_st_file *a = open_file(write_file("a", reference, 3, NULL, 0)), *b = open_file(write_file("b", base, 3, NULL, 0)),
                       *f = open_file(write_file("f", run, 2, NULL, 0));
    assert_int_equal(lat_parity_closure_judge(&c, a, b, f, &compared, 4, &error), LAT_OK);
    lat_st_close(a);
    lat_st_close(b);
    lat_st_close(f);
    return c;
}

static void test_closure(void **state)
{
    (void)state;
    make_closing();
    struct lat_parity_closure c = closure();
    assert_int_equal(c.leaks + c.faults + c.ties, 0);
    got[2] = 3; // emitted, but not the best: a penalty
    c = closure();
    assert_int_equal(c.leaks, 1);
    assert_int_equal(c.faults, 0);
    assert_string_equal(c.leak, "p0, token 2: id 3 was emitted, and its own logits say 2");
    make_closing();
    logits[(T - 1) * V + 2] = 1; // equal to the best, which is 4: the lower must be emitted
    c = closure();
    assert_int_equal(c.leaks, 1);
    make_closing();
    forced[T * V + 3] = 2; // with the reference's ids before it the engine says 3, and emits it
    got[1] = 3;
    c = closure();
    assert_int_equal(c.leaks, 0);
    assert_int_equal(c.faults, 1);
    margins[1] = 0.003f; // below four floors: a tie
    c = closure();
    assert_int_equal(c.faults, 0);
    assert_int_equal(c.ties, 1);
    forced[(T + 2) * V + 0] = 2; // behind the tie there is a fault all the same
    c = closure();
    assert_int_equal(c.faults, 1);
    assert_int_equal(c.ties, 1);
}

static void test_same(void **state)
{
    (void)state;
    struct lat_parity_difference d;
    make_closing();
    struct tensor run[] = { { "p0.layers.1", LAT_DTYPE_F32, T, V, logits }, { "p0.logits", LAT_DTYPE_F32, T, V, logits } };
    struct lat_st_file *a = open_file(write_file("a", run, 2, NULL, 0)), *same = open_file(write_file("b", run, 2, NULL, 0));
    float other[T * V];
    memcpy(other, logits, sizeof other);
    other[V + 1] = -0.0f; // equal as a number, not as bits
    run[0].values = other;
    struct lat_st_file *b = open_file(write_file("c", run, 2, NULL, 0)), *less = open_file(write_file("d", run, 1, NULL, 0));
    assert_int_equal(lat_parity_trace_same(&d, a, same, &error), LAT_OK);
    assert_true(d.same);
    assert_int_equal(d.tensors, 2);
    assert_int_equal(lat_parity_trace_same(&d, a, b, &error), LAT_OK);
    assert_false(d.same);
    assert_string_equal(d.where, "p0.layers.1, position 1");
    assert_string_equal(d.point, "layers.1");
    assert_int_equal(lat_parity_trace_same(&d, a, less, &error), LAT_NOT_FOUND);
    lat_st_close(a);
    lat_st_close(b);
    lat_st_close(same);
    lat_st_close(less);
}

static float truth[2 * W], norm[T * W], qkv[T * W];

static const char *operators(const char *points)
{
    static const int64_t positions[2] = { 0, 2 };
    const struct tensor tensors[] = { { "p0.input_ids", LAT_DTYPE_I64, T, 0, input }, { "p0.positions", LAT_DTYPE_I64, 2, 0, positions },
                                      { "p0.truth.layers.0.norm", LAT_DTYPE_F32, 2, W, truth },
                                      { "p0.truth.layers.0.qkv", LAT_DTYPE_F32, 2, W, truth } };
    const struct lat_st_pair metadata[] = {
        { "format", "lattice-operators-1" },
        { "points", points },
        { "point_floor", "{\"p0\":{\"layers.0.norm\":{\"rms\":0.001},\"layers.0.qkv\":{\"rms\":0.001}}}" },
    };
    return write_file("operators", tensors, 4, metadata, 3);
}

static const char *trace(void)
{
    const struct tensor tensors[] = { { "p0.input_ids", LAT_DTYPE_I64, T, 0, input }, { "p0.layers.0.norm", LAT_DTYPE_F32, T, W, norm },
                                      { "p0.layers.0.qkv", LAT_DTYPE_F32, T, W, qkv } };
    return write_file("trace", tensors, 3, NULL, 0);
}

static void make_points(void)
{
    for (int r = 0; r < T; r++)
        for (int c = 0; c < W; c++) {
            norm[r * W + c] = qkv[r * W + c] = (float)(1 + c + 10 * r);
            if (r != 1)
                truth[(r / 2) * W + c] = norm[r * W + c];
        }
}

#define POINTS "[\"layers.0.norm\",\"layers.0.qkv\"]"

static void test_points(void **state)
{
    (void)state;
    struct lat_parity_points p;
    bool at_fault = true;
    make_points();
    assert_int_equal(lat_parity_points_compare(&p, operators(POINTS), trace(), 8, &at_fault, &error), LAT_OK);
    assert_int_equal(p.seen, 2);
    assert_null(p.first);
    lat_parity_points_release(&p);
    qkv[2 * W + 3] += 0.1f;
    assert_int_equal(lat_parity_points_compare(&p, operators(POINTS), trace(), 8, &at_fault, &error), LAT_OK);
    assert_string_equal(p.first->name, "layers.0.qkv");
    assert_int_equal(p.first->position, 2);
    assert_int_equal(p.first->channel, 3);
    lat_parity_points_release(&p);
    norm[0] = NAN;
    assert_int_equal(lat_parity_points_compare(&p, operators(POINTS), trace(), 8, &at_fault, &error), LAT_OK);
    assert_string_equal(p.first->name, "layers.0.norm");
    lat_parity_points_release(&p);
    static const char *const wrong[] = { "[]", "{}", "[1]", "[\"layers.9\"]", "[\"layers.0.norm\"", "[\"\"]" };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_not_equal(lat_parity_points_compare(&p, operators(wrong[i]), trace(), 8, &at_fault, &error), LAT_OK);
        assert_false(at_fault);
    }
    input[0] = 9;
    const char *other = trace();
    input[0] = 1;
    assert_int_equal(lat_parity_points_compare(&p, operators(POINTS), other, 8, &at_fault, &error), LAT_NOT_FOUND);
    assert_true(at_fault);
}

static void test_power(void **state)
{
    (void)state;
    struct lat_parity_powers p;
    make_points();
    assert_int_equal(lat_parity_power_measure(&p, operators(POINTS), trace(), 8, &error), LAT_OK);
    assert_int_equal(p.count, 2);
    // Channel 3 holds 4 and 24: e sqrt(4^2+24^2) over sqrt(12) must exceed 8 floors of 0.001, so e > 0.00114.
    assert_true(p.items[0].median_channel == 1.0 / 512);
    assert_true(p.items[0].weak_channel == 1.0 / 512); // channel 0 holds 1 and 21: e > 0.00132
    assert_true(p.items[0].shifted && p.items[0].halves && p.items[0].oldest);
    lat_parity_powers_release(&p);
    qkv[0] += 1; // already wrong
    assert_int_equal(lat_parity_power_measure(&p, operators(POINTS), trace(), 8, &error), LAT_FORMAT);
}

static int enter(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : 1;
}

static int leave(void **state)
{
    static const char *const names[] = { "a", "b", "c", "d", "f", "operators", "trace" };
    char path[128];
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_closure), cmocka_unit_test(test_same), cmocka_unit_test(test_points),
                                        cmocka_unit_test(test_power) };
    return cmocka_run_group_tests(tests, enter, leave);
}
