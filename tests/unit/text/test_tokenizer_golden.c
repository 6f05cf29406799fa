// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Ids and texts frozen from Hugging Face's `tokenizers` (tools/reference/tokenizer_golden.py) against ours: all of them
// must be equal.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/json.h"
#include "lattice/tokenizer.h"

#define FOLDER LATTICE_SOURCE_DIR "/tests/golden/tokenizer/"

typedef void line_fn(const struct lat_tokenizer *t, const char *name, const struct lat_json_node *line, size_t number);

static size_t for_each_line(const char *path, const struct lat_tokenizer *t, const char *name, line_fn *check)
{
    struct lat_file_map map;
    size_t number = 0;
    assert_int_equal(lat_file_map_open(&map, path, NULL), LAT_OK);
    for (size_t at = 0; at < map.length;) {
        const char *line = (const char *)map.bytes + at, *end = memchr(line, '\n', map.length - at);
        size_t length = end ? (size_t)(end - line) : map.length - at;
        struct lat_json doc;
        assert_int_equal(lat_json_parse(&doc, line, length, path, NULL), LAT_OK);
        check(t, name, doc.root, ++number);
        lat_json_release(&doc);
        at += length + 1;
    }
    lat_file_map_close(&map);
    return number;
}

static void check_encoding(const struct lat_tokenizer *t, const char *name, const struct lat_json_node *line, size_t number)
{
    const struct lat_json_node *text = lat_json_get(line, "text"), *want = lat_json_get(line, name);
    struct lat_ids ids = { 0 };
    struct lat_error error = { 0 };
    if (lat_tokenizer_encode(t, text->u.string, text->count, 0, &ids, &error) != LAT_OK)
        fail_msg("%s, line %zu: %s", name, number, error.text);
    size_t at = 0;
    bool same = ids.count == want->count;
    for (const struct lat_json_node *n = want->u.child; n && same; n = n->next)
        same = ids.items[at++] == n->u.integer;
    if (!same)
        fail_msg("%s, line %zu: other ids than Hugging Face's (%zu, theirs %u), first difference at %zu", name, number, ids.count,
                 (unsigned)want->count, at);
    lat_ids_release(&ids);
}

static void check_stream(const struct lat_tokenizer *t, const int32_t *ids, size_t count, const struct lat_json_node *want,
                         size_t number)
{
    struct lat_decoder *decoder = NULL;
    struct lat_buf all;
    lat_buf_init(&all, 1 << 20);
    assert_int_equal(lat_decoder_new(&decoder, t, LAT_DECODE_SKIP_SPECIAL, NULL), LAT_OK);
    for (size_t i = 0; i <= count; i++) {
        const char *text = NULL;
        size_t length = 0;
        assert_int_equal(i < count ? lat_decoder_put(decoder, ids[i], &text, &length, NULL)
                                   : lat_decoder_end(decoder, &text, &length, NULL), LAT_OK);
        lat_buf_add(&all, text, length);
    }
    if (all.length != want->count || (all.length && memcmp(all.bytes, want->u.string, all.length) != 0))
        fail_msg("line %zu: the streaming decoder says something else than Hugging Face", number);
    lat_decoder_free(decoder);
    lat_buf_release(&all);
}

static void check_decoding(const struct lat_tokenizer *t, const char *name, const struct lat_json_node *line, size_t number)
{
    (void)name;
    struct lat_ids ids = { 0 };
    const struct lat_json_node *list = lat_json_get(line, "ids");
    int32_t items[64];
    assert_true(list->count <= 64);
    for (const struct lat_json_node *n = list->u.child; n; n = n->next)
        items[ids.count++] = (int32_t)n->u.integer;
    static const char *const fields[] = { "all", "text" };
    for (unsigned flags = 0; flags <= LAT_DECODE_SKIP_SPECIAL; flags++) {
        const struct lat_json_node *want = lat_json_get(line, fields[flags]);
        char *text = NULL;
        size_t length = 0;
        assert_int_equal(lat_tokenizer_decode(t, items, ids.count, flags, &text, &length, NULL), LAT_OK);
        if (length != want->count || memcmp(text, want->u.string, length) != 0)
            fail_msg("line %zu, \"%s\": another text than Hugging Face's", number, fields[flags]);
        assert_int_equal(text[length], 0);
        lat_text_free(text);
    }
    check_stream(t, items, ids.count, lat_json_get(line, "text"), number);
}

static void run(const char *name, const char *cases, line_fn *check, size_t least)
{
    char path[400];
    struct lat_tokenizer *t = NULL;
    struct lat_error error = { 0 };
    snprintf(path, sizeof path, FOLDER "%s.json", name);
    if (lat_tokenizer_open(&t, path, &error) != LAT_OK)
        fail_msg("%s", error.text);
    assert_true(for_each_line(cases, t, name, check) >= least);
    lat_tokenizer_free(t);
}

static void test_qwen35(void **state) { (void)state, run("qwen35", FOLDER "cases.jsonl", check_encoding, 2000); }
static void test_qwen2(void **state) { (void)state, run("qwen2", FOLDER "cases.jsonl", check_encoding, 2000); }
static void test_gpt2(void **state) { (void)state, run("gpt2", FOLDER "cases.jsonl", check_encoding, 2000); }
static void test_decoding(void **state) { (void)state, run("qwen35", FOLDER "decode.jsonl", check_decoding, 500); }

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_qwen35), cmocka_unit_test(test_qwen2), cmocka_unit_test(test_gpt2),
                                        cmocka_unit_test(test_decoding) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
