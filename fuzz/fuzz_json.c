// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Parses any bytes as JSON. What parses is written out again and must parse to the same again.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_node(struct lat_buf *out, const struct lat_json_node *n)
{
    static const char *const words[] = { "null", "false", "true" };
    if (n->kind <= LAT_JSON_TRUE)
        lat_buf_add_text(out, words[n->kind]);
    else if (n->kind == LAT_JSON_INT)
        lat_buf_addf(out, "%lld", (long long)n->u.integer);
    else if (n->kind == LAT_JSON_DOUBLE)
        lat_json_add_double(out, n->u.number);
    else if (n->kind == LAT_JSON_STRING)
        lat_json_add_string(out, n->u.string, n->count);
    else {
        lat_buf_add_char(out, n->kind == LAT_JSON_ARRAY ? '[' : '{');
        for (const struct lat_json_node *c = n->u.child; c; c = c->next) {
            if (n->kind == LAT_JSON_OBJECT) {
                lat_json_add_string(out, c->key, c->key_length);
                lat_buf_add_char(out, ':');
            }
            write_node(out, c);
            if (c->next)
                lat_buf_add_char(out, ',');
        }
        lat_buf_add_char(out, n->kind == LAT_JSON_ARRAY ? ']' : '}');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lat_json doc, again;
    struct lat_buf out, out2;
    if (lat_json_parse(&doc, (const char *)data, size, "input", NULL) != LAT_OK)
        return 0;
    lat_buf_init(&out, 1 << 26);
    lat_buf_init(&out2, 1 << 26);
    write_node(&out, doc.root);
    if (lat_json_parse(&again, out.bytes, out.length, "again", NULL) != LAT_OK)
        abort();
    write_node(&out2, again.root);
    if (out.length != out2.length || memcmp(out.bytes, out2.bytes, out.length) != 0)
        abort();
    lat_json_release(&doc);
    lat_json_release(&again);
    lat_buf_release(&out);
    lat_buf_release(&out2);
    return 0;
}
