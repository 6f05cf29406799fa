// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Runs a fuzz target over the files of folders, and over cut and flipped copies of each: an ordinary test without a
// fuzzer. usage: replay_<target> FOLDER...
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Exact-sized heap copies, so that a sanitizer sees every byte read past the end.
static void run(const uint8_t *data, size_t size, size_t flip)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return;
    memcpy(copy, data, size);
    if (flip < size)
        copy[flip] ^= (uint8_t)(1 + flip % 255);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static int run_file(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    run(bytes, size, SIZE_MAX);
    size_t step = size / 300 + 1;
    for (size_t at = 0; at < size; at += step) {
        run(bytes, at, SIZE_MAX); // cut short
        run(bytes, size, at);     // one byte wrong
    }
    return 1;
}

int main(int argc, char **argv)
{
    int files = 0;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        if (!dir) {
            fprintf(stderr, "%s: cannot list\n", argv[i]);
            return 1;
        }
        for (struct dirent *e; (e = readdir(dir));) {
            char path[4096];
            if (e->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], e->d_name);
            files += run_file(path);
        }
        closedir(dir);
    }
    printf("%d files replayed\n", files);
    return files > 0 ? 0 : 1;
}
