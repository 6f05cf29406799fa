// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What CMake files would fetch, and whether it is pinned.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gate/fetch_scan.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define DIGEST "SHA256=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char seen[2000];

static enum lat_status note(void *context, const struct lat_fetch *f, struct lat_error *error)
{
    (void)context;
    (void)error;
    size_t used = strlen(seen);
    const char *pin = lat_fetch_revision_is_exact(f->revision) || lat_fetch_hash_is_exact(f->hash) ? "exact" : "loose";
    snprintf(seen + used, sizeof seen - used, "%zu %s %s %s;", f->line, f->name, f->git ? f->git : f->url, pin);
    return LAT_OK;
}

static enum lat_status scan(const char *text, struct lat_error *error)
{
    struct lat_arena arena;
    lat_arena_init(&arena, 1 << 20);
    seen[0] = 0;
    enum lat_status status = lat_fetch_scan("CMakeLists.txt", text, strlen(text), &arena, note, NULL, error);
    lat_arena_release(&arena);
    return status;
}

static void test_found(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "FetchContent_Declare(fmt GIT_REPOSITORY https://h/fmt.git GIT_TAG " COMMIT ")", "1 fmt https://h/fmt.git exact;" },
        { "project(x)\nfetchcontent_declare(\n  fmt\n  GIT_REPOSITORY \"https://h/fmt\" # why\n  GIT_TAG main)\n",
          "2 fmt https://h/fmt loose;" },
        { "FetchContent_Declare(z URL https://h/z.tgz URL_HASH " DIGEST ")", "1 z https://h/z.tgz exact;" },
        { "FetchContent_Declare(z URL https://h/z.tgz URL_HASH MD5=0123456789abcdef0123456789abcdef)", "1 z https://h/z.tgz loose;" },
        { "FetchContent_Declare(z URL https://h/z.tgz)", "1 z https://h/z.tgz loose;" },
        { "FetchContent_Declare(z SOURCE_DIR x)", "" },
        { "ExternalProject_Add(z GIT_REPOSITORY git@h:z GIT_TAG v1.2)", "1 z git@h:z loose;" },
        { "file(DOWNLOAD https://h/data.bin x EXPECTED_HASH " DIGEST ")", "1 data https://h/data.bin exact;" },
        { "file(DOWNLOAD ${URL} x)", "1 ${URL} ${URL} loose;" },
        { "file(READ x y)", "" },
        { "if(X)\n execute_process(COMMAND git clone https://h/a)\nendif()", "2 a https://h/a loose;" },
        { "execute_process(COMMAND git describe)", "" },
        { "add_custom_command(OUTPUT x COMMAND /usr/bin/curl -o x https://h/a.c)", "1 a https://h/a.c loose;" },
        { "# FetchContent_Declare(a URL b)\n#[[ FetchContent_Declare(\n a URL b) ]]\nset(x \"FetchContent_Declare(a URL b)\")\n"
          "message([=[ FetchContent_Declare(a URL b) ]] ]=])", "" },
        { "set(a (b (c)))\nFetchContent_Declare(a URL b)", "2 a b loose;" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lat_error error = { 0 };
        if (scan(cases[i][0], &error) != LAT_OK)
            fail_msg("case %zu: %s", i, error.text);
        if (strcmp(seen, cases[i][1]) != 0)
            fail_msg("case %zu: '%s', wanted '%s'", i, seen, cases[i][1]);
    }
}

static void test_damaged(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "project(x\n", "CMakeLists.txt:1: project is not closed" },
        { "\nset(x \"a)\n", "CMakeLists.txt:2: a quoted text is not closed" },
        { "set(x [==[ ]=] )", "a bracket is not closed" },
        { "#[[ x", "a bracket is not closed" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lat_error error = { 0 };
        assert_int_equal(scan(cases[i][0], &error), LAT_FORMAT);
        if (!strstr(error.text, cases[i][1]))
            fail_msg("case %zu: '%s'", i, error.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_found), cmocka_unit_test(test_damaged) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
