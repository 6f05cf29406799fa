// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Status codes and error details, used by every part of the library.
//
//   struct lat_error err = {0};
//   if (lat_model_open(&model, path, NULL, &err) != LAT_OK)
//       fprintf(stderr, "%s\n", err.text);          // one line, names the place
//
// A function that can fail returns enum lat_status. `error` may be NULL; it is untouched on success.
#ifndef LATTICE_STATUS_H
#define LATTICE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

// name, text, exit code of a program that ends with it, HTTP status of a server that answers with it
#define LAT_STATUS_MAP(X)                                              \
    X(OK, "ok", 0, 200)                                                \
    X(FAILED, "a check failed", 1, 500)                                \
    X(ARGUMENT, "bad argument", 2, 400)                                \
    X(FORMAT, "malformed input", 2, 400)                               \
    X(UNSUPPORTED, "not supported", 2, 400)                            \
    X(NOT_FOUND, "not found", 2, 404)                                  \
    X(LIMIT, "over a limit", 2, 413)                                   \
    X(NOT_FINITE, "a value is not a finite number", 2, 500)            \
    X(MEMORY, "out of memory", 3, 503)                                 \
    X(IO, "input or output failed", 2, 500)                            \
    X(CANCELLED, "cancelled", 3, 499)                                  \
    X(UNAVAILABLE, "not available in this build or machine", 3, 501)

enum lat_status {
#define LAT_STATUS_ENUM(name, text, exit_code, http) LAT_##name,
    LAT_STATUS_MAP(LAT_STATUS_ENUM)
#undef LAT_STATUS_ENUM
};

// What went wrong and where: file, tensor, field, byte offset. One line, always NUL-terminated.
struct lat_error {
    enum lat_status status;
    char text[600];
};

#if defined(__GNUC__)
#define LAT_NODISCARD __attribute__((warn_unused_result))
#define LAT_PRINTF(fmt_index, first) __attribute__((format(printf, fmt_index, first)))
#else
#define LAT_NODISCARD
#define LAT_PRINTF(fmt_index, first)
#endif

#if defined(LATTICE_BUILD) && defined(__GNUC__)
#define LAT_API __attribute__((visibility("default")))
#else
#define LAT_API
#endif

LAT_API const char *lat_status_name(enum lat_status status); // "LAT_FORMAT"
LAT_API const char *lat_status_text(enum lat_status status); // "malformed input"
LAT_API int lat_status_exit_code(enum lat_status status);
LAT_API int lat_status_http(enum lat_status status);

// Library version, "major.minor.patch".
LAT_API const char *lat_version(void);

#ifdef __cplusplus
}
#endif
#endif
