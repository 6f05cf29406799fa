// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What a build really used, from the build itself: headers by Ninja's dependency log, what the linker read by linking
// each program once more with a dependency file, what is bound by DT_NEEDED. Names on a link line prove nothing: a library
// that is offered need not be used, and one that is used need not stand there.
#ifndef LAT_GATE_BUILD_EVIDENCE_H
#define LAT_GATE_BUILD_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mem.h"
#include "gate/yaml_tree.h"
#include "lattice/status.h"

// A file that a target used. Files of the build folder itself are left out, but for what was fetched into it.
struct lat_evidence_use {
    const char *path;   // absolute, its folder resolved; a bare name when it is bound and not found
    const char *target; // as the build names it
    unsigned how;       // LAT_LINK_* bits
    const char *soname; // of a bound library
};

struct lat_evidence {
    const char *root, *build; // resolved
    struct lat_evidence_use *uses; // distinct, sorted by path, target
    size_t count, capacity;
    size_t object_count, link_count; // compilations and links that were looked at
    struct lat_arena arena;
};

struct lat_evidence_options {
    const char *root;  // the project, absolute
    const char *build; // its Ninja build folder, absolute; NULL: configure and build in `work`/deny-build
    const char *work;  // absolute, exists
    struct lat_text_list configure;
    double seconds_max; // 0: 3600
};

// Builds what is not up to date, and looks. LAT_NOT_FOUND: a tool is missing; LAT_FAILED: the build fails, or nothing is
// built; LAT_UNAVAILABLE: not a Ninja build folder.
LAT_NODISCARD enum lat_status lat_evidence_collect(struct lat_evidence *evidence, const struct lat_evidence_options *options,
                                                   struct lat_error *error);
void lat_evidence_release(struct lat_evidence *evidence);

// Splits a command as a shell would, without any expansion: quotes and backslashes only. Pieces between && are ended by
// a NULL word, the last by two. LAT_FORMAT on an open quote.
LAT_NODISCARD enum lat_status lat_command_split(const char *text, struct lat_arena *arena, const char ***words,
                                                struct lat_error *error);
// The paths of a make rule "target: a b \<newline> c", with "\ " for a space.
typedef enum lat_status (*lat_depfile_fn)(void *context, const char *path, size_t length);
LAT_NODISCARD enum lat_status lat_depfile_read(const char *text, size_t length, lat_depfile_fn found, void *context);

#endif
