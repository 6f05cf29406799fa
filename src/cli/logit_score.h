// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What rows of logits say about a text: the loss of the token that came, and how far two models are apart. Everything is
// computed and summed in double precision, with the same bits on every machine (core/dmath).
#ifndef LAT_CLI_LOGIT_SCORE_H
#define LAT_CLI_LOGIT_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// -log p(id), natural, where p is the softmax of logits[0..count).
double lat_logit_nll(const float *logits, size_t count, int32_t id);

struct lat_logit_pair {
    double nll, reference_nll; // of the token that came
    double kl;                 // sum of r * log(r / p) over the vocabulary; r: the reference, p: the model
    bool same_top;             // both have the same most probable id (the lowest among equals)
};
void lat_logit_compare(struct lat_logit_pair *out, const float *logits, const float *reference, size_t count, int32_t id);

// Mean and spread of numbers that come one by one (Welford).
struct lat_moments {
    size_t count;
    double mean, squares; // squares: sum of squared distances from the mean
};
void lat_moments_add(struct lat_moments *moments, double value);
// Standard error of the mean, as if the numbers were independent; 0 below two numbers.
double lat_moments_error(const struct lat_moments *moments);

// The q-quantile of values[0..count) (which get sorted), linear between neighbours, and the values at the ranks one
// standard deviation (binomial) below and above it. count > 0, 0 <= q <= 1.
struct lat_quantile {
    double value, low, high;
};
struct lat_quantile lat_quantile_of(double *values, size_t count, double q);

#endif
