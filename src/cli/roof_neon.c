// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <arm_neon.h>

#include "cli/roof_parts.h"

static uint64_t read_128(const unsigned char *bytes, size_t length)
{
    uint8x16_t a = vdupq_n_u8(0), b = a, c = a, d = a;
    for (size_t i = 0; i < length; i += 128) {
        const unsigned char *p = bytes + i;
        a = veorq_u8(a, veorq_u8(vld1q_u8(p), vld1q_u8(p + 16)));
        b = veorq_u8(b, veorq_u8(vld1q_u8(p + 32), vld1q_u8(p + 48)));
        c = veorq_u8(c, veorq_u8(vld1q_u8(p + 64), vld1q_u8(p + 80)));
        d = veorq_u8(d, veorq_u8(vld1q_u8(p + 96), vld1q_u8(p + 112)));
    }
    return vgetq_lane_u64(vreinterpretq_u64_u8(veorq_u8(veorq_u8(a, b), veorq_u8(c, d))), 0);
}

#define SUM(i) float32x4_t s##i = vdupq_n_f32(0);
#define FMA(i) __asm__ volatile("fmla %0.4s, %1.4s, %1.4s" : "+w"(s##i) : "w"(x));
static void fma_128(uint64_t rounds)
{
    float32x4_t x = vdupq_n_f32(0.5f);
    LAT_ROOF_EACH24(SUM)
    for (uint64_t round = 0; round < rounds; round++) {
        LAT_ROOF_EACH24(FMA)
    }
}

const struct lat_roof_part lat_roof_neon = { .read = read_128, .f32 = { "fmla 128", 24 * 4 * 2.0, fma_128 } };
