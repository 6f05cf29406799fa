// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The id of the tree that is judged. With git: what `git write-tree` would say had everything been added, through an index
// and an object store of our own, so that the user's are not touched. Without: a digest over all files.
#define _XOPEN_SOURCE 700
#include "gate/plan.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/spawn.h"
#include "gate/tree_files.h"

enum { ARGUMENTS_MAX = 16, PATH_MAX_BYTES = 4096 };

struct git_tree {
    const char *root;
    char folder[PATH_MAX_BYTES]; // ours: index and objects
    char index[PATH_MAX_BYTES + 40], objects[PATH_MAX_BYTES + 60], alternates[2 * PATH_MAX_BYTES];
    bool own; // use them
};

static enum lat_status git(const struct git_tree *g, const char *const *arguments, struct lat_spawn_result *result,
                           struct lat_error *error)
{
    const char *argv[ARGUMENTS_MAX] = { "git", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
                                        "-c", "core.untrackedCache=false" };
    const char *environment[] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_COMMON_DIR",
                                  "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
                                  g->own ? g->index : "GIT_INDEX_FILE", g->own ? g->objects : "GIT_OBJECT_DIRECTORY",
                                  g->own ? g->alternates : "GIT_ALTERNATE_OBJECT_DIRECTORIES", NULL };
    size_t count = 8;
    for (; *arguments; arguments++) {
        LAT_BUG_IF(count + 1 >= ARGUMENTS_MAX);
        argv[count++] = *arguments;
    }
    struct lat_spawn_options options = { .argv = argv, .directory = g->root, .environment = environment, .seconds_max = 300,
                                         .output_max = 1 << 20 };
    return lat_spawn_run(result, &options, error);
}

// The one line that git answers, in `out`; LAT_UNAVAILABLE when it fails.
static enum lat_status ask(const struct git_tree *g, const char *const *arguments, char *out, size_t size, struct lat_error *error)
{
    struct lat_spawn_result r;
    enum lat_status status = git(g, arguments, &r, error);
    if (status != LAT_OK)
        return status;
    size_t length = r.out.length;
    if (length > 0 && r.out.bytes[length - 1] == '\n')
        length--;
    if (!lat_spawn_ok(&r) || r.out_cut)
        status = lat_error_set(error, LAT_UNAVAILABLE, "git %s: %.*s", arguments[0], (int)strcspn(r.err.bytes, "\n"), r.err.bytes);
    else if (length >= size || memchr(r.out.bytes, '\n', length))
        status = lat_error_set(error, LAT_LIMIT, "git %s: an answer that is too long", arguments[0]);
    else {
        memcpy(out, r.out.bytes, length);
        out[length] = 0;
    }
    lat_spawn_result_release(&r);
    return status;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static enum lat_status make_folder(struct git_tree *g, struct lat_error *error)
{
    const char *base = getenv("TMPDIR");
    char store[PATH_MAX_BYTES], objects[PATH_MAX_BYTES + 20];
    LAT_TRY(ask(g, (const char *const[]){ "rev-parse", "--git-path", "objects", NULL }, store, sizeof store, error));
    int need = snprintf(g->folder, sizeof g->folder, "%s/lattice-gate-tree-XXXXXX", base && *base == '/' ? base : "/tmp");
    if (need >= (int)sizeof g->folder) {
        g->folder[0] = 0;
        return lat_error_set(error, LAT_LIMIT, "TMPDIR is too long a path");
    }
    if (!mkdtemp(g->folder)) {
        enum lat_status status = lat_error_errno(error, errno, "make", g->folder);
        g->folder[0] = 0;
        return status;
    }
    snprintf(objects, sizeof objects, "%s/objects", g->folder);
    if (mkdir(objects, 0700) != 0)
        return lat_error_errno(error, errno, "make", objects);
    snprintf(g->index, sizeof g->index, "GIT_INDEX_FILE=%s/index", g->folder);
    snprintf(g->objects, sizeof g->objects, "GIT_OBJECT_DIRECTORY=%s", objects);
    // git's answer may be relative to the root; a quoted path is one with a byte that separates paths in this variable.
    bool relative = store[0] != '/';
    if (strpbrk(store, ":\"\\") || (relative && strpbrk(g->root, ":\"\\")))
        return lat_error_set(error, LAT_UNAVAILABLE, "%s: a repository whose path holds one of : \" \\", g->root);
    need = snprintf(g->alternates, sizeof g->alternates, "GIT_ALTERNATE_OBJECT_DIRECTORIES=%s%s%s", relative ? g->root : "",
                    relative ? "/" : "", store);
    if (need >= (int)sizeof g->alternates)
        return lat_error_set(error, LAT_LIMIT, "%.100s: too long a path", store);
    g->own = true;
    return LAT_OK;
}

static enum lat_status write_tree(struct git_tree *g, const char *prefix, char out[72], struct lat_error *error)
{
    char head[80], option[PATH_MAX_BYTES + 20], nothing[2];
    struct lat_error none = { 0 };
    LAT_TRY(make_folder(g, error));
    // Known files first: one that .gitignore names stays in the tree when it is tracked.
    if (ask(g, (const char *const[]){ "rev-parse", "--verify", "-q", "HEAD^{tree}", NULL }, head, sizeof head, &none) == LAT_OK)
        LAT_TRY(ask(g, (const char *const[]){ "read-tree", head, NULL }, nothing, sizeof nothing, error));
    LAT_TRY(ask(g, (const char *const[]){ "add", "-A", "--", ".", NULL }, nothing, sizeof nothing, error));
    snprintf(option, sizeof option, "--prefix=%s", prefix);
    return ask(g, (const char *const[]){ "write-tree", *prefix ? option : NULL, NULL }, out, 72, error);
}

static enum lat_status hash_entry(struct lat_sha256 *hash, const char *root, const struct lat_tree_entry *entry,
                                  struct lat_error *error)
{
    char text[PATH_MAX_BYTES] = "", kind = (char)('0' + (int)entry->kind);
    struct stat info;
    char *path = lat_file_path_join(root, entry->path);
    enum lat_status status = path ? LAT_OK : lat_error_memory(error, "the tree");
    if (path && entry->kind == LAT_TREE_FILE) {
        status = lat_file_hash(path, text, error);
        if (stat(path, &info) == 0 && (info.st_mode & S_IXUSR))
            kind = 'x';
    } else if (path && entry->kind == LAT_TREE_LINK && readlink(path, text, sizeof text - 1) < 0)
        status = lat_error_errno(error, errno, "read", path);
    lat_mem_free(path);
    LAT_TRY(status);
    lat_sha256_add(hash, entry->path, strlen(entry->path) + 1);
    lat_sha256_add(hash, &kind, 1);
    lat_sha256_add(hash, text, strlen(text) + 1);
    if (entry->revision)
        lat_sha256_add(hash, entry->revision, strlen(entry->revision));
    return LAT_OK;
}

static enum lat_status digest_files(const char *root, char out[72], struct lat_error *error)
{
    struct lat_tree_files files;
    struct lat_sha256 hash;
    char hex[LAT_SHA256_HEX_SIZE], *work = lat_file_path_join(root, ".gate");
    if (!work)
        return lat_error_memory(error, "the tree");
    const char *skip[] = { work, NULL };
    enum lat_status status = lat_tree_files_list(&files, root, skip, error);
    lat_mem_free(work);
    LAT_TRY(status);
    lat_sha256_init(&hash);
    for (size_t i = 0; i < files.count && status == LAT_OK; i++)
        status = hash_entry(&hash, root, &files.entries[i], error);
    lat_sha256_hex(&hash, hex);
    snprintf(out, 72, "files:%s", hex);
    lat_tree_files_release(&files);
    return status;
}

enum lat_status lat_plan_tree(const char *root, char out[72], struct lat_error *error)
{
    struct git_tree *g = lat_mem_new(1, sizeof *g);
    struct lat_error none = { 0 };
    char prefix[PATH_MAX_BYTES];
    if (!g)
        return lat_error_memory(error, "the tree");
    g->root = root;
    enum lat_status status = ask(g, (const char *const[]){ "rev-parse", "--show-prefix", NULL }, prefix, sizeof prefix, &none);
    if (status == LAT_OK) {
        status = write_tree(g, prefix, out, error);
        if (g->folder[0])
            nftw(g->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    } else if (status == LAT_CANCELLED)
        status = lat_error_set(error, status, "%s", none.text);
    else
        status = digest_files(root, out, error); // no git, or no repository
    lat_mem_free(g);
    return status;
}
