// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Memory: counted allocation with checked sizes, and an arena for many small things that die together.
#ifndef LAT_CORE_MEM_H
#define LAT_CORE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Checked arithmetic on sizes that come from files. True when the result fits and is stored.
static inline bool lat_size_mul(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool lat_size_add(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }

// `count` zeroed elements of `size` bytes; NULL when memory is short or the product overflows. Free with lat_mem_free.
void *lat_mem_new(size_t count, size_t size);
// The same on a 64-byte boundary (a cache line, and a full vector register).
void *lat_mem_new_aligned(size_t count, size_t size);
// Grows to `count` elements, keeping what was there; the new part is not cleared. NULL leaves the old block as it was.
void *lat_mem_grow(void *block, size_t count, size_t size);
void lat_mem_free(void *block);
// A NUL-terminated copy of `length` bytes.
char *lat_mem_copy_text(const char *bytes, size_t length);

// An arena: allocations that are all released at once.
struct lat_arena {
    struct lat_arena_block *blocks;
    size_t bytes_max;   // refuses to grow past this
    size_t bytes_total; // in blocks now
};

void lat_arena_init(struct lat_arena *arena, size_t bytes_max);
void *lat_arena_new(struct lat_arena *arena, size_t count, size_t size); // zeroed, 16-byte aligned; NULL when short
// The same on a 64-byte boundary.
void *lat_arena_new_aligned(struct lat_arena *arena, size_t count, size_t size);
void lat_arena_release(struct lat_arena *arena);

#endif
