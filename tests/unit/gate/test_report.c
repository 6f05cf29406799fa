// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Reports of hostile evidence: every format parses, stays small, and no text of a stranger becomes markup or a command.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/utf8.h"
#include "gate/report.h"
#include "gate/xml_reader.h"

typedef void (*writer)(struct lat_buf *out, const struct lat_report *report);

struct scene {
    struct lat_plan plan;
    struct lat_leg_evidence items[3];
    struct lat_leg_evidence_set set;
    struct lat_verdict verdict;
    struct lat_report report;
    struct lat_buf out;
};

static const char nasty[] = "a|b `c` ::error::d\n::error::e \x1b[31m \r\n##[error]f \xff\xc3 <g>&\"' \xe2\x80\xae ]]> %0A [x](y)";

static void open_scene(struct scene *s, size_t findings, const char *path)
{
    static const char *const names[] = { "bad", "good", "informs" };
    struct lat_witness w[3];
    struct lat_error error = { 0 };
    *s = (struct scene){ .plan = { .nonce = "0123456789abcdef0123456789abcdef", .tree = "files:00", .attempt = 1, .leg_count = 4 } };
    for (size_t i = 0; i < 3; i++) {
        struct lat_leg_result *r = &s->items[i].result;
        s->plan.legs[i] = (struct lat_plan_leg){ names[i], i != 2, true, nasty };
        lat_leg_result_init(r, names[i]);
        r->population = 3;
        r->population_unit = "te|sts";
        r->seconds = 1.5;
        for (size_t k = 0; i != 1 && k < findings; k++)
            lat_leg_find(r, k % 3 ? LAT_LEG_FAIL : LAT_LEG_WARN, "T101", path, 7, nasty, "%zu %s", k, nasty);
        w[i] = (struct lat_witness){ .leg = names[i], .state = r->state, .nonce_fits = true, .tree_fits = true, .attempt_fits = true,
                                     .population = 3 };
    }
    s->plan.legs[3] = (struct lat_plan_leg){ "missing", true, true, "" };
    s->set = (struct lat_leg_evidence_set){ .items = s->items, .count = 3 };
    lat_verdict_join(&s->verdict, &s->plan, w, 3, 0, NULL, 0);
    assert_int_equal(lat_report_open(&s->report, &s->plan, &s->verdict, &s->set, &error), LAT_OK);
    lat_buf_init(&s->out, LAT_REPORT_BYTES_MAX);
}

static void close_scene(struct scene *s)
{
    lat_buf_release(&s->out);
    lat_report_close(&s->report);
    for (size_t i = 0; i < 3; i++)
        lat_leg_result_release(&s->items[i].result);
}

// Whole, small, one kind of UTF-8, no control bytes but line feeds.
static void write_checked(struct scene *s, writer write)
{
    lat_buf_clear(&s->out);
    write(&s->out, &s->report);
    assert_false(s->out.failed);
    assert_true(s->out.length > 100 && s->out.length <= LAT_REPORT_BYTES_MAX);
    assert_int_equal(lat_utf8_check(s->out.bytes, s->out.length), s->out.length);
    for (size_t i = 0; i < s->out.length; i++)
        if (((unsigned char)s->out.bytes[i] < 0x20 && s->out.bytes[i] != '\n') || s->out.bytes[i] == 0x7f)
            fail_msg("control byte %d", s->out.bytes[i]);
    assert_null(strstr(s->out.bytes, "\xe2\x80\xae")); // turns the direction of a line
}

static void check_lines(const struct scene *s)
{
    for (const char *line = s->out.bytes; *line; line = strchr(line, '\n') + 1) // text and Markdown: no line begins a command
        if (strncmp(line, "::", 2) == 0 || strncmp(line, "##[", 3) == 0)
            fail_msg("%.60s", line);
}

static void check_text(struct scene *s)
{
    write_checked(s, lat_report_text);
    check_lines(s);
    assert_non_null(strstr(s->out.bytes, "\nverdict: ERROR\n"));
    assert_non_null(strstr(s->out.bytes, "V202 "));
    write_checked(s, lat_report_markdown);
    check_lines(s);
    size_t rows = 0;
    for (const char *line = s->out.bytes; *line; line = strchr(line, '\n') + 1)
        if (*line == '|') {
            size_t bars = 0;
            for (const char *c = line; *c != '\n'; c++)
                bars += *c == '|';
            assert_int_equal(bars, 7);
            rows++;
        }
    assert_int_equal(rows, 2 + 4);
    assert_null(strstr(s->out.bytes, "<g>"));
}

static void check_github(struct scene *s)
{
    write_checked(s, lat_report_github);
    size_t errors = 0, warnings = 0;
    for (const char *line = s->out.bytes; *line; line = strchr(line, '\n') + 1) {
        bool error = strncmp(line, "::error ", 8) == 0, warning = strncmp(line, "::warning ", 10) == 0;
        errors += error;
        warnings += warning;
        if (!error && !warning && strncmp(line, "verdict: ERROR\n", 15) != 0 && strncmp(line, "and ", 4) != 0)
            fail_msg("%.60s", line);
        assert_null(memmem(line, (size_t)(strchr(line, '\n') - line), "%0A", 3)); // a stranger's %0A would break the line
    }
    assert_true(errors > 0 && errors <= 10 && warnings > 0 && warnings <= 10);
}

static void check_junit(struct scene *s)
{
    struct lat_xml xml;
    struct lat_xml_event e;
    struct lat_error error = { 0 };
    size_t suites = 0, cases = 0, red = 0, skipped = 0, said = 0, said_red = 0, said_skipped = 0;
    write_checked(s, lat_report_junit);
    assert_int_equal(lat_xml_open(&xml, s->out.bytes, s->out.length, "report", &error), LAT_OK);
    for (;;) {
        if (lat_xml_next(&xml, &e, &error) != LAT_OK)
            fail_msg("%s", error.text);
        if (e.kind == LAT_XML_EOF)
            break;
        if (e.kind != LAT_XML_START)
            continue;
        cases += strcmp(e.name, "testcase") == 0;
        red += strcmp(e.name, "failure") == 0 || strcmp(e.name, "error") == 0;
        skipped += strcmp(e.name, "skipped") == 0;
        if (strcmp(e.name, "testsuite") == 0) {
            suites++;
            said += strtoul(lat_xml_attribute_get(&e, "tests"), NULL, 10);
            said_red += strtoul(lat_xml_attribute_get(&e, "failures"), NULL, 10) + strtoul(lat_xml_attribute_get(&e, "errors"), NULL, 10);
            said_skipped += strtoul(lat_xml_attribute_get(&e, "skipped"), NULL, 10);
        }
    }
    lat_xml_close(&xml);
    assert_int_equal(suites, 4);
    assert_true(cases == said && red == said_red && skipped == said_skipped && red >= 3 && skipped >= 1);
}

static json_t *parse(struct scene *s)
{
    json_error_t where;
    json_t *object = json_loadb(s->out.bytes, s->out.length, JSON_REJECT_DUPLICATES, &where);
    if (!object)
        fail_msg("line %d: %s", where.line, where.text);
    return object;
}

static void check_json(struct scene *s)
{
    json_t *result, *prints = json_object();
    size_t i;
    write_checked(s, lat_report_json);
    json_t *object = parse(s);
    assert_string_equal(json_string_value(json_object_get(object, "verdict")), "ERROR");
    assert_int_equal(json_array_size(json_object_get(object, "legs")), 4);
    json_decref(object);
    write_checked(s, lat_report_sarif);
    object = parse(s);
    assert_string_equal(json_string_value(json_object_get(object, "version")), "2.1.0");
    json_t *sarif_run = json_array_get(json_object_get(object, "runs"), 0), *results = json_object_get(sarif_run, "results");
    json_t *rules = json_object_get(json_object_get(json_object_get(sarif_run, "tool"), "driver"), "rules");
    assert_true(json_array_size(results) >= 3);
    assert_int_equal(json_array_size(rules), 2); // T101, V202
    json_array_foreach(results, i, result)
    {
        json_t *place = json_object_get(json_array_get(json_object_get(result, "locations"), 0), "physicalLocation");
        const char *uri = json_string_value(json_object_get(json_object_get(place, "artifactLocation"), "uri"));
        const char *print = json_string_value(json_object_get(json_object_get(result, "partialFingerprints"), "latticeGate/v1"));
        assert_true(uri && *uri && strspn(uri, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/+%:") == strlen(uri));
        assert_true(json_integer_value(json_object_get(json_object_get(place, "region"), "startLine")) >= 1);
        assert_true(json_is_string(json_object_get(result, "ruleId")));
        assert_true(json_is_string(json_object_get(json_object_get(result, "message"), "text")));
        assert_true(print && strlen(print) == 64 && !json_object_get(prints, print));
        json_object_set_new(prints, print, json_true());
    }
    json_decref(prints);
    json_decref(object);
}

static void check_all(size_t findings, const char *path)
{
    static struct scene s;
    open_scene(&s, findings, path);
    check_text(&s);
    check_github(&s);
    check_junit(&s);
    check_json(&s);
    close_scene(&s);
}

static void test_hostile(void **state)
{
    (void)state;
    check_all(4, "src/a|b,c:d%\x1b[0m\xff\n::error::x.c");
}

static void test_many(void **state)
{
    (void)state;
    check_all(LAT_LEG_FINDINGS_MAX + 10, nasty);
}

static void test_large(void **state)
{
    (void)state;
    size_t size = 5 << 20;
    char *path = malloc(size + 1);
    assert_non_null(path);
    memset(path, 1, size);
    path[size] = 0;
    check_all(6, path);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
