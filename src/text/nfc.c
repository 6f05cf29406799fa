// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "text/nfc.h"

#include <string.h>

#include <utf8proc.h>

#include "core/error.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "text/unicode_tables.h"

// Code points of one run, decomposed. utf8proc's own decomposition of a whole text sorts marks by insertion, which
// takes quadratic time on a text made of marks; so the sorting is ours, and utf8proc decomposes single code points and
// composes the result.
struct codes {
    utf8proc_int32_t *items;
    size_t count, capacity;
};

static bool reserve(struct codes *codes, size_t more)
{
    if (codes->capacity - codes->count >= more)
        return true;
    size_t capacity = (codes->count + more) * 2 + 64;
    utf8proc_int32_t *items = lat_mem_grow(codes->items, capacity, sizeof *items);
    if (!items)
        return false;
    codes->items = items;
    codes->capacity = capacity;
    return true;
}

static unsigned class_of(utf8proc_int32_t code) { return (unsigned)utf8proc_get_property(code)->combining_class & 0xff; }

// Sorts items[0..count), marks none of which is a starter, by class, equal ones in their order.
static bool sort_marks(utf8proc_int32_t *items, size_t count)
{
    enum { FEW = 16 };
    if (count <= FEW) {
        for (size_t i = 1; i < count; i++) {
            utf8proc_int32_t one = items[i];
            size_t at = i;
            for (; at > 0 && class_of(items[at - 1]) > class_of(one); at--)
                items[at] = items[at - 1];
            items[at] = one;
        }
        return true;
    }
    utf8proc_int32_t *copy = lat_mem_new(count, sizeof *copy);
    if (!copy)
        return false;
    memcpy(copy, items, count * sizeof *copy);
    size_t starts[257] = { 0 }; // counting sort: classes are bytes
    for (size_t i = 0; i < count; i++)
        starts[class_of(copy[i]) + 1]++;
    for (size_t i = 1; i < 257; i++)
        starts[i] += starts[i - 1];
    for (size_t i = 0; i < count; i++)
        items[starts[class_of(copy[i])]++] = copy[i];
    lat_mem_free(copy);
    return true;
}

static bool order_marks(struct codes *codes)
{
    for (size_t at = 0; at < codes->count; at++) {
        size_t begin = at;
        while (at < codes->count && class_of(codes->items[at]) != 0)
            at++;
        if (at - begin > 1 && !sort_marks(codes->items + begin, at - begin))
            return false;
    }
    return true;
}

static bool decompose(struct codes *codes, const char *text, size_t length)
{
    enum { DECOMPOSED_MAX = 8 }; // a canonical decomposition has at most four code points
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        at += lat_utf8_decode(text + at, length - at, &code);
        if (!reserve(codes, DECOMPOSED_MAX))
            return false;
        int last_class = 0;
        utf8proc_ssize_t made = utf8proc_decompose_char((utf8proc_int32_t)code, codes->items + codes->count, DECOMPOSED_MAX,
                                                        UTF8PROC_DECOMPOSE | UTF8PROC_STABLE, &last_class);
        LAT_BUG_IF(made < 1 || made > DECOMPOSED_MAX);
        codes->count += (size_t)made;
    }
    return true;
}

// Appends the NFC of a run of code points that Hugging Face's NFC knows.
static enum lat_status add_run(struct lat_buf *out, const char *text, size_t length, struct lat_error *error)
{
    struct codes codes = { 0 };
    bool good = decompose(&codes, text, length) && order_marks(&codes);
    if (good) {
        utf8proc_ssize_t count = utf8proc_normalize_utf32(codes.items, (utf8proc_ssize_t)codes.count,
                                                          UTF8PROC_COMPOSE | UTF8PROC_STABLE);
        for (utf8proc_ssize_t i = 0; i < count; i++) {
            char bytes[4];
            lat_buf_add(out, bytes, lat_utf8_encode((uint32_t)codes.items[i], bytes));
        }
    }
    lat_mem_free(codes.items);
    return good ? LAT_OK : lat_error_memory(error, "normalised text");
}

// Runs of code points that NFC knows are normalised; everything between them is copied. A code point outside of the
// table is a starter that neither composes nor moves, so it may stand between two runs.
enum lat_status lat_nfc_add(struct lat_buf *out, const char *text, size_t length, struct lat_error *error)
{
    size_t at = 0;
    while (at < length) {
        size_t begin = at;
        uint32_t code = 0;
        bool beyond_ascii = false; // ASCII alone is normal already
        while (at < length) {
            size_t size = lat_utf8_decode(text + at, length - at, &code);
            if (code >= 0x80 && !lat_unicode_in_nfc(code))
                break;
            beyond_ascii = beyond_ascii || code >= 0x80;
            at += size;
        }
        if (beyond_ascii)
            LAT_TRY(add_run(out, text + begin, at - begin, error));
        else
            lat_buf_add(out, text + begin, at - begin);
        begin = at;
        while (at < length) {
            size_t size = lat_utf8_decode(text + at, length - at, &code);
            if (code < 0x80 || lat_unicode_in_nfc(code))
                break;
            at += size;
        }
        lat_buf_add(out, text + begin, at - begin);
    }
    return out->failed ? lat_error_memory(error, "normalised text") : LAT_OK;
}
