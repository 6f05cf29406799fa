// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Making panels of quantised weights (kernels/quant.h), and reading them back as f32.
#include <string.h>

#include "core/mem.h"
#include "kernels/quant.h"
#include "tensor/dtype.h"

enum { ROWS = LAT_PANEL_ROWS, BLOCK = LAT_QUANT_BLOCK };

bool lat_panels_plan(struct lat_panels *w, size_t *bytes)
{
    size_t scales = 0, codes = 0;
    w->blocks = w->cols / BLOCK + (w->cols % BLOCK != 0);
    if (w->group_blocks > w->blocks)
        w->group_blocks = w->blocks;
    w->groups = w->blocks / w->group_blocks + (w->blocks % w->group_blocks != 0);
    w->group_bytes = ROWS * w->scale_bytes + w->group_blocks * lat_panel_code_bytes(w->bits);
    return lat_size_mul(w->groups, ROWS * w->scale_bytes, &scales)
        && lat_size_mul(w->blocks, lat_panel_code_bytes(w->bits), &codes) && lat_size_add(scales, codes, &w->panel_bytes)
        && lat_size_mul(w->rows / ROWS + (w->rows % ROWS != 0), w->panel_bytes, bytes);
}

static unsigned char *code_block(const struct lat_panels *w, unsigned char *data, size_t row, size_t block)
{
    return data + row / ROWS * w->panel_bytes + lat_panel_codes_at(w, block) + 4 * (row % ROWS);
}

void lat_panels_clear(const struct lat_panels *w, unsigned char *data, size_t bytes)
{
    memset(data, 0, bytes);
    for (size_t at = 0; at < bytes; at += w->panel_bytes)
        for (size_t b = 0; b < w->blocks; b++)
            memset(data + at + lat_panel_codes_at(w, b), w->bits == 8 ? 0x80 : 0x88, lat_panel_code_bytes(w->bits));
}

void lat_panels_put_code(const struct lat_panels *w, unsigned char *data, size_t row, size_t col, int q)
{
    unsigned char *codes = code_block(w, data, row, col / BLOCK);
    size_t in = col % BLOCK;
    if (w->bits == 8) {
        codes[in / 4 * 64 + in % 4] = (unsigned char)(q + 128);
        return;
    }
    unsigned char *both = &codes[in / 8 * 64 + in % 4];
    *both = (unsigned char)(in / 4 % 2 ? (*both & 0x0f) | (q + 8) << 4 : (*both & 0xf0) | (q + 8));
}

void lat_panels_put_scale(const struct lat_panels *w, unsigned char *data, size_t row, size_t group, float scale)
{
    unsigned char *to = data + row / ROWS * w->panel_bytes + lat_panel_scales_at(w, group) + row % ROWS * w->scale_bytes;
    uint32_t bits = lat_f32_to_bits(scale);
    uint16_t half = (uint16_t)(bits >> 16);
    memcpy(to, w->scale_bytes == 2 ? (const void *)&half : (const void *)&bits, w->scale_bytes);
}

// The nibbles of 16 bits, one a byte.
static uint32_t spread(uint32_t x)
{
    x = (x | x << 8) & 0x00ff00ff;
    return (x | x << 4) & 0x0f0f0f0f;
}

void lat_panels_put_words(const struct lat_panels *w, unsigned char *data, size_t row, const unsigned char *words)
{
    size_t per_word = 32 / (size_t)w->bits, whole = w->cols / per_word, per_block = BLOCK / per_word;
    for (size_t i = 0; i < whole; i++) { // either way a word becomes four bytes of one vector
        uint32_t word;
        memcpy(&word, words + 4 * i, sizeof word);
        if (w->bits == 4)
            word = spread(word & 0xffff) | spread(word >> 16) << 4;
        memcpy(code_block(w, data, row, i / per_block) + i % per_block * 64, &word, sizeof word);
    }
    for (size_t col = whole * per_word; col < w->cols; col++) {
        uint32_t word, mask = (1u << w->bits) - 1;
        memcpy(&word, words + 4 * whole, sizeof word);
        uint32_t code = word >> (col % per_word * (size_t)w->bits) & mask;
        lat_panels_put_code(w, data, row, col, (int)code - (1 << (w->bits - 1)));
    }
}

static float scale_of(const struct lat_panels *w, const unsigned char *panel, size_t row, size_t block)
{
    const unsigned char *scales = panel + lat_panel_scales_at(w, block / w->group_blocks);
    return lat_dtype_load(w->scale_bytes == 2 ? LAT_DTYPE_BF16 : LAT_DTYPE_F32, scales, row);
}

static void widen_block(const struct lat_panels *w, const unsigned char *codes, size_t count, float scale, float *out)
{
    for (size_t i = 0; i < count; i++) {
        int q;
        if (w->bits == 8)
            q = (int)codes[i / 4 * 64 + i % 4] - 128;
        else
            q = (int)(codes[i / 8 * 64 + i % 4] >> (i / 4 % 2 * 4) & 15) - 8;
        out[i] = (float)q * scale;
    }
}

void lat_panels_widen(const struct lat_panels *w, size_t panel, float *out)
{
    const unsigned char *from = w->data + panel * w->panel_bytes;
    for (size_t b = 0; b < w->blocks; b++) {
        size_t first = b * BLOCK, count = w->cols - first < BLOCK ? w->cols - first : BLOCK;
        for (size_t r = 0; r < ROWS; r++)
            widen_block(w, from + lat_panel_codes_at(w, b) + 4 * r, count, scale_of(w, from, r, b),
                        out + r * w->cols + first);
    }
}
