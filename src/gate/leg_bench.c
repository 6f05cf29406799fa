// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Legs of kind "bench-compile": benchmarks are built for each declared architecture, what comes out is looked at, and one
// iteration runs. Keys:
//
//   targets: ["bench_*"]      # patterns of CMake targets; each must match an executable
//   min_targets: 6            # for each architecture
//   arch:
//     x86-64: {run: [--smoke]}                  # arguments of the iteration; without "run" nothing is started
//     aarch64: {toolchain: cmake/aarch64.cmake, emulator: [qemu-aarch64, -L, /usr/aarch64-linux-gnu], run: [--smoke]}
//   source: ., configure: [...]                 # of an architecture, too: further arguments of CMake
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "gate/cmake_api.h"
#include "gate/elf_reader.h"
#include "gate/exhaustive.h"
#include "gate/glob.h"
#include "gate/leg.h"

enum { PATH_SIZE = 4300, ARCH_MAX = 16, WORDS_MAX = 256 };

struct arch {
    const char *name, *toolchain;
    uint16_t machine;
    struct lat_text_list configure, emulator, run;
    bool runs;
};

struct config {
    const char *source;
    struct lat_text_list targets, configure;
    uint64_t min_targets;
    struct arch arches[ARCH_MAX];
    size_t arch_count;
};

struct bench {
    const struct lat_gate_run *run;
    const struct lat_policy_leg *leg;
    struct config c;
    struct lat_leg_result *result;
    struct lat_error *error;
    char source[PATH_SIZE], build[PATH_SIZE + 200];
    double deadline;
    json_t *built;
};

static const char *const own_keys[] = { "targets", "min_targets", "arch", "source", "configure", NULL };

static enum lat_status wrong(const struct lat_policy *policy, const struct lat_policy_leg *leg, const struct lat_yaml_node *at,
                             const char *text, struct lat_error *error)
{
    return lat_yaml_error(error, &policy->doc, at ? at : leg->node, "leg '%s': %s", leg->name, text);
}

static enum lat_status read_arch(struct lat_policy *policy, const struct lat_policy_leg *leg, const struct lat_yaml_node *n, struct arch *a,
                                 struct lat_error *error)
{
    static const char *const known[] = { "toolchain", "emulator", "run", "configure", NULL };
    *a = (struct arch){ .name = n->key, .machine = lat_elf_machine_number(n->key), .runs = lat_yaml_get(n, "run") };
    if (a->machine == 0)
        return wrong(policy, leg, n, "'arch': expected names such as x86-64, aarch64, arm, riscv", error);
    if (n->kind != LAT_YAML_MAPPING)
        return wrong(policy, leg, n, "'arch': expected {toolchain: ..., emulator: [...], run: [...]}, or {}", error);
    LAT_TRY(lat_yaml_check_keys(&policy->doc, n, known, error));
    LAT_TRY(lat_yaml_read_text(&policy->doc, n, "toolchain", &a->toolchain, error));
    LAT_TRY(lat_yaml_read_texts(&policy->doc, n, "emulator", &a->emulator, error));
    LAT_TRY(lat_yaml_read_texts(&policy->doc, n, "configure", &a->configure, error));
    LAT_TRY(lat_yaml_read_texts(&policy->doc, n, "run", &a->run, error));
    if (a->emulator.count && !a->runs)
        return wrong(policy, leg, n, "'emulator' without 'run': expected the arguments of one iteration, or run: []", error);
    return LAT_OK;
}

static enum lat_status read_config(struct lat_policy *policy, const struct lat_policy_leg *leg, struct config *c, struct lat_error *error)
{
    const struct lat_yaml_node *arch = lat_yaml_get(leg->node, "arch"), *targets = lat_yaml_get(leg->node, "targets");
    *c = (struct config){ .source = ".", .min_targets = 1 };
    LAT_TRY(lat_policy_leg_keys_check(policy, leg, own_keys, error));
    LAT_TRY(lat_yaml_read_texts(&policy->doc, leg->node, "targets", &c->targets, error));
    LAT_TRY(lat_yaml_read_texts(&policy->doc, leg->node, "configure", &c->configure, error));
    LAT_TRY(lat_yaml_read_text(&policy->doc, leg->node, "source", &c->source, error));
    LAT_TRY(lat_yaml_read_count(&policy->doc, leg->node, "min_targets", 100000, &c->min_targets, error));
    if (c->targets.count == 0 || c->min_targets == 0)
        return wrong(policy, leg, targets, "expected 'targets', patterns of names, and at least one target", error);
    for (size_t i = 0; i < c->targets.count; i++) {
        struct lat_error why = { 0 };
        if (lat_glob_check(c->targets.items[i], &why) != LAT_OK)
            return wrong(policy, leg, targets, why.text, error);
    }
    if (!arch || arch->kind != LAT_YAML_MAPPING || arch->count == 0 || arch->count > ARCH_MAX)
        return wrong(policy, leg, arch, "expected 'arch', for example {x86-64: {}}", error);
    for (const struct lat_yaml_node *n = arch->child; n; n = n->next)
        LAT_TRY(read_arch(policy, leg, n, &c->arches[c->arch_count++], error));
    return LAT_OK;
}

static enum lat_status check(struct lat_policy *policy, const struct lat_policy_leg *leg, struct lat_error *error)
{
    struct config c;
    return read_config(policy, leg, &c, error);
}

static double seconds_left(const struct bench *b)
{
    double left = b->deadline - lat_clock_seconds();
    return left > 1 ? left : 1;
}

static enum lat_status make_folders(struct bench *b, const struct arch *a)
{
    const char *parts[] = { "bench", b->leg->name, a->name };
    int n = snprintf(b->build, sizeof b->build, "%s", b->run->work);
    for (size_t i = 0; i < 3; i++) {
        if (n < 0 || (size_t)n + strlen(parts[i]) + 2 > sizeof b->build)
            return lat_error_set(b->error, LAT_LIMIT, "%.80s...: a path that is too long", b->run->work);
        n += snprintf(b->build + n, sizeof b->build - (size_t)n, "/%s", parts[i]);
        if (mkdir(b->build, 0777) != 0 && errno != EEXIST)
            return lat_error_errno(b->error, errno, "make", b->build);
    }
    return LAT_OK;
}

// Configures; false, after a finding, when CMake refuses.
static enum lat_status configure(struct bench *b, const struct arch *a, bool *fine)
{
    const char *arguments[WORDS_MAX] = { NULL };
    char toolchain[PATH_SIZE + 64];
    struct lat_spawn_result child;
    size_t n = 0;
    if (b->c.configure.count + a->configure.count + 4 > WORDS_MAX)
        return lat_error_set(b->error, LAT_LIMIT, "more than %d arguments for CMake", WORDS_MAX);
    for (size_t i = 0; i < b->c.configure.count; i++)
        arguments[n++] = b->c.configure.items[i];
    for (size_t i = 0; i < a->configure.count; i++)
        arguments[n++] = a->configure.items[i];
    if (a->toolchain) {
        snprintf(toolchain, sizeof toolchain, "-DCMAKE_TOOLCHAIN_FILE=%s%s%s", a->toolchain[0] == '/' ? "" : b->run->root,
                 a->toolchain[0] == '/' ? "" : "/", a->toolchain);
        arguments[n++] = toolchain;
    }
    struct lat_cmake_run run = { .source = b->source, .build = b->build, .arguments = arguments,
                                 .seconds_max = seconds_left(b), .fresh = true };
    LAT_TRY(lat_cmake_configure(&child, &run, b->error));
    *fine = lat_spawn_ok(&child);
    if (!*fine) {
        struct lat_buf why;
        lat_buf_init(&why, 1 << 12);
        lat_exhaustive_cmake_reason(&child.out, &why);
        lat_leg_find(b->result, LAT_LEG_FAIL, "B505", NULL, 0, NULL, "%s: does not configure: %s", a->name, why.bytes);
        lat_buf_release(&why);
    }
    lat_spawn_result_release(&child);
    return LAT_OK;
}

// The executables that the patterns name. Each pattern must match one.
static size_t choose(struct bench *b, const struct arch *a, const struct lat_cmake *cmake, const struct lat_cmake_target **out, size_t most)
{
    size_t count = 0;
    for (size_t p = 0; p < b->c.targets.count; p++) {
        size_t matches = 0;
        for (size_t i = 0; i < cmake->target_count; i++) {
            const struct lat_cmake_target *t = &cmake->targets[i];
            bool chosen = false;
            if (strcmp(t->type, "EXECUTABLE") != 0 || t->artifacts.count == 0 ||
                !lat_glob_match(b->c.targets.items[p], t->name, strlen(t->name)))
                continue;
            matches++;
            for (size_t k = 0; k < count; k++)
                chosen = chosen || out[k] == t;
            if (!chosen && count < most)
                out[count++] = t;
        }
        if (matches == 0)
            lat_leg_find(b->result, LAT_LEG_ERROR, "B501", NULL, 0, "correct 'targets', or bring the target back",
                         "%s: no executable is named like '%s'", a->name, b->c.targets.items[p]);
    }
    if (count < b->c.min_targets)
        lat_leg_find(b->result, LAT_LEG_ERROR, "B501", NULL, 0, "find out where they went",
                     "%s: %zu benchmarks, at least %llu must be there",
                     a->name, count, (unsigned long long)b->c.min_targets);
    return count;
}

// The part of an output from the first error on.
static const char *reason(const struct lat_spawn_result *child)
{
    const char *text = child->out.bytes ? child->out.bytes : "", *at = strstr(text, "error");
    while (at && at > text && at[-1] != '\n')
        at--;
    if (at)
        return at;
    return child->out.length > 600 ? text + child->out.length - 600 : text;
}

static enum lat_status build(struct bench *b, const struct arch *a, const struct lat_cmake_target *t, bool *fine)
{
    const char *const argv[] = { "cmake", "--build", b->build, "--target", t->name, NULL };
    struct lat_spawn_options options = { .argv = argv, .seconds_max = seconds_left(b), .merge = true };
    struct lat_spawn_result child;
    LAT_TRY(lat_spawn_run(&child, &options, b->error));
    *fine = lat_spawn_ok(&child);
    if (child.timed_out)
        lat_leg_find(b->result, LAT_LEG_ERROR, "V204", NULL, 0, "raise 'budget'", "%s: out of time while building %s", a->name, t->name);
    else if (!*fine)
        lat_leg_find(b->result, LAT_LEG_FAIL, "B505", NULL, 0, NULL, "%s: %s does not build: %.900s", a->name, t->name, reason(&child));
    lat_spawn_result_release(&child);
    return LAT_OK;
}

// Is it what was asked for?
static bool look_at(struct bench *b, const struct arch *a, const struct lat_cmake_target *t, const char *path)
{
    struct lat_elf elf;
    struct lat_error error = { 0 };
    if (lat_elf_read(&elf, path, &error) != LAT_OK) {
        lat_leg_find(b->result, LAT_LEG_ERROR, "B501", NULL, 0, NULL,
                     "%s: %s was built, and is no program: %s", a->name, t->name, error.text);
        return false;
    }
    bool right = elf.machine == a->machine && (elf.type == LAT_ELF_EXEC || elf.type == LAT_ELF_DYN);
    if (!right)
        lat_leg_find(b->result, LAT_LEG_ERROR, "B501", NULL, 0, "name the toolchain of that architecture",
                     "%s: %s was built for %s (type %u)",
                     a->name, t->name, lat_elf_machine_name(elf.machine), elf.type);
    lat_elf_release(&elf);
    return right;
}

// One iteration; how it was run.
static enum lat_status iterate(struct bench *b, const struct arch *a, const struct lat_cmake_target *t, const char *path)
{
    const char *argv[WORDS_MAX] = { NULL };
    struct lat_spawn_result child;
    size_t n = 0;
    if (a->emulator.count + a->run.count + 3 > WORDS_MAX)
        return lat_error_set(b->error, LAT_LIMIT, "more than %d arguments for an iteration", WORDS_MAX);
    for (size_t i = 0; i < a->emulator.count; i++)
        argv[n++] = a->emulator.items[i];
    argv[n++] = path;
    for (size_t i = 0; i < a->run.count; i++)
        argv[n++] = a->run.items[i];
    struct lat_spawn_options options = { .argv = argv, .directory = b->run->root, .seconds_max = seconds_left(b), .merge = true };
    enum lat_status status = lat_spawn_run(&child, &options, b->error);
    if (status == LAT_NOT_FOUND) {
        lat_leg_find(b->result, LAT_LEG_ERROR, "E301", NULL, 0, "install it, or remove 'run'",
                     "%s: cannot run an iteration of %s: %s", a->name,
                     t->name, b->error->text);
        return LAT_OK;
    }
    LAT_TRY(status);
    if (!lat_spawn_ok(&child))
        lat_leg_find(b->result, LAT_LEG_FAIL, "B506", NULL, 0, NULL, "%s: an iteration of %s ends with %s %d: %.700s", a->name, t->name,
                     child.exited ? "exit status" : "signal", child.exited ? child.code : child.signal, reason(&child));
    else if (child.out.length == 0)
        lat_leg_find(b->result, LAT_LEG_FAIL, "B506", NULL, 0, "let it print what it measured",
                     "%s: an iteration of %s printed nothing", a->name, t->name);
    b->result->passed += lat_spawn_ok(&child);
    lat_spawn_result_release(&child);
    return LAT_OK;
}

static enum lat_status judge_target(struct bench *b, const struct arch *a, const struct lat_cmake_target *t)
{
    char path[PATH_SIZE + 600];
    bool fine = false;
    const char *artifact = t->artifacts.items[0];
    snprintf(path, sizeof path, "%s%s%s", artifact[0] == '/' ? "" : b->build, artifact[0] == '/' ? "" : "/", artifact);
    LAT_TRY(build(b, a, t, &fine));
    if (!fine || !look_at(b, a, t, path))
        return LAT_OK;
    b->result->population++;
    const char *how = !a->runs ? "no" : a->emulator.count ? a->emulator.items[0] : "native";
    json_array_append_new(b->built, json_pack("{s:s,s:s,s:s}", "target", t->name, "arch", a->name, "executed", how));
    return a->runs ? iterate(b, a, t, path) : LAT_OK;
}

static enum lat_status judge_arch(struct bench *b, const struct arch *a)
{
    struct lat_cmake cmake;
    bool fine = false;
    LAT_TRY(make_folders(b, a));
    LAT_TRY(configure(b, a, &fine));
    if (!fine)
        return LAT_OK;
    LAT_TRY(lat_cmake_read(&cmake, b->build, b->error));
    const struct lat_cmake_target **chosen = lat_mem_new(cmake.target_count, sizeof *chosen);
    enum lat_status status = chosen ? LAT_OK : lat_error_memory(b->error, "targets");
    size_t count = chosen ? choose(b, a, &cmake, chosen, cmake.target_count) : 0;
    for (size_t i = 0; i < count && status == LAT_OK; i++)
        status = judge_target(b, a, chosen[i]);
    lat_mem_free(chosen);
    lat_cmake_release(&cmake);
    return status;
}

static enum lat_status run_arches(struct bench *b)
{
    if (snprintf(b->source, sizeof b->source, "%s%s%s", b->c.source[0] == '/' ? "" : b->run->root, b->c.source[0] == '/' ? "" : "/",
                 b->c.source) >= (int)sizeof b->source)
        return lat_error_set(b->error, LAT_LIMIT, "%.80s...: a path that is too long", b->c.source);
    for (size_t i = 0; i < b->c.arch_count; i++)
        LAT_TRY(judge_arch(b, &b->c.arches[i]));
    return LAT_OK;
}

static enum lat_status run_leg(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result,
                               struct lat_error *error)
{
    struct bench *b = lat_mem_new(1, sizeof *b);
    if (!b)
        return lat_error_memory(error, "a leg of benchmarks");
    *b = (struct bench){ .run = run, .leg = leg, .result = result, .error = error, .built = json_array() };
    b->deadline = lat_clock_seconds() + (leg->budget_s > 0 ? leg->budget_s : 3600);
    result->population_unit = "benchmarks";
    enum lat_status status = read_config(run->policy, leg, &b->c, error);
    if (status == LAT_OK)
        status = run_arches(b);
    if (!result->details)
        result->details = json_object();
    json_object_set_new(result->details, "built", b->built);
    lat_mem_free(b);
    return status;
}

const struct lat_leg_kind lat_leg_bench_compile = { .name = "bench-compile", .check = check, .run = run_leg };
