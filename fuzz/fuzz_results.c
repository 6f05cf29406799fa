// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Test results: the first byte chooses the format, the rest is the text.
#include <stdint.h>
#include <stdlib.h>

#include "gate/result_parsers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lat_test_results results;
    struct lat_error error = { 0 };
    if (size == 0)
        return 0;
    enum lat_results_format format = (enum lat_results_format)(LAT_RESULTS_JUNIT + data[0] % 4);
    if (lat_results_parse(&results, format, (const char *)data + 1, size - 1, "input", &error) != LAT_OK) {
        if (!error.text[0] || results.cases)
            abort();
        return 0;
    }
    if (results.passed + results.failed + results.skipped != results.count)
        abort();
    for (size_t i = 0; i < results.count; i++)
        if (!results.cases[i].name)
            abort();
    lat_results_release(&results);
    return 0;
}
