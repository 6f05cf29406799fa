// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "lattice/model.h"

#if defined(LATTICE_SIMD) && defined(__x86_64__)
#include <cpuid.h>

// clang 14 does not know the name for __builtin_cpu_supports. F16C uses the registers that AVX2's check has covered.
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

// The compiler's run-time support asks the processor and, through XCR0, whether the system saves the registers.
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512vnni");
}
#endif

#if defined(LATTICE_SIMD) && defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

const struct lat_kernels *lat_kernels_find(const char *isa)
{
#if defined(LATTICE_SIMD) && defined(__x86_64__)
    if (strcmp(isa, "avx512") == 0)
        return has_avx512() ? &lat_kernels_avx512 : NULL;
    if (strcmp(isa, "avx2") == 0)
        return has_avx2() ? &lat_kernels_avx2 : NULL;
#endif
#if defined(LATTICE_SIMD) && defined(__aarch64__)
    if (strcmp(isa, "dotprod") == 0)
        return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? &lat_kernels_dotprod : NULL;
    if (strcmp(isa, "neon") == 0)
        return &lat_kernels_neon;
#endif
    return strcmp(isa, "scalar") == 0 ? &lat_kernels_scalar : NULL;
}

lat_bf16_matmul_fn *lat_kernels_bf16_dot(const struct lat_kernels *kernels)
{
#if defined(LATTICE_SIMD) && defined(__x86_64__)
    unsigned a, b, c, d; // clang 14 does not know the name for __builtin_cpu_supports: leaf 7.1, EAX bit 5
    if (kernels == &lat_kernels_avx512 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 5))
        return lat_bf16_dot_matmul;
#endif
    (void)kernels;
    return NULL;
}

static const struct lat_kernels *best(void)
{
    static const char *const order[] = { "avx512", "avx2", "dotprod", "neon", "scalar" };
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const struct lat_kernels *found = lat_kernels_find(order[i]);
        if (found)
            return found;
    }
    LAT_BUG_IF(true);
}

enum lat_status lat_kernels_choose(const struct lat_kernels **out, struct lat_error *error)
{
    const char *wanted = getenv("LATTICE_ISA");
    *out = wanted && *wanted ? lat_kernels_find(wanted) : best();
    if (*out)
        return LAT_OK;
    static const char *const known[] = { "scalar", "avx2", "avx512", "neon", "dotprod" };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(wanted, known[i]) == 0)
            return lat_error_set(error, LAT_UNSUPPORTED, "LATTICE_ISA: this machine or build has no %s", wanted);
    return lat_error_set(error, LAT_ARGUMENT, "LATTICE_ISA: '%.40s' is none of scalar, avx2, avx512, neon, dotprod", wanted);
}

const char *lat_isa_name(void)
{
    const struct lat_kernels *kernels;
    return lat_kernels_choose(&kernels, NULL) == LAT_OK ? kernels->isa : "none";
}
