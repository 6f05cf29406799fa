// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "gate/yaml_tree.h"

static struct lat_yaml doc;
static struct lat_error error;

static void parses(const char *text) { assert_int_equal(lat_yaml_parse(&doc, text, strlen(text), "t.yaml", &error), LAT_OK); }

static void refuses_bytes(const char *text, size_t length, enum lat_status status, const char *why)
{
    error.text[0] = '\0';
    if (lat_yaml_parse(&doc, text, length, "t.yaml", &error) != status || !strstr(error.text, why))
        fail_msg("expected '%s', got '%s' for: %.60s", why, error.text, text);
    assert_null(doc.root);
}

static void refuses(const char *text, const char *why) { refuses_bytes(text, strlen(text), LAT_FORMAT, why); }

static void tree_and_positions(void **state)
{
    (void)state;
    parses("# head\nlegs:\n  unit:\n    run: [ctest, \"-j\", 'a b']\n    n: 3\nempty:\nlast: |\n  two\n  lines\n");
    const struct lat_yaml_node *legs = lat_yaml_get(doc.root, "legs"), *unit = lat_yaml_get(legs, "unit");
    assert_int_equal(doc.root->kind, LAT_YAML_MAPPING);
    assert_int_equal(doc.root->count, 3);
    assert_int_equal(legs->key_line, 2);
    assert_int_equal(legs->key_column, 1);
    assert_int_equal(legs->line, 3);
    assert_int_equal(legs->column, 3);
    assert_string_equal(unit->key, "unit");
    const struct lat_yaml_node *run = lat_yaml_get(unit, "run"), *item = run->child;
    assert_int_equal(run->kind, LAT_YAML_SEQUENCE);
    assert_int_equal(run->count, 3);
    assert_string_equal(item->text, "ctest");
    assert_true(item->plain);
    assert_null(item->key);
    item = item->next;
    assert_false(item->plain);
    assert_int_equal(item->line, 4);
    assert_int_equal(item->column, 18);
    assert_string_equal(item->next->text, "a b");
    assert_null(item->next->next);
    assert_string_equal(lat_yaml_get(doc.root, "empty")->text, "");
    assert_string_equal(lat_yaml_get(doc.root, "last")->text, "two\nlines\n");
    assert_null(lat_yaml_get(doc.root, "absent"));
    assert_null(lat_yaml_get(NULL, "absent"));
    assert_null(lat_yaml_get(run, "absent"));
    lat_yaml_release(&doc);
}

static void empty_documents(void **state)
{
    static const char *const texts[] = { "", "\n\n", "# only this\n", "---\n", "---\n...\n", "\xef\xbb\xbf" };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        parses(texts[i]);
        assert_null(doc.root);
        lat_yaml_release(&doc);
    }
    assert_int_equal(lat_yaml_parse(&doc, NULL, 0, "t.yaml", &error), LAT_OK);
    lat_yaml_release(&doc);
}

static void what_could_mean_two_things(void **state)
{
    (void)state;
    refuses("a: 1\nb: 2\na: 3\n", "t.yaml:3:1: duplicate key 'a', first at line 1");
    refuses("x: {k: 1, j: 2, k: 3, j: 4}\n", "t.yaml:1:17: duplicate key 'k', first at line 1");
    refuses("a: 1\n'a': 2\n", "t.yaml:2:1: duplicate key 'a'");
    refuses("a: &x 1\nb: *x\n", "t.yaml:1:4: anchors (&x)");
    refuses("b: *x\n", "t.yaml:1:4: aliases (*x)");
    refuses("a: &x {b: 1}\n", "anchors");
    refuses("a: !!str 1\n", "t.yaml:1:4: tags");
    refuses("a: !x [1]\n", "tags");
    refuses("%TAG ! tag:x,2000:\n---\na: 1\n", "%TAG");
    refuses("a: {<<: {b: 1}}\n", "merge keys");
    refuses("a: 1\n---\nb: 2\n", "t.yaml:2:1: a second document");
    refuses("? [a]\n: 1\n", "a key must be a text");
    refuses("? {a: b}\n: 1\n", "a key must be a text");
    refuses("'': 1\n", "t.yaml:1:1: a key without a name");
    refuses("a: \"x\\0y\"\n", "NUL byte");
    parses("a: {'<<': 1}\n"); // in quotes it is a name
    lat_yaml_release(&doc);
}

static void malformed(void **state)
{
    (void)state;
    refuses("a: [1, 2\nb: 3\n", "t.yaml:2:");
    refuses("a: 1\n\tb: 2\n", "t.yaml:2:");
    refuses("a: 'open\n", "t.yaml:");
    refuses("a: b: c\n", "t.yaml:1:5: mapping values are not allowed");
    refuses("a: 1\n b: 2\n", "t.yaml:2:");
    refuses("a: \"\\q\"\n", "t.yaml:1:");
    refuses("a: \x01\n", "t.yaml:1:4: ");
    refuses_bytes("a: 1\nb: \xff\n", 10, LAT_FORMAT, "t.yaml:2:4: byte 0xff is not UTF-8");
    refuses_bytes("\xc3\xa9: \xc3", 5, LAT_FORMAT, "t.yaml:1:4: byte 0xc3 is not UTF-8");
    refuses_bytes("a: 1\0\n", 6, LAT_FORMAT, "t.yaml:1:5: a NUL byte");
    refuses_bytes("\xff\xfe" "a\0:\0", 6, LAT_FORMAT, "t.yaml:1:"); // UTF-16
}

static void limits(void **state)
{
    (void)state;
    enum { N = LAT_YAML_BYTES_MAX + 1 };
    char *text = malloc(N + 1);
    double start = lat_clock_seconds();
    memset(text, 'a', N);
    text[N] = '\0';
    refuses_bytes(text, N, LAT_LIMIT, "at most 8388608");
    memset(text, '[', N);
    refuses_bytes(text, N - 1, LAT_FORMAT, "t.yaml:1:33: nested deeper than 32");
    memset(text, '{', N);
    refuses_bytes(text, N - 1, LAT_FORMAT, "t.yaml:1:");
    for (size_t i = 0; i + 1 < N; i += 2)
        memcpy(text + i, "- ", 2);
    refuses_bytes(text, N - 1, LAT_FORMAT, "t.yaml:1:65: nested deeper than 32");
    text[0] = '[';
    for (size_t i = 1; i + 1 < N; i += 2)
        memcpy(text + i, "a,", 2);
    refuses_bytes(text, N - 1, LAT_FORMAT, "more than 500000 values");
    assert_true(lat_clock_seconds() - start < 30);
    free(text);
    parses("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"); // 32
    lat_yaml_release(&doc);
}

// Many keys: finding the double one must not take their square.
static void many_keys(void **state)
{
    enum { KEYS = 200000 };
    size_t used = 0, size = KEYS * 12 + 32;
    char *text = malloc(size);
    (void)state;
    double start = lat_clock_seconds();
    for (int i = 0; i < KEYS; i++)
        used += (size_t)snprintf(text + used, size - used, "k%d: 1\n", i);
    parses(text);
    assert_int_equal(doc.root->count, KEYS);
    lat_yaml_release(&doc);
    used += (size_t)snprintf(text + used, size - used, "k77: 1\n");
    refuses_bytes(text, used, LAT_FORMAT, "t.yaml:200001:1: duplicate key 'k77', first at line 78");
    assert_true(lat_clock_seconds() - start < 30);
    free(text);
}

static void typed(void **state)
{
    const char *text = "default";
    bool flag = true;
    uint64_t n = 7, bytes = 0;
    double x = 0.5, seconds = 0;
    struct lat_text_list list = { 0 };
    (void)state;
    parses("t: hello\nq: '~'\nb: false\nn: 42\nx: -1.5e3\ns: 90s\nm: 20m\nh: 2h\nd: 14d\nl: [a, 'b c']\none: solo\nnone: []\n"
           "z: 2GiB\nz2: 512\n");
    assert_int_equal(lat_yaml_read_text(&doc, doc.root, "absent", &text, &error), LAT_OK);
    assert_string_equal(text, "default");
    assert_int_equal(lat_yaml_read_text(&doc, doc.root, "t", &text, &error), LAT_OK);
    assert_string_equal(text, "hello");
    assert_int_equal(lat_yaml_read_text(&doc, doc.root, "q", &text, &error), LAT_OK);
    assert_string_equal(text, "~");
    assert_int_equal(lat_yaml_read_bool(&doc, doc.root, "b", &flag, &error), LAT_OK);
    assert_false(flag);
    assert_int_equal(lat_yaml_read_count(&doc, doc.root, "n", 42, &n, &error), LAT_OK);
    assert_int_equal(n, 42);
    assert_int_equal(lat_yaml_read_number(&doc, doc.root, "x", &x, &error), LAT_OK);
    assert_true(x == -1500);
    static const struct {
        const char *key;
        double seconds;
    } times[] = { { "s", 90 }, { "m", 1200 }, { "h", 7200 }, { "d", 14 * 86400 } };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(lat_yaml_read_duration(&doc, doc.root, times[i].key, &seconds, &error), LAT_OK);
        assert_true(seconds == times[i].seconds);
    }
    assert_int_equal(lat_yaml_read_bytes(&doc, doc.root, "z", &bytes, &error), LAT_OK);
    assert_true(bytes == 2ull << 30);
    assert_int_equal(lat_yaml_read_bytes(&doc, doc.root, "z2", &bytes, &error), LAT_OK);
    assert_true(bytes == 512);
    assert_int_equal(lat_yaml_read_texts(&doc, doc.root, "l", &list, &error), LAT_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[1], "b c");
    assert_int_equal(lat_yaml_read_texts(&doc, doc.root, "one", &list, &error), LAT_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0], "solo");
    assert_int_equal(lat_yaml_read_texts(&doc, doc.root, "none", &list, &error), LAT_OK);
    assert_int_equal(list.count, 0);
    lat_yaml_release(&doc);
}

#define EXPECT(call, why)                                                         \
    do {                                                                          \
        assert_int_equal(call, LAT_FORMAT);                                       \
        if (!strstr(error.text, why))                                             \
            fail_msg("expected '%s', got '%s'", why, error.text);                 \
    } while (0)

static void typed_wrongly(void **state)
{
    const char *text = NULL;
    bool flag = false;
    uint64_t n = 0;
    double x = 0;
    struct lat_text_list list = { 0 };
    (void)state;
    parses("e:\nl: [1]\ny: yes\nq: \"true\"\nn: -1\nbig: 99999999999999999999\nf: 1.5\nhex: 0x10\ninf: inf\nt: 5\nu: 5w\nmix: [a, [b]]\n"
           "nul: [~]\nover: 99999999999999999999d\nbb: 1GB\n");
    const struct lat_yaml_node *m = doc.root;
    EXPECT(lat_yaml_read_text(&doc, m, "e", &text, &error), "t.yaml:1:3: 'e': expected a text, not nothing");
    EXPECT(lat_yaml_read_text(&doc, m, "l", &text, &error), "t.yaml:2:4: 'l': expected a text, not a list");
    EXPECT(lat_yaml_read_bool(&doc, m, "y", &flag, &error), "t.yaml:3:4: 'y': expected true or false, not yes");
    EXPECT(lat_yaml_read_bool(&doc, m, "q", &flag, &error), "expected true or false, not 'true'");
    EXPECT(lat_yaml_read_count(&doc, m, "n", 10, &n, &error), "expected a whole number from 0 to 10, not -1");
    EXPECT(lat_yaml_read_count(&doc, m, "big", UINT64_MAX, &n, &error), "expected a whole number");
    EXPECT(lat_yaml_read_count(&doc, m, "f", 10, &n, &error), "not 1.5");
    EXPECT(lat_yaml_read_count(&doc, m, "t", 4, &n, &error), "from 0 to 4, not 5");
    EXPECT(lat_yaml_read_number(&doc, m, "hex", &x, &error), "a finite number, not 0x10");
    EXPECT(lat_yaml_read_number(&doc, m, "inf", &x, &error), "a finite number");
    EXPECT(lat_yaml_read_duration(&doc, m, "t", &x, &error), "a time like 90s");
    EXPECT(lat_yaml_read_duration(&doc, m, "u", &x, &error), "a time like 90s");
    EXPECT(lat_yaml_read_duration(&doc, m, "over", &x, &error), "a time like 90s");
    EXPECT(lat_yaml_read_bytes(&doc, m, "bb", &n, &error), "a size like");
    EXPECT(lat_yaml_read_texts(&doc, m, "mix", &list, &error), "t.yaml:12:10: expected a text, not a list");
    EXPECT(lat_yaml_read_texts(&doc, m, "nul", &list, &error), "expected a text, not ~");
    EXPECT(lat_yaml_error(&error, &doc, NULL, "here"), "t.yaml: here");
    lat_yaml_release(&doc);
}

static void keys(void **state)
{
    static const char *const known[] = { "required", "areas", "kind", NULL };
    (void)state;
    parses("required: true\nkind: x\n");
    assert_int_equal(lat_yaml_check_keys(&doc, doc.root, known, &error), LAT_OK);
    lat_yaml_release(&doc);
    parses("kind: x\n  \nrequierd: true\n");
    EXPECT(lat_yaml_check_keys(&doc, doc.root, known, &error), "t.yaml:3:1: unknown key 'requierd'; did you mean 'required'?");
    lat_yaml_release(&doc);
    parses("a: {zebra: 1}\n");
    EXPECT(lat_yaml_check_keys(&doc, doc.root->child, known, &error), "t.yaml:1:5: unknown key 'zebra'; known are: required, areas, kind");
    lat_yaml_release(&doc);
    parses("- a\n");
    EXPECT(lat_yaml_check_keys(&doc, doc.root, known, &error), "expected keys and values, not a list");
    lat_yaml_release(&doc);
}

static void files(void **state)
{
    char path[] = "/tmp/lattice-yaml-XXXXXX";
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: 1\n", 5), 5);
    close(fd);
    assert_int_equal(lat_yaml_read(&doc, path, &error), LAT_OK);
    assert_string_equal(lat_yaml_get(doc.root, "a")->text, "1");
    lat_yaml_release(&doc);
    unlink(path);
    assert_int_equal(lat_yaml_read(&doc, path, &error), LAT_NOT_FOUND);
    assert_int_equal(lat_yaml_read(&doc, "/tmp", &error), LAT_FORMAT);
    assert_int_equal(lat_yaml_read(&doc, "/dev/zero", &error), LAT_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_and_positions), cmocka_unit_test(empty_documents), cmocka_unit_test(what_could_mean_two_things),
        cmocka_unit_test(malformed),          cmocka_unit_test(limits),          cmocka_unit_test(many_keys),
        cmocka_unit_test(typed),              cmocka_unit_test(typed_wrongly),   cmocka_unit_test(keys),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
