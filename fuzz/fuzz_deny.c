// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Reads any bytes as each of the texts that the deny leg reads of strangers: a Debian copyright file, a CMake file,
// sources, a dependency file, a link command, a lock. What a copyright file gives must be an SPDX expression.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/build_evidence.h"
#include "gate/dep5.h"
#include "gate/deps_lock.h"
#include "gate/fetch_scan.h"
#include "gate/source_notice.h"
#include "gate/spdx.h"
#include "gate/tree_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum lat_status on_fetch(void *context, const struct lat_fetch *f, struct lat_error *error)
{
    (void)error;
    *(size_t *)context += strlen(f->name) + (lat_fetch_hash_is_exact(f->hash) || lat_fetch_revision_is_exact(f->revision));
    return LAT_OK;
}

static void on_notice(void *context, const struct lat_notice *n)
{
    for (size_t i = 0; i < n->length; i++)
        *(size_t *)context += (unsigned char)n->text[i];
}

static enum lat_status on_path(void *context, const char *path, size_t length)
{
    on_notice(context, &(struct lat_notice){ .text = path, .length = length });
    return LAT_OK;
}

static void read_copyright(const char *text, size_t size)
{
    struct lat_buf out;
    struct lat_spdx spdx;
    lat_buf_init(&out, 1 << 20);
    if (lat_dep5_expression(&out, text, size, NULL) == LAT_OK && !out.failed && out.length <= LAT_SPDX_BYTES_MAX) {
        if (lat_spdx_parse(&spdx, out.bytes, out.length, NULL) != LAT_OK)
            abort();
        lat_spdx_release(&spdx);
    }
    lat_buf_release(&out);
}

static void read_lock(const char *text, size_t size)
{
    struct lat_deps_lock lock, again;
    struct lat_buf out;
    if (lat_deps_lock_parse(&lock, text, size, "lock", NULL) != LAT_OK)
        return;
    lat_buf_init(&out, 1 << 26);
    lat_deps_lock_write(&out, &lock.inventory);
    if (lat_deps_lock_parse(&again, out.bytes, out.length, "again", NULL) != LAT_OK)
        abort();
    lat_deps_lock_release(&again);
    lat_deps_lock_release(&lock);
    lat_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    size_t sum = 0;
    struct lat_arena arena;
    const char **words;
    lat_arena_init(&arena, 1 << 26);
    read_copyright(text, size);
    read_lock(text, size);
    if (lat_fetch_scan("CMakeLists.txt", text, size, &arena, on_fetch, &sum, NULL) != LAT_OK)
        sum++;
    lat_source_notice_scan("x.c", text, size, on_notice, &sum);
    lat_source_notice_scan("x.sh", text, size, on_notice, &sum);
    if (lat_depfile_read(text, size, on_path, &sum) != LAT_OK)
        abort();
    char *copy = lat_mem_copy_text(text, size);
    if (copy && lat_command_split(copy, &arena, &words, NULL) == LAT_OK)
        sum += words[0] ? strlen(words[0]) : 0;
    lat_mem_free(copy);
    sum += lat_executable_kind("x.txt", data, size) != NULL;
    lat_arena_release(&arena);
    return (int)(sum & 0);
}
