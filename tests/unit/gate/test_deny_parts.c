// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The deny leg's parts that need no build: origins, duplicates, the lock, bills of materials, advisories, dates, commands
// and dependency files.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/json.h"
#include "gate/deny_checks.h"
#include "gate/deps_lock.h"
#include "gate/osv.h"
#include "gate/sbom.h"
#include "gate/tree_scan.h"

static void test_addresses(void **state)
{
    (void)state;
    assert_true(lat_address_matches("https://h/org/*", "https://h/org/x"));
    assert_true(lat_address_matches("https://h/**", "https://h/org/x.git"));
    assert_false(lat_address_matches("https://h/org/*", "https://h/org/x/y"));
    assert_false(lat_address_matches("https://h/org/*", "http://h/org/x"));
    assert_false(lat_address_matches("https://h/org/*", "https://h/organ/x"));
    assert_false(lat_address_matches("https://h/**", "https://h/../evil/x"));
    assert_false(lat_address_matches("https://**", "https://h@evil/x"));
    assert_true(lat_address_matches("git@h:org/*", "git@h:org/x"));
    assert_false(lat_address_matches("https://h/*", "${URL}"));
}

static void test_dates(void **state)
{
    (void)state;
    static const struct { const char *text; int64_t days; } dates[] = { { "1970-01-01", 0 }, { "1970-01-02", 1 }, { "1969-12-31", -1 },
                                                                       { "2000-02-29", 11016 }, { "2026-12-01T10:00:00Z", 20788 } };
    int64_t days;
    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        assert_true(lat_date_parse(dates[i].text, strlen(dates[i].text), &days));
        assert_int_equal(days, dates[i].days);
    }
    assert_false(lat_date_parse("2026-13-01", 10, &days) || lat_date_parse("2026-1-01", 9, &days) || lat_date_parse("x026-01-01",
        10, &days));
}

static void test_commands(void **state)
{
    (void)state;
    static const struct { const char *text, *wanted; } cases[] = {
        { ": && cc a.o -o \"b c\" && :", ":||cc|a.o|-o|b c||:||" }, { "a 'b \"c' d\\ e", "a|b \"c|d e||" }, { "a \"b\\\"c\" \"\"",
            "a|b\"c|||" },
        { "", "|" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lat_arena arena;
        const char **words;
        char seen[200] = "";
        lat_arena_init(&arena, 1 << 16);
        assert_int_equal(lat_command_split(cases[i].text, &arena, &words, NULL), LAT_OK);
        size_t pieces = 1;
        for (const char *at = cases[i].text; (at = strstr(at, "&&")); at += 2)
            pieces++;
        for (const char **w = words; pieces; w++) {
            pieces -= !*w;
            snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%s|", *w ? *w : "");
        }
        assert_string_equal(seen, cases[i].wanted);
        assert_int_equal(lat_command_split("a \"b", &arena, &words, NULL), LAT_FORMAT);
        lat_arena_release(&arena);
    }
}

static char paths[300];
static enum lat_status note_path(void *context, const char *path, size_t length)
{
    (void)context;
    snprintf(paths + strlen(paths), sizeof paths - strlen(paths), "%.*s|", (int)length, path);
    return LAT_OK;
}

static void test_depfiles(void **state)
{
    (void)state;
    static const struct { const char *text, *wanted; } cases[] = {
        { "a: b c\n", "b|c|" },     { "a: \\\n  b \\\n  c\\ d\n\nb:\n", "b|c d|" }, { "a: b$$c d\\#e", "b$c|d#e|" }, { "a:\n", "" },
        { "", "" },                 { "a: b\\", "b\\|" },                             { "x y", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        paths[0] = 0;
        assert_int_equal(lat_depfile_read(cases[i].text, strlen(cases[i].text), note_path, NULL), LAT_OK);
        assert_string_equal(paths, cases[i].wanted);
    }
}

static void test_magic(void **state)
{
    (void)state;
    static const struct { const char *path, *bytes; size_t length; const char *kind; } cases[] = {
        { "x.png", "\177ELF\2", 5, "ELF" },      { "x", "!<arch>\nx", 9, "archive" },   { "x", "\0asm\1", 5, "WebAssembly" },
        { "x", "\xcf\xfa\xed\xfe", 4, "Mach-O" }, { "X.class", "\xca\xfe\xba\xbe\0\0\0\x34", 8, "Java class" },
        { "x", "\xca\xfe\xba\xbe\0\0\0\2", 8, "Mach-O" }, { "x.txt", "#!/bin/sh", 9, "script" }, { "x.sh", "#!/bin/sh", 9, NULL },
        { "run", "#!/bin/sh", 9, NULL },          { ".ci/run", "#!/bin/sh", 9, NULL },  { "x.c", "int", 3, NULL }, { "x", "", 0,
            NULL }, { "x", "MZ", 2, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *kind = lat_executable_kind(cases[i].path, (const unsigned char *)cases[i].bytes, cases[i].length);
        if ((kind == NULL) != (cases[i].kind == NULL) || (kind && strcmp(kind, cases[i].kind) != 0))
            fail_msg("case %zu: %s", i, kind ? kind : "nothing");
    }
    unsigned char pe[128] = { 'M', 'Z' };
    pe[60] = 100;
    memcpy(pe + 100, "PE\0\0", 4);
    assert_string_equal(lat_executable_kind("x", pe, sizeof pe), "PE");
    memset(pe + 60, 0xff, 4);
    assert_null(lat_executable_kind("x", pe, sizeof pe));
}

// Three components of different kinds, as a lock's text.
static const char lock_text[] =
    "schema: 1\ncomponents:\n"
    "  - {name: fmt, origin: fetched, linkage: [source], license: MIT, git: \"https://h/fmt\", revision: "
    "0123456789abcdef0123456789abcdef01234567}\n"
    "  - {name: mini, origin: vendored, path: third_party/mini, version: \"1.0\", linkage: [source], license: LicenseRef-mini AND MIT,\n"
    "     tree_sha256: ab, license_files: [{path: L, sha256: cd}], archive: \"https://h/mini.tgz\", digest: \"SHA256=0123\"}\n"
    "  - {name: zlib, origin: system, version: \"1:1.2.13.dfsg-1\", linkage: [shared, header], sonames: [libz.so.1], license: "
    "Zlib, packages: [zlib1g]}\n";

static void open_lock(struct lat_deps_lock *lock)
{
    struct lat_error error = { 0 };
    if (lat_deps_lock_parse(lock, lock_text, strlen(lock_text), "deps.lock", &error) != LAT_OK)
        fail_msg("%s", error.text);
    assert_int_equal(lock->inventory.count, 3);
}

static void test_lock_round(void **state)
{
    (void)state;
    struct lat_deps_lock lock, again;
    struct lat_buf text, text2;
    struct lat_error error = { 0 };
    lat_buf_init(&text, 1 << 20);
    lat_buf_init(&text2, 1 << 20);
    open_lock(&lock);
    lat_deps_lock_write(&text, &lock.inventory);
    if (lat_deps_lock_parse(&again, text.bytes, text.length, "again", &error) != LAT_OK)
        fail_msg("%s", error.text);
    lat_deps_lock_write(&text2, &again.inventory);
    assert_string_equal(text.bytes, text2.bytes);
    lat_deps_lock_release(&lock);
    lat_deps_lock_release(&again);
    lat_buf_release(&text);
    lat_buf_release(&text2);
}

// Names that YAML does not print as they are.
static void test_lock_names(void **state)
{
    (void)state;
    static const char *const names[] = { "a\"b\\c", "a\tb\x01\x7f", "a\xc2\x80", "\xef\xbb\xbf", "\xef\xbf\xbe", "\xc3\xa4: [x]",
                                         "# x", "\xc2\xa0", "*x" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct lat_inventory inventory = { 0 };
        struct lat_deps_lock lock;
        struct lat_dep *d;
        struct lat_buf text;
        struct lat_error error = { 0 };
        lat_buf_init(&text, 1 << 16);
        lat_arena_init(&inventory.arena, 1 << 20);
        assert_int_equal(lat_inventory_add(&inventory, names[i], LAT_DEP_SYSTEM, NULL, &d, NULL), LAT_OK);
        lat_deps_lock_write(&text, &inventory);
        if (lat_deps_lock_parse(&lock, text.bytes, text.length, "lock", &error) != LAT_OK)
            fail_msg("case %zu: %s", i, error.text);
        assert_string_equal(lock.inventory.deps[0].name, names[i]);
        lat_deps_lock_release(&lock);
        lat_inventory_release(&inventory);
        lat_buf_release(&text);
    }
}

static void test_lock_bad(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "deps.lock" },
        { "schema: 1\n", "'components': a list is expected" },
        { "schema: 1\ncomponents:\n  - {name: a}\n", "'origin'" },
        { "schema: 1\ncomponents:\n  - {origin: system}\n", "deps.lock:3:5: 'name' is missing" },
        { "schema: 1\ncomponents:\n  - {name: a, origin: system, linkage: [glued]}\n", "'glued' is no way of linking" },
        { "schema: 1\ncomponents:\n  - {name: a, origin: system}\n  - {name: a, origin: system}\n",
          "deps.lock:4:5: component 'a' stands here twice" },
        { "schema: 1\ncomponents:\n  - {name: a, origin: system, colour: red}\n", "colour" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lat_deps_lock lock;
        struct lat_error error = { 0 };
        assert_int_equal(lat_deps_lock_parse(&lock, cases[i][0], strlen(cases[i][0]), "deps.lock", &error), LAT_FORMAT);
        if (!strstr(error.text, cases[i][1]))
            fail_msg("case %zu: '%s'", i, error.text);
    }
}

// Findings of a comparison of the lock with itself after `change`, as "STATE CODE;".
static void compare(void (*change)(struct lat_inventory *), char *out, size_t size)
{
    struct lat_deps_lock lock, now;
    struct lat_leg_result result;
    static struct lat_policy policy;
    struct lat_deny_judge judge = { .result = &result, .policy = &policy, .checks = LAT_DENY_ALL };
    open_lock(&lock);
    open_lock(&now);
    lat_leg_result_init(&result, "deny");
    change(&now.inventory);
    lat_deps_lock_compare(&lock, &now.inventory, "deps.lock", &judge);
    out[0] = 0;
    for (size_t i = 0; i < result.finding_count; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s %s;", lat_leg_state_name(result.findings[i].state), result.findings[i].code);
    lat_leg_result_release(&result);
    lat_deps_lock_release(&lock);
    lat_deps_lock_release(&now);
}

static void same(struct lat_inventory *i) { (void)i; }
static void system_version(struct lat_inventory *i) { i->deps[2].version = "1:1.2.14"; }
static void vendored_version(struct lat_inventory *i) { i->deps[1].version = "1.1"; }
static void system_license(struct lat_inventory *i) { i->deps[2].license = "MIT"; }
static void system_static(struct lat_inventory *i) { i->deps[2].linkage |= LAT_LINK_STATIC; }
static void system_soname(struct lat_inventory *i) { i->deps[2].sonames.items[0] = "libz.so.2"; }
static void tree_changed(struct lat_inventory *i) { i->deps[1].tree_hash = "ac"; }
static void text_changed(struct lat_inventory *i) { i->deps[1].license_files[0].sha256 = "ce"; }
static void revision_changed(struct lat_inventory *i) { i->deps[0].revision = "main"; }
static void digest_changed(struct lat_inventory *i) { i->deps[1].digest = "SHA256=0124"; }
static void vanished(struct lat_inventory *i) { i->count = 2; }
static void renamed(struct lat_inventory *i) { i->deps[2].name = "zlib-ng"; }
static void platform(struct lat_inventory *i)
{
    i->deps[2].platform = true;
    i->deps[2].linkage |= LAT_LINK_STATIC;
}

static void test_lock_compared(void **state)
{
    (void)state;
    static const struct { void (*change)(struct lat_inventory *); const char *wanted; } cases[] = {
        { same, "" },
        { system_version, "INFO D601;" },
        { vendored_version, "FAIL D601;" },
        { system_license, "FAIL D601;" },
        { system_static, "FAIL D606;" },
        { system_soname, "FAIL D606;FAIL D606;" },
        { tree_changed, "FAIL D601;" },
        { text_changed, "FAIL D601;" },
        { revision_changed, "FAIL D601;" },
        { digest_changed, "FAIL D601;" },
        { vanished, "FAIL D607;" },
        { renamed, "FAIL D601;FAIL D607;" },
        { platform, "INFO D606;" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char got[300];
        compare(cases[i].change, got, sizeof got);
        if (strcmp(got, cases[i].wanted) != 0)
            fail_msg("case %zu: '%s', wanted '%s'", i, got, cases[i].wanted);
    }
}

static void test_bills(void **state)
{
    (void)state;
    struct lat_deps_lock lock;
    struct lat_buf text, again;
    struct lat_json doc;
    struct lat_error error = { 0 };
    struct lat_sbom_options options = { "fixture", "Apache-2.0", "lattice-gate-1", "debian", 1800000000 };
    open_lock(&lock);
    for (int form = 0; form < 2; form++) {
        lat_buf_init(&text, 1 << 20);
        lat_buf_init(&again, 1 << 20);
        assert_int_equal((form ? lat_sbom_cyclonedx : lat_sbom_spdx)(&text, &lock.inventory, &options, &error), LAT_OK);
        assert_int_equal((form ? lat_sbom_cyclonedx : lat_sbom_spdx)(&again, &lock.inventory, &options, &error), LAT_OK);
        assert_string_equal(text.bytes, again.bytes);
        if (lat_json_parse(&doc, text.bytes, text.length, "bill", &error) != LAT_OK)
            fail_msg("%s", error.text);
        const struct lat_json_node *list = lat_json_get(doc.root, form ? "components" : "packages");
        assert_int_equal(list->count, form ? 3 : 4); // SPDX lists the project, too
        assert_non_null(strstr(text.bytes, "pkg:deb/debian/zlib@1%3A1.2.13.dfsg-1?arch=source"));
        assert_non_null(strstr(text.bytes, "2027-01-15T08:00:00Z"));
        assert_true(lat_json_is_text(lat_json_get(doc.root, form ? "specVersion" : "spdxVersion"), form ? "1.5" : "SPDX-2.3"));
        if (!form) {
            assert_non_null(strstr(text.bytes, "git+https://h/fmt@0123456789abcdef0123456789abcdef01234567"));
            assert_int_equal(lat_json_get(doc.root, "hasExtractedLicensingInfos")->count, 1);
            assert_non_null(strstr(text.bytes, "DYNAMIC_LINK"));
        }
        lat_json_release(&doc);
        lat_buf_release(&text);
        lat_buf_release(&again);
    }
    lat_deps_lock_release(&lock);
}

#define ENTRY(id, modified, name, ecosystem, events, more)                                                                              \
    "{\"id\":\"" id "\",\"modified\":\"" modified "T00:00:00Z\"" more ",\"affected\":[{\"package\":{\"name\":\"" name                    \
    "\",\"ecosystem\":\"" ecosystem "\"},\"ranges\":[{\"type\":\"ECOSYSTEM\",\"events\":[" events "]}]}]}"
#define FROM0(fixed) "{\"introduced\":\"0\"},{\"fixed\":\"" fixed "\"}"

// The findings of a snapshot on the day 2026-12-01, as "STATE CODE first word;".
static void advise(const char *text, bool required, char *out, size_t size)
{
    char path[] = "/tmp/lattice-osv-XXXXXX";
    struct lat_deps_lock lock;
    struct lat_leg_result result;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    open_lock(&lock);
    lat_leg_result_init(&result, "advisories");
    struct lat_osv_options options = { path, "osv.json", 14 * 86400.0, required, INT64_C(20788) * 86400, "12" };
    assert_int_equal(lat_osv_check(&lock.inventory, &options, &result, NULL), LAT_OK);
    out[0] = 0;
    for (size_t i = 0; i < result.finding_count; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s %s %.*s;", lat_leg_state_name(result.findings[i].state),
                 result.findings[i].code,
                 (int)strcspn(result.findings[i].message, " :"), result.findings[i].message);
    lat_leg_result_release(&result);
    lat_deps_lock_release(&lock);
    unlink(path);
}

static void test_advisories(void **state)
{
    (void)state;
    static const struct { const char *text; bool required; const char *wanted; } cases[] = {
        { ENTRY("A-1", "2026-11-30", "zlib", "Debian:12", FROM0("1:1.2.14"), ""), false, "INFO D605 A-1;INFO D605 1;" },
        { "[" ENTRY("A-1", "2026-11-30", "zlib", "Debian:12", FROM0("1:1.2.14"), "") "]", true, "FAIL D605 A-1;INFO D605 1;" },
        { ENTRY("A-2", "2026-11-30", "zlib", "Debian:12", FROM0("1:1.2.13.dfsg-1"), ""), false, "INFO D605 0;" }, // repaired here
        { ENTRY("A-3", "2026-11-30", "zlib", "Debian:11", FROM0("1:9"), ""), false, "INFO D605 0;" },             // another release
        { ENTRY("A-4", "2026-11-30", "mini", "Debian:12", FROM0("9"), ""), false, "INFO D605 0;" },               // a package, not our copy
        { ENTRY("A-5", "2026-11-30", "mini", "OSS-Fuzz", FROM0("9"), ""), false, "INFO D605 A-5;INFO D605 1;" },
        { ENTRY("A-6", "2026-11-30", "mini", "OSS-Fuzz", "{\"introduced\":\"2.0\"}", ""), false, "INFO D605 0;" },
        { ENTRY("A-7", "2026-11-30", "mini", "OSS-Fuzz", "{\"introduced\":\"0\"},{\"last_affected\":\"1.0\"}", ""), false,
          "INFO D605 A-7;INFO D605 1;" },
        { ENTRY("A-8", "2026-11-30", "zlib", "Debian:12", FROM0("1:9"), ",\"withdrawn\":\"2026-01-01T00:00:00Z\""), false, "INFO D605 0;" },
        // ninety days old
        { ENTRY("A-9", "2026-09-02", "zlib", "Debian:12", FROM0("1:0.1"), ""), false, "UNMEASURABLE D604 the;" },
        { ENTRY("A-9", "2026-09-02", "zlib", "Debian:12", FROM0("1:0.1"), ""), true, "ERROR D604 the;" },
        { "{\"vulns\":[" ENTRY("B-1", "2026-09-02", "x", "y", FROM0("1"), "") "," ENTRY("B-2", "2026-11-20", "x", "y", FROM0("1"),
                                                                                        "") "]}", false, "INFO D605 0;" },
        { "{\"vulns\":[]}", false, "UNMEASURABLE D604 no;" },
        { "{\"vulns\":[", false, "UNMEASURABLE D604 the;" },
        { "{}", true, "ERROR D604 the;" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char got[300];
        advise(cases[i].text, cases[i].required, got, sizeof got);
        if (strcmp(got, cases[i].wanted) != 0)
            fail_msg("case %zu: '%s', wanted '%s'", i, got, cases[i].wanted);
    }
}

// A licence under a policy, in one way of linking: the code and a word of what is found, or "".
static void judge_license(const char *licenses, const char *license, unsigned linkage, char *out, size_t size)
{
    static struct lat_policy policy; // large
    struct lat_deny_policy deny;
    struct lat_inventory inventory = { 0 };
    struct lat_leg_result result;
    struct lat_deny_judge judge = { .result = &result, .policy = &policy, .checks = LAT_DENY_ALL };
    struct lat_error error = { 0 };
    struct lat_dep *d;
    char text[1000];
    snprintf(text, sizeof text, "schema: 1\nproject: {name: x, default_branch: main}\nareas: {all: [\"**\"]}\nlegs:\n  deny:\n    "
                                "kind: deny\n"
             "    areas: [\"*\"]\n    licenses: {%s}\n", licenses);
    if (lat_policy_parse(&policy, text, strlen(text), "gate.yaml", &error) != LAT_OK ||
        lat_deny_policy_read(&deny, &policy, &policy.legs[0], &error) != LAT_OK)
        fail_msg("%s", error.text);
    lat_arena_init(&inventory.arena, 1 << 20);
    assert_int_equal(lat_inventory_add(&inventory, "x", LAT_DEP_SYSTEM, NULL, &d, NULL), LAT_OK);
    d->license = license;
    d->linkage = linkage;
    d->platform = lat_text_list_holds(&deny.platform, "x");
    lat_leg_result_init(&result, "deny");
    assert_int_equal(lat_deny_check_licenses(&inventory, &deny, &judge, NULL), LAT_OK);
    lat_deny_check_unused(&deny, &judge);
    out[0] = 0;
    for (size_t i = 0; i < result.finding_count; i++)
        if (result.findings[i].state > LAT_LEG_INFO)
            snprintf(out + strlen(out), size - strlen(out), "%s;", result.findings[i].code);
    lat_leg_result_release(&result);
    lat_inventory_release(&inventory);
    lat_deny_policy_release(&deny);
    lat_policy_release(&policy);
}

static void test_license_policies(void **state)
{
    (void)state;
    enum { SHARED = LAT_LINK_SHARED | LAT_LINK_HEADER, STATIC = LAT_LINK_STATIC, SOURCE = LAT_LINK_SOURCE };
    static const struct { const char *policy, *license; unsigned linkage; const char *wanted; } cases[] = {
        { "allow: [MIT]", "GPL-2.0-only", SHARED, "D610;" },
        { "allow: [MIT]", "MIT OR GPL-2.0-only", SHARED, "" },
        { "allow: [MIT]", "MIT AND GPL-2.0-only", SHARED, "D610;" },
        { "allow: [MIT]", NULL, SHARED, "D601;" },
        { "allow: [MIT]", "NONE", SHARED, "D601;" },
        { "allow: [MIT]", "NOASSERTION", SHARED, "D601;" },
        { "allow: [mit]", "MIT", SHARED, "" },
        { "allow: [Apache-2.0]", "Apache-2.0 WITH LLVM-exception", SHARED, "D610;" },
        { "allow: [apache-2.0 with llvm-exception]", "Apache-2.0 WITH LLVM-exception", SHARED, "" },
        { "allow: [GPL-2.0]", "GPL-2.0-only", SHARED, "" }, // the deprecated name stands for its successor
        { "allow: [GPL-2.0]", "GPL-2.0-or-later", SHARED, "D610;" },
        { "allow: [MIT], allow_shared: [LGPL-2.1-or-later]", "LGPL-2.1-or-later", SHARED, "" },
        { "allow: [MIT], allow_shared: [LGPL-2.1-or-later]", "LGPL-2.1-or-later", STATIC, "D610;" },
        { "allow: [MIT], allow_shared: [LGPL-2.1-or-later]", "LGPL-2.1-or-later", SHARED | STATIC, "D610;" },
        { "allow: [MIT], allow_shared: [LGPL-2.1-or-later]", "LGPL-2.1-or-later", SHARED | SOURCE, "D610;" },
        { "allow: [MIT], allow_shared: [LGPL-2.1-or-later]", "LGPL-2.1-or-later", LAT_LINK_HEADER, "D610;" },
        { "allow: [MIT], exceptions: [{name: x, allow: [GPL-2.0], reason: r}]", "GPL-2.0-only", SHARED, "" },
        { "allow: [MIT], exceptions: [{name: y, allow: [GPL-2.0], reason: r}]", "GPL-2.0-only", SHARED, "D610;D617;" },
        { "allow: [MIT], exceptions: [{name: x, allow: [GPL-2.0], reason: r}, {name: x, allow: [GPL-2.0], reason: s}]",
          "GPL-2.0-only", SHARED, "" },
        { "allow: [MIT], exceptions: [{name: x, allow: [GPL-2.0], reason: r}, {name: x, allow: [ISC], reason: s}]",
          "GPL-2.0-only AND ISC", SHARED, "" },
        { "allow: [MIT], exceptions: [{name: x, allow: [GPL-2.0], reason: r}]", "MIT OR GPL-2.0-only", STATIC, "D617;" }, // MIT is chosen
        { "allow: [MIT], platform: [x]", NULL, STATIC, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char got[100];
        judge_license(cases[i].policy, cases[i].license, cases[i].linkage, got, sizeof got);
        if (strcmp(got, cases[i].wanted) != 0)
            fail_msg("case %zu, {%s} %s: '%s', wanted '%s'", i, cases[i].policy, cases[i].license ? cases[i].license : "none", got,
                     cases[i].wanted);
    }
}

// What gate.yaml may not say.
static void test_policy_bad(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "licenses: {allow: [Mitt]}", "8:24: 'allow': licence expression 'Mitt': 'Mitt' at character 1: no known SPDX licence; "
                                       "did you mean MIT" },
        { "licenses: {allow: [MIT OR ISC]}", "one licence an entry" },
        { "licenses: {allow: [MIT, mit]}", "the same licence stands at line 8" },
        { "licenses: {alow: [MIT]}", "allow" },
        { "licenses: {exceptions: [{name: x, allow: [MIT]}]}", "'reason' is missing" },
        { "licenses: {clarify: [{name: x, license: MIT, reason: r}]}", "names the 'files' with their sha256" },
        { "licenses: {clarify: [{name: x, license: MIT, reason: r, files: [{path: a}]}]}", "'sha256' is missing" },
        { "licenses: {clarify: [{name: x, license: MIT, reason: r, files: [{path: a, sha256: ab}]}]}", "64 lower-case hex digits" },
        { "bans: {duplicates: maybe}", "fail, warn or off is expected" },
        { "bans: {deny: [{name: x}]}", "'reason' is missing" },
        { "bans: {deny: [{name: x, reason: r, linkage: glue}]}", "not 'glue'" },
        { "vendored: [{name: x}]", "'path' is missing" },
        { "vendored: [{name: x, path: ../y}]", "without '..'" },
        { "vendored: [{name: x, path: y, git: a, archive: b}]", "comes from one of them" },
        { "vendored: {name: x}", "a list is expected" },
        { "provided: [{name: x, license: MIT, reason: r, files: [x/**]}]", "absolute patterns" },
        { "tree: {license: Mitt}", "no known SPDX licence" },
        { "tree: {ignore: [{paths: [a]}]}", "'reason' is missing" },
        { "lock: ../x", "without '..'" },
        { "colour: red", "colour" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct lat_policy policy;
        struct lat_deny_policy deny;
        struct lat_error error = { 0 };
        char text[1000];
        snprintf(text, sizeof text, "schema: 1\nproject: {name: x, default_branch: main}\nareas: {all: [\"**\"]}\nlegs:\n  deny:\n "
                                    "   kind: deny\n"
                 "    areas: [\"*\"]\n    %s\n", cases[i][0]);
        assert_int_equal(lat_policy_parse(&policy, text, strlen(text), "gate.yaml", &error), LAT_OK);
        enum lat_status status = lat_deny_policy_read(&deny, &policy, &policy.legs[0], &error);
        if (status != LAT_FORMAT || !strstr(error.text, cases[i][1]) || strncmp(error.text, "gate.yaml:8:", 12) != 0)
            fail_msg("{%s}: status %d, '%s'", cases[i][0], (int)status, error.text);
        lat_deny_policy_release(&deny);
        lat_policy_release(&policy);
    }
}

// What stands in this repository for itself can be read.
static void test_own(void **state)
{
    (void)state;
    static struct lat_policy policy;
    struct lat_deny_policy deny;
    struct lat_deps_lock lock;
    struct lat_error error = { 0 };
    if (lat_policy_read(&policy, LATTICE_SOURCE_DIR "/tests/gate/deny_lattice.yaml", &error) != LAT_OK ||
        lat_deny_policy_read(&deny, &policy, &policy.legs[0], &error) != LAT_OK ||
        lat_deps_lock_read(&lock, LATTICE_SOURCE_DIR "/tests/gate/deny_lattice.lock", &error) != LAT_OK)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < deny.system.count; i++)
        assert_non_null(lat_inventory_find(&lock.inventory, deny.system.items[i], LAT_DEP_SYSTEM, NULL));
    lat_deps_lock_release(&lock);
    lat_deny_policy_release(&deny);
    lat_policy_release(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),     cmocka_unit_test(test_dates), cmocka_unit_test(test_commands),
        cmocka_unit_test(test_depfiles),      cmocka_unit_test(test_magic), cmocka_unit_test(test_lock_round),
        cmocka_unit_test(test_lock_bad), cmocka_unit_test(test_lock_names),      cmocka_unit_test(test_lock_compared),
        cmocka_unit_test(test_bills),
        cmocka_unit_test(test_advisories),    cmocka_unit_test(test_license_policies), cmocka_unit_test(test_policy_bad),
        cmocka_unit_test(test_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
