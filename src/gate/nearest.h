// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// "Did you mean": the known name that is the fewest edits away from a word.
#ifndef LAT_GATE_NEAREST_H
#define LAT_GATE_NEAREST_H

// NULL when none of `known` (NULL-terminated) is near: at most a third of the word's letters, at least one, may differ
// (insert, delete, replace, swap of neighbours).
const char *lat_nearest(const char *word, const char *const *known);

#endif
