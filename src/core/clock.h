// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Time for figures, and the peak memory of this process.
#ifndef LAT_CORE_CLOCK_H
#define LAT_CORE_CLOCK_H

#include <stdint.h>

double lat_clock_seconds(void);       // monotonic, from an arbitrary start
uint64_t lat_clock_peak_rss(void);    // bytes; 0 when the system does not tell
uint64_t lat_clock_memory_free(void); // bytes that could be had without swapping; UINT64_MAX when unknown

#endif
