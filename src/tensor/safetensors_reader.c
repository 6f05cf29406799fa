// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "tensor/name_table.h"
#include "tensor/safetensors.h"

enum { HEADER_BYTES_MAX = 100000000, LENGTH_BYTES = 8 }; // the format's limit; the length before the header

struct lat_st_file {
    struct lat_file_map map;
    struct lat_arena arena; // names and metadata
    struct lat_st_tensor *tensors;
    size_t count;
    struct lat_st_pair *metadata;
    size_t metadata_count;
    struct lat_name_table names;
    const char *path;
};

struct span {
    size_t begin, end; // in the payload
};

static uint64_t load_u64(const unsigned char *bytes)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

// A NUL-terminated copy in the arena; a name with a NUL inside would be cut, so it is refused.
static enum lat_status copy_text(struct lat_st_file *f, const char *bytes, size_t length, const char **out,
                                 struct lat_error *error)
{
    if (length && memchr(bytes, 0, length))
        return lat_error_set(error, LAT_FORMAT, "%s: a name in the header holds a NUL byte", f->path);
    char *text = lat_arena_new(&f->arena, length + 1, 1);
    if (!text)
        return lat_error_memory(error, f->path);
    memcpy(text, bytes, length);
    *out = text;
    return LAT_OK;
}

static enum lat_status bad(const struct lat_st_file *f, const char *tensor, const char *what, struct lat_error *error)
{
    return lat_error_set(error, LAT_FORMAT, "%s: tensor %s: %s", f->path, tensor, what);
}

static enum lat_status read_shape(struct lat_st_file *f, struct lat_st_tensor *t, const struct lat_json_node *shape,
                                  struct lat_error *error)
{
    if (!shape || shape->kind != LAT_JSON_ARRAY)
        return bad(f, t->name, "shape is not a list", error);
    if (shape->count > LAT_ST_RANK_MAX)
        return bad(f, t->name, "more than 8 dimensions", error);
    t->elements = 1;
    for (const struct lat_json_node *n = shape->u.child; n; n = n->next) {
        if (n->kind != LAT_JSON_INT || n->u.integer < 0)
            return bad(f, t->name, "a dimension is not a whole number", error);
        t->shape[t->rank++] = (size_t)n->u.integer;
        if (!lat_size_mul(t->elements, (size_t)n->u.integer, &t->elements))
            return bad(f, t->name, "its shape overflows", error);
    }
    return LAT_OK;
}

static enum lat_status read_span(struct lat_st_file *f, struct lat_st_tensor *t, const struct lat_json_node *offsets,
                                 size_t payload, struct span *span, struct lat_error *error)
{
    if (!offsets || offsets->kind != LAT_JSON_ARRAY || offsets->count != 2)
        return bad(f, t->name, "data_offsets is not two numbers", error);
    const struct lat_json_node *b = offsets->u.child, *e = b->next;
    if (b->kind != LAT_JSON_INT || e->kind != LAT_JSON_INT || b->u.integer < 0 || e->u.integer < b->u.integer
        || (uint64_t)e->u.integer > payload)
        return bad(f, t->name, "data_offsets do not lie inside the file", error);
    *span = (struct span){ (size_t)b->u.integer, (size_t)e->u.integer };
    t->bytes = span->end - span->begin;
    size_t bits = 0;
    if (!lat_size_mul(t->elements, lat_dtype_bits(t->dtype), &bits) || bits % 8 != 0 || bits / 8 != t->bytes)
        return bad(f, t->name, "data_offsets do not fit its shape and type", error);
    return LAT_OK;
}

static enum lat_status read_tensor(struct lat_st_file *f, const struct lat_json_node *entry, size_t payload,
                                   struct lat_st_tensor *t, struct span *span, struct lat_error *error)
{
    LAT_TRY(copy_text(f, entry->key, entry->key_length, &t->name, error));
    if (entry->kind != LAT_JSON_OBJECT)
        return bad(f, t->name, "its entry is not an object", error);
    const struct lat_json_node *dtype = lat_json_get(entry, "dtype");
    if (!dtype || dtype->kind != LAT_JSON_STRING)
        return bad(f, t->name, "dtype is missing", error);
    if (!lat_dtype_parse(dtype->u.string, dtype->count, &t->dtype))
        return lat_error_set(error, LAT_UNSUPPORTED, "%s: tensor %s: unknown dtype \"%.*s\"", f->path, t->name,
                             dtype->count > 40 ? 40 : (int)dtype->count, dtype->u.string);
    LAT_TRY(read_shape(f, t, lat_json_get(entry, "shape"), error));
    return read_span(f, t, lat_json_get(entry, "data_offsets"), payload, span, error);
}

static enum lat_status read_metadata(struct lat_st_file *f, const struct lat_json_node *node, struct lat_error *error)
{
    if (node->kind != LAT_JSON_OBJECT)
        return lat_error_set(error, LAT_FORMAT, "%s: __metadata__ is not an object", f->path);
    f->metadata = lat_arena_new(&f->arena, node->count, sizeof *f->metadata);
    if (!f->metadata)
        return lat_error_memory(error, f->path);
    for (const struct lat_json_node *n = node->u.child; n; n = n->next) {
        struct lat_st_pair *pair = &f->metadata[f->metadata_count];
        if (n->kind != LAT_JSON_STRING)
            return lat_error_set(error, LAT_FORMAT, "%s: a value of __metadata__ is not a string", f->path);
        LAT_TRY(copy_text(f, n->key, n->key_length, &pair->key, error));
        LAT_TRY(copy_text(f, n->u.string, n->count, &pair->value, error));
        f->metadata_count++;
    }
    return LAT_OK;
}

static int by_offset(const void *a, const void *b)
{
    const struct lat_st_tensor *x = a, *y = b;
    if (x->data != y->data)
        return x->data < y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; // empty tensors before the one that starts at their place
}

// Sorted by offset, the spans must cover the payload with neither hole nor overlap.
static enum lat_status check_tiling(struct lat_st_file *f, const unsigned char *payload, size_t bytes,
                                    struct lat_error *error)
{
    qsort(f->tensors, f->count, sizeof *f->tensors, by_offset);
    const unsigned char *next = payload;
    for (size_t i = 0; i < f->count; i++) {
        if (f->tensors[i].data != next)
            return bad(f, f->tensors[i].name, f->tensors[i].data < next ? "overlaps another tensor" : "leaves a hole before it",
                       error);
        next += f->tensors[i].bytes;
    }
    if (next != payload + bytes)
        return lat_error_set(error, LAT_FORMAT, "%s: bytes after the last tensor", f->path);
    if (!lat_name_table_init(&f->names, f->count))
        return lat_error_memory(error, f->path);
    for (size_t i = 0; i < f->count; i++)
        if (!lat_name_table_add(&f->names, &f->tensors[i]))
            return bad(f, f->tensors[i].name, "stands twice", error);
    return LAT_OK;
}

static enum lat_status read_header(struct lat_st_file *f, const struct lat_json_node *root, const unsigned char *payload,
                                   size_t bytes, struct lat_error *error)
{
    if (root->kind != LAT_JSON_OBJECT)
        return lat_error_set(error, LAT_FORMAT, "%s: the header is not an object", f->path);
    f->tensors = lat_mem_new(root->count, sizeof *f->tensors);
    if (!f->tensors)
        return lat_error_memory(error, f->path);
    for (const struct lat_json_node *n = root->u.child; n; n = n->next) {
        static const char key[] = "__metadata__";
        if (n->key_length == sizeof key - 1 && memcmp(n->key, key, sizeof key - 1) == 0) {
            LAT_TRY(read_metadata(f, n, error));
            continue;
        }
        struct span span = { 0 };
        struct lat_st_tensor *t = &f->tensors[f->count];
        LAT_TRY(read_tensor(f, n, bytes, t, &span, error));
        t->data = payload + span.begin;
        f->count++;
    }
    return check_tiling(f, payload, bytes, error);
}

static enum lat_status open_parts(struct lat_st_file *f, const char *path, struct lat_error *error)
{
    char *copy = lat_arena_new(&f->arena, strlen(path) + 1, 1);
    if (!copy)
        return lat_error_memory(error, "a path");
    memcpy(copy, path, strlen(path) + 1);
    f->path = copy;
    LAT_TRY(lat_file_map_open(&f->map, path, error));
    if (f->map.length < LENGTH_BYTES)
        return lat_error_set(error, LAT_FORMAT, "%s: %zu bytes, too short for safetensors", path, f->map.length);
    uint64_t header = load_u64(f->map.bytes);
    size_t rest = f->map.length - LENGTH_BYTES;
    if (header > rest || header > HEADER_BYTES_MAX)
        return lat_error_set(error, LAT_FORMAT, "%s: a header of %llu bytes in a file of %zu", path,
                             (unsigned long long)header, f->map.length);
    const char *text = (const char *)f->map.bytes + LENGTH_BYTES;
    if (header == 0 || text[0] != '{')
        return lat_error_set(error, LAT_FORMAT, "%s: the header does not begin with '{'", path);
    struct lat_json doc;
    LAT_TRY(lat_json_parse(&doc, text, (size_t)header, path, error));
    enum lat_status status = read_header(f, doc.root, f->map.bytes + LENGTH_BYTES + header, rest - (size_t)header, error);
    lat_json_release(&doc);
    return status;
}

enum lat_status lat_st_open(struct lat_st_file **out, const char *path, struct lat_error *error)
{
    *out = NULL;
    struct lat_st_file *f = lat_mem_new(1, sizeof *f);
    if (!f)
        return lat_error_memory(error, path);
    lat_arena_init(&f->arena, 4 * (size_t)HEADER_BYTES_MAX);
    enum lat_status status = open_parts(f, path, error);
    if (status != LAT_OK) {
        lat_st_close(f);
        return status;
    }
    *out = f;
    return LAT_OK;
}

void lat_st_close(struct lat_st_file *file)
{
    if (!file)
        return;
    lat_name_table_release(&file->names);
    lat_mem_free(file->tensors);
    lat_arena_release(&file->arena);
    lat_file_map_close(&file->map);
    lat_mem_free(file);
}

size_t lat_st_count(const struct lat_st_file *file) { return file->count; }
const struct lat_st_tensor *lat_st_at(const struct lat_st_file *file, size_t index) { return &file->tensors[index]; }

const struct lat_st_tensor *lat_st_find(const struct lat_st_file *file, const char *name)
{
    return lat_name_table_find(&file->names, name);
}

const char *lat_st_metadata(const struct lat_st_file *file, const char *key)
{
    for (size_t i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].value;
    return NULL;
}
