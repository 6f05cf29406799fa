// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The machine's ceilings: figures are there, in a range that a machine can have, never fall, and grow with threads. With
// `--print` the program prints them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/machine_roof.h"
#include "core/pool.h"
#include "kernels/kernels.h"

static void test_one_thread(void **state)
{
    (void)state;
    struct lat_roof *roof;
    struct lat_error error = { 0 };
    assert_int_equal(lat_roof_new(&roof, 1, &error), LAT_OK);
    const struct lat_roof_figures *f = lat_roof_view(roof);
    assert_true(f->read_bytes_s == 0 && f->f32.how == NULL);
    lat_roof_sample(roof);
    struct lat_roof_figures first = *f;
    assert_int_equal(first.threads, 1);
    assert_true(first.buffer_bytes >= (size_t)1 << 20);
    assert_true(first.read_bytes_s > 1e8 && first.read_bytes_s < 1e13);
    assert_non_null(first.f32.how);
    assert_true(first.f32.rate > 1e8 && first.f32.rate < 1e13);
    lat_roof_sample(roof);
    assert_true(f->read_bytes_s >= first.read_bytes_s && f->f32.rate >= first.f32.rate && f->int8.rate >= first.int8.rate);
    // Where there are instructions for bytes. Not a figure above the floats': maddubs, madd and add to a product of 32 bytes
    // come out level with fma on a processor that issues two of either a cycle, and a busy machine disturbs both samples.
    if (lat_kernels_find("avx2")) {
        assert_non_null(f->int8.how);
        assert_true(f->int8.rate > f->f32.rate / 4);
    }
    lat_roof_free(roof);
}

static void test_refused(void **state)
{
    (void)state;
    struct lat_roof *roof;
    struct lat_error error = { 0 };
    assert_int_equal(lat_roof_new(&roof, LAT_POOL_THREADS_MAX + 1, &error), LAT_ARGUMENT);
    assert_null(roof);
    lat_roof_free(roof);
}

static void print_peak(const char *name, const struct lat_roof_peak *peak)
{
    if (peak->how)
        printf("%-6s %8.1f G/s (%s)\n", name, peak->rate / 1e9, peak->how);
}

static int print(void)
{
    for (int threads = 1; threads <= lat_pool_processors(); threads *= 2) {
        struct lat_roof *roof;
        if (lat_roof_new(&roof, threads, NULL) != LAT_OK)
            return 1;
        lat_roof_sample(roof);
        const struct lat_roof_figures *f = lat_roof_view(roof);
        printf("%d threads, %zu MiB\nread   %8.1f GB/s\n", f->threads, f->buffer_bytes >> 20, f->read_bytes_s / 1e9);
        print_peak("f32", &f->f32);
        print_peak("int8", &f->int8);
        print_peak("tile", &f->tile);
        lat_roof_free(roof);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--print") == 0)
        return print();
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_thread), cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
