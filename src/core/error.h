// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// How the library reports: refused input and failures of the environment become a status and a line of text;
// only a bug of our own aborts.
#ifndef LAT_CORE_ERROR_H
#define LAT_CORE_ERROR_H

#include "lattice/status.h"

// Sets status and text (printf style) in `error` when it is not NULL. Returns `status`, so that callers can write
// `return lat_error_set(error, LAT_FORMAT, "%s: ...", path);`. Bytes that would break a terminal line are escaped.
enum lat_status lat_error_set(struct lat_error *error, enum lat_status status, const char *format, ...) LAT_PRINTF(3, 4);

// Puts "prefix: " before the text that is there, to say where from the caller's point of view. Returns error->status,
// or `status` when error is NULL.
enum lat_status lat_error_prefix(struct lat_error *error, enum lat_status status, const char *format, ...)
    LAT_PRINTF(3, 4);

// Out of memory, with what the memory was for.
enum lat_status lat_error_memory(struct lat_error *error, const char *what);

// errno of a failed system call, with the file's name.
enum lat_status lat_error_errno(struct lat_error *error, int errnum, const char *verb, const char *path);

_Noreturn void lat_bug(const char *file, int line, const char *text);

// A condition that no input can cause: says where and aborts.
#define LAT_BUG_IF(condition)                             \
    do {                                                  \
        if (condition)                                    \
            lat_bug(__FILE__, __LINE__, #condition);      \
    } while (0)

// Forwards a failure to the caller.
#define LAT_TRY(expression)                               \
    do {                                                  \
        enum lat_status lat_try_status_ = (expression);   \
        if (lat_try_status_ != LAT_OK)                    \
            return lat_try_status_;                       \
    } while (0)

#endif
