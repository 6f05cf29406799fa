// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/deny_policy.h"

#include <string.h>

#include "core/error.h"
#include "gate/glob.h"

static const char *const link_names[LAT_LINK_KINDS] = { "shared", "static", "offered", "header", "source" };

const char *lat_link_name(unsigned bit)
{
    for (unsigned i = 0; i < LAT_LINK_KINDS; i++)
        if (bit == 1u << i)
            return link_names[i];
    return "?";
}

bool lat_link_parse(const char *name, unsigned *bit)
{
    for (unsigned i = 0; i < LAT_LINK_KINDS; i++)
        if (strcmp(name, link_names[i]) == 0) {
            *bit = 1u << i;
            return true;
        }
    return false;
}

void lat_link_print(struct lat_buf *out, unsigned bits)
{
    bool any = false;
    for (unsigned i = 0; i < LAT_LINK_KINDS; i++)
        if (bits & 1u << i) {
            lat_buf_addf(out, "%s%s", any ? ", " : "", link_names[i]);
            any = true;
        }
}

bool lat_text_list_holds(const struct lat_text_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

struct reader {
    struct lat_deny_policy *deny;
    struct lat_yaml *doc;
    struct lat_error *error;
};

typedef const struct lat_yaml_node node;

// A list of mappings: room for `count` of `size` bytes, or none. LAT_FORMAT when it is something else.
static enum lat_status open_list(struct reader *r, node *map, const char *key, size_t size, void **items, size_t *count)
{
    node *list = lat_yaml_get(map, key);
    *count = 0;
    *items = NULL;
    if (!list)
        return LAT_OK;
    if (list->kind != LAT_YAML_SEQUENCE)
        return lat_yaml_error(r->error, r->doc, list, "'%s': a list is expected", key);
    for (node *n = list->child; n; n = n->next)
        if (n->kind != LAT_YAML_MAPPING)
            return lat_yaml_error(r->error, r->doc, n, "'%s': an entry of keys and values is expected, as {name: ..., ...}", key);
    *items = lat_arena_new(&r->deny->arena, list->count ? list->count : 1, size);
    *count = *items ? list->count : 0;
    return *items ? LAT_OK : lat_error_memory(r->error, "gate.yaml");
}

// A member that must be there and must not be empty.
static enum lat_status need_text(struct reader *r, node *map, const char *key, const char **out)
{
    if (!lat_yaml_get(map, key))
        return lat_yaml_error(r->error, r->doc, map, "'%s' is missing here", key);
    LAT_TRY(lat_yaml_read_text(r->doc, map, key, out, r->error));
    return **out ? LAT_OK : lat_yaml_error(r->error, r->doc, lat_yaml_get(map, key), "'%s' is empty", key);
}

static enum lat_status read_licenses(struct reader *r, node *map, const char *key, struct lat_deny_licenses *out)
{
    struct lat_text_list texts = { 0 };
    node *list = lat_yaml_get(map, key);
    LAT_TRY(lat_yaml_read_texts(r->doc, map, key, &texts, r->error));
    out->items = lat_arena_new(&r->deny->arena, texts.count ? texts.count : 1, sizeof *out->items);
    if (!out->items)
        return lat_error_memory(r->error, "gate.yaml");
    node *n = list && list->kind == LAT_YAML_SEQUENCE ? list->child : list;
    for (size_t i = 0; i < texts.count; i++, n = n->next) {
        struct lat_error why = { 0 };
        struct lat_deny_license *l = &out->items[i];
        if (lat_spdx_parse(&l->spdx, texts.items[i], strlen(texts.items[i]), &why) != LAT_OK)
            return lat_yaml_error(r->error, r->doc, n, "'%s': %s", key, why.text);
        out->count++;
        l->line = n->line;
        if (l->spdx.node_count != 1)
            return lat_yaml_error(r->error, r->doc, n, "'%s': one licence an entry, not an expression of several", key);
        for (size_t k = 0; k < i; k++)
            if (lat_spdx_term_equal(&out->items[k].spdx.terms[0], &l->spdx.terms[0]))
                return lat_yaml_error(r->error, r->doc, n, "'%s': the same licence stands at line %zu", key, out->items[k].line);
    }
    return LAT_OK;
}

static enum lat_status read_exceptions(struct reader *r, node *map)
{
    static const char *const known[] = { "name", "allow", "reason", NULL };
    struct lat_deny_policy *d = r->deny;
    void *items;
    LAT_TRY(open_list(r, map, "exceptions", sizeof *d->exceptions, &items, &d->exception_count));
    d->exceptions = items;
    node *list = lat_yaml_get(map, "exceptions");
    struct lat_deny_exception *e = d->exceptions;
    for (node *n = list ? list->child : NULL; n; n = n->next, e++) {
        e->line = n->line;
        LAT_TRY(lat_yaml_check_keys(r->doc, n, known, r->error));
        LAT_TRY(need_text(r, n, "name", &e->name));
        LAT_TRY(need_text(r, n, "reason", &e->reason));
        LAT_TRY(read_licenses(r, n, "allow", &e->allow));
        if (e->allow.count == 0)
            return lat_yaml_error(r->error, r->doc, n, "'allow' is missing or empty: which licences are excepted for '%s'?", e->name);
    }
    return LAT_OK;
}

static bool is_digest(const char *text) { return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64; }

static enum lat_status read_digests(struct reader *r, node *map, struct lat_deny_clarify *c)
{
    static const char *const known[] = { "path", "sha256", NULL };
    void *items;
    LAT_TRY(open_list(r, map, "files", sizeof *c->files, &items, &c->file_count));
    c->files = items;
    node *list = lat_yaml_get(map, "files");
    struct lat_deny_digest *f = c->files;
    for (node *n = list ? list->child : NULL; n; n = n->next, f++) {
        f->line = n->line;
        LAT_TRY(lat_yaml_check_keys(r->doc, n, known, r->error));
        LAT_TRY(need_text(r, n, "path", &f->path));
        LAT_TRY(lat_yaml_read_texts(r->doc, n, "sha256", &f->sha256, r->error));
        if (f->sha256.count == 0)
            return lat_yaml_error(r->error, r->doc, n, "'sha256' is missing: a clarification holds for the text that was read, no other");
        for (size_t i = 0; i < f->sha256.count; i++)
            if (!is_digest(f->sha256.items[i]))
                return lat_yaml_error(r->error, r->doc, lat_yaml_get(n, "sha256"), "'sha256': 64 lower-case hex digits are expected");
    }
    return LAT_OK;
}

static enum lat_status read_clarify(struct reader *r, node *map)
{
    static const char *const known[] = { "name", "license", "files", "revision", "reason", NULL };
    struct lat_deny_policy *d = r->deny;
    void *items;
    LAT_TRY(open_list(r, map, "clarify", sizeof *d->clarify, &items, &d->clarify_count));
    d->clarify = items;
    node *list = lat_yaml_get(map, "clarify");
    struct lat_deny_clarify *c = d->clarify;
    for (node *n = list ? list->child : NULL; n; n = n->next, c++) {
        c->line = n->line;
        LAT_TRY(lat_yaml_check_keys(r->doc, n, known, r->error));
        LAT_TRY(need_text(r, n, "name", &c->name));
        LAT_TRY(need_text(r, n, "license", &c->license));
        LAT_TRY(need_text(r, n, "reason", &c->reason));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "revision", &c->revision, r->error));
        LAT_TRY(read_digests(r, n, c));
        if (c->file_count == 0 && !c->revision)
            return lat_yaml_error(r->error, r->doc, n,
                                  "a clarification names the 'files' with their sha256, or the 'revision', that was read");
    }
    return LAT_OK;
}

static enum lat_status read_license_part(struct reader *r, node *leg)
{
    static const char *const known[] = { "allow", "allow_shared", "platform", "exceptions", "clarify", NULL };
    struct lat_deny_policy *d = r->deny;
    node *map = lat_yaml_get(leg, "licenses");
    LAT_TRY(lat_yaml_check_keys(r->doc, map, known, r->error));
    LAT_TRY(read_licenses(r, map, "allow", &d->allow));
    LAT_TRY(read_licenses(r, map, "allow_shared", &d->allow_shared));
    LAT_TRY(lat_yaml_read_texts(r->doc, map, "platform", &d->platform, r->error));
    LAT_TRY(read_exceptions(r, map));
    return read_clarify(r, map);
}

static enum lat_status read_ban_linkage(struct reader *r, node *n, unsigned *bits)
{
    struct lat_text_list names = { 0 };
    LAT_TRY(lat_yaml_read_texts(r->doc, n, "linkage", &names, r->error));
    *bits = names.count ? 0 : LAT_LINK_ALL;
    for (size_t i = 0; i < names.count; i++) {
        unsigned bit;
        if (!lat_link_parse(names.items[i], &bit))
            return lat_yaml_error(r->error, r->doc, lat_yaml_get(n, "linkage"),
                                  "'linkage': shared, static, offered, header or source is expected, not '%s'", names.items[i]);
        *bits |= bit;
    }
    return LAT_OK;
}

static enum lat_status read_bans(struct reader *r, node *leg)
{
    static const char *const known[] = { "duplicates", "deny", NULL };
    static const char *const ban_keys[] = { "name", "version", "linkage", "reason", "use_instead", "wrappers", NULL };
    struct lat_deny_policy *d = r->deny;
    node *map = lat_yaml_get(leg, "bans");
    const char *duplicates = "fail";
    void *items;
    LAT_TRY(lat_yaml_check_keys(r->doc, map, known, r->error));
    LAT_TRY(lat_yaml_read_text(r->doc, map, "duplicates", &duplicates, r->error));
    d->duplicates = strcmp(duplicates, "fail") == 0 ? LAT_LEG_FAIL : strcmp(duplicates, "warn") == 0 ? LAT_LEG_WARN : LAT_LEG_PASS;
    if (d->duplicates == LAT_LEG_PASS && strcmp(duplicates, "off") != 0)
        return lat_yaml_error(r->error, r->doc, lat_yaml_get(map, "duplicates"), "'duplicates': fail, warn or off is expected");
    LAT_TRY(open_list(r, map, "deny", sizeof *d->bans, &items, &d->ban_count));
    d->bans = items;
    node *list = lat_yaml_get(map, "deny");
    struct lat_deny_ban *b = d->bans;
    for (node *n = list ? list->child : NULL; n; n = n->next, b++) {
        b->line = n->line;
        LAT_TRY(lat_yaml_check_keys(r->doc, n, ban_keys, r->error));
        LAT_TRY(need_text(r, n, "name", &b->name));
        LAT_TRY(need_text(r, n, "reason", &b->reason));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "version", &b->version, r->error));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "use_instead", &b->use_instead, r->error));
        LAT_TRY(lat_yaml_read_texts(r->doc, n, "wrappers", &b->wrappers, r->error));
        LAT_TRY(read_ban_linkage(r, n, &b->linkage));
    }
    return LAT_OK;
}

static enum lat_status read_sources(struct reader *r, node *leg)
{
    static const char *const known[] = { "git", "archives", "system", NULL };
    struct lat_deny_policy *d = r->deny;
    node *map = lat_yaml_get(leg, "sources");
    LAT_TRY(lat_yaml_check_keys(r->doc, map, known, r->error));
    LAT_TRY(lat_yaml_read_texts(r->doc, map, "git", &d->git, r->error));
    LAT_TRY(lat_yaml_read_texts(r->doc, map, "archives", &d->archives, r->error));
    LAT_TRY(lat_yaml_read_texts(r->doc, map, "system", &d->system, r->error));
    d->has_system = lat_yaml_get(map, "system") != NULL;
    return LAT_OK;
}

// A path inside the tree.
static enum lat_status check_path(struct reader *r, node *n, const char *key, const char *path)
{
    struct lat_error why = { 0 };
    if (strpbrk(path, "*?[") || lat_glob_check(path, &why) != LAT_OK)
        return lat_yaml_error(r->error, r->doc, lat_yaml_get(n, key),
                              "'%s': a path from the project's folder is expected, without '..'", key);
    return LAT_OK;
}

static enum lat_status read_vendored(struct reader *r, node *leg)
{
    static const char *const known[] = { "name", "path", "version", "license", "license_files",
                                         "git", "revision", "archive", "sha256", NULL };
    struct lat_deny_policy *d = r->deny;
    void *items;
    LAT_TRY(open_list(r, leg, "vendored", sizeof *d->vendored, &items, &d->vendored_count));
    d->vendored = items;
    node *list = lat_yaml_get(leg, "vendored");
    struct lat_deny_vendored *v = d->vendored;
    for (node *n = list ? list->child : NULL; n; n = n->next, v++) {
        v->line = n->line;
        LAT_TRY(lat_yaml_check_keys(r->doc, n, known, r->error));
        LAT_TRY(need_text(r, n, "name", &v->name));
        LAT_TRY(need_text(r, n, "path", &v->path));
        LAT_TRY(check_path(r, n, "path", v->path));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "version", &v->version, r->error));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "license", &v->license, r->error));
        LAT_TRY(lat_yaml_read_texts(r->doc, n, "license_files", &v->license_files, r->error));
        for (size_t i = 0; i < v->license_files.count; i++)
            LAT_TRY(check_path(r, n, "license_files", v->license_files.items[i]));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "git", &v->git, r->error));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "revision", &v->revision, r->error));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "archive", &v->archive, r->error));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "sha256", &v->sha256, r->error));
        if (v->git && v->archive)
            return lat_yaml_error(r->error, r->doc, n, "'git' and 'archive': a component comes from one of them");
    }
    return LAT_OK;
}

static enum lat_status read_provided(struct reader *r, node *leg)
{
    static const char *const known[] = { "name", "version", "files", "license", "reason", NULL };
    struct lat_deny_policy *d = r->deny;
    void *items;
    LAT_TRY(open_list(r, leg, "provided", sizeof *d->provided, &items, &d->provided_count));
    d->provided = items;
    node *list = lat_yaml_get(leg, "provided");
    struct lat_deny_provided *p = d->provided;
    for (node *n = list ? list->child : NULL; n; n = n->next, p++) {
        p->line = n->line;
        LAT_TRY(lat_yaml_check_keys(r->doc, n, known, r->error));
        LAT_TRY(need_text(r, n, "name", &p->name));
        LAT_TRY(need_text(r, n, "license", &p->license));
        LAT_TRY(need_text(r, n, "reason", &p->reason));
        LAT_TRY(lat_yaml_read_text(r->doc, n, "version", &p->version, r->error));
        LAT_TRY(lat_yaml_read_texts(r->doc, n, "files", &p->files, r->error));
        for (size_t i = 0; i < p->files.count; i++)
            if (p->files.items[i][0] != '/' || lat_glob_check(p->files.items[i] + 1, NULL) != LAT_OK)
                return lat_yaml_error(r->error, r->doc, lat_yaml_get(n, "files"), "'files': absolute patterns are expected, as /opt/x/**");
        if (p->files.count == 0)
            return lat_yaml_error(r->error, r->doc, n, "'files' is missing: which files outside of the tree are '%s'?", p->name);
    }
    return LAT_OK;
}

static enum lat_status read_globs(struct reader *r, node *map, const char *key, struct lat_text_list *out)
{
    struct lat_error why = { 0 };
    LAT_TRY(lat_yaml_read_texts(r->doc, map, key, out, r->error));
    for (size_t i = 0; i < out->count; i++)
        if (lat_glob_check(out->items[i], &why) != LAT_OK)
            return lat_yaml_error(r->error, r->doc, lat_yaml_get(map, key), "'%s': %s", key, why.text);
    return LAT_OK;
}

static enum lat_status read_tree(struct reader *r, node *leg)
{
    static const char *const known[] = { "license", "owners", "executables", "ignore", NULL };
    static const char *const ignore_keys[] = { "paths", "reason", NULL };
    struct lat_deny_policy *d = r->deny;
    node *map = lat_yaml_get(leg, "tree");
    struct lat_spdx own;
    struct lat_error why = { 0 };
    void *items;
    LAT_TRY(lat_yaml_check_keys(r->doc, map, known, r->error));
    LAT_TRY(lat_yaml_read_text(r->doc, map, "license", &d->tree_license, r->error));
    if (d->tree_license && lat_spdx_parse(&own, d->tree_license, strlen(d->tree_license), &why) != LAT_OK)
        return lat_yaml_error(r->error, r->doc, lat_yaml_get(map, "license"), "%s", why.text);
    if (d->tree_license)
        lat_spdx_release(&own);
    LAT_TRY(lat_yaml_read_texts(r->doc, map, "owners", &d->owners, r->error));
    LAT_TRY(read_globs(r, map, "executables", &d->executables));
    LAT_TRY(open_list(r, map, "ignore", sizeof *d->ignore, &items, &d->ignore_count));
    d->ignore = items;
    node *list = lat_yaml_get(map, "ignore");
    struct lat_deny_ignore *g = d->ignore;
    for (node *n = list ? list->child : NULL; n; n = n->next, g++) {
        g->line = n->line;
        LAT_TRY(lat_yaml_check_keys(r->doc, n, ignore_keys, r->error));
        LAT_TRY(need_text(r, n, "reason", &g->reason));
        LAT_TRY(read_globs(r, n, "paths", &g->paths));
        if (g->paths.count == 0)
            return lat_yaml_error(r->error, r->doc, n, "'paths' is missing or empty");
    }
    return LAT_OK;
}

enum lat_status lat_deny_policy_read(struct lat_deny_policy *deny, struct lat_policy *policy,
                                     const struct lat_policy_leg *leg, struct lat_error *error)
{
    static const char *const own[] = { "build", "configure", "lock", "licenses", "bans", "sources", "vendored", "provided", "tree", NULL };
    struct reader r = { deny, &policy->doc, error };
    *deny = (struct lat_deny_policy){ .file = policy->doc.name, .lock = "deps.lock" };
    lat_arena_init(&deny->arena, 1 << 24);
    LAT_TRY(lat_policy_leg_keys_check(policy, leg, own, error));
    LAT_TRY(lat_yaml_read_text(r.doc, leg->node, "build", &deny->build, error));
    LAT_TRY(lat_yaml_read_text(r.doc, leg->node, "lock", &deny->lock, error));
    LAT_TRY(lat_yaml_read_texts(r.doc, leg->node, "configure", &deny->configure, error));
    if (lat_yaml_get(leg->node, "lock"))
        LAT_TRY(check_path(&r, leg->node, "lock", deny->lock));
    if (deny->build && lat_yaml_get(leg->node, "configure"))
        return lat_yaml_error(error, r.doc, lat_yaml_get(leg->node, "configure"),
                              "'configure' is for the gate's own build folder, 'build' names one of yours: give one of them");
    LAT_TRY(read_license_part(&r, leg->node));
    LAT_TRY(read_bans(&r, leg->node));
    LAT_TRY(read_sources(&r, leg->node));
    LAT_TRY(read_vendored(&r, leg->node));
    LAT_TRY(read_provided(&r, leg->node));
    return read_tree(&r, leg->node);
}

static void release_licenses(struct lat_deny_licenses *l)
{
    for (size_t i = 0; i < l->count; i++)
        lat_spdx_release(&l->items[i].spdx);
}

void lat_deny_policy_release(struct lat_deny_policy *deny)
{
    release_licenses(&deny->allow);
    release_licenses(&deny->allow_shared);
    for (size_t i = 0; i < deny->exception_count; i++)
        release_licenses(&deny->exceptions[i].allow);
    lat_arena_release(&deny->arena);
    *deny = (struct lat_deny_policy){ 0 };
}
