// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "runtime/stop.h"

#include <string.h>

#include "core/error.h"

void lat_stop_init(struct lat_stop *stop, const char *const *texts, size_t count)
{
    *stop = (struct lat_stop){ .texts = texts, .count = count };
    lat_buf_init(&stop->held, 1 << 28);
    lat_buf_init(&stop->ready, 1 << 28);
}

void lat_stop_release(struct lat_stop *stop)
{
    lat_buf_release(&stop->held);
    lat_buf_release(&stop->ready);
}

// Offset of the first stop text in bytes[0..length), or length; *which is its index (the lowest of those that begin
// there).
static size_t find_first(const struct lat_stop *stop, const char *bytes, size_t length, size_t *which)
{
    size_t first = length;
    for (size_t i = 0; i < stop->count; i++) {
        const char *found = memmem(bytes, length, stop->texts[i], strlen(stop->texts[i]));
        if (found && (size_t)(found - bytes) < first) {
            first = (size_t)(found - bytes);
            *which = i;
        }
    }
    return first;
}

// Length of the longest end of bytes[0..length) that begins a stop text.
static size_t open_end(const struct lat_stop *stop, const char *bytes, size_t length)
{
    size_t longest = 0;
    for (size_t i = 0; i < stop->count; i++) {
        size_t most = strlen(stop->texts[i]) - 1;
        for (size_t n = most < length ? most : length; n > longest; n--)
            if (memcmp(bytes + length - n, stop->texts[i], n) == 0)
                longest = n;
    }
    return longest;
}

// Moves all but the last `keep` held bytes to ready.
static enum lat_status release_all_but(struct lat_stop *stop, size_t keep, struct lat_error *error)
{
    size_t out = stop->held.length - keep;
    if (out) {
        lat_buf_add(&stop->ready, stop->held.bytes, out);
        memmove(stop->held.bytes, stop->held.bytes + out, keep);
        stop->held.length = keep;
    }
    return stop->held.failed || stop->ready.failed ? lat_error_memory(error, "generated text") : LAT_OK;
}

enum lat_status lat_stop_add(struct lat_stop *stop, const char *text, size_t length, struct lat_error *error)
{
    lat_buf_clear(&stop->ready);
    if (stop->hit)
        return LAT_OK;
    lat_buf_add(&stop->held, text, length);
    size_t first = stop->held.length ? find_first(stop, stop->held.bytes, stop->held.length, &stop->which) : 0;
    if (first < stop->held.length) {
        stop->hit = true;
        stop->held.length = first;
        return release_all_but(stop, 0, error);
    }
    return release_all_but(stop, open_end(stop, stop->held.bytes, stop->held.length), error);
}

enum lat_status lat_stop_end(struct lat_stop *stop, struct lat_error *error)
{
    lat_buf_clear(&stop->ready);
    return release_all_but(stop, 0, error);
}
