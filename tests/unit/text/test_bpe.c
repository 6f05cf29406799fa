// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Merging: order of ranks and places, whole-piece tokens, and time that grows with the length only.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/mem.h"
#include "text/nfc.h"
#include "text/tokenizer_parts.h"

// A tokenizer of this vocabulary and these merges, and "more" members of the model.
static struct lat_tokenizer *make(const char *vocab, const char *merges, const char *more)
{
    char text[2000];
    struct lat_error error = { 0 };
    int length = snprintf(text, sizeof text,
                          "{\"model\":{\"type\":\"BPE\",\"vocab\":{%s},\"merges\":[%s]%s},\"pre_tokenizer\":{\"type\":\"ByteLevel\","
                          "\"add_prefix_space\":false},\"decoder\":{\"type\":\"ByteLevel\"}}", vocab, merges, more);
    struct lat_tokenizer *t = lat_mem_new(1, sizeof *t);
    assert_non_null(t);
    if (lat_tokenizer_parse(t, text, (size_t)length, "t.json", &error) != LAT_OK)
        fail_msg("%s", error.text);
    return t;
}

static void encodes(struct lat_tokenizer *t, const char *text, const int32_t *want, size_t count)
{
    struct lat_ids ids = { 0 };
    assert_int_equal(lat_bpe_encode(&t->bpe, text, strlen(text), &ids, NULL), LAT_OK);
    assert_int_equal(ids.count, count);
    assert_memory_equal(ids.items, want, count * sizeof *want);
    lat_ids_release(&ids);
}

static void test_lowest_rank_then_leftmost(void **state)
{
    (void)state;
    struct lat_tokenizer *t = make("\"a\":0,\"b\":1,\"aa\":2,\"ab\":3,\"aab\":4", "\"a b\",[\"a\",\"a\"],\"a ab\"", "");
    encodes(t, "aaab", (int32_t[]){ 2, 3 }, 2);     // ab first, then the a a before it
    encodes(t, "aab", (int32_t[]){ 4 }, 1);
    encodes(t, "aaa", (int32_t[]){ 2, 0 }, 2);      // the leftmost of equals
    encodes(t, "aabcb", (int32_t[]){ 4, 1 }, 2);    // c is not in the vocabulary
    lat_tokenizer_free(t);
}

static void test_ignore_merges(void **state)
{
    (void)state;
    struct lat_tokenizer *t = make("\"a\":0,\"b\":1,\"bab\":2,\"ab\":3", "\"a b\"", ",\"ignore_merges\":true");
    encodes(t, "bab", (int32_t[]){ 2 }, 1);
    encodes(t, "babb", (int32_t[]){ 1, 3, 1 }, 3);
    lat_tokenizer_free(t);
    t = make("\"a\":0,\"b\":1,\"bab\":2,\"ab\":3", "\"a b\"", "");
    encodes(t, "bab", (int32_t[]){ 1, 3 }, 2);
    lat_tokenizer_free(t);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// A megabyte without a place to split. Quadratic time would take hours; the bound leaves room for sanitizers.
static void test_time_is_linear(void **state)
{
    (void)state;
    enum { LENGTH = 1 << 20 };
    struct lat_tokenizer *t = make("\"a\":0,\"aa\":1,\"aaa\":2,\"aaaa\":3", "\"a a\",\"aa aa\",\"aa a\"", "");
    char *text = lat_mem_new(LENGTH + 1, 1);
    memset(text, 'a', LENGTH);
    struct lat_ids ids = { 0 };
    double start = seconds();
    assert_int_equal(lat_tokenizer_encode(t, text, LENGTH, 0, &ids, NULL), LAT_OK);
    assert_int_equal(ids.count, LENGTH / 4);
    assert_true(seconds() - start < 30);
    lat_ids_release(&ids);
    lat_tokenizer_free(t);
    // Marks in alternating order, which normalising must sort.
    for (size_t i = 0; i < LENGTH; i += 4)
        memcpy(text + i, "\xcc\x81\xcc\xa3", 4);
    struct lat_buf out;
    lat_buf_init(&out, LENGTH * 2);
    start = seconds();
    assert_int_equal(lat_nfc_add(&out, text, LENGTH, NULL), LAT_OK);
    assert_true(seconds() - start < 30);
    assert_int_equal(out.length, LENGTH);
    assert_memory_equal(out.bytes, "\xcc\xa3\xcc\xa3", 4);
    assert_memory_equal(out.bytes + LENGTH - 4, "\xcc\x81\xcc\x81", 4);
    lat_buf_release(&out);
    lat_mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_lowest_rank_then_leftmost), cmocka_unit_test(test_ignore_merges),
                                        cmocka_unit_test(test_time_is_linear) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
