// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What the compiler makes of plain C for the base instruction set.
#include "cli/roof_parts.h"

enum { LANES = 32 };

static uint64_t read_words(const unsigned char *bytes, size_t length)
{
    const uint64_t *words = (const uint64_t *)(const void *)bytes;
    uint64_t sums[8] = { 0 };
    for (size_t i = 0; i < length / sizeof *words; i += 8)
        for (size_t j = 0; j < 8; j++)
            sums[j] ^= words[i + j];
    return sums[0] ^ sums[1] ^ sums[2] ^ sums[3] ^ sums[4] ^ sums[5] ^ sums[6] ^ sums[7];
}

static void multiply_add(uint64_t rounds)
{
    float sums[LANES] = { 0 };
    float factor = 0.5f, term = 0.25f;
    __asm__ volatile("" : "+m"(factor), "+m"(term)); // values that the compiler cannot know
    for (uint64_t round = 0; round < rounds; round++)
        for (int i = 0; i < LANES; i++)
            sums[i] = sums[i] * factor + term;
    __asm__ volatile("" : : "m"(sums));
}

const struct lat_roof_part lat_roof_scalar = {
    .read = read_words,
    .f32 = { "multiply and add, plain C", 2.0 * LANES, multiply_add },
};
