// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A YAML document as a tree with positions, over libyaml. One document, UTF-8, block and flow style; duplicate keys,
// aliases, tags, merge keys and depth above 32 are refused, so that a file cannot mean two things or grow when read.
// Scalars stay text: what "on" or "1.10" means is decided by who asks.
#ifndef LAT_GATE_YAML_TREE_H
#define LAT_GATE_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mem.h"
#include "lattice/status.h"

enum lat_yaml_kind { LAT_YAML_SCALAR, LAT_YAML_SEQUENCE, LAT_YAML_MAPPING };

struct lat_yaml_node {
    enum lat_yaml_kind kind;
    const char *key;  // when the parent is a mapping
    const char *text; // of a scalar, NUL-terminated; holds no NUL byte
    bool plain;       // a scalar without quotes
    size_t line, column; // of the value, 1-based
    size_t key_line, key_column;
    size_t count; // children
    const struct lat_yaml_node *child, *next;
};

struct lat_yaml {
    const struct lat_yaml_node *root; // NULL: an empty document
    char *name; // for messages
    struct lat_arena arena;
};

enum { LAT_YAML_BYTES_MAX = 8 << 20, LAT_YAML_DEPTH_MAX = 32 };

// `name` begins messages: "gate.yaml:12:3: duplicate key 'run', first at line 9".
LAT_NODISCARD enum lat_status lat_yaml_parse(struct lat_yaml *doc, const char *text, size_t length, const char *name,
                                             struct lat_error *error);
LAT_NODISCARD enum lat_status lat_yaml_read(struct lat_yaml *doc, const char *path, struct lat_error *error);
void lat_yaml_release(struct lat_yaml *doc);

// Member of a mapping, or NULL (also when `node` is NULL or no mapping).
const struct lat_yaml_node *lat_yaml_get(const struct lat_yaml_node *node, const char *key);

// LAT_FORMAT, "name:line:column: message", at a node's place.
enum lat_status lat_yaml_error(struct lat_error *error, const struct lat_yaml *doc, const struct lat_yaml_node *node,
                               const char *format, ...) LAT_PRINTF(4, 5);
// Typed reading of a member. Absent: the value stays as it is (a default) and LAT_OK. Wrong type or range: an error that
// says what was expected.
LAT_NODISCARD enum lat_status lat_yaml_read_text(const struct lat_yaml *doc, const struct lat_yaml_node *map,
                                                 const char *key, const char **out, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_yaml_read_bool(const struct lat_yaml *doc, const struct lat_yaml_node *map,
                                                 const char *key, bool *out, struct lat_error *error); // true, false
LAT_NODISCARD enum lat_status lat_yaml_read_count(const struct lat_yaml *doc, const struct lat_yaml_node *map,
                                                  const char *key, uint64_t most, uint64_t *out, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_yaml_read_number(const struct lat_yaml *doc, const struct lat_yaml_node *map,
                                                   const char *key, double *out, struct lat_error *error);
// "90s", "20m", "2h", "14d" to seconds
LAT_NODISCARD enum lat_status lat_yaml_read_duration(const struct lat_yaml *doc, const struct lat_yaml_node *map,
                                                     const char *key, double *seconds, struct lat_error *error);
// "4096", "512MiB", "2GiB" to bytes
LAT_NODISCARD enum lat_status lat_yaml_read_bytes(const struct lat_yaml *doc, const struct lat_yaml_node *map,
                                                  const char *key, uint64_t *bytes, struct lat_error *error);
// A sequence of scalars, or one scalar, to `texts` (memory of the document's arena).
struct lat_text_list {
    const char *const *items;
    size_t count;
};
LAT_NODISCARD enum lat_status lat_yaml_read_texts(struct lat_yaml *doc, const struct lat_yaml_node *map, const char *key,
                                                  struct lat_text_list *out, struct lat_error *error);
// Refuses a key that is not among `known` (NULL-terminated), with its place and the nearest known name.
LAT_NODISCARD enum lat_status lat_yaml_check_keys(const struct lat_yaml *doc, const struct lat_yaml_node *map,
                                                  const char *const *known, struct lat_error *error);

#endif
