// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The keys of a leg of kind "parity": the engine as a command, the references, what else is run and compared, the limits.
#ifndef LAT_GATE_PARITY_CONFIG_H
#define LAT_GATE_PARITY_CONFIG_H

#include "core/sha256.h"
#include "gate/parity_compare.h"
#include "gate/policy.h"

enum { LAT_PARITY_REFERENCES_MAX = 64, LAT_PARITY_VARIANTS_MAX = 32, LAT_PARITY_RUNGS = 9 };

struct lat_parity_reference {
    const char *name;
    const char *file;      // as tools/reference/make.py writes it
    const char *model;     // folder that the engine loads
    const char *ids;       // JSON list of lists of ids; NULL: those of the reference are used
    const char *texts;     // JSON list of texts (or of ids) that tokenise to them; NULL: P0 compares ids only
    const char *operators; // reference of operators; NULL: layers only
    const char *sha256, *operators_sha256; // of the policy or the lock; NULL: unarmed
    struct lat_parity_limits limits;
    const struct lat_yaml_node *node;
};

// A further run of the engine, compared with the first.
struct lat_parity_variant {
    const char *name;
    int rung; // 3: another path through the same sums, 7: the same again (both must be byte-equal); 5: another type, close
    uint64_t threads, chunk;
    const struct lat_yaml_node *env, *proof; // mappings, or NULL
    struct lat_text_list arguments;          // put behind the engine's
    double kl_max, top1_min;                 // rung 5: mean KL in nats, share of positions with the same best token
};

struct lat_parity_config {
    struct lat_text_list engine, operators, tokenizer, generate, detokenize, live;
    const struct lat_yaml_node *env, *proof; // mappings, or NULL
    struct lat_text_list counters;           // names in the trace's metadata whose value must be above zero
    uint64_t threads, chunk, greedy;
    const char *lock; // path of the lock file
    struct lat_parity_reference references[LAT_PARITY_REFERENCES_MAX];
    size_t reference_count;
    struct lat_parity_variant variants[LAT_PARITY_VARIANTS_MAX];
    size_t variant_count;
    uint64_t ties_max;  // excused differences in one reference's greedy ids
    double floor_max;   // a reference whose floor is above this is too noisy to judge with
    bool rungs[LAT_PARITY_RUNGS]; // which are judged
    struct lat_yaml lock_doc; // owns digests of the lock
};

// Reads the keys. The lock file is read by lat_parity_lock_read.
LAT_NODISCARD enum lat_status lat_parity_config_read(struct lat_parity_config *config, struct lat_policy *policy,
                                                     const struct lat_policy_leg *leg, struct lat_error *error);
// Takes digests from ROOT/<lock> for the references that the policy gives none for. No file: they stay unarmed.
LAT_NODISCARD enum lat_status lat_parity_lock_read(struct lat_parity_config *config, const char *root, struct lat_error *error);
// Writes digests of all references as they are now.
LAT_NODISCARD enum lat_status lat_parity_lock_write(const struct lat_parity_config *config, const char *root, struct lat_error *error);
void lat_parity_config_release(struct lat_parity_config *config);

// SHA-256 of a file.
LAT_NODISCARD enum lat_status lat_parity_digest(const char *path, char hex[LAT_SHA256_HEX_SIZE], struct lat_error *error);
// "root/path", or `path` when it is absolute. LAT_LIMIT when it does not fit.
LAT_NODISCARD enum lat_status lat_parity_path(char *out, size_t size, const char *root, const char *path, struct lat_error *error);

#endif
