// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Rotations are orthogonal at every size of the family and at sizes without a Hadamard matrix; packed rows read back as
// the nearest codes; the search never does worse; cases QU-1 and QU-3.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/rng.h"
#include "quant/hadamard.h"
#include "quant/pack.h"
#include "quant/transform.h"
#include "tensor/dtype.h"

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void random_vector(struct lat_rng *rng, double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 2 * lat_rng_uniform(rng) - 1;
}

// Inner products stay: of a vector with itself and of two.
static void check_size(size_t n, size_t factor, bool hadamard)
{
    struct lat_rotation r;
    struct lat_error error = { 0 };
    struct lat_rng rng;
    lat_rng_init(&rng, n);
    assert_int_equal(lat_rotation_init(&r, n, 42, &error), LAT_OK);
    if (r.factor != factor || r.hadamard != hadamard)
        fail_msg("size %zu has factor %zu", n, r.factor);
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), *scratch = malloc(n * sizeof *x);
    random_vector(&rng, x, n);
    random_vector(&rng, y, n);
    double xx = dot(x, x, n), xy = dot(x, y, n), peak = 0;
    lat_rotation_apply(&r, x, scratch);
    lat_rotation_apply(&r, y, scratch);
    assert_true(fabs(dot(x, x, n) - xx) < 1e-10 * (double)n);
    assert_true(fabs(dot(x, y, n) - xy) < 1e-10 * (double)n);
    memset(x, 0, n * sizeof *x); // one outlier is spread over everything
    x[n / 3] = 1;
    lat_rotation_apply(&r, x, scratch);
    for (size_t i = 0; i < n; i++)
        peak = fmax(peak, fabs(x[i]));
    if (hadamard)
        assert_true(fabs(peak - 1 / sqrt((double)n)) < 1e-12);
    free(x);
    free(y);
    free(scratch);
    lat_rotation_release(&r);
}

static void test_rotations(void **state)
{
    (void)state;
    check_size(1, 1, true);
    check_size(2, 1, true);
    check_size(1024, 1, true);
    check_size(2048, 1, true);
    check_size(4096, 1, true);
    check_size(2560, 20, true);
    check_size(5120, 20, true);
    check_size(3584, 28, true);
    check_size(896, 28, true);
    check_size(6144, 12, true);
    check_size(9216, 36, true);
    check_size(17408, 68, true);
    check_size(13696, 107, false);
    check_size(48, 12, true);
    check_size(7, 7, false);
}

static void test_paley(void **state)
{
    (void)state;
    static double m[512 * 512];
    int found = 0;
    for (size_t n = 1; n <= 512; n++) {
        if (!lat_hadamard_paley(n, m))
            continue;
        found++;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                if (dot(m + i * n, m + j * n, n) != (i == j ? (double)n : 0))
                    fail_msg("order %zu: rows %zu and %zu", n, i, j);
    }
    assert_true(found > 40);
}

static void test_seeds(void **state)
{
    (void)state;
    struct lat_rotation a, b;
    assert_int_equal(lat_rotation_init(&a, 64, 1, NULL), LAT_OK);
    assert_int_equal(lat_rotation_init(&b, 64, 2, NULL), LAT_OK);
    assert_memory_not_equal(a.signs, b.signs, 64 * sizeof *a.signs);
    lat_rotation_release(&a);
    lat_rotation_release(&b);
}

static int code_at(const uint32_t *words, size_t i, int bits)
{
    size_t per_word = 32 / (size_t)bits;
    return (int)(words[i / per_word] >> (i % per_word * (size_t)bits) & ((1u << bits) - 1)) - (1 << (bits - 1));
}

static void check_row(const struct lat_pack *pack, const float *w, size_t cols)
{
    uint32_t words[128];
    uint16_t scales[64];
    double error = lat_pack_row(pack, w, cols, words, scales), sum = 0;
    for (size_t i = 0; i < cols; i++) {
        float scale = lat_bf16_to_f32(scales[i / pack->group]);
        assert_true(isfinite(scale) && scale >= 0);
        double e = (double)w[i] - (double)code_at(words, i, pack->bits) * (double)scale;
        sum += e * e;
    }
    assert_true(fabs(sum - error) <= 1e-12 * (1 + sum));
    struct lat_pack plain = *pack;
    plain.search = false;
    assert_true(error <= lat_pack_row(&plain, w, cols, words, scales));
}

static void test_pack(void **state)
{
    (void)state;
    struct lat_rng rng;
    lat_rng_init(&rng, 5);
    float w[256];
    for (int i = 0; i < 400; i++) {
        struct lat_pack pack = { .bits = i & 1 ? 4 : 8, .group = (size_t[]){ 32, 64, 128, 256 }[i / 2 % 4], .search = i & 8 };
        float scale = (float)pow(10, (double)(lat_rng_next(&rng) % 60) - 38);
        for (int j = 0; j < 256; j++)
            w[j] = scale * (float)(2 * lat_rng_uniform(&rng) - 1);
        check_row(&pack, w, 256);
    }
    struct lat_pack odd = { .bits = 4, .group = 32 };
    assert_false(lat_pack_fits(&odd, 48));
    assert_true(lat_pack_fits(&odd, 64));
    odd.group = 12;
    assert_false(lat_pack_fits(&odd, 12)); // no whole words
}

// QU-1: zeros; values whose reciprocal overflows; one of 70000; the largest float.
static void test_pack_edges(void **state)
{
    (void)state;
    static const float values[] = { 0, 1e-38f, 1e-44f, 70000, FLT_MAX };
    for (int bits = 4; bits <= 8; bits += 4)
        for (size_t k = 0; k < 5; k++) {
            struct lat_pack pack = { .bits = bits, .group = 32, .search = true };
            float w[32] = { 0 };
            uint32_t words[8];
            uint16_t scale;
            for (int i = 0; i < 32; i++)
                w[i] = k == 3 && i ? 0 : values[k];
            check_row(&pack, w, 32);
            lat_pack_row(&pack, w, 32, words, &scale);
            if (k == 0) {
                assert_int_equal(scale, 0);
                for (size_t i = 0; i < 32; i++)
                    assert_int_equal(code_at(words, i, bits), 0);
            }
            if (k >= 3) {
                double back = code_at(words, 0, bits) * (double)lat_bf16_to_f32(scale);
                assert_true(fabs(back - (double)values[k]) < 0.01 * (double)values[k]);
            }
        }
}

static void test_roles(void **state)
{
    (void)state;
    struct lat_tensor_role r;
    lat_tensor_role_find(&r, "model.language_model.layers.12.linear_attn.in_proj_a.weight");
    assert_int_equal(r.role, LAT_ROLE_READER);
    assert_false(r.linear);
    assert_string_equal(r.norm, "model.language_model.layers.12.input_layernorm.weight");
    lat_tensor_role_find(&r, "model.layers.0.mlp.experts.31.up_proj.weight");
    assert_true(r.linear && r.role == LAT_ROLE_READER);
    assert_string_equal(r.norm, "model.layers.0.post_attention_layernorm.weight");
    lat_tensor_role_find(&r, "model.layers.0.mlp.experts.gate_up_proj");
    assert_true(r.experts && r.gate_up);
    lat_tensor_role_find(&r, "mtp.layers.0.mlp.gate_proj.weight");
    assert_int_equal(r.role, LAT_ROLE_PREDICTION);
    lat_tensor_role_find(&r, "model.visual.merger.linear_fc2.bias");
    assert_int_equal(r.role, LAT_ROLE_BIAS);
    lat_tensor_role_find(&r, "model.visual.blocks.0.mlp.down_proj.weight");
    assert_int_equal(r.role, LAT_ROLE_OTHER);
    lat_tensor_role_find(&r, "model.layers.0.self_attn.q_norm.weight");
    assert_int_equal(r.role, LAT_ROLE_OTHER);
    lat_tensor_role_find(&r, "model.norm.weight");
    assert_int_equal(r.role, LAT_ROLE_NORM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rotations), cmocka_unit_test(test_paley), cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_pack),      cmocka_unit_test(test_pack_edges), cmocka_unit_test(test_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
