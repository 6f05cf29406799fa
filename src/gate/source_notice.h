// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What a source file says of its own licence, in its comments: SPDX tags, the GNU licences' names in a grant, copyright
// lines. Text in strings and code is not looked at, so that a program about licences is not taken for a licensed one.
#ifndef LAT_GATE_SOURCE_NOTICE_H
#define LAT_GATE_SOURCE_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

enum lat_notice_kind {
    LAT_NOTICE_TAG,       // "SPDX-License-Identifier: <text>"
    LAT_NOTICE_GNU,       // a grant under a GNU licence; `text` is its family: "GPL", "LGPL", "AGPL"
    LAT_NOTICE_COPYRIGHT, // a line that begins with "Copyright"; `text` is the line
};

struct lat_notice {
    enum lat_notice_kind kind;
    const char *text;
    size_t length;
    size_t line; // of a grant: where its comment begins
};

typedef void (*lat_notice_fn)(void *context, const struct lat_notice *notice);

// True when the name is that of a source file whose comments are understood.
bool lat_source_notice_knows(const char *path);
void lat_source_notice_scan(const char *path, const char *text, size_t length, lat_notice_fn found, void *context);

#endif
