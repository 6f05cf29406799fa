// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// deps.lock: the components as they were when somebody looked. `deny lock` writes it from the inventory, `deny` compares.
//
// What is locked depends on who vouches for it:
//   vendored (also submodules), fetched   everything: version, digest of the folder, revision, licence, licence texts, linkage
//   system, provided               name, licence, linkage, sonames. Version, packages and digests of licence texts are
//                                  written for the reader and compared as information only: the distribution repairs
//                                  its packages under the same soname, and a security update must not turn a gate red.
//                                  A changed licence, a new soname or a new way of linking does.
//   system, named as platform      nothing: gate.yaml says that they may be used in any way. Differences are information.
#ifndef LAT_GATE_DEPS_LOCK_H
#define LAT_GATE_DEPS_LOCK_H

#include "gate/deps_inventory.h"

enum { LAT_DEPS_LOCK_SCHEMA = 1 };

// A lock, or a licence in it, as an inventory: same fields, same order.
struct lat_deps_lock {
    struct lat_inventory inventory;
    struct lat_yaml doc;
};

// The text of a lock file; the same inventory gives the same bytes.
void lat_deps_lock_write(struct lat_buf *out, const struct lat_inventory *inventory);
// LAT_FORMAT with the place; LAT_NOT_FOUND: there is none.
LAT_NODISCARD enum lat_status lat_deps_lock_read(struct lat_deps_lock *lock, const char *path, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_deps_lock_parse(struct lat_deps_lock *lock, const char *text, size_t length, const char *name,
                                                  struct lat_error *error);
void lat_deps_lock_release(struct lat_deps_lock *lock);

// Findings on every difference. `name`: the lock's path, for places.
void lat_deps_lock_compare(const struct lat_deps_lock *lock, const struct lat_inventory *now, const char *name,
                           struct lat_deny_judge *judge);

#endif
