// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Child processes: argument arrays, never a shell. A child gets its own process group; at the time limit the whole
// group is asked (SIGTERM) and, a grace later, killed. Output is captured up to a limit and drained beyond it, so a
// child can neither fill memory nor block.
#ifndef LAT_GATE_SPAWN_H
#define LAT_GATE_SPAWN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "lattice/status.h"

struct lat_spawn_options {
    const char *const *argv; // NULL-terminated; argv[0] is looked up in PATH
    const char *directory;   // where it runs; NULL: here
    const char *const *environment; // NULL-terminated "NAME=value" to add or replace; "NAME" alone removes it
    double seconds_max;  // wall time; 0: 3600
    uint64_t rss_max;    // bytes of the group's resident memory, looked at every 100 ms; 0: no limit
    size_t output_max;   // bytes kept of each of stdout and stderr; 0: 8 MiB
    bool merge;          // stderr goes into stdout's buffer, in order
    const char *input;   // NULL: /dev/null
    size_t input_length;
};

struct lat_spawn_result {
    bool exited;     // with `code`; else ended by `signal`
    int code, signal;
    bool timed_out, over_memory;
    double seconds;
    uint64_t rss_peak; // largest seen
    struct lat_buf out, err; // `bytes` is never NULL after LAT_OK
    bool out_cut, err_cut;
};

// LAT_NOT_FOUND when the program does not exist (never mixed up with an exit status of 127), LAT_CANCELLED when SIGINT,
// SIGTERM or SIGHUP came to us meanwhile (the group is ended first, then the signal takes its course). LAT_OK says only
// that the child ran to some end: look at the result. What a child leaves running in its group is killed.
LAT_NODISCARD enum lat_status lat_spawn_run(struct lat_spawn_result *result, const struct lat_spawn_options *options,
                                            struct lat_error *error);
void lat_spawn_result_release(struct lat_spawn_result *result);
// True when the child ended by exit(0) within its limits.
bool lat_spawn_ok(const struct lat_spawn_result *result);
// Full path of `program` by PATH into `path`, or false.
bool lat_spawn_find(const char *program, char *path, size_t size);

#endif
