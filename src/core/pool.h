// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A fixed pool of threads that run one function together (single program, multiple data), with a barrier inside it.
// The caller is thread 0. Idle workers sleep; the barrier spins for a bounded time and then sleeps, so that shared
// cores do not burn.
#ifndef LAT_CORE_POOL_H
#define LAT_CORE_POOL_H

#include <stddef.h>

#include "lattice/status.h"

enum { LAT_POOL_THREADS_MAX = 256 };

struct lat_pool;
typedef void lat_pool_fn(void *context, int thread, int threads);

LAT_NODISCARD enum lat_status lat_pool_new(struct lat_pool **out, int threads, struct lat_error *error);
void lat_pool_free(struct lat_pool *pool);
int lat_pool_threads(const struct lat_pool *pool);
// Runs fn on every thread and returns when all have ended.
void lat_pool_run(struct lat_pool *pool, lat_pool_fn *fn, void *context);
// Called by every thread inside fn: none goes on before all have come. What was written before is seen after.
void lat_pool_barrier(struct lat_pool *pool);
// Processors that this process may use (affinity counted), at least 1.
int lat_pool_processors(void);

// The part of 0..count that a thread owns, in multiples of `unit`.
static inline void lat_pool_share(size_t count, size_t unit, int thread, int threads, size_t *begin, size_t *end)
{
    size_t units = (count + unit - 1) / unit;
    *begin = units * (size_t)thread / (size_t)threads * unit;
    *end = units * ((size_t)thread + 1) / (size_t)threads * unit;
    if (*begin > count)
        *begin = count;
    if (*end > count)
        *end = count;
}

#endif
