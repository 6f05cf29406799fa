// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A folder of weights: which files, and which tensors of them.
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "tensor/name_table.h"
#include "tensor/safetensors.h"

struct shard {
    char *name; // relative to the folder
    struct lat_st_file *file;
};

struct lat_st_folder {
    char *path;
    struct shard *shards;
    size_t shard_count;
    const struct lat_st_tensor **tensors;
    size_t count;
    struct lat_name_table names;
};

static bool ends_with(const char *text, const char *tail)
{
    size_t a = strlen(text), b = strlen(tail);
    return a >= b && strcmp(text + a - b, tail) == 0;
}

// A shard's name comes from a stranger: only plain names below the folder, so that an index cannot make us open
// other files. (The hub's cache makes its snapshots of symbolic links; those are the user's own, and are followed.)
static bool name_is_plain(const char *name, size_t length)
{
    if (length == 0 || length > 1000 || name[0] == '/' || memchr(name, '\\', length) || memchr(name, 0, length))
        return false;
    for (size_t begin = 0; begin <= length;) {
        const char *slash = begin < length ? memchr(name + begin, '/', length - begin) : NULL;
        size_t end = slash ? (size_t)(slash - name) : length, part = end - begin;
        if (part == 0 || (part == 1 && name[begin] == '.') || (part == 2 && name[begin] == '.' && name[begin + 1] == '.'))
            return false;
        begin = end + 1;
    }
    return true;
}

// Opens the shard of that name if it is not open yet.
static enum lat_status add_shard(struct lat_st_folder *f, const char *name, size_t length, struct lat_st_file **out,
                                 struct lat_error *error)
{
    for (size_t i = 0; i < f->shard_count; i++)
        if (strlen(f->shards[i].name) == length && memcmp(f->shards[i].name, name, length) == 0) {
            *out = f->shards[i].file;
            return LAT_OK;
        }
    struct shard *grown = lat_mem_grow(f->shards, f->shard_count + 1, sizeof *grown);
    if (!grown)
        return lat_error_memory(error, f->path);
    f->shards = grown;
    struct shard *shard = &f->shards[f->shard_count];
    *shard = (struct shard){ .name = lat_mem_copy_text(name, length) };
    char *path = shard->name ? lat_file_path_join(f->path, shard->name) : NULL;
    enum lat_status status = path ? lat_st_open(&shard->file, path, error) : lat_error_memory(error, f->path);
    lat_mem_free(path);
    if (status != LAT_OK) {
        lat_mem_free(shard->name);
        return status;
    }
    f->shard_count++;
    *out = shard->file;
    return LAT_OK;
}

static enum lat_status add_mapped(struct lat_st_folder *f, const struct lat_json_node *entry, const char *index,
                                  struct lat_error *error)
{
    char name[512];
    struct lat_st_file *file = NULL;
    if (entry->kind != LAT_JSON_STRING || entry->key_length >= sizeof name || memchr(entry->key, 0, entry->key_length))
        return lat_error_set(error, LAT_FORMAT, "%s: weight_map has an entry that does not map a name to a file", index);
    if (!name_is_plain(entry->u.string, entry->count))
        return lat_error_set(error, LAT_FORMAT, "%s: weight_map names \"%.*s\", which is not a plain name inside the folder",
                             index, entry->count > 200 ? 200 : (int)entry->count, entry->u.string);
    memcpy(name, entry->key, entry->key_length);
    name[entry->key_length] = '\0';
    LAT_TRY(add_shard(f, entry->u.string, entry->count, &file, error));
    const struct lat_st_tensor *tensor = lat_st_find(file, name);
    if (!tensor)
        return lat_error_set(error, LAT_NOT_FOUND, "%s: tensor %s is not in %.*s", index, name, (int)entry->count,
                             entry->u.string);
    f->tensors[f->count++] = tensor;
    return LAT_OK;
}

static enum lat_status open_index_map(struct lat_st_folder *f, const struct lat_json_node *map, const char *index,
                                      struct lat_error *error)
{
    if (!map || map->kind != LAT_JSON_OBJECT)
        return lat_error_set(error, LAT_FORMAT, "%s: weight_map is not an object", index);
    f->tensors = lat_mem_new(map->count, sizeof *f->tensors);
    if (!f->tensors)
        return lat_error_memory(error, index);
    for (const struct lat_json_node *n = map->u.child; n; n = n->next)
        LAT_TRY(add_mapped(f, n, index, error));
    return LAT_OK;
}

static enum lat_status open_index(struct lat_st_folder *f, const char *index, struct lat_error *error)
{
    struct lat_file_map map;
    struct lat_json doc;
    LAT_TRY(lat_file_map_open(&map, index, error));
    enum lat_status status = lat_json_parse(&doc, (const char *)map.bytes, map.length, index, error);
    if (status == LAT_OK) {
        status = open_index_map(f, lat_json_get(doc.root, "weight_map"), index, error);
        lat_json_release(&doc);
    }
    lat_file_map_close(&map);
    return status;
}

static enum lat_status open_single(struct lat_st_folder *f, const char *name, struct lat_error *error)
{
    struct lat_st_file *file = NULL;
    LAT_TRY(add_shard(f, name, strlen(name), &file, error));
    f->tensors = lat_mem_new(lat_st_count(file), sizeof *f->tensors);
    if (!f->tensors)
        return lat_error_memory(error, f->path);
    for (size_t i = 0; i < lat_st_count(file); i++)
        f->tensors[f->count++] = lat_st_at(file, i);
    return LAT_OK;
}

struct listing {
    char single[256]; // the name of a *.safetensors file
    size_t found;
    bool pickle;
};

static enum lat_status list_folder(const char *path, struct listing *out, struct lat_error *error)
{
    DIR *dir = opendir(path);
    if (!dir)
        return lat_error_errno(error, errno, "list", path);
    for (struct dirent *e; (e = readdir(dir));) {
        if (ends_with(e->d_name, ".safetensors") && !strstr(e->d_name, ".partial-")) {
            out->found++;
            size_t length = strlen(e->d_name);
            if (length < sizeof out->single)
                memcpy(out->single, e->d_name, length + 1);
        }
        out->pickle = out->pickle || ends_with(e->d_name, ".bin") || ends_with(e->d_name, ".pt") || ends_with(e->d_name, ".pth");
    }
    closedir(dir);
    return LAT_OK;
}

// The only *.safetensors of the folder, or why there is no such thing.
static enum lat_status open_only(struct lat_st_folder *f, struct lat_error *error)
{
    struct listing list = { 0 };
    LAT_TRY(list_folder(f->path, &list, error));
    if (list.found == 1)
        return open_single(f, list.single, error);
    if (list.found > 1)
        return lat_error_set(error, LAT_FORMAT, "%s: %zu safetensors files but no model.safetensors.index.json", f->path,
                             list.found);
    if (list.pickle)
        return lat_error_set(error, LAT_UNSUPPORTED,
                             "%s: only pickle weights, which can run code when loaded and are refused; convert them with "
                             "transformers: AutoModelForCausalLM.from_pretrained(folder).save_pretrained(new_folder)",
                             f->path);
    return lat_error_set(error, LAT_NOT_FOUND, "%s: no safetensors file", f->path);
}

static enum lat_status open_parts(struct lat_st_folder *f, struct lat_error *error)
{
    char *index = lat_file_path_join(f->path, "model.safetensors.index.json");
    char *single = lat_file_path_join(f->path, "model.safetensors");
    enum lat_status status;
    if (!index || !single)
        status = lat_error_memory(error, f->path);
    else if (lat_file_exists(index))
        status = open_index(f, index, error);
    else if (lat_file_exists(single))
        status = open_single(f, "model.safetensors", error);
    else
        status = open_only(f, error);
    lat_mem_free(index);
    lat_mem_free(single);
    return status;
}

enum lat_status lat_st_folder_open(struct lat_st_folder **out, const char *folder, struct lat_error *error)
{
    *out = NULL;
    struct lat_st_folder *f = lat_mem_new(1, sizeof *f);
    if (!f)
        return lat_error_memory(error, folder);
    f->path = lat_mem_copy_text(folder, strlen(folder));
    enum lat_status status = f->path ? open_parts(f, error) : lat_error_memory(error, folder);
    if (status == LAT_OK && !lat_name_table_init(&f->names, f->count))
        status = lat_error_memory(error, folder);
    for (size_t i = 0; status == LAT_OK && i < f->count; i++)
        if (!lat_name_table_add(&f->names, f->tensors[i]))
            status = lat_error_set(error, LAT_FORMAT, "%s: tensor %s stands twice", folder, f->tensors[i]->name);
    if (status != LAT_OK) {
        lat_st_folder_close(f);
        return status;
    }
    *out = f;
    return LAT_OK;
}

void lat_st_folder_close(struct lat_st_folder *folder)
{
    if (!folder)
        return;
    lat_name_table_release(&folder->names);
    for (size_t i = 0; i < folder->shard_count; i++) {
        lat_st_close(folder->shards[i].file);
        lat_mem_free(folder->shards[i].name);
    }
    lat_mem_free(folder->shards);
    lat_mem_free(folder->tensors);
    lat_mem_free(folder->path);
    lat_mem_free(folder);
}

size_t lat_st_folder_count(const struct lat_st_folder *folder) { return folder->count; }
const struct lat_st_tensor *lat_st_folder_at(const struct lat_st_folder *folder, size_t index)
{
    return folder->tensors[index];
}
const struct lat_st_tensor *lat_st_folder_find(const struct lat_st_folder *folder, const char *name)
{
    return lat_name_table_find(&folder->names, name);
}
size_t lat_st_folder_files(const struct lat_st_folder *folder) { return folder->shard_count; }
const char *lat_st_folder_file_name(const struct lat_st_folder *folder, size_t index)
{
    return folder->shards[index].name;
}
