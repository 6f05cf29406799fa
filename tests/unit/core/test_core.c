// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"
#include "core/sha256.h"
#include "core/utf8.h"

static void digest(const char *text, size_t step, char hex[LAT_SHA256_HEX_SIZE])
{
    struct lat_sha256 hash;
    lat_sha256_init(&hash);
    for (size_t at = 0, n = strlen(text); at < n; at += step)
        lat_sha256_add(&hash, text + at, n - at < step ? n - at : step);
    lat_sha256_hex(&hash, hex);
}

// Vectors of FIPS 180-4's examples, fed in pieces of every size.
static void test_sha256(void **state)
{
    (void)state;
    char hex[LAT_SHA256_HEX_SIZE];
    digest("", 1, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (size_t step = 1; step < 70; step++) {
        digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", step, hex);
        assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    }
}

static void test_error_is_one_line(void **state)
{
    (void)state;
    struct lat_error error = { 0 };
    assert_int_equal(lat_error_set(&error, LAT_FORMAT, "a\nb\033[31m"), LAT_FORMAT);
    assert_string_equal(error.text, "a?b?[31m");
    assert_int_equal(lat_error_prefix(&error, LAT_FORMAT, "file"), LAT_FORMAT);
    assert_string_equal(error.text, "file: a?b?[31m");
    assert_int_equal(lat_status_exit_code(LAT_FORMAT), 2);
}

static void test_buf_maximum(void **state)
{
    (void)state;
    struct lat_buf buf;
    lat_buf_init(&buf, 4);
    lat_buf_add_text(&buf, "abcd");
    assert_false(buf.failed);
    lat_buf_add_char(&buf, 'e');
    assert_true(buf.failed);
    assert_int_equal(buf.length, 4);
    lat_buf_release(&buf);
}

struct counting {
    struct lat_pool *pool;
    int seen[8][50];
    int bad;
};

static void count_rounds(void *context, int thread, int threads)
{
    struct counting *c = context;
    for (int round = 0; round < 50; round++) {
        c->seen[thread][round] = round + 1;
        lat_pool_barrier(c->pool);
        for (int t = 0; t < threads; t++)
            if (c->seen[t][round] != round + 1)
                c->bad = 1;
        lat_pool_barrier(c->pool);
    }
}

static void test_pool(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 5; threads++) {
        struct counting c = { 0 };
        assert_int_equal(lat_pool_new(&c.pool, threads, NULL), LAT_OK);
        for (int i = 0; i < 20; i++) {
            memset(c.seen, 0, sizeof c.seen);
            lat_pool_run(c.pool, count_rounds, &c);
        }
        assert_int_equal(c.bad, 0);
        lat_pool_free(c.pool);
    }
    struct lat_pool *none;
    struct lat_error error = { 0 };
    assert_int_equal(lat_pool_new(&none, 0, &error), LAT_ARGUMENT);
}

static void test_pool_share_covers(void **state)
{
    (void)state;
    for (size_t count = 0; count < 40; count++)
        for (int threads = 1; threads < 6; threads++) {
            size_t next = 0, begin = 0, end = 0;
            for (int t = 0; t < threads; t++) {
                lat_pool_share(count, 4, t, threads, &begin, &end);
                assert_int_equal(begin, next);
                next = end;
            }
            assert_int_equal(next, count);
        }
}

// First outputs of xoshiro256** from seed 42 by splitmix64, computed by an independent Python implementation.
static void test_rng(void **state)
{
    (void)state;
    struct lat_rng rng;
    lat_rng_init(&rng, 42);
    assert_true(lat_rng_next(&rng) == UINT64_C(1546998764402558742));
    assert_true(lat_rng_next(&rng) == UINT64_C(6990951692964543102));
    for (int i = 0; i < 1000; i++) {
        double u = lat_rng_uniform(&rng);
        assert_true(u >= 0 && u < 1);
    }
}

static void test_utf8(void **state)
{
    (void)state;
    char out[4];
    uint32_t back = 0;
    for (uint32_t code = 0; code <= 0x10ffff; code += code < 0x1000 ? 1 : 97) {
        if (code >= 0xd800 && code <= 0xdfff)
            continue;
        size_t size = lat_utf8_encode(code, out);
        assert_int_equal(lat_utf8_decode(out, size, &back), size);
        assert_int_equal(back, code);
        assert_int_equal(lat_utf8_decode(out, size - 1, &back), 0);
    }
    assert_int_equal(lat_utf8_decode("\xc0\x80", 2, &back), 0);
    assert_int_equal(lat_utf8_decode("\xed\xa0\x80", 3, &back), 0);
    assert_int_equal(lat_utf8_decode("\xf4\x90\x80\x80", 4, &back), 0);
    assert_int_equal(lat_utf8_check("ab\xffz", 4), 2);
}

static void test_arena_limit(void **state)
{
    (void)state;
    struct lat_arena arena;
    lat_arena_init(&arena, 100000);
    assert_non_null(lat_arena_new(&arena, 1, 90000));
    assert_null(lat_arena_new(&arena, 1, 90000));
    assert_null(lat_arena_new(&arena, SIZE_MAX / 2, 4));
    lat_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256), cmocka_unit_test(test_error_is_one_line), cmocka_unit_test(test_buf_maximum),
        cmocka_unit_test(test_pool),   cmocka_unit_test(test_pool_share_covers), cmocka_unit_test(test_rng),
        cmocka_unit_test(test_utf8),   cmocka_unit_test(test_arena_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
