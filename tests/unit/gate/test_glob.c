// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/clock.h"
#include "gate/glob.h"

static bool matches(const char *pattern, const char *path) { return lat_glob_match(pattern, path, strlen(path)); }

struct row {
    const char *pattern, *path;
    bool match;
};

static const struct row rows[] = {
    { "a", "a", true },
    { "a", "b", false },
    { "a", "a/b", false },
    { "a", "x/a", false }, // anchored at the root
    { "A", "a", false },
    { "*", "a", true },
    { "*", ".hidden", true },
    { "*", "a/b", false },
    { "*.c", "x.c", true },
    { "*.c", ".c", true },
    { "*.c", "x.cc", false },
    { "*.c", "d/x.c", false },
    { "a*b*c", "abc", true },
    { "a*b*c", "aXbYbZc", true },
    { "a*b*c", "aXbYbZ", false },
    { "?", "a", true },
    { "?", "ab", false },
    { "?", "", false },
    { "??", "\xc3\xa9", true }, // bytes, not characters
    { "**", "a", true },
    { "**", "a/b/c", true },
    { "**/x", "x", true },
    { "**/x", "a/x", true },
    { "**/x", "a/b/x", true },
    { "**/x", "ax", false },
    { "src/**", "src/a", true },
    { "src/**", "src/a/b.c", true },
    { "src/**", "src", true }, // "any number, none too": a submodule or a file in the folder's place
    { "src/**", "srcs/a", false },
    { "src/**", "a/src/b", false },
    { "src/**/x.c", "src/x.c", true },
    { "src/**/x.c", "src/a/b/x.c", true },
    { "src/**/x.c", "src/a/bx.c", false },
    { "**/a/**/b", "q/a/r/a/b", true },
    { "**/a/**/b", "q/a/r/b/c", false },
    { "**/a/*/b", "a/a/x/b", true },
    { "**/*.md", "README.md", true },
    { "**/*.md", ".github/x/README.md", true },
    { "**/**", "a", true },
    { "**/**/a", "a", true },
    { "a/**/**/b", "a/b", true },
    { "LICENSE*", "LICENSE", true },
    { "LICENSE*", "LICENSE.txt", true },
    { "[ab]", "a", true },
    { "[ab]", "c", false },
    { "[a-c]x", "bx", true },
    { "[a-c]x", "dx", false },
    { "[!a-c]x", "dx", true },
    { "[^a-c]x", "bx", false },
    { "[]]", "]", true },
    { "[!]]", "]", false },
    { "[!]]", "x", true },
    { "[a-]", "-", true },
    { "[-a]", "-", true },
    { "[*]", "*", true },
    { "[*]", "x", false },
    { "[!a]", "/", false },
    { "a[!x]b", "a/b", false }, // no class takes a slash
    { "[\x80-\xff]", "\xe9", true },
    { "*[0-9].[ch]", "x7.h", true },
    { "*[0-9].[ch]", "x.h", false },
    { "a/*/c", "a/b/c", true },
    { "a/*/c", "a/b/b/c", false },
    { "a\nb", "a\nb", true },
};

static void table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(lat_glob_check(rows[i].pattern, NULL), LAT_OK);
        if (matches(rows[i].pattern, rows[i].path) != rows[i].match)
            fail_msg("'%s' on '%s' must be %d", rows[i].pattern, rows[i].path, rows[i].match);
    }
}

static void refused(void **state)
{
    static const struct {
        const char *pattern, *why;
    } bad[] = {
        { "", "empty pattern" },       { "/a", "without '/'" },         { "a//b", "empty component" }, { "a/", "folder/**" },
        { "./a", "do not occur" },     { "a/../b", "do not occur" },    { "..", "do not occur" },      { "a/.", "do not occur" },
        { "[a", "without its ']'" },   { "[]", "without its ']'" },     { "[!]", "without its ']'" },  { "a[/]b", "without its ']'" },
        { "[z-a]", "backwards" },      { "[[:alpha:]]", "named class" }, { "a**", "whole components" }, { "**a/b", "whole components" },
        { "a/***", "whole components" }, { "!a/**", "no negation" },    { "a\\*", "no escapes" },      { "*.{c,h}", "braces" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct lat_error error = { 0 };
        if (lat_glob_check(bad[i].pattern, &error) != LAT_FORMAT || !strstr(error.text, bad[i].why))
            fail_msg("'%s': expected '%s', got '%s'", bad[i].pattern, bad[i].why, error.text);
    }
}

// GT-2: a rule that subtracts must not make everything else match; files with a dot in front are files.
static void subtraction_and_dotfiles(void **state)
{
    (void)state;
    assert_false(matches("engine/**", "docs/y.c"));
    assert_int_equal(lat_glob_check("!engine/**/*.md", NULL), LAT_FORMAT);
    assert_false(matches("!engine/**/*.md", "docs/y.c")); // even unchecked
    assert_true(matches("**", ".github/x"));
    assert_true(matches("**", ".golangci.yml"));
    assert_true(matches("**/*.yml", ".golangci.yml"));
}

static void path_length_counts(void **state)
{
    (void)state;
    assert_true(lat_glob_match("a/b", "a/bXYZ", 3));
    assert_false(lat_glob_match("a/b", "a/bXYZ", 4));
    assert_false(lat_glob_match("a", "a\0b", 3)); // a NUL is a byte like any other
}

// Patterns that take a backtracking matcher for ever.
static void pathological(void **state)
{
    (void)state;
    enum { N = 20000 };
    char *path = malloc(2 * N + 1), *pattern = malloc(2 * N + 1);
    double start = lat_clock_seconds();
    memset(path, 'a', 2 * N);
    path[2 * N] = '\0';
    for (size_t i = 0; i < 200; i++)
        memcpy(pattern + 2 * i, "a*", 2);
    memcpy(pattern + 400, "b", 2);
    assert_false(matches(pattern, path));
    for (size_t i = 0; i < N; i++)
        memcpy(path + 2 * i, "a/", 2);
    path[2 * N - 1] = '\0';
    for (size_t i = 0; i < 40; i++)
        memcpy(pattern + 5 * i, "**/a/", 5);
    memcpy(pattern + 200, "b", 2);
    assert_int_equal(lat_glob_check(pattern, NULL), LAT_OK);
    assert_false(matches(pattern, path));
    memcpy(pattern + 200, "a", 2);
    assert_true(matches(pattern, path));
    assert_true(lat_clock_seconds() - start < 2);
    free(path);
    free(pattern);
}

// The obvious, exponential definition, as an independent witness over all small patterns and paths.
static bool slow_component(const char *p, const char *p_end, const char *n, const char *n_end)
{
    if (p == p_end)
        return n == n_end;
    if (*p == '*')
        return slow_component(p + 1, p_end, n, n_end) || (n < n_end && slow_component(p, p_end, n + 1, n_end));
    return n < n_end && (*p == '?' || *p == *n) && slow_component(p + 1, p_end, n + 1, n_end);
}

static bool slow(const char *p, const char *n)
{
    if (!p || !n)
        return !p ? !n : strncmp(p, "**", 2) == 0 && (p[2] == '\0' || p[2] == '/') && slow(p[2] ? p + 3 : NULL, NULL);
    const char *pe = p + strcspn(p, "/"), *ne = n + strcspn(n, "/"), *p_next = *pe ? pe + 1 : NULL, *n_next = *ne ? ne + 1 : NULL;
    if (pe - p == 2 && p[0] == '*' && p[1] == '*')
        return slow(p_next, n) || slow(p, n_next);
    return slow_component(p, pe, n, ne) && slow(p_next, n_next);
}

static void agrees_with_the_definition(void **state)
{
    static const char letters[] = "ab/*?", *const parts[] = { "a", "b", "*", "a*", "?b", "**" };
    char pattern[32], path[16];
    size_t compared = 0;
    (void)state;
    for (size_t i = 0; i < 6 * 6 * 6 * 6; i++) {
        size_t k = i;
        pattern[0] = '\0';
        for (int c = 0; c < 4; c++, k /= 6)
            snprintf(pattern + strlen(pattern), sizeof pattern - strlen(pattern), "%s%s", c ? "/" : "", parts[k % 6]);
        for (size_t j = 0; j < 3 * 3 * 3 * 3 * 3 * 3; j++) {
            size_t m = j;
            for (int c = 0; c < 6; c++, m /= 3)
                path[c] = letters[m % 3];
            path[6] = '\0';
            if (strstr(path, "//") || path[0] == '/' || path[5] == '/')
                continue;
            compared++;
            if (matches(pattern, path) != slow(pattern, path))
                fail_msg("'%s' on '%s'", pattern, path);
        }
    }
    assert_true(compared > 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(refused),
        cmocka_unit_test(subtraction_and_dotfiles),
        cmocka_unit_test(path_length_counts),
        cmocka_unit_test(pathological),
        cmocka_unit_test(agrees_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
