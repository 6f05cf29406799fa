// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A Hugging Face folder of a Qwen3.5 model, rewritten with quantised matrices (compressed-tensors, pack-quantized), rotated
// or not. Rows stream through, so memory stays bounded by one matrix; the new folder appears by rename when it is whole.
#ifndef LAT_QUANT_FOLDER_QUANTIZE_H
#define LAT_QUANT_FOLDER_QUANTIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "lattice/status.h"

struct lat_quantize_options {
    int bits;      // 4 or 8; with a rotation also 16 (each in its type) and 32 (f32)
    int head_bits; // 4, 8 or 16
    size_t group;  // 32, 64, 128; 0: one scale a row
    bool search;   // look for the scale with the least squared error
    bool rotate;
    uint64_t seed; // of the rotation
    int threads;   // does not change a bit
    bool force;    // replace an existing folder that holds a model
    bool dry_run;  // plan and check, write nothing
    const volatile int *cancel; // may be NULL
    // Called now and then with bytes of weights done and all; may be NULL.
    void (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
};

struct lat_quantize_report {
    size_t quantized, kept, left_out; // tensors of the folder
    uint64_t bytes_before, bytes_after; // of all weights
    double relative_error; // root of (squared errors / squares) over what was quantised
    struct lat_buf notes; // a line for each matrix that could not be quantised, and for what was left out
};

// `hidden_size` and `tied` as the opened model says. LAT_ARGUMENT, LAT_FORMAT, LAT_NOT_FINITE (tensor and element), LAT_IO,
// LAT_CANCELLED: nothing is left behind. The caller releases report->notes.
LAT_NODISCARD enum lat_status lat_folder_quantize(const char *in, const char *out, size_t hidden_size, bool tied,
                                                  const struct lat_quantize_options *options,
                                                  struct lat_quantize_report *report, struct lat_error *error);

#endif
