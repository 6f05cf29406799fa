// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The pieces of the hand-written patterns (case TK-3 among them; wanted values are Hugging Face's), and patterns
// through PCRE2.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "text/split.h"

// Pieces joined by '|' (which the texts here do not hold).
static void splits(enum lat_split_kind kind, const char *text, const char *want)
{
    char got[400];
    size_t used = 0, length = strlen(text);
    for (size_t at = 0; at < length;) {
        size_t size = lat_split_next(kind, text + at, length - at);
        assert_in_range(size, 1, length - at);
        if (at)
            got[used++] = '|';
        memcpy(got + used, text + at, size);
        used += size;
        at += size;
    }
    got[used] = '\0';
    assert_string_equal(got, want);
}

static void test_white_space(void **state)
{
    (void)state;
    for (int kind = LAT_SPLIT_QWEN35; kind <= LAT_SPLIT_QWEN2; kind++) {
        splits((enum lat_split_kind)kind, "a   b", "a|  | b");
        splits((enum lat_split_kind)kind, "a  ", "a|  ");
        splits((enum lat_split_kind)kind, "a \n b", "a| \n| b");
        splits((enum lat_split_kind)kind, "\r\n \n\t x", "\r\n \n|\t| x");
        splits((enum lat_split_kind)kind, "a.\n\n b!\r\n", "a|.\n\n| b|!\r\n");
        splits((enum lat_split_kind)kind, "\tx \xc2\xa0y", "\tx| |\xc2\xa0y");
    }
    splits(LAT_SPLIT_GPT2, "a \n b\n\n", "a| \n| b|\n\n");
}

static void test_words(void **state)
{
    (void)state;
    splits(LAT_SPLIT_QWEN35, "don't IT'S 'll2", "don|'t| IT|'S| '|ll|2");
    splits(LAT_SPLIT_QWEN35, "x'\xc5\xbf\xc5\xbf", "x|'\xc5\xbf|\xc5\xbf"); // a long s is an s to (?i:...)
    splits(LAT_SPLIT_QWEN35, "12a(b)", "1|2|a|(b|)");
    splits(LAT_SPLIT_GPT2, "don't IT'S 123 4a_b", "don|'t| IT|'|S| 123| 4|a|_|b");
    // A mark belongs to the word in Qwen3.5 and is a sign of its own before.
    splits(LAT_SPLIT_QWEN35, "\xe0\xa4\x95\xe0\xa4\xbf\xe0\xa4\x95", "\xe0\xa4\x95\xe0\xa4\xbf\xe0\xa4\x95");
    splits(LAT_SPLIT_QWEN2, "\xe0\xa4\x95\xe0\xa4\xbf\xe0\xa4\x95", "\xe0\xa4\x95|\xe0\xa4\xbf\xe0\xa4\x95");
}

static void test_recognised_by_exact_text(void **state)
{
    (void)state;
    static const char qwen2[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
                                "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    assert_int_equal(lat_split_recognise(qwen2, sizeof qwen2 - 1), LAT_SPLIT_QWEN2);
    assert_int_equal(lat_split_recognise(qwen2, sizeof qwen2 - 2), LAT_SPLIT_REGEX);
    assert_int_equal(lat_split_recognise("", 0), LAT_SPLIT_REGEX);
}

static void test_other_patterns(void **state)
{
    (void)state;
    struct lat_regex *regex = NULL;
    struct lat_error error = { 0 };
    size_t begin = 0, end = 0;
    enum lat_status status = lat_regex_new(&regex, "\\d+|x", 5, &error);
    if (status == LAT_UNAVAILABLE) { // a build with LATTICE_REGEX off
        assert_non_null(strstr(error.text, "LATTICE_REGEX"));
        return;
    }
    assert_int_equal(status, LAT_OK);
    assert_int_equal(lat_regex_find(regex, "ab12x", 5, 0, &begin, &end, NULL), LAT_OK);
    assert_int_equal(begin, 2);
    assert_int_equal(end, 4);
    assert_int_equal(lat_regex_find(regex, "ab", 2, 0, &begin, &end, NULL), LAT_OK);
    assert_int_equal(begin, 2);
    lat_regex_free(regex);
    assert_int_equal(lat_regex_new(&regex, "(a", 2, &error), LAT_FORMAT);
    // A pattern of exponential time is stopped.
    static const char text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
    assert_int_equal(lat_regex_new(&regex, "(a|a)+[cd]", 10, &error), LAT_OK);
    assert_int_equal(lat_regex_find(regex, text, sizeof text - 1, 0, &begin, &end, &error), LAT_LIMIT);
    lat_regex_free(regex);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_white_space), cmocka_unit_test(test_words),
                                        cmocka_unit_test(test_recognised_by_exact_text), cmocka_unit_test(test_other_patterns) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
