// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Splitting text into pieces before byte-pair encoding, as a tokenizer.json's Split pattern says. The patterns of
// Qwen2/Qwen3, of Qwen3.5 and of GPT-2 are hand-written scanners that take linear time; others go through PCRE2.
#ifndef LAT_TEXT_SPLIT_H
#define LAT_TEXT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

#include "lattice/status.h"

enum lat_split_kind { LAT_SPLIT_QWEN35, LAT_SPLIT_QWEN2, LAT_SPLIT_GPT2, LAT_SPLIT_REGEX };

// Recognises the hand-written patterns by their exact text; anything else is LAT_SPLIT_REGEX.
enum lat_split_kind lat_split_recognise(const char *pattern, size_t length);

// Size in bytes of the first piece of text[0..length), at least 1; text is valid UTF-8 and length at least 1.
size_t lat_split_next(enum lat_split_kind kind, const char *text, size_t length);

// A compiled pattern for LAT_SPLIT_REGEX. Without the build option LATTICE_REGEX, making one is refused.
struct lat_regex;
LAT_NODISCARD enum lat_status lat_regex_new(struct lat_regex **out, const char *pattern, size_t length,
                                            struct lat_error *error);
void lat_regex_free(struct lat_regex *regex);
// The first match at or after `from`: [*begin, *end), or *begin = *end = length when there is none. Matching has a
// limit of steps; a text that goes over it is refused.
LAT_NODISCARD enum lat_status lat_regex_find(const struct lat_regex *regex, const char *text, size_t length, size_t from,
                                             size_t *begin, size_t *end, struct lat_error *error);

#endif
