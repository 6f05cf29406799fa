// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Packed matrices: what is read back, and that each kind of damage is refused with the tensor's name.
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

#include "core/mem.h"
#include "nn/packed.h"

enum { ROWS = 5, COLS = 64, GROUP = 32 };

struct damage {
    const char *leave_out, *say; // tensor's tail that is missing; text of the error
    size_t words, groups, zero_rows;
    bool nan_scale, zero_point, g_idx, wrong_shape, f32_codes;
};

struct built {
    char folder[64];
    struct lat_st_folder *weights;
};

static uint32_t code_word(size_t row, size_t word, int bits)
{
    uint32_t out = 0;
    for (size_t i = 0; i < 32 / (size_t)bits; i++)
        out |= (uint32_t)((row * 7 + word * 5 + i * 3) % (1u << bits)) << (i * (size_t)bits);
    return out;
}

static void put_all(struct lat_st_writer *w, const struct lat_st_spec *specs, size_t count, const struct damage *d, int bits)
{
    for (size_t t = 0; t < count; t++) {
        const char *tail = strstr(specs[t].name, "weight_") + 7;
        size_t elements = 1;
        for (int i = 0; i < specs[t].rank; i++)
            elements *= specs[t].shape[i];
        for (size_t i = 0; i < elements; i++) {
            uint32_t word = 0x77777777;
            float scale = d->nan_scale && i == 3 ? NAN : 0.01f * (float)(i + 1);
            int64_t shape = (i == 0 ? ROWS : COLS) + d->wrong_shape;
            if (strcmp(tail, "packed") == 0)
                word = code_word(i / specs[t].shape[1], i % specs[t].shape[1], bits);
            const void *value = strcmp(tail, "scale") == 0 ? (const void *)&scale
                              : strcmp(tail, "shape") == 0 ? (const void *)&shape : &word;
            assert_int_equal(lat_st_writer_put(w, t, i, value, 1, NULL), LAT_OK);
        }
    }
}

static struct built build(const struct damage *d, int bits)
{
    struct built b = { .folder = "/tmp/lattice-packed-XXXXXX" };
    char path[96];
    struct lat_st_writer *writer = NULL;
    struct lat_error error = { 0 };
    const struct lat_st_spec all[] = {
        { "m.weight_packed", d->f32_codes ? LAT_DTYPE_F32 : LAT_DTYPE_I32, 2,
          { ROWS, d->words ? d->words : COLS * (size_t)bits / 32 } },
        { "m.weight_scale", LAT_DTYPE_F32, 2, { ROWS, d->groups ? d->groups : COLS / GROUP } },
        { "m.weight_shape", LAT_DTYPE_I64, 1, { 2 } },
        { "m.weight_zero_point", LAT_DTYPE_I32, 2, { d->zero_rows ? d->zero_rows : 1, COLS / GROUP } },
        { "m.weight_g_idx", LAT_DTYPE_I32, 1, { COLS } },
    };
    struct lat_st_spec specs[5];
    size_t count = 0;
    for (size_t i = 0; i < 5; i++) {
        bool out = (d->leave_out && strstr(all[i].name, d->leave_out)) || (i == 3 && !d->zero_point) || (i == 4 && !d->g_idx);
        if (!out)
            specs[count++] = all[i];
    }
    assert_non_null(mkdtemp(b.folder));
    snprintf(path, sizeof path, "%s/model.safetensors", b.folder);
    assert_int_equal(lat_st_writer_open(&writer, path, specs, count, NULL, 0, &error), LAT_OK);
    put_all(writer, specs, count, d, bits);
    assert_int_equal(lat_st_writer_commit(writer, &error), LAT_OK);
    assert_int_equal(lat_st_folder_open(&b.weights, b.folder, &error), LAT_OK);
    return b;
}

static void remove_built(struct built *b)
{
    char path[96];
    lat_st_folder_close(b->weights);
    snprintf(path, sizeof path, "%s/model.safetensors", b->folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(b->folder), 0);
}

static enum lat_status load(struct built *b, struct lat_matrix *m, struct lat_arena *arena, struct lat_error *error)
{
    uint64_t stored = 0;
    lat_arena_init(arena, 1 << 24);
    return lat_packed_load(m, b->weights, "m", ROWS, COLS, arena, &stored, error);
}

static void check_values(int bits, bool zero_point)
{
    struct damage none = { .zero_point = zero_point, .zero_rows = bits == 8 ? 2 : 1 };
    struct built b = build(&none, bits);
    struct lat_matrix m;
    struct lat_arena arena;
    struct lat_error error = { 0 };
    if (load(&b, &m, &arena, &error) != LAT_OK)
        fail_msg("%s", error.text);
    float wide[LAT_PANEL_ROWS * COLS];
    if (lat_matrix_is_quantized(&m))
        lat_panels_widen(&m.panels, 0, wide);
    else
        memcpy(wide, m.data, ROWS * COLS * sizeof *wide);
    assert_true(lat_matrix_is_quantized(&m) == !(zero_point && bits == 8));
    for (size_t r = 0; r < ROWS; r++)
        for (size_t c = 0; c < COLS; c++) {
            size_t per_word = 32 / (size_t)bits;
            int q = (int)((r * 7 + c / per_word * 5 + c % per_word * 3) % (1u << bits)) - (1 << (bits - 1));
            int zero = !zero_point ? 0 : bits == 4 ? 7 - 8 : 0x77 - 128;
            float want = (float)(q - zero) * (0.01f * (float)(r * (COLS / GROUP) + c / GROUP + 1));
            if (wide[r * COLS + c] != want)
                fail_msg("%d bits, row %zu, column %zu: %g, not %g", bits, r, c, (double)wide[r * COLS + c], (double)want);
        }
    lat_arena_release(&arena);
    remove_built(&b);
}

static void test_values(void **state)
{
    (void)state;
    check_values(4, false);
    check_values(8, false);
    check_values(4, true);
    check_values(8, true);
}

static void test_damage(void **state)
{
    (void)state;
    static const struct damage all[] = {
        { .nan_scale = true, .say = "m.weight_scale: element 3 is not finite" },
        { .leave_out = "scale", .say = "m.weight_scale is missing" },
        { .words = 9, .say = "m.weight_packed has 9 words" },
        { .words = 12, .say = "neither 4 nor 8 bits" },
        { .groups = 3, .say = "m.weight_scale has a number of groups" },
        { .groups = 128, .say = "m.weight_scale has a number of groups" },
        { .wrong_shape = true, .say = "m.weight_shape says [6, 65]" },
        { .f32_codes = true, .say = "m.weight_packed is not I32" },
        { .g_idx = true, .say = "m.weight_g_idx: activation ordering" },
        { .zero_point = true, .zero_rows = 2, .say = "m.weight_zero_point is not I32" },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct built b = build(&all[i], 4);
        struct lat_matrix m;
        struct lat_arena arena;
        struct lat_error error = { 0 };
        if (load(&b, &m, &arena, &error) == LAT_OK || !strstr(error.text, all[i].say))
            fail_msg("damage %zu: '%s', wanted '%s'", i, error.text, all[i].say);
        lat_arena_release(&arena);
        remove_built(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_values), cmocka_unit_test(test_damage) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
