// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/gate_cmd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int lat_gate_complain(const struct lat_error *error)
{
    fflush(stdout);
    fprintf(stderr, "lattice-gate: %s\n", error->text);
    return error->status == LAT_ARGUMENT ? LAT_GATE_USAGE : LAT_GATE_CANNOT_JUDGE;
}

bool lat_gate_print(const struct lat_buf *text)
{
    bool written = !text->failed && (text->length == 0 || fwrite(text->bytes, 1, text->length, stdout) == text->length);
    if (written && fflush(stdout) == 0 && !ferror(stdout))
        return true;
    fprintf(stderr, "lattice-gate: standard output: cannot write\n");
    return false;
}

bool lat_gate_color(FILE *out)
{
    const char *when = getenv("LATTICE_GATE_COLOR"), *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (when && strcmp(when, "always") == 0)
        return true;
    if ((when && strcmp(when, "never") == 0) || (no && *no) || (terminal && strcmp(terminal, "dumb") == 0))
        return false;
    return isatty(fileno(out)) != 0;
}

const char *lat_gate_color_of(enum lat_leg_state state, bool color)
{
    if (!color)
        return "";
    if (state >= LAT_LEG_FAIL)
        return "\033[31m";
    return state >= LAT_LEG_WARN ? "\033[33m" : "\033[32m";
}

const char *lat_gate_color_end(bool color) { return color ? "\033[0m" : ""; }

int lat_gate_exit_of(enum lat_leg_state state)
{
    if (state >= LAT_LEG_ERROR)
        return LAT_GATE_CANNOT_JUDGE;
    if (state == LAT_LEG_FAIL)
        return LAT_GATE_FAIL;
    return state == LAT_LEG_UNMEASURABLE ? LAT_GATE_UNMEASURABLE : LAT_GATE_PASS;
}
