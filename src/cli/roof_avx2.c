// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <immintrin.h>

#include "cli/roof_parts.h"

static uint64_t read_256(const unsigned char *bytes, size_t length)
{
    __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
    for (size_t i = 0; i < length; i += 256) {
        const __m256i *p = (const __m256i *)(const void *)(bytes + i);
        a = _mm256_xor_si256(a, _mm256_xor_si256(_mm256_load_si256(p), _mm256_load_si256(p + 1)));
        b = _mm256_xor_si256(b, _mm256_xor_si256(_mm256_load_si256(p + 2), _mm256_load_si256(p + 3)));
        c = _mm256_xor_si256(c, _mm256_xor_si256(_mm256_load_si256(p + 4), _mm256_load_si256(p + 5)));
        d = _mm256_xor_si256(d, _mm256_xor_si256(_mm256_load_si256(p + 6), _mm256_load_si256(p + 7)));
    }
    a = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
    return (uint64_t)_mm256_extract_epi64(a, 0);
}

#define SUM(i) __m256 s##i = _mm256_setzero_ps();
#define FMA(i) __asm__ volatile("vfmadd231ps %2, %1, %0" : "+x"(s##i) : "x"(x), "x"(x));
static void fma_256(uint64_t rounds)
{
    __m256 x = _mm256_set1_ps(0.5f);
    LAT_ROOF_EACH12(SUM)
    for (uint64_t round = 0; round < rounds; round++) {
        LAT_ROOF_EACH12(FMA)
    }
}

// Bytes to sums of four: two multiplies and an addition.
#define ISUM(i) __m256i s##i = _mm256_setzero_si256();
#define DOT(i)                                                                                  \
    {                                                                                           \
        __m256i t;                                                                              \
        __asm__ volatile("vpmaddubsw %3, %3, %1\n\tvpmaddwd %2, %1, %1\n\tvpaddd %1, %0, %0" \
                         : "+x"(s##i), "=&x"(t)                                                 \
                         : "x"(ones), "x"(x));                                                  \
    }
static void bytes_256(uint64_t rounds)
{
    __m256i x = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
    LAT_ROOF_EACH12(ISUM)
    for (uint64_t round = 0; round < rounds; round++) {
        LAT_ROOF_EACH12(DOT)
    }
}

const struct lat_roof_part lat_roof_avx2 = {
    .read = read_256,
    .f32 = { "fma 256", 12 * 8 * 2.0, fma_256 },
    .int8 = { "maddubs 256", 12 * 32 * 2.0, bytes_256 },
};
