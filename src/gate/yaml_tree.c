// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/yaml_tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "core/error.h"
#include "core/file.h"
#include "core/utf8.h"
#include "gate/nearest.h"

enum { NODES_MAX = 500000 }; // a file of 8 MiB could hold eight times as many, of 100 bytes each

// A collection that is still open: where its next child goes, and the key that waits for its value.
struct frame {
    struct lat_yaml_node *node;
    const struct lat_yaml_node **tail;
    const char *key;
    size_t key_line, key_column;
    bool has_key;
};

struct builder {
    struct lat_yaml *doc;
    yaml_parser_t parser;
    struct frame frames[LAT_YAML_DEPTH_MAX];
    size_t depth, nodes;
    bool ended;
    struct lat_error *error;
};

static enum lat_status refuse(struct builder *b, yaml_mark_t mark, const char *format, ...) LAT_PRINTF(3, 4);
static enum lat_status refuse(struct builder *b, yaml_mark_t mark, const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return lat_error_set(b->error, LAT_FORMAT, "%.150s:%zu:%zu: %s", b->doc->name, mark.line + 1, mark.column + 1, message);
}

static enum lat_status refuse_memory(struct builder *b)
{
    return lat_error_set(b->error, LAT_MEMORY, "%.150s: out of memory", b->doc->name);
}

// Line and column (in code points) of a byte.
static yaml_mark_t mark_of(const char *text, size_t offset)
{
    yaml_mark_t mark = { 0 };
    for (size_t i = 0; i < offset; i++)
        if (text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80)
            mark.column++;
    return mark;
}

// What no YAML parser should be asked about.
static enum lat_status check_bytes(struct builder *b, const char *text, size_t length)
{
    if (length > LAT_YAML_BYTES_MAX)
        return lat_error_set(b->error, LAT_LIMIT, "%.150s: %zu bytes; at most %d are read", b->doc->name, length, LAT_YAML_BYTES_MAX);
    const char *nul = length ? memchr(text, 0, length) : NULL;
    if (nul)
        return refuse(b, mark_of(text, (size_t)(nul - text)), "a NUL byte");
    size_t valid = lat_utf8_check(text, length);
    if (valid < length)
        return refuse(b, mark_of(text, valid), "byte 0x%02x is not UTF-8", (unsigned char)text[valid]);
    return LAT_OK;
}

static enum lat_status parser_problem(struct builder *b, const char *text)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return refuse_memory(b);
    const char *problem = p->problem ? p->problem : "not YAML";
    if (p->error == YAML_READER_ERROR)
        return refuse(b, mark_of(text, p->problem_offset), "%s", problem);
    if (p->context && p->context_mark.line != p->problem_mark.line)
        return refuse(b, p->problem_mark, "%s (%s from line %zu on)", problem, p->context, p->context_mark.line + 1);
    return refuse(b, p->problem_mark, "%s%s%s", problem, p->context ? ", " : "", p->context ? p->context : "");
}

static const char *copy_text(struct builder *b, const yaml_char_t *bytes, size_t length)
{
    char *copy = lat_arena_new(&b->doc->arena, length + 1, 1);
    if (copy && length)
        memcpy(copy, bytes, length);
    return copy;
}

// A new node, hung into the collection that is open, or made the root.
static enum lat_status add_node(struct builder *b, enum lat_yaml_kind kind, yaml_mark_t mark, struct lat_yaml_node **out)
{
    if (++b->nodes > NODES_MAX)
        return refuse(b, mark, "more than %d values", NODES_MAX);
    struct lat_yaml_node *node = lat_arena_new(&b->doc->arena, 1, sizeof *node);
    if (!node)
        return refuse_memory(b);
    *node = (struct lat_yaml_node){ .kind = kind, .line = mark.line + 1, .column = mark.column + 1 };
    *out = node;
    if (b->depth == 0) {
        b->doc->root = node;
        return LAT_OK;
    }
    struct frame *f = &b->frames[b->depth - 1];
    node->key = f->key;
    node->key_line = f->key_line;
    node->key_column = f->key_column;
    f->has_key = false;
    f->key = NULL;
    f->node->count++;
    *f->tail = node;
    f->tail = &node->next;
    return LAT_OK;
}

static bool wants_key(const struct builder *b)
{
    return b->depth > 0 && b->frames[b->depth - 1].node->kind == LAT_YAML_MAPPING && !b->frames[b->depth - 1].has_key;
}

static enum lat_status take_key(struct builder *b, const yaml_event_t *e)
{
    struct frame *f = &b->frames[b->depth - 1];
    size_t length = e->data.scalar.length;
    if (length == 0)
        return refuse(b, e->start_mark, "a key without a name");
    f->key = copy_text(b, e->data.scalar.value, length);
    if (!f->key)
        return refuse_memory(b);
    if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(f->key, "<<") == 0)
        return refuse(b, e->start_mark, "merge keys (<<) are not read; write the keys out");
    f->key_line = e->start_mark.line + 1;
    f->key_column = e->start_mark.column + 1;
    f->has_key = true;
    return LAT_OK;
}

static enum lat_status take_scalar(struct builder *b, const yaml_event_t *e)
{
    if (e->data.scalar.anchor)
        return refuse(b, e->start_mark, "anchors (&%.60s) are not read", (const char *)e->data.scalar.anchor);
    if (e->data.scalar.tag)
        return refuse(b, e->start_mark, "tags (%.60s) are not read", (const char *)e->data.scalar.tag);
    if (memchr(e->data.scalar.value, 0, e->data.scalar.length))
        return refuse(b, e->start_mark, "a text that holds a NUL byte");
    if (wants_key(b))
        return take_key(b, e);
    struct lat_yaml_node *node = NULL;
    LAT_TRY(add_node(b, LAT_YAML_SCALAR, e->start_mark, &node));
    node->text = copy_text(b, e->data.scalar.value, e->data.scalar.length);
    node->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return node->text ? LAT_OK : refuse_memory(b);
}

static enum lat_status open_collection(struct builder *b, const yaml_event_t *e, enum lat_yaml_kind kind)
{
    bool map = kind == LAT_YAML_MAPPING;
    const yaml_char_t *anchor = map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;
    const yaml_char_t *tag = map ? e->data.mapping_start.tag : e->data.sequence_start.tag;
    if (anchor)
        return refuse(b, e->start_mark, "anchors (&%.60s) are not read", (const char *)anchor);
    if (tag)
        return refuse(b, e->start_mark, "tags (%.60s) are not read", (const char *)tag);
    if (wants_key(b))
        return refuse(b, e->start_mark, "a key must be a text");
    if (b->depth == LAT_YAML_DEPTH_MAX)
        return refuse(b, e->start_mark, "nested deeper than %d", LAT_YAML_DEPTH_MAX);
    struct lat_yaml_node *node = NULL;
    LAT_TRY(add_node(b, kind, e->start_mark, &node));
    b->frames[b->depth++] = (struct frame){ .node = node, .tail = &node->child };
    return LAT_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const struct lat_yaml_node *x = *(const struct lat_yaml_node *const *)a, *y = *(const struct lat_yaml_node *const *)b;
    int order = strcmp(x->key, y->key);
    if (order != 0)
        return order;
    if (x->key_line != y->key_line)
        return x->key_line < y->key_line ? -1 : 1;
    return (x->key_column > y->key_column) - (x->key_column < y->key_column);
}

static bool stands_before(const struct lat_yaml_node *a, const struct lat_yaml_node *b)
{
    return a->key_line != b->key_line ? a->key_line < b->key_line : a->key_column < b->key_column;
}

// By sorting, so that a mapping of a hundred thousand keys does not take the square of that.
static enum lat_status refuse_duplicates(struct builder *b, const struct lat_yaml_node *map)
{
    const struct lat_yaml_node **sorted = lat_mem_new(map->count, sizeof(const struct lat_yaml_node *)), *twice = NULL, *first = NULL;
    if (!sorted)
        return refuse_memory(b);
    size_t n = 0;
    for (const struct lat_yaml_node *c = map->child; c; c = c->next)
        sorted[n++] = c;
    qsort(sorted, n, sizeof(const struct lat_yaml_node *), compare_keys);
    for (size_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0 && (!twice || stands_before(sorted[i], twice))) {
            twice = sorted[i];
            first = sorted[i - 1];
        }
    lat_mem_free(sorted);
    if (!twice)
        return LAT_OK;
    return refuse(b, (yaml_mark_t){ .line = twice->key_line - 1, .column = twice->key_column - 1 },
                  "duplicate key '%.80s', first at line %zu", twice->key, first->key_line);
}

static enum lat_status close_collection(struct builder *b)
{
    const struct lat_yaml_node *node = b->frames[--b->depth].node;
    return node->kind == LAT_YAML_MAPPING && node->count > 1 ? refuse_duplicates(b, node) : LAT_OK;
}

static enum lat_status take_event(struct builder *b, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(b, e);
    case YAML_SEQUENCE_START_EVENT:
        return open_collection(b, e, LAT_YAML_SEQUENCE);
    case YAML_MAPPING_START_EVENT:
        return open_collection(b, e, LAT_YAML_MAPPING);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return close_collection(b);
    case YAML_ALIAS_EVENT:
        return refuse(b, e->start_mark, "aliases (*%.60s) are not read; write the value out", (const char *)e->data.alias.anchor);
    case YAML_DOCUMENT_START_EVENT:
        if (e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end)
            return refuse(b, e->start_mark, "%%TAG directives are not read");
        return b->doc->root ? refuse(b, e->start_mark, "a second document") : LAT_OK;
    case YAML_STREAM_END_EVENT:
        b->ended = true;
        return LAT_OK;
    default:
        return LAT_OK;
    }
}

static enum lat_status build(struct builder *b, const char *text, size_t length)
{
    LAT_TRY(check_bytes(b, text, length));
    if (!yaml_parser_initialize(&b->parser))
        return refuse_memory(b);
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)text, length);
    enum lat_status status = LAT_OK;
    while (status == LAT_OK && !b->ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&b->parser, &event))
            status = parser_problem(b, text);
        else {
            status = take_event(b, &event);
            yaml_event_delete(&event);
        }
    }
    yaml_parser_delete(&b->parser);
    // A document without a value ("---") comes as one empty plain scalar.
    const struct lat_yaml_node *root = b->doc->root;
    if (status == LAT_OK && root && root->kind == LAT_YAML_SCALAR && root->plain && !*root->text)
        b->doc->root = NULL;
    return status;
}

enum lat_status lat_yaml_parse(struct lat_yaml *doc, const char *text, size_t length, const char *name, struct lat_error *error)
{
    *doc = (struct lat_yaml){ 0 };
    lat_arena_init(&doc->arena, 256u << 20);
    struct builder b = { .doc = doc, .error = error };
    size_t name_size = strlen(name) + 1;
    doc->name = lat_arena_new(&doc->arena, name_size, 1);
    if (!doc->name)
        return lat_error_memory(error, "a YAML document");
    memcpy(doc->name, name, name_size);
    enum lat_status status = build(&b, text ? text : "", length);
    if (status != LAT_OK)
        lat_yaml_release(doc);
    return status;
}

enum lat_status lat_yaml_read(struct lat_yaml *doc, const char *path, struct lat_error *error)
{
    struct lat_file_map map;
    *doc = (struct lat_yaml){ 0 };
    LAT_TRY(lat_file_map_open(&map, path, error));
    enum lat_status status = lat_yaml_parse(doc, (const char *)map.bytes, map.length, path, error);
    lat_file_map_close(&map);
    return status;
}

void lat_yaml_release(struct lat_yaml *doc)
{
    lat_arena_release(&doc->arena);
    *doc = (struct lat_yaml){ 0 };
}

const struct lat_yaml_node *lat_yaml_get(const struct lat_yaml_node *node, const char *key)
{
    if (!node || node->kind != LAT_YAML_MAPPING)
        return NULL;
    for (const struct lat_yaml_node *c = node->child; c; c = c->next)
        if (strcmp(c->key, key) == 0)
            return c;
    return NULL;
}

enum lat_status lat_yaml_error(struct lat_error *error, const struct lat_yaml *doc, const struct lat_yaml_node *node,
                               const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (!node)
        return lat_error_set(error, LAT_FORMAT, "%.150s: %s", doc->name, message);
    return lat_error_set(error, LAT_FORMAT, "%.150s:%zu:%zu: %s", doc->name, node->line, node->column, message);
}

// What a value is, for "expected X, not Y".
static const char *describe(const struct lat_yaml_node *node, char *out, size_t size)
{
    if (node->kind != LAT_YAML_SCALAR)
        return node->kind == LAT_YAML_SEQUENCE ? "a list" : "keys and values";
    if (node->plain && !*node->text)
        return "nothing";
    snprintf(out, size, node->plain ? "%.60s" : "'%.60s'", node->text);
    return out;
}

static enum lat_status expected(const struct lat_yaml *doc, const struct lat_yaml_node *node, const char *what, struct lat_error *error)
{
    char is[80];
    return lat_yaml_error(error, doc, node, "%s%.80s%sexpected %s, not %s", node->key ? "'" : "", node->key ? node->key : "",
                          node->key ? "': " : "", what, describe(node, is, sizeof is));
}

// Texts that YAML reads as "no value" are no text unless they stand in quotes.
static bool is_text(const struct lat_yaml_node *n)
{
    static const char *const null[] = { "", "~", "null", "Null", "NULL" };
    if (n->kind != LAT_YAML_SCALAR)
        return false;
    for (size_t i = 0; n->plain && i < sizeof null / sizeof null[0]; i++)
        if (strcmp(n->text, null[i]) == 0)
            return false;
    return true;
}

enum lat_status lat_yaml_read_text(const struct lat_yaml *doc, const struct lat_yaml_node *map, const char *key,
                                   const char **out, struct lat_error *error)
{
    const struct lat_yaml_node *n = lat_yaml_get(map, key);
    if (!n)
        return LAT_OK;
    if (!is_text(n))
        return expected(doc, n, "a text", error);
    *out = n->text;
    return LAT_OK;
}

enum lat_status lat_yaml_read_bool(const struct lat_yaml *doc, const struct lat_yaml_node *map, const char *key, bool *out,
                                   struct lat_error *error)
{
    const struct lat_yaml_node *n = lat_yaml_get(map, key);
    if (!n)
        return LAT_OK;
    bool yes = n->kind == LAT_YAML_SCALAR && n->plain && strcmp(n->text, "true") == 0;
    bool no = n->kind == LAT_YAML_SCALAR && n->plain && strcmp(n->text, "false") == 0;
    if (!yes && !no)
        return expected(doc, n, "true or false", error);
    *out = yes;
    return LAT_OK;
}

// Digits only, no sign, no overflow. `*rest` is what follows them.
static bool read_digits(const char *text, uint64_t *out, const char **rest)
{
    uint64_t value = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) || __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
            return false;
    *out = value;
    *rest = c;
    return c != text;
}

enum lat_status lat_yaml_read_count(const struct lat_yaml *doc, const struct lat_yaml_node *map, const char *key, uint64_t most,
                                    uint64_t *out, struct lat_error *error)
{
    const struct lat_yaml_node *n = lat_yaml_get(map, key);
    if (!n)
        return LAT_OK;
    uint64_t value = 0;
    const char *rest = "";
    if (n->kind != LAT_YAML_SCALAR || !n->plain || !read_digits(n->text, &value, &rest) || *rest || value > most) {
        char what[64];
        snprintf(what, sizeof what, "a whole number from 0 to %llu", (unsigned long long)most);
        return expected(doc, n, what, error);
    }
    *out = value;
    return LAT_OK;
}

enum lat_status lat_yaml_read_number(const struct lat_yaml *doc, const struct lat_yaml_node *map, const char *key, double *out,
                                     struct lat_error *error)
{
    const struct lat_yaml_node *n = lat_yaml_get(map, key);
    if (!n)
        return LAT_OK;
    char *end = NULL;
    // The set of characters keeps out what strtod takes besides: hex, inf, nan, blanks.
    bool shaped = n->kind == LAT_YAML_SCALAR && n->plain && *n->text && n->text[strspn(n->text, "+-.0123456789eE")] == '\0';
    double value = shaped ? strtod(n->text, &end) : 0;
    if (!shaped || *end || end == n->text || !isfinite(value))
        return expected(doc, n, "a finite number", error);
    *out = value;
    return LAT_OK;
}

// "12<unit>" with one of the units given; false when it is not that or too large.
struct unit {
    const char *name;
    uint64_t factor;
};

static bool read_with_unit(const char *text, const struct unit *units, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    const char *rest = NULL;
    if (!read_digits(text, &value, &rest))
        return false;
    for (; units->name; units++)
        if (strcmp(units->name, rest) == 0)
            return !__builtin_mul_overflow(value, units->factor, out) && *out <= most;
    return false;
}

enum lat_status lat_yaml_read_duration(const struct lat_yaml *doc, const struct lat_yaml_node *map, const char *key,
                                       double *seconds, struct lat_error *error)
{
    static const struct unit units[] = { { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 }, { NULL, 0 } };
    const struct lat_yaml_node *n = lat_yaml_get(map, key);
    uint64_t value = 0;
    if (!n)
        return LAT_OK;
    if (n->kind != LAT_YAML_SCALAR || !read_with_unit(n->text, units, 86400ull * 36500, &value))
        return expected(doc, n, "a time like 90s, 20m, 2h or 14d", error);
    *seconds = (double)value;
    return LAT_OK;
}

enum lat_status lat_yaml_read_bytes(const struct lat_yaml *doc, const struct lat_yaml_node *map, const char *key, uint64_t *bytes,
                                    struct lat_error *error)
{
    static const struct unit units[] = { { "", 1 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { NULL, 0 } };
    const struct lat_yaml_node *n = lat_yaml_get(map, key);
    if (!n)
        return LAT_OK;
    if (n->kind != LAT_YAML_SCALAR || !read_with_unit(n->text, units, UINT64_MAX, bytes))
        return expected(doc, n, "a size like 4096, 512MiB or 2GiB", error);
    return LAT_OK;
}

enum lat_status lat_yaml_read_texts(struct lat_yaml *doc, const struct lat_yaml_node *map, const char *key, struct lat_text_list *out,
                                    struct lat_error *error)
{
    const struct lat_yaml_node *n = lat_yaml_get(map, key);
    if (!n)
        return LAT_OK;
    bool list = n->kind == LAT_YAML_SEQUENCE;
    if (!list && !is_text(n))
        return expected(doc, n, "a text or a list of texts", error);
    size_t count = list ? n->count : 1, used = 0;
    const char **items = lat_arena_new(&doc->arena, count, sizeof(const char *));
    if (!items)
        return lat_error_memory(error, "a list of texts");
    for (const struct lat_yaml_node *c = list ? n->child : n; c; c = list ? c->next : NULL) {
        if (!is_text(c))
            return expected(doc, c, "a text", error);
        items[used++] = c->text;
    }
    *out = (struct lat_text_list){ items, used };
    return LAT_OK;
}

static enum lat_status unknown_key(const struct lat_yaml *doc, const struct lat_yaml_node *n, const char *const *known,
                                   struct lat_error *error)
{
    char hint[260] = "";
    const char *near = lat_nearest(n->key, known);
    if (near)
        snprintf(hint, sizeof hint, "did you mean '%s'?", near);
    else {
        size_t used = (size_t)snprintf(hint, sizeof hint, "known are:");
        for (size_t i = 0; known[i] && used + strlen(known[i]) + 3 < sizeof hint; i++)
            used += (size_t)snprintf(hint + used, sizeof hint - used, "%s %s", i ? "," : "", known[i]);
    }
    struct lat_yaml_node at = { .line = n->key_line, .column = n->key_column };
    return lat_yaml_error(error, doc, &at, "unknown key '%.80s'; %s", n->key, hint);
}

enum lat_status lat_yaml_check_keys(const struct lat_yaml *doc, const struct lat_yaml_node *map, const char *const *known,
                                    struct lat_error *error)
{
    if (!map)
        return LAT_OK;
    if (map->kind != LAT_YAML_MAPPING)
        return expected(doc, map, "keys and values", error);
    for (const struct lat_yaml_node *c = map->child; c; c = c->next) {
        size_t i = 0;
        while (known[i] && strcmp(known[i], c->key) != 0)
            i++;
        if (!known[i])
            return unknown_key(doc, c, known, error);
    }
    return LAT_OK;
}
