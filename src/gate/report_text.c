// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// For people: plain text and Markdown.
#include "gate/report.h"

static void add_place(struct lat_buf *out, const struct lat_finding *f, enum lat_report_escape escape)
{
    if (!f->path)
        return;
    lat_report_add(out, f->path, LAT_REPORT_NAME_MAX, escape);
    if (f->line)
        lat_buf_addf(out, ":%zu", f->line);
    lat_buf_add_text(out, ": ");
}

static void add_items(struct lat_buf *out, const struct lat_report *r, size_t leg, enum lat_report_escape escape)
{
    size_t first, count = lat_report_items_of(r, leg, &first), i = 0;
    for (; i < count && lat_report_has_room(r, out, leg); i++) {
        const struct lat_finding *f = &r->items[first + i].finding;
        lat_buf_addf(out, escape == LAT_REPORT_MARKDOWN ? "- **%s** " : "  %s ", lat_leg_state_name(f->state));
        lat_report_add(out, f->code, 20, escape);
        lat_buf_add_char(out, ' ');
        add_place(out, f, escape);
        lat_report_add(out, f->message, LAT_REPORT_TEXT_MAX, escape);
        lat_buf_add_char(out, '\n');
        if (f->fix) {
            lat_buf_add_text(out, "  fix: ");
            lat_report_add(out, f->fix, LAT_REPORT_NAME_MAX, escape);
            lat_buf_add_char(out, '\n');
        }
    }
    size_t dropped = leg < r->verdict->count && r->results[leg] ? r->results[leg]->findings_dropped : 0;
    if (count - i + dropped)
        lat_buf_addf(out, "%s%zu findings more\n", escape == LAT_REPORT_MARKDOWN ? "- " : "  ", count - i + dropped);
}

void lat_report_text(struct lat_buf *out, const struct lat_report *r)
{
    lat_buf_addf(out, "tree %s, attempt %u\n", r->plan->tree, r->plan->attempt);
    for (size_t i = 0; i < r->verdict->count; i++) {
        const struct lat_verdict_leg *leg = &r->verdict->legs[i];
        lat_buf_addf(out, "%-12s ", lat_leg_state_name(leg->state));
        lat_report_add(out, leg->plan->name, LAT_REPORT_NAME_MAX, LAT_REPORT_PLAIN);
        if (!leg->plan->required)
            lat_buf_add_text(out, " (informs)");
        if (r->results[i]) {
            lat_buf_addf(out, ": %llu ", (unsigned long long)r->results[i]->population);
            lat_report_add(out, r->results[i]->population_unit, 40, LAT_REPORT_PLAIN);
            lat_buf_addf(out, ", %.1f s", r->results[i]->seconds);
        } else {
            lat_buf_add_text(out, ": ");
            lat_report_add(out, leg->plan->reason, LAT_REPORT_NAME_MAX, LAT_REPORT_PLAIN);
        }
        lat_buf_add_char(out, '\n');
        add_items(out, r, i, LAT_REPORT_PLAIN);
    }
    add_items(out, r, r->verdict->count, LAT_REPORT_PLAIN);
    lat_buf_addf(out, "verdict: %s\n", lat_report_verdict_name(r));
}

void lat_report_markdown(struct lat_buf *out, const struct lat_report *r)
{
    lat_buf_addf(out, "## Gate: %s\n\nTree `%s`, attempt %u.\n\n"
                      "| leg | state | counts | looked at | time | reason |\n|---|---|---|--:|--:|---|\n",
                 lat_report_verdict_name(r), r->plan->tree, r->plan->attempt);
    for (size_t i = 0; i < r->verdict->count; i++) {
        const struct lat_verdict_leg *leg = &r->verdict->legs[i];
        lat_buf_add_text(out, "| ");
        lat_report_add(out, leg->plan->name, LAT_REPORT_NAME_MAX, LAT_REPORT_MARKDOWN);
        lat_buf_addf(out, " | %s | %s | ", lat_leg_state_name(leg->state), leg->plan->required ? "required" : "informs");
        if (r->results[i]) {
            lat_buf_addf(out, "%llu ", (unsigned long long)r->results[i]->population);
            lat_report_add(out, r->results[i]->population_unit, 40, LAT_REPORT_MARKDOWN);
            lat_buf_addf(out, " | %.1f s | ", r->results[i]->seconds);
        } else
            lat_buf_add_text(out, "| | ");
        lat_report_add(out, leg->plan->reason, LAT_REPORT_NAME_MAX, LAT_REPORT_MARKDOWN);
        lat_buf_add_text(out, " |\n");
    }
    for (size_t i = 0; i <= r->verdict->count; i++) {
        size_t first;
        if (lat_report_items_of(r, i, &first) == 0)
            continue;
        lat_buf_add_text(out, "\n### ");
        lat_report_add(out, i < r->verdict->count ? r->verdict->legs[i].plan->name : "evidence", LAT_REPORT_NAME_MAX, LAT_REPORT_MARKDOWN);
        lat_buf_add_text(out, "\n\n");
        add_items(out, r, i, LAT_REPORT_MARKDOWN);
    }
}
