// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Split patterns that are not hand-written, through PCRE2 with limits (build option LATTICE_REGEX).
// PCRE2's classes are not quite Hugging Face's: its \s has U+180E besides White_Space, and its \p{..} are of its own
// Unicode version (14 in PCRE2 10.42, where Hugging Face has 16).
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/error.h"
#include "core/mem.h"
#include "text/split.h"

enum { MATCH_LIMIT = 1000000, HEAP_KIB = 64 * 1024 };

struct lat_regex {
    pcre2_code *code;
    pcre2_match_context *limits;
};

enum lat_status lat_regex_new(struct lat_regex **out, const char *pattern, size_t length, struct lat_error *error)
{
    *out = NULL;
    struct lat_regex *regex = lat_mem_new(1, sizeof *regex);
    if (!regex)
        return lat_error_memory(error, "a split pattern");
    int number = 0;
    PCRE2_SIZE where = 0;
    regex->code = pcre2_compile((PCRE2_SPTR)pattern, length, PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &number, &where, NULL);
    regex->limits = pcre2_match_context_create(NULL);
    if (!regex->code || !regex->limits) {
        PCRE2_UCHAR text[200] = { 0 };
        bool compiled = regex->code != NULL;
        pcre2_get_error_message(number, text, sizeof text);
        lat_regex_free(regex);
        return compiled ? lat_error_memory(error, "a split pattern")
                        : lat_error_set(error, LAT_FORMAT, "split pattern, character %zu: %s", (size_t)where, (char *)text);
    }
    pcre2_set_match_limit(regex->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(regex->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(regex->limits, HEAP_KIB);
    *out = regex;
    return LAT_OK;
}

void lat_regex_free(struct lat_regex *regex)
{
    if (!regex)
        return;
    pcre2_code_free(regex->code);
    pcre2_match_context_free(regex->limits);
    lat_mem_free(regex);
}

enum lat_status lat_regex_find(const struct lat_regex *regex, const char *text, size_t length, size_t from, size_t *begin,
                               size_t *end, struct lat_error *error)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    if (!data)
        return lat_error_memory(error, "a match");
    int count = pcre2_match(regex->code, (PCRE2_SPTR)text, length, from, PCRE2_NO_UTF_CHECK, data, regex->limits);
    *begin = *end = length;
    if (count >= 0) {
        *begin = pcre2_get_ovector_pointer(data)[0];
        *end = pcre2_get_ovector_pointer(data)[1];
    }
    pcre2_match_data_free(data);
    if (count >= 0 || count == PCRE2_ERROR_NOMATCH)
        return LAT_OK;
    return lat_error_set(error, LAT_LIMIT, "the split pattern needs too many steps at byte %zu of the text", from);
}
