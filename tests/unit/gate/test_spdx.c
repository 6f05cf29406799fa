// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Licence expressions: what is read and how it is printed, what is refused and where, what an allow list makes of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/rng.h"
#include "gate/spdx.h"

static void check_printed(const char *text, const char *wanted)
{
    struct lat_spdx spdx;
    struct lat_error error = { 0 };
    struct lat_buf out;
    lat_buf_init(&out, 1 << 16);
    if (lat_spdx_parse(&spdx, text, strlen(text), &error) != LAT_OK)
        fail_msg("'%s': %s", text, error.text);
    lat_spdx_print(&out, &spdx);
    assert_string_equal(out.bytes, wanted);
    lat_spdx_release(&spdx);
    lat_buf_release(&out);
}

static void test_canonical(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "MIT", "MIT" },
        { "mit", "MIT" },
        { " apache-2.0\n", "Apache-2.0" },
        { "mit or apache-2.0 and zlib", "MIT OR Apache-2.0 AND Zlib" },
        { "(mit or apache-2.0) and zlib", "(MIT OR Apache-2.0) AND Zlib" },
        { "MIT OR (Apache-2.0 AND Zlib)", "MIT OR Apache-2.0 AND Zlib" },
        { "MIT AND (ISC AND Zlib)", "MIT AND (ISC AND Zlib)" },
        { "((MIT))", "MIT" },
        { "apache-2.0 with llvm-exception", "Apache-2.0 WITH LLVM-exception" },
        { "GPL-2.0", "GPL-2.0-only" },
        { "gpl-2.0+", "GPL-2.0-or-later" },
        { "LGPL-2.1+ WITH Libtool-exception", "LGPL-2.1-or-later WITH Libtool-exception" },
        { "GPL-2.0-with-classpath-exception", "GPL-2.0-only WITH Classpath-exception-2.0" },
        { "GPL-3.0-with-GCC-exception", "GPL-3.0-only WITH GCC-exception-3.1" },
        { "MPL-1.1+", "MPL-1.1+" },
        { "LicenseRef-Own-1.0 OR documentref-x:licenseref-y.2", "LicenseRef-Own-1.0 OR DocumentRef-x:LicenseRef-y.2" },
        { "none", "NONE" },
        { "NOASSERTION", "NOASSERTION" },
        { "(MIT)AND(ISC)", "MIT AND ISC" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_printed(cases[i][0], cases[i][1]);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "empty" },
        { "  ", "empty" },
        { "MIT AND", "a licence is wanted at its end" },
        { "AND MIT", "'AND' at character 1: a licence is wanted" },
        { "MIT ISC", "'ISC' at character 5: AND, OR or WITH is wanted" },
        { "MIT/ISC", "'/' at character 4: a choice is written OR" },
        { "(MIT", "')' is wanted at its end" },
        { "MIT)", "')' at character 4: nothing is open here" },
        { "()", "a licence is wanted" },
        { "Apachee-2.0", "'Apachee-2.0' at character 1: no known SPDX licence; did you mean Apache-2.0" },
        { "apachee-2.0", "did you mean Apache-2.0" },
        { "mitt", "did you mean MIT" },
        { "Proprietary-Of-Someone", "LicenseRef-NAME" },
        { "MIT AND NONE", "'NONE' at character 9: cannot be a part" },
        { "NONE OR MIT", "'NONE' at character 1: cannot be a part" },
        { "LLVM-exception", "it stands after WITH" },
        { "MIT WITH", "an exception is wanted after WITH" },
        { "MIT WITH Nobody-exception", "no known SPDX exception" },
        { "(MIT OR ISC) WITH LLVM-exception", "WITH belongs to one licence" },
        { "GPL-2.0-with-GCC-exception WITH LLVM-exception", "a second exception" },
        { "GPL-2.0-only+", "'+' cannot follow" },
        { "GPL-2.0-or-later+", "'+' cannot follow" },
        { "GPL-2.0 +", "no such character" },
        { "LicenseRef-", "no known SPDX licence" },
        { "LicenseRef-a+", "LicenseRef-NAME, of letters" },
        { "DocumentRef-a", "DocumentRef-NAME:LicenseRef-NAME" },
        { "DocumentRef-:LicenseRef-a", "DocumentRef-NAME:LicenseRef-NAME" },
        { "MIT; rm", "';' at character 4: no such character" },
        { "M\xc3\xa4T", "at character 1: no known" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lat_spdx spdx;
        struct lat_error error = { 0 };
        if (lat_spdx_parse(&spdx, cases[i][0], strlen(cases[i][0]), &error) != LAT_FORMAT)
            fail_msg("'%s' was not refused as malformed", cases[i][0]);
        if (!strstr(error.text, cases[i][1]))
            fail_msg("'%s': '%s' lacks '%s'", cases[i][0], error.text, cases[i][1]);
    }
    struct lat_spdx spdx;
    assert_int_equal(lat_spdx_parse(&spdx, "MIT\0 AND ISC", 12, NULL), LAT_FORMAT);
}

static void test_limits(void **state)
{
    (void)state;
    static char text[40000];
    struct lat_spdx spdx;
    struct lat_error error = { 0 };
    for (int depth = LAT_SPDX_DEPTH_MAX; depth <= LAT_SPDX_DEPTH_MAX + 1; depth++) {
        int n = 0;
        for (int i = 0; i < depth; i++)
            text[n++] = '(';
        n += snprintf(text + n, sizeof text - (size_t)n, "MIT");
        for (int i = 0; i < depth; i++)
            text[n++] = ')';
        enum lat_status status = lat_spdx_parse(&spdx, text, (size_t)n, &error);
        assert_int_equal(status, depth == LAT_SPDX_DEPTH_MAX ? LAT_OK : LAT_LIMIT);
        if (status == LAT_OK)
            lat_spdx_release(&spdx);
    }
    memset(text, '(', sizeof text);
    assert_int_equal(lat_spdx_parse(&spdx, text, LAT_SPDX_BYTES_MAX, &error), LAT_LIMIT);
    assert_int_equal(lat_spdx_parse(&spdx, text, LAT_SPDX_BYTES_MAX + 1, &error), LAT_LIMIT);
    for (int terms = LAT_SPDX_TERMS_MAX; terms <= LAT_SPDX_TERMS_MAX + 1; terms++) {
        int n = 0;
        for (int i = 0; i < terms; i++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%sLicenseRef-%d", i ? " AND " : "", i);
        enum lat_status status = lat_spdx_parse(&spdx, text, (size_t)n, &error);
        assert_int_equal(status, terms == LAT_SPDX_TERMS_MAX ? LAT_OK : LAT_LIMIT);
        if (status == LAT_OK)
            lat_spdx_release(&spdx);
    }
    // As many parts as fit, then one more; the deepest tree prints and is judged.
    for (int parts = LAT_SPDX_NODES_MAX / 2; parts <= LAT_SPDX_NODES_MAX / 2 + 1; parts++) {
        int n = 0;
        for (int i = 0; i < parts; i++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", i ? " OR " : "", i % 2 ? "MIT" : "ISC");
        enum lat_status status = lat_spdx_parse(&spdx, text, (size_t)n, &error);
        assert_int_equal(status, parts == LAT_SPDX_NODES_MAX / 2 ? LAT_OK : LAT_LIMIT);
        if (status == LAT_OK) {
            struct lat_spdx_verdict verdict;
            assert_int_equal(lat_spdx_judge(&spdx, 1, &verdict, NULL), LAT_OK);
            assert_true(verdict.satisfied);
            lat_spdx_release(&spdx);
        }
    }
}

// Judges `text` by a comma-separated allow list; "ok: <chosen>" or "no: <offending part>".
static void judge(const char *text, const char *allow, char *out, size_t size)
{
    struct lat_spdx spdx, entries[8];
    struct lat_error error = { 0 };
    size_t count = 0;
    for (const char *at = allow; *at;) {
        size_t n = strcspn(at, ",");
        assert_int_equal(lat_spdx_parse(&entries[count], at, n, &error), LAT_OK);
        assert_int_equal(entries[count++].term_count, 1);
        at += n + (at[n] == ',');
    }
    if (lat_spdx_parse(&spdx, text, strlen(text), &error) != LAT_OK)
        fail_msg("'%s': %s", text, error.text);
    uint64_t allowed = 0;
    for (size_t t = 0; t < spdx.term_count; t++)
        for (size_t i = 0; i < count; i++)
            if (lat_spdx_term_equal(&spdx.terms[t], &entries[i].terms[0]))
                allowed |= UINT64_C(1) << t;
    struct lat_spdx_verdict verdict;
    struct lat_buf buf;
    lat_buf_init(&buf, 1 << 16);
    assert_int_equal(lat_spdx_judge(&spdx, allowed, &verdict, NULL), LAT_OK);
    lat_buf_add_text(&buf, verdict.satisfied ? "ok:" : "no: ");
    for (size_t t = 0; t < spdx.term_count && verdict.satisfied; t++)
        if (verdict.chosen >> t & 1) {
            lat_buf_add_char(&buf, ' ');
            lat_spdx_print_term(&buf, &spdx.terms[t]);
        }
    if (!verdict.satisfied && spdx.kind == LAT_SPDX_EXPRESSION)
        lat_spdx_print_node(&buf, &spdx, verdict.offending);
    snprintf(out, size, "%s", buf.bytes);
    lat_buf_release(&buf);
    lat_spdx_release(&spdx);
    for (size_t i = 0; i < count; i++)
        lat_spdx_release(&entries[i]);
}

static void test_judged(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        { "GPL-2.0", "MIT", "no: GPL-2.0-only" },
        { "MIT OR GPL-2.0", "MIT", "ok: MIT" },
        { "MIT AND GPL-2.0", "MIT", "no: GPL-2.0-only" },
        { "mit or gpl-2.0", "mit", "ok: MIT" },
        { "Apache-2.0 WITH LLVM-exception", "Apache-2.0", "no: Apache-2.0 WITH LLVM-exception" },
        { "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "no: Apache-2.0" },
        { "apache-2.0 with llvm-exception", "MIT,Apache-2.0 WITH LLVM-exception", "ok: Apache-2.0 WITH LLVM-exception" },
        { "NONE", "MIT", "no: " },
        { "NOASSERTION", "MIT", "no: " },
        { "GPL-2.0-or-later", "GPL-2.0-only", "no: GPL-2.0-or-later" },
        { "GPL-2.0+", "GPL-2.0-or-later", "ok: GPL-2.0-or-later" },
        { "MPL-1.1+", "MPL-1.1", "no: MPL-1.1+" },
        // precedence: OR binds weakest
        { "MIT OR ISC AND GPL-2.0", "MIT", "ok: MIT" },
        { "(MIT OR ISC) AND GPL-2.0", "MIT", "no: GPL-2.0-only" },
        { "GPL-2.0 AND MIT OR ISC", "ISC", "ok: ISC" },
        // the smallest choice, also when a shared licence makes it small
        { "(MIT AND ISC) OR Zlib", "MIT,ISC,Zlib", "ok: Zlib" },
        { "(MIT OR ISC AND Zlib) AND (ISC OR MIT AND Zlib)", "MIT,ISC,Zlib", "ok: MIT ISC" },
        { "(MIT OR Zlib) AND (ISC OR Zlib)", "MIT,ISC,Zlib", "ok: Zlib" },
        { "MIT AND mit AND MIT", "MIT", "ok: MIT" },
        // the smallest part that stands in the way
        { "(GPL-2.0 OR GPL-3.0) AND AGPL-3.0 AND MIT", "MIT", "no: AGPL-3.0-only" },
        { "GPL-2.0 OR GPL-3.0", "MIT", "no: GPL-2.0-only OR GPL-3.0-only" },
        { "MIT AND (GPL-2.0 OR LGPL-2.1)", "MIT", "no: GPL-2.0-only OR LGPL-2.1-only" },
        { "LicenseRef-a", "LicenseRef-b", "no: LicenseRef-a" },
        { "LicenseRef-A", "LicenseRef-a", "ok: LicenseRef-A" },
        { "DocumentRef-x:LicenseRef-a", "LicenseRef-a", "no: DocumentRef-x:LicenseRef-a" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char got[300];
        judge(cases[i][0], cases[i][1], got, sizeof got);
        if (strcmp(got, cases[i][2]) != 0)
            fail_msg("'%s' by [%s]: '%s', wanted '%s'", cases[i][0], cases[i][1], got, cases[i][2]);
    }
}

// The truth by evaluation, over every allow list: met exactly when it is true; what was chosen makes it true and no
// smaller set does; what was refused is false.
static bool truth(const struct lat_spdx *s, size_t node, uint64_t allowed)
{
    const struct lat_spdx_node *n = &s->nodes[node];
    if (n->operator == LAT_SPDX_TERM)
        return allowed >> n->term & 1;
    bool left = truth(s, n->left, allowed), right = truth(s, n->right, allowed);
    return n->operator == LAT_SPDX_AND ? left && right : left || right;
}

static void add_random(struct lat_buf *out, struct lat_rng *rng, int depth)
{
    static const char *const names[] = { "MIT", "ISC", "Zlib", "GPL-2.0", "curl" };
    if (depth == 0 || lat_rng_next(rng) % 3 == 0) {
        lat_buf_add_text(out, names[lat_rng_next(rng) % 5]);
        return;
    }
    lat_buf_add_char(out, '(');
    add_random(out, rng, depth - 1);
    lat_buf_add_text(out, lat_rng_next(rng) % 2 ? " AND " : " OR ");
    add_random(out, rng, depth - 1);
    lat_buf_add_char(out, ')');
}

static void test_random(void **state)
{
    (void)state;
    struct lat_rng rng;
    lat_rng_init(&rng, 5);
    for (int round = 0; round < 3000; round++) {
        struct lat_buf text;
        struct lat_spdx s;
        lat_buf_init(&text, 1 << 16);
        add_random(&text, &rng, 4);
        assert_int_equal(lat_spdx_parse(&s, text.bytes, text.length, NULL), LAT_OK);
        for (uint64_t allowed = 0; allowed < UINT64_C(1) << s.term_count; allowed++) {
            struct lat_spdx_verdict v;
            assert_int_equal(lat_spdx_judge(&s, allowed, &v, NULL), LAT_OK);
            assert_int_equal(v.satisfied, truth(&s, s.node_count - 1, allowed));
            if (!v.satisfied) {
                assert_false(truth(&s, v.offending, allowed));
                continue;
            }
            assert_true((v.chosen & ~allowed) == 0 && truth(&s, s.node_count - 1, v.chosen));
            for (uint64_t less = 0; less < UINT64_C(1) << s.term_count; less++)
                if ((less & ~allowed) == 0 && truth(&s, s.node_count - 1, less))
                    assert_true(__builtin_popcountll(less) >= __builtin_popcountll(v.chosen));
        }
        lat_spdx_release(&s);
        lat_buf_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical), cmocka_unit_test(test_refused), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_judged),    cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
