// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Reads any bytes as a licence expression. What is read prints, reads back and prints the same; everything allowed meets
// it, nothing allowed does not.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/spdx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lat_spdx spdx, again;
    struct lat_spdx_verdict verdict;
    struct lat_buf out, out2;
    if (lat_spdx_parse(&spdx, (const char *)data, size, NULL) != LAT_OK)
        return 0;
    lat_buf_init(&out, 1 << 20);
    lat_buf_init(&out2, 1 << 20);
    lat_spdx_print(&out, &spdx);
    // Printing may be longer than what is read at most: "GPL-2.0" has a longer successor.
    if (out.length <= LAT_SPDX_BYTES_MAX) {
        if (lat_spdx_parse(&again, out.bytes, out.length, NULL) != LAT_OK)
            abort();
        lat_spdx_print(&out2, &again);
        if (out.length != out2.length || memcmp(out.bytes, out2.bytes, out.length) != 0)
            abort();
        lat_spdx_release(&again);
    }
    if (lat_spdx_judge(&spdx, UINT64_MAX, &verdict, NULL) == LAT_OK && verdict.satisfied != (spdx.kind == LAT_SPDX_EXPRESSION))
        abort();
    if (lat_spdx_judge(&spdx, 0, &verdict, NULL) == LAT_OK && verdict.satisfied)
        abort();
    lat_spdx_release(&spdx);
    lat_buf_release(&out);
    lat_buf_release(&out2);
    return 0;
}
