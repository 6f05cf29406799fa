// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// SHA-256 (FIPS 180-4), for the digests that tie a trace to the model files it came from. Ours because the engine
// must build with nothing but libc and utf8proc.
#ifndef LAT_CORE_SHA256_H
#define LAT_CORE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { LAT_SHA256_HEX_SIZE = 65 };

struct lat_sha256 {
    uint32_t state[8];
    uint64_t length;
    unsigned char block[64];
};

void lat_sha256_init(struct lat_sha256 *hash);
void lat_sha256_add(struct lat_sha256 *hash, const void *bytes, size_t length);
// Ends the hash and writes 64 lower-case hex digits and a NUL.
void lat_sha256_hex(struct lat_sha256 *hash, char out[LAT_SHA256_HEX_SIZE]);

#endif
