// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Codes of the legs "bench-compile".
#include "gate/gate_codes.h"

static const struct lat_gate_code codes[] = {
    { "B501", "benchmarks for another machine, or none",
      "A job that builds no benchmark, or builds it for the machine that it happens to run on, is green whatever is broken.",
      "Name the targets and the toolchain of the architecture that is meant.", "arch: {aarch64: {}}, on x86-64 without a toolchain" },
    { "B505", "a benchmark does not build", "Benchmarks rot when a change of an interface passes them by.",
      "Repair it for the architecture that the finding names.", "an initialiser that misses a new member" },
    { "B506", "an iteration fails", "A benchmark that builds and cannot run measures nothing on the day when it is needed.",
      "Run it by hand with the arguments of 'run'.", "run: [--smoke]" },
};

const struct lat_gate_code_table lat_gate_codes_bench = { "bench", codes, sizeof codes / sizeof codes[0] };
