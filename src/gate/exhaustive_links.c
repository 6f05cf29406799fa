// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Links: each distinct one once, of the objects that were compiled, in the order in which they need each other.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "gate/exhaustive_parts.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_link(const struct lat_edge *e) { return e->kind == LAT_EDGE_LINK || e->kind == LAT_EDGE_ARCHIVE; }

// A file of the project that a word names (a version script, an object of a custom command) counts with its content.
static void hash_named_file(struct proof *p, struct lat_sha256 *hash, const char *word)
{
    const char *at = strrchr(word, '='), *comma = strrchr(word, ',');
    char path[LAT_PROOF_PATH + 300];
    struct lat_file_map map;
    struct stat st;
    at = comma > at ? comma : at;
    at = at ? at + 1 : word;
    if (*at == '-' || snprintf(path, sizeof path, "%s%s%s", at[0] == '/' ? "" : p->build, at[0] == '/' ? "" : "/", at) >= (int)sizeof path)
        return;
    size_t source = strlen(p->o->source);
    bool ours = proof_below_build(p, path) || (strncmp(path, p->o->source, source) == 0 && path[source] == '/');
    if (!ours || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || lat_file_map_open(&map, path, NULL) != LAT_OK)
        return;
    lat_sha256_add(hash, map.bytes, map.length);
    lat_file_map_close(&map);
}

struct link {
    const struct lat_edge *edge;
    bool done;
};

// Names that a link of this row will give to something, in the end.
static enum lat_status collect_names(struct proof *p, struct lat_text_table *names)
{
    for (size_t i = 0; i < p->edges.count; i++) {
        const struct lat_edge *e = &p->edges.items[i];
        int64_t n = is_link(e) ? lat_text_table_put(names, e->output, strlen(e->output)) : 0;
        for (size_t k = 1; e->kind == LAT_EDGE_ALIAS && k < e->word_count && n >= 0; k++)
            n = lat_text_table_put(names, e->words[k], strlen(e->words[k]));
        if (n < 0)
            return lat_error_memory(p->error, "names of links");
    }
    return LAT_OK;
}

// True when every link that this one reads has its key.
static bool is_ready(struct proof *p, const struct lat_edge *e, const struct lat_text_table *names)
{
    for (size_t i = 0; i < e->word_count; i++) {
        const char *word = e->words[i], *below = proof_below_build(p, word);
        word = below ? below : word;
        if (strcmp(word, e->output) != 0 && lat_text_table_find(names, word, strlen(word)) >= 0 && !proof_output_find(p, word))
            return false;
    }
    return true;
}

// "-Xlinker --dependency-file=F" and its like write beside the output: left out.
static bool is_dependency_word(const struct lat_edge *e, size_t *i)
{
    if (strcmp(e->words[*i], "-Xlinker") == 0 && e->words[*i + 1] && strncmp(e->words[*i + 1], "--dependency-file", 17) == 0) {
        ++*i;
        return true;
    }
    return strncmp(e->words[*i], "-Wl,--dependency-file", 21) == 0;
}

struct draft {
    const char **argv;
    size_t argc;
    uint32_t *deps;
    size_t dep_count;
    bool blocked;
    char key[LAT_SHA256_HEX_SIZE];
};

static enum lat_status take_output(struct proof *p, struct draft *d, const struct proof_output *o, struct lat_sha256 *hash)
{
    const struct proof_item *item = o->is_link ? &p->links.items[o->item] : &p->units.items[o->item];
    size_t size = strlen(p->links_folder) + strlen(item->key) + (o->base ? strlen(o->base) : 0) + 8;
    char *path = lat_arena_new(&p->row_arena, size, 1);
    if (!path)
        return lat_error_memory(p->error, "a link");
    if (o->is_link)
        snprintf(path, size, "%s/%s/%s", p->links_folder, item->key, o->base);
    else
        snprintf(path, size, "%s/%s%s.o", p->objects, item->key, item->state == PROOF_PASSED ? "" : "-w");
    d->argv[d->argc++] = path;
    proof_hash_text(hash, item->key);
    if (o->is_link)
        d->deps[d->dep_count++] = o->item;
    d->blocked = d->blocked || !(item->state == PROOF_PASSED || item->strict == PROOF_PASSED);
    return LAT_OK;
}

// Replaces what stands below the build folder by what we made of it.
static enum lat_status make_draft(struct proof *p, const struct lat_edge *e, struct draft *d)
{
    struct lat_sha256 hash;
    *d = (struct draft){ .argv = lat_arena_new(&p->row_arena, e->word_count + 64, sizeof(char *)),
                         .deps = lat_arena_new(&p->arena, e->word_count + 1, sizeof(uint32_t)) };
    if (!d->argv || !d->deps)
        return lat_error_memory(p->error, "a link");
    lat_sha256_init(&hash);
    proof_hash_text(&hash, base_name(e->output));
    for (size_t i = 0; i < e->word_count; i++) {
        const struct proof_output *o = proof_output_find(p, e->words[i]);
        if (e->kind == LAT_EDGE_LINK && is_dependency_word(e, &i))
            continue;
        if (strcmp(e->words[i], e->output) == 0) {
            d->argv[d->argc++] = NULL; // the product's path is known when the key is
            proof_hash_text(&hash, "output");
        } else if (o)
            LAT_TRY(take_output(p, d, o, &hash));
        else {
            d->argv[d->argc++] = e->words[i];
            proof_hash_word(p, &hash, e->words[i]);
            hash_named_file(p, &hash, e->words[i]);
        }
    }
    lat_sha256_hex(&hash, d->key);
    return LAT_OK;
}

// A shared library finds those that it needs by its own rpath, which is the build folder: tell the linker where they are.
static enum lat_status add_rpath_links(struct proof *p, struct draft *d)
{
    bool *seen = lat_arena_new(&p->row_arena, p->links.count + 1, sizeof *seen);
    uint32_t *todo = lat_arena_new(&p->row_arena, p->links.count + 1, sizeof *todo);
    size_t count = 0;
    if (!seen || !todo)
        return lat_error_memory(p->error, "a link");
    for (size_t i = 0; i < d->dep_count; i++)
        if (!seen[d->deps[i]])
            seen[todo[count++] = d->deps[i]] = true;
    for (size_t i = 0; i < count && i < 48; i++) {
        const struct proof_item *item = &p->links.items[todo[i]];
        size_t size = strlen(p->links_folder) + strlen(item->key) + 32;
        char *word = lat_arena_new(&p->row_arena, size, 1);
        if (!word)
            return lat_error_memory(p->error, "a link");
        snprintf(word, size, "-Wl,-rpath-link,%s/%s", p->links_folder, item->key);
        if (!strstr(item->what, ".a"))
            d->argv[d->argc++] = word;
        for (size_t k = 0; k < item->dep_count; k++)
            if (!seen[item->deps[k]])
                seen[todo[count++] = item->deps[k]] = true;
    }
    return LAT_OK;
}

static enum lat_status add_link(struct proof *p, struct proof_row *row, const struct lat_edge *e)
{
    struct draft d;
    char path[LAT_PROOF_PATH + 400];
    LAT_TRY(make_draft(p, e, &d));
    size_t before = p->links.count;
    int64_t n = proof_item_put(p, &p->links, d.key, e->output);
    if (n < 0)
        return lat_error_memory(p->error, "links");
    struct proof_item *item = &p->links.items[n];
    item->occurrences++;
    row->links[row->link_count++] = (uint32_t)n;
    LAT_TRY(proof_output_put(p, e->output, (struct proof_output){ true, (uint32_t)n, base_name(item->what) }));
    if ((size_t)n < before)
        return LAT_OK;
    item->deps = d.deps;
    item->dep_count = d.dep_count;
    if (d.blocked) {
        item->state = PROOF_BLOCKED;
        return LAT_OK;
    }
    snprintf(path, sizeof path, "%s/%s", p->links_folder, item->key);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return lat_error_errno(p->error, errno, "make", path);
    snprintf(path, sizeof path, "%s/%s/%s", p->links_folder, item->key, base_name(e->output));
    const char *product = proof_copy(&p->row_arena, path);
    if (!product)
        return lat_error_memory(p->error, "a link");
    for (size_t i = 0; i < d.argc; i++)
        if (!d.argv[i])
            d.argv[i] = product;
    if (e->kind == LAT_EDGE_LINK)
        LAT_TRY(add_rpath_links(p, &d));
    return proof_job_add(p, (struct proof_job){ .item = (size_t)n, .is_link = true, .argv = d.argv, .product = product });
}

// Other names of a product: links beside it, so that it is found by its soname.
static enum lat_status add_alias(struct proof *p, const struct lat_edge *e)
{
    const struct proof_output *real = proof_output_find(p, e->words[0]);
    char path[LAT_PROOF_PATH + 400];
    if (!real || !real->is_link)
        return LAT_OK;
    for (size_t i = 1; i < e->word_count; i++) {
        struct proof_output copy = *real;
        snprintf(path, sizeof path, "%s/%s/%s", p->links_folder, p->links.items[copy.item].key, base_name(e->words[i]));
        if (symlink(copy.base, path) != 0 && errno != EEXIST && errno != ENOENT)
            return lat_error_errno(p->error, errno, "link", path);
        LAT_TRY(proof_output_put(p, e->words[i], copy));
        real = proof_output_find(p, e->words[0]);
    }
    return LAT_OK;
}

// All aliases whose product has its key.
static enum lat_status add_aliases(struct proof *p)
{
    for (size_t i = 0; i < p->edges.count; i++)
        if (p->edges.items[i].kind == LAT_EDGE_ALIAS && p->edges.items[i].word_count > 0)
            LAT_TRY(add_alias(p, &p->edges.items[i]));
    return LAT_OK;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

// Rounds: all links that are ready, in parallel.
static enum lat_status link_rounds(struct proof *p, struct proof_row *row, struct link *links, size_t count,
                                   const struct lat_text_table *names)
{
    for (size_t left = count; left > 0;) {
        size_t before = left;
        bool *ready = lat_arena_new(&p->row_arena, count, sizeof *ready);
        if (!ready)
            return lat_error_memory(p->error, "links");
        for (size_t i = 0; i < count; i++)
            ready[i] = !links[i].done && is_ready(p, links[i].edge, names);
        for (size_t i = 0; i < count; i++)
            if (ready[i]) {
                LAT_TRY(add_link(p, row, links[i].edge));
                links[i].done = true;
                left--;
            }
        proof_jobs_run(p);
        LAT_TRY(add_aliases(p));
        if (left == before)
            return lat_error_set(p->error, LAT_FAILED, "links of %.200s need each other", p->build);
    }
    return LAT_OK;
}

enum lat_status proof_link_row(struct proof *p, struct proof_row *row)
{
    struct link *links = lat_arena_new(&p->row_arena, p->edges.count + 1, sizeof *links);
    size_t count = 0;
    double start = lat_clock_seconds();
    row->links = lat_arena_new(&p->arena, p->edges.count + 1, sizeof *row->links);
    if (!links || !row->links)
        return lat_error_memory(p->error, "links");
    for (size_t i = 0; i < p->edges.count; i++) {
        if (is_link(&p->edges.items[i]))
            links[count++] = (struct link){ .edge = &p->edges.items[i] };
        p->counts->custom += is_link(&p->edges.items[i]) && p->edges.items[i].has_more;
    }
    struct lat_text_table names;
    lat_text_table_init(&names);
    enum lat_status status = collect_names(p, &names);
    if (status == LAT_OK)
        status = link_rounds(p, row, links, count, &names);
    lat_text_table_release(&names);
    p->counts->link_occurrences += row->link_count;
    p->counts->link_seconds += lat_clock_seconds() - start;
    qsort(row->links, row->link_count, sizeof *row->links, by_number);
    return status;
}
