// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/options.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/mem.h"

static enum lat_status bad(const struct lat_option *o, const char *text, const char *wanted, struct lat_error *error)
{
    return lat_error_set(error, LAT_ARGUMENT, "%s: '%.80s' is not %s", o->name, text, wanted);
}

static bool parse_u64(const char *text, uint64_t *out)
{
    char *end = NULL;
    if (*text < '0' || *text > '9') // strtoull would take signs and blanks
        return false;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

static bool parse_i64(const char *text, int64_t *out)
{
    uint64_t value = 0;
    bool negative = *text == '-';
    if (!parse_u64(text + negative, &value) || value > INT64_MAX)
        return false;
    *out = negative ? -(int64_t)value : (int64_t)value;
    return true;
}

// A program starts in the C locale and we never change it, so strtod reads '.'.
static bool parse_number(const char *text, double *out)
{
    char *end = NULL;
    if (!strchr("+-.0123456789", *text) || !*text || strpbrk(text, "xXpPnN"))
        return false;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*out);
}

static enum lat_status set_value(const struct lat_option *o, const char *text, void *values, struct lat_error *error)
{
    void *place = (char *)values + o->offset;
    uint64_t whole = 0;
    struct lat_texts *texts = place;
    switch (o->kind) {
    case LAT_OPTION_FLAG:
        *(bool *)place = true;
        return LAT_OK;
    case LAT_OPTION_COUNT:
        if (!parse_u64(text, &whole) || whole > SIZE_MAX / 2)
            return bad(o, text, "a whole number of at least 0", error);
        *(size_t *)place = (size_t)whole;
        return LAT_OK;
    case LAT_OPTION_SIGNED:
        return parse_i64(text, place) ? LAT_OK : bad(o, text, "a whole number", error);
    case LAT_OPTION_SEED:
        return parse_u64(text, place) ? LAT_OK : bad(o, text, "a whole number from 0 to 18446744073709551615", error);
    case LAT_OPTION_NUMBER:
        return parse_number(text, place) ? LAT_OK : bad(o, text, "a finite number", error);
    case LAT_OPTION_TEXT:
        *(const char **)place = text;
        return LAT_OK;
    case LAT_OPTION_TEXTS:
        if (texts->count == LAT_TEXTS_MAX)
            return lat_error_set(error, LAT_ARGUMENT, "%s: given more than %d times", o->name, LAT_TEXTS_MAX);
        texts->items[texts->count++] = text;
        return LAT_OK;
    }
    LAT_BUG_IF(true);
}

static const struct lat_option *find(const struct lat_command *c, const char *name, size_t length)
{
    for (size_t i = 0; i < c->option_count; i++)
        if (strlen(c->options[i].name) == length && memcmp(c->options[i].name, name, length) == 0)
            return &c->options[i];
    return NULL;
}

// One option at argv[*at]; moves *at past what it used.
static enum lat_status parse_option(const struct lat_command *c, int argc, char **argv, int *at, void *values,
                                    struct lat_error *error)
{
    const char *word = argv[(*at)++], *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    const struct lat_option *o = find(c, word, equals ? (size_t)(equals - word) : strlen(word));
    if (!o)
        return lat_error_set(error, LAT_ARGUMENT, "unknown option '%.80s'; see '%s %s --help'", word, c->program, c->name);
    if (!o->value)
        return equals ? lat_error_set(error, LAT_ARGUMENT, "%s takes no value", o->name) : set_value(o, NULL, values, error);
    const char *text = equals ? equals + 1 : *at < argc ? argv[(*at)++] : NULL;
    if (!text)
        return lat_error_set(error, LAT_ARGUMENT, "%s needs a value (%s)", o->name, o->value);
    return set_value(o, text, values, error);
}

enum lat_status lat_options_parse(const struct lat_command *command, int argc, char **argv, void *values,
                                  struct lat_operands *operands, struct lat_error *error)
{
    bool only_operands = false;
    *operands = (struct lat_operands){ 0 };
    for (int at = 0; at < argc;) {
        const char *word = argv[at];
        if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
            at++;
        } else if (!only_operands && word[0] == '-' && word[1])
            LAT_TRY(parse_option(command, argc, argv, &at, values, error));
        else if (operands->count == command->operands_max)
            return lat_error_set(error, LAT_ARGUMENT, "unexpected '%.80s'; usage: %s %s %s", word, command->program, command->name,
                                 command->operands);
        else {
            operands->items[operands->count++] = word;
            at++;
        }
    }
    if (operands->count < command->operands_min)
        return lat_error_set(error, LAT_ARGUMENT, "usage: %s %s %s [options]; see '%s %s --help'", command->program, command->name,
                             command->operands, command->program, command->name);
    return LAT_OK;
}

void lat_options_help(const struct lat_command *command, FILE *out)
{
    fprintf(out, "usage: %s %s %s [options]\n\n%s\n", command->program, command->name, command->operands, command->summary);
    if (command->details)
        fprintf(out, "\n%s", command->details);
    fprintf(out, "\noptions:\n");
    for (size_t i = 0; i < command->option_count; i++) {
        const struct lat_option *o = &command->options[i];
        char left[48];
        snprintf(left, sizeof left, "%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
        fprintf(out, "  %-26s %s\n", left, o->help);
    }
    fprintf(out, "  %-26s %s\n", "--help", "this text");
}

// roff of one text: backslashes, hyphens and leading dots would be commands.
static void man_text(const char *text, FILE *out)
{
    for (bool line_start = true; *text; text++) {
        if (*text == '\\' || *text == '-')
            fputc('\\', out);
        else if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        fputc(*text, out);
        line_start = *text == '\n';
    }
    fputc('\n', out);
}

void lat_options_man(const struct lat_command *command, FILE *out)
{
    fprintf(out, ".SS %s %s %s\n", command->program, command->name, command->operands);
    man_text(command->summary, out);
    if (command->details) {
        fprintf(out, ".PP\n");
        man_text(command->details, out);
    }
    for (size_t i = 0; i < command->option_count; i++) {
        const struct lat_option *o = &command->options[i];
        fprintf(out, ".TP\n.B \\%s %s\n", o->name, o->value ? o->value : "");
        man_text(o->help, out);
    }
}

enum lat_status lat_options_ids(const char *text, int32_t **ids, size_t *count, struct lat_error *error)
{
    size_t room = 1;
    for (const char *c = text; *c; c++)
        room += *c == ',';
    *ids = lat_mem_new(room, sizeof **ids);
    *count = 0;
    if (!*ids)
        return lat_error_memory(error, "ids");
    for (const char *at = text; *text;) {
        char *end = NULL;
        errno = 0;
        long value = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;
        if (value < 0 || errno || value > INT32_MAX || (*end != ',' && *end != '\0')) {
            lat_mem_free(*ids);
            *ids = NULL;
            return lat_error_set(error, LAT_ARGUMENT, "ids: '%.40s' is not a list of whole numbers from 0 on", at);
        }
        (*ids)[(*count)++] = (int32_t)value;
        if (*end == '\0')
            break;
        at = end + 1;
    }
    return LAT_OK;
}
