// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Compilations: what tells them apart, and running each once.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "gate/exhaustive_parts.h"

enum { WORDS_MAX = 65536 };

// The words of a compilation, sorted out.
struct command {
    const char *source;       // absolute
    const char **argv;        // without outputs and dependency files, with room for "-o PATH" at the end
    size_t argc;
    const char **plain;       // argv without defines, include folders, forced includes, source and -Werror
    size_t plain_count;
    const char **defines;     // of -D; of -U with "= (undefined)"
    size_t define_count;
    const char **folders, **quotes, **forced, **late; // late: of -idirafter
    size_t folder_count, quote_count, forced_count, late_count;
    bool strict;              // has -Werror
    bool macros_only;         // some forced file is one of -imacros
    const char *language;
};

static enum lat_status absolute(struct proof *p, const char *path, const char **out)
{
    if (path[0] == '/') {
        *out = path;
        return LAT_OK;
    }
    size_t size = strlen(p->build) + strlen(path) + 2;
    char *copy = lat_arena_new(&p->row_arena, size, 1);
    if (!copy)
        return lat_error_memory(p->error, "a path");
    snprintf(copy, size, "%s/%s", p->build, path);
    *out = copy;
    return LAT_OK;
}

// The value of an option that is joined or the next word; NULL when the word is another option.
static const char *value_of(const char *word, const char *option, const char *const *words, size_t *i)
{
    size_t length = strlen(option);
    if (strncmp(word, option, length) != 0)
        return NULL;
    if (word[length])
        return word + length;
    return words[*i + 1] ? words[++*i] : NULL;
}

static const char *language_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot && (strcmp(dot, ".S") == 0 || strcmp(dot, ".s") == 0))
        return "assembler-with-cpp";
    return dot && strcmp(dot, ".c") == 0 ? "c" : "c++";
}

// Words that name outputs: left out. True when word i (and its value) is one.
static bool is_output_word(const char *const *words, size_t *i)
{
    static const char *const with_value[] = { "-o", "-MF", "-MT", "-MQ" };
    static const char *const alone[] = { "-MD", "-MMD", "-MP" };
    for (size_t k = 0; k < sizeof with_value / sizeof with_value[0]; k++)
        if (strcmp(words[*i], with_value[k]) == 0 && words[*i + 1]) {
            ++*i;
            return true;
        }
    for (size_t k = 0; k < sizeof alone / sizeof alone[0]; k++)
        if (strcmp(words[*i], alone[k]) == 0)
            return true;
    return false;
}

static enum lat_status undefine(struct proof *p, const char *name, const char **out)
{
    size_t size = strlen(name) + 16;
    char *copy = lat_arena_new(&p->row_arena, size, 1);
    if (copy)
        snprintf(copy, size, "%s= (undefined)", name);
    *out = copy;
    return copy ? LAT_OK : lat_error_memory(p->error, "a command");
}

static enum lat_status take_word(struct proof *p, struct command *c, const char *const *words, size_t *i, const char *input)
{
    const char *word = words[*i], *value = NULL;
    size_t at = *i;
    if (strcmp(word, "-Werror") == 0) {
        c->strict = true;
        return LAT_OK; // put back for those that need it
    }
    if ((value = value_of(word, "-D", words, i)))
        c->defines[c->define_count++] = value;
    else if ((value = value_of(word, "-U", words, i)))
        LAT_TRY(undefine(p, value, &c->defines[c->define_count++]));
    else if ((value = value_of(word, "-idirafter", words, i)))
        LAT_TRY(absolute(p, value, &c->late[c->late_count++]));
    else if ((value = value_of(word, "-isystem", words, i)) || (value = value_of(word, "-I", words, i)))
        LAT_TRY(absolute(p, value, &c->folders[c->folder_count++]));
    else if ((value = value_of(word, "-iquote", words, i)))
        LAT_TRY(absolute(p, value, &c->quotes[c->quote_count++]));
    else if ((strcmp(word, "-include") == 0 || strcmp(word, "-imacros") == 0) && words[*i + 1]) {
        c->macros_only = c->macros_only || strcmp(word, "-imacros") == 0;
        LAT_TRY(absolute(p, words[++*i], &c->forced[c->forced_count++]));
    } else if (strcmp(word, "-c") != 0 && strcmp(word, input) != 0)
        c->plain[c->plain_count++] = word;
    for (; at <= *i; at++)
        c->argv[c->argc++] = words[at];
    return LAT_OK;
}

static enum lat_status sort_words(struct proof *p, const struct lat_edge *e, struct command *c)
{
    const char ***lists[] = { &c->argv, &c->plain, &c->defines, &c->folders, &c->quotes, &c->forced, &c->late };
    *c = (struct command){ 0 };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (e->word_count > WORDS_MAX || !(*lists[i] = lat_arena_new(&p->row_arena, e->word_count + 8, sizeof(char *))))
            return lat_error_memory(p->error, "a command");
    for (size_t i = 0; i < e->word_count; i++)
        if (!is_output_word(e->words, &i))
            LAT_TRY(take_word(p, c, e->words, &i, e->input));
    LAT_TRY(absolute(p, e->input, &c->source));
    c->language = language_of(c->source);
    return LAT_OK;
}

// "cc FLAGS -E -v" prints the folders that it looks into by itself.
static enum lat_status read_own_folders(struct proof *p, const struct command *c, struct lat_text_list *out)
{
    static const char *const environment[] = { "LC_ALL=C", NULL };
    const char **argv = lat_arena_new(&p->row_arena, c->plain_count + 8, sizeof *argv);
    struct lat_spawn_result result;
    size_t n = c->plain_count;
    if (!argv)
        return lat_error_memory(p->error, "a command");
    memcpy(argv, c->plain, n * sizeof *argv);
    const char *const tail[] = { "-E", "-v", "-x", c->language, "/dev/null" };
    memcpy(argv + n, tail, sizeof tail);
    struct lat_spawn_options options = { .argv = argv, .directory = p->build, .environment = environment, .seconds_max = 60,
                                         .merge = true };
    LAT_TRY(lat_spawn_run(&result, &options, p->error));
    const char *at = strstr(result.out.bytes, "#include <...> search starts here:");
    const char **items = lat_arena_new(&p->arena, 128, sizeof *items);
    bool told = at;
    for (at = at ? strchr(at, '\n') : NULL; items && at && at[1] == ' ' && out->count < 127; at = strchr(at + 1, '\n')) {
        size_t length = strcspn(at + 2, "\n");
        char *copy = lat_arena_new(&p->arena, length + 1, 1);
        if (!copy)
            break;
        memcpy(copy, at + 2, length);
        items[out->count++] = copy;
    }
    out->items = items;
    lat_spawn_result_release(&result);
    if (!told)
        out->items = NULL; // no gcc or clang, or someone who does not do what is asked: nothing is shared with others
    return items ? LAT_OK : lat_error_memory(p->error, "folders of the compiler");
}

static enum lat_status own_folders(struct proof *p, const struct command *c, const struct lat_text_list **out)
{
    struct lat_sha256 hash;
    char name[LAT_SHA256_HEX_SIZE];
    lat_sha256_init(&hash);
    proof_hash_text(&hash, c->language);
    for (size_t i = 0; i < c->plain_count; i++)
        proof_hash_text(&hash, c->plain[i]);
    lat_sha256_hex(&hash, name);
    size_t before = p->compilers.count;
    int64_t n = lat_text_table_put(&p->compilers, name, LAT_SHA256_HEX_SIZE - 1);
    if (n < 0 || n >= PROOF_COMPILERS_MAX)
        return lat_error_set(p->error, LAT_LIMIT, "more than %d ways to call a compiler", PROOF_COMPILERS_MAX);
    if (p->compilers.count > before)
        LAT_TRY(read_own_folders(p, c, &p->compiler_folders[n]));
    *out = &p->compiler_folders[n];
    return LAT_OK;
}

static enum lat_status scan(struct proof *p, struct command *c, bool *reaches, struct lat_token_result *found)
{
    const struct lat_text_list *own = NULL;
    LAT_TRY(own_folders(p, c, &own));
    if (!own->items) {
        *found = (struct lat_token_result){ .computed = true, .unknowable = true };
        return LAT_OK;
    }
    size_t count = c->folder_count;
    const char **folders = lat_arena_new(&p->row_arena, count + own->count + c->late_count + 1, sizeof *folders);
    if (!folders)
        return lat_error_memory(p->error, "folders of includes");
    if (count)
        memcpy(folders, c->folders, count * sizeof *folders);
    for (size_t i = 0; i < own->count; i++)
        folders[count++] = own->items[i];
    for (size_t i = 0; i < c->late_count; i++)
        folders[count++] = c->late[i];
    struct lat_token_query q = { c->source, c->forced, c->forced_count, c->quotes, c->quote_count, folders, count,
                                 c->defines, c->define_count, reaches };
    return lat_token_scan_unit(p->scan, &q, found, p->error);
}

// The preprocessed text without line markers. False: the preprocessor refuses, which the compiler will say again.
static bool hash_preprocessed(struct proof *p, const struct command *c, struct lat_sha256 *hash)
{
    const char **argv = lat_arena_new(&p->row_arena, c->argc + 2, sizeof *argv);
    struct lat_spawn_result result;
    size_t n = 0;
    if (!argv)
        return false;
    for (size_t i = 0; i < c->argc; i++)
        argv[n++] = strcmp(c->argv[i], "-c") == 0 ? "-E" : c->argv[i];
    struct lat_spawn_options options = { .argv = argv, .directory = p->build, .seconds_max = 600, .output_max = (size_t)1 << 29 };
    if (lat_spawn_run(&result, &options, NULL) != LAT_OK)
        return false;
    bool ok = lat_spawn_ok(&result) && !result.out_cut;
    for (const char *at = result.out.bytes, *end = at + result.out.length; ok && at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = stop ? (size_t)(stop - at) + 1 : (size_t)(end - at);
        bool marker = at[0] == '#' && at[1] == ' ' && at[2] >= '0' && at[2] <= '9';
        if (!marker && !(length == 1 && *at == '\n'))
            lat_sha256_add(hash, at, length);
        at += length;
    }
    lat_spawn_result_release(&result);
    p->counts->preprocessed++;
    return ok;
}

static void hash_plain(const struct proof *p, const struct command *c, struct lat_sha256 *hash)
{
    lat_sha256_init(hash);
    proof_hash_text(hash, c->language);
    proof_hash_word(p, hash, c->source);
    proof_hash_text(hash, c->macros_only ? "macros" : "");
    for (size_t i = 0; i < c->plain_count; i++)
        proof_hash_word(p, hash, c->plain[i]);
    proof_hash_text(hash, "");
}

// The first key: by scan. Sets whether the preprocessor has to be asked, and whether it may be.
static enum lat_status key_by_scan(struct proof *p, struct command *c, char key[LAT_SHA256_HEX_SIZE], bool *ask, bool *may_ask)
{
    struct lat_token_result found;
    struct lat_sha256 hash;
    bool *reaches = lat_arena_new(&p->row_arena, c->define_count + 1, sizeof *reaches);
    if (!reaches)
        return lat_error_memory(p->error, "a command");
    LAT_TRY(scan(p, c, reaches, &found));
    hash_plain(p, c, &hash);
    proof_hash_text(&hash, found.digest);
    for (size_t i = 0; i < c->folder_count && found.computed; i++)
        proof_hash_word(p, &hash, c->folders[i]);
    for (size_t i = 0; i < c->define_count; i++)
        if (reaches[i] || found.computed)
            proof_hash_word(p, &hash, c->defines[i]);
    if (found.computed) // where a macro leads, only the whole command and state tell
        proof_hash_text(&hash, p->state);
    if (found.unknowable) {
        char row[32];
        snprintf(row, sizeof row, "row %zu", p->row);
        proof_hash_text(&hash, row);
    }
    *ask = (found.generated || found.computed) && !found.unknowable;
    *may_ask = !found.unknowable;
    lat_sha256_hex(&hash, key);
    return LAT_OK;
}

// A place in the table of what is known of commands. `*known`: it was there.
static int64_t command_place(struct proof *p, const char *key, bool *known)
{
    size_t before = p->commands.count;
    int64_t n = lat_text_table_put(&p->commands, key, strlen(key));
    *known = n >= 0 && (size_t)n < before;
    if (n < 0 || (size_t)n < p->command_capacity)
        return n;
    size_t capacity = p->command_capacity ? 2 * p->command_capacity : 1024;
    uint32_t *grown = lat_mem_grow(p->command_units, capacity, sizeof *grown);
    if (!grown)
        return LAT_TEXT_NONE;
    p->command_units = grown;
    p->command_capacity = capacity;
    return n;
}

// Short cut: the words of the edge over the state of the build folder.
static int64_t command_place_of_words(struct proof *p, const struct command *c, bool *known)
{
    struct lat_sha256 hash;
    char key[LAT_SHA256_HEX_SIZE];
    lat_sha256_init(&hash);
    proof_hash_text(&hash, p->state);
    for (size_t i = 0; i < c->argc; i++)
        proof_hash_text(&hash, c->argv[i]);
    lat_sha256_hex(&hash, key);
    return command_place(p, key, known);
}

static const char *short_name(const struct proof *p, const char *path)
{
    size_t length = strlen(p->o->source);
    const char *below = proof_below_build(p, path);
    if (below)
        return below;
    return strncmp(path, p->o->source, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

// The key by text, when there is a reason to ask for it and the preprocessor answers.
static enum lat_status refine_key(struct proof *p, const struct command *c, bool ask, bool may_ask, char key[LAT_SHA256_HEX_SIZE])
{
    struct lat_sha256 hash;
    char text_key[LAT_SHA256_HEX_SIZE];
    size_t before = p->sources.count;
    hash_plain(p, c, &hash);
    lat_sha256_hex(&hash, text_key);
    if (lat_text_table_put(&p->sources, text_key, LAT_SHA256_HEX_SIZE - 1) < 0)
        return lat_error_memory(p->error, "commands");
    // Another variant of the same source and flags: is it another text? The first one is worth no question.
    if (!ask && !(may_ask && p->sources.count == before))
        return LAT_OK;
    hash_plain(p, c, &hash);
    if (hash_preprocessed(p, c, &hash))
        lat_sha256_hex(&hash, key);
    return LAT_OK;
}

static enum lat_status unit_of(struct proof *p, struct command *c, uint32_t *out)
{
    char key[LAT_SHA256_HEX_SIZE];
    bool known = false, scanned = false, ask = false, may_ask = false;
    int64_t words = command_place_of_words(p, c, &known), scan_key = 0;
    if (words >= 0 && !known) {
        LAT_TRY(key_by_scan(p, c, key, &ask, &may_ask));
        scan_key = command_place(p, key, &scanned);
    }
    if (words < 0 || scan_key < 0)
        return lat_error_memory(p->error, "commands");
    if (known || scanned) {
        *out = p->command_units[known ? words : scan_key];
        p->command_units[words] = *out;
        return LAT_OK;
    }
    LAT_TRY(refine_key(p, c, ask, may_ask, key));
    int64_t n = proof_item_put(p, &p->units, key, short_name(p, c->source));
    if (n < 0)
        return lat_error_memory(p->error, "compilations");
    p->command_units[words] = p->command_units[scan_key] = *out = (uint32_t)n;
    return LAT_OK;
}

// Adds what must still run so that this unit is judged, with or without -Werror.
static enum lat_status need_unit(struct proof *p, const struct command *c, uint32_t n)
{
    struct proof_item *u = &p->units.items[n];
    struct proof_job job = { .item = n, .strict = c->strict };
    char path[LAT_PROOF_PATH + 80];
    bool known = c->strict ? u->strict != PROOF_NEW || (u->state == PROOF_PASSED && u->quiet) || u->state == PROOF_FAILED
                           : u->state != PROOF_NEW || u->strict == PROOF_PASSED;
    if (known)
        return LAT_OK;
    for (size_t i = 0; i < p->job_count; i++)
        if (p->jobs[i].item == n && p->jobs[i].strict == c->strict)
            return LAT_OK;
    snprintf(path, sizeof path, "%s/%s%s.o", p->objects, u->key, c->strict ? "-w" : "");
    const char **argv = lat_arena_new(&p->row_arena, c->argc + 4, sizeof *argv);
    job.product = proof_copy(&p->row_arena, path);
    if (!argv || !job.product)
        return lat_error_memory(p->error, "a command");
    memcpy(argv, c->argv, c->argc * sizeof *argv);
    size_t argc = c->argc;
    if (c->strict)
        argv[argc++] = "-Werror";
    argv[argc++] = "-o";
    argv[argc] = job.product;
    job.argv = argv;
    return proof_job_add(p, job);
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void note_failures(struct proof *p, struct proof_row *row, const bool *strict)
{
    for (size_t i = 0; i < row->unit_count; i++) {
        struct proof_item *u = &p->units.items[row->units[i]];
        bool failed = strict[i] ? u->strict == PROOF_FAILED || (u->strict == PROOF_NEW && u->state == PROOF_FAILED)
                                : u->state == PROOF_FAILED;
        if (!failed || (u->failed_count && u->failed_rows[u->failed_count - 1] == p->row))
            continue;
        if (u->failed_count == u->failed_capacity) {
            size_t capacity = u->failed_capacity ? 2 * u->failed_capacity : 16;
            uint32_t *grown = lat_mem_grow(u->failed_rows, capacity, sizeof *grown);
            if (!grown)
                return;
            u->failed_rows = grown;
            u->failed_capacity = capacity;
        }
        u->failed_rows[u->failed_count++] = (uint32_t)p->row;
    }
}

enum lat_status proof_compile_row(struct proof *p, struct proof_row *row)
{
    row->units = lat_arena_new(&p->arena, p->edges.count + 1, sizeof *row->units);
    bool *strict = lat_arena_new(&p->row_arena, p->edges.count + 1, sizeof *strict);
    if (!row->units || !strict)
        return lat_error_memory(p->error, "compilations");
    for (size_t i = 0; i < p->edges.count; i++) {
        struct command c;
        uint32_t n = 0;
        if (p->edges.items[i].kind != LAT_EDGE_COMPILE)
            continue;
        LAT_TRY(sort_words(p, &p->edges.items[i], &c));
        LAT_TRY(unit_of(p, &c, &n));
        LAT_TRY(need_unit(p, &c, n));
        LAT_TRY(proof_output_put(p, p->edges.items[i].output, (struct proof_output){ false, n, NULL }));
        strict[row->unit_count] = c.strict;
        row->units[row->unit_count++] = n;
        p->units.items[n].occurrences++;
    }
    double start = lat_clock_seconds();
    p->counts->tu_occurrences += row->unit_count;
    p->counts->tu_compiled += p->job_count;
    proof_jobs_run(p);
    p->counts->compile_seconds += lat_clock_seconds() - start;
    note_failures(p, row, strict);
    qsort(row->units, row->unit_count, sizeof *row->units, by_number);
    return LAT_OK;
}
