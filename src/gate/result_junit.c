// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// JUnit XML: <testcase> in <testsuite>, at any depth. There is no standard; this reads what CTest, cmocka, GoogleTest
// and pytest write.
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "gate/result_parts.h"
#include "gate/xml_reader.h"

struct suite {
    uint64_t declared, seen; // tests
    bool has_declared;
};

struct junit {
    struct lat_results_reader *r;
    struct lat_xml xml;
    struct lat_xml_event event;
    struct suite suites[LAT_XML_DEPTH_MAX];
    size_t suite_depth;
    bool in_case, take_text;
    // The test that is open.
    struct lat_buf name, message;
    bool failed, skipped, never_ran;
};

static bool is(const struct junit *j, const char *name) { return strcmp(j->event.name, name) == 0; }

static enum lat_status open_suite(struct junit *j)
{
    struct suite *s = &j->suites[j->suite_depth++]; // not deeper than elements are
    *s = (struct suite){ 0 };
    const char *tests = lat_xml_attribute_get(&j->event, "tests");
    if (!tests)
        return LAT_OK;
    const char *at = tests, *end = tests + strlen(tests);
    s->has_declared = true;
    if (!lat_line_count(&at, end, &s->declared) || at != end)
        return lat_error_set(j->r->error, LAT_FORMAT, "%.150s: tests=\"%.40s\" is no count", j->r->name, tests);
    return LAT_OK;
}

// A suite that announces more tests than it holds has lost some.
static enum lat_status close_suite(struct junit *j)
{
    struct suite s = j->suites[--j->suite_depth];
    if (s.has_declared && s.seen < s.declared)
        return lat_error_set(j->r->error, LAT_FORMAT, "%.150s: a suite announces %llu tests and holds %llu", j->r->name,
                             (unsigned long long)s.declared, (unsigned long long)s.seen);
    if (j->suite_depth > 0)
        j->suites[j->suite_depth - 1].seen += s.seen;
    return LAT_OK;
}

static enum lat_status open_case(struct junit *j)
{
    const char *name = lat_xml_attribute_get(&j->event, "name"), *class = lat_xml_attribute_get(&j->event, "classname");
    const char *status = lat_xml_attribute_get(&j->event, "status"), *result = lat_xml_attribute_get(&j->event, "result");
    if (j->in_case)
        return lat_error_set(j->r->error, LAT_FORMAT, "%.150s: a <testcase> inside another", j->r->name);
    if (j->suite_depth == 0)
        return lat_error_set(j->r->error, LAT_FORMAT, "%.150s: a <testcase> outside of any <testsuite>", j->r->name);
    if (!name || !*name)
        return lat_error_set(j->r->error, LAT_FORMAT, "%.150s: a <testcase> without a name", j->r->name);
    j->in_case = true;
    j->failed = j->skipped = j->never_ran = false;
    lat_buf_clear(&j->name);
    lat_buf_clear(&j->message);
    if (class && *class && strcmp(class, name) != 0)
        lat_buf_addf(&j->name, "%s.", class);
    lat_buf_add_text(&j->name, name);
    j->skipped = (status && (strcmp(status, "disabled") == 0 || strcmp(status, "skipped") == 0)) ||
                 (result && (strcmp(result, "suppressed") == 0 || strcmp(result, "skipped") == 0));
    j->never_ran = status && strcmp(status, "notrun") == 0 && !result;
    return LAT_OK;
}

static enum lat_status close_case(struct junit *j)
{
    // CTest says "skipped" of a test whose program it did not find; a real skip names its reason as below.
    if (j->never_ran && !(j->skipped && j->message.length >= 5 && memcmp(j->message.bytes, "SKIP_", 5) == 0))
        j->failed = true;
    enum lat_test_outcome outcome = j->failed ? LAT_TEST_FAILED : j->skipped ? LAT_TEST_SKIPPED : LAT_TEST_PASSED;
    j->in_case = j->take_text = false;
    j->suites[j->suite_depth - 1].seen++;
    if (j->name.failed || j->message.failed)
        return lat_error_memory(j->r->error, "test results");
    return lat_results_add(j->r, outcome, j->name.bytes, j->name.length, j->message.length ? j->message.bytes : NULL, j->message.length);
}

static enum lat_status open_element(struct junit *j)
{
    if (j->xml.depth == 1 && !is(j, "testsuites") && !is(j, "testsuite"))
        return lat_error_set(j->r->error, LAT_FORMAT, "%.150s: <%.60s> where <testsuite> or <testsuites> is expected", j->r->name,
                             j->event.name);
    if (is(j, "testsuite") || is(j, "testsuites"))
        return j->in_case ? lat_error_set(j->r->error, LAT_FORMAT, "%.150s: a suite inside a test", j->r->name) : open_suite(j);
    if (is(j, "testcase"))
        return open_case(j);
    bool failure = is(j, "failure") || is(j, "error"), skip = is(j, "skipped");
    if (!j->in_case || (!failure && !skip))
        return LAT_OK;
    j->failed = j->failed || failure;
    j->skipped = j->skipped || skip;
    const char *message = lat_xml_attribute_get(&j->event, "message");
    if (message && j->message.length)
        lat_buf_add_char(&j->message, '\n');
    if (message)
        lat_buf_add_text(&j->message, message);
    j->take_text = failure;
    return LAT_OK;
}

static enum lat_status close_element(struct junit *j)
{
    j->take_text = false;
    if (is(j, "testsuite") || is(j, "testsuites"))
        return close_suite(j);
    return is(j, "testcase") ? close_case(j) : LAT_OK;
}

static enum lat_status read_all(struct junit *j)
{
    for (;;) {
        LAT_TRY(lat_xml_next(&j->xml, &j->event, j->r->error));
        if (j->event.kind == LAT_XML_EOF)
            return LAT_OK;
        if (j->event.kind == LAT_XML_START)
            LAT_TRY(open_element(j));
        else if (j->event.kind == LAT_XML_END)
            LAT_TRY(close_element(j));
        else if (j->take_text && j->message.length < 2000) {
            size_t take = j->event.text_length < 2000 ? j->event.text_length : 2000;
            if (j->message.length && take)
                lat_buf_add_char(&j->message, '\n');
            lat_buf_add(&j->message, j->event.text, take);
        }
    }
}

enum lat_status lat_results_junit(struct lat_results_reader *r, bool many_roots)
{
    struct junit *j = lat_mem_new(1, sizeof *j);
    if (!j)
        return lat_error_memory(r->error, "test results");
    j->r = r;
    lat_buf_init(&j->name, 1 << 16);
    lat_buf_init(&j->message, 1 << 20);
    enum lat_status status = lat_xml_open(&j->xml, r->at, (size_t)(r->end - r->at), r->name, r->error);
    j->xml.many_roots = many_roots;
    if (status == LAT_OK)
        status = read_all(j);
    lat_xml_close(&j->xml);
    lat_buf_release(&j->name);
    lat_buf_release(&j->message);
    lat_mem_free(j);
    return status;
}
