// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// For programs: our own JSON, and SARIF 2.1.0.
#include <string.h>

#include "core/sha256.h"
#include "gate/gate_codes.h"
#include "gate/report.h"

static void add_finding(struct lat_buf *out, const struct lat_finding *f)
{
    lat_buf_add_text(out, "{\"code\":");
    lat_report_add_json(out, f->code, 20);
    lat_buf_addf(out, ",\"state\":\"%s\",\"path\":", lat_leg_state_name(f->state));
    lat_report_add_json(out, f->path, LAT_REPORT_NAME_MAX);
    lat_buf_addf(out, ",\"line\":%zu,\"column\":%zu,\"message\":", f->line, f->column);
    lat_report_add_json(out, f->message, LAT_REPORT_TEXT_MAX);
    lat_buf_add_text(out, ",\"fix\":");
    lat_report_add_json(out, f->fix, LAT_REPORT_NAME_MAX);
    lat_buf_add_char(out, '}');
}

static void add_findings(struct lat_buf *out, const struct lat_report *r, size_t leg)
{
    size_t first, count = lat_report_items_of(r, leg, &first), i = 0;
    lat_buf_add_text(out, "\"findings\":[");
    for (; i < count && lat_report_has_room(r, out, leg); i++) {
        if (i)
            lat_buf_add_char(out, ',');
        add_finding(out, &r->items[first + i].finding);
    }
    size_t dropped = leg < r->verdict->count && r->results[leg] ? r->results[leg]->findings_dropped : 0;
    lat_buf_addf(out, "],\"findings_left_out\":%zu", count - i + dropped);
}

void lat_report_json(struct lat_buf *out, const struct lat_report *r)
{
    lat_buf_add_text(out, "{\"schema\":\"lattice-gate-report-1\",\"nonce\":");
    lat_report_add_json(out, r->plan->nonce, LAT_REPORT_NAME_MAX);
    lat_buf_add_text(out, ",\"tree\":");
    lat_report_add_json(out, r->plan->tree, LAT_REPORT_NAME_MAX);
    lat_buf_addf(out, ",\"attempt\":%u,\"verdict\":\"%s\",\"legs\":[", r->plan->attempt, lat_report_verdict_name(r));
    for (size_t i = 0; i < r->verdict->count; i++) {
        const struct lat_verdict_leg *leg = &r->verdict->legs[i];
        const struct lat_leg_result *result = r->results[i];
        lat_buf_add_text(out, i ? ",\n{\"leg\":" : "\n{\"leg\":");
        lat_report_add_json(out, leg->plan->name, LAT_REPORT_NAME_MAX);
        lat_buf_addf(out, ",\"state\":\"%s\",\"required\":%s,\"needed\":%s,\"reason\":", lat_leg_state_name(leg->state),
                     leg->plan->required ? "true" : "false", leg->plan->needed ? "true" : "false");
        lat_report_add_json(out, leg->plan->reason, LAT_REPORT_NAME_MAX);
        lat_buf_addf(out, ",\"population\":%llu,\"unit\":", (unsigned long long)(result ? result->population : 0));
        lat_report_add_json(out, result ? result->population_unit : NULL, 40);
        lat_buf_addf(out, ",\"milliseconds\":%.0f,", result ? result->seconds * 1000 : 0.0);
        add_findings(out, r, i);
        lat_buf_add_char(out, '}');
    }
    lat_buf_add_text(out, "],\n");
    add_findings(out, r, r->verdict->count);
    lat_buf_add_text(out, "}\n");
}

// A path as a URI reference: relative ones to the root of the project. A finding of no file points at the policy.
static void add_uri(struct lat_buf *out, const char *path)
{
    size_t length = path ? strnlen(path, LAT_REPORT_NAME_MAX) : 0;
    lat_buf_add_char(out, '"');
    if (length == 0)
        lat_buf_add_text(out, "gate.yaml");
    else if (path[0] == '/')
        lat_buf_add_text(out, "file://");
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)path[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~/+", c ? c : ':'))
            lat_buf_add_char(out, (char)c);
        else
            lat_buf_addf(out, "%%%02X", c);
    }
    lat_buf_add_char(out, '"');
}

// The same finding of the same leg has the same fingerprint in every run; lines move, so they do not count.
static void fingerprint(char hex[LAT_SHA256_HEX_SIZE], const char *leg, const struct lat_finding *f)
{
    struct lat_sha256 hash;
    const char *parts[] = { leg, f->code, f->path ? f->path : "", f->message };
    lat_sha256_init(&hash);
    for (size_t i = 0; i < 4; i++)
        lat_sha256_add(&hash, parts[i], strlen(parts[i]) + 1);
    lat_sha256_hex(&hash, hex);
}

static void add_sarif_result(struct lat_buf *out, const struct lat_report *r, const struct lat_report_item *item, bool first)
{
    const struct lat_finding *f = &item->finding;
    const struct lat_plan_leg *leg = item->leg < r->verdict->count ? r->verdict->legs[item->leg].plan : NULL;
    char hex[LAT_SHA256_HEX_SIZE];
    bool informs = leg && !leg->required;
    fingerprint(hex, leg ? leg->name : "", f);
    lat_buf_add_text(out, first ? "\n{\"ruleId\":" : ",\n{\"ruleId\":");
    lat_report_add_json(out, f->code, 20);
    lat_buf_addf(out, ",\"level\":\"%s\",\"message\":{\"text\":", f->state >= LAT_LEG_UNMEASURABLE && !informs ? "error"
                 : f->state >= LAT_LEG_WARN ? "warning" : "note");
    lat_report_add_json(out, f->message, LAT_REPORT_TEXT_MAX);
    lat_buf_add_text(out, "},\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":");
    add_uri(out, f->path);
    lat_buf_addf(out, "},\"region\":{\"startLine\":%zu", f->line ? f->line : 1);
    if (f->column)
        lat_buf_addf(out, ",\"startColumn\":%zu", f->column);
    lat_buf_addf(out, "}}}],\"partialFingerprints\":{\"latticeGate/v1\":\"%s\"},\"properties\":{\"leg\":", hex);
    lat_report_add_json(out, leg ? leg->name : NULL, LAT_REPORT_NAME_MAX);
    lat_buf_addf(out, ",\"state\":\"%s\"}}", lat_leg_state_name(f->state));
}

static void add_rules(struct lat_buf *out, const struct lat_report *r)
{
    bool first = true;
    for (const struct lat_gate_code_table *const *t = lat_gate_code_tables; *t; t++)
        for (size_t c = 0; c < (*t)->count; c++) {
            const struct lat_gate_code *code = &(*t)->codes[c];
            bool used = false;
            for (size_t i = 0; i < r->item_count && !used; i++)
                used = strcmp(r->items[i].finding.code, code->code) == 0;
            if (!used)
                continue;
            lat_buf_addf(out, "%s{\"id\":\"%s\",\"shortDescription\":{\"text\":", first ? "" : ",", code->code);
            lat_report_add_json(out, code->title, LAT_REPORT_NAME_MAX);
            lat_buf_add_text(out, "},\"help\":{\"text\":");
            lat_report_add_json(out, code->fix, LAT_REPORT_NAME_MAX);
            lat_buf_add_text(out, "}}");
            first = false;
        }
}

void lat_report_sarif(struct lat_buf *out, const struct lat_report *r)
{
    size_t left_out = 0;
    bool first = true;
    lat_buf_addf(out,
                 "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{"
                 "\"name\":\"lattice-gate\",\"version\":\"%s\",\"rules\":[", lat_version());
    add_rules(out, r);
    lat_buf_add_text(out, "]}},\"results\":[");
    for (size_t i = 0; i < r->item_count; i++)
        if (lat_report_has_room(r, out, r->items[i].leg)) {
            add_sarif_result(out, r, &r->items[i], first);
            first = false;
        } else
            left_out++;
    lat_buf_addf(out, "],\"properties\":{\"verdict\":\"%s\",\"findingsLeftOut\":%zu}}]}\n", lat_report_verdict_name(r), left_out);
}
