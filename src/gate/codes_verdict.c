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
    { "V207", "results of two attempts", "A re-run that mixes old and new results proves neither attempt.", "Run all legs of one attempt.", NULL },
};

const struct lat_gate_code_table lat_gate_codes_verdict = { "verdict", codes, sizeof codes / sizeof codes[0] };
