// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Added tokens, matched as Hugging Face does (tokenizers, added_vocabulary.rs): the earliest match, the longest of
// those that start there; a match that is then rejected has used up its span all the same.
#ifndef LAT_TEXT_ADDED_TOKENS_H
#define LAT_TEXT_ADDED_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lattice/status.h"

enum { LAT_ADDED_BYTES_MAX = 1024 }; // of one token's content; bounds the time of a search

struct lat_added {
    int32_t id;
    bool special, single_word, lstrip, rstrip, normalized;
};

struct lat_trie_node;

struct lat_added_set {
    struct lat_trie_node *nodes;
    size_t count, capacity;
    int32_t roots[256]; // first node of a byte, or -1
    struct lat_added *tokens;
    size_t token_count;
};

struct lat_added_match {
    size_t begin, end;             // of the content itself, before lstrip and rstrip
    const struct lat_added *token; // NULL: none
};

void lat_added_set_init(struct lat_added_set *set);
void lat_added_set_release(struct lat_added_set *set);
// Of two tokens with the same content the last counts, but a special one yields to others, as in Hugging Face.
LAT_NODISCARD enum lat_status lat_added_set_add(struct lat_added_set *set, const char *content, size_t length,
                                                const struct lat_added *token, struct lat_error *error);
// The id of the token with exactly this content, or -1.
int32_t lat_added_set_id(const struct lat_added_set *set, const char *content, size_t length);
// The first match that holds in text[from..length). `plain` skips special tokens, `plain_all` all.
struct lat_added_match lat_added_set_find(const struct lat_added_set *set, const char *text, size_t length, size_t from,
                                          bool plain, bool plain_all);

// Start of the white space that ends at `at`, not before `limit`; end of the white space that starts at `at`.
size_t lat_added_strip_left(const char *text, size_t limit, size_t at);
size_t lat_added_strip_right(const char *text, size_t length, size_t at);

#endif
