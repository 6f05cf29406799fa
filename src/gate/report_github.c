// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// GitHub's workflow commands. The platform shows ten annotations of a level: the worst are written, the rest counted.
#include "gate/report.h"

enum { SHOWN_MAX = 10 };

static void add_command(struct lat_buf *out, const char *level, const char *leg, const struct lat_finding *f)
{
    lat_buf_addf(out, "::%s ", level);
    if (f->path) {
        lat_buf_add_text(out, "file=");
        lat_report_add(out, f->path, LAT_REPORT_NAME_MAX, LAT_REPORT_PROPERTY);
        if (f->line)
            lat_buf_addf(out, ",line=%zu", f->line);
        lat_buf_add_char(out, ',');
    }
    lat_buf_add_text(out, "title=");
    lat_report_add(out, leg, LAT_REPORT_NAME_MAX, LAT_REPORT_PROPERTY);
    lat_buf_add_char(out, ' ');
    lat_report_add(out, f->code, 20, LAT_REPORT_PROPERTY);
    lat_buf_add_text(out, "::");
    lat_report_add(out, f->message, LAT_REPORT_TEXT_MAX, LAT_REPORT_COMMAND);
    if (f->fix) {
        lat_buf_add_text(out, " (fix: ");
        lat_report_add(out, f->fix, LAT_REPORT_NAME_MAX, LAT_REPORT_COMMAND);
        lat_buf_add_char(out, ')');
    }
    lat_buf_add_char(out, '\n');
}

// What only informs is a warning at most.
static enum lat_leg_state weight(const struct lat_report *r, const struct lat_report_item *item)
{
    bool informs = item->leg < r->verdict->count && !r->verdict->legs[item->leg].plan->required;
    return informs && item->finding.state > LAT_LEG_WARN ? LAT_LEG_WARN : item->finding.state;
}

void lat_report_github(struct lat_buf *out, const struct lat_report *r)
{
    static const char *const levels[] = { "error", "warning", "notice" };
    size_t shown[3] = { 0 }, left_out = 0;
    for (int s = LAT_LEG_STATE_COUNT - 1; s >= 0; s--)
        for (size_t i = 0; i < r->item_count; i++) {
            const struct lat_report_item *item = &r->items[i];
            size_t level = s >= (int)LAT_LEG_UNMEASURABLE ? 0 : s == (int)LAT_LEG_WARN ? 1 : 2;
            if ((int)weight(r, item) != s)
                continue;
            if (shown[level]++ < SHOWN_MAX)
                add_command(out, levels[level], item->leg < r->verdict->count ? r->verdict->legs[item->leg].plan->name : "evidence",
                            &item->finding);
            else
                left_out++;
        }
    if (left_out)
        lat_buf_addf(out, "and %zu findings more\n", left_out);
    lat_buf_addf(out, "verdict: %s\n", lat_report_verdict_name(r));
}
