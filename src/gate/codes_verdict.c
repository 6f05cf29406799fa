// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Codes of the verdict itself.
#include "gate/gate_codes.h"

static const struct lat_gate_code codes[] = {
    { "V201", "evidence of another run or tree",
      "A result whose nonce or tree is not the plan's was made for something else; taking it would let old or foreign green in.",
      "Run the leg again for this plan; do not keep results between runs. A leg must not write into the tree.", NULL },
    { "V202", "a result is missing, there twice, or not in the plan",
      "A leg that silently stops running must not be green, and a second result must not replace a red one.",
      "Run the leg, or remove what should not be there.", "a job that is no longer called" },
    { "V203", "the results and the exit status disagree",
      "The results say pass and the process says failure, or the other way round: one of two witnesses lies, as when a status is\n"
      "lost in a pipe.",
      "Make the command end with the status of its tests.", "a JUnit file with a failure, and exit status 0" },
    { "V204", "a leg did not come to its end",
      "Timed out, out of memory, ended by a signal, or not run because a leg that it needs is red. What did not finish proves\n"
      "nothing.",
      "Raise 'budget' or 'rss_max' when the work grew; else find the hang, the leak or the crash.", "budget: 1s, and a test that sleeps" },
    { "V205", "too little was looked at",
      "Fewer tests (files, positions, ...) than the policy's 'min', or none at all: an empty success.",
      "Find out why they did not run. Lower 'min' only when tests were removed on purpose.", "min: 200, and a filter that selects 3" },
    { "V206", "a skip that is not allowed",
      "A skipped test proves nothing; each must be named in 'skips_allow' by someone who read why it is skipped.",
      "Make the test run here, or add its name to 'skips_allow' of the leg.", "ok 4 gpu_matmul # SKIP no device" },
    { "V207", "results of two attempts", "A re-run that mixes old and new results proves neither attempt.",
      "Run all legs of one attempt.", NULL },
    { "E303", "the gate itself ended before its verdict",
      "A verdict is the line 'verdict: ...' and an exit status. A job in which the gate died has no such line, and is red.",
      "Read the log of the job; run 'lattice-gate verdict' where the evidence lies.", NULL },
};

const struct lat_gate_code_table lat_gate_codes_verdict = { "verdict", codes, sizeof codes / sizeof codes[0] };
