// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "tensor/name_table.h"

#include <string.h>

#include "core/mem.h"

bool lat_name_table_init(struct lat_name_table *table, size_t count)
{
    size_t slots = 8;
    while (slots < count * 2)
        slots *= 2;
    table->slots = lat_mem_new(slots, sizeof *table->slots);
    table->mask = slots - 1;
    return table->slots != NULL;
}

void lat_name_table_release(struct lat_name_table *table)
{
    lat_mem_free(table->slots);
    *table = (struct lat_name_table){ 0 };
}

static const struct lat_st_tensor **slot_of(const struct lat_name_table *table, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    size_t at = (size_t)(hash ^ hash >> 29) & table->mask;
    while (table->slots[at] && strcmp(table->slots[at]->name, name) != 0)
        at = (at + 1) & table->mask;
    return &table->slots[at];
}

bool lat_name_table_add(struct lat_name_table *table, const struct lat_st_tensor *tensor)
{
    const struct lat_st_tensor **slot = slot_of(table, tensor->name);
    if (*slot)
        return false;
    *slot = tensor;
    return true;
}

const struct lat_st_tensor *lat_name_table_find(const struct lat_name_table *table, const char *name)
{
    return table->slots ? *slot_of(table, name) : NULL;
}
