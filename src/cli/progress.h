// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A bar on standard error while a prompt is evaluated, driven by what an observer of the session sees. Only on a
// terminal: logs and pipes never get it, and without it no observer is needed.
#ifndef LAT_CLI_PROGRESS_H
#define LAT_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lat_progress {
    size_t total;  // positions that will be evaluated
    size_t before; // of them, those of prompts that are done
    size_t layers;
    double start, drawn; // times
    bool active;  // a terminal, and not ended
    bool visible; // the line holds a bar
};

// True when standard error is a terminal, so that a bar may be shown.
bool lat_progress_wanted(void);
void lat_progress_begin(struct lat_progress *progress, size_t total, size_t layers);
// As a session's observer sees it (see lat_observe_fn).
void lat_progress_see(struct lat_progress *progress, int point, size_t position, size_t rows);
// `done` of `total` units of any work.
void lat_progress_part(struct lat_progress *progress, uint64_t done, uint64_t total);
// Takes the bar off the line; nothing more is drawn. Harmless when there is none.
void lat_progress_end(struct lat_progress *progress);

#endif
