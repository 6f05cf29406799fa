// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double lat_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// The number of kB that a line "KEY: N kB" of a /proc file tells; false when there is none.
static bool proc_kib(const char *path, const char *key, uint64_t *kib)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char line[128];
    bool found = false;
    size_t length = strlen(key);
    while (!found && fgets(line, sizeof line, file)) {
        found = strncmp(line, key, length) == 0 && line[length] == ':';
        if (found)
            *kib = strtoull(line + length + 1, NULL, 10);
    }
    fclose(file);
    return found;
}

uint64_t lat_clock_peak_rss(void)
{
    uint64_t kib = 0; // getrusage would count what the parent had before exec
    return proc_kib("/proc/self/status", "VmHWM", &kib) ? kib * 1024 : 0;
}

uint64_t lat_clock_memory_free(void)
{
    uint64_t kib = 0;
    return proc_kib("/proc/meminfo", "MemAvailable", &kib) ? kib * 1024 : UINT64_MAX;
}
