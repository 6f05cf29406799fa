// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Codes that any leg can carry: how it ended, how much it looked at, what its tests said.
#include "gate/gate_codes.h"

static const struct lat_gate_code codes[] = {
    { "T101", "a test failed", "The leg ran, and a test that it counts says no.", "Repair what the test shows, or the test.",
      "<testcase name=\"adds\"><failure message=\"3 is not 4\"/></testcase>" },
    { "T102", "the command failed", "A command that is judged by its exit status alone ended with another one than 0.",
      "Run the command by hand; its last lines stand in the finding.", "run: [sh, -c, \"exit 1\"]\nparse: exit" },
    { "T103", "results that cannot be read",
      "The result file is missing, empty, cut short or not what 'parse' says. A checker that guesses would call that green.",
      "Look at the file that the finding names; compare 'parse' with what the command writes.", "<testsuite tests=\"3\"><testcase" },
    { "E301", "a program is missing",
      "A leg that is armed and lacks a tool is an error, not a skip: else the check stops the day the tool goes.",
      "Install the program, or correct its name in 'tools' or 'run'.", "tools: [valgrind], on a machine without it" },
    { "E302", "evidence cannot be written or read", "Disk full, short write, missing rights: without evidence there is no verdict.",
      "Make room or correct the rights in the gate's working folder.", NULL },
    { "E304", "input beyond a limit, or hostile", "Sizes, counts and depths are bounded; what exceeds them is not judged in part.",
      "Make the input smaller, or have the limit looked at.", "an XML result file of 200 MiB, or nested 100 deep" },
    { "E305", "a leg cannot be judged", "Something that the leg needs is not as expected; the finding says what.",
      "Read the finding.", NULL },
};

const struct lat_gate_code_table lat_gate_codes_core = { "core", codes, sizeof codes / sizeof codes[0] };
