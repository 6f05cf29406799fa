// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What an ELF file says of itself: machine, kind, and what the dynamic linker will load for it. Both classes and byte
// orders; by program headers only, as the loader does, so that a stripped section table changes nothing.
// Source of the layout: System V gABI, chapters 4 and 5.
#ifndef LAT_GATE_ELF_READER_H
#define LAT_GATE_ELF_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/mem.h"
#include "lattice/status.h"

enum { LAT_ELF_REL = 1, LAT_ELF_EXEC = 2, LAT_ELF_DYN = 3, LAT_ELF_CORE = 4 }; // type
enum { LAT_ELF_NEEDED_MAX = 4096, LAT_ELF_NAME_MAX = 4096 };

struct lat_elf {
    uint16_t machine;
    bool is_64, little;
    uint16_t type;
    bool dynamic;               // it has a dynamic section
    const char *const *needed;  // DT_NEEDED, in the file's order
    size_t needed_count;
    const char *soname;         // NULL: none
    const char *runpath;        // DT_RUNPATH, else DT_RPATH, else NULL
    const char *interp;         // the dynamic linker; NULL: none
    struct lat_arena arena;     // owns the texts
};

// LAT_FORMAT when not ELF or damaged; LAT_LIMIT above LAT_ELF_NEEDED_MAX libraries. `name` begins messages. On failure
// nothing is left to release (a release does no harm).
LAT_NODISCARD enum lat_status lat_elf_parse(struct lat_elf *elf, const void *bytes, size_t length, const char *name,
                                            struct lat_error *error);
LAT_NODISCARD enum lat_status lat_elf_read(struct lat_elf *elf, const char *path, struct lat_error *error);
void lat_elf_release(struct lat_elf *elf);

// "x86-64", "aarch64"; "unknown" for a number that is not in the table.
const char *lat_elf_machine_name(uint16_t machine);
// The number of such a name, or 0.
uint16_t lat_elf_machine_number(const char *name);

#endif
