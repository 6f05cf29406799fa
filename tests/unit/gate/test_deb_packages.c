// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Versions in Debian's order; files to packages where dpkg exists.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/file.h"
#include "gate/deb_packages.h"
#include "gate/spawn.h"

static int sign(int x) { return (x > 0) - (x < 0); }

static void test_versions(void **state)
{
    (void)state;
    static const struct { const char *a, *b; int wanted; } cases[] = {
        { "1.0", "1.0", 0 },       { "1.0", "1.1", -1 },        { "1.10", "1.9", 1 },       { "1.0~rc1", "1.0", -1 },
        { "1:0.1", "9.9", 1 },     { "1.0-1", "1.0-2", -1 },    { "1.0-1", "1.0", 1 },      { "1.0a", "1.0", 1 },
        { "1.0+b", "1.0a", 1 },    { "1.002", "1.2", 0 },       { "2.36-9+deb12u14", "2.36-9+deb12u9", 1 },
        { "1.2.13.dfsg-1", "1.2.13", 1 }, { "", "", 0 }, { "1", "1.0", -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(sign(lat_deb_version_compare(cases[i].a, cases[i].b)), cases[i].wanted);
        assert_int_equal(sign(lat_deb_version_compare(cases[i].b, cases[i].a)), -cases[i].wanted);
    }
}

static void test_constraints(void **state)
{
    (void)state;
    static const struct { const char *constraint, *version; bool wanted; } cases[] = {
        { "<1.2.12", "1:1.2.11.dfsg-1", true }, { "<1.2.12", "1:1.2.13.dfsg-1", false }, { "1.2.13", "1:1.2.13.dfsg-1", true },
        { "=1.2.13", "1.2.13", true },          { ">=1.2,<1.3", "1.2.13", true },        { ">=1.2, < 1.2.13", "1.2.13", false },
        { "<=1.2", "1.2", true },               { ">1.2", "1.2", false },                { ">1.2", "1.10", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (lat_version_matches(cases[i].constraint, cases[i].version) != cases[i].wanted)
            fail_msg("%s for %s", cases[i].constraint, cases[i].version);
}

static void test_files(void **state)
{
    (void)state;
    char program[4096];
    struct lat_arena arena;
    struct lat_error error = { 0 };
    if (!lat_spawn_find("dpkg-query", program, sizeof program))
        skip();
    struct lat_deb_file files[] = { { "/usr/include/stdio.h", NULL }, { "/usr/lib/../include/stdlib.h", NULL },
                                    { "/nowhere/at all[1]*", NULL },  { "/usr/include/stdio.h", NULL } };
    lat_arena_init(&arena, 1 << 20);
    if (lat_deb_find(files, 4, &arena, &error) != LAT_OK)
        fail_msg("%s", error.text);
    for (int i = 0; i < 4; i++) {
        if (i == 2) {
            assert_null(files[i].package);
            continue;
        }
        assert_non_null(files[i].package);
        assert_string_equal(files[i].package->source, "glibc");
        assert_string_equal(files[i].package->plain, "libc6-dev");
        assert_true(files[i].package->version[0] >= '0' && files[i].package->version[0] <= '9');
    }
    lat_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_versions), cmocka_unit_test(test_constraints), cmocka_unit_test(test_files) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
