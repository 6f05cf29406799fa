// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Reads any bytes as an ELF file. What is read must hold together: names end, every place of the list is filled.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/elf_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lat_elf elf;
    size_t total = 0;
    if (lat_elf_parse(&elf, data, size, "input", NULL) != LAT_OK)
        return 0;
    for (size_t i = 0; i < elf.needed_count; i++) {
        if (!elf.needed[i])
            abort();
        total += strlen(elf.needed[i]);
    }
    if ((elf.needed_count > 0 && !elf.dynamic) || total > size * elf.needed_count)
        abort();
    lat_elf_release(&elf);
    return 0;
}
