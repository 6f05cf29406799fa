// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/evidence.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/sealed_json.h"

#define RESULT_SCHEMA "lattice-gate-result-1"
enum { FILES_MAX = 4096 };

// JSON takes UTF-8; a path may hold any bytes: those of a text that is no UTF-8 are written as \xNN.
static json_t *text_or_null(const char *text)
{
    struct lat_buf escaped;
    json_t *out = text ? json_string(text) : json_null();
    if (out)
        return out;
    lat_buf_init(&escaped, 1 << 20);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c >= 0x20 && *c < 0x7f)
            lat_buf_add_char(&escaped, (char)*c);
        else
            lat_buf_addf(&escaped, "\\x%02x", *c);
    out = escaped.failed ? NULL : json_string(escaped.bytes ? escaped.bytes : "");
    lat_buf_release(&escaped);
    return out;
}

static json_t *findings_of(const struct lat_leg_result *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct lat_finding *f = &r->findings[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:I, s:I, s:o, s:o}", "code", f->code, "state",
                                              lat_leg_state_name(f->state), "path", text_or_null(f->path), "line",
                                              (json_int_t)f->line, "column", (json_int_t)f->column, "message",
                                              text_or_null(f->message), "fix", text_or_null(f->fix)));
    }
    if (json_array_size(list) == r->finding_count)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *object_of(const struct lat_leg_result *r, const struct lat_plan *plan)
{
    json_t *findings = findings_of(r);
    json_t *details = r->details ? json_incref(r->details) : json_object();
    if (!findings || !details) {
        json_decref(findings);
        json_decref(details);
        return NULL;
    }
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:s, s:I, s:I, s:s, s:I, s:I, s:I, s:f, s:I, s:i, s:I, s:o, s:o}", "schema", RESULT_SCHEMA,
                     "nonce", plan->nonce, "tree", plan->tree, "attempt", (int)plan->attempt, "leg", r->leg, "state",
                     lat_leg_state_name(r->state), "population", (json_int_t)r->population, "population_min",
                     (json_int_t)r->population_min, "population_unit", r->population_unit ? r->population_unit : "", "passed",
                     (json_int_t)r->passed, "failed", (json_int_t)r->failed, "skipped", (json_int_t)r->skipped, "seconds", r->seconds,
                     "rss_peak", (json_int_t)r->rss_peak, "process_status", r->process_status, "findings_dropped",
                     (json_int_t)r->findings_dropped, "findings", findings, "details", details);
}

enum lat_status lat_leg_evidence_write(const struct lat_leg_result *result, const struct lat_plan *plan, const char *work,
                                   struct lat_error *error)
{
    struct lat_buf path;
    lat_buf_init(&path, 1 << 16);
    lat_buf_addf(&path, "%s/results", work);
    if (path.failed || (mkdir(path.bytes, 0777) != 0 && errno != EEXIST)) {
        enum lat_status status = path.failed ? lat_error_memory(error, "evidence") : lat_error_errno(error, errno, "make", path.bytes);
        lat_buf_release(&path);
        return status;
    }
    lat_buf_addf(&path, "/%s.json", result->leg);
    json_t *object = object_of(result, plan);
    enum lat_status status = object && !path.failed ? lat_sealed_write(object, path.bytes, error) : lat_error_memory(error, "evidence");
    json_decref(object);
    lat_buf_release(&path);
    return status;
}

static uint64_t count_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value < 0 ? 0 : (uint64_t)value;
}

static enum lat_status take_finding(struct lat_leg_result *r, const json_t *f, const char *path, struct lat_error *error)
{
    enum lat_leg_state state;
    const char *code = json_string_value(json_object_get(f, "code")), *message = json_string_value(json_object_get(f, "message"));
    const char *name = json_string_value(json_object_get(f, "state"));
    if (!code || !message || !name || !lat_leg_state_parse(name, &state))
        return lat_error_set(error, LAT_FORMAT, "%s: a finding is not whole", path);
    code = lat_leg_text(r, code);
    if (!code)
        return lat_error_memory(error, "evidence");
    lat_leg_find(r, state, code, json_string_value(json_object_get(f, "path")), (size_t)count_of(f, "line"),
                 json_string_value(json_object_get(f, "fix")), "%s", message);
    return LAT_OK;
}

static enum lat_status take(struct lat_leg_evidence *e, const json_t *object, const char *path, struct lat_error *error)
{
    const char *leg = json_string_value(json_object_get(object, "leg")), *name = json_string_value(json_object_get(object, "state"));
    const char *nonce = json_string_value(json_object_get(object, "nonce")), *tree = json_string_value(json_object_get(object, "tree"));
    const char *unit = json_string_value(json_object_get(object, "population_unit"));
    enum lat_leg_state state;
    struct lat_leg_result *r = &e->result;
    json_t *f;
    size_t i;
    if (!leg || !name || !nonce || !tree || !unit || !lat_leg_state_parse(name, &state) || strlen(nonce) >= sizeof e->nonce
        || strlen(tree) >= sizeof e->tree)
        return lat_error_set(error, LAT_FORMAT, "%s: leg, state, nonce or tree are missing", path);
    snprintf(e->nonce, sizeof e->nonce, "%s", nonce);
    snprintf(e->tree, sizeof e->tree, "%s", tree);
    e->attempt = (unsigned)count_of(object, "attempt");
    r->leg = lat_leg_text(r, leg);
    r->population_unit = lat_leg_text(r, unit);
    if (!r->leg || !r->population_unit)
        return lat_error_memory(error, "evidence");
    r->population = count_of(object, "population");
    r->population_min = count_of(object, "population_min");
    r->passed = count_of(object, "passed");
    r->failed = count_of(object, "failed");
    r->skipped = count_of(object, "skipped");
    r->seconds = json_number_value(json_object_get(object, "seconds"));
    r->rss_peak = count_of(object, "rss_peak");
    r->process_status = (int)json_integer_value(json_object_get(object, "process_status"));
    r->details = json_incref(json_object_get(object, "details"));
    json_array_foreach(json_object_get(object, "findings"), i, f)
        LAT_TRY(take_finding(r, f, path, error));
    r->findings_dropped += (size_t)count_of(object, "findings_dropped");
    r->state = lat_leg_state_worse(r->state, state);
    return LAT_OK;
}

enum lat_status lat_leg_evidence_read(struct lat_leg_evidence *evidence, const char *path, struct lat_error *error)
{
    json_t *object = NULL;
    *evidence = (struct lat_leg_evidence){ 0 };
    lat_leg_result_init(&evidence->result, "");
    enum lat_status status = lat_sealed_read(&object, path, RESULT_SCHEMA, error);
    if (status == LAT_OK)
        status = take(evidence, object, path, error);
    json_decref(object);
    return status;
}

void lat_leg_evidence_release(struct lat_leg_evidence *evidence) { lat_leg_result_release(&evidence->result); }

static int is_json(const struct dirent *e)
{
    size_t length = strlen(e->d_name);
    return length > 5 && strcmp(e->d_name + length - 5, ".json") == 0 && e->d_name[0] != '.';
}

static enum lat_status read_one(struct lat_leg_evidence_set *set, const char *path, struct lat_error *error)
{
    struct lat_error why = { 0 };
    if (lat_leg_evidence_read(&set->items[set->count], path, &why) == LAT_OK) {
        set->count++;
        return LAT_OK;
    }
    lat_leg_evidence_release(&set->items[set->count]);
    void *grown = lat_mem_grow(set->unreadable, set->unreadable_count + 1, sizeof *set->unreadable);
    if (!grown)
        return lat_error_memory(error, "evidence");
    set->unreadable = grown;
    snprintf(set->unreadable[set->unreadable_count++], sizeof *set->unreadable, "%s", why.text);
    return LAT_OK;
}

enum lat_status lat_leg_evidence_set_read(struct lat_leg_evidence_set *set, const char *folder, struct lat_error *error)
{
    struct dirent **names = NULL;
    *set = (struct lat_leg_evidence_set){ 0 };
    int count = scandir(folder, &names, is_json, alphasort);
    enum lat_status status = LAT_OK;
    if (count < 0 && errno == ENOENT)
        return LAT_OK; // no evidence: every needed leg is missing
    if (count < 0 || count > FILES_MAX)
        status = count < 0 ? lat_error_errno(error, errno, "read", folder)
                           : lat_error_set(error, LAT_LIMIT, "%s: holds more than %d results", folder, FILES_MAX);
    set->items = status == LAT_OK ? lat_mem_new((size_t)count + 1, sizeof *set->items) : NULL;
    if (status == LAT_OK && !set->items)
        status = lat_error_memory(error, "evidence");
    for (int i = 0; i < count; i++) {
        char *path = status == LAT_OK ? lat_file_path_join(folder, names[i]->d_name) : NULL;
        if (status == LAT_OK)
            status = path ? read_one(set, path, error) : lat_error_memory(error, "evidence");
        lat_mem_free(path);
        free(names[i]);
    }
    free(names);
    return status;
}

void lat_leg_evidence_set_release(struct lat_leg_evidence_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        lat_leg_evidence_release(&set->items[i]);
    lat_mem_free(set->items);
    lat_mem_free(set->unreadable);
    *set = (struct lat_leg_evidence_set){ 0 };
}
