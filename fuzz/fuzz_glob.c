// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A pattern and a path, divided by a line feed: the matcher against a slow table over all positions.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_MAX_CHECKED = 120 };

// Length of the class at p[0] == '[', or 0 when it is not closed.
static size_t class_length(const char *p)
{
    size_t i = 1;
    i += p[i] == '!' || p[i] == '^';
    i += p[i] == ']';
    while (p[i] && p[i] != ']' && p[i] != '/')
        i++;
    return p[i] == ']' ? i + 1 : 0;
}

static bool in_class(const char *p, size_t length, unsigned char c)
{
    bool negated = p[1] == '!' || p[1] == '^', in = false;
    for (size_t i = 1 + negated; i < length - 1; i++)
        if (i + 2 < length - 1 && p[i + 1] == '-') {
            in = in || (c >= (unsigned char)p[i] && c <= (unsigned char)p[i + 2]);
            i += 2;
        } else
            in = in || c == (unsigned char)p[i];
    return in != negated;
}

// can[i][j]: the pattern from i on takes the path from j on. Filled from the ends; a path of n bytes has an end at n,
// and "no component left" is n + 1.
static bool slow_match(const char *p, const char *s)
{
    static bool can[SIZE_MAX_CHECKED + 3][SIZE_MAX_CHECKED + 3];
    size_t m = strlen(p), n = strlen(s);
    memset(can, 0, sizeof can);
    can[m + 1][n + 1] = true;
    for (size_t i = m + 1; i-- > 0;)
        for (size_t j = n + 2; j-- > 0;) {
            bool begins = i == 0 || p[i - 1] == '/', whole = strncmp(p + i, "**", 2) == 0 && (p[i + 2] == '/' || !p[i + 2]);
            bool at_start = j == 0 || (j <= n && s[j - 1] == '/') || j == n + 1;
            size_t length = p[i] == '[' ? class_length(p + i) : 0;
            if (begins && whole && at_start) {
                can[i][j] = can[i + 3][j];
                for (size_t k = j; k <= n && !can[i][j]; k++)
                    can[i][j] = (s[k] == '/' || k == n) && can[i][k + 1];
            } else if (j > n)
                can[i][j] = false;
            else if (i == m || p[i] == '/')
                can[i][j] = (j == n || s[j] == '/') && can[i + 1][j + 1];
            else if (p[i] == '*')
                can[i][j] = can[i + 1][j] || (j < n && s[j] != '/' && can[i][j + 1]);
            else if (j < n && s[j] != '/') {
                bool takes = length ? in_class(p + i, length, (unsigned char)s[j]) : p[i] == '?' || p[i] == s[j];
                can[i][j] = takes && can[i + (length ? length : 1)][j + 1];
            }
        }
    return can[0][0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *feed = memchr(data, '\n', size);
    if (!feed)
        return 0;
    size_t pattern_length = (size_t)(feed - data), path_length = size - pattern_length - 1;
    char *pattern = malloc(pattern_length + 1), *path = malloc(path_length + 1);
    struct lat_error error = { 0 };
    if (pattern && path) {
        memcpy(pattern, data, pattern_length);
        pattern[pattern_length] = '\0';
        memcpy(path, feed + 1, path_length);
        path[path_length] = '\0';
        bool good = lat_glob_check(pattern, &error) == LAT_OK, match = lat_glob_match(pattern, path, path_length);
        if (!good && !error.text[0])
            abort();
        bool small = strlen(pattern) <= SIZE_MAX_CHECKED && path_length <= SIZE_MAX_CHECKED && strlen(path) == path_length;
        if (good && small && match != slow_match(pattern, path))
            abort();
    }
    free(pattern);
    free(path);
    return 0;
}
