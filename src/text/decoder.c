// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Ids back to text. Bytes that are not UTF-8 become U+FFFD, one for each maximal piece of a broken character (Unicode
// 15, section 3.9, "substitution of maximal subparts"), which is what Hugging Face prints.
#include <string.h>

#include "core/buf.h"
#include "core/error.h"
#include "core/utf8.h"
#include "text/tokenizer_parts.h"

static const char replacement[] = "\xef\xbf\xbd";

// Length of the longest part of bytes[0..length) that could begin a character; *whole when it is one.
static size_t subpart(const char *bytes, size_t length, bool *whole)
{
    uint32_t code = 0;
    size_t size = lat_utf8_decode(bytes, length, &code);
    *whole = size > 0;
    if (size)
        return size;
    unsigned char a = (unsigned char)bytes[0], b = length > 1 ? (unsigned char)bytes[1] : 0;
    size_t need = a >= 0xc2 && a <= 0xdf ? 2 : a >= 0xe0 && a <= 0xef ? 3 : a >= 0xf0 && a <= 0xf4 ? 4 : 1;
    unsigned char low = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80, high = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
    if (need == 1 || length == 1 || b < low || b > high)
        return 1;
    size = 2;
    while (size < need && size < length && ((unsigned char)bytes[size] & 0xc0) == 0x80)
        size++;
    return size;
}

// True when the bytes are the beginning of a character that more bytes could complete.
static bool could_go_on(const char *bytes, size_t length)
{
    bool whole = false;
    if (length == 0 || length > 3 || subpart(bytes, length, &whole) != length || whole)
        return false;
    unsigned char a = (unsigned char)bytes[0];
    return a >= 0xc2 && a <= 0xf4;
}

// Moves whole characters from `bytes` to `out`; with `final`, what is broken at the end too. Returns the bytes used.
static size_t add_characters(struct lat_buf *out, const char *bytes, size_t length, bool final)
{
    size_t at = 0;
    while (at < length) {
        bool whole = false;
        size_t size = subpart(bytes + at, length - at, &whole);
        if (!whole && !final && at + size == length && could_go_on(bytes + at, size))
            break;
        if (whole)
            lat_buf_add(out, bytes + at, size);
        else
            lat_buf_add_text(out, replacement);
        at += size;
    }
    return at;
}

static enum lat_status token_of(const struct lat_tokenizer *t, int32_t id, const struct lat_token **out,
                                struct lat_error *error)
{
    if (!lat_tokenizer_has(t, id))
        return lat_error_set(error, LAT_ARGUMENT, "id %d is no token of this tokenizer", (int)id);
    *out = &t->tokens[id];
    return LAT_OK;
}

enum lat_status lat_tokenizer_decode(const struct lat_tokenizer *tokenizer, const int32_t *ids, size_t count, unsigned flags,
                                     char **text, size_t *length, struct lat_error *error)
{
    struct lat_buf bytes, out;
    enum lat_status status = LAT_OK;
    lat_buf_init(&bytes, SIZE_MAX / 4);
    lat_buf_init(&out, SIZE_MAX / 4);
    for (size_t i = 0; i < count && status == LAT_OK; i++) {
        const struct lat_token *token = NULL;
        status = token_of(tokenizer, ids[i], &token, error);
        if (status == LAT_OK && !(token->special && (flags & LAT_DECODE_SKIP_SPECIAL)))
            lat_buf_add(&bytes, token->bytes, token->length);
    }
    if (status == LAT_OK)
        add_characters(&out, bytes.bytes, bytes.length, true);
    out.failed = out.failed || bytes.failed;
    lat_buf_release(&bytes);
    if (status != LAT_OK) {
        lat_buf_release(&out);
        return status;
    }
    *text = lat_buf_take(&out, length);
    return *text ? LAT_OK : lat_error_memory(error, "decoded text");
}

void lat_text_free(char *text) { lat_mem_free(text); }

struct lat_decoder {
    const struct lat_tokenizer *tokenizer;
    unsigned flags;
    struct lat_buf held; // bytes of a character that is not whole yet, then the newest token's
    struct lat_buf out;
};

enum lat_status lat_decoder_new(struct lat_decoder **out, const struct lat_tokenizer *tokenizer, unsigned flags,
                                struct lat_error *error)
{
    struct lat_decoder *d = lat_mem_new(1, sizeof *d);
    *out = d;
    if (!d)
        return lat_error_memory(error, "a decoder");
    d->tokenizer = tokenizer;
    d->flags = flags;
    lat_buf_init(&d->held, 1 << 24);
    lat_buf_init(&d->out, 1 << 26);
    return LAT_OK;
}

void lat_decoder_free(struct lat_decoder *decoder)
{
    if (!decoder)
        return;
    lat_buf_release(&decoder->held);
    lat_buf_release(&decoder->out);
    lat_mem_free(decoder);
}

static enum lat_status give(struct lat_decoder *d, bool final, const char **text, size_t *length, struct lat_error *error)
{
    lat_buf_clear(&d->out);
    size_t used = add_characters(&d->out, d->held.bytes, d->held.length, final);
    if (used)
        memmove(d->held.bytes, d->held.bytes + used, d->held.length - used);
    d->held.length -= used;
    if (d->held.failed || d->out.failed)
        return lat_error_memory(error, "decoded text");
    *text = d->out.length ? d->out.bytes : "";
    *length = d->out.length;
    return LAT_OK;
}

enum lat_status lat_decoder_put(struct lat_decoder *decoder, int32_t id, const char **text, size_t *length,
                                struct lat_error *error)
{
    const struct lat_token *token = NULL;
    LAT_TRY(token_of(decoder->tokenizer, id, &token, error));
    if (!(token->special && (decoder->flags & LAT_DECODE_SKIP_SPECIAL)))
        lat_buf_add(&decoder->held, token->bytes, token->length);
    return give(decoder, false, text, length, error);
}

enum lat_status lat_decoder_end(struct lat_decoder *decoder, const char **text, size_t *length, struct lat_error *error)
{
    return give(decoder, true, text, length, error);
}
