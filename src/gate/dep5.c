// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/dep5.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "core/error.h"
#include "gate/spdx.h"

struct slice {
    const char *text;
    size_t length;
};

// Debian's short names that SPDX spells otherwise. Names that both spell alike need no row.
static const char *const names[][2] = {
    { "AGPL-3", "AGPL-3.0-only" }, { "AGPL-3+", "AGPL-3.0-or-later" }, { "Apache-1", "Apache-1.0" },
    { "Apache-2", "Apache-2.0" }, { "Boost-1.0", "BSL-1.0" }, { "BSL-1", "BSL-1.0" }, { "CC0", "CC0-1.0" },
    { "CC0-1", "CC0-1.0" }, { "CDDL-1", "CDDL-1.0" }, { "Expat", "MIT" }, { "GFDL-1.2+", "GFDL-1.2-or-later" },
    { "GFDL-1.3+", "GFDL-1.3-or-later" }, { "GFDL-NIV-1.2+", "GFDL-1.2-no-invariants-or-later" },
    { "GFDL-NIV-1.3", "GFDL-1.3-no-invariants-only" }, { "GFDL-NIV-1.3+", "GFDL-1.3-no-invariants-or-later" },
    { "GPL-1", "GPL-1.0-only" }, { "GPL-1+", "GPL-1.0-or-later" }, { "GPL-2", "GPL-2.0-only" },
    { "GPL-2+", "GPL-2.0-or-later" }, { "GPL-3", "GPL-3.0-only" }, { "GPL-3+", "GPL-3.0-or-later" },
    { "LGPL-2", "LGPL-2.0-only" }, { "LGPL-2+", "LGPL-2.0-or-later" }, { "LGPL-3", "LGPL-3.0-only" },
    { "LGPL-3+", "LGPL-3.0-or-later" }, { "MPL-1", "MPL-1.0" }, { "MPL-2", "MPL-2.0" }, { "OFL-1", "OFL-1.0" },
    { "Perl", "Artistic-1.0-Perl OR GPL-1.0-or-later" }, { "PSF-2", "PSF-2.0" },
    { "public-domain", "LicenseRef-public-domain" }, { "QPL-1", "QPL-1.0" }, { "ZPL-2.0", "ZPL-2.0" },
};

// What follows "with", in Debian's words.
static const char *const exceptions[][2] = {
    { "Autoconf exception", "Autoconf-exception-generic" }, { "Autoconf-exception", "Autoconf-exception-generic" },
    { "Bison exception", "Bison-exception-2.2" }, { "Bison-exception", "Bison-exception-2.2" },
    { "Classpath exception", "Classpath-exception-2.0" }, { "Font exception", "Font-exception-2.0" },
    { "GCC exception", "GCC-exception-3.1" }, { "GCC Runtime Library Exception", "GCC-exception-3.1" },
    { "Libtool exception", "Libtool-exception" }, { "Libtool-exception", "Libtool-exception" },
    { "LLVM exception", "LLVM-exception" }, { "Linux-syscall-note", "Linux-syscall-note" },
};

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static struct slice trim(struct slice s)
{
    while (s.length && is_space(s.text[0]))
        s = (struct slice){ s.text + 1, s.length - 1 };
    while (s.length && is_space(s.text[s.length - 1]))
        s.length--;
    return s;
}

static bool same(struct slice s, const char *word) { return strlen(word) == s.length && strncasecmp(s.text, word, s.length) == 0; }

static const char *lookup(const char *const (*table)[2], size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++)
        if (same(name, table[i][0]))
            return table[i][1];
    return NULL;
}

// Where `word` stands in `s` as a word of its own, or s.length.
static size_t find_word(struct slice s, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= s.length; i++) {
        bool starts = i == 0 || is_space(s.text[i - 1]), ends = i + n == s.length || is_space(s.text[i + n]);
        if (starts && ends && strncasecmp(s.text + i, word, n) == 0)
            return i;
    }
    return s.length;
}

static enum lat_status add_name(struct lat_buf *out, struct slice s, struct lat_error *error)
{
    s = trim(s);
    size_t with = find_word(s, "with");
    struct slice name = trim((struct slice){ s.text, with });
    const char *old, *exception = NULL, *unused;
    const char *license = lookup(names, sizeof names / sizeof names[0], name);
    if (!license && !lat_spdx_deprecated_find(name.text, name.length, &old, &license, &unused))
        license = lat_spdx_license_find(name.text, name.length);
    if (with < s.length) {
        struct slice words = trim((struct slice){ s.text + with + 4, s.length - with - 4 });
        exception = lookup(exceptions, sizeof exceptions / sizeof exceptions[0], words);
        exception = exception ? exception : lat_spdx_exception_find(words.text, words.length);
    }
    if (!license || (with < s.length && (!exception || strchr(license, ' '))))
        return lat_error_set(error, LAT_UNSUPPORTED, "its licence '%.*s' has no SPDX identifier",
                             (int)(s.length < 100 ? s.length : 100), s.text);
    if (strchr(license, ' '))
        lat_buf_addf(out, "(%s)", license);
    else
        lat_buf_add_text(out, license);
    if (exception)
        lat_buf_addf(out, " WITH %s", exception);
    return LAT_OK;
}

// "a or b and c": AND binds closer, as in SPDX.
static enum lat_status add_choice(struct lat_buf *out, struct slice s, struct lat_error *error)
{
    for (;;) {
        size_t either = find_word(s, "or"), both = find_word(s, "and");
        size_t end = either < both ? either : both;
        LAT_TRY(add_name(out, (struct slice){ s.text, end }, error));
        if (end == s.length)
            return LAT_OK;
        size_t width = end == either ? 2 : 3;
        lat_buf_add_text(out, end == either ? " OR " : " AND ");
        s = (struct slice){ s.text + end + width, s.length - end - width };
    }
}

// A comma before "and" or "or" makes that one bind weaker than all without.
static enum lat_status add_synopsis(struct lat_buf *out, struct slice s, struct lat_error *error)
{
    for (;;) {
        const char *comma = memchr(s.text, ',', s.length);
        size_t end = comma ? (size_t)(comma - s.text) : s.length;
        lat_buf_add_char(out, '(');
        LAT_TRY(add_choice(out, (struct slice){ s.text, end }, error));
        lat_buf_add_char(out, ')');
        if (end == s.length)
            return LAT_OK;
        s = trim((struct slice){ s.text + end + 1, s.length - end - 1 });
        bool both = s.length > 4 && strncasecmp(s.text, "and ", 4) == 0;
        if (!both && !(s.length > 3 && strncasecmp(s.text, "or ", 3) == 0))
            return lat_error_set(error, LAT_UNSUPPORTED, "a comma that is not followed by 'and' or 'or'");
        size_t width = both ? 4 : 3;
        lat_buf_add_text(out, both ? " AND " : " OR ");
        s = (struct slice){ s.text + width, s.length - width };
    }
}

// A paragraph's fields that matter.
struct stanza {
    struct slice format, license, files;
    size_t license_line;
    bool any, has_files, foreign; // foreign: covers more than debian/*
};

// Folded lines of Files: are patterns, too.
static void note_files(struct stanza *s, struct slice line)
{
    line = trim(line);
    while (line.length) {
        size_t n = 0;
        while (n < line.length && !is_space(line.text[n]))
            n++;
        if (n < 7 || strncmp(line.text, "debian/", 7) != 0)
            s->foreign = true;
        line = trim((struct slice){ line.text + n, line.length - n });
    }
}

enum { STANZAS_MAX = 400, EXPRESSION_MAX = 16000 };

static enum lat_status close_stanza(struct lat_buf *out, const struct stanza *s, size_t *count, struct lat_error *error)
{
    if (!s->has_files || !s->foreign)
        return LAT_OK;
    if (++*count > STANZAS_MAX)
        return lat_error_set(error, LAT_UNSUPPORTED, "more than %d stanzas", STANZAS_MAX);
    if (s->license.length == 0)
        return lat_error_set(error, LAT_FORMAT, "a Files stanza without a licence");
    struct lat_buf part;
    lat_buf_init(&part, EXPRESSION_MAX);
    lat_buf_add_text(&part, "\n(");
    enum lat_status status = add_synopsis(&part, s->license, error);
    lat_buf_add_text(&part, ")\n");
    if (status == LAT_OK && part.failed)
        status = lat_error_set(error, LAT_UNSUPPORTED, "its licence is longer than %d bytes", EXPRESSION_MAX);
    if (status != LAT_OK)
        status = lat_error_prefix(error, status, "line %zu", s->license_line);
    // The same once is enough: most stanzas repeat what others say. Line ends delimit what is compared.
    if (status == LAT_OK && !(out->length && strstr(out->bytes, part.bytes))) {
        lat_buf_add_text(out, out->length ? "AND" : "");
        lat_buf_add(out, part.bytes, part.length);
    }
    lat_buf_release(&part);
    return status;
}

static void note_field(struct stanza *s, struct slice name, struct slice value, size_t line)
{
    s->any = true;
    if (same(name, "Format"))
        s->format = value;
    if (same(name, "License")) {
        s->license = value;
        s->license_line = line;
    }
    if (same(name, "Files")) {
        s->has_files = true;
        note_files(s, value);
    }
}

static enum lat_status read_stanzas(struct lat_buf *joined, const char *text, size_t length, struct lat_error *error)
{
    static const char format[] = "copyright-format/1.0";
    struct stanza s = { 0 };
    size_t line = 0, count = 0;
    bool in_files = false, first = true;
    for (size_t at = 0; at <= length; line++) {
        const char *end = at < length ? memchr(text + at, '\n', length - at) : NULL;
        size_t n = at == length ? 0 : end ? (size_t)(end - text) - at : length - at;
        struct slice row = { text + at, n };
        at += n + 1;
        if (trim(row).length == 0) {
            if (s.any && first && (s.format.length < sizeof format || !memmem(s.format.text, s.format.length, format, sizeof format - 1)))
                return lat_error_set(error, LAT_UNSUPPORTED, "not in Debian's machine-readable form");
            first = first && !s.any;
            LAT_TRY(close_stanza(joined, &s, &count, error));
            s = (struct stanza){ 0 };
            in_files = false;
        } else if (is_space(row.text[0])) {
            if (in_files)
                note_files(&s, row);
        } else if (row.text[0] != '#') {
            const char *colon = memchr(row.text, ':', row.length);
            if (!colon)
                return lat_error_set(error, first ? LAT_UNSUPPORTED : LAT_FORMAT,
                                     first ? "not in Debian's machine-readable form" : "line %zu: no field", line + 1);
            struct slice name = { row.text, (size_t)(colon - row.text) };
            in_files = same(name, "Files");
            note_field(&s, name, trim((struct slice){ colon + 1, row.length - name.length - 1 }), line + 1);
        }
    }
    if (count == 0)
        return lat_error_set(error, LAT_UNSUPPORTED, first ? "not in Debian's machine-readable form" : "no Files stanza");
    return LAT_OK;
}

enum lat_status lat_dep5_expression(struct lat_buf *out, const char *text, size_t length, struct lat_error *error)
{
    struct lat_buf joined;
    struct lat_spdx spdx;
    lat_buf_init(&joined, LAT_SPDX_BYTES_MAX);
    if (length && memchr(text, 0, length))
        return lat_error_set(error, LAT_FORMAT, "holds a NUL byte");
    enum lat_status status = read_stanzas(&joined, text, length, error);
    if (status == LAT_OK && joined.failed)
        status = lat_error_set(error, LAT_UNSUPPORTED, "licences of more than %d bytes", LAT_SPDX_BYTES_MAX);
    if (status == LAT_OK)
        status = lat_spdx_parse(&spdx, joined.bytes, joined.length, error);
    if (status == LAT_OK) {
        lat_spdx_print(out, &spdx);
        lat_spdx_release(&spdx);
    }
    lat_buf_release(&joined);
    return status;
}
