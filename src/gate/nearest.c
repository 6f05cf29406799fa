// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/nearest.h"

#include <stddef.h>
#include <string.h>

enum { LENGTH_MAX = 48 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

// Edit distance in which a swap of neighbours counts once (optimal string alignment); both at most LENGTH_MAX long.
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][LENGTH_MAX + 1], *before = rows[0], *last = rows[1], *now = rows[2];
    size_t n = strlen(a), m = strlen(b);
    memset(rows, 0, sizeof rows);
    for (size_t j = 0; j <= m; j++)
        last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        size_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[m];
}

const char *lat_nearest(const char *word, const char *const *known)
{
    size_t length = strlen(word), limit = length / 3 > 1 ? length / 3 : 1, best = limit + 1;
    const char *near = NULL;
    if (length > LENGTH_MAX)
        return NULL;
    for (; *known; known++) {
        size_t d = strlen(*known) <= LENGTH_MAX ? distance(word, *known) : best;
        if (d < best) {
            best = d;
            near = *known;
        }
    }
    return near;
}
