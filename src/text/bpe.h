// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Byte-level byte-pair encoding (Sennrich et al. 2016; GPT-2's byte alphabet): start from single bytes, always merge
// the adjacent pair of lowest rank, the leftmost among equals.
#ifndef LAT_TEXT_BPE_H
#define LAT_TEXT_BPE_H

#include <stdbool.h>

#include "lattice/tokenizer.h"

struct lat_bpe_slot; // of the piece table
struct lat_bpe_merge;

struct lat_bpe {
    struct lat_bpe_slot *pieces; // bytes -> id
    size_t pieces_mask;
    struct lat_bpe_merge *merges; // (left id, right id) -> rank, id
    size_t merges_mask;
    int32_t byte_ids[256]; // -1: the vocabulary lacks this byte
    bool ignore_merges;    // a piece that is a token as a whole is not split
};

// Room for that many vocabulary entries and merges.
LAT_NODISCARD enum lat_status lat_bpe_init(struct lat_bpe *bpe, size_t pieces, size_t merges, struct lat_error *error);
void lat_bpe_release(struct lat_bpe *bpe);

// Adds a vocabulary entry; `bytes` must live as long as the table. False when it is there already.
bool lat_bpe_add_piece(struct lat_bpe *bpe, const char *bytes, size_t length, int32_t id);
int32_t lat_bpe_find_piece(const struct lat_bpe *bpe, const char *bytes, size_t length); // -1 when absent
// Adds the merge of two tokens; of two merges of one pair the last counts, as in Hugging Face.
void lat_bpe_add_merge(struct lat_bpe *bpe, int32_t left, int32_t right, uint32_t rank, int32_t id);

// Appends the ids of one piece of text.
LAT_NODISCARD enum lat_status lat_bpe_encode(const struct lat_bpe *bpe, const char *bytes, size_t length,
                                             struct lat_ids *ids, struct lat_error *error);

// Appends one id to a list.
LAT_NODISCARD enum lat_status lat_ids_add(struct lat_ids *ids, int32_t id, struct lat_error *error);

// GPT-2's alphabet: the text of a vocabulary entry, character by character, to bytes. False when a character is none
// of the alphabet's. `out` has room for `length` bytes.
bool lat_bpe_text_to_bytes(const char *text, size_t length, char *out, size_t *used);

#endif
