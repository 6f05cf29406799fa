// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "tensor/dtype.h"

#include "core/error.h"

static const struct {
    const char *name;
    size_t bits;
} dtypes[LAT_DTYPE_COUNT] = {
#define LAT_DTYPE_ROW(name, bits) { #name, bits },
    LAT_DTYPE_MAP(LAT_DTYPE_ROW)
#undef LAT_DTYPE_ROW
};

const char *lat_dtype_name(enum lat_dtype dtype) { return dtypes[dtype].name; }
size_t lat_dtype_bits(enum lat_dtype dtype) { return dtypes[dtype].bits; }

bool lat_dtype_parse(const char *name, size_t length, enum lat_dtype *out)
{
    for (size_t i = 0; i < LAT_DTYPE_COUNT; i++)
        if (strlen(dtypes[i].name) == length && memcmp(dtypes[i].name, name, length) == 0) {
            *out = (enum lat_dtype)i;
            return true;
        }
    return false;
}

bool lat_dtype_is_float(enum lat_dtype dtype)
{
    return dtype == LAT_DTYPE_F32 || dtype == LAT_DTYPE_F16 || dtype == LAT_DTYPE_BF16 || dtype == LAT_DTYPE_F64;
}

float lat_dtype_load(enum lat_dtype dtype, const unsigned char *data, size_t index)
{
    uint16_t half;
    float single;
    double wide;
    switch (dtype) {
    case LAT_DTYPE_F32:
        memcpy(&single, data + 4 * index, sizeof single);
        return single;
    case LAT_DTYPE_F64:
        memcpy(&wide, data + 8 * index, sizeof wide);
        return (float)wide;
    default:
        LAT_BUG_IF(dtype != LAT_DTYPE_F16 && dtype != LAT_DTYPE_BF16);
        memcpy(&half, data + 2 * index, sizeof half);
        return dtype == LAT_DTYPE_F16 ? lat_f16_to_f32(half) : lat_bf16_to_f32(half);
    }
}
