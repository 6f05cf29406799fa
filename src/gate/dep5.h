// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Debian's machine-readable copyright file (DEP-5, copyright-format 1.0) as one SPDX expression: the licences of all
// stanzas but those of the packaging itself (debian/*), all of them to be met. Strict on purpose: a distribution's file
// says more than what a linked library needs, and where that is too much a clarification, bound to the file's digest,
// says what holds. Names follow a table; nothing is guessed from texts.
#ifndef LAT_GATE_DEP5_H
#define LAT_GATE_DEP5_H

#include "core/buf.h"
#include "lattice/status.h"

// Appends the expression. LAT_UNSUPPORTED: not in this format, or a licence name that has no SPDX identifier (the message
// names it and its line); LAT_FORMAT: in this format, but damaged.
LAT_NODISCARD enum lat_status lat_dep5_expression(struct lat_buf *out, const char *text, size_t length,
                                                  struct lat_error *error);

#endif
