// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Inside of the public handle struct lat_tokenizer.
#ifndef LAT_TEXT_TOKENIZER_PARTS_H
#define LAT_TEXT_TOKENIZER_PARTS_H

#include "core/mem.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/split.h"

enum { LAT_TOKEN_IDS_MAX = 1 << 24 };

struct lat_token {
    const char *bytes; // what the token decodes to; NULL: no token has this id
    uint32_t length;
    bool special;   // left out by LAT_DECODE_SKIP_SPECIAL
    bool byte_text; // written in the byte alphabet; else its text stands for itself
};

struct lat_tokenizer {
    struct lat_arena arena; // the tokens' bytes
    struct lat_token *tokens;
    size_t size;
    struct lat_bpe bpe;
    struct lat_added_set contents;   // of all added tokens, as the file has them; for look-ups
    struct lat_added_set raw;        // matched on the text as it comes
    struct lat_added_set normalized; // matched after normalisation
    bool nfc;
    enum lat_split_kind split;
    struct lat_regex *regex; // of LAT_SPLIT_REGEX
    struct lat_ids before, after; // what the post-processor puts around one text
    int32_t eos;
};

// Id of the token whose text in tokenizer.json is content[0..length), or -1.
int32_t lat_tokenizer_find(const struct lat_tokenizer *t, const char *content, size_t length);

// Reads tokenizer.json's text into a zeroed tokenizer; `name` is for messages.
LAT_NODISCARD enum lat_status lat_tokenizer_parse(struct lat_tokenizer *t, const char *text, size_t length,
                                                  const char *name, struct lat_error *error);

#endif
