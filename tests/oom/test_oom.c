// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Every allocation fails in turn: opening a model, a session, evaluation, a tokenizer, generation, a trace file. Each
// time there must be a clean refusal, nothing leaked (the sanitizer build looks), and in the end success.
// malloc and its kin are replaced at link time (-Wl,--wrap).
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
#include "quant/folder_quantize.h"
#include "tensor/safetensors.h"

#define NANO LATTICE_SOURCE_DIR "/models/nano"
#define MOE LATTICE_SOURCE_DIR "/tests/golden/qwen35/moe-experts"
#define SHARDED LATTICE_SOURCE_DIR "/tests/golden/qwen35/sharded-bf16"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static long countdown = -1; // the allocation at 0 fails; negative: none does
static long calls;

static int fails(void)
{
    calls++;
    return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *block, size_t size) { return fails() ? NULL : __real_realloc(block, size); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return fails() ? NULL : __real_aligned_alloc(alignment, size); }

typedef enum lat_status operation(struct lat_error *error);

// Fails allocation 0, 1, 2, ... of the operation until it succeeds; `stride` skips where there are very many.
static void fail_each(operation *run, long stride)
{
    long failures = 0;
    for (long n = 0;; n += stride) {
        struct lat_error error = { 0 };
        countdown = n;
        enum lat_status status = run(&error);
        int all_done = countdown >= 0;
        countdown = -1;
        if (status == LAT_OK) {
            assert_true(all_done);
            assert_true(failures > 0);
            return;
        }
        failures++;
        if (status != LAT_MEMORY || !error.text[0])
            fail_msg("allocation %ld: status %s, text '%s'", n, lat_status_name(status), error.text);
    }
}

static enum lat_status open_moe(struct lat_error *error)
{
    struct lat_model *model = NULL;
    enum lat_status status = lat_model_open(&model, MOE, error);
    lat_model_close(model);
    return status;
}

static enum lat_status open_sharded(struct lat_error *error)
{
    struct lat_model *model = NULL;
    enum lat_status status = lat_model_open(&model, SHARDED, error);
    lat_model_close(model);
    return status;
}

static enum lat_status open_tokenizer(struct lat_error *error)
{
    struct lat_tokenizer *tokenizer = NULL;
    enum lat_status status = lat_tokenizer_open(&tokenizer, NANO, error);
    lat_tokenizer_free(tokenizer);
    return status;
}

static struct lat_model *model;
static struct lat_tokenizer *tokenizer;

static enum lat_status generate(struct lat_error *error)
{
    struct lat_session *session = NULL;
    struct lat_ids ids = { 0 };
    struct lat_generate_result result = { 0 };
    struct lat_generate_options options = lat_generate_defaults();
    struct lat_session_options how = { .context = 64, .threads = 2 };
    options.max_new = 6;
    enum lat_status status = lat_session_new(&session, model, &how, error);
    if (status == LAT_OK)
        status = lat_tokenizer_encode(tokenizer, "Un caf\xc3\xa9 <|im_start|>", 20, 0, &ids, error);
    if (status == LAT_OK)
        status = lat_generate(session, tokenizer, ids.items, ids.count, &options, &result, error);
    lat_generate_result_release(&result);
    lat_ids_release(&ids);
    lat_session_free(session);
    return status;
}

static enum lat_status write_trace(struct lat_error *error)
{
    static const struct lat_st_spec spec = { "x", LAT_DTYPE_F32, 1, { 2 } };
    static const struct lat_st_pair pair = { "k", "v" };
    struct lat_st_writer *writer = NULL;
    char path[] = "/tmp/lattice-oom-XXXXXX";
    close(mkstemp(path));
    enum lat_status status = lat_st_writer_open(&writer, path, &spec, 1, &pair, 1, error);
    if (status == LAT_OK) {
        status = lat_st_writer_put(writer, 0, 0, (float[]){ 1, 2 }, 2, error);
        if (status == LAT_OK)
            status = lat_st_writer_commit(writer, error);
        else
            lat_st_writer_abort(writer);
    }
    unlink(path);
    return status;
}

// Rotated and packed; whatever fails, nothing stays beside the model's folder.
static enum lat_status quantize(const char *folder, struct lat_error *error)
{
    struct lat_quantize_options how = { .bits = 4, .head_bits = 8, .rotate = true, .seed = 1, .threads = 2 };
    struct lat_quantize_report report;
    char out[] = "/tmp/lattice-oom-XXXXXX", name[80], command[80];
    if (!mkdtemp(out))
        return LAT_IO;
    snprintf(name, sizeof name, "%s/q", out);
    enum lat_status status = lat_folder_quantize(folder, name, 48, true, &how, &report, error);
    lat_buf_release(&report.notes);
    int left = rmdir(out);
    if ((left == 0) != (status != LAT_OK))
        fail_msg("after %s the folder is %s", lat_status_name(status), left == 0 ? "empty" : "not empty");
    snprintf(command, sizeof command, "rm -rf %s", out);
    return left == 0 || system(command) == 0 ? status : LAT_IO;
}

static enum lat_status quantize_sharded(struct lat_error *error) { return quantize(SHARDED, error); }
static enum lat_status quantize_experts(struct lat_error *error) { return quantize(MOE, error); }

static void test_quantize(void **state)
{
    (void)state;
    fail_each(quantize_sharded, 1);
    fail_each(quantize_experts, 5);
}

static void test_model(void **state)
{
    (void)state;
    fail_each(open_moe, 1);
    fail_each(open_sharded, 1);
}

static void test_tokenizer(void **state)
{
    (void)state;
    fail_each(open_tokenizer, 1);
}

static void test_generate(void **state)
{
    (void)state;
    assert_int_equal(lat_model_open(&model, NANO, NULL), LAT_OK);
    assert_int_equal(lat_tokenizer_open(&tokenizer, NANO, NULL), LAT_OK);
    fail_each(generate, 1);
    lat_tokenizer_free(tokenizer);
    lat_model_close(model);
}

static void test_writer(void **state)
{
    (void)state;
    fail_each(write_trace, 1);
}

// After the first token a decode step allocates nothing.
static void test_decode_step_allocates_nothing(void **state)
{
    (void)state;
    struct lat_session *session = NULL;
    struct lat_session_options how = { .context = 64, .threads = 2 };
    assert_int_equal(lat_model_open(&model, NANO, NULL), LAT_OK);
    assert_int_equal(lat_session_new(&session, model, &how, NULL), LAT_OK);
    assert_int_equal(lat_session_eval(session, (int32_t[]){ 1, 2, 3 }, 3, NULL), LAT_OK);
    long before = calls;
    for (int32_t i = 0; i < 20; i++)
        assert_int_equal(lat_session_eval(session, &i, 1, NULL), LAT_OK);
    assert_int_equal(calls, before);
    lat_session_free(session);
    lat_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),    cmocka_unit_test(test_tokenizer),
        cmocka_unit_test(test_generate), cmocka_unit_test(test_writer),
        cmocka_unit_test(test_decode_step_allocates_nothing),
        cmocka_unit_test(test_quantize),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
