// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/parity_engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "gate/parity_tensors.h"

enum { ARGUMENTS_MAX = 320, ENVIRONMENT_MAX = 128 };

// `text` with every placeholder replaced, in memory of `arena`; NULL when memory is short.
static const char *expand(struct lat_arena *arena, const char *text, const struct lat_parity_fill *fills)
{
    struct lat_buf out;
    lat_buf_init(&out, 1 << 20);
    for (const char *at = text; *at;) {
        const struct lat_parity_fill *f = fills;
        size_t length = 0;
        for (; *at == '{' && f->key; f++) {
            length = strlen(f->key);
            if (strncmp(at + 1, f->key, length) == 0 && at[1 + length] == '}')
                break;
        }
        if (*at == '{' && f->key) {
            lat_buf_add_text(&out, f->value);
            at += length + 2;
        } else
            lat_buf_add_char(&out, *at++);
    }
    char *copy = out.failed ? NULL : lat_arena_new(arena, out.length + 1, 1);
    if (copy && out.length)
        memcpy(copy, out.bytes, out.length);
    lat_buf_release(&out);
    return copy;
}

static bool add_environment(struct lat_arena *arena, const struct lat_yaml_node *map, const struct lat_parity_fill *fills, const char **env,
                            size_t *used)
{
    for (const struct lat_yaml_node *n = map ? map->child : NULL; n; n = n->next) {
        const char *value = expand(arena, n->text, fills);
        size_t size = value ? strlen(n->key) + strlen(value) + 2 : 0;
        char *entry = size && *used < ENVIRONMENT_MAX - 1 ? lat_arena_new(arena, size, 1) : NULL;
        if (!entry)
            return false;
        snprintf(entry, size, "%s=%s", n->key, value);
        env[(*used)++] = entry;
    }
    return true;
}

enum lat_status lat_parity_command_run(struct lat_spawn_result *result, const struct lat_gate_run *run,
                                       const struct lat_parity_command *command, struct lat_error *error)
{
    const char *argv[ARGUMENTS_MAX + 1] = { NULL };
    const char *env[ENVIRONMENT_MAX] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "LATTICE_GATE_COLOR" };
    size_t used = 0, environment = 5, more = command->more ? command->more->count : 0;
    struct lat_arena arena;
    if (command->arguments->count + more > ARGUMENTS_MAX)
        return lat_error_set(error, LAT_LIMIT, "more than %d arguments", ARGUMENTS_MAX);
    lat_arena_init(&arena, 64u << 20);
    bool all = add_environment(&arena, command->env, command->fills, env, &environment)
            && add_environment(&arena, command->more_env, command->fills, env, &environment);
    for (size_t i = 0; i < command->arguments->count && all; i++)
        all = (argv[used++] = expand(&arena, command->arguments->items[i], command->fills)) != NULL;
    for (size_t i = 0; i < more && all; i++)
        all = (argv[used++] = expand(&arena, command->more->items[i], command->fills)) != NULL;
    struct lat_spawn_options options = { .argv = argv, .directory = run->root, .environment = env, .seconds_max = command->seconds_max,
                                         .rss_max = command->rss_max, .output_max = 16u << 20, .input = command->input,
                                         .input_length = command->input_length };
    enum lat_status status = all ? lat_spawn_run(result, &options, error) : lat_error_memory(error, "the arguments of a command");
    lat_arena_release(&arena);
    return status;
}

static enum lat_status copy_ids(const struct lat_st_tensor *ids, const struct lat_st_tensor *more, int64_t **out, size_t *count,
                                struct lat_error *error)
{
    size_t behind = more ? more->elements - 1 : 0;
    *count = ids->elements + behind;
    *out = lat_mem_new(*count, sizeof **out);
    if (!*out)
        return lat_error_memory(error, "prompts");
    for (size_t i = 0; i < *count; i++)
        (*out)[i] = i < ids->elements ? lat_parity_i64(ids, i) : lat_parity_i64(more, i - ids->elements);
    return LAT_OK;
}

enum lat_status lat_parity_prompts_read(struct lat_parity_prompts *out, const struct lat_st_file *file, bool forced,
                                        struct lat_error *error)
{
    size_t count = lat_parity_prompts(file);
    *out = (struct lat_parity_prompts){ 0 };
    if (count == 0)
        return lat_error_set(error, LAT_FORMAT, "the reference holds no prompts");
    out->items = lat_mem_new(count + 1, sizeof *out->items); // room for a probe
    if (!out->items)
        return lat_error_memory(error, "prompts");
    for (size_t k = 0; k < count; k++) {
        char name[32];
        snprintf(name, sizeof name, "p%zu", k);
        const struct lat_st_tensor *ids = lat_parity_find(file, name, "input_ids"), *more = NULL;
        if (forced)
            more = lat_parity_find(file, name, "greedy_ids");
        if (ids->dtype != LAT_DTYPE_I64 || ids->rank != 1 || ids->elements == 0
            || (forced && (!more || more->dtype != LAT_DTYPE_I64 || more->rank != 1 || more->elements == 0)))
            return lat_error_set(error, LAT_FORMAT, "%s: the reference's ids are missing or empty", name);
        LAT_TRY(copy_ids(ids, more, &out->items[k].ids, &out->items[k].count, error));
        out->count++;
    }
    return LAT_OK;
}

enum lat_status lat_parity_prompts_add_probe(struct lat_parity_prompts *prompts, size_t length, struct lat_error *error)
{
    size_t all = 0;
    for (size_t k = 0; k < prompts->count; k++)
        all += prompts->items[k].count;
    int64_t *ids = lat_mem_new(length, sizeof *ids);
    if (!ids)
        return lat_error_memory(error, "prompts");
    for (size_t i = 0; i < length; i++) {
        uint32_t random;
        if (getentropy(&random, sizeof random) != 0) {
            lat_mem_free(ids);
            return lat_error_set(error, LAT_IO, "the system gives no random numbers");
        }
        size_t at = random % all, k = 0;
        while (at >= prompts->items[k].count)
            at -= prompts->items[k++].count;
        ids[i] = prompts->items[k].ids[at];
    }
    prompts->items[prompts->count].ids = ids;
    prompts->items[prompts->count++].count = length;
    return LAT_OK;
}

enum lat_status lat_parity_prompts_write(const struct lat_parity_prompts *prompts, const char *path, struct lat_error *error)
{
    struct lat_buf text;
    struct lat_file_out out;
    lat_buf_init(&text, 256u << 20);
    for (size_t k = 0; k < prompts->count; k++) {
        lat_buf_add_text(&text, k ? ",[" : "[[");
        for (size_t i = 0; i < prompts->items[k].count; i++)
            lat_buf_addf(&text, "%s%lld", i ? "," : "", (long long)prompts->items[k].ids[i]);
        lat_buf_add_char(&text, ']');
    }
    lat_buf_add_text(&text, "]\n");
    enum lat_status status = text.failed ? lat_error_memory(error, "prompts") : lat_file_out_open(&out, path, error);
    if (status == LAT_OK) {
        status = lat_file_out_write(&out, 0, text.bytes, text.length, error);
        if (status == LAT_OK)
            status = lat_file_out_commit(&out, error);
        else
            lat_file_out_abort(&out);
    }
    lat_buf_release(&text);
    return status;
}

static enum lat_status match_prompts(const struct lat_parity_prompts *prompts, const struct lat_json_node *root, const char *path,
                                     struct lat_error *error)
{
    size_t k = 0;
    if (root->kind != LAT_JSON_ARRAY || root->count != prompts->count)
        return lat_error_set(error, LAT_FORMAT, "%s: not a list of %zu prompts, which the reference has", path, prompts->count);
    for (const struct lat_json_node *p = root->u.child; p; p = p->next, k++) {
        bool same = p->kind == LAT_JSON_ARRAY && p->count == prompts->items[k].count;
        size_t i = 0;
        for (const struct lat_json_node *n = same ? p->u.child : NULL; n; n = n->next, i++)
            same = same && n->kind == LAT_JSON_INT && n->u.integer == prompts->items[k].ids[i];
        if (!same)
            return lat_error_set(error, LAT_FORMAT, "%s: prompt %zu has other ids than the reference", path, k);
    }
    return LAT_OK;
}

enum lat_status lat_parity_prompts_match(const struct lat_parity_prompts *prompts, const char *path, struct lat_error *error)
{
    struct lat_file_map map;
    struct lat_json doc;
    LAT_TRY(lat_file_map_open(&map, path, error));
    enum lat_status status = lat_json_parse(&doc, (const char *)map.bytes, map.length, path, error);
    if (status == LAT_OK) {
        status = match_prompts(prompts, doc.root, path, error);
        lat_json_release(&doc);
    }
    lat_file_map_close(&map);
    return status;
}

void lat_parity_prompts_release(struct lat_parity_prompts *prompts)
{
    for (size_t k = 0; prompts->items && k < prompts->count; k++)
        lat_mem_free(prompts->items[k].ids);
    lat_mem_free(prompts->items);
    *prompts = (struct lat_parity_prompts){ 0 };
}

char *lat_parity_ids_text(const int64_t *ids, size_t count)
{
    struct lat_buf text;
    lat_buf_init(&text, 1 << 20);
    for (size_t i = 0; i < count; i++)
        lat_buf_addf(&text, "%s%lld", i ? "," : "", (long long)ids[i]);
    return lat_buf_take(&text, NULL);
}
