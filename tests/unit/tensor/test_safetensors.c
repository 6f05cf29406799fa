// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The format's rules on files that other engines fell over (cases ST-1, ST-2, ST-4, ST-6, IDX-1 of the collection),
// and that what is written is read back.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/mem.h"
#include "tensor/safetensors.h"

static char folder[] = "/tmp/lattice-test-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static char *write_file(const char *name, const void *bytes, size_t length)
{
    char *path = lat_file_path_join(folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    fclose(f);
    return path;
}

// header_length < 0: the true one
static char *write_st(const char *name, const char *header, int64_t header_length, size_t payload)
{
    size_t length = strlen(header);
    unsigned char *bytes = calloc(1, 8 + length + payload);
    uint64_t said = header_length == -1 ? length : (uint64_t)header_length;
    memcpy(bytes, &said, 8);
    memcpy(bytes + 8, header, length);
    char *path = write_file(name, bytes, 8 + length + payload);
    free(bytes);
    return path;
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        int64_t length;
        size_t payload;
        const char *text;
    } cases[] = {
        { "{}", -2, 0, "header of" },                // 2^64-2
        { "{}", -5, 0, "header of" },                // wraps when anything is added
        { "{}", 1 << 20, 0, "header of" },
        { "[]", -1, 0, "begin with" },
        { "{\"w\":{\"dtype\":\"F32\",\"shape\":[700,300],\"data_offsets\":[0,8]}}", -1, 8, "shape and type" },
        { "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", -1, 4, "inside the file" },
        { "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}}", -1, 4, "inside the file" },
        { "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", -1, 4, "two numbers" },
        { "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[]}}", -1, 4, "two numbers" },
        { "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":1}}", -1, 5, "after the last" },
        { "{\"w\":{\"dtype\":\"F99\",\"shape\":[1],\"data_offsets\":[9223372036854775808,8]}}", -1, 8, "unknown dtype" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":[2],"
          "\"data_offsets\":[4,12]}}", -1, 12, "overlaps" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", -1, 8, "hole" },
        { "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"w\":{\"dtype\":\"F32\",\"shape\":[1],"
          "\"data_offsets\":[4,8]}}", -1, 8, "twice" },
        { "{\"w\":{\"dtype\":\"F64\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", -1, 0, "overflows" },
        { "{\"w\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", -1, 4, "whole number" },
        { "{\"w\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", -1, 4, "8 dimensions" },
        { "{\"a\\u0000b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", -1, 4, "NUL" },
        { "{\"__metadata__\":{\"a\":1}}", -1, 0, "not a string" },
        { "{\"w\":3}", -1, 0, "not an object" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lat_st_file *file = NULL;
        struct lat_error error = { 0 };
        char *path = write_st("case.safetensors", cases[i].header, cases[i].length, cases[i].payload);
        assert_int_not_equal(lat_st_open(&file, path, &error), LAT_OK);
        assert_null(file);
        if (!strstr(error.text, cases[i].text))
            fail_msg("case %zu: \"%s\" lacks \"%s\"", i, error.text, cases[i].text);
        lat_mem_free(path);
    }
}

static void test_short_and_deep(void **state)
{
    (void)state;
    struct lat_st_file *file = NULL;
    struct lat_error error = { 0 };
    char *path = write_file("short.safetensors", "\1\0\0\0", 4);
    assert_int_equal(lat_st_open(&file, path, &error), LAT_FORMAT);
    lat_mem_free(path);
    enum { DEPTH = 20000 };
    char *deep = malloc(DEPTH * 6 + 10), *at = deep;
    for (int i = 0; i < DEPTH; i++)
        at += sprintf(at, "{\"a\":");
    path = write_st("deep.safetensors", deep, -1, 0);
    assert_int_equal(lat_st_open(&file, path, &error), LAT_FORMAT);
    assert_non_null(strstr(error.text, "deep"));
    lat_mem_free(path);
    free(deep);
}

// Case ST-6: a scalar, an empty tensor, booleans, and bf16 at an odd byte.
static void test_odd_but_legal(void **state)
{
    (void)state;
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
        "\"e\":{\"dtype\":\"F32\",\"shape\":[0,7],\"data_offsets\":[4,4]},"
        "\"b\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[4,7]},"
        "\"h\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[7,11]}}";
    unsigned char bytes[8 + sizeof header - 1 + 11] = { 0 };
    uint64_t length = sizeof header - 1;
    float scalar = 1.5f;
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, &scalar, 4);
    memcpy(bytes + 8 + length + 4, "\1\0\1\x80\x3f\x00\xc0", 7);
    char *path = write_file("odd.safetensors", bytes, sizeof bytes);
    struct lat_st_file *file = NULL;
    assert_int_equal(lat_st_open(&file, path, NULL), LAT_OK);
    assert_int_equal(lat_st_count(file), 4);
    assert_string_equal(lat_st_metadata(file, "format"), "pt");
    assert_true(lat_dtype_load(LAT_DTYPE_F32, lat_st_find(file, "s")->data, 0) == 1.5f);
    assert_int_equal(lat_st_find(file, "e")->elements, 0);
    assert_int_equal(lat_st_find(file, "b")->data[2], 1);
    const struct lat_st_tensor *h = lat_st_find(file, "h");
    assert_true(lat_dtype_load(h->dtype, h->data, 0) == 1.0f && lat_dtype_load(h->dtype, h->data, 1) == -2.0f);
    assert_null(lat_st_find(file, "x"));
    lat_st_close(file);
    lat_mem_free(path);
}

// Case IDX-1: the file outside must not even be opened: it is not there, and the message is not about that.
static void test_index_names(void **state)
{
    (void)state;
    static const char *const bad[] = { "../secret/other.safetensors", "/etc/passwd", "a/../../x", "..\\\\x", "", "./x", "a//b", ".." };
    for (size_t i = 0; i < 8; i++) {
        char text[200];
        struct lat_st_folder *f = NULL;
        struct lat_error error = { 0 };
        snprintf(text, sizeof text, "{\"metadata\":{},\"weight_map\":{\"w\":\"%s\"}}", bad[i]);
        lat_mem_free(write_file("model.safetensors.index.json", text, strlen(text)));
        assert_int_equal(lat_st_folder_open(&f, folder, &error), LAT_FORMAT);
        assert_non_null(strstr(error.text, "plain name"));
    }
    char *index = lat_file_path_join(folder, "model.safetensors.index.json");
    assert_int_equal(unlink(index), 0);
    lat_mem_free(index);
}

// As the hub's cache lays a model out: names in a snapshot are links into ../../blobs.
static void test_hub_cache_links(void **state)
{
    (void)state;
    char blobs[200], snapshot[200], link[600];
    snprintf(blobs, sizeof blobs, "%s/hub/blobs", folder);
    snprintf(snapshot, sizeof snapshot, "%s/hub/snapshots/abc", folder);
    snprintf(link, sizeof link, "mkdir -p %s %s", blobs, snapshot);
    assert_int_equal(system(link), 0);
    lat_mem_free(write_st("hub/blobs/0123", "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", -1, 4));
    snprintf(link, sizeof link, "%s/model.safetensors", snapshot);
    assert_int_equal(symlink("../../blobs/0123", link), 0);
    struct lat_st_folder *f = NULL;
    assert_int_equal(lat_st_folder_open(&f, snapshot, NULL), LAT_OK);
    assert_non_null(lat_st_folder_find(f, "w"));
    lat_st_folder_close(f);
}

static void test_write_and_read(void **state)
{
    (void)state;
    const struct lat_st_spec specs[] = { { "a", LAT_DTYPE_F32, 2, { 3, 2 } }, { "odd \"name\"", LAT_DTYPE_I64, 1, { 2 } },
                                         { "none", LAT_DTYPE_F32, 1, { 0 } } };
    const struct lat_st_pair metadata[] = { { "k", "line\nand \"quotes\"" } };
    const float a[] = { 1, 2, 3, 4, 5, 6 };
    const int64_t b[] = { -1, INT64_MAX };
    char *path = lat_file_path_join(folder, "written.safetensors");
    struct lat_st_writer *w = NULL;
    struct lat_st_file *file = NULL;
    struct lat_error error = { 0 };
    assert_int_equal(lat_st_writer_open(&w, path, specs, 3, metadata, 1, NULL), LAT_OK);
    assert_int_equal(lat_st_writer_put(w, 1, 0, b, 2, NULL), LAT_OK);
    assert_int_equal(lat_st_writer_put(w, 0, 4, a + 4, 2, NULL), LAT_OK);
    assert_int_equal(lat_st_writer_put(w, 0, 0, a, 4, NULL), LAT_OK);
    assert_false(lat_file_exists(path));
    assert_int_equal(lat_st_writer_commit(w, NULL), LAT_OK);
    assert_int_equal(lat_st_open(&file, path, &error), LAT_OK);
    assert_memory_equal(lat_st_find(file, "a")->data, a, sizeof a);
    assert_memory_equal(lat_st_find(file, "odd \"name\"")->data, b, sizeof b);
    assert_string_equal(lat_st_metadata(file, "k"), metadata[0].value);
    lat_st_close(file);
    // a tensor that was not written whole: no file takes the old one's place
    assert_int_equal(lat_st_writer_open(&w, path, specs, 1, NULL, 0, NULL), LAT_OK);
    assert_int_equal(lat_st_writer_put(w, 0, 0, a, 5, NULL), LAT_OK);
    assert_int_equal(lat_st_writer_commit(w, &error), LAT_FAILED);
    assert_non_null(strstr(error.text, "5 of 6"));
    assert_int_equal(lat_st_open(&file, path, NULL), LAT_OK);
    assert_int_equal(lat_st_count(file), 3);
    lat_st_close(file);
    lat_mem_free(path);
}

// Every half-precision pattern against the formula in double.
static void test_halves(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        int exponent = (int)(h >> 10 & 31), sign = h >> 15 ? -1 : 1;
        double fraction = (h & 0x3ff) / 1024.0;
        double want = exponent == 0 ? ldexp(fraction, -14) : ldexp(1 + fraction, exponent - 15);
        float got = lat_f16_to_f32((uint16_t)h);
        if (exponent == 31)
            assert_true((h & 0x3ff) ? isnan(got) : isinf(got) && (got > 0) == (sign > 0));
        else
            assert_true((double)got == sign * want && !!signbit(got) == (sign < 0));
    }
    assert_true(lat_bf16_to_f32(0x3f80) == 1.0f && lat_bf16_to_f32(0xc000) == -2.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_short_and_deep),   cmocka_unit_test(test_odd_but_legal),
        cmocka_unit_test(test_index_names), cmocka_unit_test(test_hub_cache_links), cmocka_unit_test(test_write_and_read),
        cmocka_unit_test(test_halves),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
