// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The keys of a leg of kind "features", besides those of the model (feature_model.h):
//
//   mode: exhaustive-tu | t3 | t2 | each | list      # which assignments
//   max_assignments: 4096, fallback: t3              # exhaustive-tu takes the other mode above so many
//   always_assign: [default, all-off, all-on]        # sets that are among the rows of t2 and t3
//   test_on: [default, small], min_tests: 40         # sets that are built and tested, and the least number of tests;
//                                                    # or {default: 60, small: 40}
//   tests: {run: [...], parse: junit, skips_allow: [...]}  # {build}, {out}; ctest unless told
//   source: ., configure: ["-DX=y"], test_configure: [...] (of test_on; as configure), unlisted: [BUILD_*],
//   dead_option: warn | fail | ignore, jobs: N
#ifndef LAT_GATE_FEATURES_CONFIG_H
#define LAT_GATE_FEATURES_CONFIG_H

#include "gate/feature_model.h"
#include "gate/policy.h"
#include "gate/result_parsers.h"

enum lat_features_mode { LAT_FEATURES_LIST, LAT_FEATURES_EACH, LAT_FEATURES_T2, LAT_FEATURES_T3, LAT_FEATURES_EXHAUSTIVE };

struct lat_features_config {
    struct lat_feature_model model;
    enum lat_features_mode mode, fallback;
    uint64_t max_assignments, jobs;
    struct lat_text_list always, configure, test_configure, ignore, test_run, skips_allow;
    struct lat_feature_set tests[LAT_FEATURE_SETS_MAX]; // sets of test_on
    uint64_t test_min[LAT_FEATURE_SETS_MAX];
    size_t test_count;
    enum lat_results_format test_format;
    const char *source, *dead_option;
};

bool lat_features_mode_parse(const char *name, enum lat_features_mode *out);
const char *lat_features_mode_name(enum lat_features_mode mode);

LAT_NODISCARD enum lat_status lat_features_config_read(struct lat_features_config *config, struct lat_policy *policy,
                                                       const struct lat_policy_leg *leg, struct lat_error *error);
void lat_features_config_release(struct lat_features_config *config);

// Which assignments a run looks at.
struct lat_features_plan {
    struct lat_feature_rows rows;
    enum lat_features_mode mode; // after the fallback
    bool fell_back, all_rows; // all_rows: all that is legal, in this or the other partitions
    size_t legal;             // number of legal assignments; 0: more than max_assignments, not counted
    size_t tuples, excluded;  // of t2 and t3: combinations that are covered, and that the constraints forbid
    size_t total;             // rows of all partitions
};
// `part` of `parts`, from 1: every parts-th row.
LAT_NODISCARD enum lat_status lat_features_plan_make(struct lat_features_plan *plan, const struct lat_features_config *config,
                                                     size_t part, size_t parts, struct lat_error *error);
void lat_features_plan_release(struct lat_features_plan *plan);

#endif
