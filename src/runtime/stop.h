// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Stop texts in a stream: what may still turn out to be the beginning of one is held back, so that it works across
// token borders and never prints half a stop text.
#ifndef LAT_RUNTIME_STOP_H
#define LAT_RUNTIME_STOP_H

#include "core/buf.h"

struct lat_stop {
    const char *const *texts; // not empty ones
    size_t count;
    struct lat_buf held;
    struct lat_buf ready; // text that is final, until the next call
    bool hit;             // a stop text has come: nothing more will be ready
    size_t which;         // its index, once hit
};

void lat_stop_init(struct lat_stop *stop, const char *const *texts, size_t count);
void lat_stop_release(struct lat_stop *stop);
// Takes text; stop->ready holds what became final.
LAT_NODISCARD enum lat_status lat_stop_add(struct lat_stop *stop, const char *text, size_t length, struct lat_error *error);
// No more text will come: what was held back is final.
LAT_NODISCARD enum lat_status lat_stop_end(struct lat_stop *stop, struct lat_error *error);

#endif
