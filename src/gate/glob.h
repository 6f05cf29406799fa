// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Path patterns, anchored at the root, matched on bytes, case-sensitive: `*` and `?` within a component, `[...]`
// classes, `**` as a whole component for any number of components (none, too). No negation: a list of patterns can
// only ever match more. Linear in pattern times path; never backtracks exponentially.
#ifndef LAT_GATE_GLOB_H
#define LAT_GATE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "lattice/status.h"

// Refuses an empty pattern, a leading '/' or "./", "..", an empty component, an unclosed class, `**` beside other
// characters of its component, and what other dialects give a meaning that this one has not: a leading '!', '\', '{',
// [:alpha:].
LAT_NODISCARD enum lat_status lat_glob_check(const char *pattern, struct lat_error *error);
bool lat_glob_match(const char *pattern, const char *path, size_t path_length);

#endif
