// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Case QU-3 and QuaRot as a whole: a folder that is rotated and not rounded computes what it computed before. Tied and
// untied heads, dense and both layouts of experts, biases, sizes without a Hadamard matrix. And config.json as it is
// written again.
#include <dirent.h>
#include <math.h>
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
#include "lattice/generate.h"
#include "quant/folder_quantize.h"
#include "quant/json_edit.h"

enum { TOKENS = 60 };

struct logits {
    float *values; // [TOKENS][vocab]
    size_t vocab;
    bool tied;
};

static enum lat_status record(void *context, int point, size_t position, size_t rows, size_t width, const float *values,
                              struct lat_error *error)
{
    (void)error;
    struct logits *l = context;
    if (point == LAT_POINT_LOGITS)
        memcpy(l->values + position * width, values, rows * width * sizeof *values);
    return LAT_OK;
}

static struct logits run(const char *folder)
{
    struct lat_model *model = NULL;
    struct lat_session *session = NULL;
    struct lat_error error = { 0 };
    struct lat_rng rng;
    int32_t ids[TOKENS];
    if (lat_model_open(&model, folder, &error) != LAT_OK)
        fail_msg("%s", error.text);
    struct logits l = { .vocab = lat_model_info_view(model)->vocab_size, .tied = lat_model_info_view(model)->tied };
    l.values = calloc(TOKENS * l.vocab, sizeof *l.values);
    assert_non_null(l.values);
    lat_rng_init(&rng, 11);
    for (size_t i = 0; i < TOKENS; i++)
        ids[i] = (int32_t)(lat_rng_next(&rng) % l.vocab);
    struct lat_session_options options = { .context = TOKENS, .threads = 1, .observe = record, .observe_context = &l,
                                           .observe_logits = true };
    if (lat_session_new(&session, model, &options, &error) != LAT_OK
        || lat_session_eval(session, ids, TOKENS, &error) != LAT_OK)
        fail_msg("%s", error.text);
    lat_session_free(session);
    lat_model_close(model);
    return l;
}

// Rotates into f32 and compares all logits; the distance may be a ten thousandth of their range.
static void check_folder(const char *folder)
{
    const double most = 1e-4;
    char out[] = "/tmp/lattice-rotated-XXXXXX", command[80];
    struct lat_quantize_options options = { .bits = 32, .head_bits = 16, .rotate = true, .seed = 5, .threads = 2 };
    struct lat_quantize_report report;
    struct lat_error error = { 0 };
    struct logits plain = run(folder);
    struct lat_model *model = NULL;
    assert_int_equal(lat_model_open(&model, folder, &error), LAT_OK);
    size_t hidden = lat_model_info_view(model)->hidden_size;
    lat_model_close(model);
    assert_non_null(mkdtemp(out));
    assert_int_equal(rmdir(out), 0);
    if (lat_folder_quantize(folder, out, hidden, plain.tied, &options, &report, &error) != LAT_OK)
        fail_msg("%s: %s", folder, error.text);
    lat_buf_release(&report.notes);
    struct logits rotated = run(out);
    assert_int_equal(rotated.vocab, plain.vocab);
    assert_false(rotated.tied);
    double least = plain.values[0], largest = least, off = 0;
    for (size_t i = 0; i < TOKENS * plain.vocab; i++) {
        least = fmin(least, (double)plain.values[i]);
        largest = fmax(largest, (double)plain.values[i]);
        off = fmax(off, fabs((double)plain.values[i] - (double)rotated.values[i]));
    }
    print_message("%s: logits moved by %.2g of their range\n", folder, off / (largest - least));
    if (!(off > 0 && off <= most * (largest - least)))
        fail_msg("%s: rotated logits are off by %g, of a range of %g", folder, off, largest - least);
    free(plain.values);
    free(rotated.values);
    snprintf(command, sizeof command, "rm -r %s", out);
    assert_int_equal(system(command), 0);
}

static void test_nano(void **state)
{
    (void)state;
    check_folder(LATTICE_SOURCE_DIR "/models/nano");
}

static void test_tiny_checkpoints(void **state)
{
    (void)state;
    static const char root[] = LATTICE_SOURCE_DIR "/tests/golden/qwen35";
    int checked = 0;
    DIR *dir = opendir(root);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        char *folder = lat_file_path_join(root, e->d_name);
        if (e->d_name[0] != '.') {
            check_folder(folder);
            checked++;
        }
        lat_mem_free(folder);
    }
    closedir(dir);
    assert_true(checked >= 8);
}

static void check_edit(const char *before, const struct lat_json_change *changes, size_t count, const char *after)
{
    struct lat_json doc;
    struct lat_buf out;
    assert_int_equal(lat_json_parse(&doc, before, strlen(before), "test", NULL), LAT_OK);
    lat_buf_init(&out, 1 << 20);
    lat_json_edit(&out, doc.root, before, strlen(before), changes, count);
    assert_string_equal(out.bytes, after);
    lat_buf_release(&out);
    lat_json_release(&doc);
}

static void test_json_edit(void **state)
{
    (void)state;
    const struct lat_json_change changes[] = { { NULL, "b", "2" }, { "t", "c", "[3]" }, { NULL, "new", "4" }, { NULL, "gone", NULL },
                                               { "absent", "x", "5" } };
    check_edit("{\"a\":18446744073709551615,\"b\":true,\"gone\":{},\"t\":{\"c\":0,\"b\":1e-06,\"t\":{\"c\":-0.50}},\"s\":\"\\u00e9\\n\"}",
               changes, 5,
               "{\n  \"a\": 18446744073709551615,\n  \"b\": 2,\n  \"t\": {\n    \"c\": [3],\n    \"b\": 1e-06,\n    \"t\": {\n"
               "      \"c\": -0.50\n    }\n  },\n  \"s\": \"\xc3\xa9\\n\",\n  \"new\": 4\n}\n");
    check_edit("{}", changes, 1, "{\n  \"b\": 2\n}\n");
    check_edit("{}", NULL, 0, "{}\n");
    check_edit("[1, [], {}]", changes, 5, "[\n  1,\n  [],\n  {}\n]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nano),
        cmocka_unit_test(test_tiny_checkpoints),
        cmocka_unit_test(test_json_edit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
