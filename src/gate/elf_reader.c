// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/elf_reader.h"

#include <string.h>

#include "core/error.h"
#include "core/file.h"

enum { PT_LOAD = 1, PT_DYNAMIC = 2, PT_INTERP = 3, PN_XNUM = 0xffff };
enum { DT_NULL = 0, DT_NEEDED = 1, DT_STRTAB = 5, DT_STRSZ = 10, DT_SONAME = 14, DT_RPATH = 15, DT_RUNPATH = 29 };
enum { ARENA_MAX = 4 << 20 };

static const struct machine {
    uint16_t number;
    const char *name;
} machines[] = {
    { 3, "i386" },      { 8, "mips" },        { 20, "powerpc" },      { 21, "powerpc64" }, { 22, "s390" },
    { 40, "arm" },      { 43, "sparcv9" },    { 62, "x86-64" },       { 183, "aarch64" },  { 243, "riscv" },
    { 247, "bpf" },     { 258, "loongarch" },
};

// The file, and what its header says of reading it.
struct reader {
    const unsigned char *bytes;
    size_t length;
    const char *name;
    bool wide, little;
    uint64_t phoff;
    uint16_t phentsize, phnum;
    struct lat_error *error;
};

struct segment {
    uint32_t type;
    uint64_t offset, address, size; // size: in the file
};

static bool inside(const struct reader *r, uint64_t offset, uint64_t size)
{
    return offset <= r->length && size <= r->length - offset;
}

// An unsigned number of `size` bytes; the caller has checked that it is inside.
static uint64_t number(const struct reader *r, uint64_t offset, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value = value << 8 | r->bytes[offset + (r->little ? size - 1 - i : i)];
    return value;
}

static enum lat_status damaged(const struct reader *r, const char *what)
{
    return lat_error_set(r->error, LAT_FORMAT, "%s: damaged ELF file: %s", r->name, what);
}

static enum lat_status read_header(struct reader *r, struct lat_elf *elf)
{
    if (r->length < 16 || memcmp(r->bytes, "\177ELF", 4) != 0)
        return lat_error_set(r->error, LAT_FORMAT, "%s: not an ELF file", r->name);
    unsigned class = r->bytes[4], order = r->bytes[5];
    if (class < 1 || class > 2 || order < 1 || order > 2 || r->bytes[6] != 1)
        return damaged(r, "class, byte order or version of its identification is unknown");
    r->wide = class == 2;
    r->little = order == 1;
    if (!inside(r, 0, r->wide ? 64 : 52))
        return damaged(r, "it ends within its header");
    elf->is_64 = r->wide;
    elf->little = r->little;
    elf->type = (uint16_t)number(r, 16, 2);
    elf->machine = (uint16_t)number(r, 18, 2);
    r->phoff = r->wide ? number(r, 32, 8) : number(r, 28, 4);
    r->phentsize = (uint16_t)number(r, r->wide ? 54 : 42, 2);
    r->phnum = (uint16_t)number(r, r->wide ? 56 : 44, 2);
    if (r->phnum == PN_XNUM)
        return damaged(r, "more than 65534 program headers");
    if (r->phnum == 0)
        return LAT_OK;
    if (r->phentsize < (r->wide ? 56 : 32))
        return damaged(r, "program headers are too small");
    if (!inside(r, r->phoff, (uint64_t)r->phnum * r->phentsize))
        return damaged(r, "program headers lie outside the file");
    return LAT_OK;
}

static struct segment segment_at(const struct reader *r, size_t i)
{
    uint64_t at = r->phoff + (uint64_t)i * r->phentsize;
    if (r->wide)
        return (struct segment){ (uint32_t)number(r, at, 4), number(r, at + 8, 8), number(r, at + 16, 8),
                                 number(r, at + 32, 8) };
    return (struct segment){ (uint32_t)number(r, at, 4), number(r, at + 4, 4), number(r, at + 8, 4),
                             number(r, at + 16, 4) };
}

// A NUL-terminated text that ends before `end`, copied to the arena.
static enum lat_status copy_text(const struct reader *r, struct lat_elf *elf, uint64_t offset, uint64_t end,
                                 const char **out)
{
    uint64_t most = end - offset < LAT_ELF_NAME_MAX ? end - offset : LAT_ELF_NAME_MAX;
    const unsigned char *nul = offset < end ? memchr(r->bytes + offset, 0, (size_t)most) : NULL;
    if (!nul)
        return damaged(r, "a name does not end");
    size_t length = (size_t)(nul - (r->bytes + offset));
    char *copy = lat_arena_new(&elf->arena, length + 1, 1);
    if (!copy)
        return lat_error_memory(r->error, "names of an ELF file");
    memcpy(copy, r->bytes + offset, length);
    *out = copy;
    return LAT_OK;
}

// What the dynamic section points to.
struct dynamic {
    uint64_t offset, count; // of its entries
    uint64_t strings, strings_size; // offset in the file
};

static void entry_at(const struct reader *r, const struct dynamic *d, uint64_t i, uint64_t *tag, uint64_t *value)
{
    unsigned size = r->wide ? 8 : 4;
    uint64_t at = d->offset + i * 2 * size;
    *tag = number(r, at, size);
    *value = number(r, at + size, size);
}

static bool address_to_offset(const struct reader *r, uint64_t address, uint64_t *offset)
{
    for (size_t i = 0; i < r->phnum; i++) {
        struct segment s = segment_at(r, i);
        if (s.type == PT_LOAD && address >= s.address && address - s.address < s.size) {
            uint64_t within = address - s.address;
            if (__builtin_add_overflow(s.offset, within, offset))
                return false;
            return true;
        }
    }
    return false;
}

static enum lat_status find_strings(const struct reader *r, struct dynamic *d, size_t *needed)
{
    uint64_t address = 0, size = 0;
    bool has_address = false, has_size = false;
    *needed = 0;
    for (uint64_t i = 0; i < d->count; i++) {
        uint64_t tag, value;
        entry_at(r, d, i, &tag, &value);
        if (tag == DT_NULL)
            d->count = i;
        else if (tag == DT_STRTAB)
            address = value, has_address = true;
        else if (tag == DT_STRSZ)
            size = value, has_size = true;
        else if (tag == DT_NEEDED)
            ++*needed;
    }
    if (*needed > LAT_ELF_NEEDED_MAX)
        return lat_error_set(r->error, LAT_LIMIT, "%s: needs %zu libraries, at most %d can be", r->name, *needed,
                             LAT_ELF_NEEDED_MAX);
    if (!has_address || !has_size)
        return damaged(r, "its dynamic section names no string table");
    if (!address_to_offset(r, address, &d->strings) || !inside(r, d->strings, size))
        return damaged(r, "the string table lies outside the file");
    d->strings_size = size;
    return LAT_OK;
}

static enum lat_status read_entries(const struct reader *r, struct lat_elf *elf, const struct dynamic *d, size_t needed)
{
    const char **list = lat_arena_new(&elf->arena, needed + 1, sizeof *list);
    const char *rpath = NULL;
    if (!list)
        return lat_error_memory(r->error, "names of an ELF file");
    elf->needed = list;
    for (uint64_t i = 0; i < d->count; i++) {
        uint64_t tag, value;
        const char *text;
        entry_at(r, d, i, &tag, &value);
        if (tag != DT_NEEDED && tag != DT_SONAME && tag != DT_RPATH && tag != DT_RUNPATH)
            continue;
        if (value >= d->strings_size)
            return damaged(r, "a name lies outside the string table");
        LAT_TRY(copy_text(r, elf, d->strings + value, d->strings + d->strings_size, &text));
        if (tag == DT_NEEDED)
            list[elf->needed_count++] = text;
        else
            *(tag == DT_SONAME ? &elf->soname : tag == DT_RPATH ? &rpath : &elf->runpath) = text;
    }
    if (!elf->runpath)
        elf->runpath = rpath;
    return LAT_OK;
}

static enum lat_status read_dynamic(const struct reader *r, struct lat_elf *elf, const struct segment *s)
{
    struct dynamic d = { .offset = s->offset, .count = s->size / (r->wide ? 16 : 8) };
    size_t needed;
    if (elf->dynamic)
        return damaged(r, "two dynamic sections");
    elf->dynamic = true;
    LAT_TRY(find_strings(r, &d, &needed));
    return read_entries(r, elf, &d, needed);
}

static enum lat_status read_segments(struct reader *r, struct lat_elf *elf)
{
    LAT_TRY(read_header(r, elf));
    for (size_t i = 0; i < r->phnum; i++) {
        struct segment s = segment_at(r, i);
        if (s.type != PT_DYNAMIC && s.type != PT_INTERP)
            continue;
        // A detached symbol file keeps these headers without their bytes.
        if (s.size == 0)
            continue;
        if (!inside(r, s.offset, s.size))
            return damaged(r, "a segment lies outside the file");
        if (s.type == PT_DYNAMIC)
            LAT_TRY(read_dynamic(r, elf, &s));
        else
            LAT_TRY(copy_text(r, elf, s.offset, s.offset + s.size, &elf->interp));
    }
    return LAT_OK;
}

enum lat_status lat_elf_parse(struct lat_elf *elf, const void *bytes, size_t length, const char *name,
                              struct lat_error *error)
{
    struct reader r = { .bytes = bytes, .length = length, .name = name, .error = error };
    *elf = (struct lat_elf){ 0 };
    lat_arena_init(&elf->arena, ARENA_MAX);
    enum lat_status status = read_segments(&r, elf);
    if (status != LAT_OK)
        lat_elf_release(elf);
    return status;
}

enum lat_status lat_elf_read(struct lat_elf *elf, const char *path, struct lat_error *error)
{
    struct lat_file_map map;
    *elf = (struct lat_elf){ 0 };
    LAT_TRY(lat_file_map_open(&map, path, error));
    enum lat_status status = lat_elf_parse(elf, map.bytes, map.length, path, error);
    lat_file_map_close(&map);
    return status;
}

void lat_elf_release(struct lat_elf *elf)
{
    lat_arena_release(&elf->arena);
    *elf = (struct lat_elf){ 0 };
}

const char *lat_elf_machine_name(uint16_t machine)
{
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        if (machines[i].number == machine)
            return machines[i].name;
    return "unknown";
}

uint16_t lat_elf_machine_number(const char *name)
{
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        if (strcmp(machines[i].name, name) == 0)
            return machines[i].number;
    return 0;
}
