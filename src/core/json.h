// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// JSON (RFC 8259), strict: one value, UTF-8, no duplicate keys, bounded depth, numbers finite. Ours rather than a
// library's because the engine must build with nothing but libc and utf8proc, and because tokenizer files of 20 MB
// are read at every start: strings without escapes stay views into the caller's text.
//
//   struct lat_json doc;
//   LAT_TRY(lat_json_parse(&doc, text, length, "config.json", error));
//   const struct lat_json_node *h = lat_json_get(doc.root, "hidden_size");
//   lat_json_release(&doc);                          // nodes and decoded strings die here; `text` must live until then
#ifndef LAT_CORE_JSON_H
#define LAT_CORE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/mem.h"
#include "lattice/status.h"

enum lat_json_kind {
    LAT_JSON_NULL,
    LAT_JSON_FALSE,
    LAT_JSON_TRUE,
    LAT_JSON_INT,    // written without fraction or exponent, and fits int64
    LAT_JSON_DOUBLE, // any other number
    LAT_JSON_STRING,
    LAT_JSON_ARRAY,
    LAT_JSON_OBJECT,
};

struct lat_json_node {
    const struct lat_json_node *next; // sibling, in the file's order
    const char *key;                  // member name when the parent is an object; may hold NUL bytes
    union {
        const char *string; // UTF-8, not NUL-terminated, may hold NUL bytes
        const struct lat_json_node *child;
        int64_t integer;
        double number;
    } u;
    uint32_t key_length;
    uint32_t count; // bytes of a string, elements of an array, members of an object
    uint32_t offset; // where the value starts in the text, for messages
    uint8_t kind;
};

struct lat_json {
    const struct lat_json_node *root;
    struct lat_arena arena;
};

enum { LAT_JSON_DEPTH_MAX = 64 };

// Parses text[0..length). `name` is used in messages ("name: line 3, column 7: ...").
LAT_NODISCARD enum lat_status lat_json_parse(struct lat_json *doc, const char *text, size_t length, const char *name,
                                             struct lat_error *error);
void lat_json_release(struct lat_json *doc);

// Member of an object, or NULL (also when `node` is NULL or no object).
const struct lat_json_node *lat_json_get(const struct lat_json_node *node, const char *key);
// True when node is a string equal to `text`.
bool lat_json_is_text(const struct lat_json_node *node, const char *text);
// INT or DOUBLE as a double; false for anything else or NULL.
bool lat_json_to_double(const struct lat_json_node *node, double *out);

// Writing: appends to a lat_buf. Strings must be UTF-8 (invalid bytes become U+FFFD); numbers are written with '.'
// whatever the locale, so that they read back exactly; a number that is not finite becomes null.
void lat_json_add_string(struct lat_buf *out, const char *text, size_t length);
void lat_json_add_double(struct lat_buf *out, double value);

#endif
