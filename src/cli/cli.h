// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What the commands of `lattice` share: opening things, reading input, reporting.
#ifndef LAT_CLI_CLI_H
#define LAT_CLI_CLI_H

#include "core/options.h"
#include "core/buf.h"
#include "lattice/generate.h"

extern const struct lat_command lat_command_generate, lat_command_trace, lat_command_tokenize, lat_command_doctor,
    lat_command_quantize, lat_command_ppl, lat_command_bench;

// Prints "lattice: <text>" on stderr and returns the status's exit code.
int lat_cli_fail(const struct lat_error *error);

// The operand's text, or all of standard input when it is "-". Freed with lat_buf_release.
LAT_NODISCARD enum lat_status lat_cli_read_text(const char *operand, struct lat_buf *out, struct lat_error *error);

// Writes all of `out` to stdout and flushes; a full disk or a closed pipe is an error.
LAT_NODISCARD enum lat_status lat_cli_print(const struct lat_buf *out, struct lat_error *error);
LAT_NODISCARD enum lat_status lat_cli_print_bytes(const char *bytes, size_t length, struct lat_error *error);

// "[1,2,3]"
void lat_cli_add_ids(struct lat_buf *out, const int32_t *ids, size_t count);

// Set by Ctrl-C and SIGTERM once lat_cli_catch_signals has been called.
const volatile int *lat_cli_cancel_flag(void);
void lat_cli_catch_signals(void);

// "--threads" and the like as int, 0 for the default; refuses what a pool cannot have.
LAT_NODISCARD enum lat_status lat_cli_threads(size_t wanted, int *threads, struct lat_error *error);

// Options of all commands that evaluate; a command has this struct among its values, and these rows among its options.
struct lat_cli_run {
    size_t threads, chunk;
    const char *compute, *kv;
};
#define LAT_CLI_RUN_OPTIONS(at)                                                                                            \
    { "--threads", "N", "(the processors of this process)", LAT_OPTION_COUNT, (at) + offsetof(struct lat_cli_run, threads) }, \
    { "--chunk", "N", "tokens of one prefill step; does not change a bit (192)", LAT_OPTION_COUNT,                         \
      (at) + offsetof(struct lat_cli_run, chunk) },                                                                        \
    { "--compute", "WAY", "default; exact: quantised weights times f32 activations; fast: bf16 times bf16 where the "      \
      "machine can", LAT_OPTION_TEXT, (at) + offsetof(struct lat_cli_run, compute) },                                      \
    { "--kv", "TYPE", "of cached keys and values: f32, or f16 in half the memory (f32)", LAT_OPTION_TEXT,                  \
      (at) + offsetof(struct lat_cli_run, kv) }
// Takes them over into a session's options.
LAT_NODISCARD enum lat_status lat_cli_run_options(const struct lat_cli_run *run, struct lat_session_options *options,
                                                  struct lat_error *error);

#endif
