// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Reports: pure functions of plan, verdict and evidence. None can change a verdict. Texts come from strangers: each format
// escapes them, each text is cut at a length, and a report stays below LAT_REPORT_BYTES_MAX whatever the evidence holds; what
// was left out is counted in it.
#ifndef LAT_GATE_REPORT_H
#define LAT_GATE_REPORT_H

#include "core/buf.h"
#include "gate/evidence.h"
#include "gate/verdict.h"

enum { LAT_REPORT_BYTES_MAX = 900 << 10 };

// A finding of a leg, or a rule of the verdict that a leg broke.
struct lat_report_item {
    size_t leg; // in verdict->legs; verdict->count: of no leg
    struct lat_finding finding;
};

struct lat_report {
    const struct lat_plan *plan;
    const struct lat_verdict *verdict;
    const struct lat_leg_result *results[LAT_POLICY_LEGS_MAX]; // as in verdict->legs; NULL: there is none
    struct lat_report_item *items; // by leg
    size_t item_count;
};

// Borrows all three.
LAT_NODISCARD enum lat_status lat_report_open(struct lat_report *report, const struct lat_plan *plan, const struct lat_verdict *verdict,
                                              const struct lat_leg_evidence_set *set, struct lat_error *error);
void lat_report_close(struct lat_report *report);

void lat_report_text(struct lat_buf *out, const struct lat_report *report);
void lat_report_markdown(struct lat_buf *out, const struct lat_report *report);
void lat_report_json(struct lat_buf *out, const struct lat_report *report);
void lat_report_junit(struct lat_buf *out, const struct lat_report *report);  // a suite per leg
void lat_report_sarif(struct lat_buf *out, const struct lat_report *report);  // 2.1.0
void lat_report_github(struct lat_buf *out, const struct lat_report *report); // annotations, ten of a level

// For the writers.
enum lat_report_escape { LAT_REPORT_PLAIN, LAT_REPORT_MARKDOWN, LAT_REPORT_XML, LAT_REPORT_COMMAND, LAT_REPORT_PROPERTY };
enum { LAT_REPORT_TEXT_MAX = 2000, LAT_REPORT_NAME_MAX = 400 };
// `text` (NULL: nothing) as one line of UTF-8 without control or direction characters, at most `max` bytes of it read.
void lat_report_add(struct lat_buf *out, const char *text, size_t max, enum lat_report_escape escape);
void lat_report_add_json(struct lat_buf *out, const char *text, size_t max); // the same as a JSON string; null for NULL
// The item range of a leg.
size_t lat_report_items_of(const struct lat_report *report, size_t leg, size_t *first);
// Whether there is still room for another item of this leg: each leg has a share, so that one cannot hide the others.
bool lat_report_has_room(const struct lat_report *report, const struct lat_buf *out, size_t leg);
const char *lat_report_verdict_name(const struct lat_report *report); // "PASS", "FAIL", ...

#endif
