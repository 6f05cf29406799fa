// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Commands of a parity leg: arguments with placeholders, run in the project's folder, and the prompts they are given.
#ifndef LAT_GATE_PARITY_ENGINE_H
#define LAT_GATE_PARITY_ENGINE_H

#include "gate/leg.h"
#include "gate/parity_config.h"
#include "gate/spawn.h"
#include "tensor/safetensors.h"

// What stands for "{key}" in an argument.
struct lat_parity_fill {
    const char *key, *value;
};

struct lat_parity_command {
    const struct lat_text_list *arguments, *more; // `more` may be NULL
    const struct lat_parity_fill *fills;          // ends with a NULL key
    const struct lat_yaml_node *env, *more_env;   // mappings, or NULL
    const char *input;                            // of standard input, or NULL
    size_t input_length;
    double seconds_max;
    uint64_t rss_max;
};
LAT_NODISCARD enum lat_status lat_parity_command_run(struct lat_spawn_result *result, const struct lat_gate_run *run,
                                                     const struct lat_parity_command *command, struct lat_error *error);

// The prompts of a reference, and what is to be run beside them.
struct lat_parity_prompts {
    struct { int64_t *ids; size_t count; } *items;
    size_t count;
};
// p0.input_ids, ... of a reference (or operator reference). With `forced`, each with greedy_ids but the last behind it.
LAT_NODISCARD enum lat_status lat_parity_prompts_read(struct lat_parity_prompts *out, const struct lat_st_file *file, bool forced,
                                                      struct lat_error *error);
// One prompt more, of `length` ids drawn at random from the others: an answer to it cannot have been made before.
LAT_NODISCARD enum lat_status lat_parity_prompts_add_probe(struct lat_parity_prompts *prompts, size_t length, struct lat_error *error);
// [[1,2,3],[4]]
LAT_NODISCARD enum lat_status lat_parity_prompts_write(const struct lat_parity_prompts *prompts, const char *path, struct lat_error *error);
// Is the JSON text a list of lists of the same ids?
LAT_NODISCARD enum lat_status lat_parity_prompts_match(const struct lat_parity_prompts *prompts, const char *path, struct lat_error *error);
void lat_parity_prompts_release(struct lat_parity_prompts *prompts);

// "1,2,3", as an argument; NULL when memory is short. Freed with lat_mem_free.
char *lat_parity_ids_text(const int64_t *ids, size_t count);

#endif
