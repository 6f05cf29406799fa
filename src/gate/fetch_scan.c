// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/fetch_scan.h"

#include <string.h>
#include <strings.h>

#include "core/error.h"

enum { ARGUMENTS_MAX = 512, NESTING_MAX = 64 };

struct command {
    const char *name;
    const char *arguments[ARGUMENTS_MAX];
    size_t count, line;
};

struct scan {
    const char *path, *text;
    size_t at, length, line;
    struct lat_arena *arena;
    struct command command;
    struct lat_error *error;
};

static enum lat_status unclosed(const struct scan *s, const char *what, size_t line)
{
    return lat_error_set(s->error, LAT_FORMAT, "%s:%zu: %s is not closed", s->path, line, what);
}

static enum lat_status keep(struct scan *s, size_t from, size_t to, const char **out)
{
    char *copy = lat_arena_new(s->arena, to - from + 1, 1);
    if (!copy)
        return lat_error_memory(s->error, "a CMake command");
    memcpy(copy, s->text + from, to - from);
    *out = copy;
    return LAT_OK;
}

static enum lat_status add_argument(struct scan *s, size_t from, size_t to)
{
    if (s->command.count == ARGUMENTS_MAX)
        return LAT_OK; // long lists of sources; what we look for stands early
    return keep(s, from, to, &s->command.arguments[s->command.count++]);
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// "[[" or "[=[" at `at`: the number of '=' plus one; 0 when it is no bracket.
static size_t bracket_width(const struct scan *s, size_t at)
{
    size_t n = 1;
    if (at >= s->length || s->text[at] != '[')
        return 0;
    while (at + n < s->length && s->text[at + n] == '=')
        n++;
    return at + n < s->length && s->text[at + n] == '[' ? n : 0;
}

static enum lat_status read_bracket(struct scan *s, size_t width, bool is_argument)
{
    size_t from = s->at + width + 1, started = s->line;
    for (size_t i = from; i < s->length; i++) {
        s->line += s->text[i] == '\n';
        if (s->text[i] != ']' || i + width >= s->length || s->text[i + width] != ']')
            continue;
        size_t n = 1;
        while (n < width && s->text[i + n] == '=')
            n++;
        if (n == width) {
            s->at = i + width + 1;
            return is_argument ? add_argument(s, from, i) : LAT_OK;
        }
    }
    return unclosed(s, "a bracket", started);
}

static enum lat_status skip_comment(struct scan *s)
{
    size_t width = bracket_width(s, s->at + 1);
    if (width) {
        s->at++;
        return read_bracket(s, width, false);
    }
    while (s->at < s->length && s->text[s->at] != '\n')
        s->at++;
    return LAT_OK;
}

static enum lat_status read_quoted(struct scan *s)
{
    size_t from = ++s->at, started = s->line;
    for (; s->at < s->length && s->text[s->at] != '"'; s->at++) {
        s->line += s->text[s->at] == '\n';
        if (s->text[s->at] == '\\' && s->at + 1 < s->length)
            s->line += s->text[++s->at] == '\n';
    }
    if (s->at >= s->length)
        return unclosed(s, "a quoted text", started);
    return add_argument(s, from, s->at++);
}

static enum lat_status read_plain(struct scan *s)
{
    size_t from = s->at;
    while (s->at < s->length && !is_space(s->text[s->at]) && !strchr("()\"#", s->text[s->at]))
        s->at += s->text[s->at] == '\\' && s->at + 1 < s->length ? 2 : 1;
    s->at = s->at > s->length ? s->length : s->at;
    if (s->at == from)
        s->at++; // a stray byte such as NUL
    return add_argument(s, from, s->at);
}

// Behind "name(": to its ")".
static enum lat_status read_arguments(struct scan *s)
{
    size_t depth = 1;
    while (s->at < s->length) {
        char c = s->text[s->at];
        size_t width = bracket_width(s, s->at);
        enum lat_status status = LAT_OK;
        if (c == ')' && --depth == 0) {
            s->at++;
            return LAT_OK;
        }
        if (c == '#')
            status = skip_comment(s);
        else if (c == '"')
            status = read_quoted(s);
        else if (width)
            status = read_bracket(s, width, true);
        else if (c == '(' && ++depth > NESTING_MAX)
            return lat_error_set(s->error, LAT_LIMIT, "%s:%zu: more than %d parentheses deep", s->path, s->line, NESTING_MAX);
        else if (is_space(c) || c == '(' || c == ')') {
            s->line += c == '\n';
            s->at++;
        } else
            status = read_plain(s);
        LAT_TRY(status);
    }
    return unclosed(s, s->command.name, s->command.line);
}

static const char *value_of(const struct command *c, const char *key)
{
    for (size_t i = 0; i + 1 < c->count; i++)
        if (strcmp(c->arguments[i], key) == 0)
            return c->arguments[i + 1];
    return NULL;
}

static bool holds(const struct command *c, const char *word)
{
    for (size_t i = 0; i < c->count; i++) {
        const char *slash = strrchr(c->arguments[i], '/');
        if (strcmp(slash ? slash + 1 : c->arguments[i], word) == 0)
            return true;
    }
    return false;
}

static const char *first_address(const struct command *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (strstr(c->arguments[i], "://"))
            return c->arguments[i];
    return NULL;
}

// Programs that fetch. An address or a variable, we cannot know better than to ask.
static bool fetches_by_program(const struct command *c, struct lat_fetch *f)
{
    bool git = holds(c, "git") || holds(c, "${GIT_EXECUTABLE}"), clones = holds(c, "clone") || holds(c, "fetch") || holds(c, "submodule");
    if (git && clones)
        f->git = first_address(c) ? first_address(c) : "(unknown)";
    else if (holds(c, "curl") || holds(c, "wget") || holds(c, "pip") || holds(c, "pip3"))
        f->url = first_address(c) ? first_address(c) : "(unknown)";
    return f->git || f->url;
}

static bool understand(const struct command *c, struct lat_fetch *f)
{
    const char *const name = c->name;
    *f = (struct lat_fetch){ .command = name, .line = c->line };
    bool declares = strcasecmp(name, "FetchContent_Declare") == 0 || strcasecmp(name, "ExternalProject_Add") == 0 ||
                    strcasecmp(name, "FetchContent_Populate") == 0 || strcasecmp(name, "CPMAddPackage") == 0;
    if (declares) {
        f->name = strcasecmp(name, "CPMAddPackage") == 0 && value_of(c, "NAME") ? value_of(c, "NAME") : c->count ? c->arguments[0] : NULL;
        f->git = value_of(c, "GIT_REPOSITORY");
        f->revision = value_of(c, "GIT_TAG");
        f->url = value_of(c, "URL");
        f->hash = value_of(c, "URL_HASH");
        static const char *const others[] = { "SVN_REPOSITORY", "HG_REPOSITORY", "CVS_REPOSITORY", "GITHUB_REPOSITORY",
                                              "GITLAB_REPOSITORY", "DOWNLOAD_COMMAND" };
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            f->url = f->url ? f->url : value_of(c, others[i]);
        return f->git || f->url;
    }
    if (strcasecmp(name, "file") == 0 && c->count >= 2 && strcmp(c->arguments[0], "DOWNLOAD") == 0) {
        f->url = c->arguments[1];
        f->hash = value_of(c, "EXPECTED_HASH");
        return true;
    }
    if (strcasecmp(name, "execute_process") == 0 || strcasecmp(name, "add_custom_command") == 0 ||
        strcasecmp(name, "add_custom_target") == 0)
        return fetches_by_program(c, f);
    return false;
}

static enum lat_status name_by_address(struct scan *s, struct lat_fetch *f)
{
    const char *address = f->git ? f->git : f->url, *slash = strrchr(address, '/');
    const char *from = slash && slash[1] ? slash + 1 : address;
    size_t n = strcspn(from, ".?#");
    char *name = lat_arena_new(s->arena, (n ? n : strlen(from)) + 1, 1);
    if (!name)
        return lat_error_memory(s->error, "a CMake command");
    memcpy(name, from, n ? n : strlen(from));
    f->name = name;
    return LAT_OK;
}

enum lat_status lat_fetch_scan(const char *path, const char *text, size_t length, struct lat_arena *arena,
                               lat_fetch_fn found, void *context, struct lat_error *error)
{
    struct scan s = { .path = path, .text = text, .length = length, .line = 1, .arena = arena, .error = error };
    while (s.at < length) {
        char c = text[s.at];
        if (c == '#') {
            LAT_TRY(skip_comment(&s));
            continue;
        }
        size_t from = s.at;
        while (s.at < length && is_name(text[s.at]))
            s.at++;
        if (s.at == from) {
            s.line += c == '\n';
            s.at++;
            continue;
        }
        size_t open = s.at;
        while (open < length && (text[open] == ' ' || text[open] == '\t'))
            open++;
        if (open == length || text[open] != '(')
            continue;
        s.command = (struct command){ .line = s.line };
        LAT_TRY(keep(&s, from, s.at, &s.command.name));
        s.at = open + 1;
        LAT_TRY(read_arguments(&s));
        struct lat_fetch fetch;
        if (!understand(&s.command, &fetch))
            continue;
        fetch.path = path;
        if (!fetch.name)
            LAT_TRY(name_by_address(&s, &fetch));
        LAT_TRY(found(context, &fetch, error));
    }
    return LAT_OK;
}

static bool is_hex(const char *text, size_t length)
{
    return strspn(text, "0123456789abcdefABCDEF") == length && text[length] == 0;
}

bool lat_fetch_revision_is_exact(const char *revision)
{
    return revision && (is_hex(revision, 40) || is_hex(revision, 64));
}

bool lat_fetch_hash_is_exact(const char *hash)
{
    static const struct { const char *name; size_t digits; } kinds[] = {
        { "SHA256=", 64 }, { "SHA384=", 96 }, { "SHA512=", 128 }, { "SHA3_256=", 64 }, { "SHA3_384=", 96 }, { "SHA3_512=", 128 },
    };
    for (size_t i = 0; hash && i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncasecmp(hash, kinds[i].name, strlen(kinds[i].name)) == 0)
            return is_hex(hash + strlen(kinds[i].name), kinds[i].digits);
    return false;
}
