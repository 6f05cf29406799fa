// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Integer dot products of sixteen rows at once, over AVX-512 VNNI, AVX2 or NEON (with or without dot-product
// instructions). All give the exact integer, so they differ in speed alone. Included after kernels/vec.h.
//
// A vq is 64 bytes of unsigned codes: 4 of each of 16 rows. A qacc gathers the products of up to 8 of them (one block
// of 32 columns) with activations; `bits` is a constant where these are called.
#ifndef LAT_KERNELS_VEC_INT_H
#define LAT_KERNELS_VEC_INT_H

#include "kernels/vec.h"

VEC_INLINE int32_t quad_load(const int8_t *p)
{
    int32_t quad;
    memcpy(&quad, p, sizeof quad);
    return quad;
}

#if defined(LAT_VEC_AVX512)
typedef __m512i vq;
typedef __m512i qacc;

VEC_INLINE vq vq_load(const void *p) { return _mm512_loadu_si512(p); }
VEC_INLINE void vq_store(void *p, vq a) { _mm512_storeu_si512(p, a); }
VEC_INLINE void vq_split(vq both, vq *low, vq *high)
{
    __m512i mask = _mm512_set1_epi8(15);
    *low = _mm512_and_si512(both, mask);
    *high = _mm512_and_si512(_mm512_srli_epi32(both, 4), mask);
}
// The offset of the codes is taken back at the start.
VEC_INLINE qacc qacc_start(int32_t minus_sum, const int bits)
{
    return _mm512_slli_epi32(_mm512_set1_epi32(minus_sum), bits - 1);
}
VEC_INLINE qacc qacc_add(qacc acc, vq w, int32_t quad, const int bits)
{
    (void)bits;
    return _mm512_dpbusd_epi32(acc, w, _mm512_set1_epi32(quad));
}
VEC_INLINE v16 qacc_end(qacc acc, int32_t minus_sum, const int bits)
{
    (void)minus_sum, (void)bits;
    return _mm512_cvtepi32_ps(acc);
}

#elif defined(LAT_VEC_AVX2)
typedef struct {
    __m256i a, b;
} vq;
typedef vq qacc; // 4 bits: pairs of products in int16 (8 * 2 * 15 * 127 < 2^15); 8 bits: int32

VEC_INLINE vq vq_load(const void *p)
{
    return (vq){ _mm256_loadu_si256(p), _mm256_loadu_si256((const __m256i *)p + 1) };
}
VEC_INLINE void vq_store(void *p, vq x)
{
    _mm256_storeu_si256(p, x.a);
    _mm256_storeu_si256((__m256i *)p + 1, x.b);
}
VEC_INLINE void vq_split(vq both, vq *low, vq *high)
{
    __m256i mask = _mm256_set1_epi8(15);
    *low = (vq){ _mm256_and_si256(both.a, mask), _mm256_and_si256(both.b, mask) };
    *high = (vq){ _mm256_and_si256(_mm256_srli_epi32(both.a, 4), mask), _mm256_and_si256(_mm256_srli_epi32(both.b, 4), mask) };
}
VEC_INLINE qacc qacc_start(int32_t minus_sum, const int bits)
{
    (void)minus_sum, (void)bits;
    return (qacc){ _mm256_setzero_si256(), _mm256_setzero_si256() };
}
// |w| <= 128 and the sign moved to the activation: 2 * 128 * 127 < 2^15.
VEC_INLINE __m256i dot_signed(__m256i code, __m256i x)
{
    __m256i w = _mm256_xor_si256(code, _mm256_set1_epi8((char)0x80));
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
VEC_INLINE qacc qacc_add(qacc acc, vq w, int32_t quad, const int bits)
{
    __m256i x = _mm256_set1_epi32(quad);
    if (bits == 4)
        return (qacc){ _mm256_add_epi16(acc.a, _mm256_maddubs_epi16(w.a, x)),
                       _mm256_add_epi16(acc.b, _mm256_maddubs_epi16(w.b, x)) };
    return (qacc){ _mm256_add_epi32(acc.a, dot_signed(w.a, x)), _mm256_add_epi32(acc.b, dot_signed(w.b, x)) };
}
VEC_INLINE v16 qacc_end(qacc acc, int32_t minus_sum, const int bits)
{
    if (bits == 4) {
        __m256i one = _mm256_set1_epi16(1), offset = _mm256_set1_epi32(minus_sum * 8);
        acc.a = _mm256_add_epi32(_mm256_madd_epi16(acc.a, one), offset);
        acc.b = _mm256_add_epi32(_mm256_madd_epi16(acc.b, one), offset);
    }
    return (v16){ _mm256_cvtepi32_ps(acc.a), _mm256_cvtepi32_ps(acc.b) };
}

#else
typedef struct {
    uint8x16_t v[4];
} vq;
typedef struct {
    int32x4_t v[4];
} qacc;

VEC_INLINE vq vq_load(const void *p)
{
    vq out;
    for (int i = 0; i < 4; i++)
        out.v[i] = vld1q_u8((const uint8_t *)p + 16 * i);
    return out;
}
VEC_INLINE void vq_store(void *p, vq x)
{
    for (int i = 0; i < 4; i++)
        vst1q_u8((uint8_t *)p + 16 * i, x.v[i]);
}
VEC_INLINE void vq_split(vq both, vq *low, vq *high)
{
    for (int i = 0; i < 4; i++) {
        low->v[i] = vandq_u8(both.v[i], vdupq_n_u8(15));
        high->v[i] = vshrq_n_u8(both.v[i], 4);
    }
}
// Codes of 4 bits are the same as signed bytes and keep their offset until the end; those of 8 bits become signed.
VEC_INLINE qacc qacc_start(int32_t minus_sum, const int bits)
{
    qacc out;
    for (int i = 0; i < 4; i++)
        out.v[i] = vdupq_n_s32(bits == 4 ? minus_sum * 8 : 0);
    return out;
}
VEC_INLINE int32x4_t dot_rows(int32x4_t acc, int8x16_t w, int8x16_t x)
{
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_s32(acc, w, x);
#else
    int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(w), vget_low_s8(x)));
    int32x4_t high = vpaddlq_s16(vmull_s8(vget_high_s8(w), vget_high_s8(x)));
    return vaddq_s32(acc, vpaddq_s32(low, high));
#endif
}
VEC_INLINE qacc qacc_add(qacc acc, vq w, int32_t quad, const int bits)
{
    int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(quad));
    for (int i = 0; i < 4; i++) {
        uint8x16_t code = bits == 8 ? veorq_u8(w.v[i], vdupq_n_u8(0x80)) : w.v[i];
        acc.v[i] = dot_rows(acc.v[i], vreinterpretq_s8_u8(code), x);
    }
    return acc;
}
VEC_INLINE v16 qacc_end(qacc acc, int32_t minus_sum, const int bits)
{
    (void)minus_sum, (void)bits;
    V16_EACH(vcvtq_f32_s32(acc.v[i]));
}
#endif

#endif
