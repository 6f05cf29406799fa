// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Unicode NFC as Hugging Face's `tokenizers` computes it: with the tables of Unicode 9.0. Code points that came later
// are left where they are, so a text that a newer library would reorder or compose keeps its ids.
#ifndef LAT_TEXT_NFC_H
#define LAT_TEXT_NFC_H

#include <stddef.h>

#include "core/buf.h"
#include "lattice/status.h"

// Appends the NFC of text[0..length) (valid UTF-8) to `out`.
LAT_NODISCARD enum lat_status lat_nfc_add(struct lat_buf *out, const char *text, size_t length, struct lat_error *error);

#endif
