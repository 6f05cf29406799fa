// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Legs of kind "command": any program, judged by what its tests say (`parse`), with its exit status as the second
// witness. Own keys: run, parse, directory, env, skips_allow, max_skipped.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/glob.h"
#include "gate/leg.h"
#include "gate/result_parsers.h"
#include "gate/spawn.h"

enum { ARGUMENTS_MAX = 256, TAIL_BYTES = 800, PATH_BYTES = 4400 };

struct command {
    struct lat_text_list run, skips_allow;
    enum lat_results_format format;
    const char *parse, *directory;
    uint64_t max_skipped;
    const struct lat_yaml_node *env; // mapping of texts, or NULL
    bool has_out;                    // `run` or `env` names {out}
};

static const char *const own_keys[] = { "run", "parse", "directory", "env", "skips_allow", "max_skipped", NULL };

static enum lat_status wrong(const struct lat_policy *policy, const struct lat_policy_leg *leg, const char *key, const char *text,
                             struct lat_error *error)
{
    const struct lat_yaml_node *n = lat_yaml_get(leg->node, key);
    return lat_yaml_error(error, &policy->doc, n ? n : leg->node, "leg '%s': %s", leg->name, text);
}

static enum lat_status read_env(struct lat_policy *policy, const struct lat_policy_leg *leg, struct command *c, struct lat_error *error)
{
    c->env = lat_yaml_get(leg->node, "env");
    if (!c->env)
        return LAT_OK;
    if (c->env->kind != LAT_YAML_MAPPING || c->env->count > ARGUMENTS_MAX)
        return wrong(policy, leg, "env", "'env': expected names and values", error);
    for (const struct lat_yaml_node *n = c->env->child; n; n = n->next) {
        if (n->kind != LAT_YAML_SCALAR || strchr(n->key, '='))
            return wrong(policy, leg, "env", "'env': expected a name without '=' and a text as its value", error);
        c->has_out = c->has_out || strstr(n->text, "{out}");
    }
    return LAT_OK;
}

static enum lat_status check_globs(const struct lat_policy *policy, const struct lat_policy_leg *leg, const struct command *c,
                                   struct lat_error *error)
{
    for (size_t i = 0; i < c->skips_allow.count; i++) {
        struct lat_error why = { 0 };
        if (lat_glob_check(c->skips_allow.items[i], &why) != LAT_OK)
            return wrong(policy, leg, "skips_allow", why.text, error);
    }
    return LAT_OK;
}

static enum lat_status read_command(struct lat_policy *policy, const struct lat_policy_leg *leg, struct command *c,
                                    struct lat_error *error)
{
    *c = (struct command){ .max_skipped = UINT64_MAX };
    LAT_TRY(lat_policy_leg_keys_check(policy, leg, own_keys, error));
    LAT_TRY(lat_yaml_read_texts(&policy->doc, leg->node, "run", &c->run, error));
    LAT_TRY(lat_yaml_read_text(&policy->doc, leg->node, "parse", &c->parse, error));
    LAT_TRY(lat_yaml_read_text(&policy->doc, leg->node, "directory", &c->directory, error));
    LAT_TRY(lat_yaml_read_texts(&policy->doc, leg->node, "skips_allow", &c->skips_allow, error));
    LAT_TRY(lat_yaml_read_count(&policy->doc, leg->node, "max_skipped", LAT_RESULTS_CASES_MAX, &c->max_skipped, error));
    if (c->run.count == 0 || c->run.count > ARGUMENTS_MAX || !*c->run.items[0])
        return wrong(policy, leg, "run", "expected 'run', a program and its arguments as a list", error);
    if (lat_yaml_get(leg->node, "run")->kind != LAT_YAML_SEQUENCE && strchr(c->run.items[0], ' '))
        return wrong(policy, leg, "run", "'run' is no shell's line; write a list: [program, argument, ...]", error);
    if (!c->parse || !lat_results_format_parse(c->parse, &c->format))
        return wrong(policy, leg, "parse", "expected 'parse': junit, ctest, cmocka, tap or exit", error);
    for (size_t i = 0; i < c->run.count; i++)
        c->has_out = c->has_out || strstr(c->run.items[i], "{out}");
    LAT_TRY(read_env(policy, leg, c, error));
    LAT_TRY(check_globs(policy, leg, c, error));
    bool counts = c->format != LAT_RESULTS_EXIT;
    if (!counts && (leg->population_min > 1 || c->skips_allow.count || lat_yaml_get(leg->node, "max_skipped") || c->has_out))
        return wrong(policy, leg, "parse", "with 'parse: exit' nothing is counted: no min, skips_allow, max_skipped or {out}", error);
    if (counts && leg->population_min == 0)
        return wrong(policy, leg, "parse", "expected 'min', the least number of tests that counts as a run", error);
    return LAT_OK;
}

static enum lat_status check(struct lat_policy *policy, const struct lat_policy_leg *leg, struct lat_error *error)
{
    struct command c;
    return read_command(policy, leg, &c, error);
}

// `text` with each {out} replaced, in memory of `arena`.
static const char *expand(struct lat_arena *arena, const char *text, const char *out)
{
    size_t count = 0, length = strlen(out);
    for (const char *at = text; (at = strstr(at, "{out}")); at += 5)
        count++;
    char *copy = lat_arena_new(arena, strlen(text) + count * length + 1, 1), *to = copy;
    for (const char *at = text; copy; at += 5) {
        const char *next = strstr(at, "{out}");
        size_t plain = next ? (size_t)(next - at) : strlen(at);
        memcpy(to, at, plain);
        to += plain;
        if (!next)
            break;
        memcpy(to, out, length);
        to += length;
        at = next;
    }
    return copy;
}

// Everything that one run of the command needs.
struct job {
    const struct lat_gate_run *run;
    const struct lat_policy_leg *leg;
    struct command c;
    struct lat_leg_result *result;
    struct lat_spawn_result child;
    const char *argv[ARGUMENTS_MAX + 1], *env[ARGUMENTS_MAX + 8];
    char folder[PATH_BYTES], out[PATH_BYTES + 16], directory[PATH_BYTES];
};

static enum lat_status make_folder(const char *path, struct lat_error *error)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? LAT_OK : lat_error_errno(error, errno, "make", path);
}

// WORK/logs/LEG, without the results of an earlier run: those must not be taken for today's.
static enum lat_status prepare_folder(struct job *j, struct lat_error *error)
{
    int n = snprintf(j->folder, sizeof j->folder, "%s/logs", j->run->work);
    if (n < 0 || (size_t)n + strlen(j->leg->name) + 2 > sizeof j->folder)
        return lat_error_set(error, LAT_LIMIT, "%.80s...: a path that is too long", j->run->work);
    LAT_TRY(make_folder(j->folder, error));
    snprintf(j->folder + n, sizeof j->folder - (size_t)n, "/%s", j->leg->name);
    LAT_TRY(make_folder(j->folder, error));
    snprintf(j->out, sizeof j->out, "%s/results", j->folder);
    if (unlink(j->out) != 0 && errno != ENOENT)
        return lat_error_errno(error, errno, "remove old", j->out);
    if (!j->c.directory)
        snprintf(j->directory, sizeof j->directory, "%s", j->run->root);
    else if (snprintf(j->directory, sizeof j->directory, "%s%s%s", j->c.directory[0] == '/' ? "" : j->run->root,
                      j->c.directory[0] == '/' ? "" : "/", j->c.directory) >= (int)sizeof j->directory)
        return lat_error_set(error, LAT_LIMIT, "%.80s...: a path that is too long", j->c.directory);
    return LAT_OK;
}

static enum lat_status prepare_arguments(struct job *j, struct lat_error *error)
{
    // A gate that is started by a hook of git must not hand git's view of the world to the tests.
    static const char *const removed[] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "LATTICE_GATE_COLOR" };
    size_t used = 0;
    bool all = true;
    for (size_t i = 0; i < j->c.run.count; i++)
        all = (j->argv[i] = expand(&j->result->arena, j->c.run.items[i], j->out)) && all;
    for (size_t i = 0; i < sizeof removed / sizeof removed[0]; i++)
        j->env[used++] = removed[i];
    for (const struct lat_yaml_node *n = j->c.env ? j->c.env->child : NULL; n && all; n = n->next) {
        const char *value = expand(&j->result->arena, n->text, j->out);
        size_t size = value ? strlen(n->key) + strlen(value) + 2 : 0;
        char *entry = size ? lat_arena_new(&j->result->arena, size, 1) : NULL;
        if (entry)
            snprintf(entry, size, "%s=%s", n->key, value);
        all = all && entry;
        j->env[used++] = entry;
    }
    return all ? LAT_OK : lat_error_memory(error, "the arguments of a command");
}

static enum lat_status write_log(const struct job *j, const char *name, const struct lat_buf *text, struct lat_error *error)
{
    char path[PATH_BYTES + 16];
    struct lat_file_out out;
    snprintf(path, sizeof path, "%s/%s", j->folder, name);
    LAT_TRY(lat_file_out_open(&out, path, error));
    enum lat_status status = lat_file_out_write(&out, 0, text->bytes, text->length, error);
    if (status == LAT_OK)
        return lat_file_out_commit(&out, error);
    lat_file_out_abort(&out);
    return status;
}

// The last lines of what the child said, errors first: where the reason usually stands.
static const char *tail(const struct lat_spawn_result *child)
{
    const struct lat_buf *from = child->err.length ? &child->err : &child->out;
    size_t skip = from->length > TAIL_BYTES ? from->length - TAIL_BYTES : 0;
    if (skip)
        while (skip < from->length && from->bytes[skip - 1] != '\n')
            skip++;
    return from->bytes + (skip < from->length ? skip : from->length > TAIL_BYTES ? from->length - TAIL_BYTES : 0);
}

// Findings for an end that is none. False when the child did not come to its end.
static bool judge_end(struct job *j)
{
    struct lat_spawn_result *child = &j->child;
    const char *fix = NULL;
    char why[160];
    if (child->over_memory) {
        snprintf(why, sizeof why, "over its memory: %llu MiB, %llu MiB are allowed", (unsigned long long)(child->rss_peak >> 20),
                 (unsigned long long)(j->leg->rss_max >> 20));
        fix = "find what takes the memory, or raise 'rss_max'";
    } else if (child->timed_out) {
        snprintf(why, sizeof why, "over its time: ended after %.0f s", child->seconds);
        fix = "find what hangs, or raise 'budget'";
    } else if (!child->exited)
        snprintf(why, sizeof why, "ended by signal %d (%s)", child->signal, strsignal(child->signal));
    else
        return true;
    lat_leg_find(j->result, LAT_LEG_ERROR, "V204", NULL, 0, fix, "%s; last it said: %s", why, tail(child));
    return false;
}

static bool skip_is_allowed(const struct command *c, const char *name)
{
    for (size_t i = 0; i < c->skips_allow.count; i++)
        if (lat_glob_match(c->skips_allow.items[i], name, strlen(name)))
            return true;
    return false;
}

static void judge_tests(struct job *j, const struct lat_test_results *tests)
{
    struct lat_leg_result *r = j->result;
    r->passed = tests->passed;
    r->failed = tests->failed;
    r->skipped = tests->skipped;
    r->population = tests->passed + tests->failed; // what was skipped was not looked at
    json_t *skips = json_array();
    for (size_t i = 0; i < tests->count; i++) {
        const struct lat_test_case *t = &tests->cases[i];
        if (t->outcome == LAT_TEST_FAILED)
            lat_leg_find(r, LAT_LEG_FAIL, "T101", NULL, 0, NULL, "%.200s failed%s%.1000s", t->name, t->message ? ": " : "",
                         t->message ? t->message : "");
        if (t->outcome != LAT_TEST_SKIPPED)
            continue;
        if (json_array_size(skips) < LAT_LEG_FINDINGS_MAX)
            json_array_append_new(skips, json_string(lat_leg_text(r, t->name)));
        if (!skip_is_allowed(&j->c, t->name))
            lat_leg_find(r, LAT_LEG_FAIL, "V206", NULL, 0, "make it run here, or add its name to 'skips_allow'",
                         "%.200s was skipped%s%.400s", t->name, t->message ? ": " : "", t->message ? t->message : "");
    }
    json_object_set_new(r->details, "skips", skips);
    if (tests->skipped > j->c.max_skipped)
        lat_leg_find(r, LAT_LEG_FAIL, "V206", NULL, 0, NULL, "%llu tests were skipped, at most %llu may be",
                     (unsigned long long)tests->skipped, (unsigned long long)j->c.max_skipped);
}

// Two witnesses: what the results say and how the process ended.
static void compare_witnesses(struct job *j, const struct lat_test_results *tests)
{
    int code = j->child.code;
    if (tests->failed > 0 && code == 0)
        lat_leg_find(j->result, LAT_LEG_ERROR, "V203", NULL, 0, "make the command end with the status of its tests",
                     "%llu tests failed, and the command ended with exit status 0", (unsigned long long)tests->failed);
    if (tests->failed == 0 && code != 0)
        lat_leg_find(j->result, LAT_LEG_ERROR, "V203", NULL, 0, NULL,
                     "no test failed, and the command ended with exit status %d; last it said: %s", code, tail(&j->child));
}

static enum lat_status parse_results(struct job *j, struct lat_test_results *tests, struct lat_error *error)
{
    struct lat_file_map map;
    if (!j->c.has_out) {
        if (j->child.out_cut)
            return lat_error_set(error, LAT_LIMIT, "standard output is over %zu bytes; let the command write {out}", j->child.out.length);
        return lat_results_parse(tests, j->c.format, j->child.out.bytes, j->child.out.length, "standard output", error);
    }
    LAT_TRY(lat_file_map_open(&map, j->out, error));
    enum lat_status status = lat_results_parse(tests, j->c.format, (const char *)map.bytes, map.length, j->out, error);
    lat_file_map_close(&map);
    return status;
}

static void judge_results(struct job *j)
{
    struct lat_test_results tests;
    struct lat_error error = { 0 };
    if (j->c.format == LAT_RESULTS_EXIT) {
        j->result->population = 1;
        j->result->passed = j->child.code == 0;
        j->result->failed = j->child.code != 0;
        if (j->child.code != 0)
            lat_leg_find(j->result, LAT_LEG_FAIL, "T102", NULL, 0, NULL, "'%s' ended with exit status %d; last it said: %s",
                         j->argv[0], j->child.code, tail(&j->child));
        return;
    }
    if (parse_results(j, &tests, &error) != LAT_OK) {
        lat_leg_find(j->result, LAT_LEG_ERROR, "T103", NULL, 0, "compare 'parse' with what the command writes",
                     "results cannot be read: %s; exit status %d; last it said: %s", error.text, j->child.code, tail(&j->child));
        return;
    }
    judge_tests(j, &tests);
    compare_witnesses(j, &tests);
    lat_results_release(&tests);
}

static enum lat_status run_child(struct job *j, struct lat_error *error)
{
    struct lat_spawn_options options = { .argv = j->argv,
                                         .directory = j->directory,
                                         .environment = j->env,
                                         .seconds_max = j->leg->budget_s,
                                         .rss_max = j->leg->rss_max,
                                         .output_max = 64u << 20 };
    if (j->run->verbose)
        fprintf(stderr, "%s: %s%s\n", j->leg->name, j->argv[0], j->argv[1] ? " ..." : "");
    enum lat_status status = lat_spawn_run(&j->child, &options, error);
    if (status == LAT_NOT_FOUND) {
        lat_leg_find(j->result, LAT_LEG_ERROR, "E301", NULL, 0, "install it, or correct 'run' or 'directory'", "%s", error->text);
        return LAT_OK;
    }
    LAT_TRY(status);
    j->result->rss_peak = j->child.rss_peak;
    j->result->process_status = j->child.exited ? j->child.code : 128 + j->child.signal;
    if (j->child.out_cut || j->child.err_cut)
        json_object_set_new(j->result->details, "log_cut", json_true());
    status = write_log(j, "stdout.txt", &j->child.out, error);
    if (status == LAT_OK)
        status = write_log(j, "stderr.txt", &j->child.err, error);
    if (status == LAT_OK && judge_end(j))
        judge_results(j);
    lat_spawn_result_release(&j->child);
    return status;
}

static enum lat_status add_details(struct job *j, struct lat_error *error)
{
    json_t *command = json_array();
    for (size_t i = 0; i < j->c.run.count; i++)
        json_array_append_new(command, json_string(j->c.run.items[i]));
    j->result->details = json_object();
    json_object_set_new(j->result->details, "parse", json_string(j->c.parse));
    if (json_object_set_new(j->result->details, "command", command) != 0)
        return lat_error_memory(error, "details");
    return LAT_OK;
}

static enum lat_status run_job(struct job *j, struct lat_error *error)
{
    LAT_TRY(read_command(j->run->policy, j->leg, &j->c, error));
    j->result->population_unit = j->c.format == LAT_RESULTS_EXIT ? "command" : "tests";
    LAT_TRY(add_details(j, error));
    LAT_TRY(prepare_folder(j, error));
    LAT_TRY(prepare_arguments(j, error));
    return run_child(j, error);
}

static enum lat_status run(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result,
                           struct lat_error *error)
{
    struct job *j = lat_mem_new(1, sizeof *j);
    if (!j)
        return lat_error_memory(error, "a leg");
    j->run = run;
    j->leg = leg;
    j->result = result;
    enum lat_status status = run_job(j, error);
    lat_mem_free(j);
    return status;
}

const struct lat_leg_kind lat_leg_command = { .name = "command", .check = check, .run = run };
