// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Is this a place where the gate can judge? git, the clone, the clock, the disk, the locale, and the programs that the
// policy's legs name.
#ifndef LAT_GATE_ENVIRONMENT_CHECK_H
#define LAT_GATE_ENVIRONMENT_CHECK_H

#include "core/buf.h"
#include "gate/finding.h"
#include "gate/policy.h"

// Adds a finding for what is wrong, and one line per check to `notes` (e.g. "git 2.39.2"). `policy` may be NULL. Returns
// the number of checks made.
size_t lat_environment_check(struct lat_leg_result *result, const char *root, const struct lat_policy *policy, struct lat_buf *notes);

// "git version 2.39.2 (Apple Git-1)" to 2039; 0 when it is no such text.
unsigned lat_environment_git_version(const char *text);
// The value of LC_ALL, LC_CTYPE or LANG leaves text as UTF-8, or says nothing.
bool lat_environment_locale_fits(const char *value);

#endif
