// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "quant/hadamard.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "core/mem.h"
#include "core/rng.h"

enum { PALEY_MAX = 512, FACTOR_MAX = 4096 };

static bool is_prime(size_t n)
{
    for (size_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return false;
    return n >= 2;
}

// The Legendre symbol of a modulo the prime q.
static int character(size_t a, size_t q)
{
    if (a % q == 0)
        return 0;
    for (size_t x = 1; x < q; x++)
        if (x * x % q == a % q)
            return 1;
    return -1;
}

// I + S, S skew with the Jacobsthal matrix of q = 3 mod 4 inside.
static void paley_first(size_t q, double *out)
{
    size_t n = q + 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            int s = i == 0 && j == 0 ? 0 : i == 0 ? 1 : j == 0 ? -1 : character(i + q - j, q);
            out[i * n + j] = s + (i == j);
        }
}

// The conference matrix of q = 1 mod 4 with 0 -> [1 -1; -1 -1] and +-1 -> +-[1 1; 1 -1].
static void paley_second(size_t q, double *out)
{
    size_t n = 2 * (q + 1);
    for (size_t i = 0; i <= q; i++)
        for (size_t j = 0; j <= q; j++) {
            int s = i == 0 && j == 0 ? 0 : i == 0 || j == 0 ? 1 : character(i + q - j, q);
            double block[4] = { s, s, s, -s };
            if (s == 0)
                memcpy(block, (double[]){ 1, -1, -1, -1 }, sizeof block);
            for (size_t k = 0; k < 4; k++)
                out[(2 * i + k / 2) * n + 2 * j + k % 2] = block[k];
        }
}

bool lat_hadamard_paley(size_t order, double *out)
{
    if (order < 4 || order > PALEY_MAX || order % 4 != 0)
        return false;
    if (is_prime(order - 1)) { // order - 1 is 3 mod 4
        paley_first(order - 1, out);
        return true;
    }
    size_t q = order / 2 - 1;
    if (q % 4 != 1 || !is_prime(q))
        return false;
    paley_second(q, out);
    return true;
}

static bool paley_exists(size_t order)
{
    return order >= 4 && order <= PALEY_MAX && order % 4 == 0
        && (is_prime(order - 1) || ((order / 2 - 1) % 4 == 1 && is_prime(order / 2 - 1)));
}

// Normal numbers by the sum of uniform ones are good enough: what counts is that the rows are independent.
static void random_orthogonal(double *m, size_t n, struct lat_rng *rng)
{
    for (size_t i = 0; i < n; i++) {
        double *row = m + i * n, length;
        do {
            for (size_t j = 0; j < n; j++)
                row[j] = lat_rng_uniform(rng) + lat_rng_uniform(rng) - 1;
            for (int twice = 0; twice < 2; twice++) // Gram and Schmidt, once more for the last digits
                for (size_t k = 0; k < i; k++) {
                    double dot = 0;
                    for (size_t j = 0; j < n; j++)
                        dot += row[j] * m[k * n + j];
                    for (size_t j = 0; j < n; j++)
                        row[j] -= dot * m[k * n + j];
                }
            length = 0;
            for (size_t j = 0; j < n; j++)
                length += row[j] * row[j];
        } while (length < 1e-6);
        for (size_t j = 0; j < n; j++)
            row[j] /= sqrt(length);
    }
}

static void choose_factor(struct lat_rotation *r)
{
    size_t odd = r->size;
    while (odd % 2 == 0)
        odd /= 2;
    r->factor = odd;
    r->hadamard = odd == 1;
    for (size_t k = odd; odd > 1 && r->size % k == 0 && k <= PALEY_MAX; k *= 2)
        if (paley_exists(k)) {
            r->factor = k;
            r->hadamard = true;
            return;
        }
}

static enum lat_status fill(struct lat_rotation *r, uint64_t seed, struct lat_error *error)
{
    struct lat_rng rng;
    lat_rng_init(&rng, seed);
    r->signs = lat_mem_new(r->size, sizeof *r->signs);
    if (r->factor > 1)
        r->matrix = lat_mem_new(r->factor * r->factor, sizeof *r->matrix);
    if (!r->signs || (r->factor > 1 && !r->matrix))
        return lat_error_memory(error, "a rotation");
    for (size_t i = 0; i < r->size; i++)
        r->signs[i] = lat_rng_next(&rng) >> 63 ? 1 : -1;
    if (r->factor == 1)
        return LAT_OK;
    if (!r->hadamard) {
        random_orthogonal(r->matrix, r->factor, &rng);
        return LAT_OK;
    }
    LAT_BUG_IF(!lat_hadamard_paley(r->factor, r->matrix));
    for (size_t i = 0; i < r->factor * r->factor; i++)
        r->matrix[i] /= sqrt((double)r->factor);
    return LAT_OK;
}

enum lat_status lat_rotation_init(struct lat_rotation *rotation, size_t size, uint64_t seed, struct lat_error *error)
{
    *rotation = (struct lat_rotation){ .size = size };
    LAT_BUG_IF(size == 0);
    choose_factor(rotation);
    if (rotation->factor > FACTOR_MAX)
        return lat_error_set(error, LAT_UNSUPPORTED, "a size of %zu has an odd factor of %zu: too large to rotate", size,
                             rotation->factor);
    enum lat_status status = fill(rotation, seed, error);
    if (status != LAT_OK)
        lat_rotation_release(rotation);
    return status;
}

void lat_rotation_release(struct lat_rotation *rotation)
{
    lat_mem_free(rotation->matrix);
    lat_mem_free(rotation->signs);
    *rotation = (struct lat_rotation){ 0 };
}

// x is [powers][K]: H_K along the last axis, H_2 butterflies along the first.
void lat_rotation_apply(const struct lat_rotation *rotation, double *x, double *scratch)
{
    size_t n = rotation->size, k = rotation->factor, powers = n / k;
    for (size_t i = 0; i < n; i++)
        scratch[i] = x[i] * rotation->signs[i];
    for (size_t p = 0; p < powers; p++)
        for (size_t i = 0; i < k; i++) {
            double sum = k == 1 ? scratch[p] : 0;
            for (size_t j = 0; k > 1 && j < k; j++)
                sum += rotation->matrix[i * k + j] * scratch[p * k + j];
            x[p * k + i] = sum;
        }
    for (size_t half = 1; half < powers; half *= 2)
        for (size_t p = 0; p < powers; p += 2 * half)
            for (size_t i = p * k; i < (p + half) * k; i++) {
                double a = x[i], b = x[i + half * k];
                x[i] = a + b;
                x[i + half * k] = a - b;
            }
    double scale = 1 / sqrt((double)powers);
    for (size_t i = 0; i < n; i++)
        x[i] *= scale;
}
