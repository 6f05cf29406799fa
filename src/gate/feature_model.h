// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A project's build options, with their values and what may go with what, as `features` legs of gate.yaml state them:
//
//   options:  { SIMD: ON, BLAS: { values: [off, openblas], default: off } }   # a scalar: ON/OFF, and the default
//   requires: [ "TRAIN -> F16" ]           # must be true
//   conflicts: [ [METAL, BLAS=openblas] ]  # at most one of each list
//   at_least_one: [ [A, B] ]
//   exactly_one: [ [A, B] ]
//   forbid: [ { when: "METAL & !darwin", message: "needs macOS" } ]   # illegal, and the configure step must say so
//   sets: { small: { SIMD: OFF } }         # the default with changes; default, all-off and all-on exist
//
// An assignment is legal when every rule holds and nothing that is forbidden does.
#ifndef LAT_GATE_FEATURE_MODEL_H
#define LAT_GATE_FEATURE_MODEL_H

#include "core/buf.h"
#include "gate/feature_expr.h"
#include "gate/yaml_tree.h"

enum { LAT_FEATURE_RULES_MAX = 256, LAT_FEATURE_SETS_MAX = 64, LAT_FEATURE_ROWS_MAX = 1 << 20 };

struct lat_feature_rule {
    const struct lat_feature_expr *expr; // must be true; of a forbid: must be false
    const char *text;    // as written
    const char *message; // of a forbid: what the configure step says; else NULL
    size_t line;
};

struct lat_feature_set {
    const char *name;
    struct lat_assignment a;
    bool repaired; // all-off and all-on: values differ from what the name says, to be legal
};

struct lat_feature_model {
    struct lat_feature_option options[LAT_FEATURE_OPTIONS_MAX];
    size_t option_count;
    struct lat_feature_rule rules[LAT_FEATURE_RULES_MAX];
    size_t rule_count;
    struct lat_feature_set sets[LAT_FEATURE_SETS_MAX]; // first default, all-off, all-on
    size_t set_count;
    struct lat_arena arena;
};

// Keys that lat_feature_model_read knows, NULL-terminated.
extern const char *const lat_feature_model_keys[];

// Reads them from the mapping `node` of `doc`, which must outlive the model. Refuses a model without a legal assignment,
// an illegal default and an illegal set.
LAT_NODISCARD enum lat_status lat_feature_model_read(struct lat_feature_model *model, struct lat_yaml *doc,
                                                     const struct lat_yaml_node *node, struct lat_error *error);
void lat_feature_model_release(struct lat_feature_model *model);

struct lat_assignment lat_feature_default(const struct lat_feature_model *model);
struct lat_assignment lat_feature_unset(void);
bool lat_feature_legal(const struct lat_feature_model *model, const struct lat_assignment *a);
// Gives the unset options values so that the whole is legal, those of `wish` (may be NULL) and the defaults first.
// LAT_NOT_FOUND: there is no such assignment; LAT_LIMIT: the search was given up. `exempt` is a rule that must be broken
// instead (a forbid whose `when` holds), or LAT_FEATURE_RULES_MAX.
LAT_NODISCARD enum lat_status lat_feature_complete(const struct lat_feature_model *model, struct lat_assignment *a,
                                                   const struct lat_assignment *wish, size_t exempt, struct lat_error *error);
// Legal assignments in order of their values, the first option changing slowest. LAT_LIMIT when there are more than `most`.
struct lat_feature_rows {
    struct lat_assignment *items;
    size_t count, capacity;
};
LAT_NODISCARD enum lat_status lat_feature_rows_add(struct lat_feature_rows *rows, const struct lat_assignment *a, struct lat_error *error);
void lat_feature_rows_release(struct lat_feature_rows *rows);
LAT_NODISCARD enum lat_status lat_feature_enumerate(const struct lat_feature_model *model, size_t most, struct lat_feature_rows *rows,
                                                    struct lat_error *error);
// Assignments that break forbid `rule` and nothing else: one for each way in which its own options can do so, otherwise as
// the default; at most `most`.
LAT_NODISCARD enum lat_status lat_feature_forbidden(const struct lat_feature_model *model, size_t rule, size_t most,
                                                    struct lat_feature_rows *rows, struct lat_error *error);

const struct lat_feature_set *lat_feature_set_find(const struct lat_feature_model *model, const char *name);
bool lat_feature_equal(const struct lat_feature_model *model, const struct lat_assignment *a, const struct lat_assignment *b);
// "SIMD=ON REGEX=OFF", or only what differs from the default ("default" when nothing does).
void lat_feature_describe(const struct lat_feature_model *model, const struct lat_assignment *a, bool difference, struct lat_buf *out);

#endif
