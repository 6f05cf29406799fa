// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/ninja_edges.h"

#include <jansson.h>
#include <string.h>

#include "core/error.h"
#include "gate/build_evidence.h"
#include "gate/spawn.h"

enum { EDGES_MAX = 1 << 20 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool has_pair(const char **words, size_t count, const char *first, const char *second)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (strcmp(words[i], first) == 0 && strcmp(words[i + 1], second) == 0)
            return true;
    return false;
}

static bool has_word(const char **words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

// Archivers are named ar, gcc-ar, llvm-ar-14, aarch64-linux-gnu-ar.
static bool is_archiver(const char *word)
{
    const char *name = base_name(word), *ar = strstr(name, "ar");
    for (; ar; ar = strstr(ar + 1, "ar"))
        if ((ar == name || ar[-1] == '-') && (ar[2] == '\0' || ar[2] == '-'))
            return true;
    return false;
}

// One command between "&&": sets the edge when it is the one that matters. False: nothing that building needs.
static bool take_command(struct lat_edge *e, const char **words, size_t count)
{
    size_t output = strlen(e->output);
    if (count == 0 || strcmp(words[0], ":") == 0 || strcmp(words[0], "cd") == 0)
        return false;
    if (count > 2 && strcmp(words[1], "-E") == 0 && (strcmp(words[2], "rm") == 0 || strcmp(words[2], "touch") == 0))
        return false;
    if (count > 4 && strcmp(words[1], "-E") == 0 &&
        (strcmp(words[2], "cmake_symlink_library") == 0 || strcmp(words[2], "cmake_symlink_executable") == 0)) {
        e->kind = LAT_EDGE_ALIAS;
        e->words = words + 3;
        e->word_count = count - 3;
    } else if (has_pair(words, count, "-o", e->output)) {
        e->kind = has_word(words, count, "-c") ? LAT_EDGE_COMPILE : LAT_EDGE_LINK;
        e->words = words;
        e->word_count = count;
    } else if (count > 3 && output > 2 && strcmp(e->output + output - 2, ".a") == 0 && is_archiver(words[0]) &&
               strcmp(words[2], e->output) == 0) {
        e->kind = LAT_EDGE_ARCHIVE;
        e->words = words;
        e->word_count = count;
    } else
        return !(count == 2 && strcmp(words[1], e->output) == 0); // ranlib
    return false;
}

static enum lat_status copy_text(struct lat_edges *edges, const json_t *text, const char **out, struct lat_error *error)
{
    const char *from = json_string_value(text);
    if (!from)
        return lat_error_set(error, LAT_FORMAT, "ninja -t compdb: an entry without its texts");
    char *copy = lat_arena_new(&edges->arena, strlen(from) + 1, 1);
    *out = copy ? memcpy(copy, from, strlen(from) + 1) : NULL;
    return copy ? LAT_OK : lat_error_memory(error, "commands of a build");
}

static enum lat_status read_edge(struct lat_edges *edges, const json_t *entry, struct lat_error *error)
{
    struct lat_edge *e = &edges->items[edges->count];
    const char *command = NULL, **words = NULL;
    *e = (struct lat_edge){ .kind = LAT_EDGE_OTHER };
    LAT_TRY(copy_text(edges, json_object_get(entry, "output"), &e->output, error));
    LAT_TRY(copy_text(edges, json_object_get(entry, "file"), &e->input, error));
    LAT_TRY(copy_text(edges, json_object_get(entry, "command"), &command, error));
    if (!*command) {
        e->kind = LAT_EDGE_PHONY;
        edges->count++;
        return LAT_OK;
    }
    if (lat_command_split(command, &edges->arena, &words, error) != LAT_OK) {
        edges->count++;
        return LAT_OK; // a custom command in a language of its own
    }
    for (size_t at = 0;; at++) {
        size_t count = 0;
        while (words[at + count])
            count++;
        e->has_more = take_command(e, words + at, count) || e->has_more;
        at += count;
        if (!words[at + 1])
            break;
    }
    edges->count++;
    return LAT_OK;
}

enum lat_status lat_edges_read(struct lat_edges *edges, const char *build, struct lat_error *error)
{
    static const char *const argv[] = { "ninja", "-t", "compdb", "-x", NULL };
    struct lat_spawn_options options = { .argv = argv, .directory = build, .seconds_max = 300, .output_max = (size_t)1 << 29 };
    struct lat_spawn_result result;
    json_error_t why;
    *edges = (struct lat_edges){ 0 };
    LAT_TRY(lat_spawn_run(&result, &options, error));
    json_t *root = lat_spawn_ok(&result) && !result.out_cut ? json_loadb(result.out.bytes, result.out.length, 0, &why) : NULL;
    lat_spawn_result_release(&result);
    if (!json_is_array(root) || json_array_size(root) > EDGES_MAX) {
        json_decref(root);
        return lat_error_set(error, LAT_FAILED, "%.300s: 'ninja -t compdb -x' does not tell what the build would run", build);
    }
    lat_arena_init(&edges->arena, (size_t)1 << 31);
    edges->items = lat_arena_new(&edges->arena, json_array_size(root) + 1, sizeof *edges->items);
    enum lat_status status = edges->items ? LAT_OK : lat_error_memory(error, "commands of a build");
    for (size_t i = 0; status == LAT_OK && i < json_array_size(root); i++)
        status = read_edge(edges, json_array_get(root, i), error);
    json_decref(root);
    if (status != LAT_OK)
        lat_edges_release(edges);
    return status;
}

void lat_edges_release(struct lat_edges *edges)
{
    lat_arena_release(&edges->arena);
    *edges = (struct lat_edges){ 0 };
}
