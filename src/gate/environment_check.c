// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/environment_check.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>
#include <time.h>

#include "core/error.h"
#include "gate/gate_codes.h"
#include "gate/spawn.h"

enum { GIT_LEAST = 2031, CLOCK_SLACK_S = 300 };
static const uint64_t disk_error = 64ull << 20, disk_warn = 1024ull << 20;

static void find(struct lat_leg_result *result, enum lat_leg_state state, const char *code, const char *message)
{
    const struct lat_gate_code *known = lat_gate_code_find(code);
    LAT_BUG_IF(!known);
    lat_leg_find(result, state, code, NULL, 0, known->fix, "%s", message);
}

unsigned lat_environment_git_version(const char *text)
{
    char *end = NULL;
    if (strncmp(text, "git version ", 12) != 0)
        return 0;
    unsigned long major = strtoul(text + 12, &end, 10);
    if (end == text + 12 || *end != '.' || major > 100)
        return 0;
    unsigned long minor = strtoul(end + 1, NULL, 10);
    return (unsigned)(1000 * major + (minor < 999 ? minor : 999));
}

bool lat_environment_locale_fits(const char *value)
{
    if (!value || !*value || strcmp(value, "C") == 0 || strcmp(value, "POSIX") == 0)
        return true;
    const char *dot = strchr(value, '.');
    return dot && (strncasecmp(dot + 1, "utf-8", 5) == 0 || strncasecmp(dot + 1, "utf8", 4) == 0);
}

// Output of a git command in `root`, without the line feed at its end. False: git is missing or says no.
static bool ask_git(const char *root, const char *const *argv, char *out, size_t size)
{
    static const char *const environment[] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CEILING_DIRECTORIES", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C", NULL };
    struct lat_spawn_options options = { .argv = argv, .directory = root, .environment = environment, .seconds_max = 20,
        .output_max = 4096 };
    struct lat_spawn_result result = { 0 };
    bool ok = lat_spawn_run(&result, &options, NULL) == LAT_OK && lat_spawn_ok(&result) && result.out.bytes && result.out.length < size;
    out[0] = '\0';
    if (ok) {
        memcpy(out, result.out.bytes, result.out.length);
        out[result.out.length] = '\0';
        out[strcspn(out, "\n")] = '\0';
    }
    lat_spawn_result_release(&result);
    return ok;
}

#define GIT(...) \
    ((const char *const[]){ "git", "--no-replace-objects", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", \
                            __VA_ARGS__, NULL })

static size_t check_git(struct lat_leg_result *result, const char *root, struct lat_buf *notes)
{
    char out[4097];
    if (!ask_git(NULL, (const char *const[]){ "git", "--version", NULL }, out, sizeof out)) {
        find(result, LAT_LEG_ERROR, "E310", "git is not there, or does not run");
        return 1;
    }
    unsigned version = lat_environment_git_version(out);
    lat_buf_addf(notes, "%.60s\n", out);
    if (version < GIT_LEAST) {
        find(result, LAT_LEG_ERROR, "E310", "git is older than 2.31, or does not say its version");
        return 1;
    }
    if (!ask_git(root, GIT("rev-parse", "--is-shallow-repository"), out, sizeof out)) {
        find(result, LAT_LEG_WARN, "E311", "there is no git repository here: what changed cannot be told");
        return 2;
    }
    lat_buf_addf(notes, "clone: %s\n", strcmp(out, "true") == 0 ? "shallow" : "full history");
    if (strcmp(out, "false") != 0)
        find(result, LAT_LEG_WARN, "E311", "the clone is shallow: a base that is not in it cannot be compared, and everything "
             "counts as changed");
    if (ask_git(root, GIT("config", "--get-regexp", "^remote\\..*\\.promisor$"), out, sizeof out))
        find(result, LAT_LEG_WARN, "E311", "the clone is partial: files that are not here would have to be fetched in the "
             "middle of a judgement");
    if (!ask_git(root, GIT("log", "-1", "--format=%ct"), out, sizeof out))
        return 3;
    long long newest = strtoll(out, NULL, 10);
    if ((long long)time(NULL) + CLOCK_SLACK_S < newest)
        find(result, LAT_LEG_ERROR, "E312", "the newest commit lies in this machine's future");
    else
        lat_buf_addf(notes, "clock: after the newest commit\n");
    return 4;
}

static size_t check_disk(struct lat_leg_result *result, const char *root, struct lat_buf *notes)
{
    struct statvfs fs;
    if (statvfs(root, &fs) != 0)
        return 0;
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    lat_buf_addf(notes, "disk: %llu MiB free\n", (unsigned long long)(room >> 20));
    if (room < disk_error)
        find(result, LAT_LEG_ERROR, "E313", "less than 64 MiB are free where the gate writes evidence");
    else if (room < disk_warn)
        find(result, LAT_LEG_WARN, "E313", "less than 1 GiB is free where the gate writes evidence");
    return 1;
}

static size_t check_locale(struct lat_leg_result *result, struct lat_buf *notes)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    const char *value = NULL;
    for (size_t i = 0; i < 3 && !(value && *value); i++)
        value = getenv(names[i]);
    lat_buf_addf(notes, "locale: %.60s\n", value && *value ? value : "C");
    if (!lat_environment_locale_fits(value))
        find(result, LAT_LEG_WARN, "E314", "the locale is not UTF-8");
    return 1;
}

static size_t check_tools(struct lat_leg_result *result, const struct lat_policy *policy, struct lat_buf *notes)
{
    char path[4096];
    size_t checks = 0, missing = 0;
    for (size_t i = 0; policy && i < policy->leg_count; i++)
        for (size_t k = 0; k < policy->legs[i].tools.count; k++, checks++) {
            const struct lat_policy_leg *leg = &policy->legs[i];
            if (lat_spawn_find(leg->tools.items[k], path, sizeof path))
                continue;
            missing++;
            lat_leg_find(result, leg->required ? LAT_LEG_ERROR : LAT_LEG_WARN, "E301", NULL, 0, "install it, or correct 'tools' of the leg",
                         "'%s' is not in PATH; leg '%s' %s", leg->tools.items[k], leg->name,
                         leg->required ? "is required and cannot run" : "(not required) cannot run");
        }
    if (policy)
        lat_buf_addf(notes, "tools of legs: %zu named, %zu missing\n", checks, missing);
    return checks;
}

size_t lat_environment_check(struct lat_leg_result *result, const char *root, const struct lat_policy *policy, struct lat_buf *notes)
{
    size_t checks = check_git(result, root, notes);
    checks += check_disk(result, root, notes);
    checks += check_locale(result, notes);
    return checks + check_tools(result, policy, notes);
}
