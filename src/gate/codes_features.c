// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/gate_codes.h"

static const struct lat_gate_code codes[] = {
    { "F401", "the budget of the feature sets is used up", "What was not built is not known to build.",
      "Raise 'budget', or choose a smaller 'mode'.", NULL },
    { "F402", "an illegal combination is not refused as it should be",
      "A combination that the policy forbids must fail when it is configured, with the stated text; else users find out later.",
      "message(FATAL_ERROR \"...\") in the project, with the policy's text.",
      "forbid: [{when: \"METAL & !darwin\", message: needs macOS}]" },
    { "F403", "the policy and the project have different options",
      "An option that no feature set names is never built the other way; one that the project lacks tests nothing.",
      "Add it to 'options' (or to 'unlisted' when it is no feature), or remove it.",
      "option(NEW_THING \"...\" OFF) in CMakeLists.txt alone" },
    { "F404", "a combination of options does not build", "A user who chooses these options gets an error.",
      "Build it with these options and repair it.", "#error under one pair of options" },
    { "F405", "tests fail in a feature set", "What compiles in this set does not work in it.", "Run the tests with these options.", NULL },
};

const struct lat_gate_code_table lat_gate_codes_features = { "features", codes, sizeof codes / sizeof codes[0] };
