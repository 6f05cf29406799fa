// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/text_table.h"

#include <string.h>

enum { FIRST_CAPACITY = 256 };

void lat_text_table_init(struct lat_text_table *table)
{
    *table = (struct lat_text_table){ 0 };
    lat_arena_init(&table->arena, (size_t)1 << 30);
}

void lat_text_table_release(struct lat_text_table *table)
{
    lat_mem_free(table->texts);
    lat_mem_free(table->slots);
    lat_arena_release(&table->arena);
    *table = (struct lat_text_table){ 0 };
}

static uint64_t hash(const char *text, size_t length)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h ^ h >> 29;
}

static size_t slot_of(const struct lat_text_table *t, const char *text, size_t length)
{
    size_t mask = 2 * t->capacity - 1, at = (size_t)hash(text, length) & mask;
    for (; t->slots[at]; at = (at + 1) & mask) {
        const char *there = t->texts[t->slots[at] - 1];
        if (strncmp(there, text, length) == 0 && !there[length]) // texts hold no NUL byte
            return at;
    }
    return at;
}

static bool grow(struct lat_text_table *t)
{
    struct lat_text_table bigger = *t;
    bigger.capacity = t->capacity ? 2 * t->capacity : FIRST_CAPACITY;
    const char **texts = lat_mem_grow(t->texts, bigger.capacity, sizeof *texts);
    if (texts)
        t->texts = bigger.texts = texts;
    bigger.slots = texts ? lat_mem_new(2 * bigger.capacity, sizeof *bigger.slots) : NULL;
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < t->count; i++)
        bigger.slots[slot_of(&bigger, texts[i], strlen(texts[i]))] = (uint32_t)i + 1;
    lat_mem_free(t->slots);
    *t = bigger;
    return true;
}

int64_t lat_text_table_find(const struct lat_text_table *table, const char *text, size_t length)
{
    return table->capacity ? (int64_t)table->slots[slot_of(table, text, length)] - 1 : LAT_TEXT_NONE;
}

int64_t lat_text_table_put(struct lat_text_table *table, const char *text, size_t length)
{
    int64_t there = lat_text_table_find(table, text, length);
    if (there >= 0)
        return there;
    if (table->count == table->capacity && (table->count >= UINT32_MAX / 4 || !grow(table)))
        return LAT_TEXT_NONE;
    char *copy = lat_arena_new(&table->arena, length + 1, 1);
    if (!copy)
        return LAT_TEXT_NONE;
    memcpy(copy, text, length);
    table->slots[slot_of(table, text, length)] = (uint32_t)table->count + 1;
    table->texts[table->count] = copy;
    return (int64_t)table->count++;
}
