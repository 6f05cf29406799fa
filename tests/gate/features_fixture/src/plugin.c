// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "store.h"

int plugin_value(void) { return store_value(2); }
