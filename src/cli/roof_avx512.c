// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <immintrin.h>

#include "cli/roof_parts.h"

static uint64_t read_512(const unsigned char *bytes, size_t length)
{
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
    for (size_t i = 0; i < length; i += 512) {
        const unsigned char *p = bytes + i;
        a = _mm512_xor_si512(a, _mm512_xor_si512(_mm512_load_si512(p), _mm512_load_si512(p + 64)));
        b = _mm512_xor_si512(b, _mm512_xor_si512(_mm512_load_si512(p + 128), _mm512_load_si512(p + 192)));
        c = _mm512_xor_si512(c, _mm512_xor_si512(_mm512_load_si512(p + 256), _mm512_load_si512(p + 320)));
        d = _mm512_xor_si512(d, _mm512_xor_si512(_mm512_load_si512(p + 384), _mm512_load_si512(p + 448)));
    }
    a = _mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d));
    return (uint64_t)_mm512_reduce_add_epi64(a);
}

#define SUM(i) __m512 s##i = _mm512_setzero_ps();
#define FMA(i) __asm__ volatile("vfmadd231ps %2, %1, %0" : "+v"(s##i) : "v"(x), "v"(x));
static void fma_512(uint64_t rounds)
{
    __m512 x = _mm512_set1_ps(0.5f);
    LAT_ROOF_EACH24(SUM)
    for (uint64_t round = 0; round < rounds; round++) {
        LAT_ROOF_EACH24(FMA)
    }
}

const struct lat_roof_part lat_roof_avx512 = { .read = read_512, .f32 = { "fma 512", 24 * 16 * 2.0, fma_512 } };
