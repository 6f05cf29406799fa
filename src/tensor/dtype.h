// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Element types of safetensors, and exact widening of the small floats.
#ifndef LAT_TENSOR_DTYPE_H
#define LAT_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// name, bits per element
#define LAT_DTYPE_MAP(X)                                                                                      \
    X(BOOL, 8) X(F4, 4) X(F6_E2M3, 6) X(F6_E3M2, 6) X(U8, 8) X(I8, 8) X(F8_E5M2, 8) X(F8_E4M3, 8)             \
    X(F8_E8M0, 8) X(F8_E4M3FNUZ, 8) X(F8_E5M2FNUZ, 8) X(I16, 16) X(U16, 16) X(F16, 16) X(BF16, 16) X(I32, 32) \
    X(U32, 32) X(F32, 32) X(C64, 64) X(F64, 64) X(I64, 64) X(U64, 64)

enum lat_dtype {
#define LAT_DTYPE_ENUM(name, bits) LAT_DTYPE_##name,
    LAT_DTYPE_MAP(LAT_DTYPE_ENUM)
#undef LAT_DTYPE_ENUM
        LAT_DTYPE_COUNT
};

const char *lat_dtype_name(enum lat_dtype dtype); // "BF16"
size_t lat_dtype_bits(enum lat_dtype dtype);
// The type of that name (length bytes); false when unknown.
bool lat_dtype_parse(const char *name, size_t length, enum lat_dtype *out);

static inline float lat_f32_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t lat_f32_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float lat_bf16_to_f32(uint16_t h) { return lat_f32_from_bits((uint32_t)h << 16); }

// IEEE binary16, subnormals, infinities and NaN payloads included; exact.
static inline float lat_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u)
        return lat_f32_from_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest >= 0x400u)
        return lat_f32_from_bits(sign | ((rest << 13) + 0x38000000u));
    float small = (float)rest * 0x1p-24f; // subnormal or zero
    return lat_f32_from_bits(sign | lat_f32_to_bits(small));
}

// To the nearest, ties to even; NaN stays NaN and becomes quiet.
static inline uint16_t lat_f32_to_bf16(float value)
{
    uint32_t bits = lat_f32_to_bits(value), rounded = bits + 0x7fff + (bits >> 16 & 1);
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded >> 16);
}

// To the nearest, ties to even; NaN stays NaN.
static inline uint16_t lat_f32_to_f16(float value)
{
    uint32_t bits = lat_f32_to_bits(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest >= 0x7f800000u) // infinity; NaN keeps the top of its payload and becomes quiet
        return (uint16_t)(sign | 0x7c00u | (rest > 0x7f800000u ? 0x200u | (rest >> 13 & 0x3ffu) : 0));
    if (rest >= 0x477ff000u) // 65520 and above
        return (uint16_t)(sign | 0x7c00u);
    if (rest < 0x38800000u) { // below 2^-14: a multiple of 2^-24, and the addition rounds to it
        float scaled = lat_f32_from_bits(rest) + 0.5f;
        return (uint16_t)(sign | (lat_f32_to_bits(scaled) - 0x3f000000u));
    }
    uint32_t rounded = rest + 0xfffu + (rest >> 13 & 1) - 0x38000000u;
    return (uint16_t)(sign | rounded >> 13);
}

// Element `index` of F32, F16, BF16 or F64 data at any byte address, as f32.
float lat_dtype_load(enum lat_dtype dtype, const unsigned char *data, size_t index);
bool lat_dtype_is_float(enum lat_dtype dtype); // one that lat_dtype_load takes

#endif
