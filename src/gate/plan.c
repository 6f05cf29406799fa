// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/plan.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/error.h"
#include "gate/sealed_json.h"

#define PLAN_SCHEMA "lattice-gate-plan-1"
enum { TEXTS_MAX = 8 << 20 };

static const char *copy(struct lat_plan *plan, const char *text)
{
    size_t size = strlen(text) + 1;
    char *out = lat_arena_new(&plan->arena, size, 1);
    if (out)
        memcpy(out, text, size);
    return out;
}

static enum lat_status add_leg(struct lat_plan *plan, const char *name, bool required, bool needed, const char *reason,
                               struct lat_error *error)
{
    if (plan->leg_count == LAT_POLICY_LEGS_MAX)
        return lat_error_set(error, LAT_LIMIT, "a plan has at most %d legs", LAT_POLICY_LEGS_MAX);
    struct lat_plan_leg leg = { copy(plan, name), required, needed, copy(plan, reason) };
    if (!leg.name || !leg.reason)
        return lat_error_memory(error, "the plan");
    plan->legs[plan->leg_count++] = leg;
    return LAT_OK;
}

static enum lat_status draw_nonce(char out[33], struct lat_error *error)
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return lat_error_set(error, LAT_UNAVAILABLE, "the system has no random numbers");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return LAT_OK;
}

enum lat_status lat_plan_make(struct lat_plan *plan, const struct lat_policy *policy, const char *root,
                              const struct lat_leg_need *needs, struct lat_error *error)
{
    *plan = (struct lat_plan){ .attempt = 1, .wide = needs == NULL };
    lat_arena_init(&plan->arena, TEXTS_MAX);
    LAT_TRY(draw_nonce(plan->nonce, error));
    LAT_TRY(lat_plan_tree(root, plan->tree, error));
    for (size_t i = 0; i < policy->leg_count; i++) {
        const struct lat_policy_leg *leg = &policy->legs[i];
        LAT_TRY(add_leg(plan, leg->name, leg->required, needs ? needs[i].needed : true,
                        needs ? needs[i].reason : "no change set: everything is judged", error));
    }
    return LAT_OK;
}

void lat_plan_release(struct lat_plan *plan) { lat_arena_release(&plan->arena); }

const struct lat_plan_leg *lat_plan_find(const struct lat_plan *plan, const char *leg)
{
    for (size_t i = 0; i < plan->leg_count; i++)
        if (strcmp(plan->legs[i].name, leg) == 0)
            return &plan->legs[i];
    return NULL;
}

enum lat_status lat_plan_write(const struct lat_plan *plan, const char *path, struct lat_error *error)
{
    json_t *legs = json_array();
    for (size_t i = 0; i < plan->leg_count; i++) {
        const struct lat_plan_leg *l = &plan->legs[i];
        json_array_append_new(legs, json_pack("{s:s, s:b, s:b, s:s%}", "leg", l->name, "required", l->required, "needed", l->needed,
                                              "reason", l->reason, strlen(l->reason)));
    }
    json_t *object = json_pack("{s:s, s:s, s:s, s:i, s:b, s:b, s:o}", "schema", PLAN_SCHEMA, "nonce", plan->nonce,
                               "tree", plan->tree, "attempt", (int)plan->attempt, "wide", plan->wide, "partial", plan->partial,
                               "legs", legs);
    if (!object || json_array_size(legs) != plan->leg_count) {
        json_decref(object);
        return lat_error_memory(error, "the plan");
    }
    enum lat_status status = lat_sealed_write(object, path, error);
    json_decref(object);
    return status;
}

static enum lat_status take(struct lat_plan *plan, const json_t *object, const char *path, struct lat_error *error)
{
    const char *nonce = json_string_value(json_object_get(object, "nonce"));
    const char *tree = json_string_value(json_object_get(object, "tree"));
    json_t *legs = json_object_get(object, "legs"), *leg;
    size_t i;
    json_t *wide = json_object_get(object, "wide"), *partial = json_object_get(object, "partial");
    json_int_t attempt = json_integer_value(json_object_get(object, "attempt"));
    static const char hex[] = "0123456789abcdef";
    size_t start = tree && strncmp(tree, "files:", 6) == 0 ? 6 : 0; // both stand in reports and messages as they are
    if (!nonce || strlen(nonce) != 32 || strspn(nonce, hex) != 32 || !tree || !tree[start]
        || tree[start + strspn(tree + start, hex)]
        || strlen(tree) >= sizeof plan->tree || !json_array_size(legs)
        || !json_is_boolean(wide) || !json_is_boolean(partial) || attempt < 1 || attempt > 1000000)
        return lat_error_set(error, LAT_FORMAT, "%s: nonce, tree, attempt, wide or legs are missing", path);
    snprintf(plan->nonce, sizeof plan->nonce, "%s", nonce);
    snprintf(plan->tree, sizeof plan->tree, "%s", tree);
    plan->attempt = (unsigned)attempt;
    plan->wide = json_is_true(wide);
    plan->partial = json_is_true(partial);
    json_array_foreach(legs, i, leg)
    {
        const char *name = json_string_value(json_object_get(leg, "leg")), *reason = json_string_value(json_object_get(leg, "reason"));
        json_t *required = json_object_get(leg, "required"), *needed = json_object_get(leg, "needed");
        if (!name || !reason || !json_is_boolean(required) || !json_is_boolean(needed) || lat_plan_find(plan, name))
            return lat_error_set(error, LAT_FORMAT, "%s: leg %zu is not whole, or there twice", path, i + 1);
        LAT_TRY(add_leg(plan, name, json_is_true(required), json_is_true(needed), reason, error));
    }
    return LAT_OK;
}

enum lat_status lat_plan_read(struct lat_plan *plan, const char *path, struct lat_error *error)
{
    json_t *object = NULL;
    *plan = (struct lat_plan){ 0 };
    lat_arena_init(&plan->arena, TEXTS_MAX);
    enum lat_status status = lat_sealed_read(&object, path, PLAN_SCHEMA, error);
    if (status == LAT_OK)
        status = take(plan, object, path, error);
    json_decref(object);
    return status;
}
