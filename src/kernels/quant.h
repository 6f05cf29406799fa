// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Integer products: weights of 4 or 8 bits times activations of 8 bits. The shapes of their operands, shared by every
// instruction set.
//
// Weights lie in panels of 16 rows, made when a model is opened: lane = row, so no sum crosses lanes.
//   panel = for each group of columns: 16 scales, then the codes of its blocks, a block being 32 columns of the 16 rows:
//   8 bits: 8 vectors of 64 bytes; vector j, byte 4*r + i = code of row r, column 4*j + i
//   4 bits: 4 vectors of 64 bytes; vector j, byte 4*r + i: low nibble column 8*j + i, high nibble column 8*j + 4 + i
// Codes are unsigned, q + 2^(bits-1). Columns are padded with q = 0 to a multiple of 32, rows with scale 0 to 16.
//
// Activations are quantised in blocks of 32: amax = the largest |x|; scale = amax/127; q = x * (127/amax), rounded to
// the nearest integer, ties to even. amax below 2^-100: scale 0 and all q 0. A block that holds a NaN or an infinity:
// scale NaN and all q 0, so that whatever it reaches is NaN.
//
// Result: y = (+ y) sum, with sum starting at 0 and for each block in ascending order
//   sum = fmaf((float)dot, weight scale * activation scale, sum),  dot = the exact integer sum of 32 products.
#ifndef LAT_KERNELS_QUANT_H
#define LAT_KERNELS_QUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LAT_PANEL_ROWS = 16, LAT_QUANT_BLOCK = 32 };

struct lat_panels {
    const unsigned char *data; // [panels][panel_bytes], on a cache line
    size_t rows, cols;
    size_t blocks;       // ceil(cols / 32)
    size_t group_blocks; // blocks that share a weight scale
    size_t groups;       // ceil(blocks / group_blocks)
    size_t scale_bytes;  // 2: bf16, 4: f32
    size_t group_bytes;  // scales and codes of one group; the last group of a panel may have fewer blocks
    size_t panel_bytes;
    int bits; // 4 or 8
};

// Quantised activations of several rows.
struct lat_quant_rows {
    int8_t *q;      // [tokens][blocks * 32], the tail zero
    float *scale;   // [tokens][blocks]
    int32_t *sum;   // [tokens][blocks]: minus the sum of q, for weights that are stored with an offset
    size_t blocks;
};

// Fills in blocks, groups and panel_bytes from rows, cols, bits, group_blocks and scale_bytes. False: too large.
bool lat_panels_plan(struct lat_panels *w, size_t *bytes);
// Code and scale of one row of the panels at `data` (zeroed beforehand): q in [-2^(bits-1), 2^(bits-1)).
void lat_panels_put_code(const struct lat_panels *w, unsigned char *data, size_t row, size_t col, int q);
void lat_panels_put_scale(const struct lat_panels *w, unsigned char *data, size_t row, size_t group, float scale);
// A whole row of codes as compressed-tensors packs them: 32/bits a little-endian word, first code lowest, unsigned.
void lat_panels_put_words(const struct lat_panels *w, unsigned char *data, size_t row, const unsigned char *words);
// Makes all codes of `data` mean 0: what padding means.
void lat_panels_clear(const struct lat_panels *w, unsigned char *data, size_t bytes);
// q * scale, each product rounded once, for the 16 rows of a panel: out[r * cols + c]. Rows past the last are 0.
void lat_panels_widen(const struct lat_panels *w, size_t panel, float *out);

static inline size_t lat_panel_code_bytes(int bits) { return (size_t)(LAT_PANEL_ROWS * LAT_QUANT_BLOCK / 8 * bits); }

// Where a panel keeps the scales of a group, and the codes of a block.
static inline size_t lat_panel_scales_at(const struct lat_panels *w, size_t group) { return group * w->group_bytes; }
static inline size_t lat_panel_codes_at(const struct lat_panels *w, size_t block)
{
    return block / w->group_blocks * w->group_bytes + LAT_PANEL_ROWS * w->scale_bytes
        + block % w->group_blocks * lat_panel_code_bytes(w->bits);
}

// Quantises x[0..n) into q[0..blocks*32), scale, sum [blocks]; blocks = ceil(n / 32).
typedef void lat_quantize_fn(const float *x, size_t n, int8_t *q, float *scale, int32_t *sum);

// y[t*y_stride + r] (+)= the product for the rows of panels [panel_begin, panel_end) and t in [0, tokens). `scratch` is
// this thread's own, lat_quant_scratch_bytes of it, on a cache line.
typedef void lat_quant_matmul_fn(const struct lat_panels *w, size_t panel_begin, size_t panel_end,
                                 const struct lat_quant_rows *x, size_t tokens, float *y, size_t y_stride, bool add);

#endif
