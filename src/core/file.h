// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Files: read-only maps of inputs, and outputs that appear by rename when they are whole.
#ifndef LAT_CORE_FILE_H
#define LAT_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lattice/status.h"

// A regular file mapped for reading. `bytes` is NULL when the file is empty.
struct lat_file_map {
    const unsigned char *bytes;
    size_t length;
};

LAT_NODISCARD enum lat_status lat_file_map_open(struct lat_file_map *map, const char *path, struct lat_error *error);
void lat_file_map_close(struct lat_file_map *map);

// Says that these bytes of a map are not needed for now: their memory may go. They can still be read.
void lat_file_map_forget(const void *bytes, size_t length);
bool lat_file_exists(const char *path);
bool lat_file_is_folder(const char *path);
// "folder/name", freed with lat_mem_free; NULL when memory is short.
char *lat_file_path_join(const char *folder, const char *name);

// An output file that is written under a temporary name beside `path` and takes its place on commit. A write that
// fails leaves nothing behind once lat_file_out_abort (or commit) has been called.
struct lat_file_out {
    int descriptor;
    char *path;
    char *temporary;
};

// LAT_ARGUMENT when `path` is a folder, a device, a pipe or a socket.
LAT_NODISCARD enum lat_status lat_file_out_open(struct lat_file_out *out, const char *path, struct lat_error *error);
// Writes all of bytes[0..length) at `offset`.
LAT_NODISCARD enum lat_status lat_file_out_write(struct lat_file_out *out, uint64_t offset, const void *bytes,
                                                 size_t length, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_file_out_commit(struct lat_file_out *out, struct lat_error *error);
void lat_file_out_abort(struct lat_file_out *out); // harmless after commit

#endif
