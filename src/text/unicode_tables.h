// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Classes of code points as Hugging Face's split patterns see them (\p{L}, \p{M}, \p{N}, \s: Unicode 16), and the code
// points that its NFC knows (Unicode 9). The tables are generated; see tools/reference/unicode_tables.py.
#ifndef LAT_TEXT_UNICODE_TABLES_H
#define LAT_TEXT_UNICODE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lat_unicode_class { LAT_CLASS_OTHER, LAT_CLASS_LETTER, LAT_CLASS_MARK, LAT_CLASS_NUMBER, LAT_CLASS_SPACE };

struct lat_unicode_class_range {
    uint32_t first, last;
    enum lat_unicode_class class;
};
struct lat_unicode_range {
    uint32_t first, last;
};

extern const struct lat_unicode_class_range lat_unicode_classes[];
extern const size_t lat_unicode_classes_count;
extern const struct lat_unicode_range lat_unicode_word_more[]; // \w besides letters and marks
extern const size_t lat_unicode_word_more_count;
extern const struct lat_unicode_range lat_unicode_nfc[];
extern const size_t lat_unicode_nfc_count;

enum lat_unicode_class lat_unicode_class(uint32_t code);
// \w, as single_word of added tokens sees it.
bool lat_unicode_is_word(uint32_t code);
// True when Hugging Face's NFC may change, reorder or compose this code point.
bool lat_unicode_in_nfc(uint32_t code);

#endif
