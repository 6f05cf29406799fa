// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/token_scan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/c_tokens.h"
#include "gate/text_table.h"

enum { PATH_SIZE = 4400, FILES_MAX = 200000, NAME_PARTS_MAX = 128 };

// What is known of one path.
struct file {
    bool known, exists;
    char digest[LAT_SHA256_HEX_SIZE];
    uint32_t *words; // numbers of identifiers and numbers, sorted
    size_t word_count;
    struct lat_c_include *includes;
    size_t include_count;
    bool pastes, computed, unknowable;
    struct lat_arena arena;
    size_t seen; // number of the last unit that visited it
};

struct lat_token_scan {
    char build[PATH_SIZE];
    size_t build_length;
    struct lat_text_table paths, words;
    struct file *files; // as in paths
    size_t file_capacity;
    size_t unit;
    size_t *visited; // files of the unit, in order
    size_t visited_count, visited_capacity;
};

enum lat_status lat_token_scan_new(struct lat_token_scan **out, const char *build, struct lat_error *error)
{
    struct lat_token_scan *s = lat_mem_new(1, sizeof *s);
    if (!s || strlen(build) + 2 > sizeof s->build) {
        lat_mem_free(s);
        return lat_error_memory(error, "the scanner of includes");
    }
    memcpy(s->build, build, strlen(build) + 1);
    s->build[strlen(build)] = '/';
    s->build_length = strlen(build) + 1;
    lat_text_table_init(&s->paths);
    lat_text_table_init(&s->words);
    *out = s;
    return LAT_OK;
}

static void forget(struct file *f)
{
    lat_mem_free(f->words);
    lat_arena_release(&f->arena);
    *f = (struct file){ 0 };
}

void lat_token_scan_free(struct lat_token_scan *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->file_capacity; i++)
        forget(&s->files[i]);
    lat_mem_free(s->files);
    lat_mem_free(s->visited);
    lat_text_table_release(&s->paths);
    lat_text_table_release(&s->words);
    lat_mem_free(s);
}

static bool is_generated(const struct lat_token_scan *s, const char *path) { return strncmp(path, s->build, s->build_length) == 0; }

void lat_token_scan_forget(struct lat_token_scan *s)
{
    for (size_t i = 0; i < s->paths.count && i < s->file_capacity; i++)
        if (is_generated(s, s->paths.texts[i]))
            forget(&s->files[i]);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static enum lat_status take_words(struct lat_token_scan *s, struct file *f, const struct lat_c_tokens *tokens, struct lat_error *error)
{
    f->words = lat_mem_new(tokens->word_count, sizeof *f->words);
    if (!f->words)
        return lat_error_memory(error, "words of a source");
    for (size_t i = 0; i < tokens->word_count; i++) {
        int64_t n = lat_text_table_put(&s->words, tokens->words[i].at, tokens->words[i].length);
        if (n < 0)
            return lat_error_memory(error, "words of a source");
        f->words[i] = (uint32_t)n;
    }
    qsort(f->words, tokens->word_count, sizeof *f->words, by_number);
    for (size_t i = 0; i < tokens->word_count; i++)
        if (i == 0 || f->words[i] != f->words[f->word_count - 1])
            f->words[f->word_count++] = f->words[i];
    return LAT_OK;
}

static enum lat_status read_file(struct lat_token_scan *s, struct file *f, const char *path, struct lat_error *error)
{
    struct lat_file_map map;
    struct lat_c_tokens tokens;
    struct lat_sha256 hash;
    LAT_TRY(lat_file_map_open(&map, path, error));
    lat_sha256_init(&hash);
    lat_sha256_add(&hash, map.bytes, map.length);
    lat_sha256_hex(&hash, f->digest);
    lat_arena_init(&f->arena, (size_t)1 << 28);
    enum lat_status status = lat_c_tokens_read(&tokens, (const char *)map.bytes, map.length, &f->arena, error);
    if (status == LAT_OK) {
        f->includes = tokens.includes;
        f->include_count = tokens.include_count;
        f->pastes = tokens.pastes;
        f->computed = tokens.computed;
        f->unknowable = tokens.unknowable;
        status = take_words(s, f, &tokens, error);
        lat_c_tokens_release(&tokens);
    }
    lat_file_map_close(&map);
    return status;
}

// The number of a path, with what is known of it.
static enum lat_status look_at(struct lat_token_scan *s, const char *path, size_t *out, struct lat_error *error)
{
    struct stat st;
    int64_t n = lat_text_table_put(&s->paths, path, strlen(path));
    if (n < 0 || s->paths.count > FILES_MAX)
        return lat_error_memory(error, "paths of includes");
    if (s->paths.count > s->file_capacity) {
        size_t capacity = s->file_capacity ? 2 * s->file_capacity : 1024;
        struct file *files = lat_mem_grow(s->files, capacity, sizeof *files);
        if (!files)
            return lat_error_memory(error, "paths of includes");
        memset(files + s->file_capacity, 0, (capacity - s->file_capacity) * sizeof *files);
        s->files = files;
        s->file_capacity = capacity;
    }
    struct file *f = &s->files[n];
    *out = (size_t)n;
    if (f->known)
        return LAT_OK;
    f->exists = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    if (f->exists) {
        enum lat_status status = read_file(s, f, path, error);
        if (status != LAT_OK) {
            forget(f);
            return status;
        }
    }
    f->known = true;
    return LAT_OK;
}

static enum lat_status visit(struct lat_token_scan *s, size_t n, struct lat_error *error)
{
    struct file *f = &s->files[n];
    if (f->seen == s->unit)
        return LAT_OK;
    f->seen = s->unit;
    if (s->visited_count == s->visited_capacity) {
        size_t capacity = s->visited_capacity ? 2 * s->visited_capacity : 256;
        size_t *grown = lat_mem_grow(s->visited, capacity, sizeof *grown);
        if (!grown)
            return lat_error_memory(error, "files of a unit");
        s->visited = grown;
        s->visited_capacity = capacity;
    }
    s->visited[s->visited_count++] = n;
    return LAT_OK;
}

struct unit {
    struct lat_token_scan *s;
    const struct lat_token_query *q;
    struct lat_sha256 hash;
    struct lat_error *error;
};

// Tries folder/name; true in *found when it is there, which is then visited.
static enum lat_status try_path(struct unit *u, const char *folder, size_t length, const char *name, size_t self, bool *found)
{
    char path[PATH_SIZE];
    size_t n = 0;
    *found = false;
    if (length + strlen(name) + 2 > sizeof path)
        return LAT_OK; // no such file can exist
    memcpy(path, folder, length);
    path[length] = '/';
    memcpy(path + length + (name[0] != '/'), name, strlen(name) + 1);
    LAT_TRY(look_at(u->s, path, &n, u->error));
    if (!u->s->files[n].exists || n == self)
        return LAT_OK;
    *found = true;
    lat_sha256_add(&u->hash, ">", 1);
    return visit(u->s, n, u->error);
}

static enum lat_status resolve(struct unit *u, size_t self, const struct lat_c_include *include)
{
    const char *own = u->s->paths.texts[self], *slash = strrchr(own, '/');
    bool found = false;
    if (include->name[0] == '/')
        return try_path(u, "", 0, include->name, SIZE_MAX, &found);
    if (include->quoted && !include->next)
        LAT_TRY(try_path(u, own, slash ? (size_t)(slash - own) : 0, include->name, SIZE_MAX, &found));
    for (size_t i = 0; include->quoted && !found && i < u->q->quote_count; i++)
        LAT_TRY(try_path(u, u->q->quote_folders[i], strlen(u->q->quote_folders[i]), include->name, SIZE_MAX, &found));
    // include_next goes on after the folder of this file; all that it could find are taken.
    for (size_t i = 0; (!found || include->next) && i < u->q->folder_count; i++)
        LAT_TRY(try_path(u, u->q->folders[i], strlen(u->q->folders[i]), include->name, include->next ? self : SIZE_MAX, &found));
    lat_sha256_add(&u->hash, include->name, strlen(include->name) + 1);
    return LAT_OK;
}

static enum lat_status walk(struct unit *u, struct lat_token_result *r)
{
    struct lat_token_scan *s = u->s;
    for (size_t i = 0; i < s->visited_count; i++) {
        size_t n = s->visited[i];
        const char *path = s->paths.texts[n];
        bool generated = is_generated(s, path);
        r->generated = r->generated || generated;
        r->computed = r->computed || s->files[n].computed;
        r->unknowable = r->unknowable || s->files[n].unknowable;
        lat_sha256_add(&u->hash, s->files[n].digest, LAT_SHA256_HEX_SIZE);
        path = generated ? path + s->build_length : path;
        lat_sha256_add(&u->hash, path, strlen(path) + 1);
        for (size_t k = 0; k < s->files[n].include_count; k++)
            LAT_TRY(resolve(u, n, &s->files[n].includes[k]));
    }
    return LAT_OK;
}

static bool word_occurs(const struct lat_token_scan *s, int64_t word)
{
    uint32_t key = (uint32_t)word;
    if (word < 0)
        return false;
    for (size_t i = 0; i < s->visited_count; i++) {
        const struct file *f = &s->files[s->visited[i]];
        if (f->word_count && bsearch(&key, f->words, f->word_count, sizeof key, by_number))
            return true;
    }
    return false;
}

// Can `##` make this name of words that occur? ends[k]: the first k bytes can be made.
static bool can_be_pasted(const struct lat_token_scan *s, const char *name, size_t length)
{
    bool ends[NAME_PARTS_MAX + 1] = { true };
    if (length > NAME_PARTS_MAX)
        return true;
    for (size_t end = 1; end <= length; end++)
        for (size_t begin = 0; begin < end && !ends[end]; begin++)
            ends[end] = ends[begin] && end - begin < length && word_occurs(s, lat_text_table_find(&s->words, name + begin, end - begin));
    return ends[length];
}

// Does a word of the text of a define that reaches name this macro?
static bool named_by_others(const struct lat_token_query *q, const char *name, size_t length)
{
    for (size_t i = 0; i < q->define_count; i++) {
        const char *value = q->reaches[i] ? strchr(q->defines[i], '=') : NULL;
        for (const char *at = value; at && *at; at++)
            if (strncmp(at, name, length) == 0)
                return true;
    }
    return false;
}

static void find_reaching(const struct lat_token_scan *s, const struct lat_token_query *q)
{
    bool pastes = false, more = true;
    for (size_t i = 0; i < s->visited_count; i++)
        pastes = pastes || s->files[s->visited[i]].pastes;
    for (size_t i = 0; i < q->define_count; i++) {
        size_t length = strcspn(q->defines[i], "=(");
        q->reaches[i] = word_occurs(s, lat_text_table_find(&s->words, q->defines[i], length)) ||
                        (pastes && can_be_pasted(s, q->defines[i], length));
    }
    while (more) {
        more = false;
        for (size_t i = 0; i < q->define_count; i++)
            if (!q->reaches[i] && named_by_others(q, q->defines[i], strcspn(q->defines[i], "=("))) {
                q->reaches[i] = true;
                more = true;
            }
    }
}

enum lat_status lat_token_scan_unit(struct lat_token_scan *s, const struct lat_token_query *query, struct lat_token_result *result,
                                    struct lat_error *error)
{
    struct unit u = { .s = s, .q = query, .error = error };
    size_t n = 0;
    *result = (struct lat_token_result){ 0 };
    lat_sha256_init(&u.hash);
    s->unit++;
    s->visited_count = 0;
    for (size_t i = 0; i <= query->forced_count; i++) {
        const char *path = i < query->forced_count ? query->forced[i] : query->source;
        LAT_TRY(look_at(s, path, &n, error));
        if (!s->files[n].exists)
            return lat_error_set(error, LAT_NOT_FOUND, "%.400s: no such file", path);
        LAT_TRY(visit(s, n, error));
    }
    LAT_TRY(walk(&u, result));
    find_reaching(s, query);
    lat_sha256_hex(&u.hash, result->digest);
    result->file_count = s->visited_count;
    return LAT_OK;
}
