// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/leg_deny.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/deny_checks.h"
#include "gate/deps_lock.h"
#include "gate/osv.h"
#include "gate/sbom.h"

struct session {
    const struct lat_gate_run *run;
    const struct lat_policy_leg *leg;
    const struct lat_deny_options *o;
    struct lat_leg_result *result;
    struct lat_deny_policy policy;
    struct lat_deny_judge judge;
    struct lat_inventory inv;
    struct lat_error *error;
};

static enum lat_status write_file(const char *path, const struct lat_buf *text, struct lat_error *error)
{
    struct lat_file_out out;
    if (text->failed)
        return lat_error_memory(error, path);
    LAT_TRY(lat_file_out_open(&out, path, error));
    enum lat_status status = lat_file_out_write(&out, 0, text->bytes, text->length, error);
    if (status == LAT_OK)
        return lat_file_out_commit(&out, error);
    lat_file_out_abort(&out);
    return status;
}

// A value of /etc/os-release, without quotes.
static void os_release(const char *key, char *out, size_t size, const char *otherwise)
{
    struct lat_file_map map;
    size_t n = strlen(key);
    snprintf(out, size, "%s", otherwise);
    if (lat_file_map_open(&map, "/etc/os-release", NULL) != LAT_OK)
        return;
    const char *text = (const char *)map.bytes, *end = text + map.length;
    for (const char *row = text; row && row < end;) {
        const char *stop = memchr(row, '\n', (size_t)(end - row));
        stop = stop ? stop : end;
        if ((size_t)(stop - row) > n + 1 && strncmp(row, key, n) == 0 && row[n] == '=') {
            const char *from = row + n + 1;
            size_t length = (size_t)(stop - from);
            if (length >= 2 && from[0] == '"') {
                from++;
                length -= 2;
            }
            snprintf(out, size, "%.*s", (int)length, from);
        }
        row = stop + 1;
    }
    lat_file_map_close(&map);
}

static enum lat_status write_bills(struct session *s)
{
    char folder[4096], spdx[4200], cyclonedx[4200], tool[80], distribution[64];
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    struct lat_buf text;
    snprintf(folder, sizeof folder, "%s/deny", s->run->work);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return lat_error_errno(s->error, errno, "make", folder);
    snprintf(spdx, sizeof spdx, "%s/sbom.spdx.json", folder);
    snprintf(cyclonedx, sizeof cyclonedx, "%s/sbom.cdx.json", folder);
    snprintf(tool, sizeof tool, "lattice-gate-%s", lat_version());
    os_release("ID", distribution, sizeof distribution, "debian");
    struct lat_sbom_options options = { .project = s->run->policy->project, .license = s->policy.tree_license, .tool = tool,
                                        .distribution = distribution,
                                        .created = epoch && *epoch ? strtoll(epoch, NULL, 10) : s->o->now };
    lat_buf_init(&text, 1 << 28);
    enum lat_status status = lat_sbom_spdx(&text, &s->inv, &options, s->error);
    if (status == LAT_OK)
        status = write_file(s->o->spdx ? s->o->spdx : spdx, &text, s->error);
    lat_buf_clear(&text);
    if (status == LAT_OK)
        status = lat_sbom_cyclonedx(&text, &s->inv, &options, s->error);
    if (status == LAT_OK)
        status = write_file(s->o->cyclonedx ? s->o->cyclonedx : cyclonedx, &text, s->error);
    lat_buf_release(&text);
    return status;
}

static enum lat_status write_lock(struct session *s, const char *path)
{
    struct lat_buf text;
    lat_buf_init(&text, 1 << 26);
    lat_deps_lock_write(&text, &s->inv);
    enum lat_status status = write_file(path, &text, s->error);
    lat_buf_release(&text);
    return status;
}

static enum lat_status compare_lock(struct session *s, const char *path)
{
    struct lat_deps_lock lock;
    struct lat_error why = { 0 };
    struct lat_deny_place place = { s->policy.lock, 0, NULL };
    enum lat_status status = lat_deps_lock_read(&lock, path, &why);
    if (status == LAT_OK) {
        lat_deps_lock_compare(&lock, &s->inv, s->policy.lock, &s->judge);
        lat_deps_lock_release(&lock);
    } else if (status == LAT_MEMORY)
        return lat_error_memory(s->error, "the lock file");
    else
        lat_deny_find(&s->judge, LAT_DENY_INTEGRITY, LAT_LEG_ERROR, "D603", place, "write it, read it, commit it: lattice-gate deny lock",
                      status == LAT_NOT_FOUND ? "there is no lock file: nobody has looked at the components" :
                      "the lock cannot be read: %s", why.text);
    return LAT_OK;
}

static enum lat_status locked_part(struct session *s)
{
    char *path = lat_file_path_join(s->run->root, s->policy.lock);
    if (!path)
        return lat_error_memory(s->error, "the lock file");
    enum lat_status status = LAT_OK;
    if (s->o->write_lock)
        status = write_lock(s, path);
    else if (s->o->checks & LAT_DENY_INTEGRITY)
        status = compare_lock(s, path);
    lat_mem_free(path);
    return status;
}

static const char *joined(struct lat_buf *text, const struct lat_dep *d)
{
    lat_buf_clear(text);
    lat_link_print(text, d->linkage);
    return text->failed || !text->length ? "" : text->bytes;
}

// What every report shows of the inventory.
static void add_details(struct session *s)
{
    static const struct { unsigned bit; const char *name; } checks[] = {
        { LAT_DENY_BANS, "bans" }, { LAT_DENY_LICENSES, "licenses" }, { LAT_DENY_SOURCES, "sources" }, { LAT_DENY_INTEGRITY, "integrity" },
    };
    struct lat_buf text;
    json_t *details = json_object(), *components = json_array(), *states = json_object();
    lat_buf_init(&text, 400);
    for (size_t i = 0; i < 4; i++)
        if (s->o->checks & checks[i].bit)
            json_object_set_new(states, checks[i].name, json_string(s->judge.failed & checks[i].bit ? "FAIL" : "PASS"));
    for (size_t i = 0; i < s->inv.count; i++) {
        const struct lat_dep *d = &s->inv.deps[i];
        json_t *users = json_array();
        for (size_t k = 0; k < d->targets.count; k++)
            json_array_append_new(users, json_string(d->targets.items[k]));
        json_array_append_new(components, json_pack("{s:s, s:s, s:s?, s:s?, s:s, s:b, s:o}", "name", d->name, "origin",
                                                    lat_dep_origin_name(d->origin),
                                                    "version", d->version, "license", d->license, "linkage", joined(&text, d), "platform",
                                                    (int)d->platform, "used_by", users));
    }
    lat_buf_release(&text);
    json_object_set_new(details, "checks", states);
    json_object_set_new(details, "components", components);
    json_object_set_new(details, "measured", json_pack("{s:I, s:I, s:I}", "compilations", (json_int_t)s->inv.object_count, "links",
                                                       (json_int_t)s->inv.link_count, "tree_files", (json_int_t)s->inv.file_count));
    s->result->details = details;
}

// What prevented the look at the build, as a finding. LAT_OK: said.
static enum lat_status cannot_look(struct session *s, enum lat_status status, const struct lat_error *why)
{
    struct lat_deny_place place = { s->policy.build, 0, NULL };
    if (status == LAT_NOT_FOUND || status == LAT_FAILED || status == LAT_UNAVAILABLE) {
        lat_deny_find(&s->judge, LAT_DENY_ALL, LAT_LEG_ERROR, "D615", place,
                      s->policy.build ? "configure and build that folder first, with Ninja" :
                      "make the project build with the arguments of 'configure'",
                      "what the build uses cannot be told: %s", why->text);
        return LAT_OK;
    }
    if (s->error)
        *s->error = *why;
    return status;
}

static enum lat_status judge(struct session *s)
{
    struct lat_inventory_options options = { s->run->root, s->run->work, &s->policy, &s->judge, s->leg->budget_s };
    struct lat_error why = { 0 };
    enum lat_status status = lat_inventory_make(&s->inv, &options, &why);
    if (status != LAT_OK)
        return cannot_look(s, status, &why);
    s->result->population = s->inv.count;
    LAT_TRY(locked_part(s));
    LAT_TRY(lat_deny_check_licenses(&s->inv, &s->policy, &s->judge, s->error));
    lat_deny_check_bans(&s->inv, &s->policy, &s->judge);
    lat_deny_check_sources(&s->inv, &s->policy, &s->judge);
    if (s->o->checks == LAT_DENY_ALL)
        lat_deny_check_unused(&s->policy, &s->judge);
    lat_deny_judge_close(&s->judge);
    add_details(s);
    return write_bills(s);
}

enum lat_status lat_deny_run(const struct lat_gate_run *run, const struct lat_policy_leg *leg, const struct lat_deny_options *options,
                             struct lat_leg_result *result, struct lat_error *error)
{
    struct session s = { .run = run, .leg = leg, .o = options, .result = result, .error = error };
    result->population_unit = "components";
    s.judge.result = result;
    s.judge.policy = run->policy;
    s.judge.now = options->now;
    s.judge.checks = options->checks;
    enum lat_status status = lat_deny_policy_read(&s.policy, run->policy, leg, error);
    size_t root = strlen(run->root);
    if (s.policy.file && strncmp(s.policy.file, run->root, root) == 0 && s.policy.file[root] == '/')
        s.policy.file += root + 1;
    s.judge.file = s.policy.file;
    if (status == LAT_OK)
        status = judge(&s);
    lat_inventory_release(&s.inv);
    lat_deny_policy_release(&s.policy);
    return status;
}

static enum lat_status check_deny(struct lat_policy *policy, const struct lat_policy_leg *leg, struct lat_error *error)
{
    struct lat_deny_policy deny;
    enum lat_status status = lat_deny_policy_read(&deny, policy, leg, error);
    lat_deny_policy_release(&deny);
    return status;
}

static enum lat_status run_deny(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result,
                                struct lat_error *error)
{
    struct lat_deny_options options = { .checks = LAT_DENY_ALL, .now = (int64_t)time(NULL) };
    return lat_deny_run(run, leg, &options, result, error);
}

const struct lat_leg_kind lat_leg_deny = { "deny", check_deny, run_deny };

struct feeds_policy {
    const char *osv, *lock;
    double max_age_s;
};

static enum lat_status read_feeds(struct feeds_policy *f, struct lat_policy *policy, const struct lat_policy_leg *leg,
                                  struct lat_error *error)
{
    static const char *const own[] = { "osv", "max_age", "lock", NULL };
    *f = (struct feeds_policy){ .lock = "deps.lock", .max_age_s = 14 * 86400.0 };
    LAT_TRY(lat_policy_leg_keys_check(policy, leg, own, error));
    LAT_TRY(lat_yaml_read_text(&policy->doc, leg->node, "osv", &f->osv, error));
    LAT_TRY(lat_yaml_read_text(&policy->doc, leg->node, "lock", &f->lock, error));
    LAT_TRY(lat_yaml_read_duration(&policy->doc, leg->node, "max_age", &f->max_age_s, error));
    if (!f->osv)
        return lat_yaml_error(error, &policy->doc, leg->node, "leg '%s': 'osv' is missing, the file or folder of advisories", leg->name);
    return LAT_OK;
}

static char *from_root(const char *root, const char *path)
{
    return path[0] == '/' ? lat_file_path_join("", path + 1) : lat_file_path_join(root, path);
}

enum lat_status lat_feeds_run(const struct lat_gate_run *run, const struct lat_policy_leg *leg, int64_t now, struct lat_leg_result *result,
                              struct lat_error *error)
{
    struct feeds_policy f;
    struct lat_deps_lock lock;
    struct lat_error why = { 0 };
    char release[32];
    LAT_TRY(read_feeds(&f, run->policy, leg, error));
    result->population_unit = "advisories";
    char *lock_path = from_root(run->root, f.lock), *osv_path = from_root(run->root, f.osv);
    enum lat_status status = lock_path && osv_path ? lat_deps_lock_read(&lock, lock_path, &why) : lat_error_memory(&why, "advisories");
    if (status == LAT_OK) {
        os_release("VERSION_ID", release, sizeof release, "");
        struct lat_osv_options options = { osv_path, f.osv, f.max_age_s, leg->required, now, *release ? release : NULL };
        status = lat_osv_check(&lock.inventory, &options, result, error);
        lat_deps_lock_release(&lock);
    } else if (status == LAT_NOT_FOUND || status == LAT_FORMAT) {
        lat_leg_find(result, LAT_LEG_ERROR, "D603", f.lock, 0, "write it, read it, commit it: lattice-gate deny lock", "%s", why.text);
        status = LAT_OK;
    } else if (error)
        *error = why;
    lat_mem_free(lock_path);
    lat_mem_free(osv_path);
    return status;
}

static enum lat_status check_feeds(struct lat_policy *policy, const struct lat_policy_leg *leg, struct lat_error *error)
{
    struct feeds_policy f;
    return read_feeds(&f, policy, leg, error);
}

static enum lat_status run_feeds(const struct lat_gate_run *run, const struct lat_policy_leg *leg, struct lat_leg_result *result,
                                 struct lat_error *error)
{
    return lat_feeds_run(run, leg, (int64_t)time(NULL), result, error);
}

const struct lat_leg_kind lat_leg_feeds = { "feeds", check_feeds, run_feeds };
