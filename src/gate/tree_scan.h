// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Looks through the source tree for what nobody declared: files under another licence, of another owner, in folders that
// are named after other people's code; programs and libraries in binary form; what CMake files would fetch.
#ifndef LAT_GATE_TREE_SCAN_H
#define LAT_GATE_TREE_SCAN_H

#include "gate/deny_judge.h"
#include "gate/deny_policy.h"
#include "gate/fetch_scan.h"
#include "gate/tree_files.h"

struct lat_tree_scan_options {
    const char *root;
    struct lat_deny_policy *policy;
    struct lat_deny_judge *judge;
    struct lat_arena *arena; // for the texts of fetches
    lat_fetch_fn fetched;
    void *context;
};

LAT_NODISCARD enum lat_status lat_tree_scan(const struct lat_tree_files *files, const struct lat_tree_scan_options *options,
                                            struct lat_error *error);

// "ELF", "PE", "Mach-O", "archive", "WebAssembly", "Java class", "script" (a "#!" line in a file whose name does not say
// script), or NULL.
const char *lat_executable_kind(const char *path, const unsigned char *bytes, size_t length);
// The declared component whose folder holds `path`, or NULL.
const struct lat_deny_vendored *lat_vendored_of(const struct lat_deny_policy *policy, const char *path);

#endif
