// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What test programs say they did: JUnit XML, CTest (its JUnit file, or its output), cmocka (its four message formats
// but Subunit), TAP. A result that is cut short, or that contradicts its own totals, is refused.
#ifndef LAT_GATE_RESULT_PARSERS_H
#define LAT_GATE_RESULT_PARSERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mem.h"
#include "lattice/status.h"

enum lat_results_format { LAT_RESULTS_EXIT, LAT_RESULTS_JUNIT, LAT_RESULTS_CTEST, LAT_RESULTS_CMOCKA, LAT_RESULTS_TAP };
bool lat_results_format_parse(const char *name, enum lat_results_format *out); // "junit"

enum lat_test_outcome { LAT_TEST_PASSED, LAT_TEST_FAILED, LAT_TEST_SKIPPED };

struct lat_test_case {
    const char *name;    // "suite.test", or as given
    const char *message; // why it failed or was skipped; may be NULL
    enum lat_test_outcome outcome;
};

enum { LAT_RESULTS_CASES_MAX = 500000 };

struct lat_test_results {
    struct lat_test_case *cases;
    size_t count, capacity;
    uint64_t passed, failed, skipped;
    struct lat_arena arena; // owns the texts
};

// `name` is for messages. LAT_FORMAT when the text is not what it should be, or not all of it. No tests at all is no
// error here: the caller has a minimum.
LAT_NODISCARD enum lat_status lat_results_parse(struct lat_test_results *results, enum lat_results_format format, const char *text,
                                                size_t length, const char *name, struct lat_error *error);
void lat_results_release(struct lat_test_results *results);

#endif
