// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The little language of constraints: OPTION, OPTION=value, OPTION!=value, !, &, |, ->, parentheses. An option alone is
// true when its value is not one that CMake's if() takes for false. `->` binds last and to the right, then `|`, then `&`.
// Words that are no option may name the machine: linux, darwin, x86_64, aarch64. An expression can be asked while some
// options have no value yet; then the answer may be "unknown".
#ifndef LAT_GATE_FEATURE_EXPR_H
#define LAT_GATE_FEATURE_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mem.h"
#include "lattice/status.h"

enum { LAT_FEATURE_OPTIONS_MAX = 64, LAT_FEATURE_VALUES_MAX = 32, LAT_FEATURE_UNSET = 255 };

struct lat_feature_option {
    const char *name;
    const char *values[LAT_FEATURE_VALUES_MAX];
    uint8_t value_count, preset; // preset: index of the default
};

// An assignment: for each option the index of its value, or LAT_FEATURE_UNSET.
struct lat_assignment {
    uint8_t value[LAT_FEATURE_OPTIONS_MAX];
};

enum lat_truth { LAT_FALSE, LAT_TRUE, LAT_UNKNOWN };

struct lat_feature_expr; // lives in the arena that it was parsed into

// The error's text has the column within the expression: "column 7: there is no option 'X'".
LAT_NODISCARD enum lat_status lat_feature_expr_parse(const struct lat_feature_expr **out, const char *text,
                                                     const struct lat_feature_option *options, size_t option_count,
                                                     struct lat_arena *arena, struct lat_error *error);
enum lat_truth lat_feature_expr_eval(const struct lat_feature_expr *expr, const struct lat_assignment *a);
// Sets bit i for each option i that the expression reads.
void lat_feature_expr_options(const struct lat_feature_expr *expr, uint64_t *set);

// As CMake's if() judges a constant: 0, OFF, NO, FALSE, N, IGNORE, NOTFOUND, *-NOTFOUND, and no text are false.
bool lat_feature_value_is_false(const char *value);

#endif
