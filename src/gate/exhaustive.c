// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/exhaustive.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "gate/elf_reader.h"
#include "gate/exhaustive_parts.h"
#include "gate/glob.h"

enum { FAILURES_SHOWN = 5, GENERATE_MAX = 4096, DEPTH_MAX = 40, STATE_FILE_MAX = 64 << 20 };

const char *proof_copy(struct lat_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = lat_arena_new(arena, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

const char *proof_below_build(const struct proof *p, const char *path)
{
    size_t length = strlen(p->build);
    return strncmp(path, p->build, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

bool proof_late(const struct proof *p) { return p->o->deadline > 0 && lat_clock_seconds() > p->o->deadline; }

void proof_hash_text(struct lat_sha256 *hash, const char *text) { lat_sha256_add(hash, text, strlen(text) + 1); }

void proof_hash_word(const struct proof *p, struct lat_sha256 *hash, const char *word)
{
    size_t length = strlen(p->build);
    for (const char *at; (at = strstr(word, p->build)); word = at + length) {
        lat_sha256_add(hash, word, (size_t)(at - word));
        lat_sha256_add(hash, "{build}", 7);
    }
    proof_hash_text(hash, word);
}

int64_t proof_item_put(struct proof *p, struct proof_items *items, const char key[LAT_SHA256_HEX_SIZE], const char *what)
{
    size_t before = items->keys.count;
    int64_t n = lat_text_table_put(&items->keys, key, LAT_SHA256_HEX_SIZE - 1);
    if (n < 0 || (size_t)n < before)
        return n;
    if (items->count == items->capacity) {
        size_t capacity = items->capacity ? 2 * items->capacity : 256;
        struct proof_item *grown = lat_mem_grow(items->items, capacity, sizeof *grown);
        if (!grown)
            return LAT_TEXT_NONE;
        items->items = grown;
        items->capacity = capacity;
    }
    struct proof_item *item = &items->items[items->count++];
    *item = (struct proof_item){ .key = items->keys.texts[n], .what = proof_copy(&p->arena, what), .first_row = p->row };
    return item->what ? n : LAT_TEXT_NONE;
}

enum lat_status proof_output_put(struct proof *p, const char *path, struct proof_output output)
{
    const char *below = proof_below_build(p, path);
    path = below ? below : path;
    int64_t n = lat_text_table_put(&p->outputs, path, strlen(path));
    if (n >= 0 && (size_t)n >= p->output_capacity) {
        size_t capacity = p->output_capacity ? 2 * p->output_capacity : 512;
        struct proof_output *grown = lat_mem_grow(p->output_items, capacity, sizeof *grown);
        n = grown ? n : LAT_TEXT_NONE;
        p->output_items = grown ? grown : p->output_items;
        p->output_capacity = grown ? capacity : p->output_capacity;
    }
    if (n < 0)
        return lat_error_memory(p->error, "outputs of a build");
    p->output_items[n] = output;
    return LAT_OK;
}

const struct proof_output *proof_output_find(const struct proof *p, const char *path)
{
    const char *below = proof_below_build(p, path);
    path = below ? below : path;
    path += strncmp(path, "./", 2) == 0 ? 2 : 0;
    int64_t n = lat_text_table_find(&p->outputs, path, strlen(path));
    return n >= 0 ? &p->output_items[n] : NULL;
}

enum lat_status proof_job_add(struct proof *p, struct proof_job job)
{
    if (p->job_count == p->job_capacity) {
        size_t capacity = p->job_capacity ? 2 * p->job_capacity : 256;
        struct proof_job *grown = lat_mem_grow(p->jobs, capacity, sizeof *grown);
        if (!grown)
            return lat_error_memory(p->error, "jobs");
        p->jobs = grown;
        p->job_capacity = capacity;
    }
    p->jobs[p->job_count++] = job;
    return LAT_OK;
}

// A compiler that says yes must have made something: a file of some size that, as far as it is ELF, is of the right kind.
static bool product_is_real(const struct proof_job *job, char message[LAT_PROOF_MESSAGE])
{
    struct stat st;
    struct lat_elf elf;
    struct lat_error error = { 0 };
    char head[4] = "";
    bool exists = stat(job->product, &st) == 0;
    if (!exists || st.st_size == 0) {
        snprintf(message, LAT_PROOF_MESSAGE, "'%.100s' ended with exit status 0 and left %s", job->argv[0],
                 exists ? "an empty file" : "no file");
        return false;
    }
    FILE *f = fopen(job->product, "rb");
    size_t got = f ? fread(head, 1, sizeof head, f) : 0;
    if (f)
        fclose(f);
    if (got < 4 || memcmp(head, "\177ELF", 4) != 0) {
        bool known = got == 4 && (memcmp(head, "!<ar", 4) == 0 || memcmp(head, "!<th", 4) == 0 || memcmp(head, "BC\xc0\xde", 4) == 0 ||
                                  memcmp(head, "gpch", 4) == 0 || memcmp(head, "CPCH", 4) == 0);
        if (!known)
            snprintf(message, LAT_PROOF_MESSAGE, "'%.100s' ended with exit status 0 and left what is no object, archive or program",
                     job->argv[0]);
        return known;
    }
    if (lat_elf_read(&elf, job->product, &error) != LAT_OK) {
        snprintf(message, LAT_PROOF_MESSAGE, "'%.100s' left a damaged file: %.400s", job->argv[0], error.text);
        return false;
    }
    bool right = job->is_link ? elf.type == LAT_ELF_EXEC || elf.type == LAT_ELF_DYN || elf.type == LAT_ELF_REL : elf.type == LAT_ELF_REL;
    if (!right)
        snprintf(message, LAT_PROOF_MESSAGE, "'%.100s' left an ELF file of type %u", job->argv[0], elf.type);
    lat_elf_release(&elf);
    return right;
}

// The first lines that speak of an error, else the first lines.
static void take_message(const struct lat_buf *text, char message[LAT_PROOF_MESSAGE])
{
    const char *error = text->bytes ? strstr(text->bytes, "error") : NULL, *reference = text->bytes ? strstr(text->bytes,
                                                                      "undefined") : NULL;
    const char *at = error && reference ? (error < reference ? error : reference) : error ? error : reference ? reference : text->bytes;
    at = at ? at : "";
    while (at > text->bytes && at[-1] != '\n')
        at--;
    size_t n = 0;
    for (; *at && n + 2 < LAT_PROOF_MESSAGE; at++)
        message[n++] = *at == '\n' ? ' ' : *at;
    message[n] = '\0';
}

static void end_job(struct proof *p, const struct proof_job *job, const struct lat_spawn_result *child, enum lat_status status,
                    const struct lat_error *error)
{
    struct proof_item *item = job->is_link ? &p->links.items[job->item] : &p->units.items[job->item];
    enum proof_state *state = job->strict ? &item->strict : &item->state;
    char message[LAT_PROOF_MESSAGE] = "";
    const char *code = "F404";
    *state = PROOF_FAILED;
    item->seconds += status == LAT_OK ? child->seconds : 0;
    if (status != LAT_OK)
        snprintf(message, sizeof message, "cannot run: %s", error->text);
    else if (!lat_spawn_ok(child)) {
        if (child->timed_out || !child->exited)
            snprintf(message, sizeof message, child->timed_out ? "over its time" : "ended by signal %d", child->signal);
        else
            take_message(&child->out, message);
    } else if (!product_is_real(job, message))
        code = "F406";
    else {
        *state = PROOF_PASSED;
        item->quiet = item->quiet || (!job->strict && child->out.length == 0);
        return;
    }
    item->code = code;
    memcpy(item->message, message, sizeof message);
}

struct work {
    struct proof *p;
    atomic_size_t next;
    pthread_mutex_t lock; // of items: a unit may be compiled with and without -Werror at one time
};

static void run_jobs(void *context, int thread, int threads)
{
    struct work *w = context;
    struct proof *p = w->p;
    (void)thread;
    (void)threads;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < p->job_count;) {
        static const char *const environment[] = { "LC_ALL=C", NULL };
        struct proof_job *job = &p->jobs[i];
        struct lat_spawn_options options = { .argv = job->argv, .directory = p->build, .environment = environment, .seconds_max = 1800,
                                             .merge = true };
        struct lat_spawn_result child = { 0 };
        struct lat_error error = { 0 };
        unlink(job->product);
        enum lat_status status = lat_spawn_run(&child, &options, &error);
        pthread_mutex_lock(&w->lock);
        end_job(p, job, &child, status, &error);
        pthread_mutex_unlock(&w->lock);
        if (status == LAT_OK)
            lat_spawn_result_release(&child);
    }
}

void proof_jobs_run(struct proof *p)
{
    struct work w = { .p = p, .lock = PTHREAD_MUTEX_INITIALIZER };
    atomic_init(&w.next, 0);
    if (p->job_count)
        lat_pool_run(p->pool, run_jobs, &w);
    p->job_count = 0;
}

const char **lat_exhaustive_arguments(const struct lat_feature_model *m, const struct lat_assignment *a, struct lat_text_list head,
                                      struct lat_arena *arena)
{
    const char **out = lat_arena_new(arena, head.count + m->option_count + 1, sizeof *out);
    size_t n = 0;
    for (size_t i = 0; out && i < head.count; i++)
        out[n++] = head.items[i];
    for (size_t i = 0; out && i < m->option_count; i++) {
        const struct lat_feature_option *o = &m->options[i];
        size_t size = strlen(o->name) + strlen(o->values[a->value[i]]) + 4;
        char *word = lat_arena_new(arena, size, 1);
        if (!word)
            return NULL;
        snprintf(word, size, "-D%s=%s", o->name, o->values[a->value[i]]);
        out[n++] = word;
    }
    return out;
}

void lat_exhaustive_cmake_reason(const struct lat_buf *output, struct lat_buf *out)
{
    const char *at = output->bytes ? strstr(output->bytes, "CMake Error") : NULL;
    at = at ? at : output->bytes ? output->bytes : "";
    bool blank = false;
    for (; *at && out->length < 600; at++) {
        bool space = *at == ' ' || *at == '\n' || *at == '\t' || *at == '\r';
        if (!space && blank && out->length)
            lat_buf_add_char(out, ' ');
        if (!space)
            lat_buf_add_char(out, *at);
        blank = space;
    }
    lat_buf_add(out, "", 0);
}

static enum lat_status configure(struct proof *p, struct proof_row *row)
{
    struct lat_spawn_result child;
    const struct lat_assignment *a = &p->o->rows->items[p->row];
    const char **arguments = lat_exhaustive_arguments(p->o->model, a, p->o->configure, &p->row_arena);
    double start = lat_clock_seconds();
    if (!arguments)
        return lat_error_memory(p->error, "arguments of CMake");
    struct lat_cmake_run run = { .source = p->o->source, .build = p->build, .arguments = arguments, .seconds_max = 1800, .fresh = true };
    LAT_TRY(lat_cmake_configure(&child, &run, p->error));
    row->configured = lat_spawn_ok(&child);
    if (!row->configured && ++p->configure_failures <= FAILURES_SHOWN) {
        struct lat_buf why, name;
        lat_buf_init(&why, 1 << 12);
        lat_buf_init(&name, 1 << 14);
        lat_exhaustive_cmake_reason(&child.out, &why);
        lat_feature_describe(p->o->model, a, true, &name);
        lat_leg_find(p->result, LAT_LEG_FAIL, "F404", NULL, 0, "repair the CMake files, or state a constraint in the leg",
                     "[%s] does not configure: %s", name.bytes, why.bytes);
        lat_buf_release(&why);
        lat_buf_release(&name);
    }
    lat_spawn_result_release(&child);
    p->counts->configure_seconds += lat_clock_seconds() - start;
    return row->configured ? lat_cmake_read(&p->cmake, p->build, p->error) : LAT_OK;
}

static bool is_generator(const struct lat_edge *e)
{
    size_t n = strlen(e->output);
    return e->kind == LAT_EDGE_OTHER && !(n > 5 && strcmp(e->output + n - 5, ".util") == 0) && strcmp(e->output, "build.ninja") != 0 &&
           strcmp(e->output, "clean") != 0 && strcmp(e->output, "help") != 0;
}

// Builds what compilations need before they can run: what Ninja calls their order-only dependencies.
static enum lat_status generate(struct proof *p)
{
    static const char prefix[] = "cmake_object_order_depends_target_";
    const char **argv = lat_arena_new(&p->row_arena, GENERATE_MAX + 4, sizeof *argv);
    struct lat_spawn_result child;
    size_t n = 0;
    bool needed = false;
    if (!argv)
        return lat_error_memory(p->error, "generators");
    argv[n++] = "ninja";
    for (size_t i = 0; i < p->edges.count; i++) {
        const struct lat_edge *e = &p->edges.items[i];
        const char *name = strrchr(e->output, '/');
        needed = needed || is_generator(e);
        if (e->kind == LAT_EDGE_PHONY && strncmp(name ? name + 1 : e->output, prefix, sizeof prefix - 1) == 0 && n < GENERATE_MAX)
            argv[n++] = e->output;
    }
    if (!needed || n == 1)
        return LAT_OK;
    struct lat_spawn_options options = { .argv = argv, .directory = p->build, .seconds_max = 3600, .merge = true };
    LAT_TRY(lat_spawn_run(&child, &options, p->error));
    if (!lat_spawn_ok(&child)) {
        char message[LAT_PROOF_MESSAGE];
        struct lat_buf name;
        lat_buf_init(&name, 1 << 14);
        lat_feature_describe(p->o->model, &p->o->rows->items[p->row], true, &name);
        take_message(&child.out, message);
        lat_leg_find(p->result, LAT_LEG_FAIL, "F404", NULL, 0, NULL, "[%s] generated sources cannot be built: %s", name.bytes, message);
        lat_buf_release(&name);
    }
    lat_spawn_result_release(&child);
    return LAT_OK;
}

static bool could_be_read(const char *name)
{
    static const char *const no[] = { ".o", ".a", ".so", ".d", ".ninja", ".cmake", ".json", ".make", ".bin", ".log", ".util", ".pc" };
    size_t length = strlen(name);
    if (strcmp(name, "CMakeCache.txt") == 0 || name[0] == '.' || strcmp(name, "TargetDirectories.txt") == 0)
        return false;
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (length > strlen(no[i]) && strcmp(name + length - strlen(no[i]), no[i]) == 0)
            return false;
    return true;
}

// Adds each file below `path` that a source could include, in order of names.
static enum lat_status hash_folder(struct proof *p, struct lat_sha256 *hash, const char *path, int depth)
{
    struct dirent **entries = NULL;
    int count = scandir(path, &entries, NULL, alphasort);
    enum lat_status status = LAT_OK;
    for (int i = 0; i < count; i++) {
        char below[LAT_PROOF_PATH + 300];
        struct stat st;
        struct lat_file_map map;
        const char *name = entries[i]->d_name;
        bool usable = name[0] != '.' && strcmp(name, "Testing") != 0 && strcmp(name, "CompilerIdC") != 0 && strcmp(name,
                                                                      "CompilerIdCXX") != 0 &&
                      snprintf(below, sizeof below, "%s/%s", path, name) < (int)sizeof below && lstat(below, &st) == 0;
        if (status == LAT_OK && usable && S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            status = hash_folder(p, hash, below, depth + 1);
        else if (status == LAT_OK && usable && S_ISREG(st.st_mode) && could_be_read(name) && st.st_size <= STATE_FILE_MAX &&
                 lat_file_map_open(&map, below, NULL) == LAT_OK) {
            proof_hash_text(hash, below + strlen(p->build));
            lat_sha256_add(hash, map.bytes, map.length);
            lat_file_map_close(&map);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

static enum lat_status take_state(struct proof *p)
{
    struct lat_sha256 hash;
    lat_sha256_init(&hash);
    LAT_TRY(hash_folder(p, &hash, p->build, 0));
    lat_sha256_hex(&hash, p->state);
    return LAT_OK;
}

// What the row builds, whatever order: two rows with the same digest build the same.
static void hash_row(struct proof *p, struct proof_row *row)
{
    struct lat_sha256 hash;
    lat_sha256_init(&hash);
    lat_sha256_add(&hash, row->units, row->unit_count * sizeof *row->units);
    lat_sha256_add(&hash, "|", 1);
    lat_sha256_add(&hash, row->links, row->link_count * sizeof *row->links);
    for (size_t i = 0; i < p->edges.count; i++) // -Werror and tests are no units: commands as they stand
        for (size_t k = 0; k < p->edges.items[i].word_count; k++)
            if (strcmp(p->edges.items[i].words[k], "-Werror") == 0)
                lat_sha256_add(&hash, "w", 1);
    lat_sha256_hex(&hash, row->digest);
}

static enum lat_status prove_row(struct proof *p, struct proof_row *row)
{
    lat_token_scan_forget(p->scan);
    LAT_TRY(configure(p, row));
    if (!row->configured)
        return LAT_OK;
    p->counts->configured++;
    proof_check_options(p);
    LAT_TRY(lat_edges_read(&p->edges, p->build, p->error));
    LAT_TRY(generate(p));
    LAT_TRY(take_state(p));
    LAT_TRY(proof_compile_row(p, row));
    LAT_TRY(proof_link_row(p, row));
    hash_row(p, row);
    return LAT_OK;
}

static enum lat_status run_rows(struct proof *p)
{
    size_t count = p->o->rows->count;
    for (p->row = 0; p->row < count && !proof_late(p); p->row++) {
        lat_arena_init(&p->row_arena, (size_t)1 << 31);
        lat_text_table_init(&p->outputs);
        enum lat_status status = prove_row(p, &p->rows[p->row]);
        if (p->o->verbose)
            fprintf(stderr, "features: %zu/%zu, %zu of %zu units and %zu of %zu links are distinct\n", p->row + 1, count, p->units.count,
                    p->counts->tu_occurrences, p->links.count, p->counts->link_occurrences);
        lat_cmake_release(&p->cmake);
        lat_edges_release(&p->edges);
        lat_text_table_release(&p->outputs);
        lat_arena_release(&p->row_arena);
        LAT_TRY(status);
    }
    p->counts->complete = p->row == count;
    p->counts->tu_distinct = p->units.count;
    p->counts->link_distinct = p->links.count;
    return LAT_OK;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    return where->level == 0 ? 0 : remove(path);
}

static enum lat_status make_folders(struct proof *p)
{
    const char *names[] = { "build", "objects", "links" };
    char *paths[] = { p->build, p->objects, p->links_folder };
    if (mkdir(p->o->work, 0777) != 0 && errno != EEXIST)
        return lat_error_errno(p->error, errno, "make", p->o->work);
    if (nftw(p->o->work, remove_one, 32, FTW_DEPTH | FTW_PHYS) != 0)
        return lat_error_errno(p->error, errno, "empty", p->o->work);
    for (size_t i = 0; i < 3; i++) {
        if (snprintf(paths[i], LAT_PROOF_PATH - 200, "%s/%s", p->o->work, names[i]) >= LAT_PROOF_PATH - 200)
            return lat_error_set(p->error, LAT_LIMIT, "%.80s...: a path that is too long", p->o->work);
        if (mkdir(paths[i], 0777) != 0)
            return lat_error_errno(p->error, errno, "make", paths[i]);
    }
    return LAT_OK;
}

static enum lat_status prove(struct proof *p, json_t **certificate)
{
    int jobs = p->o->jobs > 0 ? p->o->jobs : lat_pool_processors();
    LAT_TRY(make_folders(p));
    p->rows = lat_arena_new(&p->arena, p->o->rows->count + 1, sizeof *p->rows);
    p->compiler_folders = lat_arena_new(&p->arena, PROOF_COMPILERS_MAX, sizeof *p->compiler_folders);
    if (!p->rows || !p->compiler_folders)
        return lat_error_memory(p->error, "assignments");
    LAT_TRY(lat_token_scan_new(&p->scan, p->build, p->error));
    LAT_TRY(lat_pool_new(&p->pool, jobs, p->error));
    LAT_TRY(run_rows(p));
    proof_report(p);
    *certificate = proof_certificate(p);
    return *certificate ? LAT_OK : lat_error_memory(p->error, "a certificate");
}

static void items_release(struct proof_items *items)
{
    for (size_t i = 0; i < items->count; i++)
        lat_mem_free(items->items[i].failed_rows);
    lat_mem_free(items->items);
    lat_text_table_release(&items->keys);
}

enum lat_status lat_exhaustive_run(const struct lat_exhaustive_options *options, struct lat_leg_result *result,
                                   struct lat_exhaustive_counts *counts, json_t **certificate, struct lat_error *error)
{
    struct proof *p = lat_mem_new(1, sizeof *p);
    *counts = (struct lat_exhaustive_counts){ 0 };
    *certificate = NULL;
    if (!p)
        return lat_error_memory(error, "the proof of features");
    p->o = options;
    p->result = result;
    p->counts = counts;
    p->error = error;
    lat_arena_init(&p->arena, (size_t)1 << 32);
    lat_text_table_init(&p->units.keys);
    lat_text_table_init(&p->links.keys);
    lat_text_table_init(&p->compilers);
    lat_text_table_init(&p->commands);
    lat_text_table_init(&p->sources);
    lat_text_table_init(&p->unknown_options);
    enum lat_status status = prove(p, certificate);
    items_release(&p->units);
    items_release(&p->links);
    lat_text_table_release(&p->compilers);
    lat_text_table_release(&p->commands);
    lat_text_table_release(&p->sources);
    lat_text_table_release(&p->unknown_options);
    lat_mem_free(p->command_units);
    lat_mem_free(p->output_items);
    lat_mem_free(p->jobs);
    lat_token_scan_free(p->scan);
    lat_pool_free(p->pool);
    lat_arena_release(&p->arena);
    lat_mem_free(p);
    return status;
}
