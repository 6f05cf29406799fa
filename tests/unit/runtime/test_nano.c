// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The bundled model does what its card says: plain facts, a short story, a closed function.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/json.h"
#include "lattice/generate.h"

#define NANO LATTICE_SOURCE_DIR "/models/nano"

static struct lat_model *model;
static struct lat_tokenizer *tokenizer;
static struct lat_session *session;

static int open_all(void **state)
{
    (void)state;
    return lat_model_open(&model, NANO, NULL) != LAT_OK || lat_tokenizer_open(&tokenizer, NANO, NULL) != LAT_OK
        || lat_session_new(&session, model, NULL, NULL) != LAT_OK;
}

static int close_all(void **state)
{
    (void)state;
    lat_session_free(session);
    lat_tokenizer_free(tokenizer);
    lat_model_close(model);
    return 0;
}

static struct lat_generate_result answer(const char *prompt, size_t length, size_t count)
{
    struct lat_generate_options options = lat_generate_defaults();
    struct lat_generate_result result;
    struct lat_ids ids = { 0 };
    struct lat_error error = { 0 };
    options.max_new = count;
    lat_session_reset(session);
    assert_int_equal(lat_tokenizer_encode(tokenizer, prompt, length, 0, &ids, &error), LAT_OK);
    if (lat_generate(session, tokenizer, ids.items, ids.count, &options, &result, &error) != LAT_OK)
        fail_msg("%s", error.text);
    lat_ids_release(&ids);
    return result;
}

static void test_facts(void **state)
{
    (void)state;
    struct lat_file_map map;
    struct lat_json doc;
    size_t right = 0, count = 0;
    assert_int_equal(lat_file_map_open(&map, NANO "/facts.json", NULL), LAT_OK);
    assert_int_equal(lat_json_parse(&doc, (const char *)map.bytes, map.length, "facts.json", NULL), LAT_OK);
    for (const struct lat_json_node *n = doc.root->u.child; n; n = n->next, count++) {
        const struct lat_json_node *prompt = lat_json_get(n, "prompt"), *want = lat_json_get(n, "answer");
        struct lat_generate_result r = answer(prompt->u.string, prompt->count, 12);
        bool good = r.length >= want->count && memcmp(r.text, want->u.string, want->count) == 0;
        if (!good)
            print_message("%.*s -> %s\n", (int)prompt->count, prompt->u.string, r.text);
        right += good;
        lat_generate_result_release(&r);
    }
    assert_int_equal(count, 30);
    assert_true(right >= 25);
    lat_json_release(&doc);
    lat_file_map_close(&map);
}

static void test_story(void **state)
{
    (void)state;
    struct lat_generate_result r = answer("Once upon a time", 16, 200);
    size_t words = 0;
    for (size_t i = 0; i < r.length; i++)
        words += r.text[i] == ' ';
    assert_true(words >= 40);
    lat_generate_result_release(&r);
}

static void test_function_closes(void **state)
{
    (void)state;
    struct lat_generate_result r = answer("def add(a, b):\n", 15, 40);
    assert_non_null(strstr(r.text, "return a + b"));
    assert_int_equal(r.finish, LAT_FINISH_STOP);
    lat_generate_result_release(&r);
}

// Case SA-5: no prompt is refused, no new tokens evaluate nothing. SA-4: ids outside of the vocabulary.
static void test_lengths_and_ids(void **state)
{
    (void)state;
    struct lat_generate_options options = lat_generate_defaults();
    struct lat_generate_result r;
    struct lat_error error = { 0 };
    lat_session_reset(session);
    assert_int_equal(lat_generate(session, tokenizer, NULL, 0, &options, &r, &error), LAT_ARGUMENT);
    options.max_new = 0;
    assert_int_equal(lat_generate(session, tokenizer, (int32_t[]){ 1 }, 1, &options, &r, &error), LAT_OK);
    assert_string_equal(r.text, "");
    assert_int_equal(r.finish, LAT_FINISH_LENGTH);
    assert_int_equal(lat_session_position(session), 0);
    lat_generate_result_release(&r);
    options.max_new = 1;
    assert_int_equal(lat_generate(session, tokenizer, (int32_t[]){ -1 }, 1, &options, &r, &error), LAT_ARGUMENT);
    assert_int_equal(lat_generate(session, tokenizer, (int32_t[]){ 1 << 20 }, 1, &options, &r, &error), LAT_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_facts), cmocka_unit_test(test_story),
                                        cmocka_unit_test(test_function_closes), cmocka_unit_test(test_lengths_and_ids) };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
