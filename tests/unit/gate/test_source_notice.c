// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What comments of source files say of their licence; what only looks like it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gate/source_notice.h"

struct seen {
    char text[1000];
};

static void note(void *context, const struct lat_notice *n)
{
    static const char *const kinds[] = { "tag", "gnu", "copyright" };
    struct seen *s = context;
    size_t used = strlen(s->text);
    snprintf(s->text + used, sizeof s->text - used, "%s %zu %.*s;", kinds[n->kind], n->line, (int)n->length, n->text);
}

static void test_notices(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        { "a.c", "// SPDX-License-Identifier: MIT\nint x;\n", "tag 1 MIT;" },
        { "a.c", "/* SPDX-License-Identifier: GPL-2.0+ */\n", "tag 1 GPL-2.0+;" },
        { "a.h", "/*\n * Copyright (c) 2001 A\n *\n * SPDX-License-Identifier: ISC\n */\n", "copyright 2 Copyright (c) 2001 A;tag 4 ISC;" },
        { "a.c", "\n/* This is free software under the terms of the GNU\n * General Public License */", "gnu 2 GPL;" },
        { "a.c", "// licensed under the GNU Lesser\n// General Public License\nint x;", "gnu 1 LGPL;" },
        { "a.c", "int a;\n/* x */\n// under the GNU Affero General\n// Public License 3\n", "gnu 3 AGPL;" },
        { "a.c", "char *s = \"// SPDX-License-Identifier: MIT\";\nchar c = '\"'; // SPDX-License-Identifier: ISC\n", "tag 2 ISC;" },
        { "a.c", "char *s = \"\\\"/* under the GNU General Public License */\";\n", "" },
        { "a.c", "// see the GNU General Public License\n", "" },
        { "a.c", "// the GNU\n\n// General Public License is under discussion\n", "" },
        { "a.c", "int SPDX; /* says SPDX-License-Identifier: MIT */\n", "" },
        { "a.c", "/* SPDX-License-Identifier: MIT", "tag 1 MIT;" },
        { "a.py", "#!/usr/bin/env python3\n# SPDX-License-Identifier: MIT\nx = '# SPDX-License-Identifier: ISC'\n", "tag 2 MIT;" },
        { "CMakeLists.txt", "# Copyright A\n# under the GNU General\n# Public License\n", "copyright 1 Copyright A;gnu 1 GPL;" },
        { "a.md", "# SPDX-License-Identifier: MIT\n", "" },
        { "a.c", "/*/ SPDX-License-Identifier: MIT */", "tag 1 MIT;" },
        { "a.c", "'", "" },
        { "a.c", "/", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct seen seen = { "" };
        lat_source_notice_scan(cases[i][0], cases[i][1], strlen(cases[i][1]), note, &seen);
        if (strcmp(seen.text, cases[i][2]) != 0)
            fail_msg("case %zu: '%s', wanted '%s'", i, seen.text, cases[i][2]);
    }
    assert_true(lat_source_notice_knows("src/x.hpp") && lat_source_notice_knows("a/CMakeLists.txt"));
    assert_false(lat_source_notice_knows("README.md") || lat_source_notice_knows("a.c/data"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_notices) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
