// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Folders with random weights in the exact shape of a config.json: speed and memory are those of the real model, texts
// are noise. Weights come from a seed and are scaled so that activations stay near one. 16 bits are bf16; 8 and 4 bits are
// the compressed-tensors layout (codes of groups of 32 packed in I32, bf16 scales), with random codes and scales.
#ifndef LAT_CLI_SHAPE_MODEL_H
#define LAT_CLI_SHAPE_MODEL_H

#include <stdint.h>

#include "lattice/status.h"

enum { LAT_SHAPE_GROUP = 32 };

struct lat_shape_options {
    int bits;      // of the matrices: 16, 8 or 4
    int head_bits; // of the head; 16 leaves a tied head tied, 8 and 4 untie it
    uint64_t seed;
    const volatile int *cancel; // ends with LAT_CANCELLED once it is non-zero; may be NULL
};

// Writes OUT/config.json and OUT/model.safetensors; `out` must not be there, or be empty. Dense shapes only. What was
// written is removed again when it fails.
LAT_NODISCARD enum lat_status lat_shape_write(const char *config_path, const char *out,
                                              const struct lat_shape_options *options, struct lat_error *error);
// The same in a new folder in memory: under TMPDIR where that is set, else in /dev/shm when it has room, else in /tmp.
// *folder is freed with lat_mem_free.
LAT_NODISCARD enum lat_status lat_shape_write_temporary(char **folder, const char *config_path,
                                                        const struct lat_shape_options *options, struct lat_error *error);
// Removes the two files and the folder. A model that is open keeps its maps, so this may (and should) come right after
// opening: then nothing is left behind however the program ends.
void lat_shape_remove(const char *folder);

#endif
