// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Legs of kind "features": every planned assignment of the build options is configured and built, in one build folder that
// is reused; in those of `test_on` the tests run. What is forbidden must be refused at configure time with its text, and
// no option of the project may be missing from the policy, or the other way round.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "gate/feature_plan.h"
#include "gate/glob.h"
#include "gate/spawn.h"

enum { ARGUMENTS_MAX = LAT_FEATURE_OPTIONS_MAX + 128, FORBIDDEN_MAX = 4 };

struct features {
    const struct lat_gate_run *run;
    const struct lat_policy_leg *leg;
    struct lat_leg_result *result;
    struct lat_feature_plan plan;
    char build[4200];
    double start;
};

struct arguments {
    const char *items[ARGUMENTS_MAX + 1];
    size_t count;
    struct lat_arena arena;
};

static void add(struct arguments *a, const char *text)
{
    if (a->count < ARGUMENTS_MAX)
        a->items[a->count++] = text;
}

static void add_definition(struct arguments *a, const char *name, const char *value)
{
    size_t size = strlen(name) + strlen(value) + 4;
    char *text = lat_arena_new(&a->arena, size, 1);
    if (text) {
        snprintf(text, size, "-D%s=%s", name, value);
        add(a, text);
    }
}

static double left_s(const struct features *f)
{
    double budget = f->leg->budget_s > 0 ? f->leg->budget_s : 3600, left = budget - (lat_clock_seconds() - f->start);
    return left > 1 ? left : 1;
}

static enum lat_status spawn(struct features *f, const struct arguments *a, struct lat_spawn_result *out, struct lat_error *error)
{
    struct lat_spawn_options o = { .argv = a->items, .directory = f->run->root, .seconds_max = left_s(f), .merge = true };
    return lat_spawn_run(out, &o, error);
}

// cmake -S . -B BUILD -G Ninja -DOPTION=VALUE... and what the policy adds.
static enum lat_status configure(struct features *f, const struct lat_assignment *row, bool tests, struct lat_spawn_result *out,
                                 struct lat_error *error)
{
    struct arguments a = { .count = 0 };
    lat_arena_init(&a.arena, 1 << 20);
    const char *const first[] = { "cmake", "-S", ".", "-B", f->build, "-G", "Ninja" };
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        add(&a, first[i]);
    const struct lat_text_list *more = tests ? &f->plan.test_configure : &f->plan.configure;
    for (size_t i = 0; i < more->count; i++)
        add(&a, more->items[i]);
    for (size_t o = 0; o < f->plan.model.option_count; o++)
        add_definition(&a, f->plan.model.options[o].name, f->plan.model.options[o].values[row->value[o]]);
    enum lat_status status = spawn(f, &a, out, error);
    lat_arena_release(&a.arena);
    return status;
}

static const char *describe(struct features *f, const struct lat_assignment *row, struct lat_buf *text)
{
    lat_buf_clear(text);
    lat_feature_describe(&f->plan.model, row, true, text);
    return text->bytes ? text->bytes : "default";
}

// The last lines of an output, for a finding.
static const char *tail(const struct lat_spawn_result *r)
{
    const char *bytes = r->out.bytes ? r->out.bytes : "";
    size_t length = r->out.length;
    return length > 500 ? bytes + length - 500 : bytes;
}

static enum lat_status run_step(struct features *f, const char *what, const char *code, const char *where, const char *const *argv,
                                bool *fine, struct lat_error *error)
{
    struct lat_spawn_result r;
    struct arguments a = { .count = 0 };
    for (; *argv; argv++)
        add(&a, *argv);
    LAT_TRY(spawn(f, &a, &r, error));
    *fine = lat_spawn_ok(&r);
    if (r.timed_out)
        lat_leg_find(f->result, LAT_LEG_ERROR, "F401", NULL, 0, "raise 'budget', or choose a smaller mode", "%s: the budget is used up",
                     where);
    else if (!*fine)
        lat_leg_find(f->result, LAT_LEG_FAIL, code, NULL, 0, "build it by hand with these options", "%s: %s; last it said: %s", where, what,
                     tail(&r));
    lat_spawn_result_release(&r);
    return LAT_OK;
}

// CTest's own closing line says how many there were.
static enum lat_status run_tests(struct features *f, const char *where, struct lat_error *error)
{
    struct lat_spawn_result r;
    struct arguments a = { .count = 0 };
    const char *const argv[] = { "ctest", "--test-dir", f->build, "--no-tests=error", "--output-on-failure", "-j", "2" };
    for (size_t i = 0; i < sizeof argv / sizeof argv[0]; i++)
        add(&a, argv[i]);
    LAT_TRY(spawn(f, &a, &r, error));
    const char *out_of = r.out.bytes ? strstr(r.out.bytes, " out of ") : NULL;
    uint64_t count = out_of ? strtoull(out_of + 8, NULL, 10) : 0;
    if (!lat_spawn_ok(&r))
        lat_leg_find(f->result, LAT_LEG_FAIL, "F405", NULL, 0, "run the tests by hand with these options",
                     "%s: tests fail; last they said: %s", where, tail(&r));
    else if (count < f->plan.min_tests)
        lat_leg_find(f->result, LAT_LEG_ERROR, "V205", NULL, 0, "find out why they did not run", "%s: %llu tests ran, at least %llu must",
                     where, (unsigned long long)count, (unsigned long long)f->plan.min_tests);
    f->result->passed += lat_spawn_ok(&r) ? count : 0;
    lat_spawn_result_release(&r);
    return LAT_OK;
}

static bool is_tested(const struct features *f, const struct lat_assignment *row)
{
    for (size_t i = 0; i < f->plan.test_on.count; i++)
        if (lat_feature_equal(&f->plan.model, row, &lat_feature_set_find(&f->plan.model, f->plan.test_on.items[i])->a))
            return true;
    return false;
}

static enum lat_status run_row(struct features *f, const struct lat_assignment *row, struct lat_buf *text, struct lat_error *error)
{
    struct lat_spawn_result r;
    bool tests = is_tested(f, row), fine;
    f->result->population++; // looked at, whatever comes of it
    const char *where = describe(f, row, text);
    if (f->run->verbose)
        fprintf(stderr, "  %s%s\n", where, tests ? ", with tests" : "");
    LAT_TRY(configure(f, row, tests, &r, error));
    fine = lat_spawn_ok(&r);
    if (!fine)
        lat_leg_find(f->result, LAT_LEG_FAIL, "F404", NULL, 0, "configure it by hand with these options",
                     "%s: does not configure; last it said: %s", where, tail(&r));
    lat_spawn_result_release(&r);
    if (!fine)
        return LAT_OK;
    const char *const build[] = { "cmake", "--build", f->build, NULL };
    LAT_TRY(run_step(f, "does not build", "F404", where, build, &fine, error));
    return fine && tests ? run_tests(f, where, error) : LAT_OK;
}

static enum lat_status check_forbidden(struct features *f, size_t rule, struct lat_buf *text, struct lat_error *error)
{
    struct lat_feature_rows rows = { 0 };
    const char *message = f->plan.model.rules[rule].message;
    enum lat_status status = lat_feature_forbidden(&f->plan.model, rule, FORBIDDEN_MAX, &rows, error);
    for (size_t i = 0; i < rows.count && status == LAT_OK; i++) {
        struct lat_spawn_result r;
        status = configure(f, &rows.items[i], false, &r, error);
        if (status != LAT_OK)
            break;
        const char *where = describe(f, &rows.items[i], text);
        if (lat_spawn_ok(&r))
            lat_leg_find(f->result, LAT_LEG_FAIL, "F402", NULL, 0, "let the project refuse it: message(FATAL_ERROR ...)",
                         "%s: configures, and is forbidden (%s)", where, f->plan.model.rules[rule].text);
        else if (!r.out.bytes || !strstr(r.out.bytes, message))
            lat_leg_find(f->result, LAT_LEG_FAIL, "F402", NULL, 0, "say in the project's message what the policy says",
                         "%s: is refused, but not with '%s'", where, message);
        lat_spawn_result_release(&r);
    }
    lat_feature_rows_release(&rows);
    return status;
}

static bool is_listed(const struct features *f, const char *name, size_t length)
{
    for (size_t o = 0; o < f->plan.model.option_count; o++)
        if (strlen(f->plan.model.options[o].name) == length && memcmp(f->plan.model.options[o].name, name, length) == 0)
            return true;
    for (size_t i = 0; i < f->plan.unlisted.count; i++)
        if (lat_glob_match(f->plan.unlisted.items[i], name, length))
            return true;
    return strncmp(name, "CMAKE_", 6) == 0;
}

// NAME:BOOL=VALUE lines of the cache are what option() makes; each must be a feature or set aside by name.
static enum lat_status check_inventory(struct features *f, struct lat_error *error)
{
    struct lat_file_map map;
    char *path = lat_file_path_join(f->build, "CMakeCache.txt");
    enum lat_status status = path ? lat_file_map_open(&map, path, error) : lat_error_memory(error, "a path");
    lat_mem_free(path);
    LAT_TRY(status);
    const char *at = (const char *)map.bytes, *end = at + map.length;
    bool seen[LAT_FEATURE_OPTIONS_MAX] = { false };
    while (at && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at)), *colon = memchr(at, ':', (size_t)((line_end ? line_end : end) - at));
        size_t length = colon ? (size_t)(colon - at) : 0;
        for (size_t o = 0; o < f->plan.model.option_count; o++)
            seen[o] = seen[o] || (length == strlen(f->plan.model.options[o].name) && memcmp(at, f->plan.model.options[o].name, length) == 0
                                  && end - colon > 15 && strncmp(colon, ":UNINITIALIZED=", 15) != 0);
        if (colon && end - colon > 6 && strncmp(colon, ":BOOL=", 6) == 0 && !is_listed(f, at, length))
            lat_leg_find(f->result, LAT_LEG_FAIL, "F403", "CMakeLists.txt", 0, "add it to 'options', or to 'unlisted' with a reason",
                         "option %.*s is not in the policy", (int)length, at);
        at = line_end ? line_end + 1 : end;
    }
    for (size_t o = 0; o < f->plan.model.option_count; o++)
        if (!seen[o])
            lat_leg_find(f->result, LAT_LEG_FAIL, "F403", NULL, 0, "remove it from 'options', or correct its name",
                         "option %s of the policy is none of the project's", f->plan.model.options[o].name);
    lat_file_map_close(&map);
    return LAT_OK;
}

static enum lat_status run_all(struct features *f, struct lat_error *error)
{
    struct lat_buf text;
    lat_buf_init(&text, 1 << 16);
    enum lat_status status = LAT_OK;
    for (size_t i = 0; i < f->plan.rows.count && status == LAT_OK; i++) {
        status = run_row(f, &f->plan.rows.items[i], &text, error);
        if (i == 0 && status == LAT_OK)
            status = check_inventory(f, error);
    }
    for (size_t i = 0; i < f->plan.model.rule_count && status == LAT_OK; i++)
        if (f->plan.model.rules[i].message)
            status = check_forbidden(f, i, &text, error);
    lat_buf_release(&text);
    return status;
}

static enum lat_status check_features(struct lat_policy *policy, const struct lat_policy_leg *leg, struct lat_error *error)
{
    struct lat_feature_plan *plan = lat_mem_new(1, sizeof *plan);
    if (!plan)
        return lat_error_memory(error, "a plan of features");
    enum lat_status status = lat_feature_plan_make(plan, policy, leg, NULL, error);
    lat_feature_plan_release(plan);
    lat_mem_free(plan);
    return status;
}

static enum lat_status run_features(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result,
                                    struct lat_error *error)
{
    struct features *f = lat_mem_new(1, sizeof *f);
    if (!f)
        return lat_error_memory(error, "a plan of features");
    *f = (struct features){ .run = run, .leg = leg, .result = result, .start = lat_clock_seconds() };
    result->population_unit = "assignments";
    snprintf(f->build, sizeof f->build, "%s/features-%s", run->work, leg->name);
    enum lat_status status = lat_feature_plan_make(&f->plan, run->policy, leg, NULL, error);
    if (status == LAT_OK && result->population_min < f->plan.rows.count)
        result->population_min = f->plan.rows.count; // every planned one must be built
    if (status == LAT_OK)
        status = run_all(f, error);
    if (status == LAT_OK)
        result->details = json_pack("{s:s, s:I}", "coverage", f->plan.coverage, "tests", (json_int_t)result->passed);
    lat_feature_plan_release(&f->plan);
    lat_mem_free(f);
    return status;
}

const struct lat_leg_kind lat_leg_features = { .name = "features", .check = check_features, .run = run_features };
