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
#include "tensor/dtype.h"

static const char *const isas[] = { "avx2", "avx512", "neon", "dotprod" };
enum { ISAS = 4, POISON = 0x7b };

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
        size_t queries = 1 + lat_rng_next(rng) % 6;
        float *q = malloc(queries * dim * 4), *kv = malloc(2 * count * dim * 4);
        float *want = malloc(queries * dim * 4), *got = malloc(queries * dim * 4);
        fill(rng, q, queries * dim, 3);
        fill(rng, kv, 2 * count * dim, 3);
        s->attend_f32(q, queries, kv, kv + count * dim, count, dim, 0.3f, want);
        k->attend_f32(q, queries, kv, kv + count * dim, count, dim, 0.3f, got);
        same_bits(k->isa, "attend", want, got, queries * dim);
        uint16_t *half = malloc(2 * count * dim * 2), *half_got = malloc(2 * count * dim * 2);
        s->narrow_f16(kv, 2 * count * dim, half);
        k->narrow_f16(kv, 2 * count * dim, half_got);
        assert_memory_equal(half, half_got, 2 * count * dim * 2);
        s->attend_f16(q, queries, half, half + count * dim, count, dim, 0.3f, want);
        k->attend_f16(q, queries, half, half + count * dim, count, dim, 0.3f, got);
        same_bits(k->isa, "attend f16", want, got, queries * dim);
        free(half);
        free(half_got);

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

// Random panels: scales and codes of any value, as a file could hold them.
static struct lat_panels panels_random(struct lat_rng *rng, struct guarded *g, size_t rows, size_t cols, int bits,
                                       size_t group_blocks, size_t scale_bytes)
{
    struct lat_panels w = { .rows = rows, .cols = cols, .bits = bits, .group_blocks = group_blocks, .scale_bytes = scale_bytes };
    size_t bytes = 0;
    assert_true(lat_panels_plan(&w, &bytes));
    unsigned char *data = guarded_new(g, bytes);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(lat_rng_next(rng) >> 11);
    for (size_t r = 0; r < (rows + 15) / 16 * 16; r++)
        for (size_t i = 0; i < w.groups; i++)
            lat_panels_put_scale(&w, data, r, i, (float)lat_rng_uniform(rng) * 0.1f);
    w.data = data;
    return w;
}

static void quant_one(const struct lat_kernels *k, struct lat_rng *rng, int i)
{
    struct guarded gw, gx;
    size_t rows = 1 + lat_rng_next(rng) % 70, cols = 1 + lat_rng_next(rng) % 200, tokens = 1 + lat_rng_next(rng) % 21;
    struct lat_panels w = panels_random(rng, &gw, rows, cols, i & 1 ? 4 : 8, 1 + lat_rng_next(rng) % 5, i & 2 ? 2 : 4);
    size_t panels = (rows + 15) / 16, y_stride = rows + 3, outputs = tokens * y_stride;
    float *x = (float *)(void *)guarded_new(&gx, tokens * cols * sizeof(float));
    fill(rng, x, tokens * cols, i % 7 == 0 ? 1e-32f : 3);
    for (int j = 0; i % 5 == 0 && j < 6; j++)
        x[lat_rng_next(rng) % (tokens * cols)] = edge_values[lat_rng_next(rng) % 16];
    float *want = malloc(outputs * 4), *got = malloc(outputs * 4);
    struct lat_quant_rows q[2];
    for (int side = 0; side < 2; side++) {
        q[side] = (struct lat_quant_rows){ .q = malloc(tokens * w.blocks * 32), .scale = malloc(tokens * w.blocks * 4),
                                           .sum = malloc(tokens * w.blocks * 4), .blocks = w.blocks };
        for (size_t t = 0; t < tokens; t++)
            (side ? k : &lat_kernels_scalar)->quantize(x + t * cols, cols, q[side].q + t * w.blocks * 32,
                                                       q[side].scale + t * w.blocks, q[side].sum + t * w.blocks);
    }
    assert_memory_equal(q[0].q, q[1].q, tokens * w.blocks * 32);
    assert_memory_equal(q[0].sum, q[1].sum, tokens * w.blocks * 4);
    same_bits(k->isa, "quantize", q[0].scale, q[1].scale, tokens * w.blocks);
    memset(want, POISON, outputs * 4);
    for (size_t t = 0; t < tokens; t++)
        fill(rng, want + t * y_stride, rows, 1);
    memcpy(got, want, outputs * 4);
    size_t begin = panels / 3;
    lat_kernels_scalar.quant_matmul(&w, begin, panels, &q[0], tokens, want, y_stride, i & 4);
    k->quant_matmul(&w, begin, panels, &q[0], tokens, got, y_stride, i & 4);
    same_bits(k->isa, "quant_matmul", want, got, outputs);
    for (int side = 0; side < 2; side++) {
        free(q[side].q);
        free(q[side].scale);
        free(q[side].sum);
    }
    free(want);
    free(got);
    guarded_free(&gw);
    guarded_free(&gx);
}

static void quant_each(const struct lat_kernels *k, struct lat_rng *rng)
{
    for (int i = 0; i < 300; i++)
        quant_one(k, rng, i);
}

static void test_quant(void **state)
{
    (void)state;
    on_each(quant_each);
}

// The largest products there are, which an accumulator of 16 bits could lose.
static void quant_extremes_each(const struct lat_kernels *k, struct lat_rng *rng)
{
    for (int bits = 4; bits <= 8; bits += 4)
        for (int low = 0; low < 2; low++) {
            struct guarded g;
            struct lat_panels w = panels_random(rng, &g, 16, 64, bits, 2, 4);
            for (size_t b = 0; b < w.blocks; b++)
                memset((unsigned char *)w.data + lat_panel_codes_at(&w, b), low ? 0 : 0xff, lat_panel_code_bytes(bits));
            int8_t q[64];
            float scale[2] = { 1, 1 }, want[16], got[16];
            memset(q, low ? -127 : 127, sizeof q);
            int32_t sum[2] = { low ? 32 * 127 : -32 * 127, low ? 32 * 127 : -32 * 127 };
            struct lat_quant_rows x = { .q = q, .scale = scale, .sum = sum, .blocks = 2 };
            lat_kernels_scalar.quant_matmul(&w, 0, 1, &x, 1, want, 16, false);
            k->quant_matmul(&w, 0, 1, &x, 1, got, 16, false);
            same_bits(k->isa, "quant_matmul extremes", want, got, 16);
            guarded_free(&g);
        }
}

static void test_quant_extremes(void **state)
{
    (void)state;
    on_each(quant_extremes_each);
}

// QU-1: zeros, values whose reciprocal overflows, infinities and NaN.
static void test_quantize_edges(void **state)
{
    (void)state;
    static const float values[] = { 0, 1e-38f, INFINITY, NAN };
    for (int i = 0; i < 4; i++) {
        float x[32], scale;
        int8_t q[32];
        int32_t sum;
        for (int j = 0; j < 32; j++)
            x[j] = values[i];
        lat_kernels_scalar.quantize(x, 32, q, &scale, &sum);
        assert_int_equal(sum, 0);
        for (int j = 0; j < 32; j++)
            assert_int_equal(q[j], 0);
        assert_true(i < 2 ? scale == 0 : isnan(scale));
    }
}

// Narrowing inverts widening, and rounds to the nearest with ties to even: all halves, and what lies around them.
static void test_f16(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x7c00; h++) {
        float x = lat_f16_to_f32((uint16_t)h), next = lat_f16_to_f32((uint16_t)(h + 1));
        assert_int_equal(lat_f32_to_f16(x), h);
        assert_int_equal(lat_f32_to_f16(-x), h | 0x8000);
        float middle = h + 1 < 0x7c00 ? (float)(((double)x + (double)next) / 2) : 65520.0f;
        assert_int_equal(lat_f32_to_f16(middle), h % 2 ? h + 1 : h);
        assert_int_equal(lat_f32_to_f16(nextafterf(middle, 0)), h);
        assert_int_equal(lat_f32_to_f16(nextafterf(middle, INFINITY)), h + 1);
    }
    assert_int_equal(lat_f32_to_f16(-INFINITY), 0xfc00);
    assert_true(isnan(lat_f16_to_f32(lat_f32_to_f16(NAN))));
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
static double matmul_speed(lat_matmul_fn *fn, const void *w, const float *x, float *y, size_t rows, size_t size, size_t tokens)
{
    double best = 1e9;
    for (int i = 0; i < 7; i++) {
        double start = lat_clock_seconds();
        fn(w, size, 0, rows, x, size, tokens, y, rows, false);
        double took = lat_clock_seconds() - start;
        best = took < best ? took : best;
    }
    return 2e-9 * (double)(rows * size * tokens) / best;
}

static double quant_speed(const struct lat_kernels *k, int bits, size_t rows, size_t size, size_t tokens)
{
    struct guarded g;
    struct lat_rng rng;
    lat_rng_init(&rng, 3);
    struct lat_panels w = panels_random(&rng, &g, rows, size, bits, 1, 2);
    struct lat_quant_rows q = { .q = calloc(tokens, size), .scale = calloc(tokens * w.blocks, 4),
                                .sum = calloc(tokens * w.blocks, 4), .blocks = w.blocks };
    float *y = calloc(rows * tokens, 4);
    double best = 1e9;
    for (int i = 0; i < 7; i++) {
        double start = lat_clock_seconds();
        k->quant_matmul(&w, 0, (rows + 15) / 16, &q, tokens, y, rows, false);
        double took = lat_clock_seconds() - start;
        best = took < best ? took : best;
    }
    free(q.q);
    free(q.scale);
    free(q.sum);
    free(y);
    guarded_free(&g);
    return 2e-9 * (double)(rows * size * tokens) / best;
}

static void bench_quant(void)
{
    enum { SIZE = 1024 };
    static const char *const all[] = { "avx2", "avx512", "neon", "dotprod" };
    static const size_t tokens[] = { 1, 2, 8, 126, 510 };
    printf("\nintegers, matrix %d x %d, groups of 32, one thread, G operations/s\n%-8s", SIZE, SIZE, "isa");
    for (int bits = 4; bits <= 8; bits += 4)
        for (int j = 0; j < 5; j++)
            printf("  %d bits x%-3zu", bits, tokens[j]);
    printf("\n");
    for (int i = 0; i < 4; i++) {
        const struct lat_kernels *k = lat_kernels_find(all[i]);
        if (!k)
            continue;
        printf("%-8s", k->isa);
        for (int bits = 4; bits <= 8; bits += 4)
            for (int j = 0; j < 5; j++)
                printf(" %12.1f", quant_speed(k, bits, SIZE, SIZE, tokens[j]));
        for (int bits = 4; bits <= 8; bits += 4) // two operations a weight; a scale of 2 bytes for 32 weights
            printf("  %d bits from memory: %.1f GB/s", bits, quant_speed(k, bits, 1 << 18, SIZE, 1) / 2 * (bits / 8.0 + 1.0 / 16));
        printf("\n");
    }
}

static int bench(void)
{
    enum { SIZE = 1024, TOKENS = 126 };
    float *w = calloc((size_t)SIZE * SIZE, 4), *x = calloc((size_t)SIZE * TOKENS, 4), *y = calloc((size_t)SIZE * TOKENS, 4);
    if (!w || !x || !y)
        return 3;
    static const char *const all[] = { "scalar", "avx2", "avx512", "neon", "dotprod" };
    printf("matrix %d x %d, one thread, G operations/s\n%-8s %12s %12s %12s %12s\n", SIZE, SIZE, "isa", "f32 x1", "bf16 x1",
           "f32 x126", "bf16 x126");
    for (int i = 0; i < 5; i++) {
        const struct lat_kernels *k = lat_kernels_find(all[i]);
        if (!k)
            continue;
        printf("%-8s %12.2f %12.2f", k->isa, matmul_speed(k->matmul_f32, w, x, y, SIZE, SIZE, 1),
               matmul_speed(k->matmul_bf16, w, x, y, SIZE, SIZE, 1));
        if (i > 0)
            printf(" %12.2f %12.2f", matmul_speed(k->matmul_f32, w, x, y, SIZE, SIZE, TOKENS),
                   matmul_speed(k->matmul_bf16, w, x, y, SIZE, SIZE, TOKENS));
        printf("\n");
    }
    free(w);
    w = calloc((size_t)SIZE << 18, 2);
    free(y);
    y = calloc((size_t)1 << 18, 4);
    if (!w || !y)
        return 3;
    memset(w, 1, (size_t)SIZE << 19); // pages of its own: the zero page would come from the cache
    for (int i = 1; i < 5; i++) {
        const struct lat_kernels *k = lat_kernels_find(all[i]);
        if (k)
            printf("%-8s bf16 from memory: %.1f GB/s\n", k->isa, matmul_speed(k->matmul_bf16, w, x, y, 1 << 18, SIZE, 1));
    }
    free(w);
    free(x);
    free(y);
    bench_quant();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return bench();
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_matmul), cmocka_unit_test(test_elementwise),
                                        cmocka_unit_test(test_sequence), cmocka_unit_test(test_exp_error),
                                        cmocka_unit_test(test_quant), cmocka_unit_test(test_quant_extremes),
                                        cmocka_unit_test(test_quantize_edges), cmocka_unit_test(test_f16) };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed ? 1 : skipped ? 77 : 0; // 77: CTest shows the program as skipped
}
