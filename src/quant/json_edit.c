// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "quant/json_edit.h"

#include <string.h>

struct editor {
    struct lat_buf *out;
    const char *text;
    size_t length;
    const struct lat_json_change *changes;
    size_t count;
};

static bool same(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool is_about(const struct lat_json_change *c, const char *inside, const struct lat_json_node *member)
{
    return same(c->inside, inside) && strlen(c->key) == member->key_length && memcmp(c->key, member->key, member->key_length) == 0;
}

static const struct lat_json_change *change_of(const struct editor *e, const char *inside, const struct lat_json_node *member)
{
    for (size_t i = 0; i < e->count; i++)
        if (is_about(&e->changes[i], inside, member))
            return &e->changes[i];
    return NULL;
}

static bool is_there(const struct lat_json_node *object, const struct lat_json_change *c)
{
    for (const struct lat_json_node *m = object->u.child; m; m = m->next)
        if (is_about(c, c->inside, m))
            return true;
    return false;
}

// A number as it was written: one above 2^63 is more than a double of it says.
static void copy_number(const struct editor *e, const struct lat_json_node *node)
{
    size_t end = node->offset;
    while (end < e->length && e->text[end] && strchr("+-.0123456789eE", e->text[end]))
        end++;
    lat_buf_add(e->out, e->text + node->offset, end - node->offset);
}

static void indent(struct lat_buf *out, int depth)
{
    lat_buf_add_char(out, '\n');
    for (int i = 0; i < depth; i++)
        lat_buf_add_text(out, "  ");
}

static void write_value(const struct editor *e, const struct lat_json_node *node, int depth, const char *name);

static void begin_member(const struct editor *e, bool *any, int depth, const char *key, size_t length)
{
    if (*any)
        lat_buf_add_char(e->out, ',');
    *any = true;
    indent(e->out, depth);
    lat_json_add_string(e->out, key, length);
    lat_buf_add_text(e->out, ": ");
}

// `name`: NULL for the root, the key for an object of the root, "" for any other, in which nothing is changed.
static void write_object(const struct editor *e, const struct lat_json_node *node, int depth, const char *name)
{
    bool any = false, edited = !name || *name;
    lat_buf_add_char(e->out, '{');
    for (const struct lat_json_node *m = node->u.child; m; m = m->next) {
        const struct lat_json_change *change = edited ? change_of(e, name, m) : NULL;
        if (change && !change->value)
            continue;
        char key[64] = "";
        if (!name && m->key_length < sizeof key)
            memcpy(key, m->key, m->key_length);
        begin_member(e, &any, depth + 1, m->key, m->key_length);
        if (change)
            lat_buf_add_text(e->out, change->value);
        else
            write_value(e, m, depth + 1, key);
    }
    for (size_t i = 0; edited && i < e->count; i++)
        if (same(e->changes[i].inside, name) && e->changes[i].value && !is_there(node, &e->changes[i])) {
            begin_member(e, &any, depth + 1, e->changes[i].key, strlen(e->changes[i].key));
            lat_buf_add_text(e->out, e->changes[i].value);
        }
    if (any)
        indent(e->out, depth);
    lat_buf_add_char(e->out, '}');
}

static void write_array(const struct editor *e, const struct lat_json_node *node, int depth)
{
    lat_buf_add_char(e->out, '[');
    for (const struct lat_json_node *m = node->u.child; m; m = m->next) {
        indent(e->out, depth + 1);
        write_value(e, m, depth + 1, "");
        if (m->next)
            lat_buf_add_char(e->out, ',');
    }
    if (node->u.child)
        indent(e->out, depth);
    lat_buf_add_char(e->out, ']');
}

static void write_value(const struct editor *e, const struct lat_json_node *node, int depth, const char *name)
{
    switch (node->kind) {
    case LAT_JSON_NULL: lat_buf_add_text(e->out, "null"); break;
    case LAT_JSON_FALSE: lat_buf_add_text(e->out, "false"); break;
    case LAT_JSON_TRUE: lat_buf_add_text(e->out, "true"); break;
    case LAT_JSON_INT:
    case LAT_JSON_DOUBLE: copy_number(e, node); break;
    case LAT_JSON_STRING: lat_json_add_string(e->out, node->u.string, node->count); break;
    case LAT_JSON_ARRAY: write_array(e, node, depth); break;
    default: write_object(e, node, depth, name); break;
    }
}

void lat_json_edit(struct lat_buf *out, const struct lat_json_node *root, const char *text, size_t length,
                   const struct lat_json_change *changes, size_t count)
{
    struct editor e = { .out = out, .text = text, .length = length, .changes = changes, .count = count };
    write_value(&e, root, 0, NULL);
    lat_buf_add_char(out, '\n');
}
