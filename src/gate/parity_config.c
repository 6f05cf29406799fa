// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/parity_config.h"

#include <stdio.h>
#include <string.h>

#include "core/buf.h"
#include "core/error.h"
#include "core/file.h"

static const char *const leg_keys[] = { "engine", "operators", "tokenizer", "generate", "detokenize", "live", "env", "proof",
                                        "counters", "threads", "chunk", "greedy", "lock", "references", "variants", "limits",
                                        "rungs", NULL };
static const char *const reference_keys[] = { "file", "model", "ids", "texts", "operators", "sha256", "operators_sha256", "max_ratio",
                                              "rms_ratio", NULL };
static const char *const variant_keys[] = { "name", "rung", "threads", "chunk", "env", "proof", "arguments", "kl_max", "top1_min", NULL };
static const char *const limit_keys[] = { "max_ratio", "rms_ratio", "margin_floors", "layer_ratio", "ties_max", "floor_max", NULL };

enum { THREADS_MAX = 1024, CHUNK_MAX = 65536, GREEDY_MAX = 100000 };

struct reader {
    struct lat_parity_config *c;
    struct lat_policy *policy;
    const struct lat_policy_leg *leg;
    struct lat_parity_limits limits;
    struct lat_error *error;
};

static enum lat_status wrong(const struct reader *r, const struct lat_yaml_node *node, const char *text)
{
    return lat_yaml_error(r->error, &r->policy->doc, node ? node : r->leg->node, "leg '%s': %s", r->leg->name, text);
}

static enum lat_status read_mapping(const struct reader *r, const struct lat_yaml_node *map, const char *key, bool lists,
                                    const struct lat_yaml_node **out)
{
    *out = lat_yaml_get(map, key);
    if (!*out)
        return LAT_OK;
    if ((*out)->kind != LAT_YAML_MAPPING)
        return wrong(r, *out, "expected names and values");
    for (const struct lat_yaml_node *n = (*out)->child; n; n = n->next)
        if (n->kind != LAT_YAML_SCALAR && !(lists && n->kind == LAT_YAML_SEQUENCE && n->count > 0))
            return wrong(r, n, "expected a text");
    return LAT_OK;
}

static enum lat_status check_hex(const struct reader *r, const struct lat_yaml_node *node, const char *hex)
{
    if (hex && (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64))
        return wrong(r, node, "expected 64 lower-case hex digits as a sha256");
    return LAT_OK;
}

static enum lat_status read_reference(const struct reader *r, const struct lat_yaml_node *node, struct lat_parity_reference *out)
{
    const struct lat_yaml *doc = &r->policy->doc;
    *out = (struct lat_parity_reference){ .name = node->key, .limits = r->limits, .node = node };
    if (node->kind != LAT_YAML_MAPPING)
        return wrong(r, node, "a reference: expected file, model and more");
    if (strspn(node->key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != strlen(node->key)
        || strlen(node->key) > 60 || node->key[0] == '.' || !node->key[0])
        return wrong(r, node, "a reference's name is of letters, digits, '.', '-' and '_', at most 60");
    LAT_TRY(lat_yaml_check_keys(doc, node, reference_keys, r->error));
    const struct { const char *key; const char **to; } texts[] = {
        { "file", &out->file },           { "model", &out->model },   { "ids", &out->ids },
        { "texts", &out->texts },         { "operators", &out->operators }, { "sha256", &out->sha256 },
        { "operators_sha256", &out->operators_sha256 },
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        LAT_TRY(lat_yaml_read_text(doc, node, texts[i].key, texts[i].to, r->error));
    LAT_TRY(lat_yaml_read_number(doc, node, "max_ratio", &out->limits.max_ratio, r->error));
    LAT_TRY(lat_yaml_read_number(doc, node, "rms_ratio", &out->limits.rms_ratio, r->error));
    LAT_TRY(check_hex(r, node, out->sha256));
    LAT_TRY(check_hex(r, node, out->operators_sha256));
    return out->file && out->model ? LAT_OK : wrong(r, node, "a reference needs 'file' and 'model'");
}

static enum lat_status read_references(const struct reader *r)
{
    const struct lat_yaml_node *list = lat_yaml_get(r->leg->node, "references");
    if (!list || list->kind != LAT_YAML_MAPPING || list->count == 0 || list->count > LAT_PARITY_REFERENCES_MAX)
        return wrong(r, list, "expected 'references', 1 to 64 of them by name");
    for (const struct lat_yaml_node *n = list->child; n; n = n->next)
        LAT_TRY(read_reference(r, n, &r->c->references[r->c->reference_count++]));
    return LAT_OK;
}

static enum lat_status read_variant(const struct reader *r, const struct lat_yaml_node *node, struct lat_parity_variant *out)
{
    struct lat_yaml *doc = &r->policy->doc;
    const char *rung = NULL;
    *out = (struct lat_parity_variant){ .threads = r->c->threads, .chunk = r->c->chunk, .kl_max = -1, .top1_min = -1 };
    if (node->kind != LAT_YAML_MAPPING)
        return wrong(r, node, "a variant: expected name, rung and what differs");
    LAT_TRY(lat_yaml_check_keys(doc, node, variant_keys, r->error));
    LAT_TRY(lat_yaml_read_text(doc, node, "name", &out->name, r->error));
    LAT_TRY(lat_yaml_read_text(doc, node, "rung", &rung, r->error));
    LAT_TRY(lat_yaml_read_count(doc, node, "threads", THREADS_MAX, &out->threads, r->error));
    LAT_TRY(lat_yaml_read_count(doc, node, "chunk", CHUNK_MAX, &out->chunk, r->error));
    LAT_TRY(lat_yaml_read_texts(doc, node, "arguments", &out->arguments, r->error));
    LAT_TRY(lat_yaml_read_number(doc, node, "kl_max", &out->kl_max, r->error));
    LAT_TRY(lat_yaml_read_number(doc, node, "top1_min", &out->top1_min, r->error));
    LAT_TRY(read_mapping(r, node, "env", false, &out->env));
    LAT_TRY(read_mapping(r, node, "proof", true, &out->proof));
    if (!out->name || !rung || (strcmp(rung, "P3") != 0 && strcmp(rung, "P5") != 0 && strcmp(rung, "P7") != 0))
        return wrong(r, node, "a variant needs 'name', and 'rung': P3, P5 or P7");
    out->rung = rung[1] - '0';
    if ((out->rung == 5) != (out->kl_max >= 0 && out->top1_min >= 0))
        return wrong(r, node, "'kl_max' and 'top1_min' belong to variants of rung P5, both of them");
    return LAT_OK;
}

static enum lat_status read_variants(const struct reader *r)
{
    const struct lat_yaml_node *list = lat_yaml_get(r->leg->node, "variants");
    if (!list)
        return LAT_OK;
    if (list->kind != LAT_YAML_SEQUENCE || list->count > LAT_PARITY_VARIANTS_MAX)
        return wrong(r, list, "expected 'variants', a list of at most 32");
    for (const struct lat_yaml_node *n = list->child; n; n = n->next)
        LAT_TRY(read_variant(r, n, &r->c->variants[r->c->variant_count++]));
    return LAT_OK;
}

static bool has_variant(const struct lat_parity_config *c, int rung)
{
    for (size_t i = 0; i < c->variant_count; i++)
        if (c->variants[i].rung == rung)
            return true;
    return false;
}

static bool has_evidence(const struct lat_parity_config *c, int rung)
{
    switch (rung) {
    case 1:
    case 6: return c->greedy > 0;
    case 3:
    case 5:
    case 7: return has_variant(c, rung);
    case 8: return c->proof || c->counters.count;
    default: return true;
    }
}

// Without 'rungs' all that there is evidence for. With it, those; a rung without evidence is an empty promise.
static enum lat_status read_rungs(const struct reader *r)
{
    struct lat_text_list list = { 0 };
    LAT_TRY(lat_yaml_read_texts(&r->policy->doc, r->leg->node, "rungs", &list, r->error));
    for (int i = 0; i < LAT_PARITY_RUNGS && list.count == 0; i++)
        r->c->rungs[i] = has_evidence(r->c, i);
    for (size_t i = 0; i < list.count; i++) {
        const char *t = list.items[i];
        if (t[0] != 'P' || t[1] < '0' || t[1] > '8' || t[2])
            return wrong(r, lat_yaml_get(r->leg->node, "rungs"), "'rungs': expected P0 to P8");
        if (!has_evidence(r->c, t[1] - '0'))
            return wrong(r, lat_yaml_get(r->leg->node, "rungs"),
                         "a rung without evidence: P1 and P6 need 'greedy', P3, P5 and P7 a variant, P8 'proof' or 'counters'");
        r->c->rungs[t[1] - '0'] = true;
    }
    return r->c->rungs[2] ? LAT_OK : wrong(r, lat_yaml_get(r->leg->node, "rungs"), "'rungs' without P2 judge nothing");
}

static enum lat_status read_limits(struct reader *r)
{
    const struct lat_yaml *doc = &r->policy->doc;
    const struct lat_yaml_node *map = lat_yaml_get(r->leg->node, "limits");
    r->limits = lat_parity_limits_default();
    if (!map)
        return LAT_OK;
    LAT_TRY(lat_yaml_check_keys(doc, map, limit_keys, r->error));
    LAT_TRY(lat_yaml_read_number(doc, map, "max_ratio", &r->limits.max_ratio, r->error));
    LAT_TRY(lat_yaml_read_number(doc, map, "rms_ratio", &r->limits.rms_ratio, r->error));
    LAT_TRY(lat_yaml_read_number(doc, map, "margin_floors", &r->limits.margin_floors, r->error));
    LAT_TRY(lat_yaml_read_number(doc, map, "layer_ratio", &r->limits.layer_ratio, r->error));
    LAT_TRY(lat_yaml_read_number(doc, map, "floor_max", &r->c->floor_max, r->error));
    LAT_TRY(lat_yaml_read_count(doc, map, "ties_max", 1000, &r->c->ties_max, r->error));
    if (!(r->limits.max_ratio > 0 && r->limits.rms_ratio > 0 && r->limits.margin_floors >= 0 && r->limits.layer_ratio > 0
          && r->c->floor_max > 0))
        return wrong(r, map, "limits: expected numbers above 0");
    return LAT_OK;
}

static enum lat_status read_commands(const struct reader *r)
{
    struct lat_parity_config *c = r->c;
    const struct { const char *key; struct lat_text_list *to; } lists[] = {
        { "engine", &c->engine },         { "operators", &c->operators },   { "tokenizer", &c->tokenizer }, { "generate", &c->generate },
        { "detokenize", &c->detokenize }, { "counters", &c->counters }, { "live", &c->live },
    };
    bool out = false, ids = false, model = false;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        LAT_TRY(lat_yaml_read_texts(&r->policy->doc, r->leg->node, lists[i].key, lists[i].to, r->error));
    for (size_t i = 0; i < c->engine.count; i++) {
        out = out || strstr(c->engine.items[i], "{out}");
        ids = ids || strstr(c->engine.items[i], "{ids}");
        model = model || strstr(c->engine.items[i], "{model}");
    }
    if (!out || !ids || !model || c->engine.count > 200)
        return wrong(r, lat_yaml_get(r->leg->node, "engine"),
                     "expected 'engine', a program and its arguments as a list, with {model}, {ids} and {out} among them");
    LAT_TRY(read_mapping(r, r->leg->node, "env", false, &c->env));
    return read_mapping(r, r->leg->node, "proof", true, &c->proof);
}

enum lat_status lat_parity_config_read(struct lat_parity_config *config, struct lat_policy *policy, const struct lat_policy_leg *leg,
                                       struct lat_error *error)
{
    struct reader r = { .c = config, .policy = policy, .leg = leg, .error = error };
    *config = (struct lat_parity_config){ .threads = 1, .chunk = 128, .greedy = 64, .lock = "parity.lock.yaml", .ties_max = 2,
                                          .floor_max = 0.01 };
    LAT_TRY(lat_policy_leg_keys_check(policy, leg, leg_keys, error));
    LAT_TRY(read_commands(&r));
    LAT_TRY(lat_yaml_read_count(&policy->doc, leg->node, "threads", THREADS_MAX, &config->threads, error));
    LAT_TRY(lat_yaml_read_count(&policy->doc, leg->node, "chunk", CHUNK_MAX, &config->chunk, error));
    LAT_TRY(lat_yaml_read_count(&policy->doc, leg->node, "greedy", GREEDY_MAX, &config->greedy, error));
    LAT_TRY(lat_yaml_read_text(&policy->doc, leg->node, "lock", &config->lock, error));
    LAT_TRY(read_limits(&r));
    LAT_TRY(read_references(&r));
    LAT_TRY(read_variants(&r));
    return read_rungs(&r);
}

enum lat_status lat_parity_path(char *out, size_t size, const char *root, const char *path, struct lat_error *error)
{
    bool absolute = path[0] == '/';
    int n = snprintf(out, size, "%s%s%s", absolute ? "" : root, absolute ? "" : "/", path);
    return n > 0 && (size_t)n < size ? LAT_OK : lat_error_set(error, LAT_LIMIT, "%.80s...: a path that is too long", path);
}

enum lat_status lat_parity_digest(const char *path, char hex[LAT_SHA256_HEX_SIZE], struct lat_error *error)
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

static enum lat_status take_digest(const struct lat_yaml *doc, const struct lat_yaml_node *map, const char *key, const char **to,
                                   struct lat_error *error)
{
    const char *hex = NULL;
    LAT_TRY(lat_yaml_read_text(doc, map, key, &hex, error));
    if (hex && (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64))
        return lat_yaml_error(error, doc, lat_yaml_get(map, key), "expected 64 lower-case hex digits");
    if (!*to)
        *to = hex;
    return LAT_OK;
}

enum lat_status lat_parity_lock_read(struct lat_parity_config *config, const char *root, struct lat_error *error)
{
    static const char *const top[] = { "schema", "references", NULL }, *const keys[] = { "sha256", "operators_sha256", NULL };
    char path[4096];
    LAT_TRY(lat_parity_path(path, sizeof path, root, config->lock, error));
    if (!lat_file_exists(path))
        return LAT_OK;
    LAT_TRY(lat_yaml_read(&config->lock_doc, path, error));
    const struct lat_yaml *doc = &config->lock_doc;
    LAT_TRY(lat_yaml_check_keys(doc, doc->root, top, error));
    for (size_t i = 0; i < config->reference_count; i++) {
        struct lat_parity_reference *r = &config->references[i];
        const struct lat_yaml_node *n = lat_yaml_get(lat_yaml_get(doc->root, "references"), r->name);
        if (!n)
            continue;
        LAT_TRY(lat_yaml_check_keys(doc, n, keys, error));
        LAT_TRY(take_digest(doc, n, "sha256", &r->sha256, error));
        LAT_TRY(take_digest(doc, n, "operators_sha256", &r->operators_sha256, error));
    }
    return LAT_OK;
}

static enum lat_status add_digest(struct lat_buf *out, const char *root, const char *key, const char *file, struct lat_error *error)
{
    char path[4096], hex[LAT_SHA256_HEX_SIZE];
    LAT_TRY(lat_parity_path(path, sizeof path, root, file, error));
    LAT_TRY(lat_parity_digest(path, hex, error));
    lat_buf_addf(out, "    %s: %s\n", key, hex);
    return LAT_OK;
}

static enum lat_status write_text(const char *path, const struct lat_buf *text, struct lat_error *error)
{
    struct lat_file_out out;
    if (text->failed)
        return lat_error_memory(error, "the lock");
    LAT_TRY(lat_file_out_open(&out, path, error));
    enum lat_status status = lat_file_out_write(&out, 0, text->bytes, text->length, error);
    if (status == LAT_OK)
        return lat_file_out_commit(&out, error);
    lat_file_out_abort(&out);
    return status;
}

enum lat_status lat_parity_lock_write(const struct lat_parity_config *config, const char *root, struct lat_error *error)
{
    struct lat_buf text;
    char path[4096];
    enum lat_status status = lat_parity_path(path, sizeof path, root, config->lock, error);
    lat_buf_init(&text, 1 << 20);
    lat_buf_add_text(&text,
                     "# What the parity references are. Written by `lattice-gate parity freeze`; look at the change before it is "
                     "committed.\n"
                            "schema: 1\nreferences:\n");
    for (size_t i = 0; i < config->reference_count && status == LAT_OK; i++) {
        const struct lat_parity_reference *r = &config->references[i];
        lat_buf_addf(&text, "  %s:\n", r->name);
        status = add_digest(&text, root, "sha256", r->file, error);
        if (status == LAT_OK && r->operators)
            status = add_digest(&text, root, "operators_sha256", r->operators, error);
    }
    if (status == LAT_OK)
        status = write_text(path, &text, error);
    lat_buf_release(&text);
    return status;
}

void lat_parity_config_release(struct lat_parity_config *config)
{
    lat_yaml_release(&config->lock_doc);
    *config = (struct lat_parity_config){ 0 };
}
