// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Random numbers that are the same on every machine for one seed: xoshiro256** (Blackman and Vigna,
// https://prng.di.unimi.it), its state filled by splitmix64. Not for secrets.
#ifndef LAT_CORE_RNG_H
#define LAT_CORE_RNG_H

#include <stdint.h>

struct lat_rng {
    uint64_t s[4];
};

void lat_rng_init(struct lat_rng *rng, uint64_t seed);
uint64_t lat_rng_next(struct lat_rng *rng);
double lat_rng_uniform(struct lat_rng *rng); // in [0, 1), 53 random bits

#endif
