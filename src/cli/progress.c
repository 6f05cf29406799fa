// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"
#include "lattice/model.h"

enum { WIDTH = 32 };

bool lat_progress_wanted(void) { return isatty(STDERR_FILENO) != 0; }

void lat_progress_begin(struct lat_progress *progress, size_t total, size_t layers)
{
    *progress = (struct lat_progress){ .total = total, .layers = layers, .active = total > 0 && lat_progress_wanted() };
    progress->start = progress->drawn = lat_clock_seconds(); // the first bar comes after the pause: short runs show none
}

// `text` follows the bar.
static void draw(struct lat_progress *p, double done, double now, const char *text)
{
    char bar[WIDTH + 1];
    int full = (int)(done / (double)p->total * WIDTH);
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %s ", bar, text);
    fflush(stderr);
    p->drawn = now;
    p->visible = true;
}

void lat_progress_see(struct lat_progress *progress, int point, size_t position, size_t rows)
{
    const double pause_s = 0.1;
    if (!progress->active || point == LAT_POINT_LOGITS)
        return;
    double layers = point == LAT_POINT_EMBED ? 0 : point == LAT_POINT_NORM ? (double)progress->layers : point + 1;
    double done = (double)(progress->before + position) + (double)rows * layers / (double)progress->layers;
    double now = lat_clock_seconds();
    if (done >= (double)progress->total)
        lat_progress_end(progress);
    else if (now - progress->drawn >= pause_s) {
        char text[80];
        snprintf(text, sizeof text, "%.0f of %zu tokens, %.0f/s", done, progress->total, done / (now - progress->start));
        draw(progress, done, now, text);
    }
}

void lat_progress_part(struct lat_progress *progress, uint64_t done, uint64_t total)
{
    const double pause_s = 0.1;
    double now = lat_clock_seconds();
    if (!progress->active || total == 0 || now - progress->drawn < pause_s)
        return;
    char text[80];
    double share = (double)done / (double)total;
    snprintf(text, sizeof text, "%.0f %%, %.0f s", 100 * share, now - progress->start);
    draw(progress, share * (double)progress->total, now, text);
}

void lat_progress_end(struct lat_progress *progress)
{
    if (progress->visible)
        fprintf(stderr, "\r\033[K");
    progress->visible = progress->active = false;
}
