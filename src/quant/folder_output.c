// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "quant/folder_output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/buf.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"

#define SHARD_BYTES_MAX ((uint64_t)4 << 30)

struct slot {
    struct lat_st_spec spec;
    uint64_t bytes;
    size_t shard, place; // place: its number inside the shard
};

struct lat_output {
    const char *in;
    char *out, *partial;
    bool begun, replace;
    bool sidecar; // quarot.safetensors is written
    struct slot *slots;
    size_t count, capacity, shards;
    uint64_t bytes;
    struct lat_st_writer **writers; // [shards]
    struct lat_arena names;
};

// Removes a folder of plain files; never what a link points at.
static void remove_folder(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    if (descriptor >= 0 && !dir)
        close(descriptor);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(path);
}

// Only what looks like a model folder of ours or a hub's may be replaced.
static bool may_replace(const char *path)
{
    struct stat st;
    DIR *dir = opendir(path);
    bool model = dir && fstatat(dirfd(dir), "config.json", &st, 0) == 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0
            && (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(st.st_mode)))
            model = false;
    }
    if (dir)
        closedir(dir);
    return model;
}

// What a killed run has left behind: OUT.partial-PID of a process that is no more.
static enum lat_status remove_leftovers(const char *out, struct lat_error *error)
{
    char *parent = lat_mem_copy_text(out, strlen(out));
    char *slash = parent ? strrchr(parent, '/') : NULL;
    const char *base = slash ? slash + 1 : out, *folder = slash == parent && slash ? "/" : slash ? parent : ".";
    if (slash)
        *slash = '\0';
    char prefix[300];
    int length = snprintf(prefix, sizeof prefix, "%s.partial-", base);
    DIR *dir = parent && length < (int)sizeof prefix ? opendir(folder) : NULL;
    enum lat_status status = parent ? LAT_OK : lat_error_memory(error, "a path");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        long pid = strncmp(e->d_name, prefix, (size_t)length) == 0 ? strtol(e->d_name + length, NULL, 10) : 0;
        if (pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        char *path = lat_file_path_join(folder, e->d_name);
        if (path)
            remove_folder(path);
        else
            status = lat_error_memory(error, "a path");
        lat_mem_free(path);
    }
    if (dir)
        closedir(dir);
    lat_mem_free(parent);
    return status;
}

static char *path_with(const char *path, const char *tail)
{
    struct lat_buf text;
    lat_buf_init(&text, 1 << 16);
    lat_buf_addf(&text, "%s.%s-%ld", path, tail, (long)getpid());
    return lat_buf_take(&text, NULL);
}

static enum lat_status output_init(struct lat_output *o, const char *out, bool force, struct lat_error *error)
{
    size_t length = strlen(out);
    while (length > 1 && out[length - 1] == '/')
        length--;
    lat_arena_init(&o->names, 1 << 30);
    o->out = lat_mem_copy_text(out, length);
    o->partial = o->out ? path_with(o->out, "partial") : NULL;
    if (!o->out || !o->partial)
        return lat_error_memory(error, "the output folder");
    struct stat st, in;
    if (lstat(o->out, &st) != 0)
        return errno == ENOENT ? LAT_OK : lat_error_errno(error, errno, "look at", o->out);
    if (!force)
        return lat_error_set(error, LAT_ARGUMENT, "%s: exists already (--force replaces a model folder)", o->out);
    if (stat(o->in, &in) == 0 && in.st_dev == st.st_dev && in.st_ino == st.st_ino)
        return lat_error_set(error, LAT_ARGUMENT, "%s: is the model itself, and is not replaced", o->out);
    if (S_ISLNK(st.st_mode) || !may_replace(o->out))
        return lat_error_set(error, LAT_ARGUMENT, "%s: is no plain model folder, and is not replaced", o->out);
    o->replace = true;
    return LAT_OK;
}

enum lat_status lat_output_new(struct lat_output **output, const char *in, const char *out, bool force,
                               struct lat_error *error)
{
    *output = NULL;
    struct lat_output *o = lat_mem_new(1, sizeof *o);
    if (!o)
        return lat_error_memory(error, "the output folder");
    o->in = in;
    enum lat_status status = output_init(o, out, force, error);
    if (status != LAT_OK) {
        lat_output_free(o);
        return status;
    }
    *output = o;
    return LAT_OK;
}

enum lat_status lat_output_add(struct lat_output *output, const char *name, enum lat_dtype dtype, int rank,
                               const size_t *shape, size_t *index, struct lat_error *error)
{
    if (output->count == output->capacity) {
        size_t more = output->capacity ? 2 * output->capacity : 256;
        struct slot *grown = lat_mem_grow(output->slots, more, sizeof *grown);
        if (!grown)
            return lat_error_memory(error, name);
        output->slots = grown;
        output->capacity = more;
    }
    size_t length = strlen(name) + 1, bytes = lat_dtype_bits(dtype) / 8;
    char *copy = lat_arena_new(&output->names, length, 1);
    if (!copy)
        return lat_error_memory(error, name);
    memcpy(copy, name, length);
    struct slot *slot = &output->slots[output->count];
    *slot = (struct slot){ .spec = { .name = copy, .dtype = dtype, .rank = rank } };
    for (int i = 0; i < rank; i++) {
        slot->spec.shape[i] = shape[i];
        if (!lat_size_mul(bytes, shape[i], &bytes))
            return lat_error_set(error, LAT_LIMIT, "tensor %s is too large", name);
    }
    slot->bytes = bytes;
    output->bytes += bytes;
    *index = output->count++;
    return LAT_OK;
}

uint64_t lat_output_bytes(const struct lat_output *output) { return output->bytes; }
enum lat_dtype lat_output_dtype(const struct lat_output *output, size_t index) { return output->slots[index].spec.dtype; }

// Deals the tensors out to shards in their order.
static void deal(struct lat_output *o)
{
    uint64_t bytes = 0;
    size_t place = 0;
    o->shards = 1;
    for (size_t i = 0; i < o->count; i++) {
        if (place > 0 && bytes + o->slots[i].bytes > SHARD_BYTES_MAX) {
            o->shards++;
            bytes = place = 0;
        }
        o->slots[i].shard = o->shards - 1;
        o->slots[i].place = place++;
        bytes += o->slots[i].bytes;
    }
}

static void shard_name(const struct lat_output *o, size_t shard, char *name, size_t size)
{
    if (o->shards == 1)
        snprintf(name, size, "model.safetensors");
    else
        snprintf(name, size, "model-%05zu-of-%05zu.safetensors", shard + 1, o->shards);
}

static enum lat_status open_shard(struct lat_output *o, size_t shard, struct lat_st_spec *specs, struct lat_error *error)
{
    static const struct lat_st_pair metadata[] = { { "format", "pt" } };
    char name[64];
    size_t count = 0;
    for (size_t i = 0; i < o->count; i++)
        if (o->slots[i].shard == shard)
            specs[count++] = o->slots[i].spec;
    shard_name(o, shard, name, sizeof name);
    char *path = lat_file_path_join(o->partial, name);
    enum lat_status status = path ? lat_st_writer_open(&o->writers[shard], path, specs, count, metadata, 1, error)
                                  : lat_error_memory(error, name);
    lat_mem_free(path);
    return status;
}

enum lat_status lat_output_begin(struct lat_output *output, struct lat_error *error)
{
    LAT_TRY(remove_leftovers(output->out, error));
    deal(output);
    if (mkdir(output->partial, 0777) != 0)
        return lat_error_errno(error, errno, "make", output->partial);
    output->begun = true;
    output->writers = lat_mem_new(output->shards, sizeof *output->writers);
    struct lat_st_spec *specs = lat_mem_new(output->count, sizeof *specs);
    enum lat_status status = output->writers && specs ? LAT_OK : lat_error_memory(error, output->out);
    for (size_t i = 0; i < output->shards && status == LAT_OK; i++)
        status = open_shard(output, i, specs, error);
    lat_mem_free(specs);
    return status;
}

enum lat_status lat_output_put(struct lat_output *output, size_t index, size_t first, const void *values, size_t count,
                               struct lat_error *error)
{
    LAT_BUG_IF(index >= output->count);
    const struct slot *slot = &output->slots[index];
    return lat_st_writer_put(output->writers[slot->shard], slot->place, first, values, count, error);
}

enum lat_status lat_output_write_file(struct lat_output *output, const char *name, const void *bytes, size_t length,
                                      struct lat_error *error)
{
    struct lat_file_out file;
    char *path = lat_file_path_join(output->partial, name);
    enum lat_status status = path ? lat_file_out_open(&file, path, error) : lat_error_memory(error, name);
    if (status == LAT_OK) {
        status = lat_file_out_write(&file, 0, bytes, length, error);
        if (status == LAT_OK)
            status = lat_file_out_commit(&file, error);
        else
            lat_file_out_abort(&file);
    }
    lat_mem_free(path);
    return status;
}

static bool ends_with(const char *name, const char *tail)
{
    size_t a = strlen(name), b = strlen(tail);
    return a >= b && strcmp(name + a - b, tail) == 0;
}

// Everything that a folder needs beside its weights; other forms of the weights would say something else than ours.
static bool is_copied(const char *name)
{
    static const char *const not[] = { ".safetensors", ".index.json", ".bin", ".pt", ".pth", ".gguf", ".onnx", ".msgpack", ".h5" };
    if (name[0] == '.' || strcmp(name, "config.json") == 0)
        return false;
    for (size_t i = 0; i < sizeof not / sizeof not[0]; i++)
        if (ends_with(name, not[i]))
            return false;
    return true;
}

// The folded norms of a model that was rotated before; not those of a stranger where this run has written its own.
static bool is_copied_sidecar(const struct lat_output *o, const char *name)
{
    return !o->sidecar && strcmp(name, "quarot.safetensors") == 0;
}

static enum lat_status copy_file(struct lat_output *o, const char *name, struct lat_error *error)
{
    struct lat_file_map map;
    char *path = lat_file_path_join(o->in, name);
    enum lat_status status = path ? lat_file_map_open(&map, path, error) : lat_error_memory(error, name);
    if (status == LAT_OK) {
        status = lat_output_write_file(o, name, map.bytes ? (const void *)map.bytes : "", map.length, error);
        lat_file_map_close(&map);
    }
    lat_mem_free(path);
    return status;
}

static enum lat_status copy_others(struct lat_output *o, struct lat_error *error)
{
    enum lat_status status = LAT_OK;
    DIR *dir = opendir(o->in);
    if (!dir)
        return lat_error_errno(error, errno, "read", o->in);
    for (struct dirent *e; status == LAT_OK && (e = readdir(dir));) {
        struct stat st;
        if ((is_copied(e->d_name) || is_copied_sidecar(o, e->d_name)) && fstatat(dirfd(dir), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            status = copy_file(o, e->d_name, error);
    }
    closedir(dir);
    return status;
}

static enum lat_status write_index(struct lat_output *o, struct lat_error *error)
{
    struct lat_buf text;
    char name[64];
    if (o->shards == 1)
        return LAT_OK;
    lat_buf_init(&text, 1 << 28);
    lat_buf_addf(&text, "{\"metadata\": {\"total_size\": %llu}, \"weight_map\": {", (unsigned long long)o->bytes);
    for (size_t i = 0; i < o->count; i++) {
        shard_name(o, o->slots[i].shard, name, sizeof name);
        lat_buf_add_text(&text, i ? ",\n" : "\n");
        lat_json_add_string(&text, o->slots[i].spec.name, strlen(o->slots[i].spec.name));
        lat_buf_addf(&text, ": \"%s\"", name);
    }
    lat_buf_add_text(&text, "\n}}\n");
    enum lat_status status = text.failed ? lat_error_memory(error, "the index")
                                         : lat_output_write_file(o, "model.safetensors.index.json", text.bytes, text.length, error);
    lat_buf_release(&text);
    return status;
}

// The old folder steps aside, the new one takes its place, the old one goes.
static enum lat_status put_in_place(struct lat_output *o, struct lat_error *error)
{
    char *old = NULL;
    if (o->replace) {
        old = path_with(o->out, "old");
        if (!old || rename(o->out, old) != 0) {
            enum lat_status status = old ? lat_error_errno(error, errno, "move", o->out) : lat_error_memory(error, o->out);
            lat_mem_free(old);
            return status;
        }
    }
    if (rename(o->partial, o->out) != 0) {
        enum lat_status status = lat_error_errno(error, errno, "make", o->out);
        if (old)
            rename(old, o->out);
        lat_mem_free(old);
        return status;
    }
    o->begun = false;
    if (old)
        remove_folder(old);
    lat_mem_free(old);
    return LAT_OK;
}

enum lat_status lat_output_commit(struct lat_output *output, struct lat_error *error)
{
    for (size_t i = 0; i < output->shards; i++) {
        struct lat_st_writer *writer = output->writers[i];
        output->writers[i] = NULL;
        LAT_TRY(lat_st_writer_commit(writer, error));
    }
    LAT_TRY(write_index(output, error));
    LAT_TRY(copy_others(output, error));
    return put_in_place(output, error);
}

void lat_output_free(struct lat_output *output)
{
    if (!output)
        return;
    for (size_t i = 0; output->writers && i < output->shards; i++)
        lat_st_writer_abort(output->writers[i]);
    if (output->begun)
        remove_folder(output->partial);
    lat_mem_free(output->writers);
    lat_mem_free(output->slots);
    lat_mem_free(output->out);
    lat_mem_free(output->partial);
    lat_arena_release(&output->names);
    lat_mem_free(output);
}

// ---- the sidecar

struct lat_sidecar {
    struct lat_output *output;
    const struct lat_st_tensor **tensors;
    size_t count;
};

enum lat_status lat_sidecar_open(struct lat_sidecar **sidecar, struct lat_output *output, struct lat_error *error)
{
    *sidecar = lat_mem_new(1, sizeof **sidecar);
    if (!*sidecar)
        return lat_error_memory(error, "quarot.safetensors");
    (*sidecar)->output = output;
    return LAT_OK;
}

enum lat_status lat_sidecar_add(struct lat_sidecar *sidecar, const struct lat_st_tensor *tensor, struct lat_error *error)
{
    const struct lat_st_tensor **grown = lat_mem_grow(sidecar->tensors, sidecar->count + 1, sizeof *grown);
    if (!grown)
        return lat_error_memory(error, "quarot.safetensors");
    sidecar->tensors = grown;
    sidecar->tensors[sidecar->count++] = tensor;
    return LAT_OK;
}

static enum lat_status sidecar_put(struct lat_st_writer *writer, size_t index, const struct lat_st_tensor *t,
                                   struct lat_error *error)
{
    float *values = lat_mem_new(t->elements, sizeof *values);
    if (!values)
        return lat_error_memory(error, t->name);
    for (size_t i = 0; i < t->elements; i++)
        values[i] = lat_dtype_load(t->dtype, t->data, i);
    enum lat_status status = lat_st_writer_put(writer, index, 0, values, t->elements, error);
    lat_mem_free(values);
    return status;
}

enum lat_status lat_sidecar_commit(struct lat_sidecar *sidecar, struct lat_error *error)
{
    struct lat_st_spec *specs = lat_mem_new(sidecar->count, sizeof *specs);
    sidecar->output->sidecar = true;
    char *path = lat_file_path_join(sidecar->output->partial, "quarot.safetensors");
    struct lat_st_writer *writer = NULL;
    enum lat_status status = specs && path ? LAT_OK : lat_error_memory(error, "quarot.safetensors");
    for (size_t i = 0; i < sidecar->count && status == LAT_OK; i++)
        specs[i] = (struct lat_st_spec){ .name = sidecar->tensors[i]->name, .dtype = LAT_DTYPE_F32, .rank = 1,
                                         .shape = { sidecar->tensors[i]->elements } };
    if (status == LAT_OK)
        status = lat_st_writer_open(&writer, path, specs, sidecar->count, NULL, 0, error);
    for (size_t i = 0; i < sidecar->count && status == LAT_OK; i++)
        status = sidecar_put(writer, i, sidecar->tensors[i], error);
    if (status == LAT_OK)
        status = lat_st_writer_commit(writer, error);
    else
        lat_st_writer_abort(writer);
    lat_mem_free(specs);
    lat_mem_free(path);
    lat_sidecar_abort(sidecar);
    return status;
}

void lat_sidecar_abort(struct lat_sidecar *sidecar)
{
    if (!sidecar)
        return;
    lat_mem_free(sidecar->tensors);
    lat_mem_free(sidecar);
}
