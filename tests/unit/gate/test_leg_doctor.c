// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Legs of kind "doctor" as a policy has them, and the checks of the machine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "gate/environment_check.h"
#include "gate/leg_run.h"
#include "gate/spawn.h"

static char root[] = "/tmp/lattice-doctor-XXXXXX";
static struct lat_policy policy;
static struct lat_error error;

static enum lat_status read_policy(const char *leg)
{
    char text[2000];
    snprintf(text, sizeof text, "schema: 1\nproject: {name: p}\nareas: {all: [\"**\"]}\nlegs:\n  ci: {kind: doctor, areas: all%s}\n", leg);
    error = (struct lat_error){ 0 };
    enum lat_status status = lat_policy_parse(&policy, text, strlen(text), "gate.yaml", &error);
    if (status == LAT_OK && (status = lat_legs_check(&policy, &error)) != LAT_OK)
        lat_policy_release(&policy);
    return status;
}

static void run(const char *leg, struct lat_leg_result *result)
{
    if (read_policy(leg) != LAT_OK)
        fail_msg("%s", error.text);
    struct lat_gate_run where = { .root = root, .work = root, .policy = &policy };
    lat_leg_run(&where, &policy.legs[0], result);
    lat_policy_release(&policy);
}

static bool has(const struct lat_leg_result *result, const char *code, enum lat_leg_state state)
{
    for (size_t i = 0; i < result->finding_count; i++)
        if (strcmp(result->findings[i].code, code) == 0 && result->findings[i].state == state)
            return true;
    return false;
}

static void put(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void put_folder(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static const char good[] = "on: push\npermissions: {contents: read}\njobs:\n  a:\n    runs-on: x\n    timeout-minutes: 5\n    "
    "steps: [{run: make}]\n";

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(root))
        return -1;
    put_folder("w");
    put_folder("empty");
    put_folder("bad");
    put("w/a.yml", good);
    put("w/b.yaml", good);
    put("w/README.md", "no workflow");
    put("bad/a.yml", "on: push\njobs:\n  a:\n    runs-on: x\n    timeout-minutes: 5\n    steps: [{run: 'make | tee log'}]\n");
    put("rules.json", "{\"name\": 1}");
    return 0;
}

static int teardown(void **state)
{
    struct lat_spawn_result result = { 0 };
    const char *const argv[] = { "rm", "-rf", root, NULL };
    struct lat_spawn_options options = { .argv = argv };
    (void)state;
    bool ok = lat_spawn_run(&result, &options, NULL) == LAT_OK && lat_spawn_ok(&result);
    lat_spawn_result_release(&result);
    return ok ? 0 : -1;
}

static void legs(void **state)
{
    struct lat_leg_result r;
    (void)state;
    run(", workflows: w, environment: false", &r);
    assert_int_equal(r.state, LAT_LEG_INFO); // D22: no ruleset
    assert_true(has(&r, "D22", LAT_LEG_INFO));
    assert_int_equal(r.population, 2);
    lat_leg_result_release(&r);
    run(", workflows: bad, environment: false", &r);
    assert_int_equal(r.state, LAT_LEG_FAIL);
    assert_true(has(&r, "D01", LAT_LEG_FAIL));
    assert_int_equal(r.failed, 1);
    assert_string_equal(r.findings[1].path, "bad/a.yml");
    assert_int_equal(r.findings[1].line, 6);
    assert_int_equal(r.findings[1].column, 25);
    lat_leg_result_release(&r);
    run(", workflows: empty, environment: false", &r); // nothing looked at is nothing proven
    assert_true(has(&r, "V205", LAT_LEG_ERROR));
    lat_leg_result_release(&r);
    run(", workflows: w, min: 3, environment: false", &r);
    assert_true(has(&r, "V205", LAT_LEG_ERROR));
    lat_leg_result_release(&r);
    run(", environment: false", &r); // .github/workflows is not there
    assert_true(has(&r, "E305", LAT_LEG_ERROR));
    lat_leg_result_release(&r);
    run(", workflows: w, contexts: [gate], environment: false", &r);
    assert_true(has(&r, "D03", LAT_LEG_FAIL));
    lat_leg_result_release(&r);
    run(", workflows: w, ruleset: rules.json, environment: false", &r);
    assert_int_equal(r.state, LAT_LEG_ERROR);
    lat_leg_result_release(&r);
    run(", workflows: w, ruleset: none.json, environment: false", &r);
    assert_int_equal(r.state, LAT_LEG_ERROR);
    lat_leg_result_release(&r);
}

static void wrong_keys(void **state)
{
    static const char *const bad[][2] = { { ", workflow: w", "workflow" }, { ", workflows: ../w", "inside the project" },
        { ", workflows: /w", "inside the project" }, { ", ruleset: a/../../b", "inside the project" },
            { ", environment: yes", "true or false" },
        { ", contexts: {a: b}", "contexts" } };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(read_policy(bad[i][0]), LAT_FORMAT);
        if (!strstr(error.text, bad[i][1]))
            fail_msg("'%s': %s", bad[i][0], error.text);
    }
}

static void git(const char *const *words)
{
    const char *argv[24] = { "git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main" };
    size_t n = 7;
    for (; *words && n < 23; words++)
        argv[n++] = *words;
    static const char *const environment[] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
        "GIT_COMMITTER_DATE=@4102444800 +0000", NULL };
    struct lat_spawn_options options = { .argv = argv, .directory = root, .environment = environment };
    struct lat_spawn_result result = { 0 };
    assert_int_equal(lat_spawn_run(&result, &options, NULL), LAT_OK);
    if (!lat_spawn_ok(&result))
        fail_msg("git: %s", result.err.bytes ? result.err.bytes : "");
    lat_spawn_result_release(&result);
}
#define GIT(...) git((const char *const[]){ __VA_ARGS__, NULL })

static void check_place(const char *place, const struct lat_policy *with, const char *code, enum lat_leg_state state)
{
    struct lat_leg_result r;
    struct lat_buf notes;
    lat_buf_init(&notes, 1 << 16);
    lat_leg_result_init(&r, "doctor");
    assert_true(lat_environment_check(&r, place, with, &notes) >= 2);
    assert_non_null(strstr(notes.bytes, "git version"));
    if (!has(&r, code, state))
        fail_msg("%s: no %s", place, code);
    lat_leg_result_release(&r);
    lat_buf_release(&notes);
}

static void machine(void **state)
{
    char clone[100], source[100];
    (void)state;
    if (setenv("LC_ALL", "de_DE.ISO-8859-1", 1) != 0)
        fail();
    check_place(root, NULL, "E311", LAT_LEG_WARN); // no repository
    check_place(root, NULL, "E314", LAT_LEG_WARN);
    assert_int_equal(setenv("LC_ALL", "C", 1), 0);
    GIT("init", "-q", "repo");
    GIT("-C", "repo", "commit", "-q", "--allow-empty", "-m", "1"); // of the year 2100
    GIT("-C", "repo", "commit", "-q", "--allow-empty", "-m", "2");
    snprintf(source, sizeof source, "file://%s/repo", root);
    GIT("clone", "-q", "--depth", "1", source, "shallow");
    GIT("clone", "-q", "--no-local", "--filter=blob:none", source, "partial");
    snprintf(clone, sizeof clone, "%s/repo", root);
    check_place(clone, NULL, "E312", LAT_LEG_ERROR);
    snprintf(clone, sizeof clone, "%s/shallow", root);
    check_place(clone, NULL, "E311", LAT_LEG_WARN);
    snprintf(clone, sizeof clone, "%s/partial", root);
    check_place(clone, NULL, "E311", LAT_LEG_WARN);
    assert_int_equal(read_policy(", workflows: w, tools: [git, no-such-tool]"), LAT_OK);
    check_place(root, &policy, "E301", LAT_LEG_ERROR);
    lat_policy_release(&policy);
    assert_int_equal(read_policy(", required: false, workflows: w, tools: [no-such-tool]"), LAT_OK);
    check_place(root, &policy, "E301", LAT_LEG_WARN);
    lat_policy_release(&policy);
}

static void texts(void **state)
{
    (void)state;
    assert_int_equal(lat_environment_git_version("git version 2.39.5"), 2039);
    assert_int_equal(lat_environment_git_version("git version 2.50.1 (Apple Git-155)"), 2050);
    assert_int_equal(lat_environment_git_version("git version 3.0.0.windows.1"), 3000);
    assert_int_equal(lat_environment_git_version("git versiom 2.39.5"), 0);
    assert_int_equal(lat_environment_git_version(""), 0);
    assert_true(lat_environment_locale_fits(NULL) && lat_environment_locale_fits("C") && lat_environment_locale_fits("en_US.UTF-8") &&
                lat_environment_locale_fits("de_DE.utf8@euro"));
    assert_false(lat_environment_locale_fits("de_DE.ISO-8859-1") || lat_environment_locale_fits("de_DE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(legs), cmocka_unit_test(wrong_keys), cmocka_unit_test(machine),
        cmocka_unit_test(texts) };
    return cmocka_run_group_tests(tests, setup, teardown);
}
