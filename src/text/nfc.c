// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "text/nfc.h"

#include <utf8proc.h>

#include "core/error.h"
#include "core/mem.h"
#include "core/utf8.h"
#include "text/unicode_tables.h"

// Runs of code points that NFC knows go through utf8proc; everything between them is copied. A code point outside of
// the table is a starter that neither composes nor moves, so it may stand between two runs.
static enum lat_status add_run(struct lat_buf *out, const char *text, size_t length, struct lat_error *error)
{
    utf8proc_uint8_t *normal = NULL;
    utf8proc_ssize_t size = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &normal,
                                         UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (size < 0)
        return size == UTF8PROC_ERROR_NOMEM ? lat_error_memory(error, "normalised text")
                                            : lat_error_set(error, LAT_FORMAT, "text cannot be normalised: %s",
                                                            utf8proc_errmsg(size));
    lat_buf_add(out, normal, (size_t)size);
    lat_mem_free(normal);
    return LAT_OK;
}

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
