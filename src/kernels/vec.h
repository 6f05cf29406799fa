// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Sixteen f32 lanes as one value, over AVX-512 (one register), AVX2 (two) or NEON (four). The including file defines
// exactly one of LAT_VEC_AVX512, LAT_VEC_AVX2, LAT_VEC_NEON and is compiled with that instruction set's flags.
// Only operations with one IEEE result are here; whatever is built from them has the same bits everywhere.
#ifndef LAT_KERNELS_VEC_H
#define LAT_KERNELS_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VEC_INLINE static inline __attribute__((always_inline, unused))

#if defined(LAT_VEC_AVX512)
#include <immintrin.h>

typedef __m512 v16;

VEC_INLINE v16 v16_zero(void) { return _mm512_setzero_ps(); }
VEC_INLINE v16 v16_set(float x) { return _mm512_set1_ps(x); }
VEC_INLINE v16 v16_load(const void *p) { return _mm512_loadu_ps(p); }
VEC_INLINE void v16_store(float *p, v16 a) { _mm512_storeu_ps(p, a); }
VEC_INLINE v16 v16_load_bf16(const void *p)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16));
}
VEC_INLINE v16 v16_load_f16(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256(p)); }
VEC_INLINE v16 v16_add(v16 a, v16 b) { return _mm512_add_ps(a, b); }
VEC_INLINE v16 v16_sub(v16 a, v16 b) { return _mm512_sub_ps(a, b); }
VEC_INLINE v16 v16_mul(v16 a, v16 b) { return _mm512_mul_ps(a, b); }
VEC_INLINE v16 v16_div(v16 a, v16 b) { return _mm512_div_ps(a, b); }
VEC_INLINE v16 v16_fma(v16 a, v16 b, v16 c) { return _mm512_fmadd_ps(a, b, c); }
// lane by lane: a < b ? x : y
VEC_INLINE v16 v16_pick(v16 a, v16 b, v16 x, v16 y)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
VEC_INLINE v16 v16_negate(v16 a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
// 2^floor(n/2) and 2^(n - floor(n/2)) for whole n
VEC_INLINE void v16_pow2_halves(v16 n, v16 *a, v16 *b)
{
    __m512i whole = _mm512_cvttps_epi32(n), half = _mm512_srai_epi32(whole, 1), bias = _mm512_set1_epi32(127);
    *a = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(half, bias), 23));
    *b = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_sub_epi32(whole, half), bias), 23));
}
VEC_INLINE float v16_sum(v16 a)
{
    __m256 x = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
}
VEC_INLINE void v16_store_f16(void *p, v16 a)
{
    _mm256_storeu_si256(p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
// The largest of the bit patterns of |a| and |b|, which is ordered like the values, NaN above infinity.
VEC_INLINE uint32_t v16_most_bits(v16 a, v16 b)
{
    __m512i mask = _mm512_set1_epi32(0x7fffffff);
    __m512i x = _mm512_and_si512(_mm512_castps_si512(a), mask), y = _mm512_and_si512(_mm512_castps_si512(b), mask);
    return _mm512_reduce_max_epu32(_mm512_max_epu32(x, y));
}
// Stores 32 values, each at most 127 in size, as the nearest int8 (ties to even); returns minus their sum.
VEC_INLINE int32_t v16_store_int8(int8_t *p, v16 a, v16 b)
{
    __m512i x = _mm512_cvtps_epi32(a), y = _mm512_cvtps_epi32(b);
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(x));
    _mm_storeu_si128((__m128i *)(void *)(p + 16), _mm512_cvtepi32_epi8(y));
    return -_mm512_reduce_add_epi32(_mm512_add_epi32(x, y));
}
#define LAT_VEC_HAS_SUM4 1
// Four sums at once, each in the same order as v16_sum: halves of two vectors share a register.
VEC_INLINE __m128 v16_sum4(v16 a, v16 b, v16 c, v16 d)
{
    v16 ab = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    v16 cd = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    v16 all = _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
    all = _mm512_add_ps(all, _mm512_permute_ps(all, 0x4e));
    all = _mm512_add_ps(all, _mm512_permute_ps(all, 0xb1));
    return _mm512_castps512_ps128(_mm512_permutexvar_ps(_mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), all));
}

#elif defined(LAT_VEC_AVX2)
#include <immintrin.h>

typedef struct {
    __m256 a, b;
} v16;

VEC_INLINE v16 v16_zero(void) { return (v16){ _mm256_setzero_ps(), _mm256_setzero_ps() }; }
VEC_INLINE v16 v16_set(float x) { return (v16){ _mm256_set1_ps(x), _mm256_set1_ps(x) }; }
VEC_INLINE v16 v16_load(const void *p)
{
    return (v16){ _mm256_loadu_ps(p), _mm256_loadu_ps((const float *)((const char *)p + 32)) };
}
VEC_INLINE void v16_store(float *p, v16 x)
{
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
VEC_INLINE __m256 widen_bf16(const void *p)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16));
}
VEC_INLINE v16 v16_load_bf16(const void *p)
{
    return (v16){ widen_bf16(p), widen_bf16((const char *)p + 16) };
}
VEC_INLINE v16 v16_load_f16(const void *p)
{
    return (v16){ _mm256_cvtph_ps(_mm_loadu_si128(p)),
                  _mm256_cvtph_ps(_mm_loadu_si128((const void *)((const char *)p + 16))) };
}
VEC_INLINE v16 v16_add(v16 x, v16 y) { return (v16){ _mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b) }; }
VEC_INLINE v16 v16_sub(v16 x, v16 y) { return (v16){ _mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b) }; }
VEC_INLINE v16 v16_mul(v16 x, v16 y) { return (v16){ _mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b) }; }
VEC_INLINE v16 v16_div(v16 x, v16 y) { return (v16){ _mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b) }; }
VEC_INLINE v16 v16_fma(v16 x, v16 y, v16 z)
{
    return (v16){ _mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b) };
}
VEC_INLINE v16 v16_pick(v16 a, v16 b, v16 x, v16 y)
{
    return (v16){ _mm256_blendv_ps(y.a, x.a, _mm256_cmp_ps(a.a, b.a, _CMP_LT_OQ)),
                  _mm256_blendv_ps(y.b, x.b, _mm256_cmp_ps(a.b, b.b, _CMP_LT_OQ)) };
}
VEC_INLINE v16 v16_negate(v16 x)
{
    __m256 sign = _mm256_set1_ps(-0.0f);
    return (v16){ _mm256_xor_ps(x.a, sign), _mm256_xor_ps(x.b, sign) };
}
VEC_INLINE void pow2_halves8(__m256 n, __m256 *a, __m256 *b)
{
    __m256i whole = _mm256_cvttps_epi32(n), half = _mm256_srai_epi32(whole, 1), bias = _mm256_set1_epi32(127);
    *a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
    *b = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(whole, half), bias), 23));
}
VEC_INLINE void v16_pow2_halves(v16 n, v16 *a, v16 *b)
{
    pow2_halves8(n.a, &a->a, &b->a);
    pow2_halves8(n.b, &a->b, &b->b);
}
VEC_INLINE float v16_sum(v16 v)
{
    __m256 x = _mm256_add_ps(v.a, v.b);
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
}

VEC_INLINE void v16_store_f16(void *p, v16 x)
{
    _mm_storeu_si128(p, _mm256_cvtps_ph(x.a, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128((__m128i *)p + 1, _mm256_cvtps_ph(x.b, _MM_FROUND_TO_NEAREST_INT));
}
VEC_INLINE uint32_t v16_most_bits(v16 a, v16 b)
{
    __m256i mask = _mm256_set1_epi32(0x7fffffff);
    __m256i x = _mm256_max_epi32(_mm256_and_si256(_mm256_castps_si256(a.a), mask), _mm256_and_si256(_mm256_castps_si256(a.b), mask));
    __m256i y = _mm256_max_epi32(_mm256_and_si256(_mm256_castps_si256(b.a), mask), _mm256_and_si256(_mm256_castps_si256(b.b), mask));
    x = _mm256_max_epi32(x, y);
    __m128i z = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    z = _mm_max_epi32(z, _mm_shuffle_epi32(z, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_max_epi32(z, _mm_shuffle_epi32(z, 0xb1)));
}
VEC_INLINE int32_t v16_store_int8(int8_t *p, v16 a, v16 b)
{
    __m256i v[4] = { _mm256_cvtps_epi32(a.a), _mm256_cvtps_epi32(a.b), _mm256_cvtps_epi32(b.a), _mm256_cvtps_epi32(b.b) };
    __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)); // packs work within 128 bits
    _mm256_storeu_si256((__m256i *)(void *)p, bytes);
    __m256i x = _mm256_add_epi32(_mm256_add_epi32(v[0], v[1]), _mm256_add_epi32(v[2], v[3]));
    __m128i z = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    z = _mm_add_epi32(z, _mm_shuffle_epi32(z, 0x4e));
    return -_mm_cvtsi128_si32(_mm_add_epi32(z, _mm_shuffle_epi32(z, 0xb1)));
}

#elif defined(LAT_VEC_NEON)
#include <arm_neon.h>

typedef struct {
    float32x4_t v[4];
} v16;

#define V16_EACH(expression)                   \
    v16 out_;                                  \
    for (int i = 0; i < 4; i++)                \
        out_.v[i] = (expression);              \
    return out_

VEC_INLINE v16 v16_set(float x) { V16_EACH(vdupq_n_f32(x)); }
VEC_INLINE v16 v16_zero(void) { return v16_set(0); }
VEC_INLINE v16 v16_load(const void *p)
{
    V16_EACH(vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)p + 16 * i)));
}
VEC_INLINE void v16_store(float *p, v16 x)
{
    for (int i = 0; i < 4; i++)
        vst1q_f32(p + 4 * i, x.v[i]);
}
VEC_INLINE v16 v16_load_bf16(const void *p)
{
    V16_EACH(vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8((const uint8_t *)p + 8 * i)), 16)));
}
VEC_INLINE v16 v16_load_f16(const void *p)
{
    V16_EACH(vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8((const uint8_t *)p + 8 * i))));
}
VEC_INLINE v16 v16_add(v16 a, v16 b) { V16_EACH(vaddq_f32(a.v[i], b.v[i])); }
VEC_INLINE v16 v16_sub(v16 a, v16 b) { V16_EACH(vsubq_f32(a.v[i], b.v[i])); }
VEC_INLINE v16 v16_mul(v16 a, v16 b) { V16_EACH(vmulq_f32(a.v[i], b.v[i])); }
VEC_INLINE v16 v16_div(v16 a, v16 b) { V16_EACH(vdivq_f32(a.v[i], b.v[i])); }
VEC_INLINE v16 v16_fma(v16 a, v16 b, v16 c) { V16_EACH(vfmaq_f32(c.v[i], a.v[i], b.v[i])); }
VEC_INLINE v16 v16_pick(v16 a, v16 b, v16 x, v16 y) { V16_EACH(vbslq_f32(vcltq_f32(a.v[i], b.v[i]), x.v[i], y.v[i])); }
VEC_INLINE v16 v16_negate(v16 a) { V16_EACH(vnegq_f32(a.v[i])); }
VEC_INLINE void v16_pow2_halves(v16 n, v16 *a, v16 *b)
{
    for (int i = 0; i < 4; i++) {
        int32x4_t whole = vcvtq_s32_f32(n.v[i]), half = vshrq_n_s32(whole, 1), bias = vdupq_n_s32(127);
        a->v[i] = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
        b->v[i] = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vsubq_s32(whole, half), bias), 23));
    }
}
VEC_INLINE float v16_sum(v16 a)
{
    float32x4_t x = vaddq_f32(vaddq_f32(a.v[0], a.v[2]), vaddq_f32(a.v[1], a.v[3]));
    float32x2_t y = vadd_f32(vget_low_f32(x), vget_high_f32(x));
    return vget_lane_f32(y, 0) + vget_lane_f32(y, 1);
}
VEC_INLINE void v16_store_f16(void *p, v16 a)
{
    for (int i = 0; i < 4; i++)
        vst1_u8((uint8_t *)p + 8 * i, vreinterpret_u8_f16(vcvt_f16_f32(a.v[i])));
}
VEC_INLINE uint32_t v16_most_bits(v16 a, v16 b)
{
    uint32x4_t most = vdupq_n_u32(0), mask = vdupq_n_u32(0x7fffffff);
    for (int i = 0; i < 4; i++) {
        most = vmaxq_u32(most, vandq_u32(vreinterpretq_u32_f32(a.v[i]), mask));
        most = vmaxq_u32(most, vandq_u32(vreinterpretq_u32_f32(b.v[i]), mask));
    }
    return vmaxvq_u32(most);
}
VEC_INLINE int32_t store_int8_half(int8_t *p, v16 a)
{
    int32x4_t v[4];
    for (int i = 0; i < 4; i++)
        v[i] = vcvtnq_s32_f32(a.v[i]);
    int16x8_t low = vcombine_s16(vmovn_s32(v[0]), vmovn_s32(v[1])), high = vcombine_s16(vmovn_s32(v[2]), vmovn_s32(v[3]));
    vst1q_s8(p, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
    return vaddvq_s32(vaddq_s32(vaddq_s32(v[0], v[1]), vaddq_s32(v[2], v[3])));
}
VEC_INLINE int32_t v16_store_int8(int8_t *p, v16 a, v16 b) { return -(store_int8_half(p, a) + store_int8_half(p + 16, b)); }
#else
#error "define one of LAT_VEC_AVX512, LAT_VEC_AVX2, LAT_VEC_NEON"
#endif

// The first n < 16 lanes, zeros after them; nothing past them is read or written.
VEC_INLINE v16 v16_load_part(const void *p, size_t n)
{
    float part[16] = { 0 };
    memcpy(part, p, n * sizeof(float));
    return v16_load(part);
}
VEC_INLINE v16 v16_load_bf16_part(const void *p, size_t n)
{
    uint16_t part[16] = { 0 };
    memcpy(part, p, n * sizeof(uint16_t));
    return v16_load_bf16(part);
}
VEC_INLINE v16 v16_load_f16_part(const void *p, size_t n)
{
    uint16_t part[16] = { 0 };
    memcpy(part, p, n * sizeof(uint16_t));
    return v16_load_f16(part);
}
VEC_INLINE void v16_store_part(float *p, v16 a, size_t n)
{
    float part[16];
    v16_store(part, a);
    memcpy(p, part, n * sizeof(float));
}
VEC_INLINE v16 v16_load_n(const float *p, size_t n) { return n >= 16 ? v16_load(p) : v16_load_part(p, n); }
VEC_INLINE v16 v16_load_f16_n(const void *p, size_t n) { return n >= 16 ? v16_load_f16(p) : v16_load_f16_part(p, n); }
VEC_INLINE void v16_store_f16_n(void *p, v16 a, size_t n)
{
    uint16_t part[16];
    v16_store_f16(part, a);
    memcpy(p, part, (n < 16 ? n : 16) * sizeof(uint16_t));
}
VEC_INLINE void v16_store_n(float *p, v16 a, size_t n)
{
    if (n >= 16)
        v16_store(p, a);
    else
        v16_store_part(p, a, n);
}

#endif
