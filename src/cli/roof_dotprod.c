// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <arm_neon.h>

#include "cli/roof_parts.h"

#define SUM(i) int32x4_t s##i = vdupq_n_s32(0);
#define DOT(i) __asm__ volatile("sdot %0.4s, %1.16b, %1.16b" : "+w"(s##i) : "w"(x));
static void dot_128(uint64_t rounds)
{
    int8x16_t x = vdupq_n_s8(1);
    LAT_ROOF_EACH24(SUM)
    for (uint64_t round = 0; round < rounds; round++) {
        LAT_ROOF_EACH24(DOT)
    }
}

const struct lat_roof_part lat_roof_dotprod = { .int8 = { "sdot 128", 24 * 16 * 2.0, dot_128 } };
