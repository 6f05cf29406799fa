// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/rng.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t rotate(uint64_t x, int n) { return x << n | x >> (64 - n); }

void lat_rng_init(struct lat_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->s[i] = splitmix(&seed);
}

uint64_t lat_rng_next(struct lat_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t out = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return out;
}

double lat_rng_uniform(struct lat_rng *rng) { return (double)(lat_rng_next(rng) >> 11) * 0x1p-53; }
