// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "text/bpe.h"

#include <string.h>

#include "core/error.h"
#include "core/mem.h"
#include "core/utf8.h"

struct lat_bpe_slot {
    const char *bytes; // NULL: free
    uint32_t length;
    int32_t id;
};

struct lat_bpe_merge {
    int32_t left, right; // left -1: free
    uint32_t rank;
    int32_t id;
};

static size_t table_size(size_t count)
{
    size_t slots = 16;
    while (slots < count + count / 2)
        slots *= 2;
    return slots;
}

enum lat_status lat_bpe_init(struct lat_bpe *bpe, size_t pieces, size_t merges, struct lat_error *error)
{
    *bpe = (struct lat_bpe){ .pieces_mask = table_size(pieces) - 1, .merges_mask = table_size(merges) - 1 };
    bpe->pieces = lat_mem_new(bpe->pieces_mask + 1, sizeof *bpe->pieces);
    bpe->merges = lat_mem_new(bpe->merges_mask + 1, sizeof *bpe->merges);
    if (!bpe->pieces || !bpe->merges) {
        lat_bpe_release(bpe);
        return lat_error_memory(error, "the vocabulary");
    }
    for (size_t i = 0; i <= bpe->merges_mask; i++)
        bpe->merges[i].left = -1;
    memset(bpe->byte_ids, -1, sizeof bpe->byte_ids);
    return LAT_OK;
}

void lat_bpe_release(struct lat_bpe *bpe)
{
    lat_mem_free(bpe->pieces);
    lat_mem_free(bpe->merges);
    *bpe = (struct lat_bpe){ 0 };
}

static struct lat_bpe_slot *piece_slot(const struct lat_bpe *bpe, const char *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    size_t at = (size_t)(hash ^ hash >> 29) & bpe->pieces_mask;
    while (bpe->pieces[at].bytes
           && (bpe->pieces[at].length != length || memcmp(bpe->pieces[at].bytes, bytes, length) != 0))
        at = (at + 1) & bpe->pieces_mask;
    return &bpe->pieces[at];
}

bool lat_bpe_add_piece(struct lat_bpe *bpe, const char *bytes, size_t length, int32_t id)
{
    struct lat_bpe_slot *slot = piece_slot(bpe, bytes, length);
    if (slot->bytes)
        return false;
    *slot = (struct lat_bpe_slot){ bytes, (uint32_t)length, id };
    if (length == 1)
        bpe->byte_ids[(unsigned char)bytes[0]] = id;
    return true;
}

int32_t lat_bpe_find_piece(const struct lat_bpe *bpe, const char *bytes, size_t length)
{
    const struct lat_bpe_slot *slot = piece_slot(bpe, bytes, length);
    return slot->bytes ? slot->id : -1;
}

static struct lat_bpe_merge *merge_slot(const struct lat_bpe *bpe, int32_t left, int32_t right)
{
    uint64_t hash = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 20) & bpe->merges_mask;
    while (bpe->merges[at].left >= 0 && (bpe->merges[at].left != left || bpe->merges[at].right != right))
        at = (at + 1) & bpe->merges_mask;
    return &bpe->merges[at];
}

void lat_bpe_add_merge(struct lat_bpe *bpe, int32_t left, int32_t right, uint32_t rank, int32_t id)
{
    *merge_slot(bpe, left, right) = (struct lat_bpe_merge){ left, right, rank, id };
}

enum lat_status lat_ids_add(struct lat_ids *ids, int32_t id, struct lat_error *error)
{
    if (ids->count == ids->capacity) {
        size_t capacity = ids->capacity ? ids->capacity * 2 : 64;
        int32_t *items = lat_mem_grow(ids->items, capacity, sizeof *items);
        if (!items)
            return lat_error_memory(error, "token ids");
        ids->items = items;
        ids->capacity = capacity;
    }
    ids->items[ids->count++] = id;
    return LAT_OK;
}

void lat_ids_release(struct lat_ids *ids)
{
    lat_mem_free(ids->items);
    *ids = (struct lat_ids){ 0 };
}

// The symbols of a piece are a doubly linked list; merges wait in a heap ordered by (rank, position). An entry whose
// symbols have changed since is recognised by its ids and dropped.
struct symbol {
    int32_t id; // -1: merged away
    int32_t before, after; // -1: none
};

struct candidate {
    uint32_t rank;
    int32_t at;
    int32_t left, right, merged;
};

struct work {
    struct symbol *symbols;
    struct candidate *heap;
    size_t heap_count;
};

static bool earlier(const struct candidate *a, const struct candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void heap_push(struct work *w, struct candidate c)
{
    size_t at = w->heap_count++;
    while (at > 0 && earlier(&c, &w->heap[(at - 1) / 2])) {
        w->heap[at] = w->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    w->heap[at] = c;
}

static struct candidate heap_pop(struct work *w)
{
    struct candidate top = w->heap[0], last = w->heap[--w->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= w->heap_count)
            break;
        if (child + 1 < w->heap_count && earlier(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!earlier(&w->heap[child], &last))
            break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = last;
    return top;
}

static void consider(const struct lat_bpe *bpe, struct work *w, int32_t at)
{
    if (at < 0 || w->symbols[at].after < 0)
        return;
    int32_t left = w->symbols[at].id, right = w->symbols[w->symbols[at].after].id;
    const struct lat_bpe_merge *merge = merge_slot(bpe, left, right);
    if (merge->left >= 0)
        heap_push(w, (struct candidate){ merge->rank, at, left, right, merge->id });
}

static void merge_all(const struct lat_bpe *bpe, struct work *w)
{
    while (w->heap_count) {
        struct candidate c = heap_pop(w);
        struct symbol *s = &w->symbols[c.at];
        if (s->id != c.left || s->after < 0 || w->symbols[s->after].id != c.right)
            continue;
        struct symbol *gone = &w->symbols[s->after];
        s->id = c.merged;
        s->after = gone->after;
        gone->id = -1;
        if (s->after >= 0)
            w->symbols[s->after].before = c.at;
        consider(bpe, w, s->before);
        consider(bpe, w, c.at);
    }
}

static enum lat_status encode_with(const struct lat_bpe *bpe, struct work *w, const char *bytes, size_t length,
                                   struct lat_ids *ids, struct lat_error *error)
{
    int32_t count = 0;
    for (size_t i = 0; i < length; i++) {
        int32_t id = bpe->byte_ids[(unsigned char)bytes[i]];
        if (id < 0)
            continue; // Hugging Face drops a byte that the vocabulary lacks
        w->symbols[count] = (struct symbol){ .id = id, .before = count - 1, .after = count + 1 };
        count++;
    }
    if (count == 0)
        return LAT_OK;
    w->symbols[count - 1].after = -1;
    for (int32_t i = 0; i < count; i++)
        consider(bpe, w, i);
    merge_all(bpe, w);
    for (int32_t i = 0; i >= 0; i = w->symbols[i].after)
        LAT_TRY(lat_ids_add(ids, w->symbols[i].id, error));
    return LAT_OK;
}

enum lat_status lat_bpe_encode(const struct lat_bpe *bpe, const char *bytes, size_t length, struct lat_ids *ids,
                               struct lat_error *error)
{
    enum { SMALL = 64 };
    if (length == 1 && bpe->byte_ids[(unsigned char)bytes[0]] >= 0)
        return lat_ids_add(ids, bpe->byte_ids[(unsigned char)bytes[0]], error);
    int32_t whole = bpe->ignore_merges ? lat_bpe_find_piece(bpe, bytes, length) : -1;
    if (whole >= 0)
        return lat_ids_add(ids, whole, error);
    if (length > INT32_MAX / 4)
        return lat_error_set(error, LAT_LIMIT, "a piece of text of %zu bytes without a place to split", length);
    // Each merge removes a symbol and adds at most two candidates: never more than 3 * length in the heap at once.
    struct symbol few[SMALL];
    struct candidate some[3 * SMALL];
    struct work w = { .symbols = few, .heap = some };
    if (length > SMALL) {
        w.symbols = lat_mem_new(length, sizeof *w.symbols);
        w.heap = lat_mem_new(3 * length, sizeof *w.heap);
    }
    enum lat_status status = w.symbols && w.heap ? encode_with(bpe, &w, bytes, length, ids, error)
                                                 : lat_error_memory(error, "a long piece of text");
    if (length > SMALL) {
        lat_mem_free(w.symbols);
        lat_mem_free(w.heap);
    }
    return status;
}

bool lat_bpe_text_to_bytes(const char *text, size_t length, char *out, size_t *used)
{
    *used = 0;
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        size_t size = lat_utf8_decode(text + at, length - at, &code);
        // Printable Latin-1 stands for itself; the other 68 bytes, in order, are U+0100 and up.
        bool itself = (code >= 33 && code <= 126) || (code >= 161 && code <= 172) || (code >= 174 && code <= 255);
        uint32_t index = code - 0x100;
        if (itself)
            out[(*used)++] = (char)code;
        else if (code >= 0x100 && index < 68)
            out[(*used)++] = (char)(index < 33 ? index : index < 67 ? index - 33 + 127 : 173);
        else
            return false;
        at += size;
    }
    return true;
}
