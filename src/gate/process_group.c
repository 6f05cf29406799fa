// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/process_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Group and resident pages of one process. /proc/N/stat: "pid (name) state ppid pgrp ...", the 24th field is the
// resident set in pages; the name may hold anything, ')' too.
static void read_stat(const char *number, long *group, long *pages)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return;
    text[n] = '\0';
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 24; field++) {
        at = strchr(at + 1, ' ');
        if (at && field + 1 == 5)
            *group = strtol(at, NULL, 10);
        if (at && field + 1 == 24)
            *pages = strtol(at, NULL, 10);
    }
}

uint64_t lat_process_group_rss(pid_t group)
{
    DIR *proc = opendir("/proc");
    uint64_t sum = 0;
    long page = sysconf(_SC_PAGESIZE);
    if (!proc)
        return 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        long of = -1, pages = 0;
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        read_stat(entry->d_name, &of, &pages);
        if (of == (long)group && pages > 0)
            sum += (uint64_t)pages * (uint64_t)page;
    }
    closedir(proc);
    return sum;
}
