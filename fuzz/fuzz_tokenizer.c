// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Loads tokenizer.json of any bytes. What loads must encode a text to ids that decode without an error.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/tokenizer_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] = "a b  ab\n'S \xc3\xa9\xcc\x81<x> 12";
    struct lat_tokenizer *t = calloc(1, sizeof *t);
    struct lat_ids ids = { 0 };
    struct lat_error error = { 0 };
    char *back = NULL;
    size_t length = 0;
    if (!t)
        return 0;
    if (lat_tokenizer_parse(t, (const char *)data, size, "tokenizer.json", &error) != LAT_OK) {
        if (!error.text[0])
            abort();
    } else if (lat_tokenizer_encode(t, text, sizeof text - 1, 0, &ids, &error) == LAT_OK) {
        for (size_t i = 0; i < ids.count; i++)
            if (lat_tokenizer_has(t, ids.items[i])
                && lat_tokenizer_decode(t, &ids.items[i], 1, 0, &back, &length, &error) == LAT_OK)
                lat_text_free(back);
    }
    lat_ids_release(&ids);
    lat_tokenizer_free(t);
    return 0;
}
