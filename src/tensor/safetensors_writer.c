// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <string.h>

#include "core/buf.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "tensor/safetensors.h"

enum { HEADER_BYTES_MAX = 100000000 };

struct target {
    uint64_t offset; // in the file
    size_t elements;
    size_t element_bytes;
    size_t written; // elements; each is written once
};

struct lat_st_writer {
    struct lat_file_out out;
    struct target *targets;
    char **names;
    size_t count;
};

static void add_metadata(struct lat_buf *header, const struct lat_st_pair *metadata, size_t count)
{
    lat_buf_add_text(header, "\"__metadata__\":{");
    for (size_t i = 0; i < count; i++) {
        if (i)
            lat_buf_add_char(header, ',');
        lat_json_add_string(header, metadata[i].key, strlen(metadata[i].key));
        lat_buf_add_char(header, ':');
        lat_json_add_string(header, metadata[i].value, strlen(metadata[i].value));
    }
    lat_buf_add_char(header, '}');
}

// One tensor's entry; its data goes to *offset, which moves on.
static bool add_entry(struct lat_buf *header, const struct lat_st_spec *spec, struct target *target, uint64_t *offset)
{
    size_t elements = 1, bytes = 0;
    lat_json_add_string(header, spec->name, strlen(spec->name));
    lat_buf_addf(header, ":{\"dtype\":\"%s\",\"shape\":[", lat_dtype_name(spec->dtype));
    for (int i = 0; i < spec->rank; i++) {
        if (!lat_size_mul(elements, spec->shape[i], &elements))
            return false;
        lat_buf_addf(header, i ? ",%zu" : "%zu", spec->shape[i]);
    }
    *target = (struct target){ .offset = *offset, .elements = elements, .element_bytes = lat_dtype_bits(spec->dtype) / 8 };
    if (!lat_size_mul(elements, target->element_bytes, &bytes) || bytes > INT64_MAX - *offset)
        return false;
    lat_buf_addf(header, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)*offset, (unsigned long long)(*offset + bytes));
    *offset += bytes;
    return true;
}

static enum lat_status write_header(struct lat_st_writer *w, const struct lat_st_spec *specs,
                                    const struct lat_st_pair *metadata, size_t metadata_count, struct lat_error *error)
{
    struct lat_buf header;
    uint64_t offset = 0;
    bool fits = true;
    lat_buf_init(&header, HEADER_BYTES_MAX);
    lat_buf_add_text(&header, "{");
    if (metadata_count)
        add_metadata(&header, metadata, metadata_count);
    for (size_t i = 0; i < w->count && fits; i++) {
        if (i || metadata_count)
            lat_buf_add_char(&header, ',');
        fits = add_entry(&header, &specs[i], &w->targets[i], &offset);
    }
    lat_buf_add_char(&header, '}');
    while (header.length % 8 && !header.failed) // so that the data begins at a multiple of 8
        lat_buf_add_char(&header, ' ');
    enum lat_status status = LAT_OK;
    if (header.failed && header.length < HEADER_BYTES_MAX / 2)
        status = lat_error_memory(error, w->out.path);
    else if (!fits || header.failed)
        status = lat_error_set(error, LAT_LIMIT, "%s: too much for one safetensors file", w->out.path);
    unsigned char length[8];
    for (size_t i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)header.length >> (8 * i));
    for (size_t i = 0; i < w->count; i++)
        w->targets[i].offset += 8 + header.length;
    if (status == LAT_OK)
        status = lat_file_out_write(&w->out, 0, length, sizeof length, error);
    if (status == LAT_OK)
        status = lat_file_out_write(&w->out, 8, header.bytes, header.length, error);
    lat_buf_release(&header);
    return status;
}

static enum lat_status writer_init(struct lat_st_writer *w, const struct lat_st_spec *specs,
                                   const struct lat_st_pair *metadata, size_t metadata_count, struct lat_error *error)
{
    w->targets = lat_mem_new(w->count, sizeof *w->targets);
    w->names = lat_mem_new(w->count, sizeof *w->names);
    if (!w->targets || !w->names)
        return lat_error_memory(error, w->out.path);
    for (size_t i = 0; i < w->count; i++) {
        LAT_BUG_IF(specs[i].rank > LAT_ST_RANK_MAX || lat_dtype_bits(specs[i].dtype) % 8 != 0);
        w->names[i] = lat_mem_copy_text(specs[i].name, strlen(specs[i].name));
        if (!w->names[i])
            return lat_error_memory(error, w->out.path);
    }
    return write_header(w, specs, metadata, metadata_count, error);
}

enum lat_status lat_st_writer_open(struct lat_st_writer **out, const char *path, const struct lat_st_spec *specs,
                                   size_t count, const struct lat_st_pair *metadata, size_t metadata_count,
                                   struct lat_error *error)
{
    *out = NULL;
    struct lat_st_writer *w = lat_mem_new(1, sizeof *w);
    if (!w)
        return lat_error_memory(error, path);
    w->count = count;
    w->out.descriptor = -1;
    enum lat_status status = lat_file_out_open(&w->out, path, error);
    if (status == LAT_OK)
        status = writer_init(w, specs, metadata, metadata_count, error);
    if (status != LAT_OK) {
        lat_st_writer_abort(w);
        return status;
    }
    *out = w;
    return LAT_OK;
}

enum lat_status lat_st_writer_put(struct lat_st_writer *writer, size_t tensor, size_t first, const void *values,
                                  size_t count, struct lat_error *error)
{
    LAT_BUG_IF(tensor >= writer->count);
    struct target *t = &writer->targets[tensor];
    LAT_BUG_IF(first > t->elements || count > t->elements - first);
    t->written += count;
    return lat_file_out_write(&writer->out, t->offset + first * t->element_bytes, values, count * t->element_bytes, error);
}

static void writer_free(struct lat_st_writer *writer)
{
    for (size_t i = 0; writer->names && i < writer->count; i++)
        lat_mem_free(writer->names[i]);
    lat_mem_free(writer->names);
    lat_mem_free(writer->targets);
    lat_mem_free(writer);
}

enum lat_status lat_st_writer_commit(struct lat_st_writer *writer, struct lat_error *error)
{
    for (size_t i = 0; i < writer->count; i++)
        if (writer->targets[i].written != writer->targets[i].elements) {
            enum lat_status status = lat_error_set(error, LAT_FAILED, "%s: tensor %s has %zu of %zu elements", writer->out.path,
                                                   writer->names[i], writer->targets[i].written, writer->targets[i].elements);
            lat_st_writer_abort(writer);
            return status;
        }
    enum lat_status status = lat_file_out_commit(&writer->out, error);
    writer_free(writer);
    return status;
}

void lat_st_writer_abort(struct lat_st_writer *writer)
{
    if (!writer)
        return;
    lat_file_out_abort(&writer->out);
    writer_free(writer);
}
