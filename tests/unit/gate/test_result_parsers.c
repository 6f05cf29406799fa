// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Texts that CTest 3.25 and cmocka 1.1.7 wrote, TAP from its specification, and damaged copies of each.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gate/result_parsers.h"
#include "gate/xml_reader.h"

static struct lat_test_results r;
static struct lat_error error;

static void reads(enum lat_results_format format, const char *text, unsigned passed, unsigned failed, unsigned skipped)
{
    if (lat_results_parse(&r, format, text, strlen(text), "results", &error) != LAT_OK)
        fail_msg("%s", error.text);
    assert_int_equal(r.passed, passed);
    assert_int_equal(r.failed, failed);
    assert_int_equal(r.skipped, skipped);
    assert_int_equal(r.count, passed + failed + skipped);
}

static void refuses(enum lat_results_format format, const char *text, const char *why)
{
    error.text[0] = '\0';
    if (lat_results_parse(&r, format, text, strlen(text), "results", &error) == LAT_OK || !strstr(error.text, why))
        fail_msg("expected '%s', got '%s' for: %.80s", why, error.text, text);
    assert_null(r.cases);
}

static const struct lat_test_case *find(const char *name)
{
    for (size_t i = 0; i < r.count; i++)
        if (strcmp(r.cases[i].name, name) == 0)
            return &r.cases[i];
    fail_msg("no test '%s'", name);
    return NULL;
}

static const char ctest_xml[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<testsuite name=\"(empty)\"\n\ttests=\"6\"\n\tfailures=\"1\"\n\tdisabled=\"1\"\n\tskipped=\"2\"\n\thostname=\"\"\n\ttime=\"1\"\n\t>\n"
    "\t<testcase name=\"with space\" classname=\"with space\" time=\"0.0009\" status=\"run\">\n\t\t<properties/>\n"
    "\t\t<system-out>a &lt;x&gt; &amp; b</system-out>\n\t</testcase>\n"
    "\t<testcase name=\"bad\" classname=\"bad\" time=\"0.1\" status=\"fail\">\n\t\t<failure message=\"Failed\"/>\n\t\t<properties/>\n"
    "\t\t<system-out>oops\n</system-out>\n\t</testcase>\n"
    "\t<testcase name=\"skip\" classname=\"skip\" time=\"0\" status=\"notrun\">\n"
    "\t\t<skipped message=\"SKIP_RETURN_CODE=77\"/>\n\t</testcase>\n"
    "\t<testcase name=\"off\" classname=\"off\" time=\"0\" status=\"disabled\">\n\t\t<properties/>\n\t</testcase>\n"
    "\t<testcase name=\"gone\" classname=\"gone\" time=\"0\" status=\"notrun\">\n"
    "\t\t<skipped message=\"Unable to find executable\"/>\n\t</testcase>\n"
    "\t<testcase name=\"good\" classname=\"good\" time=\"0\" status=\"run\"/>\n"
    "</testsuite>\n";

static void junit_of_ctest(void **state)
{
    (void)state;
    reads(LAT_RESULTS_CTEST, ctest_xml, 2, 2, 2);
    assert_string_equal(find("bad")->message, "Failed");
    // CTest calls a test whose program is missing "skipped": it is not.
    assert_int_equal(find("gone")->outcome, LAT_TEST_FAILED);
    assert_int_equal(find("off")->outcome, LAT_TEST_SKIPPED);
    assert_int_equal(find("skip")->outcome, LAT_TEST_SKIPPED);
    assert_int_equal(find("with space")->outcome, LAT_TEST_PASSED);
    lat_results_release(&r);
    reads(LAT_RESULTS_JUNIT, ctest_xml, 2, 2, 2);
    lat_results_release(&r);
}

static void junit_cut_anywhere(void **state)
{
    (void)state;
    // Whatever is missing at the end, it is seen (but for the last line feed).
    for (size_t n = 0; n + 2 < sizeof ctest_xml; n++) {
        char *cut = malloc(n + 1); // exactly as long, so that a sanitizer sees a read past the end
        memcpy(cut, ctest_xml, n);
        if (n > 0 && n < sizeof ctest_xml - 2)
            assert_int_not_equal(lat_results_parse(&r, LAT_RESULTS_JUNIT, cut, n, "results", &error), LAT_OK);
        free(cut);
    }
}

static void junit_of_others(void **state)
{
    (void)state;
    // GoogleTest
    reads(LAT_RESULTS_JUNIT,
          "<testsuites tests=\"3\" failures=\"1\" disabled=\"1\" errors=\"0\" name=\"AllTests\">"
          "<testsuite name=\"A\" tests=\"3\"><testcase name=\"x\" status=\"run\" result=\"completed\" classname=\"A\"/>"
          "<testcase name=\"y\" status=\"notrun\" result=\"suppressed\" classname=\"A\"/>"
          "<testcase name=\"z\" status=\"run\" result=\"completed\" classname=\"A\">"
          "<failure message=\"one\" type=\"\"><![CDATA[f.cc:3\n"
          "1 < 2]]></failure><failure message=\"two\"/></testcase></testsuite></testsuites>",
          1, 1, 1);
    assert_non_null(find("A.x"));
    assert_string_equal(find("A.z")->message, "one\nf.cc:3\n1 < 2\ntwo");
    lat_results_release(&r);
    // pytest: errors of a fixture, skips with a reason
    reads(LAT_RESULTS_JUNIT,
          "<?xml version='1.0'?><testsuites><testsuite name='pytest' errors='1' tests='2'><testcase classname='t' name='a[&#233;]'>"
          "<error message='boom'>at &#x41;</error></testcase><testcase classname='t' name='b'><skipped"
          " type='pytest.skip' message='no gpu'/>"
          "</testcase></testsuite></testsuites>",
          0, 1, 1);
    assert_string_equal(find("t.a[\xc3\xa9]")->message, "boom\nat A");
    assert_string_equal(find("t.b")->message, "no gpu");
    lat_results_release(&r);
    // failed and skipped at once is failed
    reads(LAT_RESULTS_JUNIT, "<testsuite><testcase name='a'><skipped/><failure/></testcase></testsuite>", 0, 1, 0);
    lat_results_release(&r);
    reads(LAT_RESULTS_JUNIT, "<testsuite tests=\"0\"/>", 0, 0, 0); // none: the minimum's affair
    lat_results_release(&r);
}

static void junit_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        { "", "no element" },
        { "all 17 tests passed", "text outside of the root" },
        { "<html><body/></html>", "<testsuite> or <testsuites> is expected" },
        { "<testcase name='x'/>", "<testsuite> or <testsuites> is expected" },
        { "<testsuites><testcase name='x'/></testsuites><testsuite/>", "second root" },
        { "<testsuite tests='2'><testcase name='x'/></testsuite>", "announces 2 tests and holds 1" },
        { "<testsuites tests='5'><testsuite tests='1'><testcase name='x'/></testsuite></testsuites>", "announces 5 tests and holds 1" },
        { "<testsuite tests='-1'/>", "no count" },
        { "<testsuite tests='9999999999999999999999'/>", "no count" },
        { "<testsuite><testcase/></testsuite>", "without a name" },
        { "<testsuite><testcase name='a'><testcase name='b'/></testcase></testsuite>", "inside another" },
        { "<testsuite><testcase name='a'><testsuite/></testcase></testsuite>", "a suite inside a test" },
        { "<testsuite><a></b></testsuite>", "closes nothing" },
        { "<testsuite><testcase name='a' name='b'/></testsuite>", "stands twice" },
        { "<testsuite><testcase name='a'b='c'/></testsuite>", "expected a blank" },
        { "<testsuite><testcase name=a/></testsuite>", "without quotes" },
        { "<testsuite><testcase name='<'/></testsuite>", "'<' inside an attribute" },
        { "<testsuite>&bomb;</testsuite>", "an unknown entity '&bomb;'" },
        { "<testsuite>&#0;</testsuite>", "an unknown entity" },
        { "<testsuite>&#xD800;</testsuite>", "an unknown entity" },
        { "<testsuite>&</testsuite>", "'&' without an entity" },
        { "<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>", "document types" },
        { "<testsuite><![CDATA[ x </testsuite>", "ends inside a CDATA" },
        { "<testsuite><!-- x </testsuite>", "ends inside a comment" },
        { "<testsuite>\xff</testsuite>", "byte 0xff is not UTF-8" },
        { "<testsuite", "ends inside a tag" },
        { "<testsuite>\n\n<x>", "line 3: ends before '</x>'" },
        { "<>", "name of an element" },
        { "</testsuite>", "closes nothing" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuses(LAT_RESULTS_JUNIT, bad[i].text, bad[i].why);
    char deep[400] = "<testsuite>";
    for (int i = 0; i < 100; i++)
        strcat(deep, "<a>");
    refuses(LAT_RESULTS_JUNIT, deep, "nested deeper than 64");
    assert_int_not_equal(lat_results_parse(&r, LAT_RESULTS_JUNIT, "<testsuite>\0</testsuite>", 24, "results", &error), LAT_OK);
}

static const char ctest_text[] = "Test project /b\n    Start 1: good\n"
"1/9 Test #1: good .............................   Passed    0.00 sec\n"
                                 "2/9 Test #2: with space .......................   Passed    0.00 sec\n"
                                 "3/9 Test #3: bad ..............................***Failed    0.00 sec\n"
                                 "4/9 Test #4: skip .............................***Skipped   0.00 sec\n"
                                 "5/9 Test #5: off ..............................***Not Run (Disabled)   0.00 sec\n"
                                 "Could not find executable /nonexistent/prog\n"
                                 "6/9 Test #6: gone .............................***Not Run   0.00 sec\n"
                                 "7/9 Test #7: crash ............................***Exception: SegFault  0.00 sec\n"
                                 "8/9 Test #8: slow .............................***Timeout   1.00 sec\n"
                                 "9/9 Test #9: a.very...long.name ...............   Passed    0.00 sec\n\n"
                                 "50% tests passed, 4 tests failed out of 8\n\nTotal Test time (real) =   1.01 sec\n";

static void ctest_output(void **state)
{
    (void)state;
    reads(LAT_RESULTS_CTEST, ctest_text, 3, 4, 2);
    assert_int_equal(find("a.very...long.name")->outcome, LAT_TEST_PASSED);
    assert_string_equal(find("crash")->message, "Exception: SegFault");
    assert_string_equal(find("gone")->message, "Not Run");
    assert_int_equal(find("with space")->outcome, LAT_TEST_PASSED);
    lat_results_release(&r);
    reads(LAT_RESULTS_CTEST, "Test project /b\nNo tests were found!!!\n", 0, 0, 0);
    lat_results_release(&r);
    reads(LAT_RESULTS_CTEST, " 1/2 Test  #3: x ....   Passed    0.00 sec\n 2/2 Test #10: y ....***Failed  Regex=[a]  0.10 sec\n\n"
                             "50% tests passed, 1 tests failed out of 2\n",
          1, 1, 0);
    assert_string_equal(find("y")->message, "Failed  Regex=[a]");
    lat_results_release(&r);
}

static void ctest_output_cut(void **state)
{
    char text[sizeof ctest_text];
    (void)state;
    size_t summary = (size_t)(strstr(ctest_text, "50%") - ctest_text);
    for (size_t n = 20; n < summary; n++) { // from the first test on
        memcpy(text, ctest_text, n);
        text[n] = '\0';
        if (strstr(text, "Test #1: good ....") && strchr(strstr(text, "Test #1"), '\n'))
            refuses(LAT_RESULTS_CTEST, text, "");
    }
    refuses(LAT_RESULTS_CTEST, "1/2 Test #1: a ....   Passed    0.00 sec\n\n100% tests passed, 0 tests failed out of 2\n",
            "announces 2 tests and tells of 1");
    refuses(LAT_RESULTS_CTEST, "1/1 Test #1: a ....   Passing  0.00 sec\n", "without a result");
    refuses(LAT_RESULTS_CTEST, "1/1 Test #1: ....   Passed    0.00 sec\n", "without a name");
}

static void cmocka_formats(void **state)
{
    (void)state;
    reads(LAT_RESULTS_CMOCKA,
          "[==========] Running 3 test(s).\n[ RUN      ] good\n[       OK ] good\n[ RUN      ] bad\n"
          "[  FAILED  ] bad\n[ RUN      ] skipped\n"
          "[  SKIPPED ] skipped\n[==========] 3 test(s) run.\n[==========] Running 1 test(s).\n[ RUN      ] again\n[       OK ] again\n"
          "[==========] 1 test(s) run.\n",
          2, 1, 1);
    assert_int_equal(find("skipped")->outcome, LAT_TEST_SKIPPED);
    lat_results_release(&r);
    reads(LAT_RESULTS_CMOCKA,
          "1..3\nok 1 - good\nnot ok 2 - bad\n# 0x1 != 0x2\n# c.c:7: error: Failure!\nnot ok 3 # SKIP skipped\n# not ok - g one\n"
          "1..1\nok 1 - again\n# ok - g two\n",
          2, 1, 1);
    assert_int_equal(find("skipped")->outcome, LAT_TEST_SKIPPED);
    lat_results_release(&r);
    reads(LAT_RESULTS_CMOCKA,
          "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>\n<testsuites>\n"
          "  <testsuite name=\"g one\" time=\"0.000\" tests=\"3\" failures=\"1\" "
          "errors=\"0\" skipped=\"1\" >\n    <testcase name=\"good\" time=\"0.000\" >\n    </testcase>\n    <testcase name=\"bad\" "
          "time=\"0.000\" >\n      <failure><![CDATA[0x1 != 0x2\nc.c:7: error: Failure!]]></failure>\n    </testcase>\n"
          "    <testcase name=\"skipped\" time=\"0.000\" >\n      <skipped/>\n    </testcase>\n  </testsuite>\n</testsuites>\n"
          "<testsuites>\n  <testsuite name=\"g two\" time=\"0.000\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\" >\n"
          "    <testcase name=\"again\" time=\"0.000\" >\n    </testcase>\n  </testsuite>\n</testsuites>\n",
          2, 1, 1);
    assert_string_equal(find("bad")->message, "0x1 != 0x2\nc.c:7: error: Failure!");
    lat_results_release(&r);
    refuses(LAT_RESULTS_CMOCKA, "[==========] Running 2 test(s).\n[       OK ] good\n", "ends inside a group");
    refuses(LAT_RESULTS_CMOCKA, "[==========] Running 2 test(s).\n[       OK ] good\n[==========] 1 test(s) run.\n", "announces 2 tests");
    refuses(LAT_RESULTS_CMOCKA, "[==========] Running 2 test(s).\n[==========] Running 2 test(s).\n", "inside another");
    refuses(LAT_RESULTS_CMOCKA, "[==========] 2 test(s) run.\n", "did not begin");
    refuses(LAT_RESULTS_CMOCKA, "[==========] Running 1 test(s).\n[       OK ] ", "a test without a name");
    refuses(LAT_RESULTS_CMOCKA, "1..2\nok 1 - a\n1..1\nok 1 - b\n", "a second plan");
}

static void tap(void **state)
{
    (void)state;
    reads(LAT_RESULTS_TAP,
          "TAP version 14\n1..6\nok 1 - first\nnot ok 2 - second\n  ---\n  message: x\n  ...\nok 3 - third # SKIP no device\n"
          "not ok 4 - fourth # TO" "DO later\nok 5\n    1..1\n    not ok 1 - a subtest\nok 6 - with \\# hash\n",
          3, 1, 2);
    assert_string_equal(find("third")->message, "no device");
    assert_int_equal(find("third")->outcome, LAT_TEST_SKIPPED);
    assert_int_equal(find("fourth")->outcome, LAT_TEST_SKIPPED);
    assert_int_equal(find("(unnamed)")->outcome, LAT_TEST_PASSED);
    assert_int_equal(find("with \\# hash")->outcome, LAT_TEST_PASSED);
    lat_results_release(&r);
    reads(LAT_RESULTS_TAP, "ok - a\r\nok - b\r\n1..2\r\n", 2, 0, 0); // the plan may come last
    lat_results_release(&r);
    reads(LAT_RESULTS_TAP, "1..0 # SKIP nothing to do\n", 0, 0, 0);
    lat_results_release(&r);
    reads(LAT_RESULTS_TAP, "1..1\nnot ok 1 - x # SKIP broken\n", 0, 1, 0); // not ok is not ok
    lat_results_release(&r);
    refuses(LAT_RESULTS_TAP, "", "no plan");
    refuses(LAT_RESULTS_TAP, "ok 1 - a\n", "no plan");
    refuses(LAT_RESULTS_TAP, "1..3\nok 1\nok 2\n", "3 tests planned, 2 told of");
    refuses(LAT_RESULTS_TAP, "1..1\nok 1\nok 2\n", "1 tests planned, 2 told of");
    refuses(LAT_RESULTS_TAP, "1..2\nok 1\nok 1\n", "test 1 where 2 is next");
    refuses(LAT_RESULTS_TAP, "1..1\n1..1\nok 1\n", "second plan");
    refuses(LAT_RESULTS_TAP, "1..2\nok 1\nBail out! no database\n", "the tests gave up: Bail out! no database");
    refuses(LAT_RESULTS_TAP, "1..x\n", "without a number");
}

static void names(void **state)
{
    enum lat_results_format f = LAT_RESULTS_TAP;
    (void)state;
    assert_true(lat_results_format_parse("exit", &f));
    assert_int_equal(f, LAT_RESULTS_EXIT);
    assert_true(lat_results_format_parse("junit", &f));
    assert_int_equal(f, LAT_RESULTS_JUNIT);
    assert_false(lat_results_format_parse("", &f));
    assert_false(lat_results_format_parse("JUnit", &f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(junit_of_ctest), cmocka_unit_test(junit_cut_anywhere), cmocka_unit_test(junit_of_others),
        cmocka_unit_test(junit_refused),  cmocka_unit_test(ctest_output),       cmocka_unit_test(ctest_output_cut),
        cmocka_unit_test(cmocka_formats), cmocka_unit_test(tap),                cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
