// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Parses any bytes as YAML and as a policy. What parses is checked as a tree.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/leg_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_node(const struct lat_yaml_node *n, size_t depth)
{
    size_t count = 0;
    if (n->line == 0 || n->column == 0 || depth > LAT_YAML_DEPTH_MAX || (n->kind == LAT_YAML_SCALAR) != (n->text != NULL))
        abort();
    for (const struct lat_yaml_node *c = n->child; c; c = c->next, count++) {
        if ((n->kind == LAT_YAML_MAPPING) != (c->key != NULL) || (c->key && lat_yaml_get(n, c->key) != c)) // the only one
            abort();
        check_node(c, depth + 1);
    }
    if (count != n->count || (count && n->kind == LAT_YAML_SCALAR))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lat_yaml doc;
    struct lat_policy *policy = malloc(sizeof *policy);
    struct lat_error error = { 0 };
    if (!policy)
        return 0;
    if (lat_yaml_parse(&doc, (const char *)data, size, "input", &error) == LAT_OK) {
        if (doc.root && doc.root->count < 2000) // finding every key again takes their square
            check_node(doc.root, 0);
        lat_yaml_release(&doc);
    } else if (!error.text[0] || doc.root)
        abort();
    if (lat_policy_parse(policy, (const char *)data, size, "input", &error) == LAT_OK) {
        static const char *const paths[] = { "a", "src/a.c" };
        struct lat_policy_dead_glob dead[4];
        if (policy->leg_count == 0 || policy->area_count == 0)
            abort();
        lat_policy_dead_globs(policy, paths, 2, dead, 4);
        if (lat_legs_check(policy, &error) != LAT_OK && !error.text[0])
            abort();
        lat_policy_release(policy);
    }
    free(policy);
    return 0;
}
