// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The deny leg on a small CMake project that links jansson and carries a vendored library: green as it is, red with the
// right code for each planted fault.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "gate/deny_judge.h"
#include "gate/leg_deny.h"
#include "gate/spawn.h"

static char base[] = "/tmp/lattice-deny-XXXXXX";
static char root[64], *lock_text;

struct file {
    const char *path, *text;
};

static const struct file project[] = {
    { "CMakeLists.txt",
      "cmake_minimum_required(VERSION 3.20)\nproject(fixture C)\nadd_library(mini STATIC third_party/mini/mini.c)\n"
      "add_executable(app src/app.c)\ntarget_link_libraries(app PRIVATE mini jansson)\n" },
    { "src/app.c",
      "// SPDX-License-Identifier: Apache-2.0\n// Copyright The Fixture authors\n#include <jansson.h>\n"
      "int mini(void);\nint main(void) { json_decref(json_integer(mini())); return 0; }\n" },
    { "third_party/mini/mini.c", "/* SPDX-License-Identifier: MIT */\nint mini(void);\nint mini(void) { return 3; }\n" },
    { "third_party/mini/LICENSE", "Permission is granted.\n" },
    { "LICENSE", "Apache\n" },
};

#define HEAD                                                                                                   \
    "schema: 1\nproject: {name: fixture, default_branch: main}\nareas: {all: [\"**\"]}\nlegs:\n  deny:\n" \
    "    kind: deny\n    areas: [\"*\"]\n"
#define LICENSES "    licenses:\n      allow: [MIT, Apache-2.0]\n      platform: [glibc, gcc, linux]\n"
#define VENDORED                                                                        \
    "    vendored:\n      - {name: mini, path: third_party/mini, version: \"1\", license: MIT, " \
    "license_files: [third_party/mini/LICENSE]}\n"
#define TREE "    tree: {license: Apache-2.0, owners: [The Fixture authors]}\n"
#define POLICY HEAD LICENSES VENDORED TREE

static void make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        mkdir(path, 0777);
        *at = '/';
    }
}

static void full_path(char *out, size_t size, const char *path)
{
    int n = snprintf(out, size, "%s/%s", root, path);
    assert_true(n > 0 && (size_t)n < size);
}

// Files that tests wrote; the next test's project does not have them.
static char written[64][128];
static size_t written_count;

static void write_bytes(const char *path, const void *bytes, size_t length)
{
    char full[512];
    full_path(full, sizeof full, path);
    make_folders(full);
    FILE *f = fopen(full, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, length, f), length);
    fclose(f);
    assert_true(written_count < sizeof written / sizeof written[0]);
    snprintf(written[written_count++], sizeof written[0], "%s", path);
}

static void write_text(const char *path, const char *text) { write_bytes(path, text, strlen(text)); }

static void remove_file(const char *path)
{
    char full[512];
    full_path(full, sizeof full, path);
    unlink(full);
    for (char *slash; (slash = strrchr(full, '/')) && strlen(root) < (size_t)(slash - full);) {
        *slash = 0;
        if (rmdir(full) != 0)
            break;
    }
}

static void remove_all(const char *path)
{
    const char *const argv[] = { "rm", "-rf", path, NULL };
    struct lat_spawn_result r;
    if (lat_spawn_run(&r, &(struct lat_spawn_options){ .argv = argv }, NULL) == LAT_OK)
        lat_spawn_result_release(&r);
}

static bool is_same(const char *path, const char *text)
{
    char full[512];
    struct lat_file_map map;
    full_path(full, sizeof full, path);
    if (lat_file_map_open(&map, full, NULL) != LAT_OK)
        return false;
    bool same = map.length == strlen(text) && (map.length == 0 || memcmp(map.bytes, text, map.length) == 0);
    lat_file_map_close(&map);
    return same;
}

// The project as it was, with the lock of the first look. What is right already is not touched: its build stays.
static void open_project(void)
{
    const size_t count = sizeof project / sizeof project[0];
    char work[128];
    for (size_t i = 0; i < written_count; i++) {
        bool ours = false;
        for (size_t k = 0; k < count; k++)
            ours = ours || strcmp(written[i], project[k].path) == 0;
        if (!ours)
            remove_file(written[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (!is_same(project[i].path, project[i].text))
            write_text(project[i].path, project[i].text);
    if (lock_text)
        write_text("deps.lock", lock_text);
    written_count = 0;
    snprintf(written[written_count++], sizeof written[0], "deps.lock");
    snprintf(work, sizeof work, "%s/.gate", root);
    mkdir(work, 0777);
}

static void run_leg(const char *policy_text, unsigned checks, bool write_lock, struct lat_leg_result *result)
{
    static struct lat_policy policy; // large
    char work[128];
    struct lat_error error = { 0 };
    snprintf(work, sizeof work, "%s/.gate", root);
    if (lat_policy_parse(&policy, policy_text, strlen(policy_text), "gate.yaml", &error) != LAT_OK)
        fail_msg("%s", error.text);
    struct lat_gate_run run = { .root = root, .work = work, .policy = &policy };
    struct lat_deny_options options = { .checks = checks, .now = INT64_C(1800000000), .write_lock = write_lock }; // January 2027
    lat_leg_result_init(result, "deny");
    if (lat_deny_run(&run, &policy.legs[0], &options, result, &error) != LAT_OK)
        fail_msg("%s", error.text);
    lat_leg_result_close(result);
    lat_policy_release(&policy);
}

static void print_all(const struct lat_leg_result *r)
{
    for (size_t i = 0; i < r->finding_count; i++)
        print_error("  %s %s %s:%zu %s\n", lat_leg_state_name(r->findings[i].state), r->findings[i].code,
                    r->findings[i].path ? r->findings[i].path : "-", r->findings[i].line, r->findings[i].message);
}

// The leg must end in `state` and have a finding of it with `code` and `text`; nothing worse, and no other failing code.
static void expect_of(const char *policy, unsigned checks, enum lat_leg_state state, const char *code, const char *text)
{
    struct lat_leg_result r;
    bool found = false, other = false;
    run_leg(policy, checks, false, &r);
    for (size_t i = 0; i < r.finding_count; i++) {
        const struct lat_finding *f = &r.findings[i];
        bool hit = f->state == state && strcmp(f->code, code) == 0 && strstr(f->message, text);
        found = found || hit;
        other = other || (f->state >= LAT_LEG_UNMEASURABLE && strcmp(f->code, code) != 0);
    }
    if (r.state != state || (*code && !found) || other) {
        print_all(&r);
        fail_msg("state %s, wanted %s with %s '%s'", lat_leg_state_name(r.state), lat_leg_state_name(state), code, text);
    }
    lat_leg_result_release(&r);
}

static void expect(const char *policy, enum lat_leg_state state, const char *code, const char *text)
{
    expect_of(policy, LAT_DENY_ALL, state, code, text);
}

static void test_clean(void **state)
{
    (void)state;
    struct lat_leg_result r;
    open_project();
    run_leg(POLICY, LAT_DENY_ALL, false, &r);
    if (r.state != LAT_LEG_PASS) {
        print_all(&r);
        fail_msg("state %s", lat_leg_state_name(r.state));
    }
    assert_true(r.population >= 3); // glibc, jansson, mini
    char path[128];
    snprintf(path, sizeof path, "%s/.gate/deny/sbom.spdx.json", root);
    assert_true(lat_file_exists(path));
    lat_leg_result_release(&r);
    assert_non_null(strstr(lock_text, "- name: \"jansson\"\n    origin: system\n"));
    assert_non_null(strstr(lock_text, "sonames: [\"libjansson.so.4\"]\n    license: \"MIT\"\n"));
    assert_non_null(strstr(lock_text, "path: \"third_party/mini\"\n    version: \"1\"\n    linkage: [source]\n"));
}

static void test_no_lock(void **state)
{
    (void)state;
    open_project();
    remove_file("deps.lock");
    expect_of(POLICY, LAT_DENY_ALL, LAT_LEG_ERROR, "D603", "no lock file");
    write_text("deps.lock", "schema: 1\ncomponents: [");
    expect_of(POLICY, LAT_DENY_ALL, LAT_LEG_ERROR, "D603", "deps.lock:");
    write_text("deps.lock", "schema: 2\ncomponents: []\n");
    expect_of(POLICY, LAT_DENY_ALL, LAT_LEG_ERROR, "D603", "'schema': 1 is expected");
    expect_of(POLICY, LAT_DENY_LICENSES, LAT_LEG_PASS, "", "");
}

static void test_gpl_file(void **state)
{
    (void)state;
    open_project();
    write_text("src/list.c", "/* This program is free software; you can redistribute it under the terms of the GNU\n"
                             " * General Public License as published by ... */\nint x;\n");
    expect(POLICY, LAT_LEG_FAIL, "D618", "under the GNU GPL by its own words");
    open_project();
    write_text("src/list.c", "// SPDX-License-Identifier: GPL-2.0-or-later\nint x;\n");
    expect(POLICY, LAT_LEG_FAIL, "D618", "the file says GPL-2.0-or-later, the tree is Apache-2.0");
    // the same within the vendored folder, declared MIT; its digest changes, too
    open_project();
    write_text("third_party/mini/list.c", "// SPDX-License-Identifier: GPL-2.0-or-later\nint x;\n");
    expect_of(POLICY, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D610", "the file says GPL-2.0-or-later, its component 'mini' is declared as MIT");
    expect_of(POLICY, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D601", "the digest of the folder of 'mini'");
}

static void test_undeclared(void **state)
{
    (void)state;
    open_project();
    write_text("third_party/other/a.c", "int x;\n");
    expect(POLICY, LAT_LEG_FAIL, "D618", "'third_party/other' is named as other people's code is");
    open_project();
    write_text("src/util/COPYING", "text\n");
    expect(POLICY, LAT_LEG_FAIL, "D618", "a licence text below the root");
    open_project();
    write_text("src/list.c", "// SPDX-License-Identifier: Apache-2.0\n// Copyright (c) 1999 Someone Else\nint x;\n");
    expect(POLICY, LAT_LEG_FAIL, "D618", "'Copyright (c) 1999 Someone Else': not an owner");
    open_project();
    write_text("src/list.c", "// SPDX-License-Identifier: Apachee-2.0\n");
    expect(POLICY, LAT_LEG_FAIL, "D602", "did you mean Apache-2.0");
    // an ignored place, with its reason, is not looked at; one that ignores nothing is said
    open_project();
    write_text("tests/data/COPYING", "text\n");
    expect(POLICY "", LAT_LEG_FAIL, "D618", "licence text");
    open_project();
    write_text("tests/data/COPYING", "text\n");
    expect(HEAD LICENSES VENDORED "    tree: {license: Apache-2.0, ignore: [{paths: [\"tests/data/**\"], reason: test data}]}\n",
           LAT_LEG_PASS, "", "");
    open_project();
    expect(HEAD LICENSES VENDORED "    tree: {license: Apache-2.0, ignore: [{paths: [\"tests/data/**\"], reason: test data}]}\n",
           LAT_LEG_WARN, "D617",
           "the ignored paths 'tests/data/**'");
}

static void test_programs(void **state)
{
    (void)state;
    static const char elf[] = "\177ELF\2\1\1\0";
    open_project();
    write_bytes("tests/data.png", elf, sizeof elf);
    expect(POLICY, LAT_LEG_FAIL, "D608", "a program in binary form (ELF)");
    open_project();
    write_bytes("tests/data.png", elf, sizeof elf);
    expect(HEAD LICENSES VENDORED "    tree: {license: Apache-2.0, executables: [tests/*.png]}\n", LAT_LEG_PASS, "", "");
    open_project();
    write_text("tests/notes.txt", "#!/bin/sh\nrm -rf x\n");
    expect(POLICY, LAT_LEG_FAIL, "D608", "a script that is not named as one");
}

static void test_vendored_change(void **state)
{
    (void)state;
    open_project();
    write_text("third_party/mini/mini.c", "/* SPDX-License-Identifier: MIT */\nint mini(void);\nint mini(void) { return 4; }\n");
    expect(POLICY, LAT_LEG_FAIL, "D601", "the digest of the folder of 'mini': locked");
    open_project();
    write_text("third_party/mini/LICENSE", "Permission is denied.\n");
    expect(POLICY, LAT_LEG_FAIL, "D601", "third_party/mini/LICENSE of 'mini': locked");
    open_project();
    remove_file("third_party/mini/LICENSE");
    expect_of(POLICY, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D601", "no licence text of it is in the tree");
    // relicensed in gate.yaml only
    open_project();
    static const char relicensed[] = HEAD LICENSES "    vendored:\n      - {name: mini, path: third_party/mini, version: \"1\", "
                                                   "license: ISC, "
                                                   "license_files: [third_party/mini/LICENSE]}\n" TREE;
    expect_of(relicensed, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D610", "the file says MIT, its component 'mini' is declared as ISC");
    expect_of(relicensed, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D601", "the licence of 'mini': locked MIT, now ISC");
}

static void test_linkage(void **state)
{
    (void)state;
    char cmake[1000];
    // a library more
    open_project();
    snprintf(cmake, sizeof cmake, "%starget_link_libraries(app PRIVATE -Wl,--no-as-needed yaml)\n", project[0].text);
    write_text("CMakeLists.txt", cmake);
    expect_of(POLICY, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D601", "component 'libyaml'");
    // static instead of shared
    open_project();
    write_text("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(fixture C)\nadd_library(mini STATIC "
                                 "third_party/mini/mini.c)\n"
                                 "add_executable(app src/app.c)\ntarget_link_libraries(app PRIVATE mini -l:libjansson.a)\n");
    expect(POLICY, LAT_LEG_FAIL, "D606", "'jansson' gets in by a way that is not locked: static");
    // nothing any more
    open_project();
    write_text("src/app.c", "// SPDX-License-Identifier: Apache-2.0\nint mini(void);\nint main(void) { return mini(); }\n");
    write_text("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(fixture C)\nadd_library(mini STATIC "
                                 "third_party/mini/mini.c)\n"
                                 "add_executable(app src/app.c)\ntarget_link_libraries(app PRIVATE mini)\n");
    expect_of(POLICY, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D607", "component 'jansson' (system) is locked, and nothing uses it");
}

static void test_fetched(void **state)
{
    (void)state;
    static const char start[] = "option(MORE \"\" OFF)\nif(MORE)\n  include(FetchContent)\n";
    char cmake[2000];
    open_project();
    snprintf(cmake, sizeof cmake, "%s%s  FetchContent_Declare(fmt GIT_REPOSITORY https://h.example/org/fmt GIT_TAG "
                                  "main)\nendif()\n", project[0].text, start);
    write_text("CMakeLists.txt", cmake);
    expect_of(POLICY "    sources: {git: [\"https://h.example/org/*\"]}\n", LAT_DENY_SOURCES, LAT_LEG_FAIL, "D613",
              "at 'main': a branch, a tag");
    expect_of(POLICY, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D601", "component 'fmt' (fetched) is not in deps.lock");
    snprintf(cmake, sizeof cmake, "%s%s  FetchContent_Declare(fmt GIT_REPOSITORY https://h.example/org/fmt GIT_TAG "
                                  "0123456789abcdef0123456789abcdef01234567)\nendif()\n",
             project[0].text, start);
    write_text("CMakeLists.txt", cmake);
    expect_of(POLICY "    sources: {git: [\"https://h.example/org/*\"]}\n", LAT_DENY_SOURCES, LAT_LEG_PASS, "", "");
    expect_of(POLICY "    sources: {git: [\"https://h.example/other/*\"]}\n", LAT_DENY_SOURCES, LAT_LEG_FAIL, "D614", "no allowed origin");
    expect_of(POLICY, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D601", "'fmt' has no known licence");
}

static void test_duplicate(void **state)
{
    (void)state;
    open_project();
    write_text("third_party/jansson/jansson.c", "int unused_copy;\n");
    write_text("third_party/jansson/LICENSE", "Permission.\n");
    expect_of(HEAD LICENSES VENDORED
              "      - {name: jansson, path: third_party/jansson, version: \"2.10\", license: MIT, license_files: "
              "[third_party/jansson/LICENSE]}\n" TREE,
              LAT_DENY_BANS, LAT_LEG_FAIL, "D612", "'jansson' is there twice: system");
}

static void test_bans(void **state)
{
    (void)state;
    open_project();
    expect_of(POLICY "    bans: {deny: [{name: jansson, reason: one reader of JSON, use_instead: our own}]}\n", LAT_DENY_BANS,
              LAT_LEG_FAIL, "D611",
              "is banned (gate.yaml:14: one reader of JSON), and target 'app' uses it");
    expect_of(POLICY "    bans: {deny: [{name: jansson, reason: x, linkage: static}]}\n", LAT_DENY_BANS, LAT_LEG_PASS, "", "");
    expect_of(POLICY "    bans: {deny: [{name: jansson, reason: x, version: \"<2\"}]}\n", LAT_DENY_BANS, LAT_LEG_PASS, "", "");
    expect_of(POLICY "    bans: {deny: [{name: jansson, reason: x, version: \">=2\"}]}\n", LAT_DENY_BANS, LAT_LEG_FAIL, "D611", "jansson");
    expect_of(POLICY "    bans: {deny: [{name: jansson, reason: x, wrappers: [app]}]}\n", LAT_DENY_BANS, LAT_LEG_PASS, "", "");
    expect_of(POLICY "    bans: {deny: [{name: jansson, reason: x, wrappers: [json_wrap]}]}\n", LAT_DENY_BANS, LAT_LEG_FAIL,
              "D611", "target 'app'");
    expect_of(POLICY "    sources: {system: [zlib]}\n", LAT_DENY_SOURCES, LAT_LEG_FAIL, "D614", "'jansson' of the distribution");
    expect_of(POLICY "    sources: {system: [jansson]}\n", LAT_DENY_SOURCES, LAT_LEG_PASS, "", "");
}

#define GPL "    licenses:\n      allow: [MIT, Apache-2.0]\n      platform: [glibc, gcc, linux]\n"
static void test_licenses(void **state)
{
    (void)state;
    static const char path[] = "files: [{path: third_party/mini/LICENSE, sha256: ";
    static const char none[] = "0000000000000000000000000000000000000000000000000000000000000000";
    char policy[2000];
    open_project();
    expect_of(HEAD "    licenses: {allow: [Apache-2.0], platform: [glibc, gcc, linux]}\n" VENDORED TREE, LAT_DENY_LICENSES,
              LAT_LEG_FAIL, "D610",
              "'jansson' is under 'MIT' (Debian's copyright file), and of that 'MIT' is not allowed here");
    expect_of(HEAD "    licenses: {allow: [Apache-2.0], allow_shared: [MIT], platform: [glibc, gcc, linux]}\n" VENDORED TREE,
              LAT_DENY_LICENSES,
              LAT_LEG_FAIL, "D610", "'mini' is under 'MIT'"); // compiled in, so not by the shared list
    expect_of(HEAD "    licenses: {allow: [MIT, Apache-2.0]}\n" VENDORED TREE, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D601",
              "'glibc' has no known licence");
    // two exceptions that name one licence both hold, and an exception goes together with a clarification
    struct lat_leg_result r;
    char hex[80] = "", file[128];
    snprintf(file, sizeof file, "%s/third_party/mini/LICENSE", root);
    const char *const argv[] = { "sha256sum", file, NULL };
    struct lat_spawn_result sum;
    assert_int_equal(lat_spawn_run(&sum, &(struct lat_spawn_options){ .argv = argv }, NULL), LAT_OK);
    snprintf(hex, sizeof hex, "%.64s", sum.out.bytes);
    lat_spawn_result_release(&sum);
    snprintf(policy, sizeof policy, "%s%s      exceptions: [{name: mini, allow: [GPL-2.0], reason: a}, {name: mini, allow: "
                                    "[gpl-2.0-only], reason: b}]\n"
             "      clarify: [{name: mini, license: MIT AND GPL-2.0, reason: it says so, %s%s}]}]\n%s%s", HEAD, GPL, path, hex,
             VENDORED, TREE);
    expect_of(policy, LAT_DENY_LICENSES, LAT_LEG_PASS, "", "");
    run_leg(policy, LAT_DENY_ALL, false, &r); // the licence differs from the lock; neither exception is unused
    for (size_t i = 0; i < r.finding_count; i++)
        assert_string_not_equal(r.findings[i].code, "D617");
    lat_leg_result_release(&r);
    snprintf(policy, sizeof policy, "%s%s      clarify: [{name: mini, license: MIT AND GPL-2.0, reason: it says so, "
                                    "%s%s}]}]\n%s%s", HEAD, GPL, path, hex,
             VENDORED, TREE);
    expect_of(policy, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D610", "of that 'GPL-2.0-only' is not allowed");
    snprintf(policy, sizeof policy, "%s%s      clarify: [{name: mini, license: MIT OR GPL-2.0, reason: it says so, %s%s}]}]\n%s%s",
             HEAD, GPL, path, hex,
             VENDORED, TREE);
    expect_of(policy, LAT_DENY_LICENSES, LAT_LEG_PASS, "", "");
    snprintf(policy, sizeof policy, "%s%s      clarify: [{name: mini, license: Mitt, reason: it says so, %s%s}]}]\n%s%s", HEAD,
             GPL, path, hex, VENDORED,
             TREE);
    expect_of(policy, LAT_DENY_BANS, LAT_LEG_PASS, "", "");
    snprintf(policy, sizeof policy, "%s%s      clarify: [{name: mini, license: NOASSERTION, reason: it says so, %s%s}]}]\n%s%s",
             HEAD, GPL, path, hex,
             VENDORED, TREE);
    expect_of(policy, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D601", "'mini' says NOASSERTION");
    // an exception that nothing needs
    snprintf(policy, sizeof policy, "%s%s      exceptions: [{name: mini, allow: [GPL-2.0], reason: a}]\n%s%s", HEAD, GPL, VENDORED, TREE);
    expect_of(policy, LAT_DENY_ALL, LAT_LEG_WARN, "D617", "the licence exception for 'mini': nothing needs it");
    // a clarification of another text
    snprintf(policy, sizeof policy, "%s%s      clarify: [{name: mini, license: MIT, reason: it says so, %s\"%s\"}]}]\n%s%s", HEAD,
             GPL, path, none, VENDORED,
             TREE);
    struct lat_leg_result other;
    run_leg(policy, LAT_DENY_LICENSES, false, &other);
    assert_int_equal(other.state, LAT_LEG_FAIL);
    assert_string_equal(other.findings[0].code, "D616");
    assert_non_null(strstr(other.findings[0].message, hex));
    lat_leg_result_release(&other);
}

#define WAIVE(more) "waivers:\n  - {leg: deny, reason: being replaced, owner: someone, " more "}\n"
static void test_waivers(void **state)
{
    (void)state;
    open_project();
    write_text("src/a.c", "// SPDX-License-Identifier: ISC\n");
    expect_of(POLICY WAIVE("code: D618, path: src/a.c, until: 2030-01-01"), LAT_DENY_ALL, LAT_LEG_WARN, "D618",
              "[waived until 2030-01-01 by someone");
    expect_of(POLICY WAIVE("code: D618, path: src/b.c, until: 2030-01-01"), LAT_DENY_LICENSES, LAT_LEG_FAIL, "D618", "ISC");
    write_text("src/b.c", "// SPDX-License-Identifier: ISC\n");
    expect_of(POLICY WAIVE("code: D618, until: 2030-01-01"), LAT_DENY_ALL, LAT_LEG_FAIL, "W701", "covers 2 findings");
    open_project();
    expect_of(POLICY WAIVE("anchor: mini, until: 2030-01-01"), LAT_DENY_ALL, LAT_LEG_FAIL, "W701", "covers no finding");
    expect_of(POLICY WAIVE("anchor: mini, until: 2027-01-14"), LAT_DENY_ALL, LAT_LEG_FAIL, "W701", "ended on 2027-01-14");
    expect_of(POLICY WAIVE("anchor: mini, until: 2027-01-15"), LAT_DENY_ALL, LAT_LEG_FAIL, "W701", "covers no finding"); // its last day
}

// A file outside of the tree that no package has.
static void test_provided(void **state)
{
    (void)state;
    char cmake[1500], header[128], policy[1500];
    open_project();
    snprintf(header, sizeof header, "%s/opt", base);
    mkdir(header, 0777);
    snprintf(header, sizeof header, "%s/opt/tool.h", base);
    FILE *f = fopen(header, "w");
    assert_non_null(f);
    fprintf(f, "#define TOOL 1\n");
    fclose(f);
    snprintf(cmake, sizeof cmake, "%starget_compile_options(app PRIVATE -include %s)\n", project[0].text, header);
    write_text("CMakeLists.txt", cmake);
    expect_of(POLICY, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D601", "uses this file (header), and no package has it");
    snprintf(policy, sizeof policy, "%s    provided: [{name: tool, version: \"3\", files: [\"%s/opt/**\"], license: ISC, reason: "
                                    "made by us}]\n", POLICY, base);
    expect_of(policy, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D601", "component 'tool' 3 (provided) is not in deps.lock");
    expect_of(policy, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D610", "'tool' is under 'ISC' (declared in gate.yaml)");
    open_project();
    expect_of(policy, LAT_DENY_ALL, LAT_LEG_WARN, "D617", "the provided component 'tool': nothing needs it");
}

static void test_cannot_look(void **state)
{
    (void)state;
    open_project();
    write_text("src/app.c", "#error no\n");
    expect(POLICY, LAT_LEG_ERROR, "D615", "#error no");
    open_project();
    expect(POLICY "    build: nowhere\n", LAT_LEG_ERROR, "D615", "nowhere: no such folder");
    open_project();
    write_text("built/x", "");
    expect(POLICY "    build: built\n", LAT_LEG_ERROR, "D615", "no build.ninja there");
}

static void git(const char *a, const char *b, const char *c, const char *d)
{
    const char *const argv[] = { "git", a, b, c, d, NULL };
    struct lat_spawn_result r;
    struct lat_error error = { 0 };
    if (lat_spawn_run(&r, &(struct lat_spawn_options){ .argv = argv, .directory = root, .merge = true }, &error) != LAT_OK)
        fail_msg("%s", error.text);
    if (!lat_spawn_ok(&r))
        fail_msg("git %s: %s", a, r.out.bytes);
    lat_spawn_result_release(&r);
}

// In a work tree: what git ignores is not looked at, unless the build uses it; submodules are components.
static void test_git(void **state)
{
    (void)state;
    open_project();
    write_text(".gitignore", ".gate\n*.out\nsrc/secret.h\n");
    git("init", "-q", NULL, NULL);
    git("add", "-A", NULL, NULL);
    write_text("src/a.out", "\177ELF");
    write_text("src/line\nbreak.c", "int x;\n"); // not tracked, and looked at
    expect(POLICY, LAT_LEG_PASS, "", "");
    write_text("src/line\nbreak.c", "// SPDX-License-Identifier: ISC\nint x;\n");
    expect(POLICY, LAT_LEG_FAIL, "D618", "the file says ISC");
    write_text("src/line\nbreak.c", "int x;\n");
    write_text("src/secret.h", "#define X 1\n");
    write_text("src/app.c", "// SPDX-License-Identifier: Apache-2.0\n#include <jansson.h>\n#include \"secret.h\"\n"
                            "int mini(void);\nint main(void) { json_decref(json_integer(mini())); return 0; }\n");
    expect(POLICY, LAT_LEG_FAIL, "D618", "which git ignores: nobody can review it");
    write_text("src/app.c", project[1].text);
    // a repository inside the repository
    write_text("lib/.git/HEAD", "ref: refs/heads/main\n");
    write_text("lib/.git/config", "[core]\nrepositoryformatversion = 0\n");
    write_text("lib/.git/objects/x", "");
    write_text("lib/.git/refs/x", "");
    write_text("lib/x.c", "// SPDX-License-Identifier: GPL-3.0\n");
    expect(POLICY, LAT_LEG_FAIL, "D618", "the file says GPL-3.0-only");
    remove_file("lib/x.c");
    write_text(".gitmodules", "[submodule \"s\"]\n\tpath = lib\n\turl = https://h.example/org/s\n");
    git("update-index", "--add", "--cacheinfo", "160000,0123456789abcdef0123456789abcdef01234567,lib");
    expect(POLICY, LAT_LEG_FAIL, "D618", "a git submodule (commit 0123456789ab) that is not declared");
    static const char declared[] = HEAD LICENSES VENDORED "      - {name: s, path: lib, license: MIT, license_files: [LICENSE]}\n" TREE;
    expect_of(declared, LAT_DENY_SOURCES, LAT_LEG_FAIL, "D614", "'s' comes from https://h.example/org/s, which is no allowed origin");
    expect_of(declared, LAT_DENY_LICENSES, LAT_LEG_PASS, "", "");
    char path[256];
    full_path(path, sizeof path, ".git");
    remove_all(path);
    full_path(path, sizeof path, "lib");
    remove_all(path);
}

static int open_group(void **state)
{
    (void)state;
    char program[4096];
    struct lat_leg_result r;
    struct lat_file_map map;
    char path[128];
    static const char *const tools[] = { "dpkg-query", "cmake", "ninja", "cc", "git" };
    for (size_t i = 0; i < 5; i++)
        if (!lat_spawn_find(tools[i], program, sizeof program)) {
            print_message("%s is not here\n", tools[i]);
            exit(77);
        }
    if (!mkdtemp(base))
        return -1;
    snprintf(root, sizeof root, "%s/p", base);
    open_project();
    run_leg(POLICY, LAT_DENY_ALL, true, &r);
    if (r.state != LAT_LEG_PASS)
        print_all(&r);
    lat_leg_result_release(&r);
    snprintf(path, sizeof path, "%s/deps.lock", root);
    if (lat_file_map_open(&map, path, NULL) != LAT_OK)
        return -1;
    lock_text = strndup((const char *)map.bytes, map.length);
    lat_file_map_close(&map);
    return lock_text ? 0 : -1;
}

static int close_group(void **state)
{
    (void)state;
    remove_all(base);
    free(lock_text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),     cmocka_unit_test(test_no_lock),   cmocka_unit_test(test_gpl_file),
         cmocka_unit_test(test_undeclared),
        cmocka_unit_test(test_programs),  cmocka_unit_test(test_vendored_change), cmocka_unit_test(test_linkage),
        cmocka_unit_test(test_fetched),
        cmocka_unit_test(test_duplicate), cmocka_unit_test(test_bans),      cmocka_unit_test(test_licenses),
         cmocka_unit_test(test_waivers),
        cmocka_unit_test(test_provided), cmocka_unit_test(test_cannot_look), cmocka_unit_test(test_git),
    };
    return cmocka_run_group_tests(tests, open_group, close_group);
}
