// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Writing a parsed JSON document again, keys, order and the spelling of numbers kept, with members of some objects replaced
// where they stand, added at the end, or left out.
#ifndef LAT_QUANT_JSON_EDIT_H
#define LAT_QUANT_JSON_EDIT_H

#include "core/json.h"

// A member of the root object, or of the root's member `inside`. `value` is JSON text; NULL leaves the member out.
struct lat_json_change {
    const char *inside; // NULL: of the root; else it only counts when the root has that object
    const char *key;
    const char *value;
};

// `text` [length]: what `root` was parsed from.
void lat_json_edit(struct lat_buf *out, const struct lat_json_node *root, const char *text, size_t length,
                   const struct lat_json_change *changes, size_t count);

#endif
