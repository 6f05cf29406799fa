// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// D22: what the repository's ruleset says, from a JSON file (GET /repos/OWNER/REPO/rulesets/ID, or a list of such
// objects). Without the file nothing is known, and that is said.
#include <jansson.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/workflow_rules.h"

enum { RULESETS_MAX = 100, CONTEXTS_MAX = 256, RULESET_BYTES_MAX = 4 << 20 };

struct seen {
    struct lat_lint *lint;
    const char *contexts[CONTEXTS_MAX];
    size_t context_count;
    bool asks_checks, asks_reviews;
};

static void say(struct seen *s, enum lat_leg_state state, const char *name, const char *what)
{
    lat_lint_find(s->lint, state, "D22", NULL, 0, 0, "ruleset '%.80s': %s", name, what);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void look_at_bypass(struct seen *s, const json_t *ruleset, const char *name)
{
    const json_t *actors = json_object_get(ruleset, "bypass_actors");
    if (!json_is_array(actors)) {
        say(s, LAT_LEG_WARN, name, "who may bypass it is not in the file (a token without administration rights does not see it)");
        return;
    }
    for (size_t i = 0; i < json_array_size(actors) && i < 20; i++) {
        const json_t *actor = json_array_get(actors, i);
        const char *type = text_of(actor, "actor_type"), *mode = text_of(actor, "bypass_mode");
        lat_lint_find(s->lint, LAT_LEG_WARN, "D22", NULL, 0, 0, "ruleset '%.80s': %.60s %lld may bypass it (%.40s)", name,
                      *type ? type : "an actor",
                      (long long)json_integer_value(json_object_get(actor, "actor_id")), *mode ? mode : "mode not said");
    }
}

static enum lat_status look_at_checks(struct seen *s, const json_t *parameters, const char *name, struct lat_error *error)
{
    const json_t *checks = json_object_get(parameters, "required_status_checks");
    s->asks_checks = s->asks_checks || json_array_size(checks) > 0;
    for (size_t i = 0; i < json_array_size(checks); i++) {
        const json_t *check = json_array_get(checks, i);
        const char *context = text_of(check, "context");
        if (!*context || s->context_count == CONTEXTS_MAX)
            return lat_error_set(error, LAT_FORMAT, "%.200s: required_status_checks[%zu]: expected a 'context', and at most %d of them",
                                 s->lint->options->ruleset, i, CONTEXTS_MAX);
        size_t size = strlen(context) + 1;
        char *copy = lat_arena_new(&s->lint->result->arena, size, 1);
        if (!copy)
            return lat_error_memory(error, "a ruleset");
        s->contexts[s->context_count++] = memcpy(copy, context, size);
        if (!json_is_integer(json_object_get(check, "integration_id")))
            lat_lint_find(s->lint, LAT_LEG_WARN, "D22", NULL, 0, 0,
                          "ruleset '%.80s': the check '%.80s' is accepted from anybody who may post a status: it has no "
                              "integration_id", name, context);
    }
    return LAT_OK;
}

static enum lat_status look_at(struct seen *s, const json_t *ruleset, struct lat_error *error)
{
    const char *name = text_of(ruleset, "name"), *enforcement = text_of(ruleset, "enforcement");
    const json_t *rules = json_object_get(ruleset, "rules");
    if (!json_is_object(ruleset) || !*name || !*enforcement || !json_is_array(rules))
        return lat_error_set(error, LAT_FORMAT, "%.200s: expected a ruleset with 'name', 'enforcement' and 'rules'",
                             s->lint->options->ruleset);
    if (strcmp(enforcement, "active") != 0) {
        say(s, LAT_LEG_FAIL, name, "it is not enforced, so nothing is required by it");
        return LAT_OK;
    }
    look_at_bypass(s, ruleset, name);
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *rule = json_array_get(rules, i), *parameters = json_object_get(rule, "parameters");
        if (strcmp(text_of(rule, "type"), "required_status_checks") == 0)
            LAT_TRY(look_at_checks(s, parameters, name, error));
        if (strcmp(text_of(rule, "type"), "pull_request") != 0)
            continue;
        s->asks_reviews = true;
        if (json_integer_value(json_object_get(parameters, "required_approving_review_count")) == 0)
            say(s, LAT_LEG_WARN, name, "a pull request needs no approval");
    }
    return LAT_OK;
}

static enum lat_status look_at_all(struct seen *s, const json_t *root, struct lat_error *error)
{
    if (!json_is_array(root))
        return look_at(s, root, error);
    if (json_array_size(root) == 0 || json_array_size(root) > RULESETS_MAX)
        return lat_error_set(error, LAT_FORMAT, "%.200s: expected 1 to %d rulesets", s->lint->options->ruleset, RULESETS_MAX);
    for (size_t i = 0; i < json_array_size(root); i++)
        LAT_TRY(look_at(s, json_array_get(root, i), error));
    return LAT_OK;
}

static enum lat_status read_ruleset(struct seen *s, struct lat_error *error)
{
    const char *path = s->lint->options->ruleset;
    struct lat_file_map map;
    json_error_t why;
    LAT_TRY(lat_file_map_open(&map, path, error));
    if (map.length > RULESET_BYTES_MAX) {
        lat_file_map_close(&map);
        return lat_error_set(error, LAT_LIMIT, "%.200s: %zu bytes; at most %d are read", path, map.length, RULESET_BYTES_MAX);
    }
    json_t *root = json_loadb(map.bytes ? (const char *)map.bytes : "", map.length, JSON_REJECT_DUPLICATES, &why);
    lat_file_map_close(&map);
    if (!root)
        return lat_error_set(error, LAT_FORMAT, "%.200s:%d:%d: %s", path, why.line, why.column, why.text);
    enum lat_status status = look_at_all(s, root, error);
    json_decref(root);
    return status;
}

enum lat_status lat_lint_ruleset(struct lat_lint *lint, struct lat_error *error)
{
    struct seen s = { .lint = lint };
    if (!lint->options->ruleset) {
        lat_lint_find(lint, LAT_LEG_INFO, "D22", NULL, 0, 0,
                      "the repository's ruleset is not available here: who may bypass it, and whether it requires the check, is not known");
        return LAT_OK;
    }
    LAT_TRY(read_ruleset(&s, error));
    if (!s.asks_checks)
        say(&s, LAT_LEG_FAIL, "all", "no status check is required: the gate can be red and the change merged");
    if (!s.asks_reviews)
        say(&s, LAT_LEG_WARN, "all", "no pull request is required: who may push can push to the branch");
    if (lint->contexts.count == 0 && s.context_count) {
        const char **items = lat_arena_new(&lint->result->arena, s.context_count, sizeof(const char *));
        if (!items)
            return lat_error_memory(error, "a ruleset");
        memcpy(items, s.contexts, s.context_count * sizeof(const char *));
        lint->contexts = (struct lat_text_list){ items, s.context_count };
    }
    return LAT_OK;
}
