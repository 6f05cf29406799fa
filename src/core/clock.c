// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/clock.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

double lat_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t lat_clock_peak_rss(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_maxrss * 1024; // Linux counts in KiB
}

uint64_t lat_clock_memory_free(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file)
        return UINT64_MAX;
    char line[128];
    unsigned long long kib = 0;
    uint64_t bytes = UINT64_MAX;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            bytes = (uint64_t)kib * 1024;
    fclose(file);
    return bytes;
}
