// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Decoding: broken bytes as Hugging Face prints them, and a stream that never shows half a character.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lattice/tokenizer.h"

#define QWEN35 LATTICE_SOURCE_DIR "/tests/golden/tokenizer/qwen35.json"
#define BAD "\xef\xbf\xbd"

static struct lat_tokenizer *tokenizer;

static int open_tokenizer(void **state)
{
    (void)state;
    return lat_tokenizer_open(&tokenizer, QWEN35, NULL) == LAT_OK ? 0 : -1;
}

static int free_tokenizer(void **state)
{
    (void)state;
    lat_tokenizer_free(tokenizer);
    return 0;
}

// The id of one byte: the vocabulary has all of them, under their letters of the byte alphabet.
static int32_t byte_id(unsigned char byte)
{
    unsigned code = byte, others = 0;
    for (unsigned b = 0; b <= byte; b++)
        others += !((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174);
    if (!((byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174))
        code = 0x100 + others - 1;
    char text[3] = { (char)(code < 0x80 ? code : 0xc0 | code >> 6), (char)(code < 0x80 ? 0 : 0x80 | (code & 0x3f)), 0 };
    int32_t id = lat_tokenizer_id(tokenizer, text);
    assert_true(id >= 0);
    return id;
}

static void decodes(const char *bytes, const char *want)
{
    int32_t ids[16];
    size_t count = strlen(bytes), length = 0;
    char *text = NULL;
    for (size_t i = 0; i < count; i++)
        ids[i] = byte_id((unsigned char)bytes[i]);
    assert_int_equal(lat_tokenizer_decode(tokenizer, ids, count, 0, &text, &length, NULL), LAT_OK);
    assert_int_equal(length, strlen(want));
    assert_string_equal(text, want);
    lat_text_free(text);
}

static void test_broken_bytes(void **state)
{
    (void)state;
    decodes("", "");
    decodes("a\xff" "b", "a" BAD "b");
    decodes("\xf0\x9f\x98", BAD);              // one for a character cut short
    decodes("\xf0\x9f\x98x", BAD "x");
    decodes("\xed\xa0\x80", BAD BAD BAD);      // a surrogate: no prefix of a character
    decodes("\xc0\x80", BAD BAD);              // over-long
    decodes("\xf4\x90\x80\x80", BAD BAD BAD BAD);
    decodes("\xe2\x82\xe2\x82\xac", BAD "\xe2\x82\xac");
}

static void puts_byte(struct lat_decoder *d, unsigned char byte, const char *want)
{
    const char *text = NULL;
    size_t length = 0;
    assert_int_equal(lat_decoder_put(d, byte_id(byte), &text, &length, NULL), LAT_OK);
    assert_int_equal(length, strlen(want));
    assert_memory_equal(text, want, length);
}

static void test_stream_waits_for_characters(void **state)
{
    (void)state;
    struct lat_decoder *d = NULL;
    const char *text = NULL;
    size_t length = 0;
    assert_int_equal(lat_decoder_new(&d, tokenizer, 0, NULL), LAT_OK);
    puts_byte(d, 0xf0, "");
    puts_byte(d, 0x9f, "");
    puts_byte(d, 0x98, "");
    puts_byte(d, 0x8a, "\xf0\x9f\x98\x8a");
    puts_byte(d, 'x', "x");
    puts_byte(d, 0xe2, "");
    puts_byte(d, '!', BAD "!");
    puts_byte(d, 0xe2, "");
    assert_int_equal(lat_decoder_end(d, &text, &length, NULL), LAT_OK);
    assert_int_equal(length, 3);
    assert_memory_equal(text, BAD, 3);
    assert_int_equal(lat_decoder_end(d, &text, &length, NULL), LAT_OK); // empty now
    assert_int_equal(length, 0);
    puts_byte(d, 'y', "y");
    lat_decoder_free(d);
}

static void test_unknown_ids_are_refused(void **state)
{
    (void)state;
    static const int32_t bad[] = { -1, 1 << 20, INT32_MIN, INT32_MAX };
    for (size_t i = 0; i < 4; i++) {
        char *text = NULL;
        size_t length = 0;
        struct lat_error error = { 0 };
        assert_int_equal(lat_tokenizer_decode(tokenizer, &bad[i], 1, 0, &text, &length, &error), LAT_ARGUMENT);
        assert_non_null(strstr(error.text, "id"));
        assert_false(lat_tokenizer_has(tokenizer, bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_broken_bytes), cmocka_unit_test(test_stream_waits_for_characters),
                                        cmocka_unit_test(test_unknown_ids_are_refused) };
    return cmocka_run_group_tests(tests, open_tokenizer, free_tokenizer);
}
