// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gate/finding.h"

static void states(void **state)
{
    (void)state;
    enum lat_leg_state s = LAT_LEG_PASS;
    for (int i = 0; i < LAT_LEG_STATE_COUNT; i++) {
        assert_true(lat_leg_state_parse(lat_leg_state_name((enum lat_leg_state)i), &s));
        assert_int_equal(s, i);
    }
    assert_false(lat_leg_state_parse("pass", &s));
    assert_false(lat_leg_state_parse("", &s));
    assert_string_equal(lat_leg_state_name((enum lat_leg_state)99), "ERROR");
    assert_int_equal(lat_leg_state_worse(LAT_LEG_FAIL, LAT_LEG_PASS), LAT_LEG_FAIL);
    assert_int_equal(lat_leg_state_worse(LAT_LEG_FAIL, LAT_LEG_ERROR), LAT_LEG_ERROR);
}

static void findings_worsen(void **state)
{
    struct lat_leg_result r;
    char code[] = "X101", path[] = "a\nb\xff";
    (void)state;
    lat_leg_result_init(&r, "unit");
    assert_int_equal(r.state, LAT_LEG_PASS);
    lat_leg_find(&r, LAT_LEG_FAIL, code, path, 7, "fix\tit", "bad \x1b[31m %s\n\xff \xc2\x9b \xc3\xa9", "thing");
    lat_leg_find(&r, LAT_LEG_WARN, "X102", NULL, 0, NULL, "mild");
    code[0] = path[0] = '?'; // texts are copies
    assert_int_equal(r.state, LAT_LEG_FAIL);
    assert_int_equal(r.finding_count, 2);
    assert_string_equal(r.findings[0].code, "X101");
    assert_string_equal(r.findings[0].path, "a\nb\xff");
    assert_int_equal(r.findings[0].line, 7);
    assert_string_equal(r.findings[0].fix, "fix\\x09it");
    assert_string_equal(r.findings[0].message, "bad \\x1b[31m thing\\n\\xff \\xc2\\x9b \xc3\xa9");
    assert_null(r.findings[1].path);
    lat_leg_result_release(&r);
}

static void long_and_many(void **state)
{
    struct lat_leg_result r;
    char text[9000];
    (void)state;
    lat_leg_result_init(&r, "unit");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 3000; i++)
        lat_leg_find(&r, LAT_LEG_WARN, "X1", NULL, 0, NULL, "%s", text);
    assert_int_equal(r.finding_count, LAT_LEG_FINDINGS_MAX);
    assert_int_equal(r.findings_dropped, 1000);
    assert_true(strlen(r.findings[0].message) < 4096);
    assert_string_equal(r.findings[0].message + strlen(r.findings[0].message) - 3, "...");
    lat_leg_find(&r, LAT_LEG_FAIL, "X2", NULL, 0, NULL, "dropped, and counts all the same");
    assert_int_equal(r.state, LAT_LEG_FAIL);
    r.population_min = 1;
    lat_leg_result_close(&r);
    assert_string_equal(r.findings[r.finding_count - 1].code, "V205");
    lat_leg_result_release(&r);
}

static void population(void **state)
{
    static const struct {
        enum lat_leg_state before;
        uint64_t population, least;
        enum lat_leg_state after;
    } rows[] = {
        { LAT_LEG_PASS, 10, 10, LAT_LEG_PASS },
        { LAT_LEG_PASS, 9, 10, LAT_LEG_ERROR },
        { LAT_LEG_PASS, 0, 0, LAT_LEG_ERROR }, // nothing looked at, nothing proven
        { LAT_LEG_PASS, 1, 0, LAT_LEG_PASS },
        { LAT_LEG_WARN, 0, 0, LAT_LEG_ERROR },
        { LAT_LEG_FAIL, 3, 10, LAT_LEG_ERROR },
        { LAT_LEG_UNMEASURABLE, 0, 0, LAT_LEG_UNMEASURABLE },
        { LAT_LEG_UNMEASURABLE, 0, 1, LAT_LEG_ERROR },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lat_leg_result r;
        lat_leg_result_init(&r, "unit");
        r.state = rows[i].before;
        r.population = rows[i].population;
        r.population_min = rows[i].least;
        r.population_unit = "tests";
        lat_leg_result_close(&r);
        assert_int_equal(r.state, rows[i].after);
        if (r.finding_count)
            assert_non_null(strstr(r.findings[0].message, " tests looked at, at least "));
        lat_leg_result_release(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states),
        cmocka_unit_test(findings_worsen),
        cmocka_unit_test(long_and_many),
        cmocka_unit_test(population),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
