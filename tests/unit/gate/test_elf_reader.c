// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// ELF files built byte by byte in both classes and byte orders, damaged in one place each; and real ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/mem.h"
#include "gate/elf_reader.h"

enum { SIZE = 1024, PHOFF = 64, DYNAMIC = 512, STRINGS = 800, ADDRESS = 0x10000, STRINGS_SIZE = 50 };

struct image {
    unsigned char bytes[SIZE];
    bool wide, little;
};

static void put(struct image *im, size_t at, unsigned size, uint64_t value)
{
    for (unsigned i = 0; i < size; i++)
        im->bytes[at + i] = (unsigned char)(value >> 8 * (im->little ? i : size - 1 - i));
}

static size_t entry(const struct image *im, size_t i) { return DYNAMIC + i * (im->wide ? 16 : 8); }

static void put_entry(struct image *im, size_t i, uint64_t tag, uint64_t value)
{
    unsigned w = im->wide ? 8 : 4;
    put(im, entry(im, i), w, tag);
    put(im, entry(im, i) + w, w, value);
}

static void put_segment(struct image *im, size_t i, uint32_t type, uint64_t offset, uint64_t address, uint64_t size)
{
    size_t at = PHOFF + i * (im->wide ? 56 : 32);
    put(im, at, 4, type);
    put(im, at + (im->wide ? 8 : 4), im->wide ? 8 : 4, offset);
    put(im, at + (im->wide ? 16 : 8), im->wide ? 8 : 4, address);
    put(im, at + (im->wide ? 32 : 16), im->wide ? 8 : 4, size);
}

// libs "liba.so.1", "libb.so"; soname "me.so.3"; rpath "/r", interpreter "/ld.so".
static struct image build(bool wide, bool little)
{
    struct image im = { .wide = wide, .little = little };
    memcpy(im.bytes, "\177ELF", 4);
    im.bytes[4] = wide ? 2 : 1;
    im.bytes[5] = little ? 1 : 2;
    im.bytes[6] = 1;
    put(&im, 16, 2, LAT_ELF_DYN);
    put(&im, 18, 2, 183);
    put(&im, wide ? 32 : 28, wide ? 8 : 4, PHOFF);
    put(&im, wide ? 54 : 42, 2, wide ? 56 : 32);
    put(&im, wide ? 56 : 44, 2, 3);
    put_segment(&im, 0, 1, 256, ADDRESS, SIZE - 256);
    put_segment(&im, 1, 2, DYNAMIC, ADDRESS + DYNAMIC - 256, (wide ? 16 : 8) * 9);
    put_segment(&im, 2, 3, STRINGS + 30, ADDRESS + STRINGS + 30 - 256, 7);
    memcpy(im.bytes + STRINGS, "\0liba.so.1\0libb.so\0me.so.3\0/r\0/ld.so\0/run", 42);
    put_entry(&im, 0, 1, 1);
    put_entry(&im, 1, 1, 11);
    put_entry(&im, 2, 14, 19);
    put_entry(&im, 3, 15, 27);
    put_entry(&im, 4, 5, ADDRESS + STRINGS - 256);
    put_entry(&im, 5, 10, STRINGS_SIZE);
    put_entry(&im, 6, 0, 0);
    return im;
}

static enum lat_status parse(struct lat_elf *elf, const struct image *im, size_t length, struct lat_error *error)
{
    void *copy = malloc(length ? length : 1); // exact, so that a sanitizer sees a byte read past the end
    assert_non_null(copy);
    memcpy(copy, im->bytes, length);
    enum lat_status status = lat_elf_parse(elf, copy, length, "x.so", error);
    free(copy);
    return status;
}

static void reads_both_classes_and_orders(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct image im = build(i & 1, i & 2);
        struct lat_elf elf;
        assert_int_equal(parse(&elf, &im, SIZE, NULL), LAT_OK);
        assert_int_equal(elf.is_64, i & 1);
        assert_int_equal(elf.little, (i & 2) != 0);
        assert_int_equal(elf.machine, 183);
        assert_int_equal(elf.type, LAT_ELF_DYN);
        assert_int_equal(elf.needed_count, 2);
        assert_string_equal(elf.needed[0], "liba.so.1");
        assert_string_equal(elf.needed[1], "libb.so");
        assert_string_equal(elf.soname, "me.so.3");
        assert_string_equal(elf.runpath, "/r");
        assert_string_equal(elf.interp, "/ld.so");
        lat_elf_release(&elf);
    }
}

static void runpath_wins_over_rpath(void **state)
{
    (void)state;
    struct image im = build(true, true);
    struct lat_elf elf;
    put_entry(&im, 6, 29, 37);
    put_entry(&im, 7, 0, 0);
    assert_int_equal(parse(&elf, &im, SIZE, NULL), LAT_OK);
    assert_string_equal(elf.runpath, "/run");
    lat_elf_release(&elf);
}

static void refuse(const struct image *im, size_t length, const char *text)
{
    struct lat_elf elf;
    struct lat_error error = { 0 };
    assert_int_equal(parse(&elf, im, length, &error), LAT_FORMAT);
    if (!strstr(error.text, text))
        fail_msg("'%s' does not say '%s'", error.text, text);
    lat_elf_release(&elf);
}

static void refuses_damage(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct image good = build(i & 1, i & 2), im = good;
        refuse(&im, 0, "not an ELF file");
        refuse(&im, 15, "not an ELF file");
        refuse(&im, 40, "ends within its header");
        refuse(&im, 100, "headers lie outside");
        refuse(&im, STRINGS - 1, "outside the file");
        im.bytes[4] = 3;
        refuse(&im, SIZE, "identification");
        im = good;
        put(&im, im.wide ? 32 : 28, im.wide ? 8 : 4, UINT64_MAX);
        refuse(&im, SIZE, "headers lie outside");
        im = good;
        put(&im, im.wide ? 54 : 42, 2, 8);
        refuse(&im, SIZE, "too small");
        im = good;
        put_segment(&im, 1, 2, UINT64_MAX - 3, 0, 64);
        refuse(&im, SIZE, "a segment lies outside");
        im = good;
        put_segment(&im, 2, 2, DYNAMIC, 0, (im.wide ? 16 : 8) * 9);
        refuse(&im, SIZE, "two dynamic sections");
        im = good;
        put_entry(&im, 0, 1, STRINGS_SIZE);
        refuse(&im, SIZE, "outside the string table");
        im = good;
        put_entry(&im, 5, 10, UINT64_MAX);
        refuse(&im, SIZE, "string table lies outside");
        im = good;
        put_entry(&im, 5, 10, 5);
        put_entry(&im, 1, 1, 2);
        refuse(&im, SIZE, "a name does not end");
        im = good;
        put_entry(&im, 4, 4, 0);
        refuse(&im, SIZE, "names no string table");
        im = good;
        put_segment(&im, 0, 1, UINT64_MAX - 8, ADDRESS, UINT64_MAX);
        refuse(&im, SIZE, "outside the file");
    }
}

static void bounds_the_number_of_libraries(void **state)
{
    (void)state;
    enum { COUNT = LAT_ELF_NEEDED_MAX + 2 };
    size_t size = SIZE + COUNT * 16;
    unsigned char *bytes = calloc(1, size);
    struct image im = build(true, true);
    struct lat_elf elf;
    struct lat_error error = { 0 };
    assert_non_null(bytes);
    put_segment(&im, 1, 2, SIZE, 0, COUNT * 16);
    memcpy(bytes, im.bytes, SIZE);
    for (size_t i = 0; i < COUNT; i++)
        bytes[SIZE + i * 16] = 1;
    assert_int_equal(lat_elf_parse(&elf, bytes, size, "many", &error), LAT_LIMIT);
    free(bytes);
}

static void reads_this_program(void **state)
{
    (void)state;
    struct lat_elf elf;
    bool libc = false;
    assert_int_equal(lat_elf_read(&elf, "/proc/self/exe", NULL), LAT_OK);
    for (size_t i = 0; i < elf.needed_count; i++)
        libc = libc || strcmp(elf.needed[i], "libc.so.6") == 0;
    assert_true(libc);
    assert_non_null(elf.interp);
    assert_true(elf.dynamic);
    lat_elf_release(&elf);
    assert_int_equal(lat_elf_read(&elf, LATTICE_SOURCE_DIR "/README.md", NULL), LAT_FORMAT);
    assert_int_not_equal(lat_elf_read(&elf, "/nonexistent", NULL), LAT_OK);
}

// As readelf says of these files.
static void reads_linker_output(void **state)
{
    (void)state;
    static const char *const files[] = { "shared-x86-64", "shared-aarch64" };
    static const char *const names[] = { "x86-64", "aarch64" };
    for (int i = 0; i < 2; i++) {
        struct lat_elf elf;
        char path[512];
        snprintf(path, sizeof path, "%s/fuzz/corpus/elf/%s", LATTICE_SOURCE_DIR, files[i]);
        assert_int_equal(lat_elf_read(&elf, path, NULL), LAT_OK);
        assert_string_equal(lat_elf_machine_name(elf.machine), names[i]);
        assert_int_equal(elf.needed_count, 1);
        assert_string_equal(elf.needed[0], "libdep.so.1");
        assert_string_equal(elf.soname, "libe.so.2");
        assert_string_equal(elf.runpath, "/opt/x");
        assert_null(elf.interp);
        lat_elf_release(&elf);
    }
}

static void names_machines(void **state)
{
    (void)state;
    assert_int_equal(lat_elf_machine_number("aarch64"), 183);
    assert_int_equal(lat_elf_machine_number("vax"), 0);
    assert_string_equal(lat_elf_machine_name(62), "x86-64");
    assert_string_equal(lat_elf_machine_name(9999), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_both_classes_and_orders), cmocka_unit_test(runpath_wins_over_rpath),
        cmocka_unit_test(refuses_damage),                cmocka_unit_test(bounds_the_number_of_libraries),
        cmocka_unit_test(reads_this_program),            cmocka_unit_test(reads_linker_output),
        cmocka_unit_test(names_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
