// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/result_parsers.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "gate/result_parts.h"

enum { TEXT_MAX = 2000 }; // bytes kept of a name or a message

bool lat_results_format_parse(const char *name, enum lat_results_format *out)
{
    static const char *const names[] = { "exit", "junit", "ctest", "cmocka", "tap" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum lat_results_format)i;
            return true;
        }
    return false;
}

static const char *copy(struct lat_test_results *results, const char *text, size_t length)
{
    length = length < TEXT_MAX ? length : TEXT_MAX;
    char *out = lat_arena_new(&results->arena, length + 1, 1);
    if (out && length)
        memcpy(out, text, length);
    return out;
}

enum lat_status lat_results_add(struct lat_results_reader *r, enum lat_test_outcome outcome, const char *name, size_t name_length,
                                const char *message, size_t message_length)
{
    struct lat_test_results *results = r->results;
    if (results->count == LAT_RESULTS_CASES_MAX)
        return lat_error_set(r->error, LAT_LIMIT, "%.150s: more than %d tests", r->name, LAT_RESULTS_CASES_MAX);
    if (results->count == results->capacity) {
        size_t capacity = results->capacity ? 2 * results->capacity : 64;
        struct lat_test_case *grown = lat_mem_grow(results->cases, capacity, sizeof *grown);
        if (!grown)
            return lat_error_memory(r->error, "test results");
        results->cases = grown;
        results->capacity = capacity;
    }
    struct lat_test_case *c = &results->cases[results->count];
    *c = (struct lat_test_case){ .name = copy(results, name, name_length), .outcome = outcome };
    if (message)
        c->message = copy(results, message, message_length);
    if (!c->name || (message && !c->message))
        return lat_error_memory(r->error, "test results");
    results->count++;
    results->passed += outcome == LAT_TEST_PASSED;
    results->failed += outcome == LAT_TEST_FAILED;
    results->skipped += outcome == LAT_TEST_SKIPPED;
    return LAT_OK;
}

bool lat_results_line(struct lat_results_reader *r, struct lat_line *line)
{
    if (r->at == r->end)
        return false;
    const char *feed = memchr(r->at, '\n', (size_t)(r->end - r->at)), *stop = feed ? feed : r->end;
    *line = (struct lat_line){ r->at, (size_t)(stop - r->at), ++r->line };
    if (line->length && line->text[line->length - 1] == '\r')
        line->length--;
    r->at = feed ? feed + 1 : r->end;
    return true;
}

enum lat_status lat_results_refuse(struct lat_results_reader *r, const char *format, ...)
{
    char message[300];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return lat_error_set(r->error, LAT_FORMAT, "%.150s: line %zu: %s", r->name, r->line, message);
}

bool lat_line_starts(const struct lat_line *line, const char *text)
{
    size_t length = strlen(text);
    return line->length >= length && memcmp(line->text, text, length) == 0;
}

bool lat_line_count(const char **at, const char *end, uint64_t *out)
{
    uint64_t value = 0;
    const char *c = *at;
    for (; c < end && *c >= '0' && *c <= '9'; c++) {
        if (value > 100000000)
            return false;
        value = value * 10 + (uint64_t)(*c - '0');
    }
    bool any = c != *at;
    *at = c;
    *out = value;
    return any;
}

// The first byte that is no blank, or '\0'.
static char first_byte(const struct lat_results_reader *r)
{
    const char *c = r->at;
    while (c < r->end && (*c == ' ' || *c == '\n' || *c == '\r' || *c == '\t'))
        c++;
    return c < r->end ? *c : '\0';
}

static enum lat_status parse(struct lat_results_reader *r, enum lat_results_format format)
{
    char first = first_byte(r);
    switch (format) {
    case LAT_RESULTS_JUNIT:
        return lat_results_junit(r, false);
    case LAT_RESULTS_CTEST:
        return first == '<' ? lat_results_junit(r, false) : lat_results_ctest_text(r);
    case LAT_RESULTS_CMOCKA:
        if (first == '<')
            return lat_results_junit(r, true);
        return first == '[' ? lat_results_cmocka_text(r) : lat_results_tap(r, true);
    case LAT_RESULTS_TAP:
        return lat_results_tap(r, false);
    case LAT_RESULTS_EXIT:
        break;
    }
    return lat_error_set(r->error, LAT_ARGUMENT, "an exit status has no text to read");
}

enum lat_status lat_results_parse(struct lat_test_results *results, enum lat_results_format format, const char *text, size_t length,
                                  const char *name, struct lat_error *error)
{
    *results = (struct lat_test_results){ 0 };
    lat_arena_init(&results->arena, 512u << 20);
    struct lat_results_reader r = { .results = results, .name = name, .at = text ? text : "", .error = error };
    r.end = r.at + (text ? length : 0);
    enum lat_status status = parse(&r, format);
    if (status != LAT_OK)
        lat_results_release(results);
    return status;
}

void lat_results_release(struct lat_test_results *results)
{
    lat_mem_free(results->cases);
    lat_arena_release(&results->arena);
    *results = (struct lat_test_results){ 0 };
}
