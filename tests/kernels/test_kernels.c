// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Every kernel of every instruction set of this machine against the scalar definition: the same bits, on random and
// edge sizes and values, at odd addresses, with a guard page behind the inputs, and with nothing written outside of
// the outputs. With `--bench` the same program times them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/rng.h"
#include "kernels/kernels.h"

static const char *const isas[] = { "avx2", "avx512", "neon" };
enum { ISAS = 3, POISON = 0x7b };

// Memory whose last byte lies right before a page that cannot be touched.
struct guarded {
    unsigned char *map;
    size_t pages;
    size_t size;
};

static unsigned char *guarded_new(struct guarded *g, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    g->size = bytes;
    g->pages = (bytes + page - 1) / page + 1;
    g->map = mmap(NULL, g->pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(g->map, MAP_FAILED);
    assert_int_equal(mprotect(g->map + (g->pages - 1) * page, page, PROT_NONE), 0);
    return g->map + (g->pages - 1) * page - bytes;
}

static void guarded_free(struct guarded *g) { munmap(g->map, g->pages * (size_t)sysconf(_SC_PAGESIZE)); }

static void fill(struct lat_rng *rng, float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = scale * (float)(2 * lat_rng_uniform(rng) - 1);
}

static void same_bits(const char *isa, const char *what, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (isnan(a[i]) && isnan(b[i]))
            continue; // which NaN is not part of the definition
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0)
            fail_msg("%s %s: element %zu of %zu is %a, scalar gives %a", isa, what, i, n, (double)b[i], (double)a[i]);
    }
}

static int skipped; // tests that found no vector kernels

typedef void each_fn(const struct lat_kernels *k, struct lat_rng *rng);

static void on_each(each_fn *fn)
{
    int ran = 0;
    for (int i = 0; i < ISAS; i++) {
        const struct lat_kernels *k = lat_kernels_find(isas[i]);
        struct lat_rng rng;
        lat_rng_init(&rng, 7);
        if (!k)
            continue;
        fn(k, &rng);
        ran++;
    }
    if (!ran) { // a build without vector kernels, or a machine without any of them
        skipped++;
        print_message("[  SKIPPED ] no vector kernels on this machine or in this build\n");
        skip();
    }
}

struct matmul_case {
    size_t cols, rows, tokens;
    bool add;
};

static void matmul_one(const struct lat_kernels *k, struct lat_rng *rng, const struct matmul_case *c, size_t weight_size,
                       lat_matmul_fn *mine, lat_matmul_fn *scalar)
{
    struct guarded gw, gx;
    size_t x_stride = c->cols + 3, y_stride = c->rows + 5, outputs = c->tokens * y_stride;
    unsigned char *w = guarded_new(&gw, c->cols * c->rows * weight_size);
    size_t x_floats = (c->tokens - 1) * x_stride + c->cols;
    float *x = (float *)(void *)guarded_new(&gx, x_floats * sizeof(float));
    float *want = malloc(outputs * sizeof *want), *got = malloc(outputs * sizeof *got);
    for (size_t i = 0; i < c->cols * c->rows; i++) {
        float value = (float)(2 * lat_rng_uniform(rng) - 1);
        uint32_t bits;
        memcpy(&bits, &value, 4);
        uint16_t half = (uint16_t)(weight_size == 2 && scalar == lat_kernels_scalar.matmul_bf16 ? bits >> 16
                                                                                             : lat_rng_next(rng) & 0xbbff);
        memcpy(w + i * weight_size, weight_size == 4 ? (void *)&value : (void *)&half, weight_size);
    }
    fill(rng, x, x_floats, 2);
    memset(want, POISON, outputs * sizeof *want);
    fill(rng, want, c->rows, 1);
    memcpy(got, want, outputs * sizeof *got);
    size_t begin = c->rows / 3;
    scalar(w, c->cols, begin, c->rows, x, x_stride, c->tokens, want, y_stride, c->add);
    mine(w, c->cols, begin, c->rows, x, x_stride, c->tokens, got, y_stride, c->add);
    same_bits(k->isa, "matmul", want, got, outputs); // poison included
    free(want);
    free(got);
    guarded_free(&gw);
    guarded_free(&gx);
}

static void matmul_each(const struct lat_kernels *k, struct lat_rng *rng)
{
    for (int i = 0; i < 120; i++) {
        struct matmul_case c = { .cols = 1 + lat_rng_next(rng) % 90, .rows = 1 + lat_rng_next(rng) % 40,
                                 .tokens = 1 + lat_rng_next(rng) % 20, .add = i & 1 };
        if (i % 10 == 0)
            c.cols *= 16;
        matmul_one(k, rng, &c, 4, k->matmul_f32, lat_kernels_scalar.matmul_f32);
        matmul_one(k, rng, &c, 2, k->matmul_bf16, lat_kernels_scalar.matmul_bf16);
        matmul_one(k, rng, &c, 2, k->matmul_f16, lat_kernels_scalar.matmul_f16);
    }
}

static void test_matmul(void **state)
{
    (void)state;
    on_each(matmul_each);
}

static const float edge_values[] = { 0.0f,      -0.0f,      1e-45f,     -1e-38f, 88.72283f, 88.72284f, -87.33654f, -87.33655f,
                                     -103.98f,  1e30f,      -1e30f,     20.0f,   INFINITY,  -INFINITY, NAN,        0.5f };

static void elementwise_each(const struct lat_kernels *k, struct lat_rng *rng)
{
    const struct lat_kernels *s = &lat_kernels_scalar;
    enum { MOST = 70 };
    float a[MOST], b[MOST], w[MOST], want[MOST], got[MOST];
    for (int i = 0; i < 600; i++) {
        size_t n = 1 + lat_rng_next(rng) % MOST;
        struct guarded ga;
        float scale = (float[]){ 1e-3f, 1, 30, 120 }[i % 4];
        fill(rng, a, n, scale);
        fill(rng, b, n, scale);
        fill(rng, w, n, 2);
        if (i % 5 == 0)
            for (size_t j = 0; j < n; j++)
                a[j] = edge_values[lat_rng_next(rng) % 16];
        float *tail = (float *)(void *)guarded_new(&ga, n * sizeof(float));
        memcpy(tail, a, n * sizeof(float));
#define SAME(name, ...)                                  \
    do {                                                 \
        memcpy(want, b, sizeof want);                    \
        memcpy(got, b, sizeof got);                      \
        s->name(__VA_ARGS__, want);                      \
        k->name(__VA_ARGS__, got);                       \
        same_bits(k->isa, #name, want, got, MOST);       \
    } while (0)
        SAME(exp, tail, n);
        SAME(silu_mul, tail, b, n);
        SAME(sigmoid_mul, b, tail, n);
        SAME(rms_norm, tail, w, 1e-6, n);
        SAME(gated_norm, b, tail, w, 1e-6, n);
        SAME(l2_norm, tail, 0.125, 1e-6, n);
        SAME(scale_add, 0.7f, tail, n);
#undef SAME
        want[0] = s->dot(tail, b, n);
        got[0] = k->dot(tail, b, n);
        same_bits(k->isa, "dot", want, got, 1);
        guarded_free(&ga);
    }
}

static void test_elementwise(void **state)
{
    (void)state;
    on_each(elementwise_each);
}

static void sequence_each(const struct lat_kernels *k, struct lat_rng *rng)
{
    const struct lat_kernels *s = &lat_kernels_scalar;
    for (int i = 0; i < 60; i++) {
        size_t dim = 1 + lat_rng_next(rng) % 90, count = 1 + lat_rng_next(rng) % 200, dk = 1 + lat_rng_next(rng) % 50;
        float *q = malloc(dim * 4), *kv = malloc(2 * count * dim * 4), *want = malloc(dim * 4), *got = malloc(dim * 4);
        fill(rng, q, dim, 3);
        fill(rng, kv, 2 * count * dim, 3);
        s->attend(q, kv, kv + count * dim, count, dim, 0.3f, want);
        k->attend(q, kv, kv + count * dim, count, dim, 0.3f, got);
        same_bits(k->isa, "attend", want, got, dim);

        float *state1 = malloc(dk * dim * 4), *state2 = malloc(dk * dim * 4), *qk = malloc(2 * dk * 4);
        fill(rng, state1, dk * dim, 1);
        fill(rng, qk, 2 * dk, 1);
        memcpy(state2, state1, dk * dim * 4);
        for (int step = 0; step < 3; step++) {
            s->delta_step(state1, dim, dk, dim, qk, qk + dk, q, 0.9f, 0.4f, want);
            k->delta_step(state2, dim, dk, dim, qk, qk + dk, q, 0.9f, 0.4f, got);
            same_bits(k->isa, "delta_step", want, got, dim);
            same_bits(k->isa, "delta_step state", state1, state2, dk * dim);
        }
        const float *taps[4] = { kv, q, kv, q };
        float *w = malloc(4 * (dim + 2) * 4);
        fill(rng, w, 4 * (dim + 2), 1);
        size_t tap_count = 1 + lat_rng_next(rng) % 4;
        s->conv_silu(taps, tap_count, w, dim + 2, dim, want);
        k->conv_silu(taps, tap_count, w, dim + 2, dim, got);
        same_bits(k->isa, "conv_silu", want, got, dim);
        float *all[] = { q, kv, want, got, state1, state2, qk, w };
        for (size_t j = 0; j < 8; j++)
            free(all[j]);
    }
}

static void test_sequence(void **state)
{
    (void)state;
    on_each(sequence_each);
}

// The scalar exp against libm in double: the stated 1.5 ulp.
static void test_exp_error(void **state)
{
    (void)state;
    for (float x = -87.3f; x < 88.7f; x += 0.00731f) {
        float y;
        lat_kernels_scalar.exp(&x, 1, &y);
        double exact = exp((double)x), ulp = ldexp(1, ilogb(exact) - 23);
        if (fabs((double)y - exact) > 1.5 * ulp)
            fail_msg("exp(%a) is %g ulp off", (double)x, fabs((double)y - exact) / ulp);
    }
}

// Best of several runs of a matrix product, in G operations a second.
static double matmul_speed(lat_matmul_fn *fn, const void *w, const float *x, float *y, size_t size, size_t tokens)
{
    double best = 1e9;
    for (int i = 0; i < 7; i++) {
        double start = lat_clock_seconds();
        fn(w, size, 0, size, x, size, tokens, y, size, false);
        double took = lat_clock_seconds() - start;
        best = took < best ? took : best;
    }
    return 2e-9 * (double)(size * size * tokens) / best;
}

static int bench(void)
{
    enum { SIZE = 1024, TOKENS = 126 };
    float *w = calloc((size_t)SIZE * SIZE, 4), *x = calloc((size_t)SIZE * TOKENS, 4), *y = calloc((size_t)SIZE * TOKENS, 4);
    if (!w || !x || !y)
        return 3;
    static const char *const all[] = { "scalar", "avx2", "avx512", "neon" };
    printf("matrix %d x %d, one thread, G operations/s\n%-8s %12s %12s %12s %12s\n", SIZE, SIZE, "isa", "f32 x1", "bf16 x1",
           "f32 x126", "bf16 x126");
    for (int i = 0; i < 4; i++) {
        const struct lat_kernels *k = lat_kernels_find(all[i]);
        if (!k)
            continue;
        printf("%-8s %12.2f %12.2f", k->isa, matmul_speed(k->matmul_f32, w, x, y, SIZE, 1),
               matmul_speed(k->matmul_bf16, w, x, y, SIZE, 1));
        if (i > 0)
            printf(" %12.2f %12.2f", matmul_speed(k->matmul_f32, w, x, y, SIZE, TOKENS),
                   matmul_speed(k->matmul_bf16, w, x, y, SIZE, TOKENS));
        printf("\n");
    }
    free(w);
    free(x);
    free(y);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return bench();
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_matmul), cmocka_unit_test(test_elementwise),
                                        cmocka_unit_test(test_sequence), cmocka_unit_test(test_exp_error) };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? 1 : skipped ? 77 : 0; // 77: CTest shows the program as skipped
}
