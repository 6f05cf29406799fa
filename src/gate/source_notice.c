// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/source_notice.h"

#include <string.h>
#include <strings.h>

enum style { STYLE_NONE, STYLE_C, STYLE_HASH };
enum { BLOCK_MAX = 8192 };

static enum style style_of(const char *path)
{
    static const struct { const char *extension; enum style style; } styles[] = {
        { "c", STYLE_C },      { "h", STYLE_C },    { "cc", STYLE_C },   { "cpp", STYLE_C }, { "cxx", STYLE_C },
        { "hh", STYLE_C },     { "hpp", STYLE_C },  { "hxx", STYLE_C },  { "inl", STYLE_C }, { "inc", STYLE_C },
        { "s", STYLE_C },      { "m", STYLE_C },    { "mm", STYLE_C },   { "cu", STYLE_C },  { "cl", STYLE_C },
        { "y", STYLE_C },      { "l", STYLE_C },    { "js", STYLE_C },   { "ts", STYLE_C },  { "go", STYLE_C },
        { "rs", STYLE_C },     { "java", STYLE_C }, { "metal", STYLE_C }, { "py", STYLE_HASH }, { "sh", STYLE_HASH },
        { "cmake", STYLE_HASH }, { "mk", STYLE_HASH }, { "pl", STYLE_HASH }, { "rb", STYLE_HASH }, { "awk", STYLE_HASH },
        { "tcl", STYLE_HASH }, { "m4", STYLE_HASH }, { "ac", STYLE_HASH }, { "am", STYLE_HASH }, { "toml", STYLE_HASH },
        { "yaml", STYLE_HASH }, { "yml", STYLE_HASH },
    };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    if (strcmp(name, "CMakeLists.txt") == 0 || strcmp(name, "Makefile") == 0 || strcmp(name, "configure") == 0)
        return STYLE_HASH;
    for (size_t i = 0; dot && i < sizeof styles / sizeof styles[0]; i++)
        if (strcasecmp(dot + 1, styles[i].extension) == 0)
            return styles[i].style;
    return STYLE_NONE;
}

bool lat_source_notice_knows(const char *path) { return style_of(path) != STYLE_NONE; }

// One comment, its lines joined by single spaces, so that a phrase is found across a line's end.
struct scan {
    lat_notice_fn found;
    void *context;
    char block[BLOCK_MAX];
    size_t used, first_line, last_line;
};

static bool has(const char *text, size_t length, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= length; i++)
        if (strncasecmp(text + i, word, n) == 0)
            return true;
    return false;
}

static void end_block(struct scan *s)
{
    static const char *const families[][2] = {
        { "GNU Affero General Public License", "AGPL" }, { "GNU Lesser General Public License", "LGPL" },
        { "GNU Library General Public License", "LGPL" }, { "GNU General Public License", "GPL" },
    };
    for (size_t i = 0; i < 4 && has(s->block, s->used, "under "); i++)
        if (has(s->block, s->used, families[i][0])) {
            struct lat_notice n = { LAT_NOTICE_GNU, families[i][1], strlen(families[i][1]), s->first_line };
            s->found(s->context, &n);
            break;
        }
    s->used = 0;
}

static bool is_decoration(char c) { return c == ' ' || c == '\t' || c == '*' || c == '/' || c == '#' || c == '!' || c == '\r'; }

// A line inside a comment, without the marks that begin it.
static void add_line(struct scan *s, const char *text, size_t length, size_t line)
{
    static const char tag[] = "SPDX-License-Identifier:";
    while (length && is_decoration(*text)) {
        text++;
        length--;
    }
    while (length && is_decoration(text[length - 1]))
        length--;
    if (length >= sizeof tag - 1 && strncasecmp(text, tag, sizeof tag - 1) == 0) {
        const char *value = text + sizeof tag - 1;
        size_t n = length - (sizeof tag - 1);
        while (n && (*value == ' ' || *value == '\t')) {
            value++;
            n--;
        }
        struct lat_notice notice = { LAT_NOTICE_TAG, value, n, line };
        s->found(s->context, &notice);
    } else if (length > 10 && strncasecmp(text, "copyright ", 10) == 0) {
        struct lat_notice notice = { LAT_NOTICE_COPYRIGHT, text, length, line };
        s->found(s->context, &notice);
    }
    if (s->used == 0)
        s->first_line = line;
    s->last_line = line;
    size_t room = BLOCK_MAX - s->used;
    if (length && room > 1) {
        size_t n = length < room - 1 ? length : room - 1;
        memcpy(s->block + s->used, text, n);
        s->block[s->used + n] = ' ';
        s->used += n + 1;
    }
}

static size_t line_end(const char *text, size_t at, size_t length)
{
    const char *end = memchr(text + at, '\n', length - at);
    return end ? (size_t)(end - text) : length;
}

static void scan_hash(struct scan *s, const char *text, size_t length)
{
    size_t line = 1;
    for (size_t at = 0; at < length; line++) {
        size_t end = line_end(text, at, length), i = at;
        while (i < end && (text[i] == ' ' || text[i] == '\t'))
            i++;
        if (i < end && (text[i] == '#' || strncmp(text + i, "dnl ", end - i < 4 ? end - i : 4) == 0))
            add_line(s, text + i, end - i, line);
        else
            end_block(s);
        at = end + 1;
    }
    end_block(s);
}

// Steps over a string or character constant; an unclosed one ends with its line.
static size_t skip_quoted(const char *text, size_t at, size_t length)
{
    char quote = text[at++];
    while (at < length && text[at] != quote && text[at] != '\n')
        at += text[at] == '\\' && at + 1 < length ? 2 : 1;
    return at < length && text[at] == quote ? at + 1 : at;
}

// From "/*" to behind "*/", line by line.
static size_t scan_block(struct scan *s, const char *text, size_t at, size_t length, size_t *line)
{
    const char *close = memmem(text + at + 2, length - at - 2, "*/", 2);
    size_t end = close ? (size_t)(close - text) : length;
    for (size_t i = at + 2; i < end; ++*line) {
        size_t stop = line_end(text, i, end);
        add_line(s, text + i, stop - i, *line);
        i = stop + 1;
        if (stop == end)
            break;
    }
    end_block(s);
    return close ? end + 2 : length;
}

static void scan_c(struct scan *s, const char *text, size_t length)
{
    size_t line = 1, at = 0;
    while (at < length) {
        char c = text[at];
        if (c == '/' && at + 1 < length && text[at + 1] == '/') {
            size_t end = line_end(text, at, length);
            if (s->used && s->last_line + 1 != line)
                end_block(s);
            add_line(s, text + at, end - at, line);
            at = end;
        } else if (c == '/' && at + 1 < length && text[at + 1] == '*') {
            end_block(s);
            at = scan_block(s, text, at, length, &line);
        } else if (c == '"' || c == '\'') {
            at = skip_quoted(text, at, length);
        } else {
            line += c == '\n';
            at++;
        }
    }
    end_block(s);
}

void lat_source_notice_scan(const char *path, const char *text, size_t length, lat_notice_fn found, void *context)
{
    struct scan s = { .found = found, .context = context };
    enum style style = style_of(path);
    if (style == STYLE_C)
        scan_c(&s, text, length);
    else if (style == STYLE_HASH)
        scan_hash(&s, text, length);
}
