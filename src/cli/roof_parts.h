// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// One file an instruction set, compiled with that set's flags, gives what machine_roof.c times: a way to read memory and
// loops of one instruction on registers. Nothing here asks the processor whether it can; machine_roof.c does.
#ifndef LAT_CLI_ROOF_PARTS_H
#define LAT_CLI_ROOF_PARTS_H

#include <stddef.h>
#include <stdint.h>

// Reads bytes[0..length), length a multiple of 4096, on a 64-byte boundary; the result only keeps the loads alive.
typedef uint64_t lat_roof_read_fn(const unsigned char *bytes, size_t length);
// `rounds` rounds of independent chains of one instruction, long enough in all to hide its latency.
typedef void lat_roof_loop_fn(uint64_t rounds);

struct lat_roof_loop {
    const char *how; // "fma 512"; NULL: the set has none
    double ops;      // of a round; a multiply-add counts as two
    lat_roof_loop_fn *run;
};

struct lat_roof_part {
    lat_roof_read_fn *read;           // NULL: use another part's
    struct lat_roof_loop f32, int8, tile; // tile: int8 on matrix tiles
};

extern const struct lat_roof_part lat_roof_scalar;
#if defined(LATTICE_SIMD) && defined(__x86_64__)
extern const struct lat_roof_part lat_roof_avx2, lat_roof_avxvnni, lat_roof_avx512, lat_roof_avx512vnni, lat_roof_amx;
#elif defined(LATTICE_SIMD) && defined(__aarch64__)
extern const struct lat_roof_part lat_roof_neon, lat_roof_dotprod;
#endif

#define LAT_ROOF_EACH12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define LAT_ROOF_EACH24(X) \
    LAT_ROOF_EACH12(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

#endif
