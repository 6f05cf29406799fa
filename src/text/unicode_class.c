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

bool lat_unicode_in_nfc(uint32_t code)
{
    size_t low = 0, high = lat_unicode_nfc_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (code < lat_unicode_nfc[middle].first)
            high = middle;
        else if (code > lat_unicode_nfc[middle].last)
            low = middle + 1;
        else
            return true;
    }
    return false;
}
