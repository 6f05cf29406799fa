// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What a translation unit can see of its command line, without preprocessing it: the files that it may include, under
// whatever condition, and which of the macros defined on the command line occur in them. A macro that occurs nowhere, not
// even in pieces that `##` could put together, cannot change the unit. Always errs towards "depends".
#ifndef LAT_GATE_TOKEN_SCAN_H
#define LAT_GATE_TOKEN_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/sha256.h"
#include "lattice/status.h"

struct lat_token_scan; // keeps what it has read of files

struct lat_token_query {
    const char *source;               // absolute
    const char *const *forced;        // files of -include and -imacros, absolute
    size_t forced_count;
    const char *const *quote_folders; // for "x.h", after the includer's own folder
    size_t quote_count;
    const char *const *folders;       // for "x.h" and <x.h>, the compiler's own last; absolute
    size_t folder_count;
    const char *const *defines;       // NAME or NAME=value, in order
    size_t define_count;
    bool *reaches;                    // out: per define
};

struct lat_token_result {
    char digest[LAT_SHA256_HEX_SIZE]; // of all files and where each include led
    size_t file_count;
    bool computed;   // an include is named by a macro: only the preprocessor knows what it reads
    bool unknowable; // reads files that no scan sees (.incbin, #embed)
    bool generated;  // reads a file below the build folder
};

// Paths below `build` count as generated, and stand in digests without its name.
LAT_NODISCARD enum lat_status lat_token_scan_new(struct lat_token_scan **out, const char *build, struct lat_error *error);
void lat_token_scan_free(struct lat_token_scan *scan);
// Forgets what was read below the build folder, and where includes led: something was configured anew.
void lat_token_scan_forget(struct lat_token_scan *scan);
LAT_NODISCARD enum lat_status lat_token_scan_unit(struct lat_token_scan *scan, const struct lat_token_query *query,
                                                  struct lat_token_result *result, struct lat_error *error);

#endif
