// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <immintrin.h>
#include <string.h>

#include "cli/roof_parts.h"

// Palette 1 (Intel SDM, "Tile Matrix Multiply"): eight tiles of 16 rows of 64 bytes.
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64, PRODUCTS = 8 };

static void configure(void)
{
    _Alignas(64) struct tile_config config;
    memset(&config, 0, sizeof config);
    config.palette = 1;
    for (int i = 0; i < TILES; i++) {
        config.row_bytes[i] = ROW_BYTES;
        config.rows[i] = ROWS;
    }
    __asm__ volatile("" : : "m"(config) : "memory"); // gcc 12 believes that 8 bytes are read, and drops the other stores
    _tile_loadconfig(&config);
}

// Four sums of 16 x 16, each a product of 16 x 64 bytes by 64 x 16.
static void dot_tiles(uint64_t rounds)
{
    configure();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (uint64_t round = 0; round < rounds; round++) {
        __asm__ volatile("" : : : "memory");
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    _tile_release();
}

const struct lat_roof_part lat_roof_amx = {
    .tile = { "amx int8", PRODUCTS * 2.0 * ROWS * 16 * ROW_BYTES, dot_tiles },
};
