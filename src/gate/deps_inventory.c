// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/deps_inventory.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/fetch_scan.h"
#include "gate/glob.h"
#include "gate/spawn.h"
#include "gate/tree_scan.h"

const char *lat_dep_origin_name(enum lat_dep_origin origin)
{
    static const char *const names[] = {
#define LAT_DEP_ORIGIN_TEXT(name, text) text,
        LAT_DEP_ORIGIN_MAP(LAT_DEP_ORIGIN_TEXT)
#undef LAT_DEP_ORIGIN_TEXT
    };
    return origin < LAT_DEP_ORIGIN_COUNT ? names[origin] : "?";
}

const char *lat_inventory_keep(struct lat_inventory *inventory, const char *text, size_t length)
{
    char *copy = lat_arena_new(&inventory->arena, length + 1, 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

const struct lat_dep *lat_inventory_find(const struct lat_inventory *inventory, const char *name, enum lat_dep_origin origin,
                                         const char *path)
{
    for (size_t i = 0; i < inventory->count; i++) {
        const struct lat_dep *d = &inventory->deps[i];
        if (d->origin == origin && strcmp(d->name, name) == 0 && same_text(d->path, path))
            return d;
    }
    return NULL;
}

enum lat_status lat_inventory_add(struct lat_inventory *inventory, const char *name, enum lat_dep_origin origin, const char *path,
                                  struct lat_dep **out, struct lat_error *error)
{
    const struct lat_dep *there = lat_inventory_find(inventory, name, origin, path);
    if (there) {
        *out = &inventory->deps[there - inventory->deps];
        return LAT_OK;
    }
    if (inventory->count == LAT_DEPS_MAX)
        return lat_error_set(error, LAT_LIMIT, "more than %d components", LAT_DEPS_MAX);
    if (inventory->count == inventory->capacity) {
        size_t capacity = inventory->capacity ? 2 * inventory->capacity : 32;
        struct lat_dep *grown = lat_mem_grow(inventory->deps, capacity, sizeof *grown);
        if (!grown)
            return lat_error_memory(error, "components");
        inventory->deps = grown;
        inventory->capacity = capacity;
    }
    struct lat_dep *d = &inventory->deps[inventory->count];
    *d = (struct lat_dep){ .origin = origin };
    d->name = lat_inventory_keep(inventory, name, strlen(name));
    d->path = path ? lat_inventory_keep(inventory, path, strlen(path)) : NULL;
    if (!d->name || (path && !d->path))
        return lat_error_memory(error, "components");
    inventory->count++;
    *out = d;
    return LAT_OK;
}

enum lat_status lat_dep_texts_add(struct lat_inventory *inventory, struct lat_dep_texts *texts, const char *text, struct lat_error *error)
{
    size_t at = 0;
    while (at < texts->count && strcmp(texts->items[at], text) < 0)
        at++;
    if (at < texts->count && strcmp(texts->items[at], text) == 0)
        return LAT_OK;
    if (texts->count == texts->capacity) {
        size_t capacity = texts->capacity ? 2 * texts->capacity : 8;
        const char **grown = lat_arena_new(&inventory->arena, capacity, sizeof *grown);
        if (!grown)
            return lat_error_memory(error, "components");
        if (texts->count)
            memcpy(grown, texts->items, texts->count * sizeof *grown);
        texts->items = grown;
        texts->capacity = capacity;
    }
    const char *copy = lat_inventory_keep(inventory, text, strlen(text));
    if (!copy)
        return lat_error_memory(error, "components");
    memmove(texts->items + at + 1, texts->items + at, (texts->count - at) * sizeof *texts->items);
    texts->items[at] = copy;
    texts->count++;
    return LAT_OK;
}

static int by_key(const void *a, const void *b)
{
    const struct lat_dep *x = a, *y = b;
    int d = strcmp(x->name, y->name);
    d = d ? d : (int)x->origin - (int)y->origin;
    return d ? d : strcmp(x->path ? x->path : "", y->path ? y->path : "");
}

void lat_inventory_sort(struct lat_inventory *inventory)
{
    if (inventory->count)
        qsort(inventory->deps, inventory->count, sizeof *inventory->deps, by_key);
}

struct maker {
    struct lat_inventory *inv;
    const struct lat_inventory_options *o;
    struct lat_evidence evidence;
    struct lat_tree_files files;
    struct lat_error *error;
};

static enum lat_status keep(struct maker *m, const char *text, const char **out)
{
    *out = text ? lat_inventory_keep(m->inv, text, strlen(text)) : NULL;
    return *out || !text ? LAT_OK : lat_error_memory(m->error, "components");
}

static enum lat_status note_use(struct maker *m, struct lat_dep *d, const struct lat_evidence_use *use)
{
    d->linkage |= use->how;
    if (!d->place)
        LAT_TRY(keep(m, use->path, &d->place));
    if (use->soname)
        LAT_TRY(lat_dep_texts_add(m->inv, &d->sonames, use->soname, m->error));
    return lat_dep_texts_add(m->inv, &d->targets, use->target, m->error);
}

static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

// Files of /opt/x and the like, named in gate.yaml.
static enum lat_status note_provided(struct maker *m, const struct lat_evidence_use *use, bool *taken)
{
    for (size_t i = 0; i < m->o->policy->provided_count; i++) {
        struct lat_deny_provided *p = &m->o->policy->provided[i];
        for (size_t k = 0; k < p->files.count; k++) {
            if (!lat_glob_match(p->files.items[k] + 1, use->path + 1, strlen(use->path + 1)))
                continue;
            struct lat_dep *d;
            LAT_TRY(lat_inventory_add(m->inv, p->name, LAT_DEP_PROVIDED, NULL, &d, m->error));
            p->used = *taken = true;
            d->line = p->line;
            LAT_TRY(keep(m, m->o->policy->file, &d->place));
            LAT_TRY(keep(m, p->version, &d->version));
            return note_use(m, d, use);
        }
    }
    return LAT_OK;
}

// The compiler's runtime changes its name with each release; it is one component.
static void stable_name(const char *source, char *out, size_t size)
{
    static const char *const families[] = { "gcc-", "llvm-toolchain-", "binutils-" };
    snprintf(out, size, "%s", source);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        size_t n = strlen(families[i]);
        if (strncmp(out, families[i], n) == 0 && out[n] >= '0' && out[n] <= '9')
            out[n - 1] = 0;
    }
}

static enum lat_status note_package(struct maker *m, const struct lat_evidence_use *use, const struct lat_deb_package *package)
{
    char name[256];
    struct lat_dep *d;
    stable_name(package->source, name, sizeof name);
    LAT_TRY(lat_inventory_add(m->inv, name, LAT_DEP_SYSTEM, NULL, &d, m->error));
    if (!d->version || lat_deb_version_compare(d->version, package->version) < 0)
        LAT_TRY(keep(m, package->version, &d->version));
    LAT_TRY(lat_dep_texts_add(m->inv, &d->packages, package->plain, m->error));
    return note_use(m, d, use);
}

static void find_unowned(struct maker *m, const struct lat_evidence_use *use)
{
    struct lat_deny_place place = { use->path, 0, NULL };
    struct lat_buf how;
    lat_buf_init(&how, 200);
    lat_link_print(&how, use->how);
    lat_deny_find(m->o->judge, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D601", place,
                  "install it as a package, or name it under 'provided' of the deny leg with its licence and why it is trusted",
                  "target '%s' uses this file (%s), and no package has it: where it comes from is unknown", use->target,
                  how.failed ? "?" : how.bytes);
    lat_buf_release(&how);
}

// What lies outside of the tree and the build folder.
static enum lat_status assemble_system(struct maker *m)
{
    const struct lat_evidence *e = &m->evidence;
    struct lat_deb_file *files = lat_mem_new(e->count + 1, sizeof *files);
    const struct lat_evidence_use **uses = lat_mem_new(e->count + 1, sizeof *uses);
    size_t count = 0;
    struct lat_error why = { 0 };
    enum lat_status status = files && uses ? LAT_OK : lat_error_memory(m->error, "components");
    for (size_t i = 0; status == LAT_OK && i < e->count; i++) {
        const struct lat_evidence_use *use = &e->uses[i];
        bool taken = is_below(use->path, e->root) || is_below(use->path, e->build);
        if (!taken && use->path[0] == '/')
            status = note_provided(m, use, &taken);
        if (taken)
            continue;
        files[count].path = use->path;
        uses[count++] = use;
    }
    enum lat_status asked = status == LAT_OK ? lat_deb_find(files, count, &m->inv->arena, &why) : status;
    if (asked == LAT_UNAVAILABLE && count) {
        struct lat_deny_place place = { 0 };
        lat_deny_find(m->o->judge, LAT_DENY_ALL, LAT_LEG_ERROR, "D615", place,
                      "run the leg on Debian or its kin, or name what is used under 'provided'",
                      "whose files the build uses cannot be told: %s", why.text);
    } else if (asked != LAT_OK && status == LAT_OK) {
        status = asked;
        if (m->error)
            *m->error = why;
    }
    for (size_t i = 0; status == LAT_OK && i < count; i++) {
        if (files[i].package)
            status = note_package(m, uses[i], files[i].package);
        else if (asked == LAT_OK)
            find_unowned(m, uses[i]);
    }
    lat_mem_free(files);
    lat_mem_free(uses);
    return status;
}

static enum lat_status assemble_vendored(struct maker *m)
{
    const struct lat_deny_policy *p = m->o->policy;
    for (size_t i = 0; i < p->vendored_count; i++) {
        const struct lat_deny_vendored *v = &p->vendored[i];
        struct lat_deny_place place = { p->file, v->line, v->name };
        struct lat_dep *d;
        char hex[LAT_SHA256_HEX_SIZE];
        LAT_TRY(lat_inventory_add(m->inv, v->name, LAT_DEP_VENDORED, v->path, &d, m->error));
        d->linkage |= LAT_LINK_SOURCE;
        d->place = p->file;
        d->line = v->line;
        d->is_git = v->git != NULL;
        LAT_TRY(keep(m, v->version, &d->version));
        LAT_TRY(keep(m, v->git ? v->git : v->archive, &d->url));
        LAT_TRY(keep(m, v->revision, &d->revision));
        if (v->sha256) {
            char text[80];
            snprintf(text, sizeof text, "SHA256=%.64s", v->sha256);
            LAT_TRY(keep(m, text, &d->digest));
        }
        char *folder = lat_file_path_join(m->o->root, v->path);
        if (!folder)
            return lat_error_memory(m->error, "components");
        bool there = lat_file_is_folder(folder);
        enum lat_status status = there ? lat_tree_hash(folder, hex, m->error) : LAT_OK;
        lat_mem_free(folder);
        LAT_TRY(status);
        if (there)
            LAT_TRY(keep(m, hex, &d->tree_hash));
        else
            lat_deny_find(m->o->judge, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D607", place,
                          "remove its entry, and write the lock anew: lattice-gate deny lock",
                          "component '%s' is declared at '%s', and there is no such folder", v->name, v->path);
    }
    return LAT_OK;
}

// One value of .gitmodules.
static enum lat_status submodule_value(struct maker *m, const char *path, const char **url)
{
    const char *const argv[] = { "git", "config", "-f", ".gitmodules", "-z", "--get-regexp", "^submodule\\..*\\.(path|url)$", NULL };
    struct lat_spawn_options options = { .argv = argv, .directory = m->o->root, .seconds_max = 60 };
    struct lat_spawn_result result;
    LAT_TRY(lat_spawn_run(&result, &options, m->error));
    const char *end = result.out.bytes + result.out.length, *name = NULL;
    size_t name_length = 0;
    // "submodule.NAME.path\nVALUE": find the name that has the path, then its address.
    for (int round = 0; round < 2; round++)
        for (const char *row = result.out.bytes; row < end; row += strlen(row) + 1) {
            const char *value = strchr(row, '\n'), *dot = value ? memrchr(row, '.', (size_t)(value - row)) : NULL;
            if (!dot || dot < row + 10)
                continue;
            if (round == 0 && strncmp(dot, ".path\n", 6) == 0 && strcmp(value + 1, path) == 0) {
                name = row;
                name_length = (size_t)(dot - row);
            }
            bool same = name && (size_t)(dot - row) == name_length && strncmp(row, name, name_length) == 0;
            if (round == 1 && same && strncmp(dot, ".url\n", 5) == 0)
                *url = lat_inventory_keep(m->inv, value + 1, strlen(value + 1));
        }
    lat_spawn_result_release(&result);
    return LAT_OK;
}

static enum lat_status assemble_submodules(struct maker *m)
{
    for (size_t i = 0; i < m->files.count; i++) {
        const struct lat_tree_entry *entry = &m->files.entries[i];
        if (entry->kind != LAT_TREE_SUBMODULE)
            continue;
        const struct lat_deny_vendored *v = lat_vendored_of(m->o->policy, entry->path);
        struct lat_deny_place place = { entry->path, 0, v ? v->name : NULL };
        struct lat_dep *d;
        if (!v) {
            lat_deny_find(m->o->judge, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D618", place,
                          "declare it under 'vendored' of the deny leg with name, path, license and license_files, or remove it",
                          "a git submodule (commit %.12s) that is not declared", entry->revision);
            continue;
        }
        LAT_TRY(lat_inventory_add(m->inv, v->name, LAT_DEP_VENDORED, v->path, &d, m->error));
        if (d->revision && strcmp(d->revision, entry->revision) != 0)
            lat_deny_find(m->o->judge, LAT_DENY_SOURCES, LAT_LEG_FAIL, "D613", place, "make both the same commit",
                          "the tree pins commit %.12s of submodule '%s', gate.yaml says %.12s", entry->revision, v->name, d->revision);
        LAT_TRY(keep(m, entry->revision, &d->revision));
        d->is_git = true;
        if (!d->url)
            LAT_TRY(submodule_value(m, entry->path, &d->url));
    }
    return LAT_OK;
}

static enum lat_status on_fetch(void *context, const struct lat_fetch *f, struct lat_error *error)
{
    struct maker *m = context;
    struct lat_dep *d;
    (void)error;
    LAT_TRY(lat_inventory_add(m->inv, f->name, LAT_DEP_FETCHED, NULL, &d, m->error));
    d->linkage |= LAT_LINK_SOURCE;
    d->is_git = f->git != NULL;
    d->line = f->line;
    LAT_TRY(keep(m, f->path, &d->place));
    LAT_TRY(keep(m, f->git ? f->git : f->url, &d->url));
    LAT_TRY(keep(m, f->revision, &d->revision));
    return keep(m, f->hash, &d->digest);
}

// BUILD/_deps/NAME-src/... is of the component NAME, whatever its case.
static struct lat_dep *fetched_of(struct maker *m, const char *path)
{
    size_t skip = strlen(m->evidence.build) + strlen("/_deps/");
    const char *name = path + skip, *slash = strchr(name, '/');
    size_t n = slash ? (size_t)(slash - name) : strlen(name);
    for (size_t i = 0; i < m->inv->count; i++) {
        struct lat_dep *d = &m->inv->deps[i];
        size_t k = strlen(d->name);
        if (d->origin == LAT_DEP_FETCHED && k < n && strncasecmp(d->name, name, k) == 0 && name[k] == '-')
            return d;
    }
    return NULL;
}

static int by_entry(const void *key, const void *entry) { return strcmp(key, ((const struct lat_tree_entry *)entry)->path); }

// What was compiled from the tree and the fetched folders.
static enum lat_status assemble_sources(struct maker *m)
{
    const struct lat_evidence *e = &m->evidence;
    const char *last = NULL;
    for (size_t i = 0; i < e->count; i++) {
        const struct lat_evidence_use *use = &e->uses[i];
        struct lat_deny_place place = { use->path, 0, NULL };
        struct lat_dep *d = NULL;
        if (is_below(use->path, e->build)) {
            d = fetched_of(m, use->path);
            if (!d)
                lat_deny_find(m->o->judge, LAT_DENY_SOURCES, LAT_LEG_FAIL, "D601", place,
                              "find out what fetches it; pin it by commit or hash",
                              "target '%s' uses this file, which the build fetched from an unknown place", use->target);
        } else if (is_below(use->path, e->root)) {
            const char *path = use->path + strlen(e->root) + 1;
            const struct lat_deny_vendored *v = lat_vendored_of(m->o->policy, path);
            if (v)
                LAT_TRY(lat_inventory_add(m->inv, v->name, LAT_DEP_VENDORED, v->path, &d, m->error));
            else if (m->files.from_git && !(last && strcmp(last, use->path) == 0) &&
                     !bsearch(path, m->files.entries, m->files.count, sizeof *m->files.entries, by_entry)) {
                place.path = path;
                lat_deny_find(m->o->judge, LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D618", place,
                              "commit it, or generate it into the build folder",
                              "target '%s' uses this file, which git ignores: nobody can review it", use->target);
            }
            last = use->path;
        }
        if (d)
            LAT_TRY(lat_dep_texts_add(m->inv, &d->targets, use->target, m->error));
    }
    return LAT_OK;
}

// A library that something is bound to is not merely offered.
static void settle_linkage(struct lat_inventory *inventory)
{
    for (size_t i = 0; i < inventory->count; i++)
        if (inventory->deps[i].linkage & LAT_LINK_SHARED)
            inventory->deps[i].linkage &= ~(unsigned)LAT_LINK_OFFERED;
}

static enum lat_status list_tree(struct maker *m)
{
    const char *const skip[] = { m->evidence.build, m->o->work, NULL };
    return lat_tree_files_list(&m->files, m->o->root, skip, m->error);
}

static enum lat_status collect(struct maker *m)
{
    char build[PATH_MAX];
    const char *named = m->o->policy->build;
    if (named && (size_t)snprintf(build, sizeof build, "%s%s%s", named[0] == '/' ? "" : m->o->root, named[0] == '/' ? "" : "/",
                                  named) >= sizeof build)
        return lat_error_set(m->error, LAT_LIMIT, "%.200s: path too long", named);
    struct lat_evidence_options options = { .root = m->o->root, .build = named ? build : NULL, .work = m->o->work,
                                            .configure = m->o->policy->configure, .seconds_max = m->o->seconds_max };
    LAT_TRY(lat_evidence_collect(&m->evidence, &options, m->error));
    m->inv->object_count = m->evidence.object_count;
    m->inv->link_count = m->evidence.link_count;
    return LAT_OK;
}

static enum lat_status make(struct maker *m)
{
    LAT_TRY(collect(m));
    LAT_TRY(list_tree(m));
    m->inv->file_count = m->files.count;
    LAT_TRY(assemble_system(m));
    LAT_TRY(assemble_vendored(m));
    LAT_TRY(assemble_submodules(m));
    struct lat_tree_scan_options scan = { m->o->root, m->o->policy, m->o->judge, &m->inv->arena, on_fetch, m };
    LAT_TRY(lat_tree_scan(&m->files, &scan, m->error));
    LAT_TRY(assemble_sources(m));
    settle_linkage(m->inv);
    lat_inventory_sort(m->inv);
    return lat_inventory_licenses(m->inv, m->o, m->error);
}

enum lat_status lat_inventory_make(struct lat_inventory *inventory, const struct lat_inventory_options *options, struct lat_error *error)
{
    struct maker m = { .inv = inventory, .o = options, .error = error };
    *inventory = (struct lat_inventory){ 0 };
    lat_arena_init(&inventory->arena, (size_t)1 << 30);
    enum lat_status status = make(&m);
    if (m.files.entries)
        lat_tree_files_release(&m.files);
    if (m.evidence.root)
        lat_evidence_release(&m.evidence);
    if (status != LAT_OK)
        lat_inventory_release(inventory);
    return status;
}

void lat_inventory_release(struct lat_inventory *inventory)
{
    lat_mem_free(inventory->deps);
    lat_arena_release(&inventory->arena);
    *inventory = (struct lat_inventory){ 0 };
}
