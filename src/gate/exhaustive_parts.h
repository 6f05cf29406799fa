// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What the parts of the exhaustive proof share.
#ifndef LAT_GATE_EXHAUSTIVE_PARTS_H
#define LAT_GATE_EXHAUSTIVE_PARTS_H

#include "core/pool.h"
#include "gate/cmake_api.h"
#include "gate/exhaustive.h"
#include "gate/ninja_edges.h"
#include "gate/text_table.h"
#include "gate/token_scan.h"

enum { LAT_PROOF_PATH = 4400, LAT_PROOF_MESSAGE = 700, PROOF_COMPILERS_MAX = 4096 };

enum proof_state { PROOF_NEW, PROOF_PASSED, PROOF_FAILED, PROOF_BLOCKED }; // BLOCKED: what it needs failed

// A distinct compilation or link.
struct proof_item {
    const char *key, *what; // what: the source below the root, or the artifact
    enum proof_state state; // of a unit with -Werror only where `strict` says so
    bool quiet;             // compiled without a message
    enum proof_state strict; // of a unit: its state with -Werror, NEW when never asked
    const char *code;       // of its failure
    char message[LAT_PROOF_MESSAGE];
    size_t first_row, occurrences;
    double seconds;
    uint32_t *deps; // of a link: the links that it reads
    size_t dep_count;
    uint32_t *failed_rows; // rows in which it occurs and fails
    size_t failed_count, failed_capacity;
};

struct proof_items {
    struct proof_item *items; // as in keys
    size_t count, capacity;
    struct lat_text_table keys;
};

struct proof_job {
    size_t item;
    bool is_link, strict;
    const char **argv;
    const char *product; // path of what it makes
};

struct proof_row {
    bool configured;
    uint32_t *units, *links; // items, sorted
    size_t unit_count, link_count;
    char digest[LAT_SHA256_HEX_SIZE]; // of the sets of keys
};

struct proof {
    const struct lat_exhaustive_options *o;
    struct lat_leg_result *result;
    struct lat_exhaustive_counts *counts;
    struct lat_error *error;
    char build[LAT_PROOF_PATH], objects[LAT_PROOF_PATH], links_folder[LAT_PROOF_PATH];
    struct proof_items units, links;
    struct proof_row *rows;
    struct lat_token_scan *scan;
    struct lat_pool *pool;
    struct lat_text_table compilers; // program with its flags
    struct lat_text_list *compiler_folders; // their own include folders, as in compilers
    // What is known of a command by its words over the same state, and by its key of the scan: the unit.
    struct lat_text_table commands;
    struct lat_text_table sources; // sources with their flags, but for macros and folders
    uint32_t *command_units;
    size_t command_capacity;
    // Of the row at hand:
    size_t row;
    struct lat_cmake cmake;
    struct lat_edges edges;
    char state[LAT_SHA256_HEX_SIZE]; // of files below the build folder that a unit could read
    struct lat_text_table outputs;   // paths below the build folder of objects and artifacts
    struct proof_output *output_items;
    size_t output_capacity;
    struct proof_job *jobs;
    size_t job_count, job_capacity;
    struct lat_arena row_arena;
    // Over all rows:
    struct lat_text_table unknown_options;
    bool declared[LAT_FEATURE_OPTIONS_MAX], replaced[LAT_FEATURE_OPTIONS_MAX];
    size_t configure_failures;
    struct lat_arena arena;
};

struct proof_output {
    bool is_link;
    uint32_t item;
    const char *base; // of a link: the name that its product has in its folder
};

// items
int64_t proof_item_put(struct proof *p, struct proof_items *items, const char key[LAT_SHA256_HEX_SIZE], const char *what);
enum lat_status proof_output_put(struct proof *p, const char *path, struct proof_output output);
const struct proof_output *proof_output_find(const struct proof *p, const char *path);
enum lat_status proof_job_add(struct proof *p, struct proof_job job);
// Runs the jobs that were added, in parallel, notes their ends, and forgets them.
void proof_jobs_run(struct proof *p);
const char *proof_copy(struct lat_arena *arena, const char *text);
// Path without the build folder, or NULL when it lies elsewhere.
const char *proof_below_build(const struct proof *p, const char *path);
bool proof_late(const struct proof *p);
void proof_hash_text(struct lat_sha256 *hash, const char *text);
// Text with the build folder's name taken out.
void proof_hash_word(const struct proof *p, struct lat_sha256 *hash, const char *word);

// stages
enum lat_status proof_compile_row(struct proof *p, struct proof_row *row);
enum lat_status proof_link_row(struct proof *p, struct proof_row *row);
void proof_check_options(struct proof *p);
void proof_report(struct proof *p);
json_t *proof_certificate(const struct proof *p);

#endif
