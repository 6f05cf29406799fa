// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "config.h"
#include "store.h"

int main(void)
{
    int value = store_value(2);
#ifdef FIX_PLUGIN
    value += plugin_value() - 4;
#endif
    log_line(FIX_BACKEND_NAME);
    return value != 4;
}
