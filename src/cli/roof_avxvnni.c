// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <immintrin.h>

#include "cli/roof_parts.h"

#define SUM(i) __m256i s##i = _mm256_setzero_si256();
#define DOT(i) __asm__ volatile("%{vex%} vpdpbusd %2, %1, %0" : "+x"(s##i) : "x"(x), "x"(x));
static void dot_256(uint64_t rounds)
{
    __m256i x = _mm256_set1_epi8(1);
    LAT_ROOF_EACH12(SUM)
    for (uint64_t round = 0; round < rounds; round++) {
        LAT_ROOF_EACH12(DOT)
    }
}

const struct lat_roof_part lat_roof_avxvnni = { .int8 = { "vpdpbusd 256", 12 * 32 * 2.0, dot_256 } };
