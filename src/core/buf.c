// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"

void lat_buf_init(struct lat_buf *buf, size_t bytes_max) { *buf = (struct lat_buf){ .bytes_max = bytes_max }; }

void lat_buf_release(struct lat_buf *buf)
{
    lat_mem_free(buf->bytes);
    *buf = (struct lat_buf){ .bytes_max = buf->bytes_max };
}

void lat_buf_clear(struct lat_buf *buf)
{
    buf->length = 0;
    buf->failed = false;
    if (buf->bytes)
        buf->bytes[0] = '\0';
}

// Makes room for `extra` more bytes and a NUL.
static bool buf_reserve(struct lat_buf *buf, size_t extra)
{
    if (buf->failed || extra > buf->bytes_max - buf->length) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->length + extra + 1;
    if (need <= buf->capacity)
        return true;
    size_t capacity = buf->capacity ? buf->capacity : 64;
    while (capacity < need)
        capacity = capacity > need / 2 ? need + need / 2 : capacity * 2;
    char *bytes = lat_mem_grow(buf->bytes, capacity, 1);
    if (!bytes) {
        buf->failed = true;
        return false;
    }
    buf->bytes = bytes;
    buf->capacity = capacity;
    return true;
}

void lat_buf_add(struct lat_buf *buf, const void *bytes, size_t length)
{
    if (!buf_reserve(buf, length))
        return;
    if (length)
        memcpy(buf->bytes + buf->length, bytes, length);
    buf->length += length;
    buf->bytes[buf->length] = '\0';
}

void lat_buf_add_text(struct lat_buf *buf, const char *text) { lat_buf_add(buf, text, strlen(text)); }
void lat_buf_add_char(struct lat_buf *buf, char c) { lat_buf_add(buf, &c, 1); }

void lat_buf_addf(struct lat_buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int need = vsnprintf(NULL, 0, format, args);
    if (need < 0)
        buf->failed = true;
    else if (buf_reserve(buf, (size_t)need)) {
        vsnprintf(buf->bytes + buf->length, (size_t)need + 1, format, again);
        buf->length += (size_t)need;
    }
    va_end(again);
    va_end(args);
}

char *lat_buf_take(struct lat_buf *buf, size_t *length)
{
    if (!buf->failed && !buf->bytes)
        buf_reserve(buf, 0);
    if (buf->failed || !buf->bytes) {
        lat_buf_release(buf);
        return NULL;
    }
    char *bytes = buf->bytes;
    bytes[buf->length] = '\0';
    if (length)
        *length = buf->length;
    *buf = (struct lat_buf){ .bytes_max = buf->bytes_max };
    return bytes;
}
