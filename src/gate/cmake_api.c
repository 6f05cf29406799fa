// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/cmake_api.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"

enum { PATH_SIZE = 4400, ITEMS_MAX = 1 << 20, FILE_MAX = 256 << 20, ARGUMENTS_MAX = 512 };
static const char reply_folder[] = ".cmake/api/v1/reply";

struct reader {
    struct lat_cmake *c;
    char folder[PATH_SIZE]; // of the reply
    struct lat_error *error;
};

static enum lat_status make_folders(char *path, struct lat_error *error)
{
    for (char *at = path + 1;; at++) {
        if (*at && *at != '/')
            continue;
        char kept = *at;
        *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return lat_error_errno(error, errno, "make", path);
        *at = kept;
        if (!kept)
            return LAT_OK;
    }
}

enum lat_status lat_cmake_query(const char *build, struct lat_error *error)
{
    static const char query[] = "{\"requests\":[{\"kind\":\"codemodel\",\"version\":2},{\"kind\":\"cache\",\"version\":2},"
                                "{\"kind\":\"cmakeFiles\",\"version\":1},{\"kind\":\"toolchains\",\"version\":1}]}\n";
    char path[PATH_SIZE];
    struct lat_file_out out;
    if (snprintf(path, sizeof path - 16, "%s/.cmake/api/v1/query/client-lattice-gate", build) >= (int)sizeof path - 16)
        return lat_error_set(error, LAT_LIMIT, "%.80s...: a path that is too long", build);
    LAT_TRY(make_folders(path, error));
    strncat(path, "/query.json", 12);
    LAT_TRY(lat_file_out_open(&out, path, error));
    enum lat_status status = lat_file_out_write(&out, 0, query, sizeof query - 1, error);
    if (status == LAT_OK)
        return lat_file_out_commit(&out, error);
    lat_file_out_abort(&out);
    return status;
}

static enum lat_status load(struct reader *r, const char *name, json_t **out)
{
    char path[PATH_SIZE + 300];
    struct lat_file_map map;
    json_error_t why;
    if (strchr(name, '/') || strlen(name) > 255)
        return lat_error_set(r->error, LAT_FORMAT, "%.200s: names a reply outside its folder", r->folder);
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    LAT_TRY(lat_file_map_open(&map, path, r->error));
    *out = map.length > FILE_MAX ? NULL : json_loadb((const char *)map.bytes, map.length, JSON_REJECT_DUPLICATES, &why);
    enum lat_status status = LAT_OK;
    if (!*out)
        status = lat_error_set(r->error, LAT_FORMAT, "%.300s:%d:%d: %.160s", path, map.length > FILE_MAX ? 0 : why.line,
                               map.length > FILE_MAX ? 0 : why.column, map.length > FILE_MAX ? "too large" : why.text);
    lat_file_map_close(&map);
    return status;
}

static enum lat_status wrong(struct reader *r, const char *what)
{
    return lat_error_set(r->error, LAT_FORMAT, "%.300s: not a reply as CMake writes it: %s", r->folder, what);
}

static enum lat_status copy_text(struct reader *r, const char *text, const char **out)
{
    size_t size = strlen(text) + 1;
    char *copy = lat_arena_new(&r->c->arena, size, 1);
    *out = copy ? memcpy(copy, text, size) : NULL;
    return copy ? LAT_OK : lat_error_memory(r->error, "CMake's reply");
}

// A member that is a text; `absent` when it is not there, or an error when that is NULL.
static enum lat_status text_of(struct reader *r, const json_t *object, const char *key, const char *absent, const char **out)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text && !absent)
        return wrong(r, key);
    return copy_text(r, text ? text : absent, out);
}

static enum lat_status new_items(struct reader *r, size_t count, size_t size, void *out)
{
    void *items = count > ITEMS_MAX ? NULL : lat_arena_new(&r->c->arena, count + 1, size);
    memcpy(out, &items, sizeof items);
    return items ? LAT_OK : lat_error_memory(r->error, "CMake's reply");
}

// The texts of an array: its elements, or the member `key` of each.
static enum lat_status texts_of(struct reader *r, const json_t *array, const char *key, struct lat_text_list *out)
{
    const char **items = NULL;
    size_t count = json_array_size(array);
    LAT_TRY(new_items(r, count, sizeof *items, &items));
    for (size_t i = 0; i < count; i++) {
        const json_t *element = json_array_get(array, i);
        const char *text = json_string_value(key ? json_object_get(element, key) : element);
        if (!text)
            return wrong(r, key ? key : "a text in a list");
        LAT_TRY(copy_text(r, text, &items[i]));
    }
    *out = (struct lat_text_list){ items, count };
    return LAT_OK;
}

static enum lat_status read_groups(struct reader *r, struct lat_cmake_target *t, const json_t *root)
{
    const json_t *list = json_object_get(root, "compileGroups");
    t->group_count = json_array_size(list);
    LAT_TRY(new_items(r, t->group_count, sizeof *t->groups, &t->groups));
    for (size_t i = 0; i < t->group_count; i++) {
        const json_t *g = json_array_get(list, i);
        LAT_TRY(text_of(r, g, "language", NULL, &t->groups[i].language));
        LAT_TRY(texts_of(r, json_object_get(g, "compileCommandFragments"), "fragment", &t->groups[i].flags));
        LAT_TRY(texts_of(r, json_object_get(g, "defines"), "define", &t->groups[i].defines));
        LAT_TRY(texts_of(r, json_object_get(g, "includes"), "path", &t->groups[i].includes));
    }
    return LAT_OK;
}

static enum lat_status read_sources(struct reader *r, struct lat_cmake_target *t, const json_t *root)
{
    const json_t *list = json_object_get(root, "sources");
    t->source_count = json_array_size(list);
    LAT_TRY(new_items(r, t->source_count, sizeof *t->sources, &t->sources));
    for (size_t i = 0; i < t->source_count; i++) {
        const json_t *s = json_array_get(list, i), *group = json_object_get(s, "compileGroupIndex");
        LAT_TRY(text_of(r, s, "path", NULL, &t->sources[i].path));
        t->sources[i].generated = json_is_true(json_object_get(s, "isGenerated"));
        if (!group)
            continue;
        json_int_t at = json_integer_value(group);
        if (at < 0 || (size_t)at >= t->group_count)
            return wrong(r, "compileGroupIndex");
        t->sources[i].group = &t->groups[at];
    }
    return LAT_OK;
}

static enum lat_status read_target(struct reader *r, struct lat_cmake_target *t, const json_t *root)
{
    const json_t *link = json_object_get(json_object_get(root, "link"), "commandFragments");
    LAT_TRY(text_of(r, root, "name", NULL, &t->name));
    LAT_TRY(text_of(r, root, "type", NULL, &t->type));
    LAT_TRY(text_of(r, json_object_get(root, "paths"), "build", ".", &t->folder));
    LAT_TRY(texts_of(r, json_object_get(root, "artifacts"), "path", &t->artifacts));
    LAT_TRY(texts_of(r, link, "fragment", &t->link));
    LAT_TRY(texts_of(r, link, "role", &t->link_roles));
    LAT_TRY(read_groups(r, t, root));
    return read_sources(r, t, root);
}

static enum lat_status read_codemodel(struct reader *r, const json_t *root)
{
    const json_t *paths = json_object_get(root, "paths");
    const json_t *list = json_object_get(json_array_get(json_object_get(root, "configurations"), 0), "targets");
    LAT_TRY(text_of(r, paths, "source", NULL, &r->c->source));
    LAT_TRY(text_of(r, paths, "build", NULL, &r->c->build));
    LAT_TRY(new_items(r, json_array_size(list), sizeof *r->c->targets, &r->c->targets));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *file = json_string_value(json_object_get(json_array_get(list, i), "jsonFile"));
        json_t *target = NULL;
        if (!file)
            return wrong(r, "jsonFile");
        LAT_TRY(load(r, file, &target));
        enum lat_status status = read_target(r, &r->c->targets[r->c->target_count], target);
        json_decref(target);
        LAT_TRY(status);
        r->c->target_count++;
    }
    return LAT_OK;
}

// "a;b;c"
static enum lat_status read_strings(struct reader *r, const char *text, struct lat_text_list *out)
{
    const char **items = NULL;
    char *copy = NULL;
    size_t count = 1;
    for (const char *at = text; *at; at++)
        count += *at == ';';
    LAT_TRY(new_items(r, count, sizeof *items, &items));
    LAT_TRY(new_items(r, strlen(text) + 1, 1, &copy));
    memcpy(copy, text, strlen(text));
    for (size_t i = 0; i < count; i++) {
        items[i] = copy;
        copy = strchr(copy, ';');
        if (copy)
            *copy++ = '\0';
    }
    *out = (struct lat_text_list){ items, count };
    return LAT_OK;
}

static enum lat_status read_cache(struct reader *r, const json_t *root)
{
    const json_t *list = json_object_get(root, "entries");
    LAT_TRY(new_items(r, json_array_size(list), sizeof *r->c->cache, &r->c->cache));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *e = json_array_get(list, i), *properties = json_object_get(e, "properties");
        struct lat_cmake_entry *to = &r->c->cache[r->c->cache_count++];
        LAT_TRY(text_of(r, e, "name", NULL, &to->name));
        LAT_TRY(text_of(r, e, "type", NULL, &to->type));
        LAT_TRY(text_of(r, e, "value", "", &to->value));
        to->help = "";
        for (size_t k = 0; k < json_array_size(properties); k++) {
            const json_t *p = json_array_get(properties, k);
            const char *name = json_string_value(json_object_get(p, "name")), *value = json_string_value(json_object_get(p, "value"));
            if (!name || !value)
                return wrong(r, "properties");
            if (strcmp(name, "HELPSTRING") == 0)
                LAT_TRY(copy_text(r, value, &to->help));
            else if (strcmp(name, "ADVANCED") == 0)
                to->advanced = strcmp(value, "1") == 0;
            else if (strcmp(name, "STRINGS") == 0)
                LAT_TRY(read_strings(r, value, &to->strings));
        }
    }
    return LAT_OK;
}

static enum lat_status read_files(struct reader *r, const json_t *root)
{
    const json_t *list = json_object_get(root, "inputs");
    LAT_TRY(new_items(r, json_array_size(list), sizeof *r->c->inputs, &r->c->inputs));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *e = json_array_get(list, i);
        struct lat_cmake_input *to = &r->c->inputs[r->c->input_count++];
        LAT_TRY(text_of(r, e, "path", NULL, &to->path));
        to->generated = json_is_true(json_object_get(e, "isGenerated"));
        to->external = json_is_true(json_object_get(e, "isExternal"));
        to->of_cmake = json_is_true(json_object_get(e, "isCMake"));
    }
    return LAT_OK;
}

static enum lat_status read_toolchains(struct reader *r, const json_t *root)
{
    const json_t *list = json_object_get(root, "toolchains");
    LAT_TRY(new_items(r, json_array_size(list), sizeof *r->c->compilers, &r->c->compilers));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *e = json_array_get(list, i), *c = json_object_get(e, "compiler");
        struct lat_cmake_compiler *to = &r->c->compilers[r->c->compiler_count++];
        LAT_TRY(text_of(r, e, "language", NULL, &to->language));
        LAT_TRY(text_of(r, c, "path", "", &to->path));
        LAT_TRY(text_of(r, c, "id", "", &to->id));
        LAT_TRY(text_of(r, c, "version", "", &to->version));
    }
    return LAT_OK;
}

static enum lat_status read_object(struct reader *r, const json_t *object)
{
    static const struct {
        const char *kind;
        enum lat_status (*read)(struct reader *r, const json_t *root);
    } kinds[] = { { "codemodel", read_codemodel }, { "cache", read_cache }, { "cmakeFiles", read_files }, { "toolchains",
                                                                      read_toolchains } };
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const char *file = json_string_value(json_object_get(object, "jsonFile"));
    for (size_t i = 0; kind && file && i < sizeof kinds / sizeof kinds[0]; i++) {
        json_t *root = NULL;
        if (strcmp(kind, kinds[i].kind) != 0)
            continue;
        LAT_TRY(load(r, file, &root));
        enum lat_status status = kinds[i].read(r, root);
        json_decref(root);
        return status;
    }
    return LAT_OK;
}

static enum lat_status read_index(struct reader *r, const json_t *root)
{
    const json_t *cmake = json_object_get(root, "cmake"), *objects = json_object_get(root, "objects");
    LAT_TRY(text_of(r, json_object_get(cmake, "version"), "string", NULL, &r->c->version));
    LAT_TRY(text_of(r, json_object_get(cmake, "generator"), "name", NULL, &r->c->generator));
    for (size_t i = 0; i < json_array_size(objects); i++)
        LAT_TRY(read_object(r, json_array_get(objects, i)));
    return r->c->source && r->c->cache ? LAT_OK : wrong(r, "no codemodel, or no cache");
}

// The index is the newest: names hold the time.
static enum lat_status find_index(struct reader *r, char name[256])
{
    DIR *folder = opendir(r->folder);
    name[0] = '\0';
    if (!folder)
        return lat_error_set(r->error, LAT_NOT_FOUND, "%.300s: CMake has left no reply here", r->folder);
    for (struct dirent *e; (e = readdir(folder));)
        if (strncmp(e->d_name, "index-", 6) == 0 && strcmp(e->d_name, name) > 0)
            snprintf(name, 256, "%s", e->d_name);
    closedir(folder);
    return *name ? LAT_OK : lat_error_set(r->error, LAT_NOT_FOUND, "%.300s: CMake has left no reply here", r->folder);
}

enum lat_status lat_cmake_read(struct lat_cmake *cmake, const char *build, struct lat_error *error)
{
    struct reader r = { .c = cmake, .error = error };
    char name[256];
    json_t *root = NULL;
    *cmake = (struct lat_cmake){ 0 };
    lat_arena_init(&cmake->arena, (size_t)1 << 30);
    if (snprintf(r.folder, sizeof r.folder, "%s/%s", build, reply_folder) >= (int)sizeof r.folder)
        return lat_error_set(error, LAT_LIMIT, "%.80s...: a path that is too long", build);
    LAT_TRY(find_index(&r, name));
    LAT_TRY(load(&r, name, &root));
    enum lat_status status = read_index(&r, root);
    json_decref(root);
    if (status != LAT_OK)
        lat_cmake_release(cmake);
    return status;
}

void lat_cmake_release(struct lat_cmake *cmake)
{
    lat_arena_release(&cmake->arena);
    *cmake = (struct lat_cmake){ 0 };
}

const struct lat_cmake_entry *lat_cmake_entry_find(const struct lat_cmake *cmake, const char *name)
{
    for (size_t i = 0; i < cmake->cache_count; i++)
        if (strcmp(cmake->cache[i].name, name) == 0)
            return &cmake->cache[i];
    return NULL;
}

const struct lat_cmake_target *lat_cmake_target_find(const struct lat_cmake *cmake, const char *name)
{
    for (size_t i = 0; i < cmake->target_count; i++)
        if (strcmp(cmake->targets[i].name, name) == 0)
            return &cmake->targets[i];
    return NULL;
}

bool lat_cmake_is_option(const struct lat_cmake_entry *e)
{
    static const char *const own[] = { "CMAKE_", "FETCHCONTENT_", "CPACK_", "CTEST_", "DART_", "_" };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strncmp(e->name, own[i], strlen(own[i])) == 0)
            return false;
    return !e->advanced && (strcmp(e->type, "BOOL") == 0 || (strcmp(e->type, "STRING") == 0 && e->strings.count > 0));
}

// Facts of the toolchain that a second configuration need not find out again: nothing that a project's files decide.
static bool is_toolchain_fact(const char *line, size_t length)
{
    static const char *const prefixes[] = { "CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_ASM_COMPILER", "CMAKE_GENERATOR",
                                            "CMAKE_CACHE" };
    static const char *const names[] = { "AR", "RANLIB", "NM", "LINKER", "MAKE_PROGRAM", "STRIP", "OBJCOPY", "OBJDUMP", "READELF",
        "ADDR2LINE", "DLLTOOL", "TAPI", "HOME_DIRECTORY", "COMMAND", "CPACK_COMMAND", "CTEST_COMMAND", "ROOT", "EXECUTABLE_FORMAT",
        "PLATFORM_INFO_INITIALIZED" };
    size_t name = 0;
    while (name < length && line[name] != ':')
        name++;
    if (name > 9 && memcmp(line + name - 9, "-ADVANCED", 9) == 0)
        name -= 9;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (name >= strlen(prefixes[i]) && memcmp(line, prefixes[i], strlen(prefixes[i])) == 0)
            return !memmem(line, name, "LAUNCHER", 8);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (name == strlen(names[i]) + 6 && memcmp(line, "CMAKE_", 6) == 0 && memcmp(line + 6, names[i], name - 6) == 0)
            return true;
    return false;
}

static enum lat_status forget_cache(const char *build, struct lat_error *error)
{
    char path[PATH_SIZE];
    struct lat_file_map map;
    struct lat_file_out out;
    struct lat_buf kept;
    if (snprintf(path, sizeof path, "%s/CMakeCache.txt", build) >= (int)sizeof path || !lat_file_exists(path))
        return LAT_OK;
    LAT_TRY(lat_file_map_open(&map, path, error));
    lat_buf_init(&kept, 16 << 20);
    for (const char *at = (const char *)map.bytes, *end = at + map.length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (is_toolchain_fact(at, length)) {
            lat_buf_add(&kept, at, length);
            lat_buf_add_char(&kept, '\n');
        }
        at += length + 1;
    }
    lat_file_map_close(&map);
    enum lat_status status = kept.failed ? lat_error_memory(error, "CMake's cache") : lat_file_out_open(&out, path, error);
    if (status == LAT_OK) {
        status = lat_file_out_write(&out, 0, kept.bytes, kept.length, error);
        if (status == LAT_OK)
            status = lat_file_out_commit(&out, error);
        else
            lat_file_out_abort(&out);
    }
    lat_buf_release(&kept);
    return status;
}

enum lat_status lat_cmake_configure(struct lat_spawn_result *result, const struct lat_cmake_run *run, struct lat_error *error)
{
    const char *argv[ARGUMENTS_MAX] = { "cmake", "-G", "Ninja", "-S", run->source, "-B", run->build };
    // A preset or a user's wishes must not change what is proven.
    static const char *const environment[] = { "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_GENERATOR", "CMAKE_BUILD_TYPE", NULL };
    size_t count = 7;
    LAT_TRY(lat_cmake_query(run->build, error));
    for (size_t i = 0; run->arguments && run->arguments[i]; i++) {
        if (count == ARGUMENTS_MAX - 1)
            return lat_error_set(error, LAT_LIMIT, "more than %d arguments for CMake", ARGUMENTS_MAX);
        argv[count++] = run->arguments[i];
    }
    if (run->fresh)
        LAT_TRY(forget_cache(run->build, error));
    struct lat_spawn_options options = { .argv = argv, .environment = environment, .seconds_max = run->seconds_max, .merge = true };
    return lat_spawn_run(result, &options, error);
}
