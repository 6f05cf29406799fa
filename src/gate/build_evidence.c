// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/build_evidence.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "gate/deny_policy.h"
#include "gate/elf_reader.h"
#include "gate/spawn.h"

enum { USES_MAX = 4000000 };

struct collector {
    struct lat_evidence *e;
    const struct lat_evidence_options *options;
    struct lat_error *error;
};

static enum lat_status keep(struct collector *c, const char *text, size_t length, const char **out)
{
    char *copy = lat_arena_new(&c->e->arena, length + 1, 1);
    if (!copy)
        return lat_error_memory(c->error, "build evidence");
    memcpy(copy, text, length);
    *out = copy;
    return LAT_OK;
}

static enum lat_status add_use(struct collector *c, const struct lat_evidence_use *use)
{
    struct lat_evidence *e = c->e;
    if (e->count == USES_MAX)
        return lat_error_set(c->error, LAT_LIMIT, "the build uses more than %d files", USES_MAX);
    if (e->count == e->capacity) {
        size_t capacity = e->capacity ? 2 * e->capacity : 1024;
        struct lat_evidence_use *grown = lat_mem_grow(e->uses, capacity, sizeof *grown);
        if (!grown)
            return lat_error_memory(c->error, "build evidence");
        e->uses = grown;
        e->capacity = capacity;
    }
    e->uses[e->count++] = *use;
    return LAT_OK;
}

// The first error that a compiler or CMake speaks of, else the last line; as one line.
static void complaint(const struct lat_buf *said, char *out, size_t size)
{
    size_t n = said->length, used = 0;
    while (n && said->bytes[n - 1] == '\n')
        n--;
    size_t at = n;
    const char *cmake = strstr(said->bytes, "CMake Error"), *compiler = strstr(said->bytes, "error: ");
    if (cmake || compiler)
        at = (size_t)((cmake ? cmake : compiler) - said->bytes);
    while (at && !cmake && said->bytes[at - 1] != '\n')
        at--;
    for (; at < n && used < size - 1 && (cmake || said->bytes[at] != '\n'); at++) {
        char c = said->bytes[at] == '\n' ? ' ' : said->bytes[at];
        if (c != ' ' || (used && out[used - 1] != ' '))
            out[used++] = c;
    }
    out[used] = 0;
}

// Runs a tool in `directory`; LAT_FAILED with what it complained of when it does not succeed.
static enum lat_status run_tool(struct collector *c, const char *const *argv, const char *directory, bool merge,
                                struct lat_spawn_result *result, const char *what)
{
    static const char *const environment[] = { "LC_ALL=C", "NINJA_STATUS", "MAKEFLAGS", NULL };
    struct lat_spawn_options options = { .argv = argv, .directory = directory, .environment = environment, .merge = merge,
                                         .seconds_max = c->options->seconds_max, .output_max = (size_t)1 << 28 };
    LAT_TRY(lat_spawn_run(result, &options, c->error));
    if (lat_spawn_ok(result) && !result->out_cut)
        return LAT_OK;
    char said[300];
    complaint(merge || !result->err.length ? &result->out : &result->err, said, sizeof said);
    enum lat_status status = lat_error_set(c->error, LAT_FAILED, "%s: %s: %s", what, result->timed_out ? "out of time" : "failed", said);
    lat_spawn_result_release(result);
    return status;
}

// What a folder was configured with, in a file beside it. Ninja brings a folder up to date by itself; only other
// arguments ask for CMake.
static bool note_is(const char *note, const struct lat_buf *wanted)
{
    struct lat_file_map map;
    if (lat_file_map_open(&map, note, NULL) != LAT_OK)
        return false;
    bool same = map.length == wanted->length && (map.length == 0 || memcmp(map.bytes, wanted->bytes, map.length) == 0);
    lat_file_map_close(&map);
    return same;
}

static enum lat_status write_note(const char *note, const struct lat_buf *text, struct lat_error *error)
{
    struct lat_file_out out;
    LAT_TRY(lat_file_out_open(&out, note, error));
    enum lat_status status = lat_file_out_write(&out, 0, text->bytes, text->length, error);
    if (status == LAT_OK)
        return lat_file_out_commit(&out, error);
    lat_file_out_abort(&out);
    return status;
}

static enum lat_status run_cmake(struct collector *c, const char *folder)
{
    const char *argv[128] = { "cmake", "-S", c->options->root, "-B", folder, "-G", "Ninja" };
    struct lat_spawn_result result;
    size_t n = 7;
    for (size_t i = 0; i < c->options->configure.count; i++) {
        if (n == sizeof argv / sizeof argv[0] - 1)
            return lat_error_set(c->error, LAT_LIMIT, "'configure': too many arguments");
        argv[n++] = c->options->configure.items[i];
    }
    LAT_TRY(run_tool(c, argv, c->options->root, true, &result, "cmake"));
    lat_spawn_result_release(&result);
    return LAT_OK;
}

static enum lat_status configure(struct collector *c, const char *folder)
{
    struct lat_buf arguments;
    char note[PATH_MAX + 8], ninja[PATH_MAX + 16];
    snprintf(note, sizeof note, "%s.args", folder);
    snprintf(ninja, sizeof ninja, "%s/build.ninja", folder);
    lat_buf_init(&arguments, 1 << 20);
    lat_buf_add_text(&arguments, c->options->root);
    for (size_t i = 0; i < c->options->configure.count; i++)
        lat_buf_addf(&arguments, "\n%s", c->options->configure.items[i]);
    enum lat_status status = arguments.failed ? lat_error_memory(c->error, "arguments of cmake") : LAT_OK;
    if (status == LAT_OK && !(lat_file_exists(ninja) && note_is(note, &arguments))) {
        unlink(note);
        status = run_cmake(c, folder);
        if (status == LAT_OK)
            status = write_note(note, &arguments, c->error);
    }
    lat_buf_release(&arguments);
    return status;
}

static enum lat_status resolve(struct collector *c, const char *path, const char **out)
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return lat_error_set(c->error, LAT_NOT_FOUND, "%s: no such folder", path);
    return keep(c, real, strlen(real), out);
}

// The folder to look at, built.
static enum lat_status prepare(struct collector *c)
{
    char folder[PATH_MAX];
    struct lat_spawn_result result;
    snprintf(folder, sizeof folder, "%s", c->options->build ? c->options->build : "");
    if (!c->options->build) {
        if ((size_t)snprintf(folder, sizeof folder, "%s/deny-build", c->options->work) >= sizeof folder)
            return lat_error_set(c->error, LAT_LIMIT, "%.200s: path too long", c->options->work);
        LAT_TRY(configure(c, folder));
    }
    LAT_TRY(resolve(c, c->options->root, &c->e->root));
    LAT_TRY(resolve(c, folder, &c->e->build));
    char *ninja = lat_file_path_join(folder, "build.ninja");
    bool there = ninja && lat_file_exists(ninja);
    lat_mem_free(ninja);
    if (!there)
        return lat_error_set(c->error, LAT_UNAVAILABLE, "%s: no build.ninja there: only Ninja's build folders can be read", folder);
    static const char *const argv[] = { "ninja", NULL };
    LAT_TRY(run_tool(c, argv, c->e->build, true, &result, "the build"));
    lat_spawn_result_release(&result);
    return LAT_OK;
}

// "src/CMakeFiles/app.dir/x.c.o" is of "app"; other builders' objects are of themselves.
static enum lat_status target_of_object(struct collector *c, const char *object, size_t length, const char **out)
{
    static const char mark[] = "CMakeFiles/";
    const char *at = memmem(object, length, mark, sizeof mark - 1);
    const char *from = at ? at + sizeof mark - 1 : object;
    const char *end = memmem(from, length - (size_t)(from - object), ".dir/", 5);
    return keep(c, from, end ? (size_t)(end - from) : length - (size_t)(from - object), out);
}

// Ninja's log: "object: #deps N, deps mtime M (VALID)", then the files, indented.
static enum lat_status read_headers(struct collector *c)
{
    static const char *const argv[] = { "ninja", "-t", "deps", NULL };
    struct lat_spawn_result result;
    LAT_TRY(run_tool(c, argv, c->e->build, false, &result, "ninja -t deps"));
    enum lat_status status = LAT_OK;
    const char *end = result.out.bytes + result.out.length;
    struct lat_evidence_use use = { 0 };
    bool valid = false;
    for (const char *row = result.out.bytes; status == LAT_OK && row < end;) {
        const char *stop = memchr(row, '\n', (size_t)(end - row));
        stop = stop ? stop : end;
        size_t n = (size_t)(stop - row);
        const char *mark = n && *row != ' ' ? memmem(row, n, ": #deps ", 8) : NULL;
        if (mark) {
            valid = memmem(row, n, "(VALID)", 7) != NULL;
            c->e->object_count += valid;
            status = target_of_object(c, row, (size_t)(mark - row), &use.target);
        } else if (valid && n > 4 && memcmp(row, "    ", 4) == 0) {
            use.how = LAT_LINK_HEADER;
            status = keep(c, row + 4, n - 4, &use.path);
            if (status == LAT_OK)
                status = add_use(c, &use);
        }
        row = stop + 1;
    }
    lat_spawn_result_release(&result);
    return status;
}

enum lat_status lat_command_split(const char *text, struct lat_arena *arena, const char ***words, struct lat_error *error)
{
    size_t length = strlen(text), count = 0;
    char *bytes = lat_arena_new(arena, length + 1, 1);
    const char **out = lat_arena_new(arena, length + 3, sizeof *out);
    if (!bytes || !out)
        return lat_error_memory(error, "a link command");
    for (size_t at = 0;;) {
        while (text[at] == ' ' || text[at] == '\t' || text[at] == '\n')
            at++;
        if (!text[at])
            break;
        if (text[at] == '&' && text[at + 1] == '&') {
            out[count++] = NULL;
            at += 2;
            continue;
        }
        out[count++] = bytes;
        for (char quote = 0; text[at] && (quote || !strchr(" \t\n", text[at])); at++) {
            if (quote ? text[at] == quote : text[at] == '"' || text[at] == '\'')
                quote = quote ? 0 : text[at];
            else if (text[at] == '\\' && quote != '\'' && text[at + 1] && (!quote || strchr("\"\\$`", text[at + 1])))
                *bytes++ = text[++at];
            else
                *bytes++ = text[at];
            if (quote && !text[at + 1])
                return lat_error_set(error, LAT_FORMAT, "an open quote in a link command");
        }
        *bytes++ = 0;
    }
    *words = out; // two NULLs behind the last: the arena is zeroed
    return LAT_OK;
}

enum lat_status lat_depfile_read(const char *text, size_t length, lat_depfile_fn found, void *context)
{
    char path[PATH_MAX];
    const char *colon = memmem(text, length, ": ", 2);
    size_t at = colon ? (size_t)(colon - text) + 2 : length, n = 0;
    while (at < length && text[at] != '\n') { // further rules only say that a file need not exist
        bool continues = text[at] == '\\' && at + 1 < length && text[at + 1] == '\n';
        bool escaped = !continues && at + 1 < length &&
                       ((text[at] == '\\' && strchr(" #\\", text[at + 1])) || (text[at] == '$' && text[at + 1] == '$'));
        if (!continues && (escaped || !strchr(" \t\r", text[at]))) {
            if (n < sizeof path - 1)
                path[n++] = text[at + escaped];
        } else if (n) {
            LAT_TRY(found(context, path, n));
            n = 0;
        }
        at += continues || escaped ? 2 : 1;
    }
    return n ? found(context, path, n) : LAT_OK;
}

// One link of the build.
struct link {
    const char **argv; // with the dependency file and another output
    const char *output, *target, *compiler;
    size_t first; // the first of its uses
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

// The compiler call within a command that writes `output`, and does more than compile; NULL: none.
static const char **find_link(const char **words, const char *output)
{
    while (*words) {
        const char **w = words;
        bool writes = false, compiles = false;
        for (; *w; w++) {
            compiles = compiles || strcmp(*w, "-c") == 0 || strcmp(*w, "-E") == 0 || strcmp(*w, "-S") == 0;
            writes = writes || (strcmp(*w, "-o") == 0 && w[1] && strcmp(w[1], output) == 0);
        }
        if (writes && !compiles)
            return words;
        words = w + 1;
    }
    return NULL;
}

static enum lat_status prepare_link(struct collector *c, const char **words, const char *product, const char *depfile,
                                    struct link *link)
{
    size_t count = 0, n = 0;
    while (words[count])
        count++;
    link->argv = lat_arena_new(&c->e->arena, count + 3, sizeof *link->argv);
    char *option = lat_arena_new(&c->e->arena, strlen(depfile) + 32, 1);
    if (!link->argv || !option)
        return lat_error_memory(c->error, "a link command");
    snprintf(option, strlen(depfile) + 32, "-Wl,--dependency-file=%s", depfile);
    for (size_t i = 0; i < count; i++) {
        if (strncmp(words[i], "-Wl,--dependency-file", 21) == 0 || strncmp(words[i], "-Wl,-Map", 8) == 0)
            continue;
        link->argv[n++] = words[i];
        if (strcmp(words[i], "-o") == 0) {
            link->argv[n++] = product;
            i++;
        }
    }
    link->argv[n] = option;
    link->compiler = words[0];
    const char *slash = strrchr(link->output, '/');
    link->target = slash ? slash + 1 : link->output;
    return LAT_OK;
}

struct reading {
    struct collector *c;
    const struct link *link;
};

static bool is_archive(const char *path) { return ends_with(path, ".a") || ends_with(path, ".o") || ends_with(path, ".lo"); }

static enum lat_status note_read(void *context, const char *path, size_t length)
{
    struct reading *r = context;
    struct lat_evidence_use use = { .target = r->link->target };
    LAT_TRY(keep(r->c, path, length, &use.path));
    use.how = is_archive(use.path) ? LAT_LINK_STATIC : LAT_LINK_OFFERED;
    return add_use(r->c, &use);
}

// Path of `name` from the build folder.
static enum lat_status from_build(struct collector *c, const char *name, char out[PATH_MAX])
{
    int n = name[0] == '/' ? snprintf(out, PATH_MAX, "%s", name) : snprintf(out, PATH_MAX, "%s/%s", c->e->build, name);
    return n < PATH_MAX ? LAT_OK : lat_error_set(c->error, LAT_LIMIT, "%.200s: path too long", name);
}

// Does the shared library at `path` answer to `soname`?
static bool answers(const char *path, const char *soname)
{
    struct lat_elf elf;
    const char *slash = strrchr(path, '/');
    if (strcmp(slash ? slash + 1 : path, soname) == 0)
        return true;
    if (!strstr(path, ".so") || lat_elf_read(&elf, path, NULL) != LAT_OK)
        return false;
    bool same = elf.soname && strcmp(elf.soname, soname) == 0;
    lat_elf_release(&elf);
    return same;
}

// The file behind a DT_NEEDED: among what this link read, else where the compiler would look.
static enum lat_status find_bound(struct collector *c, const struct link *link, const char *soname, const char **out)
{
    char path[PATH_MAX];
    for (size_t i = link->first; i < c->e->count; i++) {
        if (!(c->e->uses[i].how & LAT_LINK_OFFERED))
            continue;
        char real[PATH_MAX];
        LAT_TRY(from_build(c, c->e->uses[i].path, path));
        if (!answers(path, soname))
            continue;
        // The library itself, not the link to it that the linker read: that one comes with the headers.
        const char *library = realpath(path, real) ? real : path;
        return keep(c, library, strlen(library), out);
    }
    char option[300];
    snprintf(option, sizeof option, "-print-file-name=%.250s", soname);
    const char *const argv[] = { link->compiler, option, NULL };
    struct lat_spawn_result result;
    LAT_TRY(run_tool(c, argv, c->e->build, false, &result, link->compiler));
    size_t n = strcspn(result.out.bytes, "\n");
    enum lat_status status = keep(c, result.out.bytes, n, out);
    lat_spawn_result_release(&result);
    return status;
}

static enum lat_status note_bound(struct collector *c, const struct link *link, const char *product)
{
    struct lat_elf elf;
    if (lat_elf_read(&elf, product, NULL) != LAT_OK)
        return LAT_OK; // a relocatable object, a script: nothing is bound
    enum lat_status status = LAT_OK;
    for (size_t i = 0; status == LAT_OK && i < elf.needed_count; i++) {
        struct lat_evidence_use use = { .target = link->target, .how = LAT_LINK_SHARED };
        status = keep(c, elf.needed[i], strlen(elf.needed[i]), &use.soname);
        if (status == LAT_OK)
            status = find_bound(c, link, use.soname, &use.path);
        if (status == LAT_OK)
            status = add_use(c, &use);
    }
    lat_elf_release(&elf);
    return status;
}

static enum lat_status run_link(struct collector *c, struct link *link, const char *product, const char *depfile)
{
    struct lat_spawn_result result;
    struct lat_file_map map;
    char what[200];
    snprintf(what, sizeof what, "linking %.150s again", link->output);
    unlink(depfile);
    link->first = c->e->count;
    LAT_TRY(run_tool(c, link->argv, c->e->build, true, &result, what));
    lat_spawn_result_release(&result);
    if (lat_file_map_open(&map, depfile, NULL) != LAT_OK)
        return lat_error_set(c->error, LAT_UNAVAILABLE, "%s: this linker writes no dependency file (GNU ld 2.35 and lld do)", what);
    struct reading reading = { c, link };
    enum lat_status status = lat_depfile_read((const char *)map.bytes, map.length, note_read, &reading);
    lat_file_map_close(&map);
    c->e->link_count++;
    return status == LAT_OK ? note_bound(c, link, product) : status;
}

static enum lat_status text_member(struct collector *c, const struct lat_json_node *n, const char *key, const char **out)
{
    const struct lat_json_node *v = lat_json_get(n, key);
    if (!v || v->kind != LAT_JSON_STRING)
        return lat_error_set(c->error, LAT_FORMAT, "ninja -t compdb: no text '%s'", key);
    return keep(c, v->u.string, v->count, out);
}

static enum lat_status look_at_edge(struct collector *c, const struct lat_json_node *n, const char *product, const char *depfile)
{
    const char *command = NULL, *output = NULL, **words = NULL;
    struct link link = { 0 };
    LAT_TRY(text_member(c, n, "output", &output));
    if (ends_with(output, ".o") || ends_with(output, ".a"))
        return LAT_OK;
    LAT_TRY(text_member(c, n, "command", &command));
    if (!strstr(command, " -o "))
        return LAT_OK;
    LAT_TRY(lat_command_split(command, &c->e->arena, &words, c->error));
    words = find_link(words, output);
    if (!words)
        return LAT_OK;
    link.output = output;
    LAT_TRY(prepare_link(c, words, product, depfile, &link));
    return run_link(c, &link, product, depfile);
}

static enum lat_status read_links(struct collector *c)
{
    static const char *const argv[] = { "ninja", "-t", "compdb", "-x", NULL };
    struct lat_spawn_result result;
    struct lat_json doc;
    char product[PATH_MAX + 32], depfile[PATH_MAX + 32];
    snprintf(product, sizeof product, "%s/deny-link.tmp", c->options->work);
    snprintf(depfile, sizeof depfile, "%s/deny-link.d", c->options->work);
    LAT_TRY(run_tool(c, argv, c->e->build, false, &result, "ninja -t compdb"));
    enum lat_status status = lat_json_parse(&doc, result.out.bytes, result.out.length, "ninja -t compdb", c->error);
    if (status == LAT_OK) {
        const struct lat_json_node *n = doc.root->kind == LAT_JSON_ARRAY ? doc.root->u.child : NULL;
        for (; status == LAT_OK && n; n = n->next)
            status = look_at_edge(c, n, product, depfile);
        lat_json_release(&doc);
    }
    unlink(product);
    unlink(depfile);
    lat_spawn_result_release(&result);
    return status;
}

static int by_use(const void *a, const void *b)
{
    const struct lat_evidence_use *x = a, *y = b;
    int d = strcmp(x->path, y->path);
    return d ? d : strcmp(x->target, y->target);
}

// Same file and target: one use.
static void merge(struct lat_evidence *e)
{
    size_t kept = 0;
    if (e->count)
        qsort(e->uses, e->count, sizeof *e->uses, by_use);
    for (size_t i = 0; i < e->count; i++) {
        struct lat_evidence_use *last = kept ? &e->uses[kept - 1] : NULL;
        if (!last || by_use(last, &e->uses[i]) != 0) {
            e->uses[kept++] = e->uses[i];
            continue;
        }
        last->how |= e->uses[i].how;
        last->soname = last->soname ? last->soname : e->uses[i].soname;
    }
    e->count = kept;
}

static bool is_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

// Resolves the folders of all paths; drops what the build made itself. What was fetched lies in BUILD/_deps.
static enum lat_status resolve_uses(struct collector *c)
{
    struct lat_evidence *e = c->e;
    size_t kept = 0;
    char path[PATH_MAX], folder[PATH_MAX], fetched[PATH_MAX + 8];
    const char *last = NULL, *last_resolved = NULL;
    snprintf(fetched, sizeof fetched, "%s/_deps", e->build);
    for (size_t i = 0; i < e->count; i++) {
        struct lat_evidence_use use = e->uses[i];
        if (last && strcmp(last, use.path) == 0)
            use.path = last_resolved;
        else if (strchr(use.path, '/') || !(use.how & LAT_LINK_SHARED)) {
            last = use.path;
            LAT_TRY(from_build(c, use.path, path));
            char *slash = strrchr(path, '/');
            *slash = 0;
            if (realpath(path, folder)) {
                *slash = '/';
                size_t n = strlen(folder) == 1 ? 0 : strlen(folder);
                char *full = lat_arena_new(&e->arena, n + strlen(slash) + 1, 1);
                if (!full)
                    return lat_error_memory(c->error, "build evidence");
                memcpy(full, folder, n);
                memcpy(full + n, slash, strlen(slash));
                use.path = full;
            }
            last_resolved = use.path;
        }
        if (!is_below(use.path, e->build) || is_below(use.path, fetched))
            e->uses[kept++] = use;
    }
    e->count = kept;
    merge(e);
    return LAT_OK;
}

static enum lat_status collect(struct collector *c)
{
    LAT_TRY(prepare(c));
    LAT_TRY(read_headers(c));
    LAT_TRY(read_links(c));
    if (c->e->object_count == 0 && c->e->link_count == 0)
        return lat_error_set(c->error, LAT_FAILED, "%s: nothing was compiled or linked there", c->e->build);
    merge(c->e);
    return resolve_uses(c);
}

enum lat_status lat_evidence_collect(struct lat_evidence *evidence, const struct lat_evidence_options *options,
                                     struct lat_error *error)
{
    struct collector c = { evidence, options, error };
    *evidence = (struct lat_evidence){ 0 };
    lat_arena_init(&evidence->arena, (size_t)1 << 30);
    enum lat_status status = collect(&c);
    if (status != LAT_OK)
        lat_evidence_release(evidence);
    return status;
}

void lat_evidence_release(struct lat_evidence *evidence)
{
    lat_mem_free(evidence->uses);
    lat_arena_release(&evidence->arena);
    *evidence = (struct lat_evidence){ 0 };
}
