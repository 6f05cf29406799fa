// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "config.h"
#include "store.h"

static const int table[] = {
#include "table.h"
};

#ifdef FIX_STATS
static int reads;
#endif

int store_value(int key)
{
#ifdef FIX_STATS
    reads++;
#endif
#ifdef FIX_CACHE
    if (key < 4)
        return table[key];
#endif
    return table[3] - 9 + backend_read(key);
}
