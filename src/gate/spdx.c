// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/spdx.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/error.h"

enum token_kind { TOKEN_END, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_AND, TOKEN_OR, TOKEN_WITH, TOKEN_WORD };

struct token {
    enum token_kind kind;
    const char *text;
    size_t length; // a "+" at its end included
};

struct parser {
    struct lat_spdx *spdx;
    const char *text;
    size_t length, at, depth;
    struct token token;
    struct lat_error *error;
};

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':';
}

static bool same(const struct token *t, const char *word)
{
    return t->length == strlen(word) && strncasecmp(t->text, word, t->length) == 0;
}

// "licence expression 'mit ANDD x': unknown licence 'ANDD' at character 5": the place first, then `format`.
static enum lat_status refuse(const struct parser *p, const struct token *t, const char *format, ...) LAT_PRINTF(3, 4);
static enum lat_status refuse(const struct parser *p, const struct token *t, const char *format, ...)
{
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (t->length == 0)
        return lat_error_set(p->error, LAT_FORMAT, "licence expression '%.*s': %s at its end",
                             (int)(p->length < 120 ? p->length : 120), p->text, what);
    return lat_error_set(p->error, LAT_FORMAT, "licence expression '%.*s': '%.*s' at character %zu: %s",
                         (int)(p->length < 120 ? p->length : 120), p->text, (int)(t->length < 80 ? t->length : 80),
                         t->text, (size_t)(t->text - p->text) + 1, what);
}

static enum lat_status next(struct parser *p)
{
    static const struct { const char *name; enum token_kind kind; } operators[] = {
        { "AND", TOKEN_AND }, { "OR", TOKEN_OR }, { "WITH", TOKEN_WITH },
    };
    while (p->at < p->length && is_space(p->text[p->at]))
        p->at++;
    struct token *t = &p->token;
    *t = (struct token){ TOKEN_END, p->text + p->at, 0 };
    if (p->at == p->length)
        return LAT_OK;
    char c = p->text[p->at];
    if (c == '(' || c == ')') {
        t->kind = c == '(' ? TOKEN_OPEN : TOKEN_CLOSE;
        t->length = 1;
        p->at++;
        return LAT_OK;
    }
    while (p->at + t->length < p->length && is_word(t->text[t->length]))
        t->length++;
    if (t->length == 0) {
        t->length = 1;
        return refuse(p, t, c == '/' || c == '|' ? "a choice is written OR" : "no such character in an expression");
    }
    if (p->at + t->length < p->length && t->text[t->length] == '+')
        t->length++;
    p->at += t->length;
    t->kind = TOKEN_WORD;
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (same(t, operators[i].name))
            t->kind = operators[i].kind;
    return LAT_OK;
}

static enum lat_status add_node(struct parser *p, struct lat_spdx_node node, uint16_t *out)
{
    struct lat_spdx *s = p->spdx;
    if (s->node_count == LAT_SPDX_NODES_MAX)
        return lat_error_set(p->error, LAT_LIMIT, "licence expression: more than %d parts", LAT_SPDX_NODES_MAX);
    *out = (uint16_t)s->node_count;
    s->nodes[s->node_count++] = node;
    return LAT_OK;
}

static bool has_prefix(const char *text, size_t length, const char *prefix)
{
    return length > strlen(prefix) && strncasecmp(text, prefix, strlen(prefix)) == 0;
}

// "LicenseRef-x" and "DocumentRef-d:LicenseRef-x": names of someone's own, kept as they are but for the prefix's case.
static enum lat_status read_reference(struct parser *p, struct lat_spdx_term *term)
{
    static const char document[] = "DocumentRef-", license[] = "LicenseRef-";
    const struct token *t = &p->token;
    const char *text = t->text;
    size_t length = t->length;
    if (has_prefix(text, length, document)) {
        const char *colon = memchr(text, ':', length);
        size_t head = colon ? (size_t)(colon - text) : 0;
        if (!colon || head == strlen(document))
            return refuse(p, t, "DocumentRef-NAME:LicenseRef-NAME is wanted");
        char *name = lat_arena_new(&p->spdx->arena, head + 1, 1);
        if (!name)
            return lat_error_memory(p->error, "a licence expression");
        memcpy(name, document, strlen(document));
        memcpy(name + strlen(document), text + strlen(document), head - strlen(document));
        term->document = name;
        text += head + 1;
        length -= head + 1;
    }
    if (!has_prefix(text, length, license) || memchr(text, ':', length) || text[length - 1] == '+')
        return refuse(p, t, "LicenseRef-NAME, of letters, digits, '.' and '-', is wanted");
    char *name = lat_arena_new(&p->spdx->arena, length + 1, 1);
    if (!name)
        return lat_error_memory(p->error, "a licence expression");
    memcpy(name, license, strlen(license));
    memcpy(name + strlen(license), text + strlen(license), length - strlen(license));
    term->license = name;
    return LAT_OK;
}

static enum lat_status read_license(struct parser *p, struct lat_spdx_term *term)
{
    const struct token *t = &p->token;
    const char *old, *nearest;
    bool plus = t->text[t->length - 1] == '+';
    size_t length = t->length - plus;
    if (has_prefix(t->text, t->length, "LicenseRef-") || has_prefix(t->text, t->length, "DocumentRef-"))
        return read_reference(p, term);
    if (lat_spdx_deprecated_find(t->text, t->length, &old, &term->license, &term->exception)) {
        p->spdx->deprecated = p->spdx->deprecated ? p->spdx->deprecated : old;
        return LAT_OK;
    }
    term->license = lat_spdx_license_find(t->text, length);
    term->or_later = plus;
    size_t n = term->license ? strlen(term->license) : 0;
    bool closed = (n > 5 && strcmp(term->license + n - 5, "-only") == 0) ||
                  (n > 9 && strcmp(term->license + n - 9, "-or-later") == 0);
    if (term->license && plus && closed)
        return refuse(p, t, "'+' cannot follow -only or -or-later");
    if (term->license)
        return LAT_OK;
    if (lat_spdx_exception_find(t->text, length))
        return refuse(p, t, "an exception; it stands after WITH");
    if (same(t, "NONE") || same(t, "NOASSERTION"))
        return refuse(p, t, "cannot be a part of an expression");
    nearest = lat_spdx_license_nearest(t->text, length);
    return refuse(p, t, "no known SPDX licence; %s%s", nearest ? "did you mean " : "one of your own is written LicenseRef-NAME",
                  nearest ? nearest : "");
}

static enum lat_status read_exception(struct parser *p, struct lat_spdx_term *term)
{
    LAT_TRY(next(p));
    const struct token *t = &p->token;
    if (t->kind != TOKEN_WORD)
        return refuse(p, t, "an exception is wanted after WITH");
    if (term->exception)
        return refuse(p, t, "a second exception; '%s' has one in its name", p->spdx->deprecated);
    term->exception = lat_spdx_exception_find(t->text, t->length);
    if (!term->exception)
        return refuse(p, t, "no known SPDX exception");
    return next(p);
}

static enum lat_status intern_term(struct parser *p, const struct lat_spdx_term *term, uint16_t *out)
{
    struct lat_spdx *s = p->spdx;
    for (*out = 0; *out < s->term_count; ++*out)
        if (lat_spdx_term_equal(&s->terms[*out], term))
            return LAT_OK;
    if (s->term_count == LAT_SPDX_TERMS_MAX)
        return lat_error_set(p->error, LAT_LIMIT, "licence expression: more than %d different licences",
                             LAT_SPDX_TERMS_MAX);
    s->terms[s->term_count++] = *term;
    return LAT_OK;
}

static enum lat_status read_or(struct parser *p, uint16_t *out);

static enum lat_status read_primary(struct parser *p, uint16_t *out)
{
    const struct token t = p->token;
    if (t.kind == TOKEN_OPEN) {
        if (++p->depth > LAT_SPDX_DEPTH_MAX)
            return lat_error_set(p->error, LAT_LIMIT, "licence expression: more than %d parentheses deep",
                                 LAT_SPDX_DEPTH_MAX);
        LAT_TRY(next(p));
        LAT_TRY(read_or(p, out));
        if (p->token.kind != TOKEN_CLOSE)
            return refuse(p, &p->token, "AND, OR or ')' is wanted");
        p->depth--;
        LAT_TRY(next(p));
        return p->token.kind == TOKEN_WITH ? refuse(p, &p->token, "WITH belongs to one licence, not to parentheses") : LAT_OK;
    }
    if (t.kind != TOKEN_WORD)
        return refuse(p, &t, "a licence is wanted");
    struct lat_spdx_term term = { 0 };
    struct lat_spdx_node node = { .operator = LAT_SPDX_TERM };
    LAT_TRY(read_license(p, &term));
    LAT_TRY(next(p));
    if (p->token.kind == TOKEN_WITH)
        LAT_TRY(read_exception(p, &term));
    LAT_TRY(intern_term(p, &term, &node.term));
    return add_node(p, node, out);
}

static enum lat_status read_and(struct parser *p, uint16_t *out)
{
    LAT_TRY(read_primary(p, out));
    while (p->token.kind == TOKEN_AND) {
        struct lat_spdx_node node = { .operator = LAT_SPDX_AND, .left = *out };
        LAT_TRY(next(p));
        LAT_TRY(read_primary(p, &node.right));
        LAT_TRY(add_node(p, node, out));
    }
    return LAT_OK;
}

static enum lat_status read_or(struct parser *p, uint16_t *out)
{
    LAT_TRY(read_and(p, out));
    while (p->token.kind == TOKEN_OR) {
        struct lat_spdx_node node = { .operator = LAT_SPDX_OR, .left = *out };
        LAT_TRY(next(p));
        LAT_TRY(read_and(p, &node.right));
        LAT_TRY(add_node(p, node, out));
    }
    return LAT_OK;
}

static enum lat_status parse(struct parser *p)
{
    struct lat_spdx *s = p->spdx;
    uint16_t root;
    LAT_TRY(next(p));
    if (p->token.kind == TOKEN_END)
        return lat_error_set(p->error, LAT_FORMAT, "licence expression: empty");
    const struct token first = p->token;
    bool none = same(&first, "NONE");
    if ((none || same(&first, "NOASSERTION")) && first.kind == TOKEN_WORD) {
        s->kind = none ? LAT_SPDX_NONE : LAT_SPDX_NOASSERTION;
        LAT_TRY(next(p));
        return p->token.kind == TOKEN_END ? LAT_OK : refuse(p, &first, "cannot be a part of an expression");
    }
    LAT_TRY(read_or(p, &root));
    if (p->token.kind == TOKEN_END)
        return LAT_OK;
    return refuse(p, &p->token, p->token.kind == TOKEN_CLOSE ? "nothing is open here" : "AND, OR or WITH is wanted before it");
}

enum lat_status lat_spdx_parse(struct lat_spdx *spdx, const char *text, size_t length, struct lat_error *error)
{
    struct parser p = { .spdx = spdx, .text = text, .length = length, .error = error };
    *spdx = (struct lat_spdx){ 0 };
    lat_arena_init(&spdx->arena, 1 << 20);
    if (length > LAT_SPDX_BYTES_MAX)
        return lat_error_set(error, LAT_LIMIT, "licence expression: %zu bytes, %d are allowed", length, LAT_SPDX_BYTES_MAX);
    if (memchr(text, 0, length))
        return lat_error_set(error, LAT_FORMAT, "licence expression: holds a NUL byte");
    spdx->nodes = lat_arena_new(&spdx->arena, LAT_SPDX_NODES_MAX, sizeof *spdx->nodes);
    spdx->terms = lat_arena_new(&spdx->arena, LAT_SPDX_TERMS_MAX, sizeof *spdx->terms);
    enum lat_status status = spdx->nodes && spdx->terms ? parse(&p) : lat_error_memory(error, "a licence expression");
    if (status != LAT_OK)
        lat_spdx_release(spdx);
    return status;
}

void lat_spdx_release(struct lat_spdx *spdx)
{
    lat_arena_release(&spdx->arena);
    *spdx = (struct lat_spdx){ 0 };
}

static bool equal_text(const char *a, const char *b) { return a == b || (a && b && strcasecmp(a, b) == 0); }

bool lat_spdx_term_equal(const struct lat_spdx_term *a, const struct lat_spdx_term *b)
{
    return equal_text(a->license, b->license) && a->or_later == b->or_later && equal_text(a->exception, b->exception) &&
           equal_text(a->document, b->document);
}

void lat_spdx_print_term(struct lat_buf *out, const struct lat_spdx_term *term)
{
    if (term->document)
        lat_buf_addf(out, "%s:", term->document);
    lat_buf_addf(out, "%s%s", term->license, term->or_later ? "+" : "");
    if (term->exception)
        lat_buf_addf(out, " WITH %s", term->exception);
}

void lat_spdx_print_node(struct lat_buf *out, const struct lat_spdx *spdx, size_t node)
{
    const struct lat_spdx_node *n = &spdx->nodes[node];
    if (n->operator == LAT_SPDX_TERM) {
        lat_spdx_print_term(out, &spdx->terms[n->term]);
        return;
    }
    const uint16_t side[2] = { n->left, n->right };
    for (int i = 0; i < 2; i++) {
        // The tree leans left; a right side of the same operator keeps its parentheses, so that it reads back the same.
        enum lat_spdx_operator inner = spdx->nodes[side[i]].operator;
        bool parentheses = inner != LAT_SPDX_TERM && ((n->operator == LAT_SPDX_AND && inner == LAT_SPDX_OR) ||
                                                      (i == 1 && inner == n->operator));
        if (i == 1)
            lat_buf_add_text(out, n->operator == LAT_SPDX_AND ? " AND " : " OR ");
        if (parentheses)
            lat_buf_add_char(out, '(');
        lat_spdx_print_node(out, spdx, side[i]);
        if (parentheses)
            lat_buf_add_char(out, ')');
    }
}

void lat_spdx_print(struct lat_buf *out, const struct lat_spdx *spdx)
{
    if (spdx->kind != LAT_SPDX_EXPRESSION)
        lat_buf_add_text(out, spdx->kind == LAT_SPDX_NONE ? "NONE" : "NOASSERTION");
    else
        lat_spdx_print_node(out, spdx, spdx->node_count - 1);
}

enum { WAYS_MAX = 16 };

// Ways to meet a node: sets of terms, none of which contains another. `offending`: how many terms its refusal names.
struct ways {
    uint64_t sets[WAYS_MAX];
    uint8_t count;
    uint16_t offending;
};

static void add_way(struct ways *w, uint64_t set)
{
    size_t kept = 0, largest = 0;
    for (size_t i = 0; i < w->count; i++)
        if ((w->sets[i] & set) == w->sets[i])
            return;
    for (size_t i = 0; i < w->count; i++)
        if ((w->sets[i] & set) != set)
            w->sets[kept++] = w->sets[i];
    w->count = (uint8_t)kept;
    if (kept < WAYS_MAX) {
        w->sets[w->count++] = set;
        return;
    }
    for (size_t i = 1; i < kept; i++)
        if (__builtin_popcountll(w->sets[i]) > __builtin_popcountll(w->sets[largest]))
            largest = i;
    if (__builtin_popcountll(set) < __builtin_popcountll(w->sets[largest]))
        w->sets[largest] = set;
}

static void judge_node(const struct lat_spdx_node *n, struct ways *ways, struct ways *w, uint64_t allowed)
{
    if (n->operator == LAT_SPDX_TERM) {
        uint64_t bit = UINT64_C(1) << n->term;
        if (allowed & bit)
            add_way(w, bit);
        w->offending = !(allowed & bit);
        return;
    }
    const struct ways *l = &ways[n->left], *r = &ways[n->right];
    if (n->operator == LAT_SPDX_OR) {
        for (size_t i = 0; i < l->count; i++)
            add_way(w, l->sets[i]);
        for (size_t i = 0; i < r->count; i++)
            add_way(w, r->sets[i]);
        w->offending = (uint16_t)(l->offending + r->offending);
        return;
    }
    for (size_t i = 0; i < l->count; i++)
        for (size_t j = 0; j < r->count; j++)
            add_way(w, l->sets[i] | r->sets[j]);
    bool left = l->count == 0 && (r->count > 0 || l->offending <= r->offending);
    w->offending = left ? l->offending : r->offending;
}

// From the root down to the smallest part that cannot be met: through AND to its worse side.
static size_t find_offending(const struct lat_spdx *spdx, const struct ways *ways)
{
    size_t at = spdx->node_count - 1;
    while (spdx->nodes[at].operator == LAT_SPDX_AND) {
        const struct ways *l = &ways[spdx->nodes[at].left], *r = &ways[spdx->nodes[at].right];
        bool left = l->count == 0 && (r->count > 0 || l->offending <= r->offending);
        at = left ? spdx->nodes[at].left : spdx->nodes[at].right;
    }
    return at;
}

enum lat_status lat_spdx_judge(const struct lat_spdx *spdx, uint64_t allowed, struct lat_spdx_verdict *out,
                               struct lat_error *error)
{
    *out = (struct lat_spdx_verdict){ 0 };
    if (spdx->kind != LAT_SPDX_EXPRESSION)
        return LAT_OK;
    struct ways *ways = lat_mem_new(spdx->node_count, sizeof *ways);
    if (!ways)
        return lat_error_memory(error, "a licence expression");
    for (size_t i = 0; i < spdx->node_count; i++)
        judge_node(&spdx->nodes[i], ways, &ways[i], allowed);
    const struct ways *root = &ways[spdx->node_count - 1];
    out->satisfied = root->count > 0;
    for (size_t i = 0; i < root->count; i++)
        if (i == 0 || __builtin_popcountll(root->sets[i]) < __builtin_popcountll(out->chosen))
            out->chosen = root->sets[i];
    if (!out->satisfied)
        out->offending = find_offending(spdx, ways);
    lat_mem_free(ways);
    return LAT_OK;
}
