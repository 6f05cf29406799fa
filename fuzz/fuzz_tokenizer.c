// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Fuzz target: a tokenizer.json, a byte 0xff (which no UTF-8 has), a text. Whatever they are: no crash, no leak, and
// what was encoded can be decoded, whole and streaming, to the same text.
#include <stdint.h>
#include <string.h>

#include "core/error.h"
#include "core/mem.h"
#include "text/tokenizer_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_decoding(const struct lat_tokenizer *t, const struct lat_ids *ids)
{
    char *text = NULL;
    size_t length = 0, at = 0;
    struct lat_decoder *decoder = NULL;
    if (lat_tokenizer_decode(t, ids->items, ids->count, 0, &text, &length, NULL) != LAT_OK)
        return;
    if (lat_decoder_new(&decoder, t, 0, NULL) == LAT_OK) {
        for (size_t i = 0; i <= ids->count; i++) {
            const char *part = NULL;
            size_t part_length = 0;
            enum lat_status status = i < ids->count ? lat_decoder_put(decoder, ids->items[i], &part, &part_length, NULL)
                                                    : lat_decoder_end(decoder, &part, &part_length, NULL);
            LAT_BUG_IF(status != LAT_OK || part_length > length - at || memcmp(text + at, part, part_length) != 0);
            at += part_length;
        }
        LAT_BUG_IF(at != length);
    }
    lat_decoder_free(decoder);
    lat_text_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *border = size ? memchr(data, 0xff, size) : NULL;
    size_t length = border ? (size_t)(border - data) : size;
    struct lat_error error = { 0 };
    struct lat_tokenizer *t = lat_mem_new(1, sizeof *t);
    if (!t)
        return 0;
    if (lat_tokenizer_parse(t, (const char *)data, length, "tokenizer.json", &error) == LAT_OK) {
        const char *text = border ? (const char *)border + 1 : "";
        size_t text_length = border ? size - length - 1 : 0;
        for (unsigned flags = 0; flags <= (LAT_ENCODE_PLAIN | LAT_ENCODE_PLAIN_ALL); flags++) {
            struct lat_ids ids = { 0 };
            if (lat_tokenizer_encode(t, text, text_length, flags, &ids, &error) == LAT_OK)
                check_decoding(t, &ids);
            lat_ids_release(&ids);
        }
    } else
        LAT_BUG_IF(error.text[0] == '\0' || strchr(error.text, '\n'));
    lat_tokenizer_free(t);
    return 0;
}
