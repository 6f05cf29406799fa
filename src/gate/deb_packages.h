// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Which Debian package a file belongs to, and what that package is: asked of dpkg. A library and its headers come from
// several binary packages of one source package; the source package is what a component is.
#ifndef LAT_GATE_DEB_PACKAGES_H
#define LAT_GATE_DEB_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mem.h"
#include "lattice/status.h"

struct lat_deb_package {
    const char *name;    // "zlib1g:amd64" as dpkg says it
    const char *plain;   // "zlib1g"
    const char *source;  // "zlib"
    const char *version; // "1:1.2.13.dfsg-1"
};

struct lat_deb_file {
    const char *path;                      // in: absolute
    const struct lat_deb_package *package; // out: NULL when no package has it
};

// Fills in the packages. Each path is tried as it is, resolved, and with and without /usr before /lib (merged folders).
// LAT_UNAVAILABLE: there is no dpkg here. Texts live in `arena`.
LAT_NODISCARD enum lat_status lat_deb_find(struct lat_deb_file *files, size_t count, struct lat_arena *arena,
                                           struct lat_error *error);

// Order of two Debian versions: < 0, 0, > 0. Other dotted versions order as one expects.
int lat_deb_version_compare(const char *a, const char *b);
// "1.2", "<1.2", "<=1.2", ">1.2", ">=1.2", "=1.2"; several, all to hold, with commas: ">=1.2,<1.5". A version without an
// operator is "=". Debian's epoch, revision and repacking suffix are left out of `version` for the comparison.
bool lat_version_matches(const char *constraint, const char *version);

#endif
