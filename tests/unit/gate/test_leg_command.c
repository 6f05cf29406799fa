// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Legs of kind "command" as a policy has them: what they conclude from commands that lie, hang, skip and break.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "gate/leg_run.h"

static char root[] = "/tmp/lattice-leg-XXXXXX", work[64];
static struct lat_policy policy;
static struct lat_leg_result result;
static struct lat_error error;

static enum lat_status read_policy(const char *legs)
{
    char text[4000];
    snprintf(text, sizeof text, "schema: 1\nproject: {name: p}\nareas: {all: [\"**\"]}\nlegs:\n%s", legs);
    enum lat_status status = lat_policy_parse(&policy, text, strlen(text), "gate.yaml", &error);
    return status == LAT_OK ? lat_legs_check(&policy, &error) : status;
}

static void run(const char *leg)
{
    char legs[3000];
    snprintf(legs, sizeof legs, "  unit: {kind: command, areas: all, %s}\n", leg);
    if (read_policy(legs) != LAT_OK)
        fail_msg("%s", error.text);
    struct lat_gate_run where = { .root = root, .work = work, .policy = &policy };
    lat_leg_run(&where, &policy.legs[0], &result);
}

struct row {
    const char *leg;
    enum lat_leg_state state;
    const char *codes; // of the findings, in order
    const char *says;  // in the first finding's message
    unsigned population;
};

#define SH(script) "run: [sh, -c, '" script "'], "
#define MIN "min: 1, "

static const struct row rows[] = {
    { SH("exit 0") "parse: exit", LAT_LEG_PASS, "", NULL, 1 },
    { SH("echo why >&2; exit 3") "parse: exit", LAT_LEG_FAIL, "T102 ", "exit status 3; last it said: why", 1 },
    { SH("kill -SEGV $$") "parse: exit", LAT_LEG_ERROR, "V204 ", "ended by signal 11", 0 },
    { SH("exit 127") "parse: exit", LAT_LEG_FAIL, "T102 ", "exit status 127", 1 },
    { "run: [no-such-program], parse: exit", LAT_LEG_ERROR, "E301 ", "no such program", 0 },
    { "run: [./no/such], parse: exit", LAT_LEG_ERROR, "E301 ", "no such program", 0 },
    { SH("true") "directory: nowhere, parse: exit", LAT_LEG_ERROR, "E301 ", "no such folder", 0 },
    { SH("true") "tools: [sh, no-such-tool], parse: exit", LAT_LEG_ERROR, "E301 ", "no-such-tool", 0 },
    { SH("sleep 60") "budget: 1s, parse: exit", LAT_LEG_ERROR, "V204 ", "over its time", 0 },
    { "run: [awk, 'BEGIN { s = \"0123456789abcdef\"; while (length(s) < 67108864) s = s s; while (1) {} }'], rss_max: 16MiB, parse: exit",
      LAT_LEG_ERROR, "V204 ", "over its memory", 0 },
    { SH("echo 1..2; echo ok 1 - a; echo ok 2 - b") MIN "parse: tap", LAT_LEG_PASS, "", NULL, 2 },
    { SH("echo 1..2; echo ok 1 - a; echo ok 2 - b") "min: 3, parse: tap", LAT_LEG_ERROR, "V205 ", "2 tests looked at, at least 3", 2 },
    { SH("echo 1..0") MIN "parse: tap", LAT_LEG_ERROR, "V205 ", "0 tests looked at", 0 },
    { SH("echo 1..2; echo ok 1 - a; echo not ok 2 - b; exit 1") MIN "parse: tap", LAT_LEG_FAIL, "T101 ", "b failed", 2 },
    // one witness says pass, the other does not
    { SH("echo 1..1; echo not ok 1 - b; exit 0") MIN "parse: tap", LAT_LEG_ERROR, "T101 V203 ", "b failed", 1 },
    { SH("echo 1..1; echo ok 1 - b; exit 1") MIN "parse: tap", LAT_LEG_ERROR, "V203 ", "exit status 1", 1 },
    { SH("echo 1..1; echo not ok 1 - b | cat; false | cat") MIN "parse: tap", LAT_LEG_ERROR, "T101 V203 ", NULL, 1 },
    // skips
    { SH("echo 1..2; echo ok 1 - a; echo \"ok 2 - gpu_mul # SKIP none\"")
      MIN "parse: tap", LAT_LEG_FAIL, "V206 ", "gpu_mul was skipped: none", 1 },
    { SH("echo 1..2; echo ok 1 - a; echo \"ok 2 - gpu_mul # SKIP none\"")
      MIN "parse: tap, skips_allow: [\"gpu_*\"]", LAT_LEG_PASS, "", NULL, 1 },
    { SH("echo 1..2; echo ok 1 - a; echo \"ok 2 - gpu_mul # SKIP none\"") MIN "parse: tap, skips_allow: [\"gpu_*\"], max_skipped: 0",
      LAT_LEG_FAIL, "V206 ", "1 tests were skipped, at most 0", 1 },
    { SH("echo 1..1; echo \"ok 1 - gpu_mul # SKIP none\"")
      MIN "parse: tap, skips_allow: [\"gpu_*\"]", LAT_LEG_ERROR, "V205 ", "0 tests", 0 },
    // results that are none
    { SH("echo all fine") MIN "parse: tap", LAT_LEG_ERROR, "T103 ", "no plan", 0 },
    { SH("echo 1..3; echo ok 1") MIN "parse: tap", LAT_LEG_ERROR, "T103 ", "3 tests planned, 1 told of", 0 },
    { "run: [\"true\", \"{out}\"], " MIN "parse: junit", LAT_LEG_ERROR, "T103 ", "results: cannot open", 0 },
    { "run: [sh, -c, 'echo \"<testsuite><testcase name=\\\"x\\\"/></testsuite>\" >$0', \"{out}\"], "
      MIN "parse: junit", LAT_LEG_PASS, "", NULL, 1 },
    { "run: [sh, -c, 'echo \"<testsuite><testcase name=\\\"x\\\"/>\" >$0', \"{out}\"], "
      MIN "parse: junit", LAT_LEG_ERROR, "T103 ", "cut short?", 0 },
    { SH("echo \"1..1\" >$RESULTS; echo ok >>$RESULTS") "env: {RESULTS: \"{out}\"}, " MIN "parse: tap", LAT_LEG_PASS, "", NULL, 1 },
    { SH("test -z \"$GIT_DIR\"") "parse: exit", LAT_LEG_PASS, "", NULL, 1 },
    { SH("pwd | grep -q sub$") "directory: sub, parse: exit", LAT_LEG_PASS, "", NULL, 1 },
};

static void conclusions(void **state)
{
    (void)state;
    setenv("GIT_DIR", "/elsewhere", 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char codes[200] = "";
        run(rows[i].leg);
        for (size_t k = 0; k < result.finding_count; k++)
            snprintf(codes + strlen(codes), sizeof codes - strlen(codes), "%s ", result.findings[k].code);
        if (result.state != rows[i].state || strcmp(codes, rows[i].codes) != 0 || result.population != rows[i].population ||
            (rows[i].says && !strstr(result.findings[0].message, rows[i].says)))
            fail_msg("%s: %s '%s' population %u: %s", rows[i].leg, lat_leg_state_name(result.state), codes, (unsigned)result.population,
                     result.finding_count ? result.findings[0].message : "");
        lat_leg_result_release(&result);
        lat_policy_release(&policy);
    }
}

// A file of results that lies there from before must not be read as today's.
static void old_results_do_not_count(void **state)
{
    char path[200];
    (void)state;
    run("run: [sh, -c, 'echo \"<testsuite><testcase name=\\\"x\\\"/></testsuite>\" >$0', \"{out}\"], min: 1, parse: junit");
    assert_int_equal(result.state, LAT_LEG_PASS);
    lat_leg_result_release(&result);
    lat_policy_release(&policy);
    snprintf(path, sizeof path, "%s/logs/unit/results", work);
    assert_true(lat_file_exists(path));
    run("run: [\"true\", \"{out}\"], min: 1, parse: junit");
    assert_int_equal(result.state, LAT_LEG_ERROR);
    assert_string_equal(result.findings[0].code, "T103");
    assert_string_equal(json_string_value(json_object_get(result.details, "parse")), "junit");
    lat_leg_result_release(&result);
    lat_policy_release(&policy);
}

static void logs_are_kept(void **state)
{
    struct lat_file_map map;
    char path[200];
    (void)state;
    run(SH("echo to stdout; echo to stderr >&2; exit 1") "parse: exit");
    assert_int_equal(result.process_status, 1);
    lat_leg_result_release(&result);
    lat_policy_release(&policy);
    snprintf(path, sizeof path, "%s/logs/unit/stderr.txt", work);
    assert_int_equal(lat_file_map_open(&map, path, &error), LAT_OK);
    assert_int_equal(map.length, 10);
    assert_memory_equal(map.bytes, "to stderr\n", 10);
    lat_file_map_close(&map);
}

static void wrong_keys(void **state)
{
    static const struct {
        const char *leg, *why;
    } bad[] = {
        { "parse: exit", "gate.yaml:5:9: leg 'unit': expected 'run'" },
        { "run: [], parse: exit", "expected 'run'" },
        { "run: \"ctest -j2\", parse: exit", "'run' is no shell's line" },
        { "run: [a]", "expected 'parse'" },
        { "run: [a], parse: xunit, min: 1", "expected 'parse': junit, ctest, cmocka, tap or exit" },
        { "run: [a], parse: tap", "expected 'min'" },
        { "run: [a], parse: exit, min: 7", "nothing is counted" },
        { "run: [a, \"{out}\"], parse: exit", "nothing is counted" },
        { "run: [a], parse: exit, skips_allow: [x]", "nothing is counted" },
        { "run: [a], parse: tap, min: 1, skips_allow: [\"a//b\"]", "an empty component" },
        { "run: [a], parse: tap, min: 1, max_skipped: -1", "'max_skipped': expected a whole number" },
        { "run: [a], parse: tap, min: 1, env: [x]", "'env': expected names and values" },
        { "run: [a], parse: tap, min: 1, env: {x: [y]}", "'env': expected a name" },
        { "run: [a], parse: tap, min: 1, skip_allow: [x]", "unknown key 'skip_allow'; did you mean 'skips_allow'?" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char legs[400];
        snprintf(legs, sizeof legs, "  unit: {kind: command, areas: all, %s}\n", bad[i].leg);
        error.text[0] = '\0';
        if (read_policy(legs) != LAT_FORMAT || !strstr(error.text, bad[i].why))
            fail_msg("expected '%s', got '%s'", bad[i].why, error.text);
        lat_policy_release(&policy);
    }
}

static void order_by_needs(void **state)
{
    const struct lat_policy_leg *wanted[2], *order[LAT_POLICY_LEGS_MAX];
    (void)state;
    assert_int_equal(read_policy("  d: {kind: command, areas: all, run: [\"true\"], parse: exit, needs: [b, c]}\n"
                                 "  c: {kind: command, areas: all, run: [\"true\"], parse: exit, needs: a}\n"
                                 "  b: {kind: command, areas: all, run: [\"true\"], parse: exit, needs: a}\n"
                                 "  a: {kind: command, areas: all, run: [\"true\"], parse: exit}\n"),
                     LAT_OK);
    wanted[0] = lat_policy_leg_find(&policy, "d");
    wanted[1] = lat_policy_leg_find(&policy, "a");
    assert_int_equal(lat_legs_order(&policy, wanted, 2, true, order), 4);
    assert_string_equal(order[0]->name, "a");
    assert_string_equal(order[1]->name, "b");
    assert_string_equal(order[2]->name, "c");
    assert_string_equal(order[3]->name, "d");
    assert_int_equal(lat_legs_order(&policy, wanted, 2, false, order), 2); // only those wanted, still in order
    assert_string_equal(order[0]->name, "a");
    assert_string_equal(order[1]->name, "d");
    lat_leg_not_run(wanted[0], "b", &result);
    assert_int_equal(result.state, LAT_LEG_ERROR);
    assert_string_equal(result.findings[0].code, "V204");
    lat_leg_result_release(&result);
    lat_policy_release(&policy);
}

// Evidence that cannot be written: no verdict.
static void work_folder_is_gone(void **state)
{
    (void)state;
    struct lat_gate_run where = { .root = root, .work = "/nonexistent/work", .policy = &policy };
    assert_int_equal(read_policy("  unit: {kind: command, areas: all, run: [\"true\"], parse: exit}\n"), LAT_OK);
    lat_leg_run(&where, &policy.legs[0], &result);
    assert_int_equal(result.state, LAT_LEG_ERROR);
    assert_non_null(strstr(result.findings[0].message, "/nonexistent/work/logs: cannot make"));
    lat_leg_result_release(&result);
    lat_policy_release(&policy);
}

// A full disk, played by a limit on the size of files.
static void disk_is_full(void **state)
{
    struct rlimit before, none;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
    void (*old)(int) = signal(SIGXFSZ, SIG_IGN);
    fflush(stdout);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    run(SH("echo evidence") "parse: exit");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, old);
    assert_int_equal(result.state, LAT_LEG_ERROR);
    assert_string_equal(result.findings[0].code, "E302");
    assert_non_null(strstr(result.findings[0].message, "stdout.txt: cannot write"));
    lat_leg_result_release(&result);
    lat_policy_release(&policy);
}

// Names of tests are bytes of a stranger; what goes into JSON is text.
static void names_become_text(void **state)
{
    (void)state;
    run("run: [printf, \"1..2\\nok 1 - a\\nok 2 - \\\\377\\\\033[2Jx # SKIP\\n\"], min: 1, parse: tap, skips_allow: [\"*\"]");
    assert_int_equal(result.state, LAT_LEG_PASS);
    json_t *skips = json_object_get(result.details, "skips");
    assert_int_equal(json_array_size(skips), 1);
    assert_string_equal(json_string_value(json_array_get(skips, 0)), "\\xff\\x1b[2Jx");
    char *text = json_dumps(result.details, 0);
    assert_non_null(text);
    free(text);
    lat_leg_result_release(&result);
    lat_policy_release(&policy);
}

static int set_up(void **state)
{
    char sub[80];
    (void)state;
    if (!mkdtemp(root))
        return -1;
    snprintf(work, sizeof work, "%s/.gate", root);
    snprintf(sub, sizeof sub, "%s/sub", root);
    return mkdir(work, 0777) || mkdir(sub, 0777);
}

static int tear_down(void **state)
{
    static const char *const paths[] = { ".gate/logs/unit/results", ".gate/logs/unit/stdout.txt", ".gate/logs/unit/stderr.txt",
                                         ".gate/logs/unit", ".gate/logs", ".gate", "sub", "" };
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s/%s", root, paths[i]);
        remove(path);
    }
    return lat_file_exists(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conclusions), cmocka_unit_test(old_results_do_not_count), cmocka_unit_test(logs_are_kept),
        cmocka_unit_test(wrong_keys),  cmocka_unit_test(order_by_needs),           cmocka_unit_test(work_folder_is_gone),
        cmocka_unit_test(disk_is_full), cmocka_unit_test(names_become_text),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
