// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A model folder in the making: tensors are declared, the folder begun beside its final place under a name of its own,
// tensors and files put in, and everything renamed at once. What is not committed is removed.
#ifndef LAT_QUANT_FOLDER_OUTPUT_H
#define LAT_QUANT_FOLDER_OUTPUT_H

#include "tensor/safetensors.h"

struct lat_output;

// `in`: the folder whose other files (tokenizer, generation config, ...) are copied along. LAT_ARGUMENT when `out` exists
// and `force` is not set, or is something that `force` does not replace: only a folder that holds a config.json and no
// folders.
LAT_NODISCARD enum lat_status lat_output_new(struct lat_output **output, const char *in, const char *out, bool force,
                                             struct lat_error *error);
// Declares a tensor; *index is its number, counting up from 0.
LAT_NODISCARD enum lat_status lat_output_add(struct lat_output *output, const char *name, enum lat_dtype dtype, int rank,
                                             const size_t *shape, size_t *index, struct lat_error *error);
uint64_t lat_output_bytes(const struct lat_output *output); // of all declared tensors
enum lat_dtype lat_output_dtype(const struct lat_output *output, size_t index);
// Makes the folder, with one file of weights, or shards of at most 4 GB with an index.
LAT_NODISCARD enum lat_status lat_output_begin(struct lat_output *output, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_output_put(struct lat_output *output, size_t index, size_t first, const void *values,
                                             size_t count, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_output_write_file(struct lat_output *output, const char *name, const void *bytes,
                                                    size_t length, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_output_commit(struct lat_output *output, struct lat_error *error);
void lat_output_free(struct lat_output *output); // removes what was not committed; NULL is harmless

// quarot.safetensors: vectors kept as F32 under their own names.
struct lat_sidecar;
LAT_NODISCARD enum lat_status lat_sidecar_open(struct lat_sidecar **sidecar, struct lat_output *output,
                                               struct lat_error *error);
LAT_NODISCARD enum lat_status lat_sidecar_add(struct lat_sidecar *sidecar, const struct lat_st_tensor *tensor,
                                              struct lat_error *error); // the tensor must live until commit
LAT_NODISCARD enum lat_status lat_sidecar_commit(struct lat_sidecar *sidecar, struct lat_error *error); // frees it
void lat_sidecar_abort(struct lat_sidecar *sidecar);

#endif
