// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Tokenizers read from a Hugging Face tokenizer.json: text to ids and back, the same ids as the `tokenizers` library.
// A tokenizer is read-only after opening and may be shared by threads.
//
//   struct lat_tokenizer *tok;
//   struct lat_ids ids = {0};
//   if (lat_tokenizer_open(&tok, "models/nano", &err) == LAT_OK
//       && lat_tokenizer_encode(tok, "Hello", 5, 0, &ids, &err) == LAT_OK) ...
//   lat_ids_release(&ids);
//   lat_tokenizer_free(tok);
#ifndef LATTICE_TOKENIZER_H
#define LATTICE_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lattice/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct lat_tokenizer;

// A growable list of ids; zero-initialise, release when done.
struct lat_ids {
    int32_t *items;
    size_t count;
    size_t capacity;
};
LAT_API void lat_ids_release(struct lat_ids *ids);

// `path`: a folder with tokenizer.json, or the file itself.
LAT_API LAT_NODISCARD enum lat_status lat_tokenizer_open(struct lat_tokenizer **out, const char *path,
                                                         struct lat_error *error);
LAT_API void lat_tokenizer_free(struct lat_tokenizer *tokenizer); // NULL is harmless

// LAT_ENCODE_PLAIN: special tokens in the text stay plain text, so that a user's text cannot forge control tokens
// (added tokens that are not special are matched all the same, unless LAT_ENCODE_PLAIN_ALL).
enum { LAT_ENCODE_PLAIN = 1, LAT_ENCODE_PLAIN_ALL = 2 };

// Appends the ids of text[0..length) (UTF-8, may hold NUL) to `ids`. Time is linear in the length. Text that is not
// UTF-8 is refused with the offset of the first bad byte.
LAT_API LAT_NODISCARD enum lat_status lat_tokenizer_encode(const struct lat_tokenizer *tokenizer, const char *text,
                                                           size_t length, unsigned flags, struct lat_ids *ids,
                                                           struct lat_error *error);

// LAT_DECODE_SKIP_SPECIAL leaves out added tokens that are special.
enum { LAT_DECODE_SKIP_SPECIAL = 1 };

// The text of ids[0..count): *text is NUL-terminated (it may hold NULs; *length counts), freed with lat_text_free.
// Bytes that are not UTF-8 become U+FFFD, as Hugging Face prints them. Unknown ids are refused.
LAT_API LAT_NODISCARD enum lat_status lat_tokenizer_decode(const struct lat_tokenizer *tokenizer, const int32_t *ids,
                                                           size_t count, unsigned flags, char **text, size_t *length,
                                                           struct lat_error *error);
LAT_API void lat_text_free(char *text);

// The streaming decoder: bytes come out as soon as they make whole characters, never half of one.
struct lat_decoder;
LAT_API LAT_NODISCARD enum lat_status lat_decoder_new(struct lat_decoder **out, const struct lat_tokenizer *tokenizer,
                                                      unsigned flags, struct lat_error *error);
LAT_API void lat_decoder_free(struct lat_decoder *decoder);
// Takes one id; *text (length bytes, not NUL-terminated) is what became printable, valid until the next call.
LAT_API LAT_NODISCARD enum lat_status lat_decoder_put(struct lat_decoder *decoder, int32_t id, const char **text,
                                                      size_t *length, struct lat_error *error);
// What is left: bytes that never became a character come out as U+FFFD. The decoder is then empty.
LAT_API LAT_NODISCARD enum lat_status lat_decoder_end(struct lat_decoder *decoder, const char **text, size_t *length,
                                                      struct lat_error *error);

LAT_API size_t lat_tokenizer_size(const struct lat_tokenizer *tokenizer); // one more than the largest id
// The id of exactly this token content (an added token, or a vocabulary entry's text), or -1.
LAT_API int32_t lat_tokenizer_id(const struct lat_tokenizer *tokenizer, const char *content);
LAT_API bool lat_tokenizer_is_special(const struct lat_tokenizer *tokenizer, int32_t id);
// True when `id` has a token; models may have more rows than their tokenizer has ids.
LAT_API bool lat_tokenizer_has(const struct lat_tokenizer *tokenizer, int32_t id);
// eos_token of tokenizer_config.json beside tokenizer.json, or -1.
LAT_API int32_t lat_tokenizer_eos(const struct lat_tokenizer *tokenizer);

#ifdef __cplusplus
}
#endif
#endif
