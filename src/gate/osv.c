// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/osv.h"

#include <string.h>
#include <strings.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "gate/deny_judge.h"

enum { SECONDS_A_DAY = 86400 };

struct feed {
    const struct lat_inventory *inv;
    const struct lat_osv_options *o;
    struct lat_leg_result *result;
    struct lat_error *error;
    int64_t newest; // days since 1970; -1: no entry says
    size_t entries, hits;
};

// A string member as text; "" when it is none, or holds a NUL.
static const char *text_of(const struct lat_json_node *n, const char *key, char *out, size_t size)
{
    const struct lat_json_node *v = lat_json_get(n, key);
    size_t length = v && v->kind == LAT_JSON_STRING && !memchr(v->u.string, 0, v->count) ? v->count : 0;
    length = length < size ? length : size - 1;
    if (length)
        memcpy(out, v->u.string, length);
    out[length] = 0;
    return out;
}

static const struct lat_json_node *children(const struct lat_json_node *n, const char *key)
{
    const struct lat_json_node *v = lat_json_get(n, key);
    return v && v->kind == LAT_JSON_ARRAY ? v->u.child : NULL;
}

// Debian's and Ubuntu's entries are about packages of a release; others about the sources that we carry.
static bool speaks_of(const struct feed *f, const struct lat_dep *d, const struct lat_json_node *affected)
{
    char name[200], ecosystem[100];
    const struct lat_json_node *package = lat_json_get(affected, "package");
    text_of(package, "name", name, sizeof name);
    text_of(package, "ecosystem", ecosystem, sizeof ecosystem);
    if (strcasecmp(name, d->name) != 0)
        return false;
    bool distribution = strncmp(ecosystem, "Debian", 6) == 0 || strncmp(ecosystem, "Ubuntu", 6) == 0 || strncmp(ecosystem,
        "Alpine", 6) == 0;
    const char *release = strchr(ecosystem, ':');
    if (d->origin != LAT_DEP_SYSTEM)
        return !distribution;
    return strncmp(ecosystem, "Debian", 6) == 0 && (!release || !f->o->release || strcmp(release + 1, f->o->release) == 0);
}

// Events stand in order: each "introduced" begins what the next "fixed" or "last_affected" ends.
static bool is_in_range(const struct lat_json_node *range, const char *version, char *fixed, size_t size)
{
    char type[32], at[128];
    bool inside = false, hit = false;
    text_of(range, "type", type, sizeof type);
    if (strcmp(type, "GIT") == 0)
        return false;
    for (const struct lat_json_node *e = children(range, "events"); e; e = e->next) {
        if (lat_json_get(e, "introduced")) {
            text_of(e, "introduced", at, sizeof at);
            inside = strcmp(at, "0") == 0 || lat_deb_version_compare(version, at) >= 0;
        } else if (lat_json_get(e, "fixed")) {
            text_of(e, "fixed", at, sizeof at);
            if (inside && lat_deb_version_compare(version, at) < 0) {
                hit = true;
                memcpy(fixed, at, strlen(at) < size ? strlen(at) + 1 : size);
                fixed[size - 1] = 0;
            }
            inside = false;
        } else if (lat_json_get(e, "last_affected")) {
            text_of(e, "last_affected", at, sizeof at);
            hit = hit || (inside && lat_deb_version_compare(version, at) <= 0);
            inside = false;
        }
    }
    return hit || inside; // introduced, and not fixed anywhere
}

static bool is_affected(const struct lat_json_node *affected, const struct lat_dep *d, char *fixed, size_t size)
{
    for (const struct lat_json_node *r = children(affected, "ranges"); r; r = r->next) {
        char type[32], at[128];
        if (d->version && is_in_range(r, d->version, fixed, size))
            return true;
        text_of(r, "type", type, sizeof type);
        for (const struct lat_json_node *e = children(r, "events"); e && d->revision && strcmp(type, "GIT") == 0; e = e->next)
            if (strcmp(text_of(e, "introduced", at, sizeof at), d->revision) == 0)
                return true;
    }
    for (const struct lat_json_node *v = children(affected, "versions"); v && d->version; v = v->next) {
        size_t skip = v->kind == LAT_JSON_STRING && v->count && v->u.string[0] == 'v' ? 1 : 0;
        if (v->kind == LAT_JSON_STRING && v->count - skip == strlen(d->version) && memcmp(v->u.string + skip, d->version,
                                                                                          v->count - skip) == 0)
            return true;
    }
    return false;
}

static void find_hit(struct feed *f, const struct lat_json_node *entry, const struct lat_dep *d, const char *fixed)
{
    char id[100], summary[200];
    struct lat_buf fix;
    text_of(entry, "id", id, sizeof id);
    if (!*text_of(entry, "summary", summary, sizeof summary))
        text_of(entry, "details", summary, sizeof summary);
    summary[strcspn(summary, "\n")] = 0;
    lat_buf_init(&fix, 400);
    if (*fixed)
        lat_buf_addf(&fix, "take version %s or later", fixed);
    else
        lat_buf_add_text(&fix, "no repaired version is known to the snapshot");
    f->hits++;
    lat_leg_find(f->result, f->o->required ? LAT_LEG_FAIL : LAT_LEG_INFO, "D605", d->path, 0, fix.failed ? NULL : fix.bytes,
                 "%s: '%s' %s: %s", id,
                 d->name, d->version ? d->version : d->revision ? d->revision : "", summary);
    lat_buf_release(&fix);
}

static void look_at_entry(struct feed *f, const struct lat_json_node *entry)
{
    char modified[40];
    int64_t days;
    f->entries++;
    text_of(entry, "modified", modified, sizeof modified);
    if (lat_date_parse(modified, strlen(modified), &days) && days > f->newest)
        f->newest = days;
    if (lat_json_get(entry, "withdrawn"))
        return;
    for (size_t i = 0; i < f->inv->count; i++)
        for (const struct lat_json_node *a = children(entry, "affected"); a; a = a->next) {
            char fixed[128] = "";
            if (speaks_of(f, &f->inv->deps[i], a) && is_affected(a, &f->inv->deps[i], fixed, sizeof fixed)) {
                find_hit(f, entry, &f->inv->deps[i], fixed);
                break;
            }
        }
}

static enum lat_status read_file(struct feed *f, const char *path)
{
    struct lat_file_map map;
    struct lat_json doc;
    LAT_TRY(lat_file_map_open(&map, path, f->error));
    enum lat_status status = lat_json_parse(&doc, (const char *)map.bytes, map.length, path, f->error);
    if (status == LAT_OK) {
        const struct lat_json_node *list = lat_json_get(doc.root, "vulns"), *root = doc.root;
        const struct lat_json_node *array = list ? list : root;
        if (array->kind == LAT_JSON_ARRAY)
            for (const struct lat_json_node *n = array->u.child; n; n = n->next)
                look_at_entry(f, n);
        else if (root->kind == LAT_JSON_OBJECT && lat_json_get(root, "id"))
            look_at_entry(f, root);
        else
            status = lat_error_set(f->error, LAT_FORMAT, "%s: neither an OSV entry nor a list of them", path);
        lat_json_release(&doc);
    }
    lat_file_map_close(&map);
    return status;
}

static enum lat_status read_folder(struct feed *f)
{
    struct lat_tree_files files;
    LAT_TRY(lat_tree_files_walk(&files, f->o->path, NULL, f->error));
    enum lat_status status = LAT_OK;
    for (size_t i = 0; status == LAT_OK && i < files.count; i++) {
        size_t n = strlen(files.entries[i].path);
        if (files.entries[i].kind != LAT_TREE_FILE || n < 5 || strcmp(files.entries[i].path + n - 5, ".json") != 0)
            continue;
        char *path = lat_file_path_join(f->o->path, files.entries[i].path);
        status = path ? read_file(f, path) : lat_error_memory(f->error, "advisories");
        lat_mem_free(path);
    }
    lat_tree_files_release(&files);
    return status;
}

static void judge_age(struct feed *f)
{
    enum lat_leg_state bad = f->o->required ? LAT_LEG_ERROR : LAT_LEG_UNMEASURABLE;
    static const char fix[] = "fetch a new snapshot; where none can be had, remove the leg rather than trust an old answer";
    int64_t age = f->o->now / SECONDS_A_DAY - f->newest, allowed = (int64_t)(f->o->max_age_s / SECONDS_A_DAY);
    if (f->newest < 0) {
        lat_leg_find(f->result, bad, "D604", f->o->shown, 0, fix, "no entry of the snapshot says when it was modified: its age is unknown");
        return;
    }
    age = age < 0 ? 0 : age;
    if (age > allowed)
        lat_leg_find(f->result, bad, "D604", f->o->shown, 0, fix,
                     "the snapshot is %lld days old, %lld are allowed: it cannot know of newer advisories",
                     (long long)age, (long long)allowed);
    else
        lat_leg_find(f->result, LAT_LEG_INFO, "D605", f->o->shown, 0, NULL,
                     "%zu of %zu advisories apply; the snapshot is %lld days old", f->hits,
                     f->entries, (long long)age);
}

enum lat_status lat_osv_check(const struct lat_inventory *inventory, const struct lat_osv_options *options, struct lat_leg_result *result,
                              struct lat_error *error)
{
    struct feed f = { inventory, options, result, error, -1, 0, 0 };
    enum lat_leg_state bad = options->required ? LAT_LEG_ERROR : LAT_LEG_UNMEASURABLE;
    result->population_unit = "advisories";
    if (!lat_file_exists(options->path)) {
        lat_leg_find(result, bad, "D604", options->shown, 0, "fetch a snapshot, or remove the leg", "there is no snapshot of advisories");
        return LAT_OK;
    }
    struct lat_error why = { 0 };
    f.error = &why;
    enum lat_status status = lat_file_is_folder(options->path) ? read_folder(&f) : read_file(&f, options->path);
    result->population = f.entries;
    if (status == LAT_MEMORY)
        return lat_error_memory(error, "advisories");
    if (status != LAT_OK) {
        lat_leg_find(result, bad, "D604", options->shown, 0, "fetch the snapshot again", "the snapshot cannot be read: %s", why.text);
        return LAT_OK;
    }
    judge_age(&f);
    return LAT_OK;
}
