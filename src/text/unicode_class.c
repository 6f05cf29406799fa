// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "text/unicode_tables.h"

enum lat_unicode_class lat_unicode_class(uint32_t code)
{
    size_t low = 0, high = lat_unicode_classes_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct lat_unicode_class_range *range = &lat_unicode_classes[middle];
        if (code < range->first)
            high = middle;
        else if (code > range->last)
            low = middle + 1;
        else
            return range->class;
    }
    return LAT_CLASS_OTHER;
}

static bool in_ranges(const struct lat_unicode_range *ranges, size_t count, uint32_t code)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code < ranges[middle].first)
            high = middle;
        else if (code > ranges[middle].last)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

bool lat_unicode_is_word(uint32_t code)
{
    enum lat_unicode_class class = lat_unicode_class(code);
    return class == LAT_CLASS_LETTER || class == LAT_CLASS_MARK
        || in_ranges(lat_unicode_word_more, lat_unicode_word_more_count, code);
}

bool lat_unicode_in_nfc(uint32_t code) { return in_ranges(lat_unicode_nfc, lat_unicode_nfc_count, code); }
