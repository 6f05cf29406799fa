// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What this machine can do at best, measured: bytes read from memory and operations on registers, by the same number of
// threads as the work that is compared with it. Samples are short, so that they can be taken between the repetitions of
// that work; the best of each figure counts. What LATTICE_ISA says is not asked: the ceiling is the machine's.
//
//   struct lat_roof *roof;
//   LAT_TRY(lat_roof_new(&roof, 2, error));
//   lat_roof_sample(roof);                                   // about a quarter of a second; again and again
//   use(lat_roof_view(roof)->read_bytes_s);
//   lat_roof_free(roof);
#ifndef LAT_CLI_MACHINE_ROOF_H
#define LAT_CLI_MACHINE_ROOF_H

#include <stddef.h>

#include "lattice/status.h"

struct lat_roof_peak {
    const char *how; // the instruction: "fma 512"; NULL: this machine or build has none, and rate is 0
    double rate;     // operations a second of all threads; a multiply-add counts as two
};

struct lat_roof_figures {
    int threads;
    size_t buffer_bytes; // at least 1 GiB and four times the last cache, or a quarter of free memory where that is less
    double read_bytes_s; // of all threads, each reading its part of the buffer in one stream
    struct lat_roof_peak f32, int8, tile; // int8 by vectors; tile: int8 by matrix tiles (AMX), where the system permits
};

struct lat_roof;

// threads: 0 for the processors of this process. The buffer is in memory from here on.
LAT_NODISCARD enum lat_status lat_roof_new(struct lat_roof **out, int threads, struct lat_error *error);
void lat_roof_sample(struct lat_roof *roof);
const struct lat_roof_figures *lat_roof_view(const struct lat_roof *roof);
void lat_roof_free(struct lat_roof *roof); // NULL is harmless

#endif
