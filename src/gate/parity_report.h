// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A judgement of parity as text for people, as Markdown, and as JSON. Pure functions of the result.
#ifndef LAT_GATE_PARITY_REPORT_H
#define LAT_GATE_PARITY_REPORT_H

#include "core/buf.h"
#include "gate/parity_compare.h"

void lat_parity_report_text(struct lat_buf *out, const struct lat_parity_result *r, const struct lat_parity_limits *limits);
void lat_parity_report_markdown(struct lat_buf *out, const struct lat_parity_result *r, const struct lat_parity_limits *limits);
void lat_parity_report_json(struct lat_buf *out, const struct lat_parity_result *r, const struct lat_parity_limits *limits);

#endif
