// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Opens a safetensors file of any bytes. What opens must hold its promises: every tensor lies inside of the file.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct lat_st_file *file = NULL;
    struct lat_error error = { 0 };
    if (lat_st_open(&file, path, &error) == LAT_OK) {
        volatile unsigned char sum = 0;
        for (size_t i = 0; i < lat_st_count(file); i++) {
            const struct lat_st_tensor *t = lat_st_at(file, i);
            for (size_t b = 0; b < t->bytes; b++)
                sum = (unsigned char)(sum + t->data[b]);
            if (lat_st_find(file, t->name) != t)
                abort();
        }
        lat_st_close(file);
    } else if (!error.text[0])
        abort();
    close(fd);
    return 0;
}
