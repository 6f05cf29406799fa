// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/dmath.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t to_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double pow2(int n) { return from_bits((uint64_t)(n + 1023) << 52); } // -1022 <= n <= 1023

// The integer nearest to x, ties to even, for |x| < 2^51: the addition drops the fraction.
static double nearest(double x)
{
    const double magic = 0x1.8p52;
    volatile double sum = x + magic; // volatile: a compiler must not fold the two steps
    return sum - magic;
}

// ln 2 in two parts, the first with 20 zero bits at its end, so that n * high is exact for |n| < 2^20.
static const double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;

double lat_dmath_exp(double x)
{
    if (isnan(x))
        return x;
    if (x > 709.782712893384)
        return HUGE_VAL;
    if (x < -745.2)
        return 0;
    double n = nearest(x * 1.4426950408889634);
    double r = (x - n * ln2_high) - n * ln2_low; // |r| <= 0.3466
    double sum = 1;
    for (int k = 14; k >= 1; k--) // Taylor; the rest is below 2^-60
        sum = 1 + sum * r / k;
    int a = (int)n / 2, b = (int)n - a; // two factors: 2^n itself may not be a normal number
    return sum * pow2(a) * pow2(b);
}

// 2 * artanh(s) for |s| <= 0.1716: the logarithm of (1+s)/(1-s).
static double artanh2(double s)
{
    double z = s * s, sum = 0;
    for (int k = 25; k >= 3; k -= 2)
        sum = z * (sum + 1.0 / k);
    return 2 * s + 2 * s * sum;
}

double lat_dmath_log(double x)
{
    if (x == 0)
        return -HUGE_VAL;
    if (!(x > 0) || isinf(x))
        return x > 0 ? x : NAN;
    uint64_t bits = to_bits(x);
    int exponent = (int)(bits >> 52) - 1023;
    double m = from_bits((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    return (exponent * ln2_low + artanh2((m - 1) / (m + 1))) + exponent * ln2_high;
}

double lat_dmath_log1p(double x)
{
    return x < 0.4 ? artanh2(x / (2 + x)) : lat_dmath_log(1 + x); // the division keeps the digits of a small x
}

// Sine and cosine of |r| <= pi/4 by their Taylor series.
static double sine_series(double r)
{
    double z = r * r, sum = 1;
    for (int k = 19; k >= 3; k -= 2)
        sum = 1 - sum * z / (k * (k - 1));
    return r * sum;
}

static double cosine_series(double r)
{
    double z = r * r, sum = 1;
    for (int k = 20; k >= 2; k -= 2)
        sum = 1 - sum * z / (k * (k - 1));
    return sum;
}

void lat_dmath_sincos(double x, double *sine, double *cosine)
{
    // pi/2 in two parts, the first of 33 bits, so that n * first is exact for n < 2^20.
    const double first = 0x1.921fb54400000p0, second = 0x1.0b4611a626331p-34;
    double n = nearest(x * 0.6366197723675814);
    double r = (x - n * first) - n * second;
    double s = sine_series(r), c = cosine_series(r);
    switch ((int64_t)n & 3) {
    case 0: *sine = s, *cosine = c; break;
    case 1: *sine = c, *cosine = -s; break;
    case 2: *sine = -s, *cosine = -c; break;
    default: *sine = -c, *cosine = s; break;
    }
}

bool lat_dmath_all_finite(const float *x, size_t n)
{
    float lanes[16] = { 0 }, sum = 0;
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (size_t l = 0; l < 16; l++)
            lanes[l] += x[i + l] * 0.0f; // 0, or NaN from an infinity or NaN
    for (; i < n; i++)
        sum += x[i] * 0.0f;
    for (size_t l = 0; l < 16; l++)
        sum += lanes[l];
    return sum == 0;
}
