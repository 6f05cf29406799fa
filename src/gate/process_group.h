// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What the processes of a group use together, from /proc.
#ifndef LAT_GATE_PROCESS_GROUP_H
#define LAT_GATE_PROCESS_GROUP_H

#include <stdint.h>
#include <sys/types.h>

// Sum of the resident memory of all processes of the group, in bytes (pages that they share count in each of them); 0 when
// the system does not tell.
uint64_t lat_process_group_rss(pid_t group);

#endif
