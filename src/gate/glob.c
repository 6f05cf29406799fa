// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Both levels (bytes of a component, components of a path) are matched by the same greedy walk: at a star remember
// where it stands, and after a failure let the *last* star take one more. Earlier stars need no second try, because
// taking less there can only leave more to match. So a pair of pattern byte and path byte is looked at once at most
// per level.
#include "gate/glob.h"

#include <string.h>

#include "core/error.h"

struct span {
    const char *at, *end;
};

static const char *component_end(const char *at, const char *end)
{
    const char *slash = memchr(at, '/', (size_t)(end - at));
    return slash ? slash : end;
}

static bool is_globstar(struct span s) { return s.end - s.at == 2 && s.at[0] == '*' && s.at[1] == '*'; }

// The ']' that closes the class whose '[' is at `at`, or NULL. A ']' right after '[' or '[!' is a member.
static const char *class_end(const char *at, const char *end)
{
    at++;
    if (at < end && (*at == '!' || *at == '^'))
        at++;
    if (at < end && *at == ']')
        at++;
    return at < end ? memchr(at, ']', (size_t)(end - at)) : NULL;
}

static bool class_holds(const char *at, const char *close, unsigned char byte)
{
    at++;
    bool negated = *at == '!' || *at == '^', found = false;
    at += negated;
    while (at < close) {
        unsigned char low = (unsigned char)*at, high = low;
        if (close - at > 2 && at[1] == '-') {
            high = (unsigned char)at[2];
            at += 2;
        }
        at++;
        found = found || (byte >= low && byte <= high);
    }
    return found != negated;
}

// Does the pattern's element at `*p` (no star) take `byte`? Moves `*p` past the element.
static bool element_takes(const char **p, const char *end, unsigned char byte)
{
    const char *at = *p, *close = *at == '[' ? class_end(at, end) : NULL;
    *p = close ? close + 1 : at + 1;
    if (close)
        return class_holds(at, close, byte);
    return *at == '?' || (unsigned char)*at == byte;
}

static bool component_matches(struct span pattern, struct span name)
{
    const char *p = pattern.at, *n = name.at, *star = NULL, *taken = NULL;
    while (n < name.end) {
        if (p < pattern.end && *p == '*') {
            star = ++p;
            taken = n;
        } else if (p < pattern.end && element_takes(&p, pattern.end, (unsigned char)*n))
            n++;
        else if (star) {
            p = star;
            n = ++taken;
        } else
            return false;
    }
    while (p < pattern.end && *p == '*')
        p++;
    return p == pattern.end;
}

bool lat_glob_match(const char *pattern, const char *path, size_t path_length)
{
    const char *p = pattern, *pattern_end = pattern + strlen(pattern), *n = path, *path_end = path + path_length;
    const char *star = NULL, *taken = NULL;
    // A position one past the end stands for "no components left", so that an empty last component is still one.
    const char *p_stop = pattern_end + 1, *n_stop = path_end + 1;
    while (n < n_stop) {
        struct span name = { n, component_end(n, path_end) }, part = { p, p < p_stop ? component_end(p, pattern_end) : p };
        if (p < p_stop && is_globstar(part)) {
            star = p = part.end + 1;
            taken = n;
        } else if (p < p_stop && component_matches(part, name)) {
            p = part.end + 1;
            n = name.end + 1;
        } else if (star) {
            p = star;
            n = taken = component_end(taken, path_end) + 1;
        } else
            return false;
    }
    while (p < p_stop && is_globstar((struct span){ p, component_end(p, pattern_end) }))
        p = component_end(p, pattern_end) + 1;
    return p >= p_stop;
}

static enum lat_status refuse(struct lat_error *error, const char *pattern, const char *why)
{
    return lat_error_set(error, LAT_FORMAT, "pattern '%.120s': %s", pattern, why);
}

static const char *class_fault(const char *at, const char *close)
{
    if (!close)
        return "a class '[' without its ']'";
    for (const char *c = at + 1; c < close; c++) {
        if (c[0] == '[' && (c[1] == ':' || c[1] == '.' || c[1] == '='))
            return "named classes like [:alpha:] are not known; write a range";
        if (close - c > 2 && c[1] == '-') {
            if ((unsigned char)c[0] > (unsigned char)c[2])
                return "a range in a class runs backwards";
            c += 2;
        }
    }
    return NULL;
}

static const char *component_fault(struct span part)
{
    size_t length = (size_t)(part.end - part.at);
    if (length == 0)
        return "an empty component ('//', or a '/' at an end); for a folder and all below it write 'folder/**'";
    if ((length == 1 && *part.at == '.') || (length == 2 && memcmp(part.at, "..", 2) == 0))
        return "'.' and '..' do not occur in a path from the root";
    for (const char *c = part.at; c < part.end; c++) {
        if (*c == '[') {
            const char *close = class_end(c, part.end), *fault = class_fault(c, close);
            if (fault)
                return fault;
            c = close;
        } else if (*c == '*' && c + 1 < part.end && c[1] == '*' && !is_globstar(part))
            return "'**' stands for whole components; beside other characters write '*'";
        else if (*c == '\\')
            return "no escapes; for a literal '*' write '[*]'";
        else if (*c == '{')
            return "no alternatives in braces; list the patterns (for a literal brace write '[{]')";
    }
    return NULL;
}

enum lat_status lat_glob_check(const char *pattern, struct lat_error *error)
{
    const char *end = pattern + strlen(pattern);
    if (!*pattern)
        return lat_error_set(error, LAT_FORMAT, "an empty pattern");
    if (*pattern == '!')
        return refuse(error, pattern, "no negation; a list can only match more (paths.inert_except subtracts)");
    if (*pattern == '/')
        return refuse(error, pattern, "patterns begin at the root by themselves, without '/'");
    for (const char *at = pattern; at <= end; at = component_end(at, end) + 1) {
        const char *fault = component_fault((struct span){ at, component_end(at, end) });
        if (fault)
            return refuse(error, pattern, fault);
    }
    return LAT_OK;
}
