// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What a configured Ninja build would run: each compilation, each link, and the rest, with the words of its command.
#ifndef LAT_GATE_NINJA_EDGES_H
#define LAT_GATE_NINJA_EDGES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mem.h"
#include "lattice/status.h"

enum lat_edge_kind {
    LAT_EDGE_COMPILE,
    LAT_EDGE_LINK,    // by a compiler, to a program or a shared library
    LAT_EDGE_ARCHIVE, // a static library
    LAT_EDGE_ALIAS,   // symbolic links of a versioned library or program
    LAT_EDGE_PHONY,   // a name for others
    LAT_EDGE_OTHER,   // generators, custom commands, CMake's own
};

struct lat_edge {
    enum lat_edge_kind kind;
    const char *output, *input; // as Ninja names them; input: the first
    const char **words;         // of the one command that matters, NULL-terminated; ALIAS: target, then its other names
    size_t word_count;
    bool has_more; // further commands of ours are not run: before or after building
};

struct lat_edges {
    struct lat_edge *items;
    size_t count;
    struct lat_arena arena;
};

// Runs `ninja -t compdb -x` in `build`.
LAT_NODISCARD enum lat_status lat_edges_read(struct lat_edges *edges, const char *build, struct lat_error *error);
void lat_edges_release(struct lat_edges *edges);

#endif
