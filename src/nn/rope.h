// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Rotary position embedding (Su et al. 2021), half-split pairs (j, j + half), over the first 2*half dimensions of a
// head. Angles are position * theta^(-2j/rotary_dim), computed in double and rounded once: nearer to the exact values
// than f32 products at large positions.
#ifndef LAT_NN_ROPE_H
#define LAT_NN_ROPE_H

#include <stddef.h>

// frequency[j] = theta^(-2j/rotary_dim) for j in [0, half).
void lat_rope_frequencies(double theta, size_t rotary_dim, size_t half, double *frequency);
// cosine[j], sine[j] of the angles at a position.
void lat_rope_angles(const double *frequency, size_t half, size_t position, float *cosine, float *sine);
// Rotates x[0 .. 2*half) in place: x'_j = x_j c - x_{j+half} s, x'_{j+half} = x_{j+half} c + x_j s.
void lat_rope_apply(const float *cosine, const float *sine, size_t half, float *x);

#endif
