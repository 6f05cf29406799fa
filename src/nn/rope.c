// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "nn/rope.h"

#include "core/dmath.h"
#include "core/fault.h"

void lat_rope_frequencies(double theta, size_t rotary_dim, size_t half, double *frequency)
{
    for (size_t j = 0; j < half; j++)
        frequency[j] = lat_dmath_exp(-2.0 * (double)j / (double)rotary_dim * lat_dmath_log(theta));
}

void lat_rope_angles(const double *frequency, size_t half, size_t position, float *cosine, float *sine)
{
    for (size_t j = 0; j < half; j++) {
        double s, c;
        lat_dmath_sincos((double)position * frequency[j], &s, &c);
        cosine[j] = (float)c;
        sine[j] = (float)s;
    }
}

static void rotate_pair(float *a, float *b, float c, float s)
{
    float x = *a, y = *b;
    *a = x * c - y * s;
    *b = y * c + x * s;
}

void lat_rope_apply(const float *cosine, const float *sine, size_t half, float *x)
{
    if (LAT_FAULT("rope_interleaved")) {
        for (size_t j = 0; j < half; j++)
            rotate_pair(x + 2 * j, x + 2 * j + 1, cosine[j], sine[j]);
        return;
    }
    for (size_t j = 0; j < half; j++)
        rotate_pair(x + j, x + j + half, cosine[j], sine[j]);
}
