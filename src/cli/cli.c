// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/pool.h"

enum { INPUT_BYTES_MAX = 1 << 30 };

int lat_cli_fail(const struct lat_error *error)
{
    fprintf(stderr, "lattice: %s\n", error->text);
    return lat_status_exit_code(error->status);
}

enum lat_status lat_cli_read_text(const char *operand, struct lat_buf *out, struct lat_error *error)
{
    lat_buf_init(out, INPUT_BYTES_MAX);
    if (strcmp(operand, "-") != 0)
        lat_buf_add_text(out, operand);
    else {
        char block[65536];
        size_t n;
        while ((n = fread(block, 1, sizeof block, stdin)) > 0)
            lat_buf_add(out, block, n);
        if (ferror(stdin))
            return lat_error_errno(error, errno, "read", "standard input");
    }
    return out->failed ? lat_error_set(error, LAT_LIMIT, "the input is larger than 1 GiB or than memory") : LAT_OK;
}

enum lat_status lat_cli_print_bytes(const char *bytes, size_t length, struct lat_error *error)
{
    if (fwrite(bytes, 1, length, stdout) != length || fflush(stdout) != 0 || ferror(stdout))
        return lat_error_errno(error, errno, "write", "standard output");
    return LAT_OK;
}

enum lat_status lat_cli_print(const struct lat_buf *out, struct lat_error *error)
{
    if (out->failed)
        return lat_error_memory(error, "the output");
    return lat_cli_print_bytes(out->bytes ? out->bytes : "", out->length, error);
}

void lat_cli_add_ids(struct lat_buf *out, const int32_t *ids, size_t count)
{
    lat_buf_add_char(out, '[');
    for (size_t i = 0; i < count; i++)
        lat_buf_addf(out, i ? ",%d" : "%d", (int)ids[i]);
    lat_buf_add_char(out, ']');
}

static volatile int cancelled; // a signal handler has no other way to speak

static void on_signal(int number)
{
    (void)number;
    cancelled = 1;
}

const volatile int *lat_cli_cancel_flag(void) { return &cancelled; }

void lat_cli_catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | (int)SA_RESETHAND }; // twice: at once
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

enum lat_status lat_cli_threads(size_t wanted, int *threads, struct lat_error *error)
{
    if (wanted > LAT_POOL_THREADS_MAX)
        return lat_error_set(error, LAT_ARGUMENT, "--threads: %zu is outside 1 to %d", wanted, LAT_POOL_THREADS_MAX);
    *threads = (int)wanted;
    return LAT_OK;
}

enum lat_status lat_cli_run_options(const struct lat_cli_run *run, struct lat_session_options *options,
                                    struct lat_error *error)
{
    static const char *const ways[] = { "default", "exact", "fast" };
    options->chunk = run->chunk;
    LAT_TRY(lat_cli_threads(run->threads, &options->threads, error));
    for (int i = 0; run->compute && i <= 3; i++) {
        if (i == 3)
            return lat_error_set(error, LAT_ARGUMENT, "--compute: '%.40s' is none of default, exact, fast", run->compute);
        options->compute = (enum lat_compute)i;
        if (strcmp(run->compute, ways[i]) == 0)
            break;
    }
    if (run->kv && strcmp(run->kv, "f32") != 0 && strcmp(run->kv, "f16") != 0)
        return lat_error_set(error, LAT_ARGUMENT, "--kv: '%.40s' is neither f32 nor f16", run->kv);
    options->half_cache = run->kv && strcmp(run->kv, "f16") == 0;
    return LAT_OK;
}
