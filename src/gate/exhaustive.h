// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Proves that assignments of build options configure, compile and link, without building each: every assignment is
// configured, every distinct compilation runs once, every distinct link runs once.
//
// Two compilations are the same when they have the same command but for names of outputs and of macros that the unit
// cannot see (token_scan), over the same files; where generated headers are included, or an include is named by a macro,
// when their preprocessed text is the same. Plain -Werror makes no difference to a unit that compiles without a message.
//
// Not proven: custom commands after a link, what a program does, soundness of the project's own generators.
#ifndef LAT_GATE_EXHAUSTIVE_H
#define LAT_GATE_EXHAUSTIVE_H

#include "gate/feature_model.h"
#include "gate/finding.h"

struct lat_exhaustive_options {
    const struct lat_feature_model *model;
    const struct lat_feature_rows *rows;
    bool all_rows; // rows are all that is legal: then options that change nothing are told
    const char *source; // CMake's source folder, absolute
    const char *work;   // a folder of ours: emptied, then used; absolute
    struct lat_text_list configure; // further arguments of CMake
    struct lat_text_list ignore;    // patterns of CMake options that need no place in the model
    int jobs;           // 0: as many as processors
    double deadline;    // by lat_clock_seconds; 0: none
    bool verbose;
    bool dead_option_fails, dead_option_ignored;
};

// What was counted; the certificate says the rest.
struct lat_exhaustive_counts {
    size_t configured, tu_occurrences, tu_distinct, tu_compiled, link_occurrences, link_distinct, preprocessed, custom;
    double configure_seconds, compile_seconds, link_seconds;
    bool complete; // all assignments were looked at
};

// Adds findings (F401, F403 to F408) to `result` and, in `certificate`, what was proven: a new JSON object. LAT_OK unless
// nothing can be judged.
LAT_NODISCARD enum lat_status lat_exhaustive_run(const struct lat_exhaustive_options *options, struct lat_leg_result *result,
                                                 struct lat_exhaustive_counts *counts, json_t **certificate, struct lat_error *error);

// "-DNAME=value" for each option of an assignment after `head`, NULL-terminated, in memory of `arena`; NULL: short of memory.
const char **lat_exhaustive_arguments(const struct lat_feature_model *model, const struct lat_assignment *a, struct lat_text_list head,
                                      struct lat_arena *arena);
// The lines of CMake's output from the first error on, in one line.
void lat_exhaustive_cmake_reason(const struct lat_buf *output, struct lat_buf *out);

#endif
