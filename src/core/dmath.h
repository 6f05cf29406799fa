// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Elementary functions in double precision from basic IEEE operations only, so that they give the same bits on every
// machine (libm does not). Error below 2 ulp in the stated ranges. For the few values that are not worth a vector:
// rotary angles, decay gates, sampling weights.
#ifndef LAT_CORE_DMATH_H
#define LAT_CORE_DMATH_H

#include <stdbool.h>
#include <stddef.h>

double lat_dmath_exp(double x);   // any x; 0 below -745, infinity above 709.78
double lat_dmath_log(double x);   // x > 0 and normal; -infinity at 0, NaN below
double lat_dmath_log1p(double x); // x >= 0
// sine and cosine of x radians, |x| <= 1e6.
void lat_dmath_sincos(double x, double *sine, double *cosine);

// True when no element is infinite or NaN. Written so that compilers vectorise it: it runs over every logit of a token.
bool lat_dmath_all_finite(const float *x, size_t n);

#endif
