// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The inventory as a software bill of materials: SPDX 2.3 and CycloneDX 1.5, both JSON. Pure functions of their input:
// names of documents come from a digest of it, the time is given.
#ifndef LAT_GATE_SBOM_H
#define LAT_GATE_SBOM_H

#include "gate/deps_inventory.h"

struct lat_sbom_options {
    const char *project;
    const char *license; // of the project, or NULL
    const char *tool;    // "lattice-gate-0.1.0"
    const char *distribution; // "debian", for package addresses
    int64_t created;     // seconds since 1970
};

LAT_NODISCARD enum lat_status lat_sbom_spdx(struct lat_buf *out, const struct lat_inventory *inventory,
                                            const struct lat_sbom_options *options, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_sbom_cyclonedx(struct lat_buf *out, const struct lat_inventory *inventory,
                                                 const struct lat_sbom_options *options, struct lat_error *error);
// "pkg:deb/debian/zlib@1%3A1.2.13?arch=source", "pkg:generic/x@1".
void lat_sbom_purl(struct lat_buf *out, const struct lat_dep *dep, const char *distribution);

#endif
