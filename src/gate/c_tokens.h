// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A C or C++ source (or assembler for the preprocessor) as far as its preprocessing can depend on macros: its words,
// its includes, and whether it pastes tokens. Conditions are not evaluated: all branches count. Comments and literals
// are left out.
#ifndef LAT_GATE_C_TOKENS_H
#define LAT_GATE_C_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mem.h"
#include "lattice/status.h"

struct lat_c_word { // an identifier or a preprocessing number
    const char *at;
    size_t length;
};

struct lat_c_include { // of #include, #include_next, #import, __has_include
    const char *name;
    bool quoted, next;
};

struct lat_c_tokens {
    struct lat_c_word *words; // with repetitions
    size_t word_count, word_capacity;
    struct lat_c_include *includes; // memory of the arena
    size_t include_count, include_capacity;
    bool pastes;     // has ##
    bool computed;   // an include is named by a macro
    bool unknowable; // .incbin, #embed or an assembler's .include: reads what no scan sees
    char *text;      // the source with joined lines
};

// Words point into memory of `tokens`, includes are of `arena`.
LAT_NODISCARD enum lat_status lat_c_tokens_read(struct lat_c_tokens *tokens, const char *text, size_t length, struct lat_arena *arena,
                                                struct lat_error *error);
void lat_c_tokens_release(struct lat_c_tokens *tokens);

#endif
