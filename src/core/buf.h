// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A growable byte buffer with a hard maximum. After a failed append the buffer is marked: later appends do nothing and
// `failed` stays true, so that a long run of appends needs one check at its end.
#ifndef LAT_CORE_BUF_H
#define LAT_CORE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "lattice/status.h"

struct lat_buf {
    char *bytes; // NUL-terminated when not NULL; the NUL is not counted
    size_t length;
    size_t capacity;
    size_t bytes_max;
    bool failed;
};

void lat_buf_init(struct lat_buf *buf, size_t bytes_max);
void lat_buf_release(struct lat_buf *buf);
void lat_buf_clear(struct lat_buf *buf); // keeps the memory, forgets content and failure
void lat_buf_add(struct lat_buf *buf, const void *bytes, size_t length);
void lat_buf_add_text(struct lat_buf *buf, const char *text);
void lat_buf_add_char(struct lat_buf *buf, char c);
void lat_buf_addf(struct lat_buf *buf, const char *format, ...) LAT_PRINTF(2, 3);
// Moves the bytes out (free with lat_mem_free); the buffer is empty afterwards. NULL when an append had failed.
char *lat_buf_take(struct lat_buf *buf, size_t *length);

#endif
