// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "store.h"

int main(void) { return store_value(3) != 9 || store_value(5) != 25; }
