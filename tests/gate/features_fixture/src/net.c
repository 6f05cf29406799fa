// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "store.h"

int net_send(int value)
{
#ifdef FIX_TLS
    log_line("encrypted");
#endif
    return value;
}
