// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "cli/logit_score.h"

#include <math.h>
#include <stdlib.h>

#include "core/dmath.h"

static size_t top(const float *logits, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

double lat_logit_nll(const float *logits, size_t count, int32_t id)
{
    double most = (double)logits[top(logits, count)], sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += lat_dmath_exp((double)logits[i] - most);
    return most - (double)logits[id] + lat_dmath_log(sum);
}

void lat_logit_compare(struct lat_logit_pair *out, const float *logits, const float *reference, size_t count, int32_t id)
{
    size_t top_p = top(logits, count), top_r = top(reference, count);
    double most_p = (double)logits[top_p], most_r = (double)reference[top_r];
    double sum_p = 0, sum_r = 0, apart = 0; // apart: sum of the reference's weights times the difference of the exponents
    for (size_t i = 0; i < count; i++) {
        double p = (double)logits[i] - most_p, r = (double)reference[i] - most_r, weight = lat_dmath_exp(r);
        sum_p += lat_dmath_exp(p);
        sum_r += weight;
        apart += weight * (r - p);
    }
    double log_p = lat_dmath_log(sum_p), log_r = lat_dmath_log(sum_r);
    out->nll = most_p - (double)logits[id] + log_p;
    out->reference_nll = most_r - (double)reference[id] + log_r;
    out->kl = apart / sum_r + log_p - log_r;
    out->same_top = top_p == top_r;
}

void lat_moments_add(struct lat_moments *moments, double value)
{
    double from_old = value - moments->mean;
    moments->count++;
    moments->mean += from_old / (double)moments->count;
    moments->squares += from_old * (value - moments->mean);
}

double lat_moments_error(const struct lat_moments *moments)
{
    double n = (double)moments->count;
    return moments->count < 2 ? 0 : sqrt(moments->squares / (n - 1) / n);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at_rank(const double *sorted, size_t count, double rank)
{
    double last = (double)(count - 1);
    rank = rank < 0 ? 0 : rank > last ? last : rank;
    size_t below = (size_t)rank, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (sorted[above] - sorted[below]) * (rank - (double)below);
}

struct lat_quantile lat_quantile_of(double *values, size_t count, double q)
{
    qsort(values, count, sizeof *values, ascending);
    double rank = q * (double)(count - 1), spread = sqrt((double)count * q * (1 - q));
    return (struct lat_quantile){ at_rank(values, count, rank), at_rank(values, count, rank - spread),
                                  at_rank(values, count, rank + spread) };
}
