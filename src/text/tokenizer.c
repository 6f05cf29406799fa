// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "text/tokenizer_parts.h"

#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/utf8.h"
#include "text/nfc.h"

struct encoding {
    const struct lat_tokenizer *t;
    struct lat_ids *ids;
    struct lat_error *error;
    bool plain, plain_all;
};

static enum lat_status encode_words(const struct encoding *e, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t size = lat_split_next(e->t->split, text + at, length - at);
        LAT_TRY(lat_bpe_encode(&e->t->bpe, text + at, size, e->ids, e->error));
        at += size;
    }
    return LAT_OK;
}

static enum lat_status encode_piece(const struct encoding *e, const char *text, size_t begin, size_t end)
{
    return end > begin ? lat_bpe_encode(&e->t->bpe, text + begin, end - begin, e->ids, e->error) : LAT_OK;
}

// Matches are pieces, and so is what lies between them; an empty match is a border.
static enum lat_status encode_by_regex(const struct encoding *e, const char *text, size_t length)
{
    for (size_t at = 0, from = 0; at < length;) {
        size_t begin = 0, end = 0;
        LAT_TRY(lat_regex_find(e->t->regex, text, length, from, &begin, &end, e->error));
        LAT_TRY(encode_piece(e, text, at, begin));
        LAT_TRY(encode_piece(e, text, begin, end));
        at = from = end;
        if (begin == end && end < length) {
            uint32_t code = 0;
            from = end + lat_utf8_decode(text + end, length - end, &code);
        }
    }
    return LAT_OK;
}

static enum lat_status encode_plain(const struct encoding *e, const char *text, size_t length)
{
    if (length == 0)
        return LAT_OK;
    return e->t->split == LAT_SPLIT_REGEX ? encode_by_regex(e, text, length) : encode_words(e, text, length);
}

typedef enum lat_status encode_fn(const struct encoding *e, const char *text, size_t length);

// Where white space ends, remembered so that a run is walked once however many tokens lie in it.
struct space_run {
    size_t begin, end;
};

static size_t strip_right(struct space_run *run, const char *text, size_t length, size_t at)
{
    if (at < run->begin || at > run->end)
        *run = (struct space_run){ at, lat_added_strip_right(text, length, at) };
    return run->end;
}

// Cuts the text at the added tokens of a set; what lies between goes to `between`. The search goes on behind a token's
// content, not behind the white space that rstrip takes: a token in there is found as well, as in Hugging Face.
static enum lat_status encode_cut(const struct encoding *e, const struct lat_added_set *set, encode_fn *between,
                                  const char *text, size_t length)
{
    size_t done = 0, from = 0;
    struct space_run run = { 1, 0 };
    while (from < length) {
        struct lat_added_match match = lat_added_set_find(set, text, length, from, e->plain, e->plain_all);
        if (!match.token)
            break;
        size_t begin = match.token->lstrip ? lat_added_strip_left(text, done, match.begin) : match.begin;
        if (begin > done)
            LAT_TRY(between(e, text + done, begin - done));
        LAT_TRY(lat_ids_add(e->ids, match.token->id, e->error));
        done = match.token->rstrip ? strip_right(&run, text, length, match.end) : match.end;
        from = match.end;
    }
    return done < length ? between(e, text + done, length - done) : LAT_OK;
}

static enum lat_status encode_normalized(const struct encoding *e, const char *text, size_t length)
{
    if (length == 0)
        return LAT_OK;
    if (!e->t->nfc)
        return encode_cut(e, &e->t->normalized, encode_plain, text, length);
    struct lat_buf normal;
    lat_buf_init(&normal, SIZE_MAX / 4);
    enum lat_status status = lat_nfc_add(&normal, text, length, e->error);
    if (status == LAT_OK)
        status = encode_cut(e, &e->t->normalized, encode_plain, normal.bytes, normal.length);
    lat_buf_release(&normal);
    return status;
}

static enum lat_status add_all(struct lat_ids *ids, const struct lat_ids *more, struct lat_error *error)
{
    for (size_t i = 0; i < more->count; i++)
        LAT_TRY(lat_ids_add(ids, more->items[i], error));
    return LAT_OK;
}

enum lat_status lat_tokenizer_encode(const struct lat_tokenizer *tokenizer, const char *text, size_t length, unsigned flags,
                                     struct lat_ids *ids, struct lat_error *error)
{
    size_t good = lat_utf8_check(text, length);
    if (good != length)
        return lat_error_set(error, LAT_ARGUMENT, "the text is not UTF-8 at byte %zu", good);
    struct encoding e = { .t = tokenizer, .ids = ids, .error = error };
    e.plain_all = (flags & LAT_ENCODE_PLAIN_ALL) != 0;
    e.plain = e.plain_all || (flags & LAT_ENCODE_PLAIN) != 0;
    size_t old = ids->count;
    enum lat_status status = add_all(ids, &tokenizer->before, error);
    if (status == LAT_OK)
        status = encode_cut(&e, &tokenizer->raw, encode_normalized, text, length);
    if (status == LAT_OK)
        status = add_all(ids, &tokenizer->after, error);
    if (status != LAT_OK)
        ids->count = old; // a half-encoded text is no use to anyone
    return status;
}

int32_t lat_tokenizer_find(const struct lat_tokenizer *t, const char *content, size_t length)
{
    enum { BYTES_MAX = 4096 }; // longer vocabulary entries are not looked up by name
    char bytes[BYTES_MAX];
    size_t used = 0;
    int32_t added = lat_added_set_id(&t->contents, content, length);
    if (added >= 0 || length > BYTES_MAX || !lat_bpe_text_to_bytes(content, length, bytes, &used))
        return added;
    return lat_bpe_find_piece(&t->bpe, bytes, used);
}

// eos_token of tokenizer_config.json: a string, or an object with content.
static enum lat_status read_eos(struct lat_tokenizer *t, const char *path, struct lat_error *error)
{
    struct lat_file_map map;
    struct lat_json doc;
    LAT_TRY(lat_file_map_open(&map, path, error));
    enum lat_status status = lat_json_parse(&doc, (const char *)map.bytes, map.length, path, error);
    if (status == LAT_OK) {
        const struct lat_json_node *eos = lat_json_get(doc.root, "eos_token");
        if (eos && eos->kind == LAT_JSON_OBJECT)
            eos = lat_json_get(eos, "content");
        if (doc.root->kind != LAT_JSON_OBJECT)
            status = lat_error_set(error, LAT_FORMAT, "%s: not a JSON object", path);
        else if (eos && eos->kind == LAT_JSON_STRING)
            t->eos = lat_tokenizer_find(t, eos->u.string, eos->count);
        else if (eos && eos->kind != LAT_JSON_NULL)
            status = lat_error_set(error, LAT_FORMAT, "%s: eos_token is neither a text nor an object with content", path);
        lat_json_release(&doc);
    }
    lat_file_map_close(&map);
    return status;
}

static enum lat_status open_parts(struct lat_tokenizer *t, const char *path, struct lat_error *error)
{
    bool folder = lat_file_is_folder(path);
    char *file = folder ? lat_file_path_join(path, "tokenizer.json") : lat_mem_copy_text(path, strlen(path));
    char *config = folder ? lat_file_path_join(path, "tokenizer_config.json") : NULL;
    struct lat_file_map map = { 0 };
    enum lat_status status = file && (config || !folder) ? LAT_OK : lat_error_memory(error, "a path");
    if (status == LAT_OK)
        status = lat_file_map_open(&map, file, error);
    if (status == LAT_OK)
        status = lat_tokenizer_parse(t, (const char *)map.bytes, map.length, file, error);
    if (status == LAT_OK && config && lat_file_exists(config))
        status = read_eos(t, config, error);
    lat_file_map_close(&map);
    lat_mem_free(file);
    lat_mem_free(config);
    return status;
}

enum lat_status lat_tokenizer_open(struct lat_tokenizer **out, const char *path, struct lat_error *error)
{
    *out = NULL;
    struct lat_tokenizer *t = lat_mem_new(1, sizeof *t);
    if (!t)
        return lat_error_memory(error, "the tokenizer");
    enum lat_status status = open_parts(t, path, error);
    if (status != LAT_OK) {
        lat_tokenizer_free(t);
        return status;
    }
    *out = t;
    return LAT_OK;
}

void lat_tokenizer_free(struct lat_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    lat_bpe_release(&tokenizer->bpe);
    lat_added_set_release(&tokenizer->contents);
    lat_added_set_release(&tokenizer->raw);
    lat_added_set_release(&tokenizer->normalized);
    lat_regex_free(tokenizer->regex);
    lat_ids_release(&tokenizer->before);
    lat_ids_release(&tokenizer->after);
    lat_mem_free(tokenizer->tokens);
    lat_arena_release(&tokenizer->arena);
    lat_mem_free(tokenizer);
}

size_t lat_tokenizer_size(const struct lat_tokenizer *tokenizer) { return tokenizer->size; }
int32_t lat_tokenizer_eos(const struct lat_tokenizer *tokenizer) { return tokenizer->eos; }

bool lat_tokenizer_has(const struct lat_tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && (size_t)id < tokenizer->size && tokenizer->tokens[id].bytes;
}

bool lat_tokenizer_is_special(const struct lat_tokenizer *tokenizer, int32_t id)
{
    return lat_tokenizer_has(tokenizer, id) && tokenizer->tokens[id].special;
}

int32_t lat_tokenizer_id(const struct lat_tokenizer *tokenizer, const char *content)
{
    return lat_tokenizer_find(tokenizer, content, strlen(content));
}
