// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/mem.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64, ARENA_BLOCK_MIN = 64 * 1024, ARENA_ALIGN = 16 };

void *lat_mem_new(size_t count, size_t size) { return calloc(count ? count : 1, size ? size : 1); }

void *lat_mem_new_aligned(size_t count, size_t size)
{
    size_t bytes = 0, rounded = 0;
    if (!lat_size_mul(count, size, &bytes) || !lat_size_add(bytes, CACHE_LINE, &rounded))
        return NULL;
    rounded -= rounded % CACHE_LINE;
    if (rounded == 0)
        rounded = CACHE_LINE;
    void *block = aligned_alloc(CACHE_LINE, rounded);
    if (block)
        memset(block, 0, rounded);
    return block;
}

void *lat_mem_grow(void *block, size_t count, size_t size)
{
    size_t bytes = 0;
    if (!lat_size_mul(count, size, &bytes))
        return NULL;
    return realloc(block, bytes ? bytes : 1);
}

void lat_mem_free(void *block) { free(block); }

char *lat_mem_copy_text(const char *bytes, size_t length)
{
    size_t total = 0;
    if (!lat_size_add(length, 1, &total))
        return NULL;
    char *copy = malloc(total);
    if (!copy)
        return NULL;
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

struct lat_arena_block {
    struct lat_arena_block *next;
    size_t used;
    size_t size;
    _Alignas(ARENA_ALIGN) unsigned char bytes[];
};

void lat_arena_init(struct lat_arena *arena, size_t bytes_max)
{
    *arena = (struct lat_arena){ .bytes_max = bytes_max };
}

static struct lat_arena_block *arena_block_add(struct lat_arena *arena, size_t need)
{
    size_t size = need > ARENA_BLOCK_MIN ? need : ARENA_BLOCK_MIN;
    // Doubling keeps the number of blocks small for large documents without wasting more than half.
    if (size < arena->bytes_total / 2)
        size = arena->bytes_total / 2;
    size_t total = 0;
    if (need > arena->bytes_max - arena->bytes_total)
        return NULL;
    if (size > arena->bytes_max - arena->bytes_total)
        size = arena->bytes_max - arena->bytes_total;
    if (!lat_size_add(size, sizeof(struct lat_arena_block), &total))
        return NULL;
    struct lat_arena_block *block = malloc(total);
    if (!block)
        return NULL;
    *block = (struct lat_arena_block){ .next = arena->blocks, .size = size };
    arena->blocks = block;
    arena->bytes_total += size;
    return block;
}

void *lat_arena_new(struct lat_arena *arena, size_t count, size_t size)
{
    size_t bytes = 0, rounded = 0;
    if (!lat_size_mul(count, size, &bytes) || !lat_size_add(bytes, ARENA_ALIGN - 1, &rounded))
        return NULL;
    rounded -= rounded % ARENA_ALIGN;
    struct lat_arena_block *block = arena->blocks;
    if (!block || rounded > block->size - block->used)
        block = arena_block_add(arena, rounded);
    if (!block)
        return NULL;
    void *out = block->bytes + block->used;
    block->used += rounded;
    memset(out, 0, rounded);
    return out;
}

void *lat_arena_new_aligned(struct lat_arena *arena, size_t count, size_t size)
{
    size_t bytes = 0, padded = 0;
    if (!lat_size_mul(count, size, &bytes) || !lat_size_add(bytes, CACHE_LINE, &padded))
        return NULL;
    unsigned char *block = lat_arena_new(arena, padded, 1);
    return block ? block + (CACHE_LINE - (uintptr_t)block % CACHE_LINE) % CACHE_LINE : NULL;
}

void lat_arena_release(struct lat_arena *arena)
{
    while (arena->blocks) {
        struct lat_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->bytes_total = 0;
}
