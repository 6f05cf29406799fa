// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Reading tokenizer.json. Each part that changes ids is either understood or refused by name; sections that only
// shape batches (truncation, padding) are left aside, as transformers does.
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/json.h"
#include "text/nfc.h"
#include "text/tokenizer_parts.h"

struct reader {
    struct lat_tokenizer *t;
    const char *name;
    struct lat_error *error;
};

typedef const struct lat_json_node node;

enum { MERGE_BYTES_MAX = 4096 };

static enum lat_status refuse(const struct reader *r, const char *field, const char *what)
{
    return lat_error_set(r->error, LAT_FORMAT, "%s: %s %s", r->name, field, what);
}

static enum lat_status unsupported(const struct reader *r, const char *field, node *type)
{
    bool text = type && type->kind == LAT_JSON_STRING;
    return lat_error_set(r->error, LAT_UNSUPPORTED, "%s: %s \"%.*s\" is not supported", r->name, field,
                         text ? (type->count > 60 ? 60 : (int)type->count) : 1, text ? type->u.string : "?");
}

static bool is_null(node *n) { return !n || n->kind == LAT_JSON_NULL; }
static bool is_true(node *n) { return n && n->kind == LAT_JSON_TRUE; }
static bool is_list(node *n) { return n && n->kind == LAT_JSON_ARRAY; }
static bool is_text(node *n) { return n && n->kind == LAT_JSON_STRING; }
static bool type_is(node *n, const char *type) { return lat_json_is_text(lat_json_get(n, "type"), type); }

// A member that is true or false; `otherwise` when it is absent or null. `where` is for messages.
static enum lat_status read_flag(const struct reader *r, node *object, const char *key, bool otherwise, const char *where,
                                 bool *out)
{
    node *n = lat_json_get(object, key);
    *out = is_null(n) ? otherwise : is_true(n);
    if (is_null(n) || n->kind == LAT_JSON_TRUE || n->kind == LAT_JSON_FALSE)
        return LAT_OK;
    return lat_error_set(r->error, LAT_FORMAT, "%s: %s.%s is neither true nor false", r->name, where, key);
}

static bool read_id(node *n, int32_t *id)
{
    if (!n || n->kind != LAT_JSON_INT || n->u.integer < 0 || n->u.integer >= LAT_TOKEN_IDS_MAX)
        return false;
    *id = (int32_t)n->u.integer;
    return true;
}

static enum lat_status refuse_id(const struct reader *r, const char *field, const char *text, size_t length)
{
    return lat_error_set(r->error, LAT_FORMAT, "%s: %s: \"%.*s\" has an id that is no whole number from 0 to %d", r->name,
                         field, length > 60 ? 60 : (int)length, text, LAT_TOKEN_IDS_MAX - 1);
}

// One more than the largest id of the vocabulary and the added tokens.
static enum lat_status count_ids(const struct reader *r, node *vocab, node *added, size_t *size)
{
    int32_t id = 0, largest = -1;
    for (node *n = vocab->u.child; n; n = n->next) {
        if (!read_id(n, &id))
            return refuse_id(r, "model.vocab", n->key, n->key_length);
        largest = id > largest ? id : largest;
    }
    for (node *n = added ? added->u.child : NULL; n; n = n->next) {
        node *content = lat_json_get(n, "content");
        if (!is_text(content))
            return refuse(r, "added_tokens", "has an entry without content");
        if (!read_id(lat_json_get(n, "id"), &id))
            return refuse_id(r, "added_tokens", content->u.string, content->count);
        largest = id > largest ? id : largest;
    }
    *size = (size_t)(largest + 1);
    // Ids far beyond the number of entries would only cost memory.
    if (*size > 65536 + 16 * ((size_t)vocab->count + (added ? added->count : 0)))
        return refuse(r, "model.vocab", "has ids far beyond its number of entries");
    return LAT_OK;
}

// Stores what a token decodes to: its text through the byte alphabet, or the text itself where that does not apply.
static enum lat_status set_token(const struct reader *r, int32_t id, const char *text, size_t length, bool special,
                                 bool *byte_text)
{
    char *bytes = lat_arena_new(&r->t->arena, length + 1, 1);
    if (!bytes)
        return lat_error_memory(r->error, "the vocabulary");
    size_t used = length;
    *byte_text = lat_bpe_text_to_bytes(text, length, bytes, &used);
    if (!*byte_text) {
        memcpy(bytes, text, length);
        used = length;
    }
    r->t->tokens[id] = (struct lat_token){ .bytes = bytes, .length = (uint32_t)used, .special = special,
                                              .byte_text = *byte_text };
    return LAT_OK;
}

static enum lat_status read_vocab(const struct reader *r, node *vocab)
{
    for (node *n = vocab->u.child; n; n = n->next) {
        int32_t id = (int32_t)n->u.integer;
        bool byte_text = false;
        if (r->t->tokens[id].bytes)
            return lat_error_set(r->error, LAT_FORMAT, "%s: model.vocab has id %d twice", r->name, (int)id);
        LAT_TRY(set_token(r, id, n->key, n->key_length, false, &byte_text));
        // Entries outside of the byte alphabet cannot come out of merges; they are there to be decoded.
        if (byte_text && n->key_length)
            lat_bpe_add_piece(&r->t->bpe, r->t->tokens[id].bytes, r->t->tokens[id].length, id);
    }
    return LAT_OK;
}

// "a b" or ["a", "b"]
static bool merge_parts(node *n, const char **left, size_t *left_length, const char **right, size_t *right_length)
{
    if (n->kind == LAT_JSON_STRING) {
        const char *space = n->count ? memchr(n->u.string, ' ', n->count) : NULL;
        if (!space)
            return false;
        *left = n->u.string;
        *left_length = (size_t)(space - n->u.string);
        *right = space + 1;
        *right_length = n->count - *left_length - 1;
        return true;
    }
    if (n->kind != LAT_JSON_ARRAY || n->count != 2 || n->u.child->kind != LAT_JSON_STRING
        || n->u.child->next->kind != LAT_JSON_STRING)
        return false;
    *left = n->u.child->u.string;
    *left_length = n->u.child->count;
    *right = n->u.child->next->u.string;
    *right_length = n->u.child->next->count;
    return true;
}

static enum lat_status read_merge(const struct reader *r, node *n, uint32_t rank)
{
    const char *left, *right;
    size_t left_length, right_length;
    char what[120], both[MERGE_BYTES_MAX];
    snprintf(what, sizeof what, "entry %u is no pair of tokens", (unsigned)rank);
    if (!merge_parts(n, &left, &left_length, &right, &right_length))
        return refuse(r, "model.merges", what);
    snprintf(what, sizeof what, "entry %u makes a token of more than %d bytes", (unsigned)rank, MERGE_BYTES_MAX);
    if (left_length + right_length > sizeof both)
        return refuse(r, "model.merges", what);
    memcpy(both, left, left_length);
    memcpy(both + left_length, right, right_length);
    int32_t a = lat_tokenizer_find(r->t, left, left_length), b = lat_tokenizer_find(r->t, right, right_length);
    int32_t ab = lat_tokenizer_find(r->t, both, left_length + right_length);
    snprintf(what, sizeof what, "entry %u names a token that is not in the vocabulary", (unsigned)rank);
    if (a < 0 || b < 0 || ab < 0)
        return refuse(r, "model.merges", what);
    lat_bpe_add_merge(&r->t->bpe, a, b, rank, ab);
    return LAT_OK;
}

static enum lat_status read_merges(const struct reader *r, node *merges)
{
    uint32_t rank = 0;
    for (node *n = merges->u.child; n; n = n->next)
        LAT_TRY(read_merge(r, n, rank++));
    return LAT_OK;
}

static enum lat_status check_model(const struct reader *r, node *model)
{
    if (!model || model->kind != LAT_JSON_OBJECT)
        return refuse(r, "model", "is missing");
    node *type = lat_json_get(model, "type");
    if (type && !lat_json_is_text(type, "BPE"))
        return unsupported(r, "model.type", type);
    static const char *const off[] = { "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix" };
    double number = 1;
    for (size_t i = 0; i < 4; i++) {
        node *n = lat_json_get(model, off[i]);
        if (!is_null(n) && !lat_json_is_text(n, "") && !(lat_json_to_double(n, &number) && number == 0))
            return lat_error_set(r->error, LAT_UNSUPPORTED, "%s: model.%s is set, which byte-level BPE does not support", r->name,
                                 off[i]);
    }
    bool fallback = false;
    LAT_TRY(read_flag(r, model, "byte_fallback", false, "model", &fallback));
    if (fallback)
        return lat_error_set(r->error, LAT_UNSUPPORTED, "%s: model.byte_fallback is not supported", r->name);
    return LAT_OK;
}

static enum lat_status read_model(const struct reader *r, node *model, node *added)
{
    LAT_TRY(check_model(r, model));
    node *vocab = lat_json_get(model, "vocab"), *merges = lat_json_get(model, "merges");
    if (!vocab || vocab->kind != LAT_JSON_OBJECT)
        return refuse(r, "model.vocab", "is not an object");
    if (!merges || merges->kind != LAT_JSON_ARRAY)
        return refuse(r, "model.merges", "is not a list");
    LAT_TRY(count_ids(r, vocab, added, &r->t->size));
    r->t->tokens = lat_mem_new(r->t->size, sizeof *r->t->tokens);
    if (!r->t->tokens)
        return lat_error_memory(r->error, "the vocabulary");
    LAT_TRY(lat_bpe_init(&r->t->bpe, vocab->count, merges->count, r->error));
    LAT_TRY(read_flag(r, model, "ignore_merges", false, "model", &r->t->bpe.ignore_merges));
    LAT_TRY(read_vocab(r, vocab));
    return read_merges(r, merges);
}

static enum lat_status read_normalizer(const struct reader *r, node *n)
{
    if (is_null(n))
        return LAT_OK;
    if (type_is(n, "NFC")) {
        r->t->nfc = true;
        return LAT_OK;
    }
    node *list = lat_json_get(n, "normalizers");
    if (!type_is(n, "Sequence") || !list || list->kind != LAT_JSON_ARRAY)
        return unsupported(r, "normalizer.type", lat_json_get(n, "type"));
    for (node *part = list->u.child; part; part = part->next) {
        if (!type_is(part, "NFC"))
            return unsupported(r, "normalizer.normalizers.type", lat_json_get(part, "type"));
        r->t->nfc = true;
    }
    return LAT_OK;
}

// Hugging Face numbers added tokens itself, whatever the file says, so a file that says something else is refused rather
// than read differently. `next` is the id of the next token that the vocabulary lacks.
static enum lat_status check_added_id(const struct reader *r, int32_t *next, node *content, int32_t id)
{
    const char *text = content->u.string;
    int shown = content->count > 60 ? 60 : (int)content->count;
    if (lat_added_set_id(&r->t->contents, text, content->count) >= 0)
        return lat_error_set(r->error, LAT_FORMAT, "%s: added_tokens: \"%.*s\" stands twice", r->name, shown, text);
    int32_t known = lat_tokenizer_find(r->t, text, content->count);
    const struct lat_token *token = &r->t->tokens[id];
    bool same = token->bytes && !token->byte_text && token->length == content->count
             && memcmp(token->bytes, text, content->count) == 0;
    int32_t want = known >= 0 ? known : same ? id : *next;
    if (id != want)
        return lat_error_set(r->error, LAT_FORMAT, "%s: added_tokens: \"%.*s\" has id %d where Hugging Face numbers it %d",
                             r->name, shown, text, (int)id, (int)want);
    if (known < 0 && !same && token->bytes)
        return lat_error_set(r->error, LAT_FORMAT, "%s: added_tokens: \"%.*s\" has id %d, which is another token's", r->name,
                             shown, text, (int)id);
    if (id >= *next)
        *next = id + 1;
    return LAT_OK;
}

// Puts a token into the sets and the table. Hugging Face looks for a normalised token by its normalised content, and
// decodes to that too; a special one whose content changes is no longer found special then.
static enum lat_status add_token(const struct reader *r, node *content, const struct lat_added *token, const char *text,
                                 size_t length)
{
    bool byte_text = false;
    bool special = token->special && length == content->count && memcmp(text, content->u.string, length) == 0;
    LAT_TRY(set_token(r, token->id, text, length, special, &byte_text));
    LAT_TRY(lat_added_set_add(&r->t->contents, content->u.string, content->count, token, r->error));
    return lat_added_set_add(token->normalized ? &r->t->normalized : &r->t->raw, text, length, token, r->error);
}

static enum lat_status add_normal_token(const struct reader *r, node *content, const struct lat_added *token)
{
    struct lat_buf normal;
    lat_buf_init(&normal, SIZE_MAX / 4);
    enum lat_status status = lat_nfc_add(&normal, content->u.string, content->count, r->error);
    if (status == LAT_OK)
        status = add_token(r, content, token, normal.bytes, normal.length);
    lat_buf_release(&normal);
    return status;
}

static enum lat_status read_added_token(const struct reader *r, int32_t *next, node *n)
{
    node *content = lat_json_get(n, "content");
    struct lat_added token = { .id = -1 };
    if (!is_text(content) || !read_id(lat_json_get(n, "id"), &token.id))
        return refuse(r, "added_tokens", "has an entry without content or id"); // count_ids has said which
    LAT_TRY(read_flag(r, n, "special", false, "added_tokens", &token.special));
    LAT_TRY(read_flag(r, n, "single_word", false, "added_tokens", &token.single_word));
    LAT_TRY(read_flag(r, n, "lstrip", false, "added_tokens", &token.lstrip));
    LAT_TRY(read_flag(r, n, "rstrip", false, "added_tokens", &token.rstrip));
    LAT_TRY(read_flag(r, n, "normalized", !token.special, "added_tokens", &token.normalized));
    if (content->count == 0)
        return LAT_OK; // Hugging Face leaves it out
    if (content->count > LAT_ADDED_BYTES_MAX)
        return lat_error_set(r->error, LAT_LIMIT, "%s: added_tokens: \"%.30s...\" has %u bytes, at most %d are supported", r->name,
                             content->u.string, (unsigned)content->count, LAT_ADDED_BYTES_MAX);
    LAT_TRY(check_added_id(r, next, content, token.id));
    return token.normalized && r->t->nfc ? add_normal_token(r, content, &token)
                                         : add_token(r, content, &token, content->u.string, content->count);
}

static enum lat_status read_added(const struct reader *r, node *added, size_t vocab_count)
{
    int32_t next = (int32_t)vocab_count;
    for (node *n = added ? added->u.child : NULL; n; n = n->next)
        LAT_TRY(read_added_token(r, &next, n));
    return LAT_OK;
}

static enum lat_status set_pattern(const struct reader *r, const char *pattern, size_t length)
{
    r->t->split = lat_split_recognise(pattern, length);
    if (r->t->split != LAT_SPLIT_REGEX)
        return LAT_OK;
    enum lat_status status = lat_regex_new(&r->t->regex, pattern, length, r->error);
    return status == LAT_OK ? LAT_OK : lat_error_prefix(r->error, status, "%s", r->name);
}

static enum lat_status read_split(const struct reader *r, node *split)
{
    node *pattern = lat_json_get(lat_json_get(split, "pattern"), "Regex");
    if (!type_is(split, "Split"))
        return unsupported(r, "pre_tokenizer.pretokenizers.type", lat_json_get(split, "type"));
    if (!pattern || pattern->kind != LAT_JSON_STRING)
        return refuse(r, "pre_tokenizer pattern", "is not a Regex");
    bool invert = false;
    LAT_TRY(read_flag(r, split, "invert", false, "pre_tokenizer Split", &invert));
    if (invert)
        return lat_error_set(r->error, LAT_UNSUPPORTED, "%s: pre_tokenizer Split with invert true is not supported", r->name);
    if (!lat_json_is_text(lat_json_get(split, "behavior"), "Isolated"))
        return unsupported(r, "pre_tokenizer Split behavior", lat_json_get(split, "behavior"));
    return set_pattern(r, pattern->u.string, pattern->count);
}

// ByteLevel: `alone` when it has to split by GPT-2's pattern itself.
static enum lat_status read_byte_level(const struct reader *r, node *n, bool alone)
{
    if (!type_is(n, "ByteLevel"))
        return unsupported(r, "pre_tokenizer.type", lat_json_get(n, "type"));
    bool prefix = false, regex = false;
    LAT_TRY(read_flag(r, n, "add_prefix_space", true, "pre_tokenizer ByteLevel", &prefix));
    LAT_TRY(read_flag(r, n, "use_regex", true, "pre_tokenizer ByteLevel", &regex));
    if (prefix)
        return lat_error_set(r->error, LAT_UNSUPPORTED, "%s: pre_tokenizer add_prefix_space is not supported", r->name);
    if (regex != alone)
        return lat_error_set(r->error, LAT_UNSUPPORTED, "%s: pre_tokenizer ByteLevel with use_regex %s here is not supported",
                             r->name, regex ? "true" : "false");
    if (alone)
        r->t->split = LAT_SPLIT_GPT2;
    return LAT_OK;
}

static enum lat_status read_pre_tokenizer(const struct reader *r, node *n)
{
    if (!type_is(n, "Sequence"))
        return read_byte_level(r, n, true);
    node *list = lat_json_get(n, "pretokenizers");
    if (is_list(list) && list->count == 1)
        return read_byte_level(r, list->u.child, true);
    if (!is_list(list) || list->count != 2)
        return refuse(r, "pre_tokenizer", "is no sequence of Split and ByteLevel, the only one that is supported");
    LAT_TRY(read_split(r, list->u.child));
    return read_byte_level(r, list->u.child->next, false);
}

// A SpecialToken of a template: its ids, which the template lists apart.
static enum lat_status add_template_ids(const struct reader *r, node *template, node *name, struct lat_ids *out)
{
    node *specials = lat_json_get(template, "special_tokens"), *found = NULL;
    for (node *n = specials && specials->kind == LAT_JSON_OBJECT ? specials->u.child : NULL; n && name; n = n->next)
        if (name->kind == LAT_JSON_STRING && n->key_length == name->count && memcmp(n->key, name->u.string, name->count) == 0)
            found = n;
    node *ids = lat_json_get(found, "ids");
    if (!ids || ids->kind != LAT_JSON_ARRAY)
        return refuse(r, "post_processor", "names a special token that it does not define");
    for (node *n = ids->u.child; n; n = n->next) {
        int32_t id = 0;
        if (!read_id(n, &id) || !lat_tokenizer_has(r->t, id))
            return refuse(r, "post_processor.special_tokens", "has an id that is no token's");
        LAT_TRY(lat_ids_add(out, id, r->error));
    }
    return LAT_OK;
}

static enum lat_status read_template(const struct reader *r, node *template)
{
    node *single = lat_json_get(template, "single");
    if (!single || single->kind != LAT_JSON_ARRAY)
        return refuse(r, "post_processor.single", "is not a list");
    bool seen = false;
    for (node *n = single->u.child; n; n = n->next) {
        node *special = lat_json_get(n, "SpecialToken");
        if (special)
            LAT_TRY(add_template_ids(r, template, lat_json_get(special, "id"), seen ? &r->t->after : &r->t->before));
        seen = seen || lat_json_get(n, "Sequence");
    }
    return LAT_OK;
}

static enum lat_status read_post_processor(const struct reader *r, node *n)
{
    if (is_null(n) || type_is(n, "ByteLevel"))
        return LAT_OK;
    if (type_is(n, "TemplateProcessing"))
        return read_template(r, n);
    node *list = lat_json_get(n, "processors");
    if (!type_is(n, "Sequence") || !list || list->kind != LAT_JSON_ARRAY)
        return unsupported(r, "post_processor.type", lat_json_get(n, "type"));
    for (node *part = list->u.child; part; part = part->next) {
        if (type_is(part, "TemplateProcessing"))
            LAT_TRY(read_template(r, part));
        else if (!type_is(part, "ByteLevel"))
            return unsupported(r, "post_processor.processors.type", lat_json_get(part, "type"));
    }
    return LAT_OK;
}

static enum lat_status read_all(const struct reader *r, node *root)
{
    if (root->kind != LAT_JSON_OBJECT)
        return refuse(r, "the file", "is not an object");
    node *added = lat_json_get(root, "added_tokens"), *decoder = lat_json_get(root, "decoder");
    if (is_null(added))
        added = NULL;
    if (added && added->kind != LAT_JSON_ARRAY)
        return refuse(r, "added_tokens", "is not a list");
    if (!type_is(decoder, "ByteLevel")) // without a decoder, Hugging Face puts spaces between tokens
        return unsupported(r, "decoder.type", lat_json_get(decoder, "type"));
    LAT_TRY(read_model(r, lat_json_get(root, "model"), added));
    LAT_TRY(read_normalizer(r, lat_json_get(root, "normalizer")));
    LAT_TRY(read_added(r, added, lat_json_get(lat_json_get(root, "model"), "vocab")->count));
    LAT_TRY(read_pre_tokenizer(r, lat_json_get(root, "pre_tokenizer")));
    return read_post_processor(r, lat_json_get(root, "post_processor"));
}

enum lat_status lat_tokenizer_parse(struct lat_tokenizer *t, const char *text, size_t length, const char *name,
                                    struct lat_error *error)
{
    struct lat_json doc;
    struct reader r = { .t = t, .name = name, .error = error };
    lat_arena_init(&t->arena, 16 * length + (1 << 20));
    lat_added_set_init(&t->contents);
    lat_added_set_init(&t->raw);
    lat_added_set_init(&t->normalized);
    t->eos = -1;
    LAT_TRY(lat_json_parse(&doc, text, length, name, error));
    enum lat_status status = read_all(&r, doc.root);
    lat_json_release(&doc);
    return status;
}
