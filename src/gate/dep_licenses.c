// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The licence of each component: as clarified in gate.yaml for texts with a known digest, as declared for what is
// vendored or provided, as Debian's copyright file says. Never guessed from a text.
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/dep5.h"
#include "gate/deps_inventory.h"

struct licenser {
    struct lat_inventory *inv;
    const struct lat_inventory_options *o;
    struct lat_error *error;
};

static enum lat_status keep(struct licenser *l, const char *text, const char **out)
{
    *out = lat_inventory_keep(l->inv, text, strlen(text));
    return *out ? LAT_OK : lat_error_memory(l->error, "licences");
}

static enum lat_status add_file(struct licenser *l, struct lat_dep *d, const char *path, const char *hex)
{
    for (size_t i = 0; i < d->license_file_count; i++)
        if (strcmp(d->license_files[i].path, path) == 0)
            return LAT_OK;
    struct lat_dep_file *grown = lat_arena_new(&l->inv->arena, d->license_file_count + 1, sizeof *grown);
    if (!grown)
        return lat_error_memory(l->error, "licences");
    if (d->license_file_count)
        memcpy(grown, d->license_files, d->license_file_count * sizeof *grown);
    d->license_files = grown;
    LAT_TRY(keep(l, path, &grown[d->license_file_count].path));
    LAT_TRY(keep(l, hex, &grown[d->license_file_count].sha256));
    d->license_file_count++;
    return LAT_OK;
}

// The canonical form of an expression written by hand; a wrong one is a finding at its place.
static enum lat_status take_expression(struct licenser *l, struct lat_dep *d, const char *text, size_t line, const char *from)
{
    struct lat_spdx spdx;
    struct lat_error why = { 0 };
    struct lat_deny_place place = { l->o->policy->file, line, d->name };
    enum lat_status status = lat_spdx_parse(&spdx, text, strlen(text), &why);
    if (status == LAT_MEMORY)
        return lat_error_memory(l->error, "licences");
    if (status != LAT_OK) {
        lat_deny_find(l->o->judge, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D602", place,
                      "write a licence expression of SPDX identifiers", "%s: %s",
                      d->name, why.text);
        d->license_problem = "the expression in gate.yaml cannot be read";
        return LAT_OK;
    }
    struct lat_buf canonical;
    lat_buf_init(&canonical, 1 << 20);
    lat_spdx_print(&canonical, &spdx);
    status = canonical.failed ? lat_error_memory(l->error, "licences") : keep(l, canonical.bytes, &d->license);
    d->license_from = from;
    lat_buf_release(&canonical);
    lat_spdx_release(&spdx);
    return status;
}

static char *full_path(struct licenser *l, const char *path)
{
    return path[0] == '/' ? lat_file_path_join("", path + 1) : lat_file_path_join(l->o->root, path);
}

// LAT_NOT_FOUND, with the reason, when the file cannot be read.
static enum lat_status digest(struct licenser *l, const char *path, char hex[LAT_SHA256_HEX_SIZE])
{
    struct lat_error why = { 0 };
    char *full = full_path(l, path);
    if (!full)
        return lat_error_memory(l->error, "licences");
    enum lat_status status = lat_file_hash(full, hex, &why);
    lat_mem_free(full);
    return status == LAT_OK || status == LAT_MEMORY ? status : LAT_NOT_FOUND;
}

// A clarification holds for the very texts that were read. `*holds`: all of them are.
static enum lat_status check_texts(struct licenser *l, struct lat_dep *d, const struct lat_deny_clarify *c, bool *holds)
{
    struct lat_deny_place place = { l->o->policy->file, c->line, d->name };
    *holds = true;
    for (size_t i = 0; i < c->file_count; i++) {
        const struct lat_deny_digest *f = &c->files[i];
        char hex[LAT_SHA256_HEX_SIZE];
        enum lat_status status = digest(l, f->path, hex);
        place.line = f->line;
        if (status == LAT_NOT_FOUND) {
            lat_deny_find(l->o->judge, LAT_DENY_LICENSES | LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D616", place,
                          "correct the path, or remove the clarification",
                          "the clarification of '%s' rests on %s, which is not there", d->name, f->path);
            *holds = false;
            continue;
        }
        LAT_TRY(status);
        LAT_TRY(add_file(l, d, f->path, hex));
        if (lat_text_list_holds(&f->sha256, hex))
            continue;
        lat_deny_find(l->o->judge, LAT_DENY_LICENSES | LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D616", place,
                      "read the text again; if the licence is still right, put its new sha256 there",
                      "the licence text %s of '%s' is another than the one that was read: its sha256 is %s", f->path, d->name, hex);
        *holds = false;
    }
    const char *pin = d->is_git ? d->revision : d->digest;
    if (c->revision && !(pin && strcmp(c->revision, pin) == 0)) {
        place.line = c->line;
        lat_deny_find(l->o->judge, LAT_DENY_LICENSES | LAT_DENY_INTEGRITY, LAT_LEG_FAIL, "D616", place,
                      "read its licence again; if it is still right, put the new revision there",
                      "the clarification of '%s' was made for revision %.80s, the tree pins %.80s", d->name, c->revision,
                      pin ? pin : "none");
        *holds = false;
    }
    return LAT_OK;
}

static enum lat_status from_clarify(struct licenser *l, struct lat_dep *d, bool *taken)
{
    for (size_t i = 0; i < l->o->policy->clarify_count; i++) {
        struct lat_deny_clarify *c = &l->o->policy->clarify[i];
        bool holds;
        if (strcmp(c->name, d->name) != 0)
            continue;
        c->used = *taken = true;
        LAT_TRY(check_texts(l, d, c, &holds));
        d->license_problem = holds ? NULL : "its clarification does not hold any more";
        return holds ? take_expression(l, d, c->license, c->line, "clarified in gate.yaml") : LAT_OK;
    }
    return LAT_OK;
}

// Debian: /usr/share/doc/PACKAGE/copyright of each package that was used; they mostly say the same.
static enum lat_status from_debian(struct licenser *l, struct lat_dep *d)
{
    struct lat_buf joined, one;
    enum lat_status status = LAT_OK;
    lat_buf_init(&joined, LAT_SPDX_BYTES_MAX);
    lat_buf_init(&one, LAT_SPDX_BYTES_MAX);
    for (size_t i = 0; status == LAT_OK && !d->license_problem && i < d->packages.count; i++) {
        char path[512], hex[LAT_SHA256_HEX_SIZE], problem[1200];
        struct lat_file_map map;
        struct lat_error why = { 0 };
        snprintf(path, sizeof path, "/usr/share/doc/%s/copyright", d->packages.items[i]);
        status = digest(l, path, hex);
        if (status == LAT_NOT_FOUND || lat_file_map_open(&map, path, &why) != LAT_OK) {
            snprintf(problem, sizeof problem, "%s is not there (are documents left out on this machine?)", path);
            status = keep(l, problem, &d->license_problem);
            break;
        }
        if (status == LAT_OK)
            status = add_file(l, d, path, hex);
        lat_buf_clear(&one);
        lat_buf_add_text(&one, "\n(");
        if (status == LAT_OK && lat_dep5_expression(&one, (const char *)map.bytes, map.length, &why) != LAT_OK) {
            snprintf(problem, sizeof problem, "%s: %s", path, why.text);
            status = keep(l, problem, &d->license_problem);
        }
        lat_buf_add_text(&one, ")\n");
        if (!one.failed && !(joined.length && strstr(joined.bytes, one.bytes))) {
            lat_buf_add_text(&joined, joined.length ? "AND" : "");
            lat_buf_add(&joined, one.bytes, one.length);
        }
        lat_file_map_close(&map);
    }
    if (status == LAT_OK && (joined.failed || one.failed))
        status = lat_error_memory(l->error, "licences");
    if (status == LAT_OK && !d->license_problem && joined.length)
        status = take_expression(l, d, joined.bytes, 0, "Debian's copyright file");
    lat_buf_release(&joined);
    lat_buf_release(&one);
    return status;
}

static const struct lat_deny_vendored *declaration_of(const struct lat_deny_policy *p, const struct lat_dep *d)
{
    for (size_t i = 0; i < p->vendored_count; i++)
        if (strcmp(p->vendored[i].name, d->name) == 0 && strcmp(p->vendored[i].path, d->path) == 0)
            return &p->vendored[i];
    return NULL;
}

static enum lat_status from_declaration(struct licenser *l, struct lat_dep *d, const struct lat_deny_vendored *v)
{
    struct lat_deny_place place = { l->o->policy->file, v->line, d->name };
    for (size_t i = 0; i < v->license_files.count; i++) {
        char hex[LAT_SHA256_HEX_SIZE];
        enum lat_status status = digest(l, v->license_files.items[i], hex);
        if (status == LAT_NOT_FOUND) {
            lat_deny_find(l->o->judge, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D601", place, "add the licence text, or correct the path",
                          "the licence text '%s' of '%s' is not there", v->license_files.items[i], d->name);
            continue;
        }
        LAT_TRY(status);
        LAT_TRY(add_file(l, d, v->license_files.items[i], hex));
    }
    if (!v->license) {
        d->license_problem = "gate.yaml names no 'license' for it";
        return LAT_OK;
    }
    if (d->license_file_count == 0) {
        d->license_problem = "no licence text of it is in the tree ('license_files')";
        return LAT_OK;
    }
    return take_expression(l, d, v->license, v->line, "declared in gate.yaml");
}

static enum lat_status look_up(struct licenser *l, struct lat_dep *d)
{
    const struct lat_deny_policy *p = l->o->policy;
    bool taken = false;
    d->platform = d->origin == LAT_DEP_SYSTEM && lat_text_list_holds(&p->platform, d->name);
    LAT_TRY(from_clarify(l, d, &taken));
    if (taken)
        return LAT_OK;
    if (d->origin == LAT_DEP_SYSTEM)
        return from_debian(l, d);
    if (d->origin == LAT_DEP_VENDORED) {
        const struct lat_deny_vendored *v = declaration_of(p, d);
        return v ? from_declaration(l, d, v) : LAT_OK;
    }
    for (size_t i = 0; d->origin == LAT_DEP_PROVIDED && i < p->provided_count; i++)
        if (strcmp(p->provided[i].name, d->name) == 0)
            return take_expression(l, d, p->provided[i].license, p->provided[i].line, "declared in gate.yaml");
    d->license_problem = "nothing says what it is; what is fetched needs a clarification in gate.yaml, bound to its revision";
    return LAT_OK;
}

enum lat_status lat_inventory_licenses(struct lat_inventory *inventory, const struct lat_inventory_options *options,
                                       struct lat_error *error)
{
    struct licenser l = { inventory, options, error };
    for (size_t i = 0; i < inventory->count; i++)
        LAT_TRY(look_up(&l, &inventory->deps[i]));
    return LAT_OK;
}
