// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Texts, each once, with a number: 0, 1, 2, ... in the order in which they came.
#ifndef LAT_GATE_TEXT_TABLE_H
#define LAT_GATE_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mem.h"
#include "lattice/status.h"

struct lat_text_table {
    const char **texts; // NUL-terminated
    size_t count;
    size_t capacity;
    uint32_t *slots; // number + 1, or 0; twice as many as capacity
    struct lat_arena arena;
};

enum { LAT_TEXT_NONE = -1 };

void lat_text_table_init(struct lat_text_table *table);
void lat_text_table_release(struct lat_text_table *table);
// The number of a text, put there when it is new; LAT_TEXT_NONE when memory is short.
int64_t lat_text_table_put(struct lat_text_table *table, const char *text, size_t length);
// Its number, or LAT_TEXT_NONE.
int64_t lat_text_table_find(const struct lat_text_table *table, const char *text, size_t length);

#endif
