// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/feature_expr.h"

#include <string.h>
#include <strings.h>

#include "core/error.h"

enum { DEPTH_MAX = 64, TEXT_MAX = 4096 };
enum kind { LEAF, CONSTANT, NOT, AND, OR, IMPLIES };

struct lat_feature_expr {
    enum kind kind;
    uint8_t option;
    uint32_t mask, all; // LEAF: the values for which it is true; all values of the option
    bool truth;         // CONSTANT
    const struct lat_feature_expr *left, *right;
};

struct parser {
    const char *text, *at;
    const struct lat_feature_option *options;
    size_t option_count, depth;
    struct lat_arena *arena;
    struct lat_error *error;
};

bool lat_feature_value_is_false(const char *value)
{
    static const char *const words[] = { "", "0", "OFF", "NO", "FALSE", "N", "IGNORE", "NOTFOUND" };
    size_t length = strlen(value);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(value, words[i]) == 0)
            return true;
    return length > 9 && strcmp(value + length - 9, "-NOTFOUND") == 0;
}

static enum lat_status complain(const struct parser *p, const char *at, const char *what, const char *name)
{
    return lat_error_set(p->error, LAT_FORMAT, "column %zu: %s%.80s%s", (size_t)(at - p->text) + 1, what, name, *name ? "'" : "");
}

static enum lat_status make(struct parser *p, enum kind kind, const struct lat_feature_expr *left, const struct lat_feature_expr *right,
                            struct lat_feature_expr **out)
{
    *out = lat_arena_new(p->arena, 1, sizeof **out);
    if (!*out)
        return lat_error_memory(p->error, "a constraint");
    (*out)->kind = kind;
    (*out)->left = left;
    (*out)->right = right;
    return LAT_OK;
}

static void skip_blanks(struct parser *p) { p->at += strspn(p->at, " \t\r\n"); }

static bool take(struct parser *p, const char *token)
{
    skip_blanks(p);
    size_t n = strlen(token);
    if (strncmp(p->at, token, n) != 0)
        return false;
    p->at += n;
    return true;
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A value goes on to a blank, an operator or a parenthesis; '-' is part of it unless it begins "->".
static size_t value_length(const char *at)
{
    size_t n = 0;
    while (at[n] && !strchr(" \t\r\n&|!()", at[n]) && !(at[n] == '-' && at[n + 1] == '>'))
        n++;
    return n;
}

static bool machine_word(const char *name, size_t length, bool *truth)
{
    static const char *const words[] = { "linux", "darwin", "x86_64", "aarch64" };
    bool here[4] = { false };
#if defined(__linux__)
    here[0] = true;
#elif defined(__APPLE__)
    here[1] = true;
#endif
#if defined(__x86_64__)
    here[2] = true;
#elif defined(__aarch64__)
    here[3] = true;
#endif
    for (size_t i = 0; i < 4; i++)
        if (strlen(words[i]) == length && memcmp(words[i], name, length) == 0) {
            *truth = here[i];
            return true;
        }
    return false;
}

static enum lat_status parse_value(struct parser *p, struct lat_feature_expr *leaf, bool equal)
{
    const struct lat_feature_option *o = &p->options[leaf->option];
    char name[TEXT_MAX];
    skip_blanks(p);
    size_t n = value_length(p->at);
    memcpy(name, p->at, n);
    name[n] = '\0';
    leaf->mask = 0;
    for (size_t i = 0; i < o->value_count; i++)
        if (strcmp(o->values[i], name) == 0)
            leaf->mask = (uint32_t)1 << i;
    if (leaf->mask == 0)
        return lat_error_set(p->error, LAT_FORMAT, "column %zu: '%.80s' has no value '%.80s'", (size_t)(p->at - p->text) + 1,
                             o->name, name);
    if (!equal)
        leaf->mask = leaf->all & ~leaf->mask;
    p->at += n;
    return LAT_OK;
}

static enum lat_status parse_name(struct parser *p, const struct lat_feature_expr **out)
{
    const char *start = p->at;
    char name[TEXT_MAX];
    size_t n = 0, option = 0;
    struct lat_feature_expr *leaf = NULL;
    while (is_name_byte(p->at[n]))
        n++;
    if (n == 0)
        return *p->at ? complain(p, p->at, "expected an option, '!' or '(', not '", (char[]){ *p->at, '\0' })
                      : complain(p, p->at, "expected an option, '!' or '(' after the end", "");
    memcpy(name, p->at, n);
    name[n] = '\0';
    p->at += n;
    LAT_TRY(make(p, LEAF, NULL, NULL, &leaf));
    *out = leaf;
    while (option < p->option_count && strcmp(p->options[option].name, name) != 0)
        option++;
    if (option == p->option_count) {
        leaf->kind = CONSTANT;
        return machine_word(name, n, &leaf->truth) ? LAT_OK : complain(p, start, "there is no option '", name);
    }
    leaf->option = (uint8_t)option;
    for (size_t i = 0; i < p->options[option].value_count; i++) {
        leaf->all |= (uint32_t)1 << i;
        if (!lat_feature_value_is_false(p->options[option].values[i]))
            leaf->mask |= (uint32_t)1 << i;
    }
    if (take(p, "!="))
        return parse_value(p, leaf, false);
    return take(p, "=") ? parse_value(p, leaf, true) : LAT_OK;
}

static enum lat_status parse_implies(struct parser *p, const struct lat_feature_expr **out);

static enum lat_status parse_unary(struct parser *p, const struct lat_feature_expr **out)
{
    struct lat_feature_expr *node = NULL;
    const struct lat_feature_expr *inner = NULL;
    if (++p->depth > DEPTH_MAX)
        return complain(p, p->at, "nested too deeply", "");
    if (take(p, "!")) {
        LAT_TRY(parse_unary(p, &inner));
        LAT_TRY(make(p, NOT, inner, NULL, &node));
        *out = node;
    } else if (take(p, "(")) {
        LAT_TRY(parse_implies(p, out));
        if (!take(p, ")"))
            return complain(p, p->at, "expected ')'", "");
    } else
        LAT_TRY(parse_name(p, out));
    p->depth--;
    return LAT_OK;
}

static enum lat_status parse_chain(struct parser *p, bool is_or, const struct lat_feature_expr **out)
{
    const struct lat_feature_expr *right = NULL;
    struct lat_feature_expr *node = NULL;
    LAT_TRY(is_or ? parse_chain(p, false, out) : parse_unary(p, out));
    while (take(p, is_or ? "|" : "&")) {
        LAT_TRY(is_or ? parse_chain(p, false, &right) : parse_unary(p, &right));
        LAT_TRY(make(p, is_or ? OR : AND, *out, right, &node));
        *out = node;
    }
    return LAT_OK;
}

static enum lat_status parse_implies(struct parser *p, const struct lat_feature_expr **out)
{
    const struct lat_feature_expr *right = NULL;
    struct lat_feature_expr *node = NULL;
    if (++p->depth > DEPTH_MAX)
        return complain(p, p->at, "nested too deeply", "");
    LAT_TRY(parse_chain(p, true, out));
    if (take(p, "->")) {
        LAT_TRY(parse_implies(p, &right));
        LAT_TRY(make(p, IMPLIES, *out, right, &node));
        *out = node;
    }
    p->depth--;
    return LAT_OK;
}

enum lat_status lat_feature_expr_parse(const struct lat_feature_expr **out, const char *text, const struct lat_feature_option *options,
                                       size_t option_count, struct lat_arena *arena, struct lat_error *error)
{
    struct parser p = { text, text, options, option_count, 0, arena, error };
    if (strlen(text) >= TEXT_MAX)
        return lat_error_set(error, LAT_LIMIT, "a constraint of more than %d bytes", TEXT_MAX - 1);
    LAT_TRY(parse_implies(&p, out));
    skip_blanks(&p);
    return *p.at ? complain(&p, p.at, "expected '&', '|' or '->', not '", (char[]){ *p.at, '\0' }) : LAT_OK;
}

static enum lat_truth negate(enum lat_truth t) { return t == LAT_UNKNOWN ? t : t == LAT_TRUE ? LAT_FALSE : LAT_TRUE; }

static enum lat_truth any(enum lat_truth a, enum lat_truth b)
{
    if (a == LAT_TRUE || b == LAT_TRUE)
        return LAT_TRUE;
    return a == LAT_FALSE && b == LAT_FALSE ? LAT_FALSE : LAT_UNKNOWN;
}

enum lat_truth lat_feature_expr_eval(const struct lat_feature_expr *e, const struct lat_assignment *a)
{
    switch (e->kind) {
    case CONSTANT:
        return e->truth ? LAT_TRUE : LAT_FALSE;
    case LEAF:
        if (a->value[e->option] == LAT_FEATURE_UNSET)
            return e->mask == 0 ? LAT_FALSE : e->mask == e->all ? LAT_TRUE : LAT_UNKNOWN;
        return e->mask >> a->value[e->option] & 1 ? LAT_TRUE : LAT_FALSE;
    case NOT:
        return negate(lat_feature_expr_eval(e->left, a));
    case AND:
        return negate(any(negate(lat_feature_expr_eval(e->left, a)), negate(lat_feature_expr_eval(e->right, a))));
    case OR:
        return any(lat_feature_expr_eval(e->left, a), lat_feature_expr_eval(e->right, a));
    case IMPLIES:
        return any(negate(lat_feature_expr_eval(e->left, a)), lat_feature_expr_eval(e->right, a));
    }
    return LAT_UNKNOWN;
}

void lat_feature_expr_options(const struct lat_feature_expr *e, uint64_t *set)
{
    if (e->kind == LEAF)
        *set |= (uint64_t)1 << e->option;
    if (e->left)
        lat_feature_expr_options(e->left, set);
    if (e->right)
        lat_feature_expr_options(e->right, set);
}
