// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/c_tokens.h"

#include <string.h>

#include "core/error.h"

struct lexer {
    struct lat_c_tokens *t;
    const char *at, *end;
    struct lat_arena *arena;
    bool line_start; // only blanks since the line began
    bool directive;  // within one
    struct lat_error *error;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Lines that end with a backslash go on in the next. NUL bytes become blanks.
static enum lat_status join_lines(struct lexer *x, const char *text, size_t length)
{
    char *out = lat_mem_new(length + 1, 1);
    size_t n = 0;
    if (!out)
        return lat_error_memory(x->error, "a source");
    for (size_t i = 0; i < length; i++) {
        size_t k = i + 1;
        while (text[i] == '\\' && k < length && (text[k] == ' ' || text[k] == '\r' || text[k] == '\t'))
            k++;
        if (text[i] == '\\' && k < length && text[k] == '\n')
            i = k;
        else
            out[n++] = text[i] ? text[i] : ' ';
    }
    x->t->text = out;
    x->at = out;
    x->end = out + n;
    return LAT_OK;
}

static enum lat_status add_word(struct lexer *x, const char *at, size_t length)
{
    struct lat_c_tokens *t = x->t;
    if (t->word_count == t->word_capacity) {
        size_t capacity = t->word_capacity ? 2 * t->word_capacity : 512;
        struct lat_c_word *grown = lat_mem_grow(t->words, capacity, sizeof *grown);
        if (!grown)
            return lat_error_memory(x->error, "words of a source");
        t->words = grown;
        t->word_capacity = capacity;
    }
    t->words[t->word_count++] = (struct lat_c_word){ at, length };
    return LAT_OK;
}

static void skip_blanks(struct lexer *x)
{
    while (x->at < x->end) {
        if (*x->at == ' ' || *x->at == '\t' || *x->at == '\r' || *x->at == '\v' || *x->at == '\f')
            x->at++;
        else if (x->end - x->at > 1 && x->at[0] == '/' && x->at[1] == '*') {
            const char *close = memmem(x->at + 2, (size_t)(x->end - x->at) - 2, "*/", 2);
            x->at = close ? close + 2 : x->end;
        } else
            return;
    }
}

// "name" or <name>; computed when it is neither.
static enum lat_status read_include(struct lexer *x, bool next)
{
    struct lat_c_tokens *t = x->t;
    skip_blanks(x);
    char close = x->at == x->end ? 0 : *x->at == '"' ? '"' : *x->at == '<' ? '>' : 0;
    const char *end = close ? memchr(x->at + 1, close, (size_t)(x->end - x->at) - 1) : NULL;
    if (!end || memchr(x->at, '\n', (size_t)(end - x->at))) {
        t->computed = true;
        return LAT_OK;
    }
    size_t length = (size_t)(end - x->at) - 1;
    char *name = lat_arena_new(x->arena, length + 1, 1);
    if (t->include_count == t->include_capacity) {
        size_t capacity = t->include_capacity ? 2 * t->include_capacity : 16;
        struct lat_c_include *more = lat_arena_new(x->arena, capacity, sizeof *more);
        if (more && t->include_count)
            memcpy(more, t->includes, t->include_count * sizeof *more);
        t->includes = more;
        t->include_capacity = capacity;
    }
    if (!name || !t->includes)
        return lat_error_memory(x->error, "includes of a source");
    memcpy(name, x->at + 1, length);
    t->includes[t->include_count++] = (struct lat_c_include){ name, close == '"', next };
    x->at = end + 1;
    return LAT_OK;
}

static bool holds(const char *at, size_t length, const char *what) { return memmem(at, length, what, strlen(what)) != NULL; }

// A string or character literal, which ends on its line. What inline assembler would read is noticed.
static void skip_literal(struct lexer *x)
{
    const char *start = x->at;
    char quote = *x->at++;
    while (x->at < x->end && *x->at != quote && *x->at != '\n')
        x->at += *x->at == '\\' && x->end - x->at > 1 ? 2 : 1;
    x->at = x->at < x->end && *x->at == quote ? x->at + 1 : x->at > x->end ? x->end : x->at;
    size_t length = (size_t)(x->at - start);
    if (holds(start, length, ".incbin") || holds(start, length, ".include"))
        x->t->unknowable = true;
}

// R"delimiter( ... )delimiter", from the quote on.
static void skip_raw_literal(struct lexer *x)
{
    char close[20] = ")";
    const char *open = memchr(x->at, '(', (size_t)(x->end - x->at));
    size_t length = open ? (size_t)(open - x->at) - 1 : 0;
    if (!open || length > 16) {
        skip_literal(x);
        return;
    }
    memcpy(close + 1, x->at + 1, length);
    close[1 + length] = '"';
    const char *end = memmem(open, (size_t)(x->end - open), close, length + 2);
    x->at = end ? end + length + 2 : x->end;
}

static bool word_is(const char *at, size_t length, const char *word) { return strlen(word) == length && memcmp(at, word, length) == 0; }

static enum lat_status read_word(struct lexer *x)
{
    const char *start = x->at;
    while (x->at < x->end && (is_letter(*x->at) || is_digit(*x->at)))
        x->at++;
    size_t length = (size_t)(x->at - start);
    LAT_TRY(add_word(x, start, length));
    if (x->at < x->end && *x->at == '"' && start[length - 1] == 'R' && length <= 3)
        skip_raw_literal(x);
    if (start > x->t->text && start[-1] == '.' && (word_is(start, length, "incbin") || word_is(start, length, "include")))
        x->t->unknowable = true;
    if (!x->directive || (!word_is(start, length, "__has_include") && !word_is(start, length, "__has_include_next")))
        return LAT_OK;
    skip_blanks(x);
    if (x->at == x->end || *x->at != '(')
        return LAT_OK; // "defined __has_include"
    x->at++;
    return read_include(x, length > strlen("__has_include"));
}

static enum lat_status read_number(struct lexer *x)
{
    const char *start = x->at;
    while (x->at < x->end) {
        char c = *x->at, before = x->at > start ? x->at[-1] : 0;
        bool sign = (c == '+' || c == '-') && x->at > start && strchr("eEpP", before);
        bool separator = c == '\'' && x->end - x->at > 1 && (is_letter(x->at[1]) || is_digit(x->at[1]));
        if (!is_letter(c) && !is_digit(c) && c != '.' && !sign && !separator)
            break;
        x->at++;
    }
    return add_word(x, start, (size_t)(x->at - start));
}

static enum lat_status read_directive(struct lexer *x)
{
    x->at++;
    x->directive = true;
    skip_blanks(x);
    const char *start = x->at;
    while (x->at < x->end && is_letter(*x->at))
        x->at++;
    size_t length = (size_t)(x->at - start);
    if (word_is(start, length, "embed"))
        x->t->unknowable = true;
    bool next = word_is(start, length, "include_next");
    return next || word_is(start, length, "include") || word_is(start, length, "import") ? read_include(x, next) : LAT_OK;
}

static enum lat_status read_token(struct lexer *x)
{
    char c = *x->at, after = x->end - x->at > 1 ? x->at[1] : 0;
    bool line_start = x->line_start;
    x->line_start = false;
    if (c == '\n') {
        x->at++;
        x->line_start = true;
        x->directive = false;
    } else if (c == '/' && after == '/') {
        const char *end = memchr(x->at, '\n', (size_t)(x->end - x->at));
        x->at = end ? end : x->end;
    } else if (c == '#' && line_start)
        return read_directive(x);
    else if (c == '%' && after == ':' && line_start) { // another spelling of '#': left to the preprocessor
        x->t->computed = true;
        x->at += 2;
    }
    else if ((c == '#' && after == '#') || (c == '%' && after == ':')) {
        x->t->pastes = true;
        x->at += 2;
    } else if (c == '"' || c == '\'')
        skip_literal(x);
    else if (is_letter(c))
        return read_word(x);
    else if (is_digit(c) || (c == '.' && is_digit(after)))
        return read_number(x);
    else
        x->at++;
    return LAT_OK;
}

enum lat_status lat_c_tokens_read(struct lat_c_tokens *tokens, const char *text, size_t length, struct lat_arena *arena,
                                  struct lat_error *error)
{
    struct lexer x = { .t = tokens, .arena = arena, .line_start = true, .error = error };
    *tokens = (struct lat_c_tokens){ 0 };
    enum lat_status status = join_lines(&x, text, length);
    while (status == LAT_OK) {
        skip_blanks(&x);
        if (x.at >= x.end)
            break;
        status = read_token(&x);
    }
    if (status != LAT_OK)
        lat_c_tokens_release(tokens);
    return status;
}

void lat_c_tokens_release(struct lat_c_tokens *tokens)
{
    lat_mem_free(tokens->words);
    lat_mem_free(tokens->text);
    tokens->words = NULL;
    tokens->text = NULL;
}
