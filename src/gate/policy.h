// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// gate.yaml: what must be green, when, and how it is judged. Here stands what all kinds of legs share; each kind reads
// its own keys from `node` and refuses those that it does not know.
#ifndef LAT_GATE_POLICY_H
#define LAT_GATE_POLICY_H

#include "gate/yaml_tree.h"

// Schema 1: schema: 1; project: {name, default_branch}; paths: {always, inert, inert_except}; areas: {NAME: [globs]};
// legs: {NAME: {kind, areas, ...}}; waivers: [{leg, reason, owner, until, and at least one of code, path, anchor, rung}].
enum { LAT_POLICY_LEGS_MAX = 64, LAT_POLICY_AREAS_MAX = 32 };

struct lat_policy_area {
    const char *name;
    struct lat_text_list globs;
};

struct lat_policy_leg {
    const char *name, *kind; // kind: command, features, bench-compile, deny, feeds, parity, doctor
    bool required; // unless it says `required: false`
    struct lat_text_list areas; // names of areas, or "*"
    struct lat_text_list needs; // legs that must be green before this one is run, e.g. a build
    double budget_s;     // 0: 3600
    uint64_t rss_max;    // 0: none
    uint64_t population_min;
    struct lat_text_list tools; // programs that must exist
    const struct lat_yaml_node *node;
};

struct lat_policy {
    struct lat_yaml doc;
    const char *project, *default_branch;
    struct lat_text_list always, inert, inert_except; // path rules
    struct lat_policy_area areas[LAT_POLICY_AREAS_MAX];
    size_t area_count;
    struct lat_policy_leg legs[LAT_POLICY_LEGS_MAX];
    size_t leg_count;
    const struct lat_yaml_node *waivers; // sequence, or NULL
};

// Keys that every leg may have; kinds check with lat_policy_leg_keys_check against these and their own.
LAT_NODISCARD enum lat_status lat_policy_leg_keys_check(const struct lat_policy *policy, const struct lat_policy_leg *leg,
                                                        const char *const *own, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_policy_parse(struct lat_policy *policy, const char *text, size_t length,
                                               const char *name, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_policy_read(struct lat_policy *policy, const char *path, struct lat_error *error);
void lat_policy_release(struct lat_policy *policy);
const struct lat_policy_leg *lat_policy_leg_find(const struct lat_policy *policy, const char *name);

// A pattern that matches no file: a rule that has rotted.
struct lat_policy_dead_glob {
    const char *list; // name of the area, or "always", "inert", "inert_except"
    const char *pattern;
    size_t line, column; // in the policy
    bool whole_area;     // no pattern of this area matches anything: nothing can ever require its legs
};
// All of them, of which the first `out_max` go to `out`, for the tracked files `paths`.
size_t lat_policy_dead_globs(const struct lat_policy *policy, const char *const *paths, size_t path_count,
                             struct lat_policy_dead_glob *out, size_t out_max);

#endif
