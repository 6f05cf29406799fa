// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// UTF-8 (RFC 3629): decode and encode one code point, check a text.
#ifndef LAT_CORE_UTF8_H
#define LAT_CORE_UTF8_H

#include <stddef.h>
#include <stdint.h>

// Decodes the code point at bytes[0..length). Returns its size (1-4) and stores it, or 0 when the bytes are not valid
// UTF-8 (over-long, surrogate, over U+10FFFF, cut short).
size_t lat_utf8_decode(const char *bytes, size_t length, uint32_t *code);
// Writes 1-4 bytes; `code` must be a scalar value.
size_t lat_utf8_encode(uint32_t code, char out[4]);
// Offset of the first byte that is not part of valid UTF-8, or `length` when all is valid.
size_t lat_utf8_check(const char *bytes, size_t length);

#endif
