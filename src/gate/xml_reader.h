// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// XML as test programs write it, event by event. Strict (tags must match, attributes be unique, UTF-8) and small: no
// document types, so no entities but the five of the standard and character numbers, and nothing that grows when read.
#ifndef LAT_GATE_XML_READER_H
#define LAT_GATE_XML_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/buf.h"
#include "lattice/status.h"

enum { LAT_XML_DEPTH_MAX = 64, LAT_XML_ATTRIBUTES_MAX = 64, LAT_XML_BYTES_MAX = 128 << 20 };

enum lat_xml_kind { LAT_XML_START, LAT_XML_END, LAT_XML_TEXT, LAT_XML_EOF };

struct lat_xml_attribute {
    const char *name, *value;
};

struct lat_xml_event { // texts live until the next event
    enum lat_xml_kind kind;
    const char *name; // START, END
    struct lat_xml_attribute attributes[LAT_XML_ATTRIBUTES_MAX];
    size_t attribute_count;
    const char *text; // TEXT: entities decoded; may come in several pieces
    size_t text_length;
};

struct lat_xml {
    const char *at, *end, *begin;
    const char *name; // for messages
    struct {
        const char *text;
        size_t length;
    } open[LAT_XML_DEPTH_MAX];
    size_t depth;
    bool many_roots;  // several documents may follow each other
    bool had_root, close_at_once;
    struct lat_buf scratch;
};

LAT_NODISCARD enum lat_status lat_xml_open(struct lat_xml *xml, const char *text, size_t length, const char *name,
                                           struct lat_error *error);
// LAT_FORMAT "name: line N: ...". EOF comes only when every element is closed and there was one.
LAT_NODISCARD enum lat_status lat_xml_next(struct lat_xml *xml, struct lat_xml_event *event, struct lat_error *error);
void lat_xml_close(struct lat_xml *xml);
// Value of an attribute, or NULL.
const char *lat_xml_attribute_get(const struct lat_xml_event *event, const char *name);

#endif
