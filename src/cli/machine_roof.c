// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "cli/machine_roof.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/roof_parts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/pool.h"
#include "kernels/kernels.h"

enum { PASSES = 3, PARTS_MAX = 6, READ_UNIT = 4096, WARM_ROUNDS = 1000 };

struct lat_roof {
    struct lat_roof_figures figures;
    struct lat_pool *pool;
    unsigned char *buffer;
    const struct lat_roof_part *parts[PARTS_MAX]; // what this machine can run, the best last
    int part_count;
    // what the pool runs now
    lat_roof_read_fn *read;
    lat_roof_loop_fn *loop;
    uint64_t rounds;
    volatile uint64_t kept; // of what was read: the compiler must not drop the loads
};

#if defined(LATTICE_SIMD) && defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>

static bool has_avx512vnni(void) { return lat_kernels_find("avx512") && __builtin_cpu_supports("avx512vnni"); }

static bool has_avxvnni(void)
{
    unsigned a, b, c, d;
    return lat_kernels_find("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 4);
}

// The processor's word, and then the system's permission for the large registers (Linux 5.16 on).
static bool has_amx(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    const unsigned tile_and_int8 = 3u << 24;
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & tile_and_int8) != tile_and_int8)
        return false;
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}
#endif

#if defined(LATTICE_SIMD) && defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

static void find_parts(struct lat_roof *r)
{
    r->parts[r->part_count++] = &lat_roof_scalar;
#if defined(LATTICE_SIMD) && defined(__x86_64__)
    if (lat_kernels_find("avx2"))
        r->parts[r->part_count++] = &lat_roof_avx2;
    if (has_avxvnni())
        r->parts[r->part_count++] = &lat_roof_avxvnni;
    if (lat_kernels_find("avx512"))
        r->parts[r->part_count++] = &lat_roof_avx512;
    if (has_avx512vnni())
        r->parts[r->part_count++] = &lat_roof_avx512vnni;
    if (has_amx())
        r->parts[r->part_count++] = &lat_roof_amx;
#elif defined(LATTICE_SIMD) && defined(__aarch64__)
    r->parts[r->part_count++] = &lat_roof_neon;
    if (getauxval(AT_HWCAP) & HWCAP_ASIMDDP)
        r->parts[r->part_count++] = &lat_roof_dotprod;
#endif
}

static size_t last_cache(void)
{
    static const int levels[] = { _SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE };
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        long bytes = sysconf(levels[i]);
        if (bytes > 0)
            return (size_t)bytes;
    }
    return 0;
}

static void share(const struct lat_roof *r, int thread, int threads, size_t *begin, size_t *end)
{
    lat_pool_share(r->figures.buffer_bytes, READ_UNIT, thread, threads, begin, end);
}

// Each thread writes its own part, so that it lies near to it.
static void fill_part(void *context, int thread, int threads)
{
    struct lat_roof *r = context;
    size_t begin, end;
    share(r, thread, threads, &begin, &end);
    memset(r->buffer + begin, 1, end - begin);
}

static void read_part(void *context, int thread, int threads)
{
    struct lat_roof *r = context;
    size_t begin, end;
    share(r, thread, threads, &begin, &end);
    uint64_t kept = r->read(r->buffer + begin, end - begin);
    if (thread == 0)
        r->kept = kept;
}

static void run_loop(void *context, int thread, int threads)
{
    const struct lat_roof *r = context;
    (void)thread, (void)threads;
    r->loop(r->rounds);
}

static enum lat_status roof_init(struct lat_roof *r, int threads, struct lat_error *error)
{
    const size_t least = (size_t)1 << 30;
    size_t wanted = 4 * last_cache(), most = (size_t)(lat_clock_memory_free() / 4);
    wanted = wanted < least ? least : wanted;
    wanted = (wanted > most ? most : wanted) / READ_UNIT * READ_UNIT;
    r->figures.threads = threads ? threads : lat_pool_processors();
    LAT_TRY(lat_pool_new(&r->pool, r->figures.threads, error));
    void *buffer = wanted ? mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (buffer == MAP_FAILED)
        return lat_error_memory(error, "the buffer that memory is measured with");
#ifdef MADV_HUGEPAGE
    (void)madvise(buffer, wanted, MADV_HUGEPAGE); // refused: small pages then
#endif
    r->buffer = buffer;
    r->figures.buffer_bytes = wanted;
    find_parts(r);
    lat_pool_run(r->pool, fill_part, r);
    return LAT_OK;
}

enum lat_status lat_roof_new(struct lat_roof **out, int threads, struct lat_error *error)
{
    *out = NULL;
    struct lat_roof *r = lat_mem_new(1, sizeof *r);
    if (!r)
        return lat_error_memory(error, "the machine's measure");
    enum lat_status status = roof_init(r, threads, error);
    if (status != LAT_OK) {
        lat_roof_free(r);
        return status;
    }
    *out = r;
    return LAT_OK;
}

void lat_roof_free(struct lat_roof *roof)
{
    if (!roof)
        return;
    if (roof->buffer)
        munmap(roof->buffer, roof->figures.buffer_bytes);
    lat_pool_free(roof->pool);
    lat_mem_free(roof);
}

static double timed(struct lat_roof *r, lat_pool_fn *fn)
{
    double start = lat_clock_seconds();
    lat_pool_run(r->pool, fn, r);
    return lat_clock_seconds() - start;
}

static void sample_read(struct lat_roof *r)
{
    for (int i = 0; i < PASSES; i++) {
        double rate = (double)r->figures.buffer_bytes / timed(r, read_part);
        if (rate > r->figures.read_bytes_s)
            r->figures.read_bytes_s = rate;
    }
}

static void sample_loop(struct lat_roof *r, const struct lat_roof_loop *loop, struct lat_roof_peak *peak)
{
    const double wanted_s = 0.01;
    if (!loop->how)
        return;
    double seconds = 0;
    r->loop = loop->run;
    for (r->rounds = WARM_ROUNDS; (seconds = timed(r, run_loop)) < wanted_s / 4;)
        r->rounds *= 2;
    r->rounds = (uint64_t)((double)r->rounds * wanted_s / seconds) + 1;
    for (int i = 0; i < PASSES; i++) {
        double rate = loop->ops * (double)r->rounds * r->figures.threads / timed(r, run_loop);
        if (rate > peak->rate)
            *peak = (struct lat_roof_peak){ loop->how, rate };
    }
}

void lat_roof_sample(struct lat_roof *roof)
{
    for (int i = 0; i < roof->part_count; i++) {
        const struct lat_roof_part *part = roof->parts[i];
        if (part->read) {
            roof->read = part->read;
            sample_read(roof);
        }
        sample_loop(roof, &part->f32, &roof->figures.f32);
        sample_loop(roof, &part->int8, &roof->figures.int8);
        sample_loop(roof, &part->tile, &roof->figures.tile);
    }
}

const struct lat_roof_figures *lat_roof_view(const struct lat_roof *roof) { return &roof->figures; }
