// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/error.h"
#include "core/mem.h"

enum { SPINS_MAX = 3000 };

struct worker {
    struct lat_pool *pool;
    pthread_t thread;
    int index;
};

struct lat_pool {
    int threads;
    int started;
    struct worker *workers;
    lat_pool_fn *fn;
    void *context;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    atomic_uint round;        // of lat_pool_run
    atomic_bool ending;
    atomic_uint barrier_seat; // threads that have come to the barrier
    atomic_uint barrier_turn; // barriers passed
};

static void spin_hint(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Waits until *value differs from `seen`: spins, then sleeps under the lock.
static void wait_change(struct lat_pool *pool, atomic_uint *value, unsigned seen)
{
    for (int i = 0; i < SPINS_MAX; i++) {
        if (atomic_load_explicit(value, memory_order_acquire) != seen)
            return;
        spin_hint();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load_explicit(value, memory_order_acquire) == seen)
        pthread_cond_wait(&pool->wake, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void announce(struct lat_pool *pool, atomic_uint *value)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add_explicit(value, 1, memory_order_release);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

void lat_pool_barrier(struct lat_pool *pool)
{
    if (pool->threads == 1)
        return;
    unsigned turn = atomic_load_explicit(&pool->barrier_turn, memory_order_acquire);
    unsigned seat = atomic_fetch_add_explicit(&pool->barrier_seat, 1, memory_order_acq_rel) + 1;
    if (seat == (unsigned)pool->threads) {
        atomic_store_explicit(&pool->barrier_seat, 0, memory_order_relaxed);
        announce(pool, &pool->barrier_turn);
    } else
        wait_change(pool, &pool->barrier_turn, turn);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct lat_pool *pool = worker->pool;
    for (unsigned round = 0;; round++) {
        wait_change(pool, &pool->round, round);
        if (atomic_load(&pool->ending))
            return NULL;
        pool->fn(pool->context, worker->index, pool->threads);
        lat_pool_barrier(pool);
    }
}

void lat_pool_run(struct lat_pool *pool, lat_pool_fn *fn, void *context)
{
    if (pool->threads == 1) {
        fn(context, 0, 1);
        return;
    }
    pool->fn = fn;
    pool->context = context;
    announce(pool, &pool->round);
    fn(context, 0, pool->threads);
    lat_pool_barrier(pool);
}

enum lat_status lat_pool_new(struct lat_pool **out, int threads, struct lat_error *error)
{
    *out = NULL;
    if (threads < 1 || threads > LAT_POOL_THREADS_MAX)
        return lat_error_set(error, LAT_ARGUMENT, "threads: %d is outside 1 to %d", threads, LAT_POOL_THREADS_MAX);
    struct lat_pool *pool = lat_mem_new(1, sizeof *pool);
    if (!pool)
        return lat_error_memory(error, "the thread pool");
    pool->threads = threads;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->workers = lat_mem_new((size_t)threads, sizeof *pool->workers);
    if (!pool->workers) {
        lat_pool_free(pool);
        return lat_error_memory(error, "the thread pool");
    }
    for (int i = 1; i < threads; i++) {
        pool->workers[i] = (struct worker){ .pool = pool, .index = i };
        if (pthread_create(&pool->workers[i].thread, NULL, worker_main, &pool->workers[i]) != 0) {
            lat_pool_free(pool);
            return lat_error_set(error, LAT_UNAVAILABLE, "threads: the system refused to start number %d", i);
        }
        pool->started = i;
    }
    *out = pool;
    return LAT_OK;
}

void lat_pool_free(struct lat_pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->ending, true);
    announce(pool, &pool->round);
    for (int i = 1; i <= pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    lat_mem_free(pool->workers);
    lat_mem_free(pool);
}

int lat_pool_threads(const struct lat_pool *pool) { return pool->threads; }

int lat_pool_processors(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > LAT_POOL_THREADS_MAX ? LAT_POOL_THREADS_MAX : count;
}
