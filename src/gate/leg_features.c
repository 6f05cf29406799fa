// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Legs of kind "features": assignments are proven to build, forbidden ones to be refused, and in some the tests run.
#include "gate/leg_features.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/pool.h"
#include "gate/cmake_api.h"
#include "gate/exhaustive.h"
#include "gate/glob.h"

enum { PATH_SIZE = 4300, FORBIDDEN_MAX = 64, ARGUMENTS_MAX = 128 };

struct features {
    const struct lat_gate_run *run;
    const struct lat_policy_leg *leg;
    struct lat_features_config config;
    struct lat_features_plan plan;
    struct lat_leg_result *result;
    struct lat_error *error;
    char source[PATH_SIZE], work[PATH_SIZE]; // WORK/features/LEG
    double deadline;
    json_t *tests, *forbidden;
};

static enum lat_status make_folder(struct features *f, const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? LAT_OK : lat_error_errno(f->error, errno, "make", path);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

// An empty folder WORK/features/LEG/NAME.
static enum lat_status fresh_folder(struct features *f, const char *name, char out[PATH_SIZE + 100])
{
    if (snprintf(out, PATH_SIZE + 100, "%s/%s", f->work, name) >= PATH_SIZE + 100)
        return lat_error_set(f->error, LAT_LIMIT, "%.80s...: a path that is too long", f->work);
    if (nftw(out, remove_one, 32, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return lat_error_errno(f->error, errno, "empty", out);
    return make_folder(f, out);
}

static enum lat_status prepare(struct features *f)
{
    const char *source = f->config.source;
    char path[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s%s%s", source[0] == '/' ? "" : f->run->root, source[0] == '/' ? "" : "/",
                 source) >= (int)sizeof path)
        return lat_error_set(f->error, LAT_LIMIT, "%.80s...: a path that is too long", source);
    char *real = realpath(path, NULL);
    if (!real || strlen(real) >= sizeof f->source) {
        free(real);
        return lat_error_set(f->error, LAT_NOT_FOUND, "%.300s: no folder of sources", path);
    }
    memcpy(f->source, real, strlen(real) + 1);
    free(real);
    if (snprintf(f->work, sizeof f->work, "%s/features", f->run->work) + strlen(f->leg->name) + 2 > sizeof f->work)
        return lat_error_set(f->error, LAT_LIMIT, "%.80s...: a path that is too long", f->run->work);
    LAT_TRY(make_folder(f, f->work));
    strncat(f->work, "/", 2);
    strncat(f->work, f->leg->name, 65);
    return make_folder(f, f->work);
}

static double seconds_left(const struct features *f)
{
    double left = f->deadline - lat_clock_seconds();
    return left > 1 ? left : 1;
}

static const char *describe(struct features *f, const struct lat_assignment *a)
{
    struct lat_buf name;
    lat_buf_init(&name, 1 << 14);
    lat_feature_describe(&f->config.model, a, true, &name);
    const char *text = name.failed ? NULL : lat_leg_text(f->result, name.bytes);
    lat_buf_release(&name);
    return text ? text : "?";
}

// Blanks of any length are equal: CMake breaks the lines of its messages.
static bool says(const struct lat_buf *output, const char *message)
{
    struct lat_buf flat, wanted;
    lat_buf_init(&flat, 16 << 20);
    lat_buf_init(&wanted, 1 << 16);
    const char *from[] = { output->bytes, message };
    struct lat_buf *to[] = { &flat, &wanted };
    for (size_t i = 0; i < 2; i++) {
        bool blank = false;
        for (const char *c = from[i]; c && *c; c++) {
            bool space = *c == ' ' || *c == '\n' || *c == '\t' || *c == '\r';
            if (!space && blank && to[i]->length)
                lat_buf_add_char(to[i], ' ');
            if (!space)
                lat_buf_add_char(to[i], *c);
            blank = space;
        }
    }
    bool found = !flat.failed && !wanted.failed && flat.bytes && wanted.bytes && strstr(flat.bytes, wanted.bytes);
    lat_buf_release(&flat);
    lat_buf_release(&wanted);
    return found;
}

static enum lat_status check_refused(struct features *f, const char *build, const struct lat_feature_rule *rule,
                                     const struct lat_assignment *a)
{
    struct lat_arena arena;
    struct lat_spawn_result child;
    lat_arena_init(&arena, 1 << 20);
    const char **arguments = lat_exhaustive_arguments(&f->config.model, a, f->config.configure, &arena);
    struct lat_cmake_run run = { .source = f->source, .build = build, .arguments = arguments, .seconds_max = seconds_left(f),
                                 .fresh = true };
    enum lat_status status = arguments ? lat_cmake_configure(&child, &run, f->error) : lat_error_memory(f->error, "arguments of CMake");
    if (status == LAT_OK) {
        const char *verdict = "refused";
        if (lat_spawn_ok(&child)) {
            verdict = "configures";
            lat_leg_find(f->result, LAT_LEG_FAIL, "F402", NULL, 0, "let the CMake files refuse it: message(FATAL_ERROR \"...\")",
                         "[%s] is forbidden (%s), and it configures", describe(f, a), rule->text);
        } else if (!says(&child.out, rule->message)) {
            struct lat_buf why;
            lat_buf_init(&why, 1 << 12);
            lat_exhaustive_cmake_reason(&child.out, &why);
            verdict = "refused with another text";
            lat_leg_find(f->result, LAT_LEG_FAIL, "F402", NULL, 0, "make the two texts agree",
                         "[%s] is refused, but not with '%s': %s", describe(f, a), rule->message, why.bytes);
            lat_buf_release(&why);
        }
        json_array_append_new(f->forbidden, json_pack("{s:s,s:s,s:s}", "assignment", describe(f, a), "when", rule->text, "result",
                                                      verdict));
        lat_spawn_result_release(&child);
    }
    lat_arena_release(&arena);
    return status;
}

static enum lat_status check_forbidden(struct features *f)
{
    char build[PATH_SIZE + 100];
    const struct lat_feature_model *m = &f->config.model;
    for (size_t r = 0; r < m->rule_count; r++) {
        struct lat_feature_rows rows = { 0 };
        if (!m->rules[r].message)
            continue;
        enum lat_status status = fresh_folder(f, "forbidden", build);
        if (status == LAT_OK)
            status = lat_feature_forbidden(m, r, FORBIDDEN_MAX, &rows, f->error);
        for (size_t i = 0; i < rows.count && status == LAT_OK; i++)
            status = check_refused(f, build, &m->rules[r], &rows.items[i]);
        if (status == LAT_OK && rows.count == 0)
            lat_leg_find(f->result, LAT_LEG_WARN, "F402", NULL, 0, "remove the rule",
                         "'%s' can never be tried: other constraints exclude it", m->rules[r].text);
        lat_feature_rows_release(&rows);
        LAT_TRY(status);
    }
    return LAT_OK;
}

// Runs a step of a tested assignment; false, after a finding, when it fails.
static bool step(struct features *f, const char *set, const char *const *argv, const char *what, struct lat_spawn_result *child)
{
    struct lat_spawn_options options = { .argv = argv, .directory = f->source, .seconds_max = seconds_left(f), .merge = true };
    struct lat_error error = { 0 };
    if (lat_spawn_run(child, &options, &error) != LAT_OK) {
        lat_leg_find(f->result, LAT_LEG_ERROR, "F405", NULL, 0, NULL, "set '%s': cannot %s: %s", set, what, error.text);
        return false;
    }
    if (child->timed_out)
        lat_leg_find(f->result, LAT_LEG_ERROR, "F401", NULL, 0, "raise 'budget'", "set '%s': out of time while trying to %s", set, what);
    return true;
}

static bool build_set(struct features *f, const struct lat_feature_set *set, const char *build)
{
    struct lat_arena arena;
    struct lat_spawn_result child;
    char jobs[32];
    lat_arena_init(&arena, 1 << 20);
    snprintf(jobs, sizeof jobs, "-j%d", f->config.jobs ? (int)f->config.jobs : lat_pool_processors());
    const char **arguments = lat_exhaustive_arguments(&f->config.model, &set->a, f->config.test_configure, &arena);
    struct lat_cmake_run run = { .source = f->source, .build = build, .arguments = arguments, .seconds_max = seconds_left(f) };
    const char *const argv[] = { "cmake", "--build", build, "--", jobs, NULL };
    bool ok = arguments && lat_cmake_configure(&child, &run, f->error) == LAT_OK;
    lat_arena_release(&arena);
    for (int i = 0; ok && i < 2; i++) {
        if (i == 1 && !step(f, set->name, argv, "build", &child))
            return false;
        ok = lat_spawn_ok(&child);
        if (!ok) {
            const char *failed = strstr(child.out.bytes, i ? "FAILED:" : "CMake Error");
            lat_leg_find(f->result, LAT_LEG_FAIL, "F404", NULL, 0, NULL, "set '%s' does not %s: %.900s", set->name,
                         i ? "build" : "configure",
                         failed ? failed : child.out.bytes);
        }
        lat_spawn_result_release(&child);
    }
    return ok;
}

// {build} and {out} of a word.
static const char *expand(struct lat_arena *arena, const char *word, const char *build, const char *out)
{
    struct lat_buf text;
    lat_buf_init(&text, 1 << 16);
    for (const char *at = word; *at;) {
        if (strncmp(at, "{build}", 7) == 0) {
            lat_buf_add_text(&text, build);
            at += 7;
        } else if (strncmp(at, "{out}", 5) == 0) {
            lat_buf_add_text(&text, out);
            at += 5;
        } else
            lat_buf_add_char(&text, *at++);
    }
    char *copy = text.failed ? NULL : lat_arena_new(arena, text.length + 1, 1);
    if (copy && text.length)
        memcpy(copy, text.bytes, text.length);
    lat_buf_release(&text);
    return copy;
}

static bool skip_is_allowed(const struct features *f, const char *name)
{
    for (size_t i = 0; i < f->config.skips_allow.count; i++)
        if (lat_glob_match(f->config.skips_allow.items[i], name, strlen(name)))
            return true;
    return false;
}

static void judge_tests(struct features *f, const char *set, uint64_t least, const struct lat_test_results *tests, int code)
{
    for (size_t i = 0; i < tests->count; i++) {
        const struct lat_test_case *t = &tests->cases[i];
        if (t->outcome == LAT_TEST_FAILED)
            lat_leg_find(f->result, LAT_LEG_FAIL, "F405", NULL, 0, NULL, "set '%s': test %.200s fails%s%.700s", set, t->name,
                         t->message ? ": " : "", t->message ? t->message : "");
        if (t->outcome == LAT_TEST_SKIPPED && !skip_is_allowed(f, t->name))
            lat_leg_find(f->result, LAT_LEG_FAIL, "V206", NULL, 0, "make it run there, or name it in 'skips_allow'",
                         "set '%s': test %.200s was skipped", set, t->name);
    }
    if (tests->passed + tests->failed < least)
        lat_leg_find(f->result, LAT_LEG_ERROR, "V205", NULL, 0, "find out why so few ran", "set '%s': %llu tests ran, at least %llu must",
                     set,
                     (unsigned long long)(tests->passed + tests->failed), (unsigned long long)least);
    if ((tests->failed == 0) != (code == 0))
        lat_leg_find(f->result, LAT_LEG_ERROR, "V203", NULL, 0, NULL,
                     "set '%s': %llu tests failed, and the command ended with exit status %d",
                     set, (unsigned long long)tests->failed, code);
    f->result->passed += tests->passed;
    f->result->failed += tests->failed;
    f->result->skipped += tests->skipped;
    json_array_append_new(f->tests, json_pack("{s:s,s:I,s:I,s:I}", "set", set, "passed", (json_int_t)tests->passed, "failed",
                                              (json_int_t)tests->failed, "skipped", (json_int_t)tests->skipped));
}

static enum lat_status parse_tests(struct features *f, const struct lat_spawn_result *child, const char *out, bool has_out,
                                   struct lat_test_results *tests, struct lat_error *error)
{
    struct lat_file_map map;
    if (!has_out)
        return lat_results_parse(tests, f->config.test_format, child->out.bytes, child->out.length, "standard output", error);
    LAT_TRY(lat_file_map_open(&map, out, error));
    enum lat_status status = lat_results_parse(tests, f->config.test_format, (const char *)map.bytes, map.length, out, error);
    lat_file_map_close(&map);
    return status;
}

static void run_tests(struct features *f, const struct lat_feature_set *set, uint64_t least, const char *build)
{
    const char *argv[ARGUMENTS_MAX + 1] = { NULL };
    char out[PATH_SIZE + 200];
    struct lat_spawn_result child;
    struct lat_test_results tests;
    struct lat_error error = { 0 };
    bool has_out = false;
    snprintf(out, sizeof out, "%s/gate-test-results", build);
    for (size_t i = 0; i < f->config.test_run.count && i < ARGUMENTS_MAX; i++) {
        argv[i] = expand(&f->result->arena, f->config.test_run.items[i], build, out);
        has_out = has_out || strstr(f->config.test_run.items[i], "{out}");
        if (!argv[i]) {
            lat_leg_find(f->result, LAT_LEG_ERROR, "F405", NULL, 0, NULL, "set '%s': out of memory", set->name);
            return;
        }
    }
    if (!step(f, set->name, argv, "run the tests", &child))
        return;
    if (parse_tests(f, &child, out, has_out, &tests, &error) != LAT_OK)
        lat_leg_find(f->result, LAT_LEG_ERROR, "T103", NULL, 0, "compare 'parse' with what the command writes",
                     "set '%s': results cannot be read: %s; exit status %d", set->name, error.text, child.code);
    else {
        judge_tests(f, set->name, least, &tests, child.exited ? child.code : 128 + child.signal);
        lat_results_release(&tests);
    }
    lat_spawn_result_release(&child);
}

static enum lat_status test_sets(struct features *f)
{
    for (size_t i = 0; i < f->config.test_count; i++) {
        char build[PATH_SIZE + 100], name[128];
        snprintf(name, sizeof name, "test-%.100s", f->config.tests[i].name);
        if (f->run->verbose)
            fprintf(stderr, "features: tests in set '%s'\n", f->config.tests[i].name);
        LAT_TRY(fresh_folder(f, name, build));
        if (build_set(f, &f->config.tests[i], build))
            run_tests(f, &f->config.tests[i], f->config.test_min[i], build);
    }
    return LAT_OK;
}

static enum lat_status write_certificate(struct features *f, json_t *certificate)
{
    char path[PATH_SIZE + 100];
    struct lat_file_out out;
    snprintf(path, sizeof path, "%s/certificate.json", f->work);
    char *text = json_dumps(certificate, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    if (!text)
        return lat_error_memory(f->error, "the certificate");
    enum lat_status status = lat_file_out_open(&out, path, f->error);
    if (status == LAT_OK) {
        status = lat_file_out_write(&out, 0, text, strlen(text), f->error);
        if (status == LAT_OK)
            status = lat_file_out_commit(&out, f->error);
        else
            lat_file_out_abort(&out);
    }
    free(text);
    if (status == LAT_OK)
        json_object_set_new(f->result->details, "certificate", json_string(lat_leg_text(f->result, path)));
    return status;
}

static void describe_plan(const struct features *f, json_t *to)
{
    const char *coverage = f->plan.all_rows ? "all legal assignments" : f->plan.mode == LAT_FEATURES_T3 ? "all triples of values"
                           : f->plan.mode == LAT_FEATURES_T2 ? "all pairs of values" : "the assignments listed, no more";
    if (f->plan.mode == LAT_FEATURES_EXHAUSTIVE && !f->plan.all_rows)
        coverage = "a part of all legal assignments";
    json_object_set_new(to, "mode", json_string(lat_features_mode_name(f->plan.mode)));
    json_object_set_new(to, "coverage", json_string(coverage));
    json_object_set_new(to, "fell_back", json_boolean(f->plan.fell_back));
    json_object_set_new(to, "legal_assignments", f->plan.legal ? json_integer((json_int_t)f->plan.legal) : json_null());
    if (f->plan.tuples)
        json_object_set_new(to, "combinations_covered", json_integer((json_int_t)f->plan.tuples));
}

static enum lat_status prove(struct features *f)
{
    struct lat_exhaustive_counts counts;
    char work[PATH_SIZE + 100];
    json_t *certificate = NULL;
    snprintf(work, sizeof work, "%s/proof", f->work);
    struct lat_exhaustive_options options = {
        .model = &f->config.model, .rows = &f->plan.rows, .all_rows = f->plan.all_rows, .source = f->source, .work = work,
        .configure = f->config.configure, .ignore = f->config.ignore, .jobs = (int)f->config.jobs, .deadline = f->deadline,
        .verbose = f->run->verbose, .dead_option_fails = strcmp(f->config.dead_option, "fail") == 0,
        .dead_option_ignored = strcmp(f->config.dead_option, "ignore") == 0,
    };
    LAT_TRY(lat_exhaustive_run(&options, f->result, &counts, &certificate, f->error));
    f->result->population = counts.tu_distinct;
    describe_plan(f, certificate);
    describe_plan(f, f->result->details);
    json_object_set(certificate, "forbidden", f->forbidden);
    json_object_set(f->result->details, "totals", json_object_get(certificate, "totals"));
    enum lat_status status = write_certificate(f, certificate);
    json_decref(certificate);
    return status;
}

static enum lat_status run_all(struct features *f, const struct lat_features_choice *choice)
{
    if (choice->mode && !lat_features_mode_parse(choice->mode, &f->config.mode))
        return lat_error_set(f->error, LAT_ARGUMENT, "--mode: expected exhaustive-tu, t3, t2, each or list, not '%.40s'", choice->mode);
    LAT_TRY(prepare(f));
    LAT_TRY(lat_features_plan_make(&f->plan, &f->config, choice->part, choice->parts, f->error));
    if (choice->part == 1)
        LAT_TRY(check_forbidden(f));
    LAT_TRY(prove(f));
    if (choice->part == 1 && !choice->no_tests)
        LAT_TRY(test_sets(f));
    json_object_set(f->result->details, "tests", f->tests);
    json_object_set(f->result->details, "forbidden", f->forbidden);
    return LAT_OK;
}

enum lat_status lat_features_run(const struct lat_gate_run *run, const struct lat_policy_leg *leg, const struct lat_features_choice *choice,
                                 struct lat_leg_result *result, struct lat_error *error)
{
    struct features *f = lat_mem_new(1, sizeof *f);
    if (!f)
        return lat_error_memory(error, "a leg of features");
    *f = (struct features){ .run = run, .leg = leg, .result = result, .error = error, .tests = json_array(), .forbidden = json_array() };
    f->deadline = lat_clock_seconds() + (leg->budget_s > 0 ? leg->budget_s : 3600);
    result->population_unit = "units";
    if (!result->details)
        result->details = json_object();
    enum lat_status status = lat_features_config_read(&f->config, run->policy, leg, error);
    if (status == LAT_OK) {
        status = run_all(f, choice);
        lat_features_plan_release(&f->plan);
        lat_features_config_release(&f->config);
    }
    json_decref(f->tests);
    json_decref(f->forbidden);
    lat_mem_free(f);
    return status;
}

static enum lat_status check(struct lat_policy *policy, const struct lat_policy_leg *leg, struct lat_error *error)
{
    struct lat_features_config *config = lat_mem_new(1, sizeof *config);
    if (!config)
        return lat_error_memory(error, "a leg of features");
    enum lat_status status = lat_features_config_read(config, policy, leg, error);
    if (status == LAT_OK)
        lat_features_config_release(config);
    lat_mem_free(config);
    return status;
}

static enum lat_status run_leg(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result,
                               struct lat_error *error)
{
    const struct lat_features_choice all = { .part = 1, .parts = 1 };
    return lat_features_run(run, leg, &all, result, error);
}

const struct lat_leg_kind lat_leg_features = { "features", check, run_leg };
