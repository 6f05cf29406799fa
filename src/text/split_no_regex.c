// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// In place of split_pcre2.c in builds without LATTICE_REGEX: unknown patterns are refused, by the option's name.
#include "core/error.h"
#include "text/split.h"

enum lat_status lat_regex_new(struct lat_regex **out, const char *pattern, size_t length, struct lat_error *error)
{
    *out = NULL;
    return lat_error_set(error, LAT_UNAVAILABLE, "split pattern \"%.*s\" needs a build with LATTICE_REGEX=ON",
                         length > 100 ? 100 : (int)length, pattern);
}

void lat_regex_free(struct lat_regex *regex) { (void)regex; }

enum lat_status lat_regex_find(const struct lat_regex *regex, const char *text, size_t length, size_t from, size_t *begin,
                               size_t *end, struct lat_error *error)
{
    (void)regex, (void)text, (void)from;
    *begin = *end = length;
    return lat_error_set(error, LAT_UNAVAILABLE, "split patterns need a build with LATTICE_REGEX=ON");
}
