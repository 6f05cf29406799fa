// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Debian copyright files: what they come to as SPDX expressions, and what is not taken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gate/dep5.h"

#define HEAD "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: x\n\n"

static void test_expressions(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { HEAD "Files: *\nCopyright: 2020 A\nLicense: Expat\n Permission is\n .\n granted\n", "MIT" },
        { HEAD "Files: *\nLicense: Zlib\n\nFiles: debian/*\nLicense: GPL-2+\n", "Zlib" },
        { HEAD "Files: debian/rules src/a.c\nLicense: GPL-2+\n", "GPL-2.0-or-later" },
        { HEAD "Files:\n debian/*\n src/*\nLicense: ISC\n", "ISC" },
        { HEAD "Files: *\nLicense: Expat\n\nFiles: a\nLicense: Expat and BSD-3-clause\n\nFiles: b\nLicense: Expat\n",
          "MIT AND (MIT AND BSD-3-Clause)" },
        { HEAD "files: *\nlicense: GPL-2 or BSD-2-clause\n", "GPL-2.0-only OR BSD-2-Clause" },
        { HEAD "Files: *\nLicense: Expat\n\nFiles: a\nLicense: GPL-2 or BSD-2-clause\n",
          "MIT AND (GPL-2.0-only OR BSD-2-Clause)" },
        { HEAD "Files: *\nLicense: GPL-2 or Expat, and ISC\n", "(GPL-2.0-only OR MIT) AND ISC" },
        { HEAD "Files: *\nLicense: GPL-2 or Expat and ISC\n", "GPL-2.0-only OR MIT AND ISC" },
        { HEAD "Files: *\nLicense: GPL-3+ with GCC exception\n", "GPL-3.0-or-later WITH GCC-exception-3.1" },
        { HEAD "Files: *\nLicense: GPL-2, or Expat\n\nFiles: a\nLicense: Expat\n", "(GPL-2.0-only OR MIT) AND MIT" },
        { HEAD "Files: *\nLicense: Perl and Expat\n", "(Artistic-1.0-Perl OR GPL-1.0-or-later) AND MIT" },
        { HEAD "Files: *\nLicense: public-domain\n\nLicense: Nobody-knows\n text\n", "LicenseRef-public-domain" },
        { HEAD "# a comment\nFiles: *\r\nLicense: Apache-2.0\r\n", "Apache-2.0" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lat_buf out;
        struct lat_error error = { 0 };
        lat_buf_init(&out, 1 << 16);
        if (lat_dep5_expression(&out, cases[i][0], strlen(cases[i][0]), &error) != LAT_OK)
            fail_msg("case %zu: %s", i, error.text);
        assert_string_equal(out.bytes, cases[i][1]);
        lat_buf_release(&out);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct { const char *text; enum lat_status status; const char *wanted; } cases[] = {
        { "", LAT_UNSUPPORTED, "not in Debian's machine-readable form" },
        { "This package was debianised by A\nin 1999\n", LAT_UNSUPPORTED, "not in Debian's" },
        { "Files: *\nLicense: Expat\n", LAT_UNSUPPORTED, "not in Debian's" },
        { HEAD, LAT_UNSUPPORTED, "no Files stanza" },
        { HEAD "Files: *\nLicense: Unicode\n", LAT_UNSUPPORTED, "line 5: its licence 'Unicode' has no SPDX identifier" },
        { HEAD "Files: *\nLicense: GPL-2+ with Somebody exception\n", LAT_UNSUPPORTED, "has no SPDX identifier" },
        { HEAD "Files: *\nLicense: Expat, ISC\n", LAT_UNSUPPORTED, "comma" },
        { HEAD "Files: *\nCopyright: A\n", LAT_FORMAT, "without a licence" },
        { HEAD "Files: *\nLicense: Expat or\n", LAT_UNSUPPORTED, "has no SPDX" },
        { HEAD "rubbish\n", LAT_FORMAT, "line 4: no field" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lat_buf out;
        struct lat_error error = { 0 };
        lat_buf_init(&out, 1 << 16);
        enum lat_status status = lat_dep5_expression(&out, cases[i].text, strlen(cases[i].text), &error);
        if (status != cases[i].status || !strstr(error.text, cases[i].wanted))
            fail_msg("case %zu: status %d, '%s'", i, (int)status, error.text);
        lat_buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_expressions), cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
