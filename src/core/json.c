// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/json.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/utf8.h"

struct parser {
    struct lat_json *doc;
    const char *text;
    size_t length;
    size_t at;
    const char *name;
    struct lat_error *error;
    locale_t c_locale; // numbers have '.' whatever the host program's locale says
};

static enum lat_status fail(struct parser *p, size_t at, const char *what)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < p->length; i++) {
        column++;
        if (p->text[i] == '\n') {
            line++;
            column = 1;
        }
    }
    return lat_error_set(p->error, LAT_FORMAT, "%s: line %zu, column %zu: %s", p->name, line, column, what);
}

static void skip_space(struct parser *p)
{
    while (p->at < p->length && strchr(" \t\r\n", p->text[p->at]) && p->text[p->at])
        p->at++;
}

static int peek(const struct parser *p) { return p->at < p->length ? (unsigned char)p->text[p->at] : -1; }

static bool hex4(const char *text, uint32_t *out)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = text[i];
        uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
                       : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                       : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                              : 16;
        if (digit > 15)
            return false;
        value = value << 4 | digit;
    }
    *out = value;
    return true;
}

// The escape after a backslash at p->at; appends its UTF-8 to out. `end` is the closing quote.
static bool unescape(struct parser *p, size_t end, char *out, size_t *used)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = p->text[p->at++];
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        out[(*used)++] = to[found - from];
        return true;
    }
    uint32_t code = 0, low = 0;
    if (c != 'u' || end - p->at < 4 || !hex4(p->text + p->at, &code))
        return false;
    p->at += 4;
    if (code >= 0xd800 && code < 0xdc00) {
        if (end - p->at < 6 || p->text[p->at] != '\\' || p->text[p->at + 1] != 'u' || !hex4(p->text + p->at + 2, &low)
            || low < 0xdc00 || low > 0xdfff)
            return false;
        p->at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff)
        return false;
    *used += lat_utf8_encode(code, out + *used);
    return true;
}

// Finds the closing quote of the string whose first byte is at p->at.
static enum lat_status string_end(struct parser *p, size_t *end, bool *escaped)
{
    *escaped = false;
    size_t i = p->at;
    for (; i < p->length && p->text[i] != '"'; i++) {
        if ((unsigned char)p->text[i] < 0x20)
            return fail(p, i, "control character in a string");
        if (p->text[i] == '\\') {
            *escaped = true;
            i++;
        }
    }
    if (i >= p->length)
        return fail(p, p->at, "string without an end");
    size_t bad = lat_utf8_check(p->text + p->at, i - p->at);
    if (bad != i - p->at)
        return fail(p, p->at + bad, "string is not UTF-8");
    *end = i;
    return LAT_OK;
}

static enum lat_status parse_string(struct parser *p, const char **string, uint32_t *length)
{
    size_t end = 0;
    bool escaped = false;
    p->at++; // the opening quote
    LAT_TRY(string_end(p, &end, &escaped));
    if (!escaped) {
        *string = p->text + p->at;
        *length = (uint32_t)(end - p->at);
        p->at = end + 1;
        return LAT_OK;
    }
    char *out = lat_arena_new(&p->doc->arena, end - p->at, 1); // an escape is never shorter than its UTF-8
    if (!out)
        return lat_error_memory(p->error, p->name);
    size_t used = 0;
    while (p->at < end) {
        char c = p->text[p->at++];
        if (c != '\\')
            out[used++] = c;
        else if (!unescape(p, end, out, &used))
            return fail(p, p->at, "bad escape in a string");
    }
    *string = out;
    *length = (uint32_t)used;
    p->at = end + 1;
    return LAT_OK;
}

static size_t skip_digits(const struct parser *p, size_t at)
{
    while (at < p->length && p->text[at] >= '0' && p->text[at] <= '9')
        at++;
    return at;
}

// Checks the grammar of a number at p->at; returns its end, or 0.
static size_t number_end(const struct parser *p, bool *integer)
{
    size_t at = p->at + (p->text[p->at] == '-');
    size_t digits = skip_digits(p, at);
    if (digits == at || (p->text[at] == '0' && digits > at + 1))
        return 0;
    at = digits;
    *integer = true;
    if (at < p->length && p->text[at] == '.') {
        *integer = false;
        digits = skip_digits(p, at + 1);
        if (digits == at + 1)
            return 0;
        at = digits;
    }
    if (at < p->length && (p->text[at] == 'e' || p->text[at] == 'E')) {
        *integer = false;
        at++;
        if (at < p->length && (p->text[at] == '+' || p->text[at] == '-'))
            at++;
        digits = skip_digits(p, at);
        if (digits == at)
            return 0;
        at = digits;
    }
    return at;
}

static bool to_int64(const char *text, size_t length, int64_t *out)
{
    bool negative = text[0] == '-';
    int64_t value = 0;
    for (size_t i = negative; i < length; i++) {
        int64_t digit = text[i] - '0';
        if (__builtin_mul_overflow(value, (int64_t)10, &value)
            || __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *out = value;
    return true;
}

static enum lat_status parse_number(struct parser *p, struct lat_json_node *node)
{
    bool integer = false;
    size_t start = p->at, end = number_end(p, &integer);
    if (end == 0)
        return fail(p, start, "bad number");
    p->at = end;
    if (integer && to_int64(p->text + start, end - start, &node->u.integer)) {
        node->kind = LAT_JSON_INT;
        return LAT_OK;
    }
    char digits[400]; // longer numbers exist only in hostile files
    if (end - start >= sizeof digits)
        return fail(p, start, "number of more than 400 characters");
    memcpy(digits, p->text + start, end - start);
    digits[end - start] = '\0';
    node->kind = LAT_JSON_DOUBLE;
    node->u.number = strtod_l(digits, NULL, p->c_locale);
    return isfinite(node->u.number) ? LAT_OK : fail(p, start, "number too large");
}

static enum lat_status parse_word(struct parser *p, struct lat_json_node *node)
{
    static const struct {
        const char *word;
        enum lat_json_kind kind;
    } words[] = { { "null", LAT_JSON_NULL }, { "false", LAT_JSON_FALSE }, { "true", LAT_JSON_TRUE } };
    for (size_t i = 0; i < 3; i++) {
        size_t length = strlen(words[i].word);
        if (p->length - p->at >= length && memcmp(p->text + p->at, words[i].word, length) == 0) {
            node->kind = (uint8_t)words[i].kind;
            p->at += length;
            return LAT_OK;
        }
    }
    return fail(p, p->at, p->at < p->length ? "unexpected character" : "unexpected end");
}

static uint64_t key_hash(const char *key, size_t length)
{
    uint64_t h = 0xcbf29ce484222325u; // FNV-1a
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)key[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

static bool same_key(const struct lat_json_node *a, const struct lat_json_node *b)
{
    return a->key_length == b->key_length && (a->key_length == 0 || memcmp(a->key, b->key, a->key_length) == 0);
}

// A doubled key is how a file says one thing to a scanner and another to a loader: refused.
static enum lat_status check_unique_keys(struct parser *p, const struct lat_json_node *object)
{
    if (object->count < 2)
        return LAT_OK;
    size_t slots = 4;
    while (slots < (size_t)object->count * 2)
        slots *= 2;
    const struct lat_json_node **table = lat_mem_new(slots, sizeof *table);
    if (!table)
        return lat_error_memory(p->error, p->name);
    enum lat_status status = LAT_OK;
    for (const struct lat_json_node *n = object->u.child; n && status == LAT_OK; n = n->next) {
        size_t slot = key_hash(n->key, n->key_length) & (slots - 1);
        while (table[slot] && !same_key(table[slot], n))
            slot = (slot + 1) & (slots - 1);
        if (table[slot]) {
            char what[160];
            snprintf(what, sizeof what, "key \"%.*s\" stands twice in one object",
                     n->key_length > 100 ? 100 : (int)n->key_length, n->key);
            status = fail(p, n->offset, what);
        }
        table[slot] = n;
    }
    lat_mem_free(table);
    return status;
}

static enum lat_status parse_value(struct parser *p, struct lat_json_node *node, int depth);

// One member or element: optional key, then the value.
static enum lat_status parse_entry(struct parser *p, struct lat_json_node *node, bool keyed, int depth)
{
    skip_space(p);
    if (keyed) {
        if (peek(p) != '"')
            return fail(p, p->at, "expected a key in double quotes");
        LAT_TRY(parse_string(p, &node->key, &node->key_length));
        skip_space(p);
        if (peek(p) != ':')
            return fail(p, p->at, "expected ':' after a key");
        p->at++;
    }
    return parse_value(p, node, depth + 1);
}

static enum lat_status parse_container(struct parser *p, struct lat_json_node *node, int depth)
{
    bool keyed = p->text[p->at] == '{';
    int close = keyed ? '}' : ']';
    if (depth >= LAT_JSON_DEPTH_MAX)
        return fail(p, p->at, "nested too deeply");
    node->kind = keyed ? LAT_JSON_OBJECT : LAT_JSON_ARRAY;
    p->at++;
    skip_space(p);
    if (peek(p) == close) {
        p->at++;
        return LAT_OK;
    }
    const struct lat_json_node **link = &node->u.child;
    for (;;) {
        struct lat_json_node *entry = lat_arena_new(&p->doc->arena, 1, sizeof *entry);
        if (!entry)
            return lat_error_memory(p->error, p->name);
        LAT_TRY(parse_entry(p, entry, keyed, depth));
        *link = entry;
        link = &entry->next;
        node->count++;
        skip_space(p);
        int c = peek(p);
        if (c != ',' && c != close)
            return fail(p, p->at, keyed ? "expected ',' or '}'" : "expected ',' or ']'");
        p->at++;
        if (c == close)
            return keyed ? check_unique_keys(p, node) : LAT_OK;
    }
}

static enum lat_status parse_value(struct parser *p, struct lat_json_node *node, int depth)
{
    skip_space(p);
    node->offset = (uint32_t)p->at;
    int c = peek(p);
    if (c == '{' || c == '[')
        return parse_container(p, node, depth);
    if (c == '"') {
        node->kind = LAT_JSON_STRING;
        return parse_string(p, &node->u.string, &node->count);
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return parse_number(p, node);
    return parse_word(p, node);
}

enum lat_status lat_json_parse(struct lat_json *doc, const char *text, size_t length, const char *name,
                               struct lat_error *error)
{
    *doc = (struct lat_json){ 0 };
    if (length > UINT32_MAX / 2)
        return lat_error_set(error, LAT_LIMIT, "%s: more than 2 GiB of JSON", name);
    // A node is made per value, and a value takes at least two bytes ("0,"): the factor bounds a hostile file.
    lat_arena_init(&doc->arena, length * sizeof(struct lat_json_node) + 65536);
    struct parser p = { .doc = doc, .text = text, .length = length, .name = name, .error = error };
    p.c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!p.c_locale)
        return lat_error_memory(error, "a locale");
    struct lat_json_node *root = lat_arena_new(&doc->arena, 1, sizeof *root);
    enum lat_status status = root ? parse_value(&p, root, 0) : lat_error_memory(error, name);
    if (status == LAT_OK) {
        skip_space(&p);
        if (p.at != length)
            status = fail(&p, p.at, "text after the value");
    }
    freelocale(p.c_locale);
    doc->root = root;
    if (status != LAT_OK)
        lat_json_release(doc);
    return status;
}

void lat_json_release(struct lat_json *doc)
{
    lat_arena_release(&doc->arena);
    doc->root = NULL;
}

const struct lat_json_node *lat_json_get(const struct lat_json_node *node, const char *key)
{
    if (!node || node->kind != LAT_JSON_OBJECT)
        return NULL;
    size_t length = strlen(key);
    for (const struct lat_json_node *n = node->u.child; n; n = n->next)
        if (n->key_length == length && memcmp(n->key, key, length) == 0)
            return n;
    return NULL;
}

bool lat_json_is_text(const struct lat_json_node *node, const char *text)
{
    return node && node->kind == LAT_JSON_STRING && node->count == strlen(text)
        && memcmp(node->u.string, text, node->count) == 0;
}

bool lat_json_to_double(const struct lat_json_node *node, double *out)
{
    if (!node || (node->kind != LAT_JSON_INT && node->kind != LAT_JSON_DOUBLE))
        return false;
    *out = node->kind == LAT_JSON_INT ? (double)node->u.integer : node->u.number;
    return true;
}

void lat_json_add_string(struct lat_buf *out, const char *text, size_t length)
{
    lat_buf_add_char(out, '"');
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        size_t size = lat_utf8_decode(text + at, length - at, &code);
        if (size == 0) {
            lat_buf_add_text(out, "\xef\xbf\xbd");
            size = 1;
        } else if (code == '"' || code == '\\')
            lat_buf_addf(out, "\\%c", (char)code);
        else if (code == '\n')
            lat_buf_add_text(out, "\\n");
        else if (code < 0x20 || code == 0x7f)
            lat_buf_addf(out, "\\u%04x", (unsigned)code);
        else
            lat_buf_add(out, text + at, size);
        at += size;
    }
    lat_buf_add_char(out, '"');
}

void lat_json_add_double(struct lat_buf *out, double value)
{
    if (!isfinite(value)) {
        lat_buf_add_text(out, "null");
        return;
    }
    char digits[40];
    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) // the same locale on both sides
            break;
    }
    bool point = false;
    for (const char *c = digits; *c; c++) {
        if (strchr("+-0123456789e", *c)) {
            lat_buf_add_char(out, *c);
            point = false;
        } else if (!point) { // the locale's decimal point, one byte or more
            lat_buf_add_char(out, '.');
            point = true;
        }
    }
}
