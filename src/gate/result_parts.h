// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Shared by the readers of test results.
#ifndef LAT_GATE_RESULT_PARTS_H
#define LAT_GATE_RESULT_PARTS_H

#include "gate/result_parsers.h"

// A line without its end.
struct lat_line {
    const char *text;
    size_t length, number;
};

struct lat_results_reader {
    struct lat_test_results *results;
    const char *name;
    const char *at, *end;
    size_t line;
    struct lat_error *error;
};

LAT_NODISCARD enum lat_status lat_results_add(struct lat_results_reader *r, enum lat_test_outcome outcome, const char *name,
                                              size_t name_length, const char *message, size_t message_length);
bool lat_results_line(struct lat_results_reader *r, struct lat_line *line); // false at the end
// "name: line N: ...", LAT_FORMAT
enum lat_status lat_results_refuse(struct lat_results_reader *r, const char *format, ...) LAT_PRINTF(2, 3);
bool lat_line_starts(const struct lat_line *line, const char *text);
// Digits at `at`; moves it past them. False when there are none or too many.
bool lat_line_count(const char **at, const char *end, uint64_t *out);

enum lat_status lat_results_junit(struct lat_results_reader *r, bool many_roots);
enum lat_status lat_results_ctest_text(struct lat_results_reader *r);
enum lat_status lat_results_cmocka_text(struct lat_results_reader *r);
enum lat_status lat_results_tap(struct lat_results_reader *r, bool cmocka);

#endif
