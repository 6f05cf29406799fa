// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// SPDX licence expressions (SPDX specification 2.3, annex D): reading, canonical printing, and the question that a gate
// asks: can this be met by what is allowed, and by which choice; if not, which part stands in the way.
//
// Binding: WITH over AND over OR. Operators and identifiers are read in any case and printed canonically. Identifiers
// stand in a table of ours (spdx_table.c); one that does not is an error, as a misspelt licence must not pass for a
// licence. Deprecated GNU identifiers become their successors, "GPL-2.0+" GPL-2.0-or-later. Nothing else is equal to
// anything else: "X+" is met by an allowed "X+" only, "X WITH E" by "X WITH E" only.
#ifndef LAT_GATE_SPDX_H
#define LAT_GATE_SPDX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/mem.h"
#include "lattice/status.h"

enum { LAT_SPDX_BYTES_MAX = 16384, LAT_SPDX_DEPTH_MAX = 32, LAT_SPDX_NODES_MAX = 1024, LAT_SPDX_TERMS_MAX = 64 };

enum lat_spdx_kind { LAT_SPDX_EXPRESSION, LAT_SPDX_NONE, LAT_SPDX_NOASSERTION };

// A licence as it stands in an expression: what must be allowed.
struct lat_spdx_term {
    const char *document;  // of "DocumentRef-x:LicenseRef-y", or NULL
    const char *license;   // canonical
    bool or_later;         // "+"
    const char *exception; // canonical, or NULL
};

enum lat_spdx_operator { LAT_SPDX_TERM, LAT_SPDX_AND, LAT_SPDX_OR };

struct lat_spdx_node {
    enum lat_spdx_operator operator;
    uint16_t term;        // of a LAT_SPDX_TERM
    uint16_t left, right; // nodes before this one
};

struct lat_spdx {
    enum lat_spdx_kind kind;
    struct lat_spdx_node *nodes; // children before parents; the last is the root
    size_t node_count;
    struct lat_spdx_term *terms; // distinct
    size_t term_count;
    const char *deprecated; // the first deprecated identifier that was replaced, or NULL
    struct lat_arena arena;
};

// LAT_FORMAT: no expression, or an unknown identifier: the message names the place and the nearest known one. LAT_LIMIT:
// too long, too deep, too many licences. "NONE" and "NOASSERTION" alone are read, and never met.
LAT_NODISCARD enum lat_status lat_spdx_parse(struct lat_spdx *spdx, const char *text, size_t length,
                                             struct lat_error *error);
void lat_spdx_release(struct lat_spdx *spdx);

void lat_spdx_print(struct lat_buf *out, const struct lat_spdx *spdx);
void lat_spdx_print_node(struct lat_buf *out, const struct lat_spdx *spdx, size_t node);
void lat_spdx_print_term(struct lat_buf *out, const struct lat_spdx_term *term);
bool lat_spdx_term_equal(const struct lat_spdx_term *a, const struct lat_spdx_term *b);

struct lat_spdx_verdict {
    bool satisfied;
    uint64_t chosen;  // satisfied: the fewest terms that meet it, a bit each
    size_t offending; // else: the node of the smallest part that cannot be met
};

// `allowed`: bit i for terms[i]. The choice is the smallest as long as no part has more than 16 ways to be met, none of
// which contains another; whether it can be met at all is always exact. LAT_MEMORY is the only failure.
LAT_NODISCARD enum lat_status lat_spdx_judge(const struct lat_spdx *spdx, uint64_t allowed, struct lat_spdx_verdict *out,
                                             struct lat_error *error);

// The tables. Lookup ignores case; a result is the canonical spelling, or NULL.
const char *lat_spdx_license_find(const char *text, size_t length);
const char *lat_spdx_exception_find(const char *text, size_t length);
// Deprecated identifiers, with their "+": "gpl-2.0+" gives license "GPL-2.0-or-later", exception NULL.
bool lat_spdx_deprecated_find(const char *text, size_t length, const char **name, const char **license,
                              const char **exception);
// The known licence that is the fewest edits away, or NULL when none is near.
const char *lat_spdx_license_nearest(const char *text, size_t length);
// True for licences of the GNU family (their use asks for more than a notice).
bool lat_spdx_is_gnu(const char *license);

#endif
