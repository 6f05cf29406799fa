// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// JSON files that show when they were cut or edited: canonical (keys sorted, compact) with a member "digest", the SHA-256 of
// the same object without it. They appear by rename, on disk.
#ifndef LAT_GATE_SEALED_JSON_H
#define LAT_GATE_SEALED_JSON_H

#include <jansson.h>

#include "lattice/status.h"

enum { LAT_SEALED_BYTES_MAX = 64 << 20 };

// Adds the digest to `object` and writes it.
LAT_NODISCARD enum lat_status lat_sealed_write(json_t *object, const char *path, struct lat_error *error);
// Reads an object of that "schema"; the caller releases it. LAT_FORMAT when it is not whole.
LAT_NODISCARD enum lat_status lat_sealed_read(json_t **object, const char *path, const char *schema, struct lat_error *error);

#endif
