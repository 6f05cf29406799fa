// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The promise of one set of bits: logits of every position are byte-identical for any number of threads, any chunking,
// any instruction set, whether a token came by prefill or by decode, and after a reset. On every tiny checkpoint of
// tests/golden/qwen35 and on the bundled model.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/mem.h"
#include "core/rng.h"
#include "lattice/model.h"
#include "quant/folder_quantize.h"

enum { TOKENS = 130 };

struct recording {
    float *logits; // [TOKENS][vocab]
    size_t vocab;
    size_t rows;
};

static enum lat_status record(void *context, int point, size_t position, size_t rows, size_t width, const float *values,
                              struct lat_error *error)
{
    (void)error;
    struct recording *r = context;
    if (point != LAT_POINT_LOGITS)
        return LAT_OK;
    assert_int_equal(width, r->vocab);
    assert_true(position + rows <= TOKENS);
    memcpy(r->logits + position * width, values, rows * width * sizeof(float));
    r->rows += rows;
    return LAT_OK;
}

static void random_ids(int32_t *ids, size_t count, size_t vocab)
{
    struct lat_rng rng;
    lat_rng_init(&rng, 3);
    for (size_t i = 0; i < count; i++)
        ids[i] = (int32_t)(lat_rng_next(&rng) % vocab);
}

static struct lat_model *open_model(const char *folder, const char *isa)
{
    struct lat_model *model = NULL;
    struct lat_error error = { 0 };
    setenv("LATTICE_ISA", isa, 1);
    if (lat_model_open(&model, folder, &error) != LAT_OK)
        fail_msg("%s", error.text);
    return model;
}

// All logits of the ids with the given way of working; `step` ids go in at a time.
static struct recording run(const char *folder, const char *isa, int threads, size_t chunk, size_t step)
{
    struct lat_model *model = open_model(folder, isa);
    struct recording r = { .vocab = lat_model_info_view(model)->vocab_size };
    r.logits = calloc(TOKENS * r.vocab, sizeof(float));
    assert_non_null(r.logits);
    struct lat_session_options options = { .context = TOKENS, .chunk = chunk, .threads = threads, .observe = record,
                                           .observe_context = &r, .observe_logits = true };
    struct lat_session *session = NULL;
    struct lat_error error = { 0 };
    int32_t ids[TOKENS];
    random_ids(ids, TOKENS, r.vocab);
    if (lat_session_new(&session, model, &options, &error) != LAT_OK)
        fail_msg("%s", error.text);
    for (size_t at = 0; at < TOKENS; at += step)
        if (lat_session_eval(session, ids + at, TOKENS - at < step ? TOKENS - at : step, &error) != LAT_OK)
            fail_msg("%s", error.text);
    assert_int_equal(r.rows, TOKENS);
    assert_memory_equal(lat_session_logits(session), r.logits + (TOKENS - 1) * r.vocab, r.vocab * sizeof(float));
    lat_session_free(session);
    lat_model_close(model);
    return r;
}

static void check_folder(const char *folder)
{
    static const struct {
        const char *isa;
        int threads;
        size_t chunk, step;
    } ways[] = {
        { "", 2, 1, TOKENS }, { "", 3, 7, TOKENS },  { "", 1, 64, TOKENS },     { "", 4, 512, 129 },
        { "", 2, 128, 1 },    { "", 2, 128, 33 },    { "avx2", 1, 128, TOKENS }, { "avx512", 2, 32, TOKENS },
        { "neon", 2, 32, 65 }, { "dotprod", 1, 64, 65 }, { "scalar", 2, 128, TOKENS },
    };
    struct recording want = run(folder, "", 1, 128, TOKENS);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        setenv("LATTICE_ISA", ways[i].isa, 1);
        if (strcmp(lat_isa_name(), "none") == 0)
            continue; // an instruction set that this machine lacks; scalar always runs
        struct recording got = run(folder, ways[i].isa, ways[i].threads, ways[i].chunk, ways[i].step);
        if (memcmp(want.logits, got.logits, TOKENS * want.vocab * sizeof(float)) != 0)
            fail_msg("%s: other bits with isa '%s', %d threads, chunk %zu, %zu ids at a time", folder, ways[i].isa,
                     ways[i].threads, ways[i].chunk, ways[i].step);
        free(got.logits);
    }
    free(want.logits);
}

static int check_folders(const char *root)
{
    int checked = 0;
    DIR *dir = opendir(root);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char *folder = lat_file_path_join(root, e->d_name), *config = lat_file_path_join(folder, "config.json");
        if (e->d_name[0] != '.' && lat_file_exists(config)) {
            check_folder(folder);
            checked++;
        }
        lat_mem_free(folder);
        lat_mem_free(config);
    }
    closedir(dir);
    return checked;
}

static void test_tiny_checkpoints(void **state)
{
    (void)state;
    assert_true(check_folders(LATTICE_SOURCE_DIR "/tests/golden/qwen35") >= 8);
    assert_true(check_folders(LATTICE_SOURCE_DIR "/tests/golden/quantized") >= 3);
}

static void test_nano(void **state)
{
    (void)state;
    check_folder(LATTICE_SOURCE_DIR "/models/nano");
}

// Quantised by ourselves just now, so that integer products (and widened ones) are held to the same promise.
static void test_quantized(void **state)
{
    (void)state;
    for (int bits = 4; bits <= 8; bits += 4) {
        char out[] = "/tmp/lattice-bits-XXXXXX";
        struct lat_quantize_options options = { .bits = bits, .head_bits = 8, .group = bits == 4 ? 32 : 0, .threads = 2, .force = true };
        struct lat_quantize_report report;
        struct lat_error error = { 0 };
        assert_non_null(mkdtemp(out));
        assert_int_equal(rmdir(out), 0);
        if (lat_folder_quantize(LATTICE_SOURCE_DIR "/models/nano", out, 256, true, &options, &report, &error) != LAT_OK)
            fail_msg("%s", error.text);
        lat_buf_release(&report.notes);
        check_folder(out);
        char command[80];
        snprintf(command, sizeof command, "rm -r %s", out);
        assert_int_equal(system(command), 0);
    }
}

// A sequence leaves nothing behind: after a reset, the same ids give the same logits; and ids that cannot be taken
// leave the session as it was.
static void test_reset_and_refused_ids(void **state)
{
    (void)state;
    struct lat_model *model = open_model(LATTICE_SOURCE_DIR "/models/nano", "");
    struct lat_session *session = NULL;
    struct lat_session_options options = { .context = 40, .threads = 2 };
    struct lat_error error = { 0 };
    size_t vocab = lat_model_info_view(model)->vocab_size;
    int32_t ids[50];
    random_ids(ids, 50, vocab);
    float *first = malloc(vocab * sizeof(float));
    assert_int_equal(lat_session_new(&session, model, &options, &error), LAT_OK);
    assert_null(lat_session_logits(session));
    assert_int_equal(lat_session_eval(session, ids, 30, &error), LAT_OK);
    memcpy(first, lat_session_logits(session), vocab * sizeof(float));
    assert_int_equal(lat_session_eval(session, ids, 50, &error), LAT_LIMIT);
    assert_int_equal(lat_session_eval(session, (int32_t[]){ -1 }, 1, &error), LAT_ARGUMENT);
    assert_int_equal(lat_session_eval(session, (int32_t[]){ (int32_t)vocab }, 1, &error), LAT_ARGUMENT);
    assert_int_equal(lat_session_eval(session, ids, 0, &error), LAT_ARGUMENT);
    assert_int_equal(lat_session_position(session), 30);
    lat_session_reset(session);
    assert_int_equal(lat_session_eval(session, ids + 3, 10, &error), LAT_OK);
    lat_session_reset(session);
    assert_int_equal(lat_session_eval(session, ids, 30, &error), LAT_OK);
    assert_memory_equal(first, lat_session_logits(session), vocab * sizeof(float));
    free(first);
    lat_session_free(session);
    lat_model_close(model);
}

static void test_context_over_memory_is_refused(void **state)
{
    (void)state;
    struct lat_model *model = open_model(LATTICE_SOURCE_DIR "/models/nano", "");
    struct lat_session *session = NULL;
    struct lat_error error = { 0 };
    struct lat_session_options options = { .context = lat_model_info_view(model)->positions_max + 1 };
    assert_int_equal(lat_session_new(&session, model, &options, &error), LAT_LIMIT);
    assert_null(session);
    options = (struct lat_session_options){ .threads = 100000 };
    assert_int_equal(lat_session_new(&session, model, &options, &error), LAT_ARGUMENT);
    lat_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_checkpoints),
        cmocka_unit_test(test_nano),
        cmocka_unit_test(test_quantized),
        cmocka_unit_test(test_reset_and_refused_ids),
        cmocka_unit_test(test_context_over_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
