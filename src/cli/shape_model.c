// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "cli/shape_model.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/rng.h"
#include "models/qwen35_config.h"
#include "tensor/safetensors.h"

static const char CONFIG[] = "config.json", WEIGHTS[] = "model.safetensors";

// What a tensor is filled with; `size` says how large.
enum fill {
    FILL_UNIFORM, // bf16 in [-size, size]
    FILL_SAME,    // bf16 or f32, all `size`
    FILL_DECAY,   // f32, log of 1 to 16 (A_log)
    FILL_STEP,    // bf16, the inverse softplus of 0.001 to 0.1 (dt_bias)
    FILL_CODES,   // codes of `size` bits, all but the lowest, so that their mean is 0
    FILL_SCALE,   // bf16 in [3/4 size, 5/4 size]
    FILL_SHAPE,   // two I64: size and width
};

struct tensor {
    enum fill fill;
    double size, width;
};

struct shape {
    struct lat_shape_options options;
    struct lat_qwen35_config config;
    const char *prefix;
    struct lat_st_spec *specs;
    struct tensor *tensors;
    size_t count, most;
    struct lat_arena arena;
    uint64_t bytes;
    bool failed; // names did not fit into memory
};

enum { TENSORS_PER_LAYER_MAX = 40, BLOCK = 1 << 16 };

LAT_PRINTF(3, 4) static void add(struct shape *s, const struct lat_st_spec *spec, const char *format, ...)
{
    char name[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    LAT_BUG_IF(s->count == s->most);
    char *copy = lat_arena_new(&s->arena, strlen(name) + 1, 1);
    if (!copy) {
        s->failed = true;
        return;
    }
    memcpy(copy, name, strlen(name) + 1);
    s->specs[s->count] = *spec;
    s->specs[s->count].name = copy;
    size_t elements = 1;
    for (int i = 0; i < spec->rank; i++)
        elements *= spec->shape[i];
    s->bytes += (uint64_t)elements * (lat_dtype_bits(spec->dtype) / 8);
    s->count++;
}

static void vector(struct shape *s, enum lat_dtype dtype, size_t count, enum fill fill, double size, const char *name)
{
    s->tensors[s->count] = (struct tensor){ fill, size, 0 };
    add(s, &(struct lat_st_spec){ .dtype = dtype, .rank = 1, .shape = { count } }, "%s", name);
}

// Uniform numbers with a variance of 1/cols: what a matrix gives is as large as what it takes.
static double limit_for(size_t cols) { return sqrt(3.0 / (double)cols); }

static void plain_matrix(struct shape *s, const char *name, size_t rows, size_t cols, double limit)
{
    s->tensors[s->count] = (struct tensor){ FILL_UNIFORM, limit, 0 };
    add(s, &(struct lat_st_spec){ .dtype = LAT_DTYPE_BF16, .rank = 2, .shape = { rows, cols } }, "%s.weight", name);
}

static bool can_pack(size_t cols) { return cols % LAT_SHAPE_GROUP == 0; }

static void matrix(struct shape *s, const char *name, size_t rows, size_t cols, int bits)
{
    if (bits == 16 || !can_pack(cols)) {
        plain_matrix(s, name, rows, cols, limit_for(cols));
        return;
    }
    double levels = (double)(1 << bits), spread = sqrt((levels * levels - 1) / 12); // of codes that are as good as even
    s->tensors[s->count] = (struct tensor){ FILL_CODES, bits, 0 };
    add(s, &(struct lat_st_spec){ .dtype = LAT_DTYPE_I32, .rank = 2, .shape = { rows, cols * (size_t)bits / 32 } },
        "%s.weight_packed", name);
    s->tensors[s->count] = (struct tensor){ FILL_SCALE, 1 / sqrt((double)cols) / spread, 0 };
    add(s, &(struct lat_st_spec){ .dtype = LAT_DTYPE_BF16, .rank = 2, .shape = { rows, cols / LAT_SHAPE_GROUP } },
        "%s.weight_scale", name);
    s->tensors[s->count] = (struct tensor){ FILL_SHAPE, (double)rows, (double)cols };
    add(s, &(struct lat_st_spec){ .dtype = LAT_DTYPE_I64, .rank = 1, .shape = { 2 } }, "%s.weight_shape", name);
}

static const char *in_layer(char out[160], const struct shape *s, size_t layer, const char *name)
{
    snprintf(out, 160, "%slayers.%zu.%s", s->prefix, layer, name);
    return out;
}

static void plan_full(struct shape *s, size_t layer)
{
    const struct lat_qwen35_config *c = &s->config;
    size_t hidden = c->hidden_size, heads = c->num_attention_heads * c->head_dim, kv = c->num_key_value_heads * c->head_dim;
    char name[160];
    matrix(s, in_layer(name, s, layer, "self_attn.q_proj"), 2 * heads, hidden, s->options.bits);
    matrix(s, in_layer(name, s, layer, "self_attn.k_proj"), kv, hidden, s->options.bits);
    matrix(s, in_layer(name, s, layer, "self_attn.v_proj"), kv, hidden, s->options.bits);
    matrix(s, in_layer(name, s, layer, "self_attn.o_proj"), hidden, heads, s->options.bits);
    vector(s, LAT_DTYPE_BF16, c->head_dim, FILL_SAME, 0, in_layer(name, s, layer, "self_attn.q_norm.weight"));
    vector(s, LAT_DTYPE_BF16, c->head_dim, FILL_SAME, 0, in_layer(name, s, layer, "self_attn.k_norm.weight"));
}

static void plan_linear(struct shape *s, size_t layer)
{
    const struct lat_qwen35_config *c = &s->config;
    size_t hidden = c->hidden_size, value = lat_qwen35_value_dim(c), heads = c->linear_num_value_heads;
    size_t taps = c->linear_conv_kernel_dim, channels = lat_qwen35_conv_dim(c);
    char name[160];
    matrix(s, in_layer(name, s, layer, "linear_attn.in_proj_qkv"), channels, hidden, s->options.bits);
    matrix(s, in_layer(name, s, layer, "linear_attn.in_proj_z"), value, hidden, s->options.bits);
    matrix(s, in_layer(name, s, layer, "linear_attn.in_proj_b"), heads, hidden, 16);
    matrix(s, in_layer(name, s, layer, "linear_attn.in_proj_a"), heads, hidden, 16);
    matrix(s, in_layer(name, s, layer, "linear_attn.out_proj"), hidden, value, s->options.bits);
    s->tensors[s->count] = (struct tensor){ FILL_UNIFORM, limit_for(taps), 0 };
    add(s, &(struct lat_st_spec){ .dtype = LAT_DTYPE_BF16, .rank = 3, .shape = { channels, 1, taps } }, "%s",
        in_layer(name, s, layer, "linear_attn.conv1d.weight"));
    vector(s, LAT_DTYPE_F32, heads, FILL_DECAY, 0, in_layer(name, s, layer, "linear_attn.A_log"));
    vector(s, LAT_DTYPE_BF16, heads, FILL_STEP, 0, in_layer(name, s, layer, "linear_attn.dt_bias"));
    vector(s, LAT_DTYPE_F32, c->linear_value_head_dim, FILL_SAME, 1, in_layer(name, s, layer, "linear_attn.norm.weight"));
}

static void plan_layer(struct shape *s, size_t layer)
{
    const struct lat_qwen35_config *c = &s->config;
    size_t hidden = c->hidden_size;
    char name[160];
    vector(s, LAT_DTYPE_BF16, hidden, FILL_SAME, 0, in_layer(name, s, layer, "input_layernorm.weight"));
    vector(s, LAT_DTYPE_BF16, hidden, FILL_SAME, 0, in_layer(name, s, layer, "post_attention_layernorm.weight"));
    if (c->layer_is_full[layer])
        plan_full(s, layer);
    else
        plan_linear(s, layer);
    matrix(s, in_layer(name, s, layer, "mlp.gate_proj"), c->intermediate_size, hidden, s->options.bits);
    matrix(s, in_layer(name, s, layer, "mlp.up_proj"), c->intermediate_size, hidden, s->options.bits);
    matrix(s, in_layer(name, s, layer, "mlp.down_proj"), hidden, c->intermediate_size, s->options.bits);
}

static bool keeps_tied(const struct shape *s) { return s->config.tie_word_embeddings && s->options.head_bits == 16; }

static enum lat_status plan(struct shape *s, struct lat_error *error)
{
    const double embedding = 0.035; // as a tied head it gives logits of about this times the root of the hidden size
    const struct lat_qwen35_config *c = &s->config;
    char name[160];
    s->most = c->num_hidden_layers * TENSORS_PER_LAYER_MAX + 8;
    s->specs = lat_mem_new(s->most, sizeof *s->specs);
    s->tensors = lat_mem_new(s->most, sizeof *s->tensors);
    if (!s->specs || !s->tensors)
        return lat_error_memory(error, "the plan of the tensors");
    snprintf(name, sizeof name, "%sembed_tokens", s->prefix);
    plain_matrix(s, name, c->vocab_size, c->hidden_size, embedding);
    for (size_t i = 0; i < c->num_hidden_layers; i++)
        plan_layer(s, i);
    snprintf(name, sizeof name, "%snorm.weight", s->prefix);
    vector(s, LAT_DTYPE_BF16, c->hidden_size, FILL_SAME, 0, name);
    if (!keeps_tied(s))
        matrix(s, "lm_head", c->vocab_size, c->hidden_size, s->options.head_bits);
    return s->failed ? lat_error_memory(error, "names of tensors") : LAT_OK;
}

static uint16_t to_bf16(double value)
{
    uint32_t bits = lat_f32_to_bits((float)value);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

static void fill_uniform(uint16_t *out, size_t count, float limit, struct lat_rng *rng)
{
    const float unit = limit / 32768;
    for (size_t i = 0; i < count; i += 4) {
        uint64_t random = lat_rng_next(rng);
        for (size_t j = i; j < i + 4 && j < count; j++, random >>= 16)
            out[j] = to_bf16((double)((float)(int16_t)random * unit));
    }
}

// Codes are unsigned with the middle standing for 0. The lowest has no opposite, and a mean below 0 would grow from layer
// to layer; it becomes the middle. Works on all codes of a word at once: the addition reaches a code's top bit unless
// its other bits are 0.
static void fill_codes(uint64_t *out, size_t words, int bits, struct lat_rng *rng)
{
    const uint64_t top = bits == 4 ? 0x8888888888888888u : 0x8080808080808080u;
    for (size_t i = 0; i < words; i++) {
        uint64_t codes = lat_rng_next(rng), zero = ~(((codes & ~top) + ~top) | codes) & top;
        out[i] = codes | zero;
    }
}

static double fill_value(const struct tensor *t, struct lat_rng *rng)
{
    if (t->fill == FILL_DECAY)
        return log(1 + 15 * lat_rng_uniform(rng));
    if (t->fill == FILL_STEP)
        return log(expm1(exp(log(0.001) + log(100) * lat_rng_uniform(rng))));
    if (t->fill == FILL_SCALE)
        return t->size * (0.75 + 0.5 * lat_rng_uniform(rng));
    return t->size;
}

union block {
    uint64_t random[BLOCK / 2];
    int32_t words[BLOCK];
    uint16_t halves[BLOCK];
    float floats[BLOCK];
    int64_t wide[2];
};

static void fill_block(union block *b, const struct tensor *t, enum lat_dtype dtype, size_t count, struct lat_rng *rng)
{
    if (t->fill == FILL_SHAPE) {
        b->wide[0] = (int64_t)t->size;
        b->wide[1] = (int64_t)t->width;
    } else if (t->fill == FILL_UNIFORM)
        fill_uniform(b->halves, count, (float)t->size, rng);
    else if (t->fill == FILL_CODES)
        fill_codes(b->random, (count + 1) / 2, (int)t->size, rng);
    else if (dtype == LAT_DTYPE_F32)
        for (size_t i = 0; i < count; i++)
            b->floats[i] = (float)fill_value(t, rng);
    else
        for (size_t i = 0; i < count; i++)
            b->halves[i] = to_bf16(fill_value(t, rng));
}

static enum lat_status write_tensor(struct shape *s, struct lat_st_writer *writer, size_t index, union block *block,
                                    struct lat_error *error)
{
    const struct lat_st_spec *spec = &s->specs[index];
    struct lat_rng rng;
    size_t elements = 1;
    for (int i = 0; i < spec->rank; i++)
        elements *= spec->shape[i];
    lat_rng_init(&rng, s->options.seed + index);
    for (size_t done = 0; done < elements;) {
        size_t now = elements - done < BLOCK ? elements - done : BLOCK;
        if (s->options.cancel && *s->options.cancel)
            return lat_error_set(error, LAT_CANCELLED, "cancelled while the weights were made");
        fill_block(block, &s->tensors[index], spec->dtype, now, &rng);
        LAT_TRY(lat_st_writer_put(writer, index, done, block, now, error));
        done += now;
    }
    return LAT_OK;
}

static enum lat_status write_weights(struct shape *s, const char *path, struct lat_error *error)
{
    static const struct lat_st_pair metadata[] = { { "format", "pt" } };
    struct lat_st_writer *writer = NULL;
    union block *block = lat_mem_new(1, sizeof *block);
    if (!block)
        return lat_error_memory(error, "a block of weights");
    enum lat_status status = lat_st_writer_open(&writer, path, s->specs, s->count, metadata, 1, error);
    for (size_t i = 0; status == LAT_OK && i < s->count; i++)
        status = write_tensor(s, writer, i, block, error);
    lat_mem_free(block);
    if (status == LAT_OK)
        return lat_st_writer_commit(writer, error);
    lat_st_writer_abort(writer);
    return status;
}

// ---- config.json: as it was, with what quantisation changes

static void add_quantization(struct lat_buf *out, const struct shape *s)
{
    int bits = s->options.bits, head = s->options.head_bits;
    static const char group[] = "\"group_%d\":{\"targets\":[\"%s\"],\"weights\":{\"num_bits\":%d,\"type\":\"int\",\"symmetric\":true,"
                                "\"strategy\":\"group\",\"group_size\":%d,\"dynamic\":false}}";
    lat_buf_add_text(out, "\"quantization_config\":{\"quant_method\":\"compressed-tensors\",\"format\":\"pack-quantized\","
                          "\"quantization_status\":\"compressed\",\"config_groups\":{");
    if (bits != 16)
        lat_buf_addf(out, group, 0, "Linear", bits, LAT_SHAPE_GROUP);
    if (head != 16 && head != bits) {
        if (bits != 16)
            lat_buf_add_char(out, ',');
        lat_buf_addf(out, group, bits != 16, "re:^lm_head$", head, LAT_SHAPE_GROUP);
    }
    lat_buf_add_text(out, "},\"ignore\":[\"re:.*in_proj_a$\",\"re:.*in_proj_b$\"");
    if (head == 16)
        lat_buf_add_text(out, ",\"lm_head\"");
    lat_buf_add_text(out, "]}");
}

static void add_node(struct lat_buf *out, const struct shape *s, const struct lat_json_node *n);

static const char TIED[] = "tie_word_embeddings";

static void add_members(struct lat_buf *out, const struct shape *s, const struct lat_json_node *object, bool root)
{
    bool first = true;
    lat_buf_add_char(out, '{');
    for (const struct lat_json_node *n = object->u.child; n; n = n->next, first = false) {
        if (!first)
            lat_buf_add_char(out, ',');
        lat_json_add_string(out, n->key, n->key_length);
        lat_buf_add_char(out, ':');
        if (n->key_length == sizeof TIED - 1 && memcmp(n->key, TIED, sizeof TIED - 1) == 0)
            lat_buf_add_text(out, keeps_tied(s) ? "true" : "false");
        else
            add_node(out, s, n);
    }
    if (root && !lat_json_get(object, TIED))
        lat_buf_addf(out, ",\"%s\":%s", TIED, keeps_tied(s) ? "true" : "false");
    if (root) {
        lat_buf_add_char(out, ',');
        add_quantization(out, s);
    }
    lat_buf_add_char(out, '}');
}

static void add_node(struct lat_buf *out, const struct shape *s, const struct lat_json_node *n)
{
    if (n->kind == LAT_JSON_OBJECT)
        add_members(out, s, n, false);
    else if (n->kind == LAT_JSON_ARRAY) {
        lat_buf_add_char(out, '[');
        for (const struct lat_json_node *i = n->u.child; i; i = i->next) {
            add_node(out, s, i);
            if (i->next)
                lat_buf_add_char(out, ',');
        }
        lat_buf_add_char(out, ']');
    } else if (n->kind == LAT_JSON_STRING)
        lat_json_add_string(out, n->u.string, n->count);
    else if (n->kind == LAT_JSON_INT)
        lat_buf_addf(out, "%lld", (long long)n->u.integer);
    else if (n->kind == LAT_JSON_DOUBLE)
        lat_json_add_double(out, n->u.number);
    else
        lat_buf_add_text(out, n->kind == LAT_JSON_TRUE ? "true" : n->kind == LAT_JSON_FALSE ? "false" : "null");
}

static enum lat_status write_text(const char *path, const char *bytes, size_t length, struct lat_error *error)
{
    struct lat_file_out out;
    LAT_TRY(lat_file_out_open(&out, path, error));
    enum lat_status status = lat_file_out_write(&out, 0, bytes, length, error);
    if (status == LAT_OK)
        return lat_file_out_commit(&out, error);
    lat_file_out_abort(&out);
    return status;
}

static enum lat_status write_config(const struct shape *s, const struct lat_file_map *source, const struct lat_json *doc,
                                    const char *path, struct lat_error *error)
{
    struct lat_buf out;
    if (s->options.bits == 16 && s->options.head_bits == 16)
        return write_text(path, (const char *)source->bytes, source->length, error);
    lat_buf_init(&out, 1 << 24);
    add_members(&out, s, doc->root, true);
    lat_buf_add_char(&out, '\n');
    enum lat_status status = out.failed ? lat_error_memory(error, CONFIG) : write_text(path, out.bytes, out.length, error);
    lat_buf_release(&out);
    return status;
}

static enum lat_status check(const struct shape *s, const char *path, struct lat_error *error)
{
    if (s->config.moe)
        return lat_error_set(error, LAT_UNSUPPORTED, "%s: random weights are made for dense shapes only", path);
    if (s->config.attention_bias)
        return lat_error_set(error, LAT_UNSUPPORTED, "%s: random weights are made without attention_bias only", path);
    return LAT_OK;
}

// A config that is read, checked and planned; released with shape_release in every case.
struct source {
    struct lat_file_map map;
    struct lat_json doc;
    struct shape shape;
};

static enum lat_status source_open(struct source *src, const char *config_path, const struct lat_shape_options *options,
                                   struct lat_error *error)
{
    *src = (struct source){ .shape = { .options = *options } };
    struct shape *s = &src->shape;
    lat_arena_init(&s->arena, 1 << 26);
    LAT_TRY(lat_file_map_open(&src->map, config_path, error));
    const char *text = src->map.bytes ? (const char *)src->map.bytes : "";
    LAT_TRY(lat_json_parse(&src->doc, text, src->map.length, config_path, error));
    if (lat_json_get(src->doc.root, "quantization_config"))
        return lat_error_set(error, LAT_UNSUPPORTED, "%s: is quantised itself; --bits says what to make", config_path);
    LAT_TRY(lat_qwen35_config_parse(&s->config, text, src->map.length, config_path, error));
    LAT_TRY(check(s, config_path, error));
    s->prefix = lat_json_get(src->doc.root, "text_config") ? "model.language_model." : "model.";
    return plan(s, error);
}

static void source_release(struct source *src)
{
    lat_mem_free(src->shape.specs);
    lat_mem_free(src->shape.tensors);
    lat_arena_release(&src->shape.arena);
    if (src->doc.root)
        lat_json_release(&src->doc);
    lat_file_map_close(&src->map);
}

// The config comes last: without it a folder that was broken off is no model.
static enum lat_status write_files(struct source *src, const char *folder, struct lat_error *error)
{
    char *weights = lat_file_path_join(folder, WEIGHTS), *config = lat_file_path_join(folder, CONFIG);
    enum lat_status status = weights && config ? LAT_OK : lat_error_memory(error, "a path");
    if (status == LAT_OK)
        status = write_weights(&src->shape, weights, error);
    if (status == LAT_OK)
        status = write_config(&src->shape, &src->map, &src->doc, config, error);
    lat_mem_free(weights);
    lat_mem_free(config);
    return status;
}

static bool is_empty(const char *folder)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return false;
    int entries = 0;
    while (entries < 3 && readdir(dir))
        entries++;
    closedir(dir);
    return entries == 2; // . and ..
}

static enum lat_status make_folder(const char *path, struct lat_error *error)
{
    if (mkdir(path, 0777) == 0)
        return LAT_OK;
    if (errno != EEXIST)
        return lat_error_errno(error, errno, "create", path);
    return is_empty(path) ? LAT_OK : lat_error_set(error, LAT_ARGUMENT, "-o: %s is there, and no empty folder", path);
}

enum lat_status lat_shape_write(const char *config_path, const char *out, const struct lat_shape_options *options,
                                struct lat_error *error)
{
    struct source src;
    enum lat_status status = source_open(&src, config_path, options, error);
    if (status == LAT_OK)
        status = make_folder(out, error);
    if (status == LAT_OK) {
        status = write_files(&src, out, error);
        if (status != LAT_OK)
            lat_shape_remove(out);
    }
    source_release(&src);
    return status;
}

// The first place that has room; TMPDIR is taken at its word.
static const char *temporary_base(uint64_t bytes)
{
    struct statvfs room;
    const char *wanted = getenv("TMPDIR");
    if (wanted && *wanted)
        return wanted;
    if (statvfs("/dev/shm", &room) == 0 && access("/dev/shm", W_OK) == 0
        && (uint64_t)room.f_bavail * room.f_frsize > bytes + bytes / 16 && lat_clock_memory_free() / 2 > bytes)
        return "/dev/shm";
    return "/tmp";
}

static enum lat_status check_room(const char *base, uint64_t bytes, struct lat_error *error)
{
    struct statvfs room;
    if (statvfs(base, &room) != 0)
        return lat_error_errno(error, errno, "look at", base);
    uint64_t there = (uint64_t)room.f_bavail * room.f_frsize;
    if (there < bytes)
        return lat_error_set(error, LAT_LIMIT, "%s: the weights need %llu MB, %llu MB are free (TMPDIR names another place)", base,
                             (unsigned long long)(bytes / 1000000), (unsigned long long)(there / 1000000));
    return LAT_OK;
}

enum lat_status lat_shape_write_temporary(char **folder, const char *config_path, const struct lat_shape_options *options,
                                          struct lat_error *error)
{
    struct source src;
    *folder = NULL;
    enum lat_status status = source_open(&src, config_path, options, error);
    const char *base = temporary_base(src.shape.bytes);
    if (status == LAT_OK)
        status = check_room(base, src.shape.bytes, error);
    char *path = lat_file_path_join(base, "lattice-shape-XXXXXX");
    if (status == LAT_OK && !path)
        status = lat_error_memory(error, "a path");
    if (status == LAT_OK && !mkdtemp(path))
        status = lat_error_errno(error, errno, "create a folder in", base);
    if (status == LAT_OK) {
        status = write_files(&src, path, error);
        if (status != LAT_OK)
            lat_shape_remove(path);
    }
    source_release(&src);
    if (status == LAT_OK)
        *folder = path;
    else
        lat_mem_free(path);
    return status;
}

void lat_shape_remove(const char *folder)
{
    static const char *const names[] = { CONFIG, WEIGHTS };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = lat_file_path_join(folder, names[i]);
        if (path)
            unlink(path);
        lat_mem_free(path);
    }
    rmdir(folder);
}
