// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A random orthogonal transform of vectors of any length n, in double precision: R x = (H (x) D x) / sqrt(n), where D is a
// diagonal of random signs and H = H_2 (x) ... (x) H_2 (x) H_K a Hadamard matrix (Ashkboos et al. 2024, QuaRot,
// arXiv:2404.00456, section 3). K is the smallest order of Paley's two constructions (a prime q = 3 mod 4: q + 1;
// q = 1 mod 4: 2(q + 1)) for which n/K is a power of two; where there is none, the odd part of n takes a random
// orthogonal matrix instead, so that every n has its transform.
#ifndef LAT_QUANT_HADAMARD_H
#define LAT_QUANT_HADAMARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lattice/status.h"

struct lat_rotation {
    size_t size;      // n
    size_t factor;    // K
    bool hadamard;    // the factor is a Hadamard matrix, else a random orthogonal one
    double *matrix;   // [K][K], rows of length 1; NULL when K is 1
    double *signs;    // [n]
};

LAT_NODISCARD enum lat_status lat_rotation_init(struct lat_rotation *rotation, size_t size, uint64_t seed,
                                                struct lat_error *error);
void lat_rotation_release(struct lat_rotation *rotation);
// x = R x, x [n]; `scratch` [n].
void lat_rotation_apply(const struct lat_rotation *rotation, double *x, double *scratch);

// A Hadamard matrix of that order by Paley's constructions into `out` [order][order] of +1 and -1; false: there is none.
bool lat_hadamard_paley(size_t order, double *out);

#endif
