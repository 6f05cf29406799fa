// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What a CMake file would fetch when it is run: FetchContent_Declare, ExternalProject_Add, file(DOWNLOAD), CPMAddPackage,
// and programs that fetch (git clone, curl, wget) in execute_process or add_custom_command. Every branch counts, taken
// or not: what can be fetched by an option is a dependency, too.
#ifndef LAT_GATE_FETCH_SCAN_H
#define LAT_GATE_FETCH_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mem.h"
#include "lattice/status.h"

struct lat_fetch {
    const char *command; // "FetchContent_Declare"
    const char *name;    // first argument, or the last part of the address
    const char *url;     // archive; NULL: none
    const char *git;     // repository; NULL: none
    const char *revision; // GIT_TAG, NULL: none
    const char *hash;     // "SHA256=...", NULL: none
    size_t line;
    const char *path; // of the CMake file, the caller's pointer
};

typedef enum lat_status (*lat_fetch_fn)(void *context, const struct lat_fetch *fetch, struct lat_error *error);

// Texts live in `arena`. Stops at the first status of `found` that is not LAT_OK. A file that ends inside a command or
// a bracket is LAT_FORMAT: it cannot be judged.
LAT_NODISCARD enum lat_status lat_fetch_scan(const char *path, const char *text, size_t length, struct lat_arena *arena,
                                             lat_fetch_fn found, void *context, struct lat_error *error);

// A git revision that names one commit for good: 40 or 64 hex digits.
bool lat_fetch_revision_is_exact(const char *revision);
// "SHA256=<64 hex>", SHA384, SHA512, SHA3_*; weaker hashes do not count.
bool lat_fetch_hash_is_exact(const char *hash);

#endif
