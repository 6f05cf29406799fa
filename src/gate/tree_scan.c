// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/tree_scan.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/glob.h"
#include "gate/source_notice.h"

enum { SOURCE_BYTES_MAX = 16 << 20 };

static const char declare_fix[] = "declare it under 'vendored' of the deny leg with name, path, license and license_files, or remove it";

static const char correct_fix[] = "correct 'license' of the component in gate.yaml, or remove the file";

struct scan {
    const struct lat_tree_scan_options *o;
    const char *path; // of the file at hand
    const struct lat_deny_vendored *vendored;
    struct lat_spdx own; // what the file's notices are held against
    bool has_own, own_is_gnu;
    bool said_license, said_owner; // one finding of a kind a file
    char last_folder[256];         // reported already
    struct lat_error *error;
    enum lat_status status;
};

static bool starts(const unsigned char *bytes, size_t length, const char *magic, size_t n) { return length >= n && memcmp(bytes,
    magic, n) == 0; }

const char *lat_executable_kind(const char *path, const unsigned char *bytes, size_t length)
{
    static const char *const scripts[] = { "sh", "bash", "zsh", "fish", "py", "pl", "rb", "awk", "tcl", "lua", "js", "mjs", "php", "r",
                                           "sed", "in", "cmake", "ps1", "exp", "guile", "scm", "raku", "t",
                                           "guess", "sub", "rpath" };
    if (starts(bytes, length, "\177ELF", 4))
        return "ELF";
    if (starts(bytes, length, "MZ", 2) && length >= 64) {
        size_t at = bytes[60] | (size_t)bytes[61] << 8 | (size_t)bytes[62] << 16 | (size_t)bytes[63] << 24;
        return at < length && length - at >= 4 && memcmp(bytes + at, "PE\0\0", 4) == 0 ? "PE" : NULL;
    }
    if (starts(bytes, length, "\xfe\xed\xfa\xce", 4) || starts(bytes, length, "\xfe\xed\xfa\xcf", 4) ||
        starts(bytes, length, "\xce\xfa\xed\xfe", 4) || starts(bytes, length, "\xcf\xfa\xed\xfe", 4))
        return "Mach-O";
    if (starts(bytes, length, "\xca\xfe\xba\xbe", 4))
        return length >= 8 && bytes[7] < 40 && bytes[4] == 0 && bytes[5] == 0 && bytes[6] == 0 ? "Mach-O" : "Java class";
    if (starts(bytes, length, "!<arch>\n", 8) || starts(bytes, length, "!<thin>\n", 8))
        return "archive";
    if (starts(bytes, length, "\0asm", 4))
        return "WebAssembly";
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    if (!starts(bytes, length, "#!", 2) || !dot || dot == path || dot[-1] == '/')
        return NULL;
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if (strcasecmp(dot + 1, scripts[i]) == 0)
            return NULL;
    return "script";
}

const struct lat_deny_vendored *lat_vendored_of(const struct lat_deny_policy *policy, const char *path)
{
    for (size_t i = 0; i < policy->vendored_count; i++) {
        size_t n = strlen(policy->vendored[i].path);
        if (strncmp(path, policy->vendored[i].path, n) == 0 && (path[n] == '/' || path[n] == 0))
            return &policy->vendored[i];
    }
    return NULL;
}

static bool matches(const struct lat_text_list *globs, const char *path)
{
    for (size_t i = 0; i < globs->count; i++)
        if (lat_glob_match(globs->items[i], path, strlen(path)))
            return true;
    return false;
}

static bool is_ignored(struct lat_deny_policy *policy, const char *path)
{
    bool ignored = false;
    for (size_t i = 0; i < policy->ignore_count; i++)
        if (matches(&policy->ignore[i].paths, path))
            ignored = policy->ignore[i].used = true;
    return ignored;
}

// A tree without a stated licence is held against the allow list.
static bool is_by_allow_list(const struct scan *s) { return !s->vendored && !s->o->policy->tree_license; }

// Is everything that the file's expression needs among what its surroundings are declared to be under?
static bool is_covered(struct scan *s, const struct lat_spdx *said)
{
    const struct lat_deny_licenses *allow = &s->o->policy->allow;
    uint64_t allowed = 0;
    struct lat_spdx_verdict verdict;
    for (size_t t = 0; t < said->term_count; t++) {
        for (size_t i = 0; s->has_own && i < s->own.term_count; i++)
            if (lat_spdx_term_equal(&said->terms[t], &s->own.terms[i]))
                allowed |= UINT64_C(1) << t;
        for (size_t i = 0; is_by_allow_list(s) && i < allow->count; i++)
            if (lat_spdx_term_equal(&said->terms[t], &allow->items[i].spdx.terms[0]))
                allowed |= UINT64_C(1) << t;
    }
    enum lat_status status = lat_spdx_judge(said, allowed, &verdict, s->error);
    s->status = status != LAT_OK ? status : s->status;
    return status == LAT_OK && verdict.satisfied;
}

static void on_tag(struct scan *s, const struct lat_notice *n)
{
    struct lat_spdx said;
    struct lat_error why = { 0 };
    struct lat_deny_place place = { s->path, n->line, s->vendored ? s->vendored->name : NULL };
    if (lat_spdx_parse(&said, n->text, n->length, &why) != LAT_OK) {
        lat_deny_find(s->o->judge, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D602", place,
                      "write a licence expression of SPDX identifiers", "%s", why.text);
        return;
    }
    if (!is_covered(s, &said) && !s->said_license) {
        struct lat_buf text;
        lat_buf_init(&text, 1 << 20);
        lat_spdx_print(&text, &said);
        s->said_license = true;
        if (is_by_allow_list(s))
            lat_deny_find(s->o->judge, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D610", place,
                          "allow the licence under 'licenses: allow', or remove the file",
                          "the file says %s, which is not allowed", text.failed ? "?" : text.bytes);
        else if (s->vendored)
            lat_deny_find(s->o->judge, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D610", place, correct_fix,
                          "the file says %s, its component '%s' is declared as %s", text.failed ? "?" : text.bytes, s->vendored->name,
                          s->vendored->license ? s->vendored->license : "nothing");
        else
            lat_deny_find(s->o->judge, LAT_DENY_INTEGRITY | LAT_DENY_LICENSES, LAT_LEG_FAIL, "D618", place, declare_fix,
                          "the file says %s, the tree is %s: this is someone else's code, and not declared", text.failed ? "?" : text.bytes,
                          s->o->policy->tree_license);
        lat_buf_release(&text);
    }
    lat_spdx_release(&said);
}

static void on_gnu(struct scan *s, const struct lat_notice *n)
{
    if (s->own_is_gnu || s->said_license)
        return;
    s->said_license = true;
    struct lat_deny_place place = { s->path, n->line, s->vendored ? s->vendored->name : NULL };
    const char *tree = s->o->policy->tree_license;
    if (s->vendored)
        lat_deny_find(s->o->judge, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D610", place, correct_fix,
                      "the file is under the GNU %.*s by its own words, its component '%s' is declared as %s", (int)n->length, n->text,
                      s->vendored->name, s->vendored->license ? s->vendored->license : "nothing");
    else
        lat_deny_find(s->o->judge, LAT_DENY_INTEGRITY | LAT_DENY_LICENSES, LAT_LEG_FAIL, "D618", place, declare_fix,
                      "the file is under the GNU %.*s by its own words, %s%s and nothing declares it", (int)n->length, n->text,
                      tree ? "the tree is " : "no licence is stated for the tree", tree ? tree : "");
}

static bool holds_text(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= length; i++)
        if (strncasecmp(text + i, word, n) == 0)
            return true;
    return false;
}

static void on_copyright(struct scan *s, const struct lat_notice *n)
{
    const struct lat_text_list *owners = &s->o->policy->owners;
    if (s->vendored || owners->count == 0 || s->said_owner)
        return;
    for (size_t i = 0; i < owners->count; i++)
        if (holds_text(n->text, n->length, owners->items[i]))
            return;
    s->said_owner = true;
    struct lat_deny_place place = { s->path, n->line, NULL };
    lat_deny_find(s->o->judge, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D618", place, declare_fix,
                  "'%.*s': not an owner of this tree, so this is someone else's code, and not declared",
                  (int)(n->length < 100 ? n->length : 100), n->text);
}

static void on_notice(void *context, const struct lat_notice *n)
{
    struct scan *s = context;
    if (n->kind == LAT_NOTICE_TAG)
        on_tag(s, n);
    else if (n->kind == LAT_NOTICE_GNU)
        on_gnu(s, n);
    else
        on_copyright(s, n);
}

// Folders that are named after other people's code, and licence texts below the root: one finding each.
static void look_at_name(struct scan *s)
{
    static const char *const folders[] = { "third_party", "third-party", "thirdparty", "3rdparty", "3rd_party", "vendor", "vendored",
                                           "external", "externals", "extern" };
    static const char *const texts[] = { "LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "UNLICENSE" };
    struct lat_deny_place place = { s->path, 0, NULL };
    for (const char *at = s->path, *slash; (slash = strchr(at, '/')); at = slash + 1)
        for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
            if (strlen(folders[i]) != (size_t)(slash - at) || strncasecmp(at, folders[i], (size_t)(slash - at)) != 0)
                continue;
            const char *next = strchr(slash + 1, '/');
            size_t n = (size_t)((next ? next : slash) - s->path);
            if (n < sizeof s->last_folder && !(strncmp(s->last_folder, s->path, n) == 0 && s->last_folder[n] == 0)) {
                memcpy(s->last_folder, s->path, n);
                s->last_folder[n] = 0;
                lat_deny_find(s->o->judge, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D618", place, declare_fix,
                              "'%.*s' is named as other people's code is, and not declared", (int)n, s->path);
            }
            return;
        }
    const char *slash = strrchr(s->path, '/'), *name = slash ? slash + 1 : s->path;
    for (size_t i = 0; slash && i < sizeof texts / sizeof texts[0]; i++) {
        size_t n = strlen(texts[i]);
        bool is_text = strncasecmp(name, texts[i], n) == 0 && (name[n] == 0 || name[n] == '.' || name[n] == '-');
        // Where the tree's own texts lie by convention.
        bool is_own = strncmp(s->path, "LICENSES/", 9) == 0 || strcmp(s->path, "debian/copyright") == 0;
        if (is_text && !is_own && !lat_source_notice_knows(s->path)) {
            lat_deny_find(s->o->judge, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D618", place, declare_fix,
                          "a licence text below the root: its folder is someone else's code, and not declared");
            return;
        }
    }
}

static enum lat_status look_at_content(struct scan *s, const struct lat_file_map *map)
{
    const char *kind = lat_executable_kind(s->path, map->bytes, map->length);
    if (kind && !matches(&s->o->policy->executables, s->path)) {
        struct lat_deny_place place = { s->path, 0, s->vendored ? s->vendored->name : NULL };
        lat_deny_find(s->o->judge, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D608", place,
                      "build it from source; where it must lie in the tree, list it under 'tree: executables' of the deny leg",
                      "%s (%s): what it does cannot be read", strcmp(kind, "script") == 0 ? "a script that is not named as one" :
                      "a program in binary form", kind);
    }
    if (map->length == 0 || map->length > SOURCE_BYTES_MAX)
        return LAT_OK;
    const char *text = (const char *)map->bytes;
    lat_source_notice_scan(s->path, text, map->length, on_notice, s);
    LAT_TRY(s->status);
    const char *slash = strrchr(s->path, '/'), *name = slash ? slash + 1 : s->path, *dot = strrchr(name, '.');
    if (s->vendored || !(strcmp(name, "CMakeLists.txt") == 0 || (dot && strcmp(dot, ".cmake") == 0)))
        return LAT_OK;
    struct lat_error why = { 0 };
    enum lat_status status = lat_fetch_scan(s->path, text, map->length, s->o->arena, s->o->fetched, s->o->context, &why);
    struct lat_deny_place place = { s->path, 0, NULL };
    if (status == LAT_FORMAT || status == LAT_LIMIT)
        lat_deny_find(s->o->judge, LAT_DENY_SOURCES, LAT_LEG_FAIL, "D613", place, "make it a CMake file that can be read",
                      "what it fetches cannot be told: %s", why.text);
    else if (status != LAT_OK && s->error)
        *s->error = why;
    return status == LAT_FORMAT || status == LAT_LIMIT ? LAT_OK : status;
}

// What a file's notices are held against: its component's licence, or the tree's.
static void open_own(struct scan *s)
{
    const char *license = s->vendored ? s->vendored->license : s->o->policy->tree_license;
    s->has_own = license && lat_spdx_parse(&s->own, license, strlen(license), NULL) == LAT_OK;
    s->own_is_gnu = false;
    for (size_t i = 0; s->has_own && i < s->own.term_count; i++)
        s->own_is_gnu = s->own_is_gnu || lat_spdx_is_gnu(s->own.terms[i].license);
    const struct lat_deny_licenses *allow = &s->o->policy->allow;
    for (size_t i = 0; !license && !s->vendored && i < allow->count; i++)
        s->own_is_gnu = s->own_is_gnu || lat_spdx_is_gnu(allow->items[i].spdx.terms[0].license);
}

static enum lat_status scan_file(struct scan *s, const char *root)
{
    struct lat_file_map map;
    char *full = lat_file_path_join(root, s->path);
    if (!full)
        return lat_error_memory(s->error, "the tree's files");
    enum lat_status status = lat_file_map_open(&map, full, s->error);
    lat_mem_free(full);
    if (status != LAT_OK)
        return status;
    open_own(s);
    status = look_at_content(s, &map);
    if (s->has_own)
        lat_spdx_release(&s->own);
    lat_file_map_close(&map);
    return status;
}

enum lat_status lat_tree_scan(const struct lat_tree_files *files, const struct lat_tree_scan_options *options, struct lat_error *error)
{
    struct scan s = { .o = options, .error = error };
    for (size_t i = 0; i < files->count; i++) {
        s.path = files->entries[i].path;
        s.vendored = lat_vendored_of(options->policy, s.path);
        s.said_license = s.said_owner = false;
        if (files->entries[i].kind != LAT_TREE_FILE || is_ignored(options->policy, s.path))
            continue;
        if (!s.vendored)
            look_at_name(&s);
        LAT_TRY(scan_file(&s, options->root));
    }
    return LAT_OK;
}
