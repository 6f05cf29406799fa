// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Tensors by name: an open-addressed hash table of views.
#ifndef LAT_TENSOR_NAME_TABLE_H
#define LAT_TENSOR_NAME_TABLE_H

#include <stdbool.h>

#include "tensor/safetensors.h"

struct lat_name_table {
    const struct lat_st_tensor **slots;
    size_t mask; // slots - 1, a power of two less one
};

// Room for `count` names; false when memory is short.
bool lat_name_table_init(struct lat_name_table *table, size_t count);
void lat_name_table_release(struct lat_name_table *table);
// False when the name is there already.
bool lat_name_table_add(struct lat_name_table *table, const struct lat_st_tensor *tensor);
const struct lat_st_tensor *lat_name_table_find(const struct lat_name_table *table, const char *name);

#endif
