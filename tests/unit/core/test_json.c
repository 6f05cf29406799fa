// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/json.h"

static enum lat_status parse(struct lat_json *doc, const char *text, struct lat_error *error)
{
    return lat_json_parse(doc, text, strlen(text), "t.json", error);
}

static void refuses(const char *text, const char *place)
{
    struct lat_json doc;
    struct lat_error error = { 0 };
    assert_int_not_equal(parse(&doc, text, &error), LAT_OK);
    if (!strstr(error.text, place))
        fail_msg("%s: \"%s\" lacks \"%s\"", text, error.text, place);
}

static void test_values(void **state)
{
    (void)state;
    struct lat_json doc;
    assert_int_equal(parse(&doc, " {\"a\": [1, -2.5e1, \"x\\u0000\\ud83d\\ude0a\\n\"], \"b\": {}, \"c\": null} ", NULL), LAT_OK);
    const struct lat_json_node *a = lat_json_get(doc.root, "a");
    assert_int_equal(a->count, 3);
    assert_int_equal(a->u.child->u.integer, 1);
    double number = 0;
    assert_true(lat_json_to_double(a->u.child->next, &number));
    assert_true(number == -25.0);
    const struct lat_json_node *s = a->u.child->next->next;
    assert_int_equal(s->count, 7);
    assert_memory_equal(s->u.string, "x\0\xf0\x9f\x98\x8a\n", 7);
    assert_int_equal(lat_json_get(doc.root, "b")->kind, LAT_JSON_OBJECT);
    assert_null(lat_json_get(doc.root, "d"));
    lat_json_release(&doc);
}

static void test_refusals(void **state)
{
    (void)state;
    refuses("", "line 1");
    refuses("{\"a\":1,\"a\":2}", "stands twice");
    refuses("[1,]", "line 1, column 4");
    refuses("[1] 2", "after the value");
    refuses("[\n01]", "line 2, column 1");
    refuses("1e400", "too large");
    refuses("\"\\ud800\"", "escape");
    refuses("\"\xff\"", "UTF-8");
    refuses("\"abc", "without an end");
    refuses("nul", "unexpected");
    char deep[4000];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    refuses(deep, "deep");
}

static void test_numbers_round_trip(void **state)
{
    (void)state;
    static const double values[] = { 0.1, 1e-320, 123456789.125, -2e300, 3.0 };
    struct lat_buf out;
    lat_buf_init(&out, 1000);
    for (size_t i = 0; i < 5; i++) {
        lat_buf_clear(&out);
        lat_json_add_double(&out, values[i]);
        struct lat_json doc;
        double back = 0;
        assert_int_equal(lat_json_parse(&doc, out.bytes, out.length, "t", NULL), LAT_OK);
        assert_true(lat_json_to_double(doc.root, &back));
        assert_true(back == values[i]);
        lat_json_release(&doc);
    }
    lat_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_values), cmocka_unit_test(test_refusals),
                                        cmocka_unit_test(test_numbers_round_trip) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
