// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <immintrin.h>

#include "cli/roof_parts.h"

#define SUM(i) __m512i s##i = _mm512_setzero_si512();
#define DOT(i) __asm__ volatile("vpdpbusd %2, %1, %0" : "+v"(s##i) : "v"(x), "v"(x));
static void dot_512(uint64_t rounds)
{
    __m512i x = _mm512_set1_epi8(1);
    LAT_ROOF_EACH24(SUM)
    for (uint64_t round = 0; round < rounds; round++) {
        LAT_ROOF_EACH24(DOT)
    }
}

const struct lat_roof_part lat_roof_avx512vnni = { .int8 = { "vpdpbusd 512", 24 * 64 * 2.0, dot_512 } };
