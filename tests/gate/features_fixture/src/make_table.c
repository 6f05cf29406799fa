// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <stdio.h>

int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (!f)
        return 1;
    for (int i = 0; i < 4; i++)
        fprintf(f, "%d,", i * i);
    return fclose(f) != 0;
}
