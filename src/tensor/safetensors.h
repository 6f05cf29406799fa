// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The safetensors format (huggingface/safetensors README): one file, a folder with one, or an index with shards.
// Files are mapped, and everything the header says is checked before use: sizes with checked arithmetic, spans that
// tile the payload without hole or overlap, unique names, known types.
//
//   struct lat_st_folder *weights;
//   LAT_TRY(lat_st_folder_open(&weights, "models/nano", error));
//   const struct lat_st_tensor *t = lat_st_folder_find(weights, "model.norm.weight");   // NULL when absent
//   lat_st_folder_close(weights);                                // tensors, names and data die here
#ifndef LAT_TENSOR_SAFETENSORS_H
#define LAT_TENSOR_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "lattice/status.h"
#include "tensor/dtype.h"

enum { LAT_ST_RANK_MAX = 8 };

// A view: name and data belong to the file. Data may start at any byte (no alignment), row-major, little-endian.
struct lat_st_tensor {
    const char *name; // NUL-terminated UTF-8 (a name that holds a NUL is refused)
    enum lat_dtype dtype;
    int rank;
    size_t shape[LAT_ST_RANK_MAX];
    size_t elements;
    const unsigned char *data;
    size_t bytes;
};

struct lat_st_file;

LAT_NODISCARD enum lat_status lat_st_open(struct lat_st_file **out, const char *path, struct lat_error *error);
void lat_st_close(struct lat_st_file *file);
size_t lat_st_count(const struct lat_st_file *file);
const struct lat_st_tensor *lat_st_at(const struct lat_st_file *file, size_t index); // in order of offset
const struct lat_st_tensor *lat_st_find(const struct lat_st_file *file, const char *name); // NULL when absent
const char *lat_st_metadata(const struct lat_st_file *file, const char *key); // NULL when absent

// A model folder: model.safetensors.index.json with its shards, else model.safetensors, else the only *.safetensors.
// Names in an index must be plain relative names inside the folder (symbolic links of the hub's cache are followed).
// A folder with only pickle weights is refused with the way to convert.
struct lat_st_folder;

LAT_NODISCARD enum lat_status lat_st_folder_open(struct lat_st_folder **out, const char *folder,
                                                 struct lat_error *error);
void lat_st_folder_close(struct lat_st_folder *folder);
size_t lat_st_folder_count(const struct lat_st_folder *folder);
const struct lat_st_tensor *lat_st_folder_at(const struct lat_st_folder *folder, size_t index);
const struct lat_st_tensor *lat_st_folder_find(const struct lat_st_folder *folder, const char *name);
size_t lat_st_folder_files(const struct lat_st_folder *folder);
const char *lat_st_folder_file_name(const struct lat_st_folder *folder, size_t index); // relative to the folder

// Writing: all tensors are declared first; their rows may then come in any order. The file appears by rename.
struct lat_st_spec {
    const char *name;
    enum lat_dtype dtype;
    int rank;
    size_t shape[LAT_ST_RANK_MAX];
};
struct lat_st_pair {
    const char *key;
    const char *value;
};
struct lat_st_writer;

LAT_NODISCARD enum lat_status lat_st_writer_open(struct lat_st_writer **out, const char *path,
                                                 const struct lat_st_spec *specs, size_t count,
                                                 const struct lat_st_pair *metadata, size_t metadata_count,
                                                 struct lat_error *error);
// Writes `count` elements (in the tensor's type) from element `first` on.
LAT_NODISCARD enum lat_status lat_st_writer_put(struct lat_st_writer *writer, size_t tensor, size_t first,
                                                const void *values, size_t count, struct lat_error *error);
// Makes the file appear; refuses when elements of a tensor were never written. Frees the writer in every case.
LAT_NODISCARD enum lat_status lat_st_writer_commit(struct lat_st_writer *writer, struct lat_error *error);
void lat_st_writer_abort(struct lat_st_writer *writer); // removes what was written; NULL is harmless

#endif
