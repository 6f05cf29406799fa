// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct status_row {
    const char *name;
    const char *text;
    int exit_code;
    int http;
};

static const struct status_row status_rows[] = {
#define LAT_STATUS_ROW(name, text, exit_code, http) { "LAT_" #name, text, exit_code, http },
    LAT_STATUS_MAP(LAT_STATUS_ROW)
#undef LAT_STATUS_ROW
};

static const struct status_row *status_row(enum lat_status status)
{
    size_t index = (size_t)status;
    LAT_BUG_IF(index >= sizeof status_rows / sizeof status_rows[0]);
    return &status_rows[index];
}

const char *lat_status_name(enum lat_status status) { return status_row(status)->name; }
const char *lat_status_text(enum lat_status status) { return status_row(status)->text; }
int lat_status_exit_code(enum lat_status status) { return status_row(status)->exit_code; }
int lat_status_http(enum lat_status status) { return status_row(status)->http; }
const char *lat_version(void) { return LATTICE_VERSION; }

// File and tensor names come from strangers: control bytes would let them forge lines of a log or move the cursor.
static void text_make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

enum lat_status lat_error_set(struct lat_error *error, enum lat_status status, const char *format, ...)
{
    if (!error)
        return status;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    text_make_one_line(error->text);
    error->status = status;
    return status;
}

enum lat_status lat_error_prefix(struct lat_error *error, enum lat_status status, const char *format, ...)
{
    if (!error)
        return status;
    char old[sizeof error->text];
    memcpy(old, error->text, sizeof old);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof error->text)
        snprintf(error->text + used, sizeof error->text - (size_t)used, ": %.590s", old);
    text_make_one_line(error->text);
    return status;
}

enum lat_status lat_error_memory(struct lat_error *error, const char *what)
{
    return lat_error_set(error, LAT_MEMORY, "out of memory for %s", what);
}

enum lat_status lat_error_errno(struct lat_error *error, int errnum, const char *verb, const char *path)
{
    char reason[128] = "unknown error";
#if defined(__GLIBC__) && defined(_GNU_SOURCE)
    const char *text = strerror_r(errnum, reason, sizeof reason);
#else
    const char *text = strerror_r(errnum, reason, sizeof reason) == 0 ? reason : "unknown error";
#endif
    enum lat_status status = errnum == ENOENT || errnum == ENOTDIR ? LAT_NOT_FOUND
                           : errnum == ENOMEM                      ? LAT_MEMORY
                                                                   : LAT_IO;
    return lat_error_set(error, status, "%s: cannot %s: %s", path, verb, text);
}

_Noreturn void lat_bug(const char *file, int line, const char *text)
{
    fprintf(stderr, "%s:%d: bug in Lattice: %s\n", file, line, text);
    abort();
}
