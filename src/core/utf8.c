// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/utf8.h"

#include "core/error.h"

size_t lat_utf8_decode(const char *bytes, size_t length, uint32_t *code)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (length == 0)
        return 0;
    if (b[0] < 0x80) {
        *code = b[0];
        return 1;
    }
    size_t size = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
    if (b[0] < 0xc2 || b[0] > 0xf4 || size > length)
        return 0;
    uint32_t value = b[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (b[i] & 0x3fu);
    }
    static const uint32_t smallest[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    if (value < smallest[size] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return size;
}

size_t lat_utf8_encode(uint32_t code, char out[4])
{
    LAT_BUG_IF(code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff));
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)((0xf00u >> size & 0xf0u) | code);
    return size;
}

size_t lat_utf8_check(const char *bytes, size_t length)
{
    size_t at = 0;
    while (at < length) {
        uint32_t code;
        size_t size = lat_utf8_decode(bytes + at, length - at, &code);
        if (size == 0)
            return at;
        at += size;
    }
    return at;
}
