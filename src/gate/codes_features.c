// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Codes of the legs "features".
#include "gate/gate_codes.h"

static const struct lat_gate_code codes[] = {
    { "F401", "out of time", "A proof that was cut short says nothing of what it did not reach.",
      "Raise 'budget', split the work with --partition, or choose a covering mode.", "budget: 1s" },
    { "F402", "a forbidden combination configures", "Users get a build that was never meant to exist, and nobody tests it.",
      "Let CMake refuse it with message(FATAL_ERROR \"...\") and the text that the leg states.",
      "forbid: [{when: \"METAL & !darwin\", message: \"needs macOS\"}], and no such check in CMakeLists.txt" },
    { "F403", "options have drifted",
      "An option that the leg does not name is never varied; one that CMake does not declare is varied in vain.",
      "Name it under 'options', or under 'unlisted' when it is no feature, or remove it.",
          "option(NEW_THING \"...\" OFF), and no NEW_THING in gate.yaml" },
    { "F404", "a combination of options does not build",
      "Someone who chooses these options cannot configure, compile or link; the set that everyone builds says nothing of it.",
      "Repair it for the assignments that the finding names, or state the constraint that forbids them.",
      "#if defined(A) && !defined(B)\n#error\n#endif" },
    { "F405", "tests fail in a feature set", "A set of options that compiles may still compute something else.",
      "Build that set and run its tests; the finding names both.", "test_on: [small]" },
    { "F406", "a compiler said yes and made nothing", "A wrapper that ends with 0 whatever happens would turn every check green.",
      "Look at the compiler or launcher that the finding names.", "CMAKE_C_COMPILER_LAUNCHER=true" },
    { "F407", "an option changes nothing", "An option without effect is a promise that is not kept, and doubles the number of assignments.",
      "Remove it, or use it; 'dead_option: ignore' for those that only install files.", NULL },
    { "F408", "CMake replaces a value", "What was asked for is not what was built: the assignment is counted and not tried.",
      "State what forces the value as a constraint: requires: [\"A -> B\"].", "cmake_dependent_option(A \"...\" ON \"B\" OFF)" },
};

const struct lat_gate_code_table lat_gate_codes_features = { "features", codes, sizeof codes / sizeof codes[0] };
