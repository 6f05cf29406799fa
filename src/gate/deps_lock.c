// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/deps_lock.h"

#include <errno.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"

static const char relock_fix[] = "look at the change; if it is right, write the lock anew and commit it: lattice-gate deny lock";

// Double-quoted, so that no text can mean anything else to a YAML reader.
static void add_quoted(struct lat_buf *out, const char *text)
{
    lat_buf_add_char(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            lat_buf_addf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            lat_buf_addf(out, "\\x%02x", c);
        else if (c == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0)
            lat_buf_addf(out, "\\x%02x", (unsigned char)*++text); // controls beyond ASCII, and what YAML does not print
        else if (strncmp(text, "\xef\xbb\xbf", 3) == 0 || strncmp(text, "\xef\xbf\xbe", 3) == 0 || strncmp(text, "\xef\xbf\xbf", 3) == 0) {
            lat_buf_addf(out, "\\u%s", text[1] == '\xbb' ? "feff" : text[2] == '\xbe' ? "fffe" : "ffff");
            text += 2;
        }
        else
            lat_buf_add_char(out, (char)c);
    }
    lat_buf_add_char(out, '"');
}

static void add_text(struct lat_buf *out, const char *key, const char *value)
{
    if (!value)
        return;
    lat_buf_addf(out, "    %s: ", key);
    add_quoted(out, value);
    lat_buf_add_char(out, '\n');
}

static void add_texts(struct lat_buf *out, const char *key, const struct lat_dep_texts *texts)
{
    if (!texts->count)
        return;
    lat_buf_addf(out, "    %s: [", key);
    for (size_t i = 0; i < texts->count; i++) {
        lat_buf_add_text(out, i ? ", " : "");
        add_quoted(out, texts->items[i]);
    }
    lat_buf_add_text(out, "]\n");
}

static void add_component(struct lat_buf *out, const struct lat_dep *d)
{
    lat_buf_add_text(out, "  - name: ");
    add_quoted(out, d->name);
    lat_buf_addf(out, "\n    origin: %s\n", lat_dep_origin_name(d->origin));
    if (d->platform)
        lat_buf_add_text(out, "    platform: true\n");
    add_text(out, "path", d->path);
    add_text(out, "version", d->version);
    lat_buf_add_text(out, "    linkage: [");
    lat_link_print(out, d->linkage);
    lat_buf_add_text(out, "]\n");
    add_texts(out, "sonames", &d->sonames);
    add_text(out, "license", d->license ? d->license : "NOASSERTION");
    if (d->license_file_count) {
        lat_buf_add_text(out, "    license_files:\n");
        for (size_t i = 0; i < d->license_file_count; i++) {
            lat_buf_add_text(out, "      - path: ");
            add_quoted(out, d->license_files[i].path);
            lat_buf_addf(out, "\n        sha256: \"%s\"\n", d->license_files[i].sha256);
        }
    }
    add_text(out, "tree_sha256", d->tree_hash);
    add_text(out, d->is_git ? "git" : "archive", d->url);
    add_text(out, "revision", d->revision);
    add_text(out, "digest", d->digest);
    add_texts(out, "packages", &d->packages);
}

void lat_deps_lock_write(struct lat_buf *out, const struct lat_inventory *inventory)
{
    lat_buf_addf(out, "# What this project stands on. Written by `lattice-gate deny lock`; review changes as code.\n"
                      "# system: name, licence, linkage and sonames are locked; version, packages and digests are for the reader.\n"
                      "schema: %d\ncomponents:%s\n",
                 LAT_DEPS_LOCK_SCHEMA, inventory->count ? "" : " []");
    for (size_t i = 0; i < inventory->count; i++)
        add_component(out, &inventory->deps[i]);
}

struct reader {
    struct lat_deps_lock *lock;
    struct lat_error *error;
};

typedef const struct lat_yaml_node node;

static enum lat_status read_list(struct reader *r, node *map, const char *key, struct lat_dep_texts *out)
{
    struct lat_text_list texts = { 0 };
    LAT_TRY(lat_yaml_read_texts(&r->lock->doc, map, key, &texts, r->error));
    for (size_t i = 0; i < texts.count; i++)
        LAT_TRY(lat_dep_texts_add(&r->lock->inventory, out, texts.items[i], r->error));
    return LAT_OK;
}

static enum lat_status read_linkage(struct reader *r, node *map, unsigned *bits)
{
    struct lat_text_list names = { 0 };
    LAT_TRY(lat_yaml_read_texts(&r->lock->doc, map, "linkage", &names, r->error));
    for (size_t i = 0; i < names.count; i++) {
        unsigned bit;
        if (!lat_link_parse(names.items[i], &bit))
            return lat_yaml_error(r->error, &r->lock->doc, lat_yaml_get(map, "linkage"), "'%s' is no way of linking", names.items[i]);
        *bits |= bit;
    }
    return LAT_OK;
}

static enum lat_status read_files(struct reader *r, node *map, struct lat_dep *d)
{
    static const char *const known[] = { "path", "sha256", NULL };
    node *list = lat_yaml_get(map, "license_files");
    if (!list)
        return LAT_OK;
    if (list->kind != LAT_YAML_SEQUENCE)
        return lat_yaml_error(r->error, &r->lock->doc, list, "'license_files': a list is expected");
    d->license_files = lat_arena_new(&r->lock->inventory.arena, list->count + 1, sizeof *d->license_files);
    if (!d->license_files)
        return lat_error_memory(r->error, "the lock file");
    for (node *n = list->child; n; n = n->next) {
        struct lat_dep_file *f = &d->license_files[d->license_file_count++];
        LAT_TRY(lat_yaml_check_keys(&r->lock->doc, n, known, r->error));
        LAT_TRY(lat_yaml_read_text(&r->lock->doc, n, "path", &f->path, r->error));
        LAT_TRY(lat_yaml_read_text(&r->lock->doc, n, "sha256", &f->sha256, r->error));
        if (!f->path || !f->sha256)
            return lat_yaml_error(r->error, &r->lock->doc, n, "'path' and 'sha256' are expected");
    }
    return LAT_OK;
}

static enum lat_status read_origin(struct reader *r, node *n, enum lat_dep_origin *out)
{
    const char *text = "";
    LAT_TRY(lat_yaml_read_text(&r->lock->doc, n, "origin", &text, r->error));
    for (int i = 0; i < LAT_DEP_ORIGIN_COUNT; i++)
        if (strcmp(text, lat_dep_origin_name((enum lat_dep_origin)i)) == 0) {
            *out = (enum lat_dep_origin)i;
            return LAT_OK;
        }
    return lat_yaml_error(r->error, &r->lock->doc, n, "'origin': system, vendored, fetched or provided is expected");
}

static enum lat_status read_component(struct reader *r, node *n)
{
    static const char *const known[] = { "name", "origin", "path", "version", "linkage", "sonames", "license", "license_files",
                                         "tree_sha256", "git", "archive", "revision", "digest", "packages", "platform", NULL };
    struct lat_yaml *doc = &r->lock->doc;
    const char *name = NULL, *path = NULL;
    enum lat_dep_origin origin = LAT_DEP_SYSTEM;
    struct lat_dep *d = NULL;
    LAT_TRY(lat_yaml_check_keys(doc, n, known, r->error));
    LAT_TRY(lat_yaml_read_text(doc, n, "name", &name, r->error));
    LAT_TRY(lat_yaml_read_text(doc, n, "path", &path, r->error));
    LAT_TRY(read_origin(r, n, &origin));
    if (!name || !*name)
        return lat_yaml_error(r->error, doc, n, "'name' is missing here");
    if (lat_inventory_find(&r->lock->inventory, name, origin, path))
        return lat_yaml_error(r->error, doc, n, "component '%s' stands here twice", name);
    LAT_TRY(lat_inventory_add(&r->lock->inventory, name, origin, path, &d, r->error));
    d->line = n->line;
    LAT_TRY(lat_yaml_read_text(doc, n, "version", &d->version, r->error));
    LAT_TRY(lat_yaml_read_text(doc, n, "license", &d->license, r->error));
    LAT_TRY(lat_yaml_read_text(doc, n, "tree_sha256", &d->tree_hash, r->error));
    LAT_TRY(lat_yaml_read_text(doc, n, "revision", &d->revision, r->error));
    LAT_TRY(lat_yaml_read_text(doc, n, "digest", &d->digest, r->error));
    d->is_git = lat_yaml_get(n, "git") != NULL;
    LAT_TRY(lat_yaml_read_text(doc, n, d->is_git ? "git" : "archive", &d->url, r->error));
    LAT_TRY(lat_yaml_read_bool(doc, n, "platform", &d->platform, r->error));
    LAT_TRY(read_linkage(r, n, &d->linkage));
    LAT_TRY(read_files(r, n, d));
    LAT_TRY(read_list(r, n, "sonames", &d->sonames));
    return read_list(r, n, "packages", &d->packages);
}

static enum lat_status read_document(struct reader *r)
{
    static const char *const known[] = { "schema", "components", NULL };
    struct lat_yaml *doc = &r->lock->doc;
    uint64_t schema = 0;
    if (!doc->root)
        return lat_error_set(r->error, LAT_FORMAT, "%s: empty", doc->name);
    LAT_TRY(lat_yaml_check_keys(doc, doc->root, known, r->error));
    LAT_TRY(lat_yaml_read_count(doc, doc->root, "schema", 1000, &schema, r->error));
    if (schema != LAT_DEPS_LOCK_SCHEMA)
        return lat_yaml_error(r->error, doc, doc->root, "'schema': %d is expected", LAT_DEPS_LOCK_SCHEMA);
    node *list = lat_yaml_get(doc->root, "components");
    if (!list || list->kind != LAT_YAML_SEQUENCE)
        return lat_yaml_error(r->error, doc, list ? list : doc->root, "'components': a list is expected");
    for (node *n = list->child; n; n = n->next)
        LAT_TRY(read_component(r, n));
    return LAT_OK;
}

static enum lat_status finish(struct lat_deps_lock *lock, enum lat_status status, struct lat_error *error)
{
    struct reader r = { lock, error };
    lock->inventory = (struct lat_inventory){ 0 };
    lat_arena_init(&lock->inventory.arena, 1 << 28);
    if (status != LAT_OK)
        return status;
    status = read_document(&r);
    if (status != LAT_OK)
        lat_deps_lock_release(lock);
    return status;
}

enum lat_status lat_deps_lock_parse(struct lat_deps_lock *lock, const char *text, size_t length, const char *name, struct lat_error *error)
{
    return finish(lock, lat_yaml_parse(&lock->doc, text, length, name, error), error);
}

enum lat_status lat_deps_lock_read(struct lat_deps_lock *lock, const char *path, struct lat_error *error)
{
    if (!lat_file_exists(path))
        return lat_error_set(error, LAT_NOT_FOUND, "%s: there is no lock file", path);
    return finish(lock, lat_yaml_read(&lock->doc, path, error), error);
}

void lat_deps_lock_release(struct lat_deps_lock *lock)
{
    lat_inventory_release(&lock->inventory);
    lat_yaml_release(&lock->doc);
}

struct comparison {
    const char *name;
    const struct lat_dep *was, *now;
    struct lat_deny_judge *judge;
};

static void differ(const struct comparison *c, enum lat_leg_state state, const char *code, const char *what, const char *was,
                   const char *now)
{
    struct lat_deny_place place = { c->name, c->was->line, c->now->name };
    lat_deny_find(c->judge, LAT_DENY_INTEGRITY, state, code, place, state == LAT_LEG_INFO ? NULL : relock_fix,
                  "%s of '%s': locked %s, now %s", what,
                  c->now->name, was ? was : "none", now ? now : "none");
}

static void compare_text(const struct comparison *c, bool exact, const char *code, const char *what, const char *was, const char *now)
{
    if (was == now || (was && now && strcmp(was, now) == 0))
        return;
    differ(c, exact ? LAT_LEG_FAIL : LAT_LEG_INFO, code, what, was, now);
}

static bool holds(const struct lat_dep_texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->items[i], text) == 0)
            return true;
    return false;
}

static void say_linkage(const struct comparison *c, const char *format_head, const char *what, const char *format_tail)
{
    struct lat_deny_place place = { c->name, c->was->line, c->now->name };
    enum lat_leg_state state = c->now->platform ? LAT_LEG_INFO : LAT_LEG_FAIL;
    lat_deny_find(c->judge, LAT_DENY_INTEGRITY, state, "D606", place, c->now->platform ? NULL : relock_fix,
                  "'%s' %s%s%s (target '%s')", c->now->name,
                  format_head, what, format_tail, c->now->targets.count ? c->now->targets.items[0] : "?");
}

static void compare_linkage(const struct comparison *c)
{
    unsigned added = c->now->linkage & ~c->was->linkage, gone = c->was->linkage & ~c->now->linkage;
    struct lat_buf bits;
    lat_buf_init(&bits, 200);
    lat_link_print(&bits, added);
    if (added)
        say_linkage(c, "gets in by a way that is not locked: ", bits.failed ? "?" : bits.bytes, "");
    lat_buf_clear(&bits);
    lat_link_print(&bits, gone);
    if (gone)
        say_linkage(c, "does not get in by ", bits.failed ? "?" : bits.bytes, " any more, as it is locked");
    for (size_t i = 0; i < c->now->sonames.count; i++)
        if (!holds(&c->was->sonames, c->now->sonames.items[i]))
            say_linkage(c, "is bound by the name ", c->now->sonames.items[i], ", which is not locked");
    for (size_t i = 0; i < c->was->sonames.count; i++)
        if (!holds(&c->now->sonames, c->was->sonames.items[i]))
            say_linkage(c, "is not bound by the name ", c->was->sonames.items[i], " any more, as it is locked");
    lat_buf_release(&bits);
}

static const char *digest_of(const struct lat_dep *d, const char *path)
{
    for (size_t i = 0; i < d->license_file_count; i++)
        if (strcmp(d->license_files[i].path, path) == 0)
            return d->license_files[i].sha256;
    return NULL;
}

static void compare_one(const struct comparison *c)
{
    const struct lat_dep *was = c->was, *now = c->now;
    bool exact = now->origin == LAT_DEP_VENDORED || now->origin == LAT_DEP_FETCHED;
    compare_text(c, exact, "D601", "the version", was->version, now->version);
    compare_text(c, !now->platform, "D601", "the licence", was->license, now->license ? now->license : "NOASSERTION");
    compare_text(c, true, "D601", "the digest of the folder", was->tree_hash, now->tree_hash);
    compare_text(c, true, "D601", "the address", was->url, now->url);
    compare_text(c, true, "D601", "the revision", was->revision, now->revision);
    compare_text(c, true, "D601", "the archive's digest", was->digest, now->digest);
    for (size_t i = 0; i < now->license_file_count; i++)
        compare_text(c, exact, "D601", now->license_files[i].path, digest_of(was, now->license_files[i].path),
                     now->license_files[i].sha256);
    for (size_t i = 0; i < was->license_file_count; i++)
        if (!digest_of(now, was->license_files[i].path))
            compare_text(c, exact, "D601", was->license_files[i].path, was->license_files[i].sha256, NULL);
    compare_linkage(c);
}

static void find_unknown(const struct lat_dep *d, const char *name, struct lat_deny_judge *judge)
{
    struct lat_deny_place place = { d->place ? d->place : name, d->place ? d->line : 0, d->name };
    struct lat_buf how;
    lat_buf_init(&how, 200);
    lat_link_print(&how, d->linkage);
    lat_deny_find(judge, LAT_DENY_INTEGRITY, d->platform ? LAT_LEG_INFO : LAT_LEG_FAIL, "D601", place, relock_fix,
                  "component '%s'%s%s (%s) is not in %s: %s, used by target '%s'; nobody has looked at it", d->name, d->version ? " " : "",
                  d->version ? d->version : "", lat_dep_origin_name(d->origin), name, how.failed ? "?" : how.bytes,
                  d->targets.count ? d->targets.items[0] : "none");
    lat_buf_release(&how);
}

void lat_deps_lock_compare(const struct lat_deps_lock *lock, const struct lat_inventory *now, const char *name,
                           struct lat_deny_judge *judge)
{
    for (size_t i = 0; i < now->count; i++) {
        const struct lat_dep *d = &now->deps[i];
        struct comparison c = { name, lat_inventory_find(&lock->inventory, d->name, d->origin, d->path), d, judge };
        if (c.was)
            compare_one(&c);
        else
            find_unknown(d, name, judge);
    }
    for (size_t i = 0; i < lock->inventory.count; i++) {
        const struct lat_dep *d = &lock->inventory.deps[i];
        struct lat_deny_place place = { name, d->line, d->name };
        if (!lat_inventory_find(now, d->name, d->origin, d->path))
            lat_deny_find(judge, LAT_DENY_INTEGRITY, d->platform ? LAT_LEG_INFO : LAT_LEG_FAIL, "D607", place, relock_fix,
                          "component '%s' (%s) is locked, and nothing uses it any more", d->name, lat_dep_origin_name(d->origin));
    }
}
