// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "text/split.h"

#include <stdint.h>
#include <string.h>

#include "core/utf8.h"
#include "text/unicode_tables.h"

static const char pattern_qwen35[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*"
    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
static const char pattern_qwen2[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

static const char pattern_gpt2[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

enum lat_split_kind lat_split_recognise(const char *pattern, size_t length)
{
    if (length == sizeof pattern_qwen35 - 1 && memcmp(pattern, pattern_qwen35, length) == 0)
        return LAT_SPLIT_QWEN35;
    if (length == sizeof pattern_qwen2 - 1 && memcmp(pattern, pattern_qwen2, length) == 0)
        return LAT_SPLIT_QWEN2;
    if (length == sizeof pattern_gpt2 - 1 && memcmp(pattern, pattern_gpt2, length) == 0)
        return LAT_SPLIT_GPT2;
    return LAT_SPLIT_REGEX;
}

struct scan {
    const char *text;
    size_t length;
    bool marks_join; // Qwen3.5: combining marks belong to words
};

struct symbol {
    uint32_t code;
    size_t size; // 0 at the end of the text
    enum lat_unicode_class class;
};

static enum lat_unicode_class class_of(uint32_t code)
{
    if (code < 0x80) {
        if ((code | 0x20) >= 'a' && (code | 0x20) <= 'z')
            return LAT_CLASS_LETTER;
        if (code >= '0' && code <= '9')
            return LAT_CLASS_NUMBER;
        return code == ' ' || (code >= 9 && code <= 13) ? LAT_CLASS_SPACE : LAT_CLASS_OTHER;
    }
    return lat_unicode_class(code);
}

static struct symbol symbol_at(const struct scan *s, size_t at)
{
    struct symbol symbol = { 0 };
    if (at >= s->length)
        return symbol;
    symbol.size = lat_utf8_decode(s->text + at, s->length - at, &symbol.code);
    symbol.class = class_of(symbol.code);
    return symbol;
}

static bool is_newline(struct symbol c) { return c.size && (c.code == '\r' || c.code == '\n'); }
static bool is_word(const struct scan *s, struct symbol c)
{
    return c.size && (c.class == LAT_CLASS_LETTER || (s->marks_join && c.class == LAT_CLASS_MARK));
}
static bool is_sign(const struct scan *s, struct symbol c)
{
    return c.size && (c.class == LAT_CLASS_OTHER || (!s->marks_join && c.class == LAT_CLASS_MARK));
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d). Under Unicode folding U+017F (long s) is an s too.
static size_t contraction(const struct scan *s)
{
    if (s->text[0] != '\'' || s->length < 2)
        return 0;
    if (s->length >= 3 && (unsigned char)s->text[1] == 0xc5 && (unsigned char)s->text[2] == 0xbf)
        return 3;
    char a = (char)(s->text[1] | 0x20), b = s->length > 2 ? (char)(s->text[2] | 0x20) : 0;
    if (a == 's' || a == 't' || a == 'm' || a == 'd')
        return 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

static size_t word_end(const struct scan *s, size_t at)
{
    for (struct symbol c = symbol_at(s, at); is_word(s, c); c = symbol_at(s, at))
        at += c.size;
    return at;
}

// [^\r\n\p{L}\p{N}]?[word]+
static size_t word(const struct scan *s, struct symbol first)
{
    bool prefix = !is_newline(first) && first.class != LAT_CLASS_LETTER && first.class != LAT_CLASS_NUMBER;
    if (prefix && is_word(s, symbol_at(s, first.size)))
        return word_end(s, first.size);
    return is_word(s, first) ? word_end(s, 0) : 0;
}

//  ?[sign]+[\r\n]*
static size_t signs(const struct scan *s, struct symbol first)
{
    size_t at = first.code == ' ' ? 1 : 0;
    struct symbol c = symbol_at(s, at);
    if (!is_sign(s, c))
        return 0;
    for (; is_sign(s, c); c = symbol_at(s, at))
        at += c.size;
    for (; is_newline(c); c = symbol_at(s, at))
        at += c.size;
    return at;
}

// \s+(?!\S)|\s+ over a run of white space: all of it at the end of the text, else all but its last character; with
// `lines`, \s*[\r\n]+ goes before: up to the last newline.
static size_t spaces(const struct scan *s, struct symbol first, bool lines)
{
    size_t at = 0, last_newline = 0, before_last = 0;
    for (struct symbol c = first; c.size && c.class == LAT_CLASS_SPACE; c = symbol_at(s, at)) {
        before_last = at;
        at += c.size;
        if (is_newline(c))
            last_newline = at;
    }
    if (lines && last_newline)
        return last_newline;
    return at < s->length && before_last > 0 ? before_last : at;
}

static size_t qwen_next(const struct scan *s, struct symbol first)
{
    size_t size = contraction(s);
    if (!size)
        size = word(s, first);
    if (!size && first.class == LAT_CLASS_NUMBER)
        size = first.size;
    if (!size)
        size = signs(s, first);
    return size ? size : spaces(s, first, true);
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+, marks being signs
static size_t gpt2_next(const struct scan *s, struct symbol first)
{
    static const char *const tails[] = { "s", "t", "re", "ve", "m", "ll", "d" };
    for (size_t i = 0; first.code == '\'' && i < sizeof tails / sizeof tails[0]; i++) {
        size_t length = strlen(tails[i]);
        if (s->length > length && memcmp(s->text + 1, tails[i], length) == 0)
            return 1 + length;
    }
    size_t at = first.code == ' ' ? 1 : 0;
    struct symbol c = symbol_at(s, at), kind = c;
    if (!c.size || c.class == LAT_CLASS_SPACE)
        return spaces(s, first, false);
    while (c.size && (c.class == kind.class || (is_sign(s, c) && is_sign(s, kind)))) {
        at += c.size;
        c = symbol_at(s, at);
    }
    return at;
}

size_t lat_split_next(enum lat_split_kind kind, const char *text, size_t length)
{
    struct scan s = { .text = text, .length = length, .marks_join = kind == LAT_SPLIT_QWEN35 };
    struct symbol first = symbol_at(&s, 0);
    return kind == LAT_SPLIT_GPT2 ? gpt2_next(&s, first) : qwen_next(&s, first);
}
