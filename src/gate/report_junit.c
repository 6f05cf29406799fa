// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// JUnit XML: a suite per leg; a case for the leg as a whole and one for each red finding. What only informs is skipped.
#include "gate/report.h"

struct counts {
    size_t tests, failures, errors, skipped;
};

static void add_case(struct lat_buf *out, struct counts *n, const char *leg, const char *code, enum lat_leg_state state, bool required,
                     const struct lat_finding *f)
{
    const char *kind = !required || state == LAT_LEG_NOT_REQUIRED ? "skipped" : state == LAT_LEG_FAIL ? "failure" : "error";
    n->tests++;
    lat_buf_add_text(out, "<testcase classname=\"");
    lat_report_add(out, leg, LAT_REPORT_NAME_MAX, LAT_REPORT_XML);
    lat_buf_add_text(out, "\" name=\"");
    lat_report_add(out, code, LAT_REPORT_NAME_MAX, LAT_REPORT_XML);
    if (f && f->path) {
        lat_buf_add_char(out, ' ');
        lat_report_add(out, f->path, LAT_REPORT_NAME_MAX, LAT_REPORT_XML);
        lat_buf_addf(out, ":%zu", f->line);
    }
    if (state < LAT_LEG_UNMEASURABLE && state != LAT_LEG_NOT_REQUIRED) {
        lat_buf_add_text(out, "\"/>\n");
        return;
    }
    *(kind[0] == 's' ? &n->skipped : kind[0] == 'f' ? &n->failures : &n->errors) += 1;
    lat_buf_addf(out, "\"><%s message=\"%s ", kind, lat_leg_state_name(state));
    lat_report_add(out, f ? f->message : "", LAT_REPORT_TEXT_MAX, LAT_REPORT_XML);
    lat_buf_addf(out, "\"/></testcase>\n");
}

static void add_suite(struct lat_buf *out, const struct lat_report *r, size_t i)
{
    bool of_leg = i < r->verdict->count;
    const struct lat_verdict_leg *leg = of_leg ? &r->verdict->legs[i] : NULL;
    const char *name = leg ? leg->plan->name : "evidence";
    bool required = leg ? leg->plan->required : true;
    struct counts n = { 0 };
    struct lat_buf cases;
    size_t first, count = lat_report_items_of(r, i, &first), left_out = 0;
    if (!leg && count == 0)
        return;
    lat_buf_init(&cases, LAT_REPORT_BYTES_MAX);
    if (leg)
        add_case(&cases, &n, name, "leg", leg->state, required, &(struct lat_finding){ .message = leg->plan->reason });
    for (size_t k = 0; k < count; k++) {
        const struct lat_finding *f = &r->items[first + k].finding;
        if (f->state < LAT_LEG_UNMEASURABLE)
            continue;
        struct lat_buf both = { .length = out->length + cases.length };
        if (lat_report_has_room(r, &both, i))
            add_case(&cases, &n, name, f->code, f->state, required, f);
        else
            left_out++;
    }
    lat_buf_add_text(out, "<testsuite name=\"");
    lat_report_add(out, name, LAT_REPORT_NAME_MAX, LAT_REPORT_XML);
    lat_buf_addf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n", n.tests, n.failures, n.errors,
                 n.skipped, leg && r->results[i] ? r->results[i]->seconds : 0.0);
    lat_buf_add(out, cases.bytes ? cases.bytes : "", cases.length);
    if (left_out)
        lat_buf_addf(out, "<system-out>%zu findings more</system-out>\n", left_out);
    lat_buf_add_text(out, "</testsuite>\n");
    out->failed = out->failed || cases.failed;
    lat_buf_release(&cases);
}

void lat_report_junit(struct lat_buf *out, const struct lat_report *r)
{
    lat_buf_add_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"lattice-gate\">\n");
    for (size_t i = 0; i <= r->verdict->count; i++)
        add_suite(out, r, i);
    lat_buf_add_text(out, "</testsuites>\n");
}
