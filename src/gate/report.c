// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/report.h"

#include <string.h>

#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"

// Findings may fill this much; the rest of LAT_REPORT_BYTES_MAX is for the legs themselves.
enum { ITEM_BYTES_MAX = 550 << 10, UNREADABLE_MAX = 20 };

static const struct lat_leg_result *result_of(const struct lat_leg_evidence_set *set, const char *leg)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].result.leg, leg) == 0)
            return &set->items[i].result;
    return NULL;
}

static void put(struct lat_report *r, size_t leg, const struct lat_finding *finding)
{
    r->items[r->item_count++] = (struct lat_report_item){ leg, *finding };
}

enum lat_status lat_report_open(struct lat_report *report, const struct lat_plan *plan, const struct lat_verdict *verdict,
                                const struct lat_leg_evidence_set *set, struct lat_error *error)
{
    size_t count = verdict->count + UNREADABLE_MAX + 1;
    *report = (struct lat_report){ .plan = plan, .verdict = verdict };
    for (size_t i = 0; i < verdict->count; i++) {
        report->results[i] = result_of(set, verdict->legs[i].plan->name);
        count += report->results[i] ? report->results[i]->finding_count : 0;
    }
    report->items = lat_mem_new(count, sizeof *report->items);
    if (!report->items)
        return lat_error_memory(error, "the report");
    for (size_t i = 0; i < verdict->count; i++) {
        const struct lat_verdict_leg *leg = &verdict->legs[i];
        if (leg->code)
            put(report, i, &(struct lat_finding){ .code = leg->code, .state = leg->state, .message = leg->why });
        for (size_t k = 0; report->results[i] && k < report->results[i]->finding_count; k++)
            put(report, i, &report->results[i]->findings[k]);
    }
    for (size_t i = 0; i < set->unreadable_count && i < UNREADABLE_MAX; i++)
        put(report, verdict->count, &(struct lat_finding){ .code = "E302", .state = LAT_LEG_ERROR, .message = set->unreadable[i] });
    if (verdict->unknown)
        put(report, verdict->count, &(struct lat_finding){ .code = "V202", .state = LAT_LEG_ERROR,
                                                          .message = "there are results of legs that the plan does not know" });
    return LAT_OK;
}

void lat_report_close(struct lat_report *report)
{
    lat_mem_free(report->items);
    *report = (struct lat_report){ 0 };
}

static bool is_visible(uint32_t c)
{
    if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || (c & 0xfffe) == 0xfffe)
        return false;
    return !((c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f)); // would reorder or hide
}

static bool is_special(char c, enum lat_report_escape escape)
{
    static const char *const specials[] = { "", "|`<>&*_[]()\\#@~!:$\"'{}", "<>&\"'", "%", "%:," };
    return strchr(specials[escape], c) != NULL;
}

void lat_report_add(struct lat_buf *out, const char *text, size_t max, enum lat_report_escape escape)
{
    size_t length = text ? strnlen(text, max + 1) : 0, end = length > max ? max : length;
    for (size_t i = 0; i < end;) {
        uint32_t code = 0;
        size_t size = lat_utf8_decode(text + i, length - i, &code);
        if (size == 0)
            lat_buf_addf(out, escape == LAT_REPORT_MARKDOWN ? "&#92;x%02x" : "\\x%02x", (unsigned char)text[i]);
        else if (!is_visible(code))
            lat_buf_addf(out, escape == LAT_REPORT_MARKDOWN ? "&#92;u%04x" : "\\u%04x", (unsigned)code);
        else if (size == 1 && is_special(text[i], escape))
            lat_buf_addf(out, escape >= LAT_REPORT_COMMAND ? "%%%02X" : escape == LAT_REPORT_XML ? "&#x%x;" : "&#%d;", (int)text[i]);
        else
            lat_buf_add(out, text + i, size);
        i += size ? size : 1;
    }
    if (length > max)
        lat_buf_add_text(out, "...");
}

void lat_report_add_json(struct lat_buf *out, const char *text, size_t max)
{
    struct lat_buf line;
    if (!text) {
        lat_buf_add_text(out, "null");
        return;
    }
    lat_buf_init(&line, 8 * max + 16);
    lat_report_add(&line, text, max, LAT_REPORT_PLAIN);
    out->failed = out->failed || line.failed;
    lat_json_add_string(out, line.bytes ? line.bytes : "", line.length);
    lat_buf_release(&line);
}

size_t lat_report_items_of(const struct lat_report *report, size_t leg, size_t *first)
{
    size_t i = 0, count = 0;
    while (i < report->item_count && report->items[i].leg < leg)
        i++;
    *first = i;
    while (i + count < report->item_count && report->items[i + count].leg == leg)
        count++;
    return count;
}

bool lat_report_has_room(const struct lat_report *report, const struct lat_buf *out, size_t leg)
{
    return out->length < (size_t)ITEM_BYTES_MAX / (report->verdict->count + 1) * (leg + 1);
}

const char *lat_report_verdict_name(const struct lat_report *report)
{
    return lat_verdict_is_green(report->verdict) ? "PASS" : lat_leg_state_name(report->verdict->state);
}
