// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/deb_packages.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/error.h"
#include "gate/spawn.h"

enum { CANDIDATES = 4, BATCH = 200 };

static const char *const environment[] = { "LC_ALL=C", "DPKG_ROOT", "DPKG_ADMINDIR", NULL };

// One way to spell a file's path, and whose it is.
struct candidate {
    const char *path;
    size_t file;
    const char *package;
};

struct finder {
    struct lat_deb_file *files;
    struct candidate *candidates; // sorted by path when asked
    size_t count;
    struct lat_arena *arena;
    struct lat_error *error;
};

static enum lat_status keep(struct finder *f, const char *text, size_t length, const char **out)
{
    char *copy = lat_arena_new(f->arena, length + 1, 1);
    if (!copy)
        return lat_error_memory(f->error, "names of packages");
    memcpy(copy, text, length);
    *out = copy;
    return LAT_OK;
}

static enum lat_status add_candidate(struct finder *f, const char *path, size_t file)
{
    for (size_t i = f->count; i > 0 && f->candidates[i - 1].file == file; i--)
        if (strcmp(f->candidates[i - 1].path, path) == 0)
            return LAT_OK;
    struct candidate *c = &f->candidates[f->count++];
    *c = (struct candidate){ .file = file };
    return keep(f, path, strlen(path), &c->path);
}

static enum lat_status add_spellings(struct finder *f, const char *path, size_t file)
{
    char other[PATH_MAX + 8];
    LAT_TRY(add_candidate(f, path, file));
    if (strncmp(path, "/usr/lib", 8) == 0)
        snprintf(other, sizeof other, "%s", path + 4);
    else if (strncmp(path, "/lib", 4) == 0)
        snprintf(other, sizeof other, "/usr%s", path);
    else
        return LAT_OK;
    return add_candidate(f, other, file);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct candidate *)a)->path, ((const struct candidate *)b)->path);
}

// dpkg takes arguments for patterns when they hold these.
static enum lat_status quote(struct finder *f, const char *path, const char **out)
{
    if (!strpbrk(path, "*?[\\"))
        return keep(f, path, strlen(path), out);
    struct lat_buf quoted;
    lat_buf_init(&quoted, 4 * PATH_MAX);
    for (; *path; path++) {
        if (strchr("*?[\\", *path))
            lat_buf_add_char(&quoted, '\\');
        lat_buf_add_char(&quoted, *path);
    }
    enum lat_status status = quoted.failed ? lat_error_memory(f->error, "names of packages")
                                           : keep(f, quoted.bytes, quoted.length, out);
    lat_buf_release(&quoted);
    return status;
}

// "zlib1g:amd64, zlib1g:i386: /path": the first of the packages. Rows on diversions begin otherwise.
static enum lat_status note_row(struct finder *f, const char *row, size_t length)
{
    const char *mark = memmem(row, length, ": /", 3);
    if (!mark || strncmp(row, "diversion by ", 13) == 0 || strncmp(row, "local diversion ", 16) == 0)
        return LAT_OK;
    struct candidate key = { 0 };
    const char *package = NULL;
    LAT_TRY(keep(f, mark + 2, length - (size_t)(mark + 2 - row), &key.path));
    const char *comma = memchr(row, ',', (size_t)(mark - row));
    LAT_TRY(keep(f, row, (size_t)((comma ? comma : mark) - row), &package));
    struct candidate *hit = bsearch(&key, f->candidates, f->count, sizeof *f->candidates, by_path);
    if (!hit)
        return LAT_OK;
    while (hit > f->candidates && strcmp(hit[-1].path, key.path) == 0)
        hit--;
    for (; hit < f->candidates + f->count && strcmp(hit->path, key.path) == 0; hit++)
        hit->package = package;
    return LAT_OK;
}

static enum lat_status run_dpkg(struct lat_spawn_result *result, const char *const *argv, struct lat_error *error)
{
    struct lat_spawn_options options = { .argv = argv, .environment = environment, .seconds_max = 120,
                                         .output_max = (size_t)1 << 26 };
    enum lat_status status = lat_spawn_run(result, &options, error);
    if (status == LAT_NOT_FOUND)
        return lat_error_set(error, LAT_UNAVAILABLE, "%s: not on this machine", argv[0]);
    if (status == LAT_OK && (!result->exited || result->code > 1 || result->out_cut)) {
        status = lat_error_set(error, LAT_FAILED, "%s: %.*s", argv[0], (int)strcspn(result->err.bytes, "\n"), result->err.bytes);
        lat_spawn_result_release(result);
    }
    return status;
}

static enum lat_status ask_batch(struct finder *f, size_t from, size_t count)
{
    const char *argv[BATCH + 4] = { "dpkg-query", "-S", "--" };
    struct lat_spawn_result result;
    size_t n = 3;
    for (size_t i = 0; i < count; i++) {
        if (i && strcmp(f->candidates[from + i].path, f->candidates[from + i - 1].path) == 0)
            continue;
        LAT_TRY(quote(f, f->candidates[from + i].path, &argv[n++]));
    }
    LAT_TRY(run_dpkg(&result, argv, f->error));
    enum lat_status status = LAT_OK;
    const char *end = result.out.bytes + result.out.length;
    for (const char *row = result.out.bytes; status == LAT_OK && row < end;) {
        const char *stop = memchr(row, '\n', (size_t)(end - row));
        stop = stop ? stop : end;
        status = note_row(f, row, (size_t)(stop - row));
        row = stop + 1;
    }
    lat_spawn_result_release(&result);
    return status;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

// A row of dpkg-query: name, plain name, source, version, with tabs between.
static enum lat_status read_package(struct finder *f, const char *row, size_t length, struct lat_deb_package *p)
{
    const char **fields[4] = { &p->name, &p->plain, &p->source, &p->version };
    const char *end = row + length;
    for (size_t i = 0; i < 4; i++) {
        const char *tab = memchr(row, '\t', (size_t)(end - row));
        if (!tab && i < 3)
            return lat_error_set(f->error, LAT_FORMAT, "dpkg-query: a row without its columns");
        LAT_TRY(keep(f, row, (size_t)((tab ? tab : end) - row), fields[i]));
        row = tab ? tab + 1 : end;
    }
    return LAT_OK;
}

// What the packages that were found are; `names` sorted and distinct.
static enum lat_status describe(struct finder *f, const char **names, size_t count, struct lat_deb_package *packages, size_t *found)
{
    *found = 0;
    for (size_t from = 0; from < count; from += BATCH) {
        const char *argv[BATCH + 5] = { "dpkg-query", "-W", "-f", "${binary:Package}\t${Package}\t${source:Package}\t${Version}\n" };
        size_t n = count - from < BATCH ? count - from : BATCH;
        struct lat_spawn_result result;
        memcpy(argv + 4, names + from, n * sizeof *names);
        LAT_TRY(run_dpkg(&result, argv, f->error));
        enum lat_status status = LAT_OK;
        const char *end = result.out.bytes + result.out.length;
        for (const char *row = result.out.bytes; status == LAT_OK && row < end && *found < count;) {
            const char *stop = memchr(row, '\n', (size_t)(end - row));
            stop = stop ? stop : end;
            status = read_package(f, row, (size_t)(stop - row), &packages[(*found)++]);
            row = stop + 1;
        }
        lat_spawn_result_release(&result);
        LAT_TRY(status);
    }
    return LAT_OK;
}

static enum lat_status attach(struct finder *f)
{
    const char **names = lat_arena_new(f->arena, f->count + 1, sizeof *names);
    struct lat_deb_package *packages = lat_arena_new(f->arena, f->count + 1, sizeof *packages);
    size_t count = 0, kept = 0, found;
    if (!names || !packages)
        return lat_error_memory(f->error, "names of packages");
    for (size_t i = 0; i < f->count; i++)
        if (f->candidates[i].package)
            names[count++] = f->candidates[i].package;
    if (count == 0)
        return LAT_OK;
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(names[i], names[kept - 1]) != 0)
            names[kept++] = names[i];
    LAT_TRY(describe(f, names, kept, packages, &found));
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; f->candidates[i].package && k < found; k++)
            if (strcmp(packages[k].name, f->candidates[i].package) == 0 || strcmp(packages[k].plain, f->candidates[i].package) == 0)
                f->files[f->candidates[i].file].package = &packages[k];
    return LAT_OK;
}

enum lat_status lat_deb_find(struct lat_deb_file *files, size_t count, struct lat_arena *arena, struct lat_error *error)
{
    struct finder f = { files, NULL, 0, arena, error };
    if (count == 0)
        return LAT_OK;
    f.candidates = lat_mem_new(count * CANDIDATES, sizeof *f.candidates);
    if (!f.candidates)
        return lat_error_memory(error, "names of packages");
    enum lat_status status = LAT_OK;
    for (size_t i = 0; status == LAT_OK && i < count; i++) {
        char real[PATH_MAX];
        files[i].package = NULL;
        status = add_spellings(&f, files[i].path, i);
        if (status == LAT_OK && realpath(files[i].path, real))
            status = add_spellings(&f, real, i);
    }
    if (status == LAT_OK)
        qsort(f.candidates, f.count, sizeof *f.candidates, by_path);
    for (size_t from = 0; status == LAT_OK && from < f.count; from += BATCH)
        status = ask_batch(&f, from, f.count - from < BATCH ? f.count - from : BATCH);
    if (status == LAT_OK)
        status = attach(&f);
    lat_mem_free(f.candidates);
    return status;
}

static int order(char c)
{
    if (c == '~')
        return -1;
    if (c == 0 || (c >= '0' && c <= '9'))
        return 0;
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c : c + 256;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Debian policy 5.6.12: letters before others, "~" before the end, runs of digits as numbers.
static int compare_part(const char *a, const char *b)
{
    while (*a || *b) {
        while ((*a && !is_digit(*a)) || (*b && !is_digit(*b))) {
            int d = order(*a) - order(*b);
            if (d)
                return d;
            a += *a != 0;
            b += *b != 0;
        }
        while (*a == '0')
            a++;
        while (*b == '0')
            b++;
        int first = 0;
        for (; is_digit(*a) && is_digit(*b); a++, b++)
            first = first ? first : *a - *b;
        if (is_digit(*a))
            return 1;
        if (is_digit(*b))
            return -1;
        if (first)
            return first;
    }
    return 0;
}

struct version {
    char epoch[16], upstream[128], revision[64];
};

static void split(struct version *v, const char *text)
{
    const char *colon = strchr(text, ':'), *dash = strrchr(text, '-');
    const char *from = colon ? colon + 1 : text;
    dash = dash && dash >= from ? dash : NULL;
    snprintf(v->epoch, sizeof v->epoch, "%.*s", colon ? (int)(colon - text) : 1, colon ? text : "0");
    snprintf(v->upstream, sizeof v->upstream, "%.*s", (int)(dash ? dash - from : (long)strlen(from)), from);
    snprintf(v->revision, sizeof v->revision, "%s", dash ? dash + 1 : "");
}

int lat_deb_version_compare(const char *a, const char *b)
{
    struct version x, y;
    split(&x, a);
    split(&y, b);
    int d = compare_part(x.epoch, y.epoch);
    d = d ? d : compare_part(x.upstream, y.upstream);
    return d ? d : compare_part(x.revision, y.revision);
}

// "1:1.2.13.dfsg-1" to "1.2.13".
static void upstream_of(char *out, size_t size, const char *version)
{
    static const char *const suffixes[] = { "+dfsg", ".dfsg", "~dfsg", "+ds", ".ds", "+really" };
    struct version v;
    split(&v, version);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char *at = strstr(v.upstream, suffixes[i]);
        if (at)
            *at = 0;
    }
    snprintf(out, size, "%s", v.upstream);
}

bool lat_version_matches(const char *constraint, const char *version)
{
    char mine[128];
    upstream_of(mine, sizeof mine, version);
    for (const char *at = constraint;;) {
        char want[128];
        while (*at == ' ')
            at++;
        bool less = *at == '<', more = *at == '>', equal = (!less && !more) || at[1] == '=';
        at += less || more || *at == '=' ? 1 : 0;
        at += (less || more) && *at == '=' ? 1 : 0;
        while (*at == ' ')
            at++;
        size_t n = strcspn(at, ", ");
        snprintf(want, sizeof want, "%.*s", (int)n, at);
        int d = compare_part(mine, want);
        if (!((d < 0 && less) || (d > 0 && more) || (d == 0 && equal)))
            return false;
        at += strcspn(at, ",");
        if (!*at)
            return true;
        at++;
    }
}
