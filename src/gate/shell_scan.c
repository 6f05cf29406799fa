// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/shell_scan.h"

#include <ctype.h>
#include <string.h>

#include "core/buf.h"
#include "core/error.h"

enum { WORDS_MAX = 4096, HEREDOCS_MAX = 16, DELIMITER_MAX = 120 };

struct heredoc {
    char delimiter[DELIMITER_MAX];
    bool strip_tabs;
};

struct scanner {
    const char *text;
    size_t length, at;
    struct lat_shell_script *script;
    unsigned depth, substitutions;
    bool assigned, in_backticks, limit, memory;
    struct heredoc heredocs[HEREDOCS_MAX];
    size_t heredoc_count;
};

// What is joined so far in the list that is being read.
struct chain {
    size_t last;
    enum lat_shell_join join;
    size_t join_at;
};

static void scan_list(struct scanner *s, const char *closer);
static void scan_word(struct scanner *s, struct lat_buf *word);

static bool stopped(const struct scanner *s) { return s->script->broken || s->limit || s->memory; }
static char peek(const struct scanner *s, size_t ahead) { return s->at + ahead < s->length ? s->text[s->at + ahead] : '\0'; }
static bool starts(const struct scanner *s, const char *with)
{
    size_t n = strlen(with);
    return s->length - s->at >= n && memcmp(s->text + s->at, with, n) == 0;
}

static void broken(struct scanner *s, size_t at)
{
    if (!s->script->broken)
        s->script->broken_at = at;
    s->script->broken = true;
    s->at = s->length;
}

static bool is_meta(char c) { return c == '\0' || strchr(" \t\r\n;&|<>()", c) != NULL; }

static void new_chain(struct chain *c) { *c = (struct chain){ .last = LAT_SHELL_NONE }; }

static struct lat_shell_command *add_command(struct scanner *s, struct chain *c, size_t at)
{
    struct lat_shell_script *script = s->script;
    if (script->count >= LAT_SHELL_COMMANDS_MAX) {
        s->limit = true;
        return NULL;
    }
    if (script->count == script->capacity) {
        size_t capacity = script->capacity ? 2 * script->capacity : 32;
        struct lat_shell_command *grown = lat_mem_grow(script->commands, capacity, sizeof *grown);
        if (!grown) {
            s->memory = true;
            return NULL;
        }
        script->commands = grown;
        script->capacity = capacity;
    }
    struct lat_shell_command *command = &script->commands[script->count];
    bool joined = c->last != LAT_SHELL_NONE && c->join != LAT_SHELL_NEXT;
    *command = (struct lat_shell_command){ .at = at, .join = joined ? c->join : LAT_SHELL_NEXT, .join_at = c->join_at,
        .previous = joined ? c->last : LAT_SHELL_NONE, .next = LAT_SHELL_NONE, .inner = LAT_SHELL_NONE,
        .substitutions = s->substitutions, .assigned = s->assigned };
    if (joined)
        script->commands[c->last].next = script->count;
    c->last = script->count++;
    c->join = LAT_SHELL_NEXT;
    return command;
}

// Past `${{ ... }}`, which is no shell's. The text is kept.
static void take_expression(struct scanner *s, struct lat_buf *word)
{
    size_t start = s->at;
    while (s->at < s->length && !starts(s, "}}"))
        s->at++;
    if (s->at >= s->length) {
        broken(s, start);
        return;
    }
    s->at += 2;
    lat_buf_add(word, s->text + start, s->at - start);
}

// `${...}` with what is nested in it.
static void take_parameter(struct scanner *s, struct lat_buf *word)
{
    size_t start = s->at, open = 0;
    for (s->at++; s->at < s->length; s->at++) {
        char c = s->text[s->at];
        if (c == '\\')
            s->at++;
        else if (c == '{')
            open++;
        else if (c == '}' && --open == 0) {
            s->at++;
            lat_buf_add(word, s->text + start, s->at - start);
            return;
        }
    }
    broken(s, start);
}

// $(( )) and (( )): `open` round brackets are open already.
static void skip_arithmetic(struct scanner *s, size_t start, size_t open)
{
    for (; s->at < s->length; s->at++) {
        if (s->text[s->at] == '(')
            open++;
        else if (s->text[s->at] == ')' && --open == 0) {
            s->at++;
            return;
        }
    }
    broken(s, start);
}

static void take_substitution(struct scanner *s, struct lat_buf *word, const char *closer)
{
    bool outer_assigned = s->assigned, outer_backticks = s->in_backticks;
    s->assigned = word->length > 0 && word->bytes && lat_shell_is_assignment(word->bytes);
    s->in_backticks = closer[0] == '`';
    s->substitutions++;
    size_t start = s->at;
    scan_list(s, closer);
    if (s->at > s->length || (s->at == s->length && s->text[s->length - 1] != closer[0]))
        broken(s, start);
    s->substitutions--;
    s->in_backticks = outer_backticks;
    s->assigned = outer_assigned;
    lat_buf_add_text(word, "$()");
}

static void take_dollar(struct scanner *s, struct lat_buf *word)
{
    size_t start = s->at;
    if (starts(s, "${{"))
        take_expression(s, word);
    else if (starts(s, "$((")) {
        s->at += 3;
        skip_arithmetic(s, start, 2);
        lat_buf_add_text(word, "$(())");
    } else if (starts(s, "$(")) {
        s->at += 2;
        take_substitution(s, word, ")");
    } else if (starts(s, "${"))
        take_parameter(s, word);
    else {
        lat_buf_add_char(word, '$');
        s->at++;
    }
}

static void take_single(struct scanner *s, struct lat_buf *word, bool escapes)
{
    size_t start = s->at++;
    while (s->at < s->length && s->text[s->at] != '\'') {
        if (starts(s, "${{")) // replaced before the shell sees it; its own quotes do not count
            take_expression(s, word);
        else {
            if (escapes && s->text[s->at] == '\\' && s->at + 1 < s->length)
                s->at++;
            lat_buf_add_char(word, s->text[s->at++]);
        }
    }
    if (s->at >= s->length)
        broken(s, start);
    else
        s->at++;
}

static void take_double(struct scanner *s, struct lat_buf *word)
{
    size_t start = s->at++;
    while (s->at < s->length && s->text[s->at] != '"' && !stopped(s)) {
        char c = s->text[s->at];
        if (c == '\\' && s->at + 1 < s->length) {
            lat_buf_add_char(word, s->text[s->at + 1]);
            s->at += 2;
        } else if (c == '$')
            take_dollar(s, word);
        else if (c == '`' && !s->in_backticks) {
            s->at++;
            take_substitution(s, word, "`");
        } else {
            lat_buf_add_char(word, c);
            s->at++;
        }
    }
    if (s->at >= s->length)
        broken(s, start);
    else
        s->at++;
}

static void scan_word(struct scanner *s, struct lat_buf *word)
{
    while (s->at < s->length && !stopped(s)) {
        char c = s->text[s->at];
        if ((c == '<' || c == '>') && peek(s, 1) == '(') {
            s->at += 2;
            take_substitution(s, word, ")");
        } else if (is_meta(c) || (c == '`' && s->in_backticks))
            return;
        else if (c == '\\') {
            if (peek(s, 1) != '\n' && s->at + 1 < s->length)
                lat_buf_add_char(word, peek(s, 1));
            s->at += s->at + 1 < s->length ? 2 : 1;
        } else if (c == '\'')
            take_single(s, word, false);
        else if (c == '$' && peek(s, 1) == '\'') {
            s->at++;
            take_single(s, word, true);
        } else if (c == '"')
            take_double(s, word);
        else if (c == '$')
            take_dollar(s, word);
        else if (c == '`') {
            s->at++;
            take_substitution(s, word, "`");
        } else {
            lat_buf_add_char(word, c);
            s->at++;
        }
    }
}

static void skip_word(struct scanner *s)
{
    struct lat_buf word;
    lat_buf_init(&word, 1 << 20);
    while (s->at < s->length && (s->text[s->at] == ' ' || s->text[s->at] == '\t'))
        s->at++;
    scan_word(s, &word);
    lat_buf_release(&word);
}

static void note_heredoc(struct scanner *s)
{
    struct lat_buf word;
    bool strip = s->at < s->length && s->text[s->at] == '-';
    s->at += strip;
    while (s->at < s->length && (s->text[s->at] == ' ' || s->text[s->at] == '\t'))
        s->at++;
    lat_buf_init(&word, DELIMITER_MAX - 1);
    scan_word(s, &word);
    if (word.failed || s->heredoc_count == HEREDOCS_MAX)
        s->limit = true;
    else {
        struct heredoc *h = &s->heredocs[s->heredoc_count++];
        *h = (struct heredoc){ .strip_tabs = strip };
        if (word.length)
            memcpy(h->delimiter, word.bytes, word.length);
    }
    lat_buf_release(&word);
}

// After a line feed: the bodies of the here-documents of that line.
static void skip_heredocs(struct scanner *s)
{
    for (size_t i = 0; i < s->heredoc_count; i++) {
        const struct heredoc *h = &s->heredocs[i];
        bool found = false;
        while (s->at < s->length && !found) {
            const char *line = s->text + s->at, *end = memchr(line, '\n', s->length - s->at);
            size_t n = end ? (size_t)(end - line) : s->length - s->at;
            s->at += n + (end != NULL);
            while (h->strip_tabs && n > 0 && *line == '\t') {
                line++;
                n--;
            }
            found = n == strlen(h->delimiter) && memcmp(line, h->delimiter, n) == 0;
        }
    }
    s->heredoc_count = 0;
}

// A redirection at s->at, with its operand. `&>` too.
static void skip_redirection(struct scanner *s)
{
    if (starts(s, "<<<"))
        s->at += 3;
    else if (starts(s, "<<")) {
        s->at += 2;
        note_heredoc(s);
        return;
    } else
        while (s->at < s->length && strchr("<>&|", s->text[s->at]))
            s->at++;
    skip_word(s);
}

static void skip_blanks(struct scanner *s)
{
    while (s->at < s->length) {
        char c = s->text[s->at];
        if (c == ' ' || c == '\t' || c == '\r')
            s->at++;
        else if (c == '\\' && peek(s, 1) == '\n')
            s->at += 2;
        else if (c == '#') { // at the start of a word
            while (s->at < s->length && s->text[s->at] != '\n')
                s->at++;
        } else
            return;
    }
}

static void store_word(struct scanner *s, const char **words, size_t *count, const struct lat_buf *word)
{
    char *copy = *count < WORDS_MAX ? lat_arena_new(&s->script->arena, word->length + 1, 1) : NULL;
    if (!copy || word->failed) {
        s->limit = true;
        return;
    }
    if (word->length)
        memcpy(copy, word->bytes, word->length);
    words[(*count)++] = copy;
}

// NAME=( ... )
static void skip_array(struct scanner *s)
{
    size_t start = s->at++;
    while (s->at < s->length && s->text[s->at] != ')' && !stopped(s)) {
        size_t before = s->at;
        skip_blanks(s);
        skip_word(s);
        if (s->at == before) // a line feed, or an operator that does not belong here
            s->at++;
    }
    if (s->at >= s->length)
        broken(s, start);
    else
        s->at++;
}

// Words and redirections up to an operator; false at `name()`, which begins a function.
static bool scan_words(struct scanner *s, const char **words, size_t *count)
{
    struct lat_buf word;
    bool plain = true;
    lat_buf_init(&word, 1 << 20);
    while (plain && !stopped(s)) {
        skip_blanks(s);
        char c = peek(s, 0);
        if (s->at >= s->length || (c == '`' && s->in_backticks))
            break;
        if ((c == '<' || c == '>') && peek(s, 1) != '(') {
            skip_redirection(s);
            continue;
        }
        if (c == '&' && peek(s, 1) == '>') {
            skip_redirection(s);
            continue;
        }
        if (is_meta(c) && c != '<' && c != '>')
            break;
        lat_buf_clear(&word);
        size_t start = s->at;
        scan_word(s, &word);
        c = peek(s, 0);
        bool number = s->at > start;
        for (size_t i = start; i < s->at && i < s->length; i++)
            number = number && isdigit((unsigned char)s->text[i]);
        if (number && (c == '<' || c == '>'))
            continue; // a file descriptor's number
        if (c == '(' && word.length && word.bytes[word.length - 1] == '=')
            skip_array(s);
        else if (c == '(') {
            plain = false;
            break;
        }
        store_word(s, words, count, &word);
    }
    lat_buf_release(&word);
    return plain;
}

static void scan_simple(struct scanner *s, struct chain *c)
{
    const char **words = lat_mem_new(WORDS_MAX, sizeof(const char *));
    size_t count = 0, at = s->at, before = s->script->count;
    if (!words) {
        s->memory = true;
        return;
    }
    (void)before;
    if (!scan_words(s, words, &count)) {
        s->at++; // "name(": the "()" of a function; its body follows as a compound
        skip_blanks(s);
        if (peek(s, 0) == ')')
            s->at++;
        new_chain(c);
    } else if (!stopped(s) && count) {
        const char **kept = lat_arena_new(&s->script->arena, count, sizeof(const char *));
        struct lat_shell_command *command = kept ? add_command(s, c, at) : NULL;
        if (!kept)
            s->limit = true;
        if (command) {
            memcpy(kept, words, count * sizeof(const char *));
            command->words = kept;
            command->word_count = count;
        }
    } else if (s->at == at) // nothing that could be read
        s->at++;
    lat_mem_free(words);
}

// A reserved word stands at s->at.
static bool at_keyword(const struct scanner *s, const char *keyword)
{
    size_t n = strlen(keyword);
    if (!starts(s, keyword))
        return false;
    char after = s->at + n < s->length ? s->text[s->at + n] : '\0';
    return is_meta(after) || (after == '`' && s->in_backticks);
}

static void scan_compound(struct scanner *s, struct chain *c, size_t at, const char *closer)
{
    size_t inner = s->script->count;
    scan_list(s, closer);
    struct lat_shell_command *command = stopped(s) ? NULL : add_command(s, c, at);
    if (!command)
        return;
    command->inner = inner;
    // Redirections may follow: `} > log`, `done < list`.
    for (;;) {
        skip_blanks(s);
        size_t digits = 0;
        while (isdigit((unsigned char)peek(s, digits)))
            digits++;
        char first = peek(s, digits);
        if ((first != '<' && first != '>') && !(digits == 0 && first == '&' && peek(s, 1) == '>'))
            return;
        s->at += digits;
        skip_redirection(s);
    }
}

static void scan_case(struct scanner *s, struct chain *c, size_t at)
{
    size_t inner = s->script->count;
    skip_word(s); // the word that is looked at
    for (bool open = true; open && !stopped(s);) {
        while (s->at < s->length && strchr(" \t\r\n;", s->text[s->at]))
            s->at++;
        skip_blanks(s);
        if (at_keyword(s, "in") && s->script->count == inner && open) {
            s->at += 2;
            continue;
        }
        if (s->at < s->length && s->text[s->at] == '\n')
            continue;
        if (at_keyword(s, "esac")) {
            s->at += 4;
            break;
        }
        s->at += peek(s, 0) == '(';
        while (s->at < s->length && s->text[s->at] != ')' && !stopped(s)) { // the patterns
            size_t before = s->at;
            skip_word(s);
            if (s->at == before)
                s->at++;
        }
        open = s->at < s->length;
        s->at += open;
        scan_list(s, ";;");
    }
    struct lat_shell_command *command = stopped(s) ? NULL : add_command(s, c, at);
    if (command)
        command->inner = inner;
}

static void scan_test(struct scanner *s, struct chain *c)
{
    static const char *const words[] = { "[[" };
    size_t at = s->at;
    s->at += 2;
    while (s->at < s->length && !at_keyword(s, "]]") && !stopped(s)) {
        size_t before = s->at;
        while (s->at < s->length && strchr(" \t\r\n", s->text[s->at]))
            s->at++;
        if (at_keyword(s, "]]"))
            break;
        skip_word(s);
        if (s->at == before)
            s->at++; // an operator
    }
    if (s->at >= s->length && !stopped(s))
        broken(s, at);
    if (stopped(s))
        return;
    s->at += 2;
    struct lat_shell_command *command = add_command(s, c, at);
    if (command) {
        command->words = words;
        command->word_count = 1;
    }
}

static void scan_for(struct scanner *s, struct chain *c, size_t at)
{
    skip_blanks(s);
    if (starts(s, "((")) {
        s->at += 2;
        skip_arithmetic(s, at, 2);
    }
    while (s->at < s->length && s->text[s->at] != '\n' && s->text[s->at] != ';' && !stopped(s)) {
        size_t before = s->at;
        skip_blanks(s);
        if (at_keyword(s, "do"))
            break;
        skip_word(s);
        if (s->at == before)
            s->at++;
    }
    scan_compound(s, c, at, "done");
}

// What begins with a reserved word. False: an ordinary command stands here.
static bool scan_reserved(struct scanner *s, struct chain *c)
{
    static const char *const separators[] = { "then", "else", "elif", "do", "fi", "done", "esac", "}" };
    size_t at = s->at;
    for (size_t i = 0; i < sizeof separators / sizeof separators[0]; i++)
        if (at_keyword(s, separators[i])) {
            s->at += strlen(separators[i]);
            new_chain(c);
            return true;
        }
    if (at_keyword(s, "!") || at_keyword(s, "time"))
        s->at += *(s->text + at) == '!' ? 1 : 4;
    else if (at_keyword(s, "if")) {
        s->at += 2;
        scan_compound(s, c, at, "fi");
    } else if (at_keyword(s, "while") || at_keyword(s, "until")) {
        s->at += 5;
        scan_compound(s, c, at, "done");
    } else if (at_keyword(s, "for") || at_keyword(s, "select")) {
        s->at += at_keyword(s, "for") ? 3 : 6;
        scan_for(s, c, at);
    } else if (at_keyword(s, "case")) {
        s->at += 4;
        scan_case(s, c, at);
    } else if (at_keyword(s, "{")) {
        s->at++;
        scan_compound(s, c, at, "}");
    } else if (at_keyword(s, "function")) {
        s->at += 8;
        skip_word(s);
        skip_blanks(s);
        s->at += starts(s, "()") ? 2 : 0;
    } else if (at_keyword(s, "[["))
        scan_test(s, c);
    else
        return false;
    return true;
}

// An operator between commands. False: none stands here.
static bool scan_operator(struct scanner *s, struct chain *c)
{
    char a = s->text[s->at], b = peek(s, 1);
    size_t at = s->at;
    if (a == '\n') {
        s->at++;
        skip_heredocs(s);
        if (c->join == LAT_SHELL_NEXT) // else the list goes on in the next line
            new_chain(c);
    } else if (a == '&' && b == '>')
        return false;
    else if ((a == '&' && b == '&') || (a == '|' && b == '|')) {
        s->at += 2;
        c->join = a == '&' ? LAT_SHELL_AND : LAT_SHELL_OR;
        c->join_at = at;
    } else if (a == '|') {
        s->at += b == '&' ? 2 : 1;
        c->join = LAT_SHELL_PIPE;
        c->join_at = at;
    } else if (a == ';' || a == '&') {
        s->at++;
        new_chain(c);
    } else
        return false;
    return true;
}

// Has the closer of this list come? It is taken, but for `esac`, which ends a whole case.
static bool scan_closer(struct scanner *s, const char *closer)
{
    if (!closer[0])
        return false;
    if (strcmp(closer, ";;") == 0) {
        if (at_keyword(s, "esac"))
            return true;
        if (!starts(s, ";;") && !starts(s, ";&"))
            return false;
        s->at += 2;
        s->at += peek(s, 0) == '&';
        return true;
    }
    bool sign = closer[0] == ')' || closer[0] == '`';
    if (sign ? s->text[s->at] != closer[0] : !at_keyword(s, closer))
        return false;
    s->at += strlen(closer);
    return true;
}

static void scan_list(struct scanner *s, const char *closer)
{
    struct chain c;
    new_chain(&c);
    if (++s->depth > LAT_SHELL_DEPTH_MAX)
        s->limit = true;
    while (!stopped(s)) {
        skip_blanks(s);
        if (s->at >= s->length)
            break;
        if (scan_closer(s, closer))
            break;
        size_t at = s->at;
        if (scan_operator(s, &c) || scan_reserved(s, &c))
            continue;
        if (starts(s, "((")) {
            s->at += 2;
            skip_arithmetic(s, at, 2);
            add_command(s, &c, at);
        } else if (s->text[s->at] == '(') {
            s->at++;
            scan_compound(s, &c, at, ")");
        } else if (s->text[s->at] == ')')
            s->at++; // of nothing that is open
        else
            scan_simple(s, &c);
    }
    s->depth--;
}

enum lat_status lat_shell_scan(struct lat_shell_script *script, const char *text, size_t length, struct lat_error *error)
{
    *script = (struct lat_shell_script){ 0 };
    lat_arena_init(&script->arena, 64u << 20);
    struct scanner s = { .text = text, .length = length, .script = script };
    scan_list(&s, "");
    if (s.memory)
        return lat_error_memory(error, "a shell script");
    if (s.limit)
        return lat_error_set(error, LAT_LIMIT, "a script that is nested deeper than %d, or longer than %d commands",
                             LAT_SHELL_DEPTH_MAX, LAT_SHELL_COMMANDS_MAX);
    return LAT_OK;
}

void lat_shell_release(struct lat_shell_script *script)
{
    lat_mem_free(script->commands);
    lat_arena_release(&script->arena);
    *script = (struct lat_shell_script){ 0 };
}

bool lat_shell_is_assignment(const char *word)
{
    size_t n = 0;
    while (isalnum((unsigned char)word[n]) || word[n] == '_')
        n++;
    return n > 0 && !isdigit((unsigned char)word[0]) && (word[n] == '=' || (word[n] == '+' && word[n + 1] == '='));
}

size_t lat_shell_program(const struct lat_shell_command *command)
{
    static const char *const wrappers[] = { "sudo", "env", "exec", "time", "nice", "command", "nohup", "timeout", "stdbuf", "xvfb-run" };
    size_t i = 0;
    for (;;) {
        while (i < command->word_count && lat_shell_is_assignment(command->words[i]))
            i++;
        if (i == command->word_count)
            return i;
        bool wrapped = false, timed = strcmp(command->words[i], "timeout") == 0;
        for (size_t k = 0; k < sizeof wrappers / sizeof wrappers[0]; k++)
            wrapped = wrapped || strcmp(command->words[i], wrappers[k]) == 0;
        if (!wrapped)
            return i;
        i++;
        while (i < command->word_count && command->words[i][0] == '-')
            i++;
        if (timed && i < command->word_count)
            i++;
    }
}

const char *lat_shell_program_name(const struct lat_shell_command *command)
{
    size_t i = lat_shell_program(command);
    if (i == command->word_count)
        return "";
    const char *slash = strrchr(command->words[i], '/');
    return slash ? slash + 1 : command->words[i];
}
