// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Reads config.json of any bytes. What is accepted must have sizes that a session can be planned from.
#include <stdint.h>
#include <stdlib.h>

#include "models/qwen35_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct lat_qwen35_config config;
    struct lat_error error = { 0 };
    uint64_t bytes = 0;
    if (lat_qwen35_config_parse(&config, (const char *)data, size, "config.json", &error) != LAT_OK) {
        if (!error.text[0])
            abort();
        return 0;
    }
    if (2 * config.rotary_half > config.head_dim || config.num_attention_heads % config.num_key_value_heads != 0)
        abort();
    struct lat_qwen35_work_size space = { .rows = 128, .logit_rows = 1, .threads = 2 };
    if (lat_qwen35_sequence_bytes(&config, 4096, false, &bytes, &error) == LAT_OK && bytes == 0)
        abort();
    if (lat_qwen35_work_bytes(&config, &space, &bytes, &error) == LAT_OK && bytes == 0)
        abort();
    return 0;
}
