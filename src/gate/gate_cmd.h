// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What the commands of lattice-gate share: exit statuses, messages, colour. gate_main.c lists the commands.
#ifndef LAT_GATE_GATE_CMD_H
#define LAT_GATE_GATE_CMD_H

#include <stdio.h>

#include "core/buf.h"
#include "core/options.h"
#include "gate/finding.h"

enum lat_gate_exit {
    LAT_GATE_PASS = 0,
    LAT_GATE_FAIL = 1,         // judged, and failed
    LAT_GATE_CANNOT_JUDGE = 2, // gate, environment or configuration
    LAT_GATE_UNMEASURABLE = 3, // not measurable, or not armed
    LAT_GATE_USAGE = 4,
    LAT_GATE_CANNOT_FAIL = 5, // the self-test found a gate that is always green
};

extern const struct lat_command
    lat_gate_cmd_completion,
    lat_gate_cmd_deny,
    lat_gate_cmd_deny_lock,
    lat_gate_cmd_doctor,
    lat_gate_cmd_explain,
    lat_gate_cmd_features_explain,
    lat_gate_cmd_features_plan,
    lat_gate_cmd_features_run,
    lat_gate_cmd_local,
    lat_gate_cmd_parity_bisect,
    lat_gate_cmd_parity_compare,
    lat_gate_cmd_parity_freeze,
    lat_gate_cmd_parity_live,
    lat_gate_cmd_parity_power,
    lat_gate_cmd_parity_run,
    lat_gate_cmd_report,
    lat_gate_cmd_plan,
    lat_gate_cmd_run,
    lat_gate_cmd_verdict;

// All commands, NULL-terminated, in the order of the help.
extern const struct lat_command *const lat_gate_commands[];

// "lattice-gate: TEXT" on stderr. Returns LAT_GATE_USAGE for LAT_ARGUMENT, else LAT_GATE_CANNOT_JUDGE.
int lat_gate_complain(const struct lat_error *error);
// Writes to stdout; false, after a message, when that fails or the buffer had.
bool lat_gate_print(const struct lat_buf *text);

// Whether `out` gets colours: by --color (which main turns into LATTICE_GATE_COLOR), NO_COLOR, and being a terminal.
bool lat_gate_color(FILE *out);
const char *lat_gate_color_of(enum lat_leg_state state, bool color); // escape sequence, or ""
const char *lat_gate_color_end(bool color);

// The exit status for the worst state of what was run: UNMEASURABLE is 3, FAIL 1, ERROR 2, better ones 0.
int lat_gate_exit_of(enum lat_leg_state state);

#endif
