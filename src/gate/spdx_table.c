// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Identifiers of the SPDX licence list (version 3.2x): those that C projects on current distributions meet. Facts only;
// a licence that is missing here is one line away. The order is alphabetical, ignoring case.
#include <string.h>
#include <strings.h>

#include "gate/nearest.h"
#include "gate/spdx.h"

static const char *const licenses[] = {
    "0BSD", "AFL-2.0", "AFL-2.1", "AFL-3.0", "AGPL-1.0-only", "AGPL-1.0-or-later", "AGPL-3.0-only", "AGPL-3.0-or-later",
    "AML", "Apache-1.0", "Apache-1.1", "Apache-2.0", "APSL-2.0", "Artistic-1.0", "Artistic-1.0-Perl", "Artistic-2.0",
    "Beerware", "Bitstream-Vera", "blessing", "BSD-1-Clause", "BSD-2-Clause", "BSD-2-Clause-Patent", "BSD-2-Clause-Views",
    "BSD-3-Clause", "BSD-3-Clause-Attribution", "BSD-3-Clause-Clear", "BSD-3-Clause-LBNL", "BSD-3-Clause-Modification",
    "BSD-4-Clause", "BSD-4-Clause-UC", "BSD-Protection", "BSD-Source-Code", "BSL-1.0", "BUSL-1.1", "bzip2-1.0.6",
    "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC-PDDC",
    "CC0-1.0", "CDDL-1.0", "CDDL-1.1", "CECILL-2.1", "CECILL-B", "CECILL-C", "CERN-OHL-P-2.0", "CNRI-Python", "CPAL-1.0",
    "CPL-1.0", "curl", "ECL-2.0", "EFL-2.0", "Elastic-2.0", "EPL-1.0", "EPL-2.0", "EUPL-1.1", "EUPL-1.2", "FSFAP", "FSFUL",
    "FSFULLR", "FSFULLRWD", "FTL", "GFDL-1.1-only", "GFDL-1.1-or-later", "GFDL-1.2-no-invariants-only",
    "GFDL-1.2-no-invariants-or-later", "GFDL-1.2-only", "GFDL-1.2-or-later", "GFDL-1.3-no-invariants-only",
    "GFDL-1.3-no-invariants-or-later", "GFDL-1.3-only", "GFDL-1.3-or-later", "GPL-1.0-only", "GPL-1.0-or-later",
    "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-only", "GPL-3.0-or-later", "HPND", "HPND-sell-variant", "IBM-pibs", "ICU",
    "IJG", "Intel", "IPL-1.0", "ISC", "JSON", "LGPL-2.0-only", "LGPL-2.0-or-later", "LGPL-2.1-only", "LGPL-2.1-or-later",
    "LGPL-3.0-only", "LGPL-3.0-or-later", "Libpng", "libpng-2.0", "libtiff", "Linux-man-pages-copyleft", "LPL-1.02",
    "LPPL-1.3c", "MIT", "MIT-0", "MIT-advertising", "MIT-CMU", "MIT-enna", "MIT-feh", "MIT-Festival", "MIT-Modern-Variant",
    "MIT-open-group", "MITNFA", "MPL-1.0", "MPL-1.1", "MPL-2.0", "MPL-2.0-no-copyleft-exception", "MS-PL", "MS-RL",
    "MulanPSL-2.0", "NAIST-2003", "NCSA", "NIST-PD", "NPL-1.1", "NTP", "NTP-0", "OFL-1.0", "OFL-1.1", "OLDAP-2.8", "OML",
    "OpenSSL", "OpenSSL-standalone", "OSL-2.1", "OSL-3.0", "PHP-3.01", "Pixar", "PostgreSQL", "PSF-2.0", "Python-2.0",
    "Python-2.0.1", "QPL-1.0", "RPSL-1.0", "RSA-MD", "Ruby", "Sendmail", "SGI-B-2.0", "SISSL", "Sleepycat", "SMLNJ", "snprintf",
    "SPL-1.0", "SSH-short", "SSPL-1.0", "SunPro", "TCL", "TCP-wrappers", "TU-Berlin-1.0", "TU-Berlin-2.0", "UCL-1.0",
    "Unicode-3.0", "Unicode-DFS-2015", "Unicode-DFS-2016", "Unicode-TOU", "Unlicense", "UPL-1.0", "Vim", "W3C",
    "W3C-20150513", "Watcom-1.0", "WTFPL", "X11", "X11-distribute-modifications-variant", "Xerox", "XFree86-1.1", "xinetd",
    "xpp", "Zend-2.0", "Zlib", "zlib-acknowledgement", "ZPL-2.0", "ZPL-2.1",
};

static const char *const exceptions[] = {
    "389-exception", "Autoconf-exception-2.0", "Autoconf-exception-3.0", "Autoconf-exception-generic",
    "Autoconf-exception-generic-3.0", "Autoconf-exception-macro", "Bison-exception-1.24", "Bison-exception-2.2",
    "Bootloader-exception", "Classpath-exception-2.0", "CLISP-exception-2.0", "cryptsetup-OpenSSL-exception",
    "eCos-exception-2.0", "FLTK-exception", "Font-exception-2.0", "freertos-exception-2.0", "GCC-exception-2.0",
    "GCC-exception-2.0-note", "GCC-exception-3.1", "GNAT-exception", "GNU-compiler-exception", "GPL-3.0-linking-exception",
    "GPL-3.0-linking-source-exception", "GPL-CC-1.0", "gnu-javamail-exception", "i2p-gpl-java-exception",
    "LGPL-3.0-linking-exception", "Libtool-exception", "Linux-syscall-note", "LLGPL", "LLVM-exception", "LZMA-exception",
    "mif-exception", "Nokia-Qt-exception-1.1", "OCaml-LGPL-linking-exception", "OpenJDK-assembly-exception-1.0",
    "openvpn-openssl-exception", "PCRE2-exception", "PS-or-PDF-font-exception-20170817", "Qt-GPL-exception-1.0", "Qt-LGPL-exception-1.1",
    "Qwt-exception-1.0", "SANE-exception", "Swift-exception", "Texinfo-exception", "u-boot-exception-2.0",
    "Universal-FOSS-exception-1.0", "vsftpd-openssl-exception", "WxWindows-exception-3.1", "x11vnc-openssl-exception",
};

// Deprecated identifier, its successor, its exception. A "+" is part of the first column: that is what GNU's meant.
static const char *const deprecated[][3] = {
    { "AGPL-1.0", "AGPL-1.0-only", NULL }, { "AGPL-1.0+", "AGPL-1.0-or-later", NULL },
    { "AGPL-3.0", "AGPL-3.0-only", NULL }, { "AGPL-3.0+", "AGPL-3.0-or-later", NULL },
    { "BSD-2-Clause-FreeBSD", "BSD-2-Clause-Views", NULL }, { "BSD-2-Clause-NetBSD", "BSD-2-Clause", NULL },
    { "bzip2-1.0.5", "bzip2-1.0.6", NULL }, { "eCos-2.0", "GPL-2.0-or-later", "eCos-exception-2.0" },
    { "GFDL-1.1", "GFDL-1.1-only", NULL }, { "GFDL-1.1+", "GFDL-1.1-or-later", NULL },
    { "GFDL-1.2", "GFDL-1.2-only", NULL }, { "GFDL-1.2+", "GFDL-1.2-or-later", NULL },
    { "GFDL-1.3", "GFDL-1.3-only", NULL }, { "GFDL-1.3+", "GFDL-1.3-or-later", NULL },
    { "GPL-1.0", "GPL-1.0-only", NULL }, { "GPL-1.0+", "GPL-1.0-or-later", NULL },
    { "GPL-2.0", "GPL-2.0-only", NULL }, { "GPL-2.0+", "GPL-2.0-or-later", NULL },
    { "GPL-2.0-with-autoconf-exception", "GPL-2.0-only", "Autoconf-exception-2.0" },
    { "GPL-2.0-with-bison-exception", "GPL-2.0-only", "Bison-exception-2.2" },
    { "GPL-2.0-with-classpath-exception", "GPL-2.0-only", "Classpath-exception-2.0" },
    { "GPL-2.0-with-font-exception", "GPL-2.0-only", "Font-exception-2.0" },
    { "GPL-2.0-with-GCC-exception", "GPL-2.0-only", "GCC-exception-2.0" },
    { "GPL-3.0", "GPL-3.0-only", NULL }, { "GPL-3.0+", "GPL-3.0-or-later", NULL },
    { "GPL-3.0-with-autoconf-exception", "GPL-3.0-only", "Autoconf-exception-3.0" },
    { "GPL-3.0-with-GCC-exception", "GPL-3.0-only", "GCC-exception-3.1" },
    { "LGPL-2.0", "LGPL-2.0-only", NULL }, { "LGPL-2.0+", "LGPL-2.0-or-later", NULL },
    { "LGPL-2.1", "LGPL-2.1-only", NULL }, { "LGPL-2.1+", "LGPL-2.1-or-later", NULL },
    { "LGPL-3.0", "LGPL-3.0-only", NULL }, { "LGPL-3.0+", "LGPL-3.0-or-later", NULL },
    { "StandardML-NJ", "SMLNJ", NULL }, { "wxWindows", "GPL-2.0-or-later", "WxWindows-exception-3.1" },
};

enum { LICENSE_COUNT = sizeof licenses / sizeof licenses[0], EXCEPTION_COUNT = sizeof exceptions / sizeof exceptions[0],
       DEPRECATED_COUNT = sizeof deprecated / sizeof deprecated[0] };

static bool same(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && strncasecmp(name, text, length) == 0;
}

static const char *find(const char *const *names, size_t count, const char *text, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (same(names[i], text, length))
            return names[i];
    return NULL;
}

const char *lat_spdx_license_find(const char *text, size_t length) { return find(licenses, LICENSE_COUNT, text, length); }

const char *lat_spdx_exception_find(const char *text, size_t length)
{
    return find(exceptions, EXCEPTION_COUNT, text, length);
}

bool lat_spdx_deprecated_find(const char *text, size_t length, const char **name, const char **license,
                              const char **exception)
{
    for (size_t i = 0; i < DEPRECATED_COUNT; i++)
        if (same(deprecated[i][0], text, length)) {
            *name = deprecated[i][0];
            *license = deprecated[i][1];
            *exception = deprecated[i][2];
            return true;
        }
    return false;
}

enum { NAME_SIZE = 64 };

static void to_lower(char out[NAME_SIZE], const char *text, size_t length)
{
    size_t n = length < NAME_SIZE - 1 ? length : NAME_SIZE - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
    out[n] = 0;
}

const char *lat_spdx_license_nearest(const char *text, size_t length)
{
    char word[NAME_SIZE], lower[LICENSE_COUNT][NAME_SIZE];
    const char *known[LICENSE_COUNT + 1] = { NULL };
    if (length >= NAME_SIZE)
        return NULL;
    to_lower(word, text, length);
    for (size_t i = 0; i < LICENSE_COUNT; i++) {
        to_lower(lower[i], licenses[i], strlen(licenses[i]));
        known[i] = lower[i];
    }
    const char *near = lat_nearest(word, known);
    for (size_t i = 0; near && i < LICENSE_COUNT; i++)
        if (near == known[i])
            return licenses[i];
    return NULL;
}

bool lat_spdx_is_gnu(const char *license)
{
    static const char *const families[] = { "GPL-", "LGPL-", "AGPL-" };
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (strncasecmp(license, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}
