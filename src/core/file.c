// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/mem.h"

static enum lat_status map_descriptor(struct lat_file_map *map, int fd, const char *path, struct lat_error *error)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return lat_error_errno(error, errno, "read", path);
    if (!S_ISREG(st.st_mode))
        return lat_error_set(error, LAT_FORMAT, "%s: not a regular file", path);
    map->length = (size_t)st.st_size;
    if (map->length == 0)
        return LAT_OK;
    void *bytes = mmap(NULL, map->length, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return lat_error_errno(error, errno, "map", path);
    map->bytes = bytes;
    return LAT_OK;
}

enum lat_status lat_file_map_open(struct lat_file_map *map, const char *path, struct lat_error *error)
{
    *map = (struct lat_file_map){ 0 };
    // Non-blocking, so that a FIFO in the place of a model does not hang the opening; regular files do not care.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return lat_error_errno(error, errno, "open", path);
    enum lat_status status = map_descriptor(map, fd, path, error);
    close(fd);
    return status;
}

void lat_file_map_close(struct lat_file_map *map)
{
    if (map->bytes)
        munmap((void *)(uintptr_t)map->bytes, map->length);
    *map = (struct lat_file_map){ 0 };
}

void lat_file_map_forget(const void *bytes, size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), first = (size_t)(uintptr_t)bytes, last = first + length;
    first = (first + page - 1) / page * page; // whole pages only: others have their bytes in the rest
    last = last / page * page;
    if (first < last)
        madvise((void *)(uintptr_t)first, last - first, MADV_DONTNEED);
}

bool lat_file_exists(const char *path) { return access(path, F_OK) == 0; }

bool lat_file_is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *lat_file_path_join(const char *folder, const char *name)
{
    size_t a = strlen(folder), b = strlen(name);
    char *path = lat_mem_new(a + b + 2, 1);
    if (!path)
        return NULL;
    memcpy(path, folder, a);
    if (a == 0 || folder[a - 1] != '/')
        path[a++] = '/';
    memcpy(path + a, name, b + 1);
    return path;
}

// An output takes the place of what has its name: that must not be a folder, nor a device like /dev/null, which root
// could replace for the whole machine.
static enum lat_status check_replaceable(const char *path, struct lat_error *error)
{
    struct stat st;
    if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        return LAT_OK; // what else is wrong shows when the file is created
    return lat_error_set(error, LAT_ARGUMENT, "%s: cannot be replaced by a file: it is %s", path,
                         S_ISDIR(st.st_mode) ? "a folder" : "a device, pipe or socket");
}

enum lat_status lat_file_out_open(struct lat_file_out *out, const char *path, struct lat_error *error)
{
    *out = (struct lat_file_out){ .descriptor = -1 };
    LAT_TRY(check_replaceable(path, error));
    static const char tail[] = ".partial-XXXXXX";
    size_t length = strlen(path);
    out->path = lat_mem_copy_text(path, length);
    out->temporary = lat_mem_new(length + sizeof tail, 1);
    if (!out->path || !out->temporary) {
        lat_file_out_abort(out);
        return lat_error_memory(error, "a file name");
    }
    memcpy(out->temporary, path, length);
    memcpy(out->temporary + length, tail, sizeof tail);
    out->descriptor = mkstemp(out->temporary);
    if (out->descriptor < 0) {
        int errnum = errno;
        lat_mem_free(out->temporary);
        out->temporary = NULL;
        lat_file_out_abort(out);
        return lat_error_errno(error, errnum, "create", path);
    }
    return LAT_OK;
}

enum lat_status lat_file_out_write(struct lat_file_out *out, uint64_t offset, const void *bytes, size_t length,
                                   struct lat_error *error)
{
    const char *from = bytes;
    while (length > 0) {
        ssize_t n = pwrite(out->descriptor, from, length, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return lat_error_errno(error, n < 0 ? errno : ENOSPC, "write", out->path);
        from += n;
        offset += (uint64_t)n;
        length -= (size_t)n;
    }
    return LAT_OK;
}

// mkstemp makes files private; an output gets what the user's umask gives any new file.
static void apply_umask(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    (void)!fchmod(fd, 0666 & ~mask);
}

enum lat_status lat_file_out_commit(struct lat_file_out *out, struct lat_error *error)
{
    apply_umask(out->descriptor);
    int closed = close(out->descriptor);
    out->descriptor = -1;
    enum lat_status status = LAT_OK;
    if (closed != 0)
        status = lat_error_errno(error, errno, "write", out->path);
    else if (rename(out->temporary, out->path) != 0)
        status = lat_error_errno(error, errno, "replace", out->path);
    else {
        lat_mem_free(out->temporary);
        out->temporary = NULL;
    }
    lat_file_out_abort(out);
    return status;
}

void lat_file_out_abort(struct lat_file_out *out)
{
    if (out->descriptor >= 0)
        close(out->descriptor);
    if (out->temporary)
        unlink(out->temporary);
    lat_mem_free(out->temporary);
    lat_mem_free(out->path);
    *out = (struct lat_file_out){ .descriptor = -1 };
}
