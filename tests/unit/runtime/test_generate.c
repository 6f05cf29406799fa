// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Generation over the bundled model: stop texts wherever token borders fall, what streams and what is collected,
// every way to end, and ids that the tokenizer does not have.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lattice/generate.h"

#define NANO LATTICE_SOURCE_DIR "/models/nano"

static struct lat_model *model;
static struct lat_tokenizer *tokenizer;
static struct lat_ids prompt;
static volatile int session_cancel;

static int open_all(void **state)
{
    (void)state;
    return lat_model_open(&model, NANO, NULL) != LAT_OK || lat_tokenizer_open(&tokenizer, NANO, NULL) != LAT_OK
        || lat_tokenizer_encode(tokenizer, "Once upon a time", 16, 0, &prompt, NULL) != LAT_OK;
}

static int close_all(void **state)
{
    (void)state;
    lat_ids_release(&prompt);
    lat_tokenizer_free(tokenizer);
    lat_model_close(model);
    return 0;
}

// What streamed, and what the callback is to do after so many calls.
struct stream {
    char text[4096];
    size_t length, calls;
    size_t act_at; // 0: never
    volatile int *raise;
    enum lat_status answer;
};

static enum lat_status on_text(void *context, const char *text, size_t length, struct lat_error *error)
{
    struct stream *s = context;
    (void)error;
    assert_true(length > 0 && s->length + length < sizeof s->text);
    memcpy(s->text + s->length, text, length);
    s->length += length;
    if (++s->calls != s->act_at)
        return LAT_OK;
    if (s->raise)
        *s->raise = 1;
    return s->answer;
}

static enum lat_status run_in(size_t context, const struct lat_generate_options *options, struct stream *stream,
                              struct lat_generate_result *result)
{
    struct lat_session *session = NULL;
    struct lat_session_options how = { .context = context, .threads = 1, .cancel = &session_cancel };
    struct lat_generate_options o = *options;
    o.on_text = on_text;
    o.context = stream;
    session_cancel = 0;
    assert_int_equal(lat_session_new(&session, model, &how, NULL), LAT_OK);
    enum lat_status status = lat_generate(session, tokenizer, prompt.items, prompt.count, &o, result, NULL);
    lat_session_free(session);
    return status;
}

static struct lat_generate_result run(const struct lat_generate_options *options, struct stream *stream)
{
    struct lat_generate_result result;
    assert_int_equal(run_in(256, options, stream, &result), LAT_OK);
    assert_int_equal(result.length, stream->length);
    assert_memory_equal(result.text, stream->text, stream->length); // what streams is what is collected
    return result;
}

static struct lat_generate_options of(size_t max_new)
{
    struct lat_generate_options o = lat_generate_defaults();
    o.max_new = max_new;
    return o;
}

// Every piece of 1 to 12 bytes of a greedy text, as stop text: the output ends right before its first place.
static void test_stop_text_anywhere(void **state)
{
    (void)state;
    struct lat_generate_options o = of(24);
    struct stream all = { .length = 0 };
    struct lat_generate_result whole = run(&o, &all);
    size_t across = 0, stride = 5;
    assert_true(whole.length > 60);
    for (size_t at = 0; at + 12 < whole.length; at += stride)
        for (size_t length = 1; length <= 12; length += 3) {
            char piece[16] = "";
            const char *stops[] = { "\x01never", piece };
            struct stream s = { .length = 0 };
            memcpy(piece, whole.text + at, length);
            o.stops = stops;
            o.stop_count = 2;
            struct lat_generate_result r = run(&o, &s);
            size_t want = (size_t)(strstr(whole.text, piece) - whole.text);
            assert_int_equal(r.length, want);
            assert_memory_equal(r.text, whole.text, want);
            assert_int_equal(r.finish, LAT_FINISH_STOP);
            assert_int_equal(r.stop_index, 1);
            assert_true(r.ids.count <= whole.ids.count);
            char *of_ids = NULL;
            assert_int_equal(lat_tokenizer_decode(tokenizer, r.ids.items, r.ids.count - 1, 1, &of_ids, &want, NULL), LAT_OK);
            across += want > r.length; // the stop text began in a token before the last
            lat_text_free(of_ids);
            lat_generate_result_release(&r);
        }
    assert_true(across > 5);
    lat_generate_result_release(&whole);
}

// A beginning of a stop text that never comes true is given at the end.
static void test_held_text_is_given(void **state)
{
    (void)state;
    struct lat_generate_options o = of(12);
    struct stream all = { .length = 0 }, s = { .length = 0 };
    struct lat_generate_result whole = run(&o, &all);
    char stop[300];
    snprintf(stop, sizeof stop, "%s\x01", whole.text);
    const char *stops[] = { stop };
    o.stops = stops;
    o.stop_count = 1;
    struct lat_generate_result r = run(&o, &s);
    assert_string_equal(r.text, whole.text);
    assert_int_equal(r.finish, whole.finish);
    assert_int_equal(r.stop_index, -1);
    assert_int_equal(s.calls, 1);
    lat_generate_result_release(&r);
    lat_generate_result_release(&whole);
}

// Cancelled by the caller's flag, and by the session's own inside a step: what was produced stays.
static void test_cancel(void **state)
{
    (void)state;
    static volatile int flag;
    for (int own = 0; own < 2; own++) {
        struct lat_generate_options o = of(200);
        struct stream s = { .act_at = 3, .raise = own ? &session_cancel : &flag };
        flag = 0;
        o.cancel = own ? NULL : &flag;
        struct lat_generate_result r = run(&o, &s);
        assert_int_equal(r.finish, LAT_FINISH_CANCELLED);
        assert_int_equal(s.calls, 3);
        assert_in_range(r.ids.count, 3, 199);
        lat_generate_result_release(&r);
    }
}

static void test_callback_failure(void **state)
{
    (void)state;
    struct lat_generate_options o = of(50);
    struct stream s = { .act_at = 2, .answer = LAT_IO };
    struct lat_generate_result r;
    assert_int_equal(run_in(256, &o, &s, &r), LAT_IO);
    assert_int_equal(s.calls, 2);
    assert_null(r.text);
    assert_null(r.ids.items);
}

// The context ends the output as max_new does; a prompt that fills it still gets one token.
static void test_context_is_full(void **state)
{
    (void)state;
    for (size_t room = 0; room < 6; room++) {
        struct lat_generate_options o = of(100);
        struct stream s = { .length = 0 };
        struct lat_generate_result r;
        assert_int_equal(run_in(prompt.count + room, &o, &s, &r), LAT_OK);
        assert_int_equal(r.finish, LAT_FINISH_LENGTH);
        assert_int_equal(r.ids.count, room + 1);
        lat_generate_result_release(&r);
    }
    struct lat_generate_options o = of(100);
    struct stream s = { .length = 0 };
    struct lat_generate_result r;
    assert_int_equal(run_in(prompt.count - 1, &o, &s, &r), LAT_LIMIT);
}

static void test_refusals(void **state)
{
    (void)state;
    const char *empty[] = { "a", "" };
    struct lat_generate_options o = of(5);
    struct stream s = { .length = 0 };
    struct lat_generate_result r;
    o.stops = empty;
    o.stop_count = 2;
    assert_int_equal(run_in(64, &o, &s, &r), LAT_ARGUMENT);
    o = of(5);
    o.sampling.top_p = 1.01;
    assert_int_equal(run_in(64, &o, &s, &r), LAT_ARGUMENT);
    assert_int_equal(s.calls, 0);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

// Case SA-4: a model with more rows than the tokenizer has tokens. The rows in between are legal in a prompt and never
// drawn, even when all are equally likely.
static void test_rows_without_token(void **state)
{
    (void)state;
    char folder[] = "/tmp/lattice-generate-XXXXXX", path[300];
    struct lat_tokenizer *small = NULL;
    struct lat_session *session = NULL;
    struct lat_generate_result r;
    struct lat_error error = { 0 };
    struct lat_generate_options o = of(100);
    const int32_t between = 4000;
    assert_non_null(mkdtemp(folder));
    write_file(folder, "tokenizer.json",
               "{\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
               "\"trim_offsets\":true,\"use_regex\":true},\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true,"
               "\"trim_offsets\":true,\"use_regex\":true},\"post_processor\":null,\"model\":{\"type\":\"BPE\",\"vocab\":"
               "{\"a\":0,\"b\":1,\"c\":2,\"d\":3,\"e\":7},\"merges\":[]}}");
    if (lat_tokenizer_open(&small, folder, &error) != LAT_OK)
        fail_msg("%s", error.text);
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    unlink(path);
    rmdir(folder);
    assert_int_equal(lat_session_new(&session, model, NULL, NULL), LAT_OK);
    o.ignore_eos = true;
    o.sampling.temperature = 1e30;
    assert_int_equal(lat_generate(session, small, &between, 1, &o, &r, NULL), LAT_OK);
    assert_int_equal(r.ids.count, 100);
    size_t hits[8] = { 0 };
    for (size_t i = 0; i < r.ids.count; i++) {
        assert_in_range(r.ids.items[i], 0, 7);
        hits[r.ids.items[i]]++;
    }
    assert_int_equal(hits[4] + hits[5] + hits[6], 0);
    assert_true(hits[0] && hits[1] && hits[2] && hits[3] && hits[7]);
    assert_int_equal(strspn(r.text, "abcde"), 100);
    lat_generate_result_release(&r);
    lat_session_free(session);
    lat_tokenizer_free(small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_text_anywhere), cmocka_unit_test(test_held_text_is_given),
        cmocka_unit_test(test_cancel),             cmocka_unit_test(test_callback_failure),
        cmocka_unit_test(test_context_is_full),    cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_rows_without_token),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
