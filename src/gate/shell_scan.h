// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The commands of a shell script and how they are joined, without running anything: enough of the POSIX and bash grammar
// that an operator in a string, a comment, a here-document, a `case` pattern or `[[ ]]` is not taken for one. Expressions
// of GitHub (`${{ ... }}`) are text.
#ifndef LAT_GATE_SHELL_SCAN_H
#define LAT_GATE_SHELL_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mem.h"
#include "lattice/status.h"

enum lat_shell_join { LAT_SHELL_NEXT, LAT_SHELL_PIPE, LAT_SHELL_AND, LAT_SHELL_OR };

enum { LAT_SHELL_COMMANDS_MAX = 20000, LAT_SHELL_DEPTH_MAX = 48 };
#define LAT_SHELL_NONE ((size_t)-1)

// One command. A compound one (`( )`, `{ }`, if, for, ...) stands after its parts, which are [inner, itself).
struct lat_shell_command {
    const char *const *words; // quotes taken off, redirections left out; a substitution stands as "$()". None: compound
    size_t word_count;
    size_t at;                // byte offset in the script
    enum lat_shell_join join; // how it is joined to the command `previous`
    size_t join_at;           // offset of that operator
    size_t previous, next;    // in its list, when joined by |, && or ||; else LAT_SHELL_NONE
    size_t inner;             // first part of a compound, else LAT_SHELL_NONE
    unsigned substitutions;   // how many $( ) or ` ` it stands in
    bool assigned;            // stands in the substitution of an assignment: its status is that of the assignment
};

struct lat_shell_script {
    struct lat_shell_command *commands;
    size_t count, capacity;
    bool broken; // a quote or substitution that is not closed: a shell refuses the script
    size_t broken_at;
    struct lat_arena arena;
};

// LAT_LIMIT: nested or long beyond reason. Release in any case.
LAT_NODISCARD enum lat_status lat_shell_scan(struct lat_shell_script *script, const char *text, size_t length,
                                             struct lat_error *error);
void lat_shell_release(struct lat_shell_script *script);

// Index of the word that is the program: after assignments and sudo, env, exec, timeout, ... `word_count` when none.
size_t lat_shell_program(const struct lat_shell_command *command);
// The program's last path component ("lattice-gate" of "./build/lattice-gate"), or "".
const char *lat_shell_program_name(const struct lat_shell_command *command);
// NAME=value
bool lat_shell_is_assignment(const char *word);

#endif
