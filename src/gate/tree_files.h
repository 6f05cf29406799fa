// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The files of a source tree, and one digest for a folder of them. In a git work tree: what is tracked, and what is
// neither tracked nor ignored; elsewhere every file but .git. Symlinks are not followed.
#ifndef LAT_GATE_TREE_FILES_H
#define LAT_GATE_TREE_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mem.h"
#include "core/sha256.h"
#include "lattice/status.h"

enum lat_tree_kind { LAT_TREE_FILE, LAT_TREE_LINK, LAT_TREE_SUBMODULE };

struct lat_tree_entry {
    const char *path; // from the root; bytes as they are
    enum lat_tree_kind kind;
    const char *revision; // of a submodule: the commit that the tree pins
};

enum { LAT_TREE_FILES_MAX = 400000, LAT_TREE_DEPTH_MAX = 64 };

struct lat_tree_files {
    struct lat_tree_entry *entries; // sorted by path
    size_t count, capacity;
    bool from_git;
    struct lat_arena arena;
};

// `skip`: folders, absolute, that are left out (a build folder inside the tree); NULL-terminated.
LAT_NODISCARD enum lat_status lat_tree_files_list(struct lat_tree_files *files, const char *root,
                                                  const char *const *skip, struct lat_error *error);
// Every file below `folder`, tracked or not.
LAT_NODISCARD enum lat_status lat_tree_files_walk(struct lat_tree_files *files, const char *folder,
                                                  const char *const *skip, struct lat_error *error);
void lat_tree_files_release(struct lat_tree_files *files);

// SHA-256 over path, kind, executable bit and content (or link target) of every file below `folder`, in path order.
LAT_NODISCARD enum lat_status lat_tree_hash(const char *folder, char hex[LAT_SHA256_HEX_SIZE], struct lat_error *error);
LAT_NODISCARD enum lat_status lat_file_hash(const char *path, char hex[LAT_SHA256_HEX_SIZE], struct lat_error *error);

#endif
