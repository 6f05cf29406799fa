// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The components that a project stands on, put together from what its build used, its tree and gate.yaml. What is used
// and belongs to none is a finding, and so is what no one declared.
#ifndef LAT_GATE_DEPS_INVENTORY_H
#define LAT_GATE_DEPS_INVENTORY_H

#include "core/sha256.h"
#include "gate/deb_packages.h"
#include "gate/build_evidence.h"
#include "gate/deny_judge.h"
#include "gate/deny_policy.h"
#include "gate/tree_files.h"

#define LAT_DEP_ORIGIN_MAP(X) X(SYSTEM, "system") X(VENDORED, "vendored") X(FETCHED, "fetched") X(PROVIDED, "provided")
enum lat_dep_origin {
#define LAT_DEP_ORIGIN_ENUM(name, text) LAT_DEP_##name,
    LAT_DEP_ORIGIN_MAP(LAT_DEP_ORIGIN_ENUM)
#undef LAT_DEP_ORIGIN_ENUM
    LAT_DEP_ORIGIN_COUNT
};
const char *lat_dep_origin_name(enum lat_dep_origin origin);

struct lat_dep_texts { // sorted, distinct
    const char **items;
    size_t count, capacity;
};

struct lat_dep_file {
    const char *path; // absolute, or from the root
    const char *sha256;
};

struct lat_dep {
    const char *name;
    enum lat_dep_origin origin;
    const char *version;      // NULL: unknown
    unsigned linkage;         // LAT_LINK_* bits
    const char *license;      // canonical SPDX expression; NULL: none, for the reason in license_problem
    const char *license_from; // "Debian's copyright file", "clarified in gate.yaml", ...
    const char *license_problem;
    bool platform; // its licence is not asked
    struct lat_dep_file *license_files;
    size_t license_file_count;
    struct lat_dep_texts sonames, packages, targets;
    const char *path;      // vendored: its folder, from the root
    const char *tree_hash; // vendored: digest of that folder
    const char *url;       // git or archive
    const char *revision;  // git: commit
    const char *digest;    // archive: "SHA256=..."
    bool is_git;
    const char *place; // file where it is declared, or one by which it was found
    size_t line;
};

enum { LAT_DEPS_MAX = 4096 };

struct lat_inventory {
    struct lat_dep *deps; // sorted by name, origin, path
    size_t count, capacity;
    size_t object_count, link_count, file_count; // what was looked at
    struct lat_arena arena;
};

struct lat_inventory_options {
    const char *root, *work; // absolute
    struct lat_deny_policy *policy;
    struct lat_deny_judge *judge;
    double seconds_max;
};

// Collects, assembles, looks licences up and scans the tree. LAT_OK also when there are findings.
LAT_NODISCARD enum lat_status lat_inventory_make(struct lat_inventory *inventory, const struct lat_inventory_options *options,
                                                 struct lat_error *error);
void lat_inventory_release(struct lat_inventory *inventory);

// For the parts of the inventory (and tests).
LAT_NODISCARD enum lat_status lat_inventory_add(struct lat_inventory *inventory, const char *name, enum lat_dep_origin origin,
                                                const char *path, struct lat_dep **out, struct lat_error *error);
const struct lat_dep *lat_inventory_find(const struct lat_inventory *inventory, const char *name, enum lat_dep_origin origin,
                                         const char *path);
void lat_inventory_sort(struct lat_inventory *inventory);
LAT_NODISCARD enum lat_status lat_dep_texts_add(struct lat_inventory *inventory, struct lat_dep_texts *texts, const char *text,
                                                struct lat_error *error);
const char *lat_inventory_keep(struct lat_inventory *inventory, const char *text, size_t length); // NULL: no memory

// dep_licenses.c: the licence of each component.
LAT_NODISCARD enum lat_status lat_inventory_licenses(struct lat_inventory *inventory, const struct lat_inventory_options *options,
                                                     struct lat_error *error);

#endif
