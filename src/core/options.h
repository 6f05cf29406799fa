// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Command lines from tables: one row is an option's name, its kind, where its value goes, and its help text, so that
// what is parsed and what --help says cannot differ.
#ifndef LAT_CORE_OPTIONS_H
#define LAT_CORE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lattice/status.h"

enum lat_option_kind {
    LAT_OPTION_FLAG,   // bool
    LAT_OPTION_COUNT,  // size_t
    LAT_OPTION_SIGNED, // int64_t
    LAT_OPTION_SEED,   // uint64_t
    LAT_OPTION_NUMBER, // double, finite
    LAT_OPTION_TEXT,   // const char *
    LAT_OPTION_TEXTS,  // struct lat_texts: may be given several times
};

enum { LAT_TEXTS_MAX = 16 };

struct lat_texts {
    const char *items[LAT_TEXTS_MAX];
    size_t count;
};

struct lat_option {
    const char *name;  // "--threads"
    const char *value; // "N"; NULL for a flag
    const char *help;
    enum lat_option_kind kind;
    size_t offset; // in the command's options struct
};

struct lat_command {
    const char *program;  // "lattice"
    const char *name;     // "generate"
    const char *operands; // "MODEL [PROMPT|-]"
    size_t operands_min, operands_max;
    const char *summary;
    const char *details; // further lines of the help, or NULL
    const struct lat_option *options;
    size_t option_count;
    int (*run)(int argc, char **argv, const struct lat_command *self);
};

enum { LAT_OPERANDS_MAX = 64 };

struct lat_operands {
    const char *items[LAT_OPERANDS_MAX];
    size_t count;
};

// Fills `values` (the command's struct) and the operands. "--" ends the options; "-" is an operand; "--name=value" and
// "-n value" work.
LAT_NODISCARD enum lat_status lat_options_parse(const struct lat_command *command, int argc, char **argv, void *values,
                                                struct lat_operands *operands, struct lat_error *error);
void lat_options_help(const struct lat_command *command, FILE *out);
// The command as a section of a man page (roff, man(7)).
void lat_options_man(const struct lat_command *command, FILE *out);

// "1,2,3" to ids; the caller frees *ids with lat_mem_free.
LAT_NODISCARD enum lat_status lat_options_ids(const char *text, int32_t **ids, size_t *count, struct lat_error *error);

#endif
