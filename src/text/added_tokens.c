// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "text/added_tokens.h"

#include <string.h>

#include "core/error.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "text/unicode_tables.h"

struct lat_trie_node {
    int32_t child, next; // -1: none
    int32_t token;       // index into tokens, -1: none ends here
    unsigned char byte;
};

void lat_added_set_init(struct lat_added_set *set)
{
    *set = (struct lat_added_set){ 0 };
    memset(set->roots, -1, sizeof set->roots);
}

void lat_added_set_release(struct lat_added_set *set)
{
    lat_mem_free(set->nodes);
    lat_mem_free(set->tokens);
    lat_added_set_init(set);
}

// Index of a new node, or -1 when memory is short.
static int32_t node_new(struct lat_added_set *set, unsigned char byte)
{
    if (set->count == set->capacity) {
        size_t capacity = set->capacity ? set->capacity * 2 : 256;
        struct lat_trie_node *nodes = lat_mem_grow(set->nodes, capacity, sizeof *nodes);
        if (!nodes)
            return -1;
        set->nodes = nodes;
        set->capacity = capacity;
    }
    set->nodes[set->count] = (struct lat_trie_node){ .child = -1, .next = -1, .token = -1, .byte = byte };
    return (int32_t)set->count++;
}

// The child of `node` (-1: the root) for a byte, or -1.
static int32_t step(const struct lat_added_set *set, int32_t node, unsigned char byte)
{
    if (node < 0)
        return set->roots[byte];
    int32_t child = set->nodes[node].child;
    while (child >= 0 && set->nodes[child].byte != byte)
        child = set->nodes[child].next;
    return child;
}

static int32_t step_or_add(struct lat_added_set *set, int32_t node, unsigned char byte)
{
    int32_t found = step(set, node, byte);
    if (found >= 0)
        return found;
    int32_t made = node_new(set, byte);
    if (made < 0)
        return -1;
    if (node < 0)
        set->roots[byte] = made;
    else {
        set->nodes[made].next = set->nodes[node].child;
        set->nodes[node].child = made;
    }
    return made;
}

enum lat_status lat_added_set_add(struct lat_added_set *set, const char *content, size_t length,
                                  const struct lat_added *token, struct lat_error *error)
{
    if (length > LAT_ADDED_BYTES_MAX)
        return lat_error_set(error, LAT_LIMIT, "an added token of %zu bytes, at most %d are supported", length,
                             LAT_ADDED_BYTES_MAX);
    if (length == 0)
        return LAT_OK; // Hugging Face never matches it either
    int32_t node = -1;
    for (size_t i = 0; i < length; i++) {
        node = step_or_add(set, node, (unsigned char)content[i]);
        if (node < 0)
            return lat_error_memory(error, "added tokens");
    }
    int32_t old = set->nodes[node].token;
    if (old >= 0 && (token->special && !set->tokens[old].special))
        return LAT_OK;
    struct lat_added *tokens = lat_mem_grow(set->tokens, set->token_count + 1, sizeof *tokens);
    if (!tokens)
        return lat_error_memory(error, "added tokens");
    set->tokens = tokens;
    set->tokens[set->token_count] = *token;
    set->nodes[node].token = (int32_t)set->token_count++;
    return LAT_OK;
}

int32_t lat_added_set_id(const struct lat_added_set *set, const char *content, size_t length)
{
    int32_t node = -1;
    for (size_t i = 0; i < length; i++) {
        node = step(set, node, (unsigned char)content[i]);
        if (node < 0)
            return -1;
    }
    return node >= 0 && set->nodes[node].token >= 0 ? set->tokens[set->nodes[node].token].id : -1;
}

// The longest token that starts at `at`, or NULL.
static const struct lat_added *longest_at(const struct lat_added_set *set, const char *text, size_t length, size_t at,
                                          size_t *end)
{
    const struct lat_added *found = NULL;
    int32_t node = -1;
    for (size_t i = at; i < length; i++) {
        node = step(set, node, (unsigned char)text[i]);
        if (node < 0)
            break;
        if (set->nodes[node].token >= 0) {
            found = &set->tokens[set->nodes[node].token];
            *end = i + 1;
        }
    }
    return found;
}

// Offset of the character before `at`.
static size_t character_before(const char *text, size_t at)
{
    do
        at--;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

static bool word_touches(const char *text, size_t length, size_t begin, size_t end)
{
    uint32_t code = 0;
    size_t before = begin ? character_before(text, begin) : 0;
    if (begin > 0 && lat_utf8_decode(text + before, begin - before, &code) && lat_unicode_is_word(code))
        return true;
    return end < length && lat_utf8_decode(text + end, length - end, &code) && lat_unicode_is_word(code);
}

size_t lat_added_strip_left(const char *text, size_t limit, size_t at)
{
    uint32_t code = 0;
    while (at > limit) {
        size_t before = character_before(text, at);
        if (!lat_utf8_decode(text + before, at - before, &code) || lat_unicode_class(code) != LAT_CLASS_SPACE)
            break;
        at = before;
    }
    return at;
}

size_t lat_added_strip_right(const char *text, size_t length, size_t at)
{
    uint32_t code = 0;
    while (at < length) {
        size_t size = lat_utf8_decode(text + at, length - at, &code);
        if (!size || lat_unicode_class(code) != LAT_CLASS_SPACE)
            break;
        at += size;
    }
    return at;
}

struct lat_added_match lat_added_set_find(const struct lat_added_set *set, const char *text, size_t length, size_t from,
                                          bool plain, bool plain_all)
{
    struct lat_added_match none = { 0 };
    if (set->token_count == 0 || plain_all)
        return none;
    for (size_t at = from; at < length;) {
        size_t end = 0;
        const struct lat_added *token = set->roots[(unsigned char)text[at]] < 0 ? NULL : longest_at(set, text, length, at, &end);
        if (!token) {
            at++;
            continue;
        }
        if ((plain && token->special) || (token->single_word && word_touches(text, length, at, end))) {
            at = end;
            continue;
        }
        return (struct lat_added_match){ .begin = at, .end = end, .token = token };
    }
    return none;
}
