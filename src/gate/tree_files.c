// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/tree_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/spawn.h"

static enum lat_status add(struct lat_tree_files *f, const char *path, size_t length, enum lat_tree_kind kind,
                           const char *revision, size_t revision_length, struct lat_error *error)
{
    if (f->count == LAT_TREE_FILES_MAX)
        return lat_error_set(error, LAT_LIMIT, "the tree has more than %d files", LAT_TREE_FILES_MAX);
    if (f->count == f->capacity) {
        size_t capacity = f->capacity ? 2 * f->capacity : 256;
        struct lat_tree_entry *grown = lat_mem_grow(f->entries, capacity, sizeof *grown);
        if (!grown)
            return lat_error_memory(error, "a list of files");
        f->entries = grown;
        f->capacity = capacity;
    }
    char *text = lat_arena_new(&f->arena, length + revision_length + 2, 1);
    if (!text)
        return lat_error_memory(error, "a list of files");
    memcpy(text, path, length);
    if (revision_length)
        memcpy(text + length + 1, revision, revision_length);
    f->entries[f->count++] = (struct lat_tree_entry){ text, kind, revision_length ? text + length + 1 : NULL };
    return LAT_OK;
}

static bool is_skipped(const char *path, const char *const *skip)
{
    for (; skip && *skip; skip++) {
        size_t n = strlen(*skip);
        if (n && strncmp(path, *skip, n) == 0 && (path[n] == 0 || path[n] == '/'))
            return true;
    }
    return false;
}

struct walk {
    struct lat_tree_files *files;
    const char *const *skip;
    size_t root_length;
    struct lat_error *error;
};

static enum lat_status walk_folder(struct walk *w, const char *folder, size_t depth);

static enum lat_status walk_entry(struct walk *w, const char *folder, const char *name, size_t depth)
{
    struct stat st;
    char *path = lat_file_path_join(folder, name);
    if (!path)
        return lat_error_memory(w->error, "a list of files");
    enum lat_status status = LAT_OK;
    const char *relative = path + w->root_length + 1;
    if (lstat(path, &st) != 0)
        status = errno == ENOENT ? LAT_OK : lat_error_errno(w->error, errno, "look at", path);
    else if (S_ISDIR(st.st_mode))
        status = is_skipped(path, w->skip) ? LAT_OK : walk_folder(w, path, depth + 1);
    else if (S_ISLNK(st.st_mode) || S_ISREG(st.st_mode))
        status = add(w->files, relative, strlen(relative), S_ISREG(st.st_mode) ? LAT_TREE_FILE : LAT_TREE_LINK, NULL, 0,
                     w->error);
    lat_mem_free(path);
    return status;
}

static enum lat_status walk_folder(struct walk *w, const char *folder, size_t depth)
{
    if (depth > LAT_TREE_DEPTH_MAX)
        return lat_error_set(w->error, LAT_LIMIT, "%s: folders more than %d deep", folder, LAT_TREE_DEPTH_MAX);
    DIR *dir = opendir(folder);
    if (!dir)
        return lat_error_errno(w->error, errno, "list", folder);
    enum lat_status status = LAT_OK;
    for (struct dirent *e; status == LAT_OK && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, ".git") != 0)
            status = walk_entry(w, folder, e->d_name, depth);
    closedir(dir);
    return status;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct lat_tree_entry *)a)->path, ((const struct lat_tree_entry *)b)->path);
}

static void init(struct lat_tree_files *files)
{
    *files = (struct lat_tree_files){ 0 };
    lat_arena_init(&files->arena, (size_t)1 << 28);
}

static enum lat_status finish(struct lat_tree_files *files, enum lat_status status)
{
    if (status != LAT_OK)
        lat_tree_files_release(files);
    else if (files->count)
        qsort(files->entries, files->count, sizeof *files->entries, by_path);
    return status;
}

enum lat_status lat_tree_files_walk(struct lat_tree_files *files, const char *folder, const char *const *skip,
                                    struct lat_error *error)
{
    init(files);
    struct walk w = { files, skip, strlen(folder), error };
    return finish(files, walk_folder(&w, folder, 0));
}

// One of git's lists, NUL between entries. LAT_UNAVAILABLE: git is not there, or this is no work tree.
static enum lat_status git_list(struct lat_spawn_result *result, const char *root, const char *const *arguments,
                                struct lat_error *error)
{
    static const char *const environment[] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
                                               "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1", NULL };
    const char *argv[16] = { "git", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
                             "ls-files", "-z" };
    for (size_t i = 0; arguments[i]; i++)
        argv[8 + i] = arguments[i];
    struct lat_spawn_options options = { .argv = argv, .directory = root, .environment = environment, .seconds_max = 120,
                                         .output_max = (size_t)1 << 27 };
    enum lat_status status = lat_spawn_run(result, &options, error);
    if (status == LAT_NOT_FOUND)
        return LAT_UNAVAILABLE;
    if (status == LAT_OK && (!lat_spawn_ok(result) || result->out_cut)) {
        status = lat_error_set(error, LAT_UNAVAILABLE, "git ls-files: %.*s", (int)strcspn(result->err.bytes, "\n"), result->err.bytes);
        lat_spawn_result_release(result);
    }
    return status;
}

// Adds what is there: an index entry whose file was deleted is no file; a folder is a repository inside this one.
static enum lat_status add_present(struct lat_tree_files *files, const char *root, const char *const *skip,
                                   const char *path, const char *revision, struct lat_error *error)
{
    struct stat st;
    char *full = lat_file_path_join(root, path);
    if (!full)
        return lat_error_memory(error, "a list of files");
    enum lat_status status = LAT_OK;
    bool there = lstat(full, &st) == 0 && !is_skipped(full, skip);
    if (there && revision)
        status = add(files, path, strlen(path), LAT_TREE_SUBMODULE, revision, strcspn(revision, " "), error);
    else if (there && (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)))
        status = add(files, path, strlen(path), S_ISREG(st.st_mode) ? LAT_TREE_FILE : LAT_TREE_LINK, NULL, 0, error);
    else if (there && S_ISDIR(st.st_mode)) {
        struct walk w = { files, skip, strlen(root), error };
        full[strlen(full) - 1] = 0; // git ends it with a slash
        status = walk_folder(&w, full, 0);
    }
    lat_mem_free(full);
    return status;
}

// Rows of `git ls-files -s`: "160000 <object> <stage>\t<path>".
static enum lat_status add_staged(struct lat_tree_files *files, const char *root, const char *const *skip,
                                  const struct lat_buf *rows, struct lat_error *error)
{
    for (const char *row = rows->bytes; row < rows->bytes + rows->length; row += strlen(row) + 1) {
        const char *tab = strchr(row, '\t');
        if (!tab || tab - row < 49)
            return lat_error_set(error, LAT_FORMAT, "git ls-files: a row without its columns");
        bool submodule = strncmp(row, "160000 ", 7) == 0;
        LAT_TRY(add_present(files, root, skip, tab + 1, submodule ? row + 7 : NULL, error));
    }
    return LAT_OK;
}

static enum lat_status list_git(struct lat_tree_files *files, const char *root, const char *const *skip,
                                struct lat_error *error)
{
    static const char *const staged[] = { "--stage", NULL }, *const others[] = { "--others", "--exclude-standard", NULL };
    struct lat_spawn_result result;
    LAT_TRY(git_list(&result, root, staged, error));
    enum lat_status status = add_staged(files, root, skip, &result.out, error);
    lat_spawn_result_release(&result);
    if (status != LAT_OK)
        return status;
    LAT_TRY(git_list(&result, root, others, error));
    const char *end = result.out.bytes + result.out.length;
    for (const char *row = result.out.bytes; status == LAT_OK && row < end; row += strlen(row) + 1)
        status = add_present(files, root, skip, row, NULL, error);
    lat_spawn_result_release(&result);
    return status;
}

enum lat_status lat_tree_files_list(struct lat_tree_files *files, const char *root, const char *const *skip,
                                    struct lat_error *error)
{
    init(files);
    enum lat_status status = list_git(files, root, skip, error);
    if (status == LAT_OK && files->count) {
        files->from_git = true;
        return finish(files, LAT_OK);
    }
    char *git = lat_file_path_join(root, ".git");
    bool broken = status != LAT_OK && (!git || lat_file_exists(git) || lat_file_is_folder(git));
    lat_mem_free(git);
    lat_tree_files_release(files);
    if (broken || (status != LAT_OK && status != LAT_UNAVAILABLE))
        return status;
    return lat_tree_files_walk(files, root, skip, error);
}

void lat_tree_files_release(struct lat_tree_files *files)
{
    lat_mem_free(files->entries);
    lat_arena_release(&files->arena);
    *files = (struct lat_tree_files){ 0 };
}

enum lat_status lat_file_hash(const char *path, char hex[LAT_SHA256_HEX_SIZE], struct lat_error *error)
{
    struct lat_file_map map;
    struct lat_sha256 hash;
    LAT_TRY(lat_file_map_open(&map, path, error));
    lat_sha256_init(&hash);
    lat_sha256_add(&hash, map.bytes, map.length);
    lat_sha256_hex(&hash, hex);
    lat_file_map_close(&map);
    return LAT_OK;
}

// "file", "program" or "link", the digest of its content, its path; each ended by a NUL.
static enum lat_status hash_entry(struct lat_sha256 *tree, const char *folder, const struct lat_tree_entry *e,
                                  struct lat_error *error)
{
    char hex[LAT_SHA256_HEX_SIZE], target[4096];
    struct stat st;
    char *path = lat_file_path_join(folder, e->path);
    if (!path)
        return lat_error_memory(error, "a digest");
    enum lat_status status = LAT_OK;
    const char *kind = "link";
    if (lstat(path, &st) != 0)
        status = lat_error_errno(error, errno, "look at", path);
    else if (e->kind == LAT_TREE_LINK) {
        struct lat_sha256 hash;
        ssize_t n = readlink(path, target, sizeof target);
        lat_sha256_init(&hash);
        lat_sha256_add(&hash, target, n > 0 ? (size_t)n : 0);
        lat_sha256_hex(&hash, hex);
    } else {
        kind = st.st_mode & S_IXUSR ? "program" : "file";
        status = lat_file_hash(path, hex, error);
    }
    if (status == LAT_OK) {
        lat_sha256_add(tree, kind, strlen(kind) + 1);
        lat_sha256_add(tree, hex, strlen(hex) + 1);
        lat_sha256_add(tree, e->path, strlen(e->path) + 1);
    }
    lat_mem_free(path);
    return status;
}

enum lat_status lat_tree_hash(const char *folder, char hex[LAT_SHA256_HEX_SIZE], struct lat_error *error)
{
    struct lat_tree_files files;
    struct lat_sha256 tree;
    LAT_TRY(lat_tree_files_walk(&files, folder, NULL, error));
    lat_sha256_init(&tree);
    enum lat_status status = LAT_OK;
    for (size_t i = 0; status == LAT_OK && i < files.count; i++)
        status = hash_entry(&tree, folder, &files.entries[i], error);
    lat_sha256_hex(&tree, hex);
    lat_tree_files_release(&files);
    return status;
}
