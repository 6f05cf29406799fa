// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The shell scanner: which commands a script has and how they are joined. Commands are written one after the other, with
// the operator before them (`;` for none), `{n}` for a compound of n parts, `+` for each substitution around them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "gate/shell_scan.h"

struct row {
    const char *script, *commands;
};

static const struct row rows[] = {
    { "", "" },
    { "# make | tee\n\n", "" },
    { "make check | tee log || true", ";make,check |tee,log !true" },
    { "a && b || c; d & e", ";a &b !c ;d ;e" },
    { "a |\n  b &&\n# why\n  c\nd", ";a |b &c ;d" },
    { "a \\\n  | b", ";a |b" },
    { "a |& b", ";a |b" },
    { "echo \"a | b\" 'c || d' e\\|f \\# #g", ";echo,a | b,c || d,e|f,#" },
    { "echo \"$(a | b)\" x", ";+a |+b ;echo,$(),x" },
    { "x=$(a | b) y", ";+a= |+b= ;x=$(),y" },
    { "x=`a | b`", ";+a= |+b= ;x=$()" },
    { "echo \"`a`\" | c", ";+a ;echo,$() |c" },
    { "a $(b $(c || d) e)", ";++c !++d ;+b,$(),e ;a,$()" },
    { "diff <(a | b) <(c) | d", ";+a |+b ;+c ;diff,$(),$() |d" },
    { "a > x 2>&1 < y | b", ";a |b" },
    { "a &> x | b", ";a |b" },
    { "a >& x; b 2>| y", ";a ;b" },
    { "cat <<EOF | tee x\na | b || true\nEOF\nc", ";cat |tee,x ;c" },
    { "cat <<-'E F'\n\ta | b\n\tE F\nc", ";cat ;c" },
    { "cat <<A <<B\n1 | 2\nA\n3 | 4\nB\nc | d", ";cat ;c |d" },
    { "x=$(cat <<EOF\na | b\nEOF\n) | c", ";+cat= ;x=$() |c" },
    { "a <<< \"b | c\" | d", ";a |d" },
    { "if a | b; then c || d; elif e; then f; else g; fi | h", ";a |b ;c !d ;e ;f ;g ;{7} |h" },
    { "while read -r x; do y; done < list | z", ";read,-r,x ;y ;{2} |z" },
    { "for x in a b; do c \"$x\"; done || d", ";c,$x ;{1} !d" },
    { "for ((i = 0; i < 3; i++)); do a; done", ";a ;{1}" },
    { "for x in $(a | b); do c; done", ";+a |+b ;c ;{1}" },
    { "case $x in a|b) c | d ;; (e) f ;; *) g || h; esac | i", ";c |d ;f ;g !h ;{5} |i" },
    { "case x in\n  a | b)\n    c\n    ;;\nesac\nd", ";c ;{1} ;d" },
    { "( a | b ) && { c; d; } > x", ";a |b ;{2} ;c ;d &{2}" },
    { "[[ a == b || c =~ (d|e) ]] && f", ";[[ &f" },
    { "(( a || b )) || c", ";{0} !c" },
    { "x=$(( 1 | 2 )); y", ";x=$(()) ;y" },
    { "x=(a b 'c | d'); e", ";x= ;e" },
    { "f() { a | b; }\nf", ";a |b ;{2} ;f" },
    { "function f { a; }; b", ";a ;{1} ;b" },
    { "! a | b; time c", ";a |b ;c" },
    { "echo ${x:-a|b} ${y/|/\\}} $z", ";echo,${x:-a|b},${y/|/\\}},$z" },
    { "echo ${{ a || b }} '${{ c['d'] || e }}' | f", ";echo,${{ a || b }},${{ c['d'] || e }} |f" },
    { "echo $'a\\' | b' c", ";echo,a' | b,c" },
    { "echo fi done; a", ";echo,fi,done ;a" },
    { "A=1 sudo -E b", ";A=1,sudo,-E,b" },
    { ") a", ";a" },
    { "a\r\nb", ";a ;b" },
};

static void render(struct lat_buf *out, const struct lat_shell_script *script)
{
    static const char joins[] = ";|&!";
    for (size_t i = 0; i < script->count; i++) {
        const struct lat_shell_command *c = &script->commands[i];
        lat_buf_addf(out, "%s%c", i ? " " : "", joins[c->join]);
        for (unsigned k = 0; k < c->substitutions; k++)
            lat_buf_add_char(out, '+');
        if (c->word_count == 0)
            lat_buf_addf(out, "{%zu}", c->inner == LAT_SHELL_NONE ? 0 : i - c->inner);
        for (size_t k = 0; k < c->word_count; k++)
            lat_buf_addf(out, "%s%s", k ? "," : "", c->words[k]);
        if (c->assigned)
            lat_buf_add_char(out, '=');
    }
}

static void scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct lat_shell_script script;
        struct lat_error error = { 0 };
        struct lat_buf out;
        lat_buf_init(&out, 1 << 16);
        if (lat_shell_scan(&script, rows[i].script, strlen(rows[i].script), &error) != LAT_OK)
            fail_msg("%s: %s", rows[i].script, error.text);
        render(&out, &script);
        if (script.broken || strcmp(out.bytes ? out.bytes : "", rows[i].commands) != 0)
            fail_msg("%s\n  is     %s%s\n  wanted %s", rows[i].script, out.bytes ? out.bytes : "",
                     script.broken ? " (broken)" : "", rows[i].commands);
        lat_buf_release(&out);
        lat_shell_release(&script);
    }
    print_message("%zu scripts\n", sizeof rows / sizeof rows[0]);
}

static void unclosed(void **state)
{
    static const char *const bad[] = { "echo 'a", "echo \"a", "a $(b", "a `b", "echo ${x", "[[ a", "x=(a", "echo ${{ a", "((a" };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct lat_shell_script script;
        assert_int_equal(lat_shell_scan(&script, bad[i], strlen(bad[i]), NULL), LAT_OK);
        if (!script.broken)
            fail_msg("%s: not broken", bad[i]);
        lat_shell_release(&script);
    }
}

static void limits(void **state)
{
    struct lat_shell_script script;
    struct lat_error error = { 0 };
    size_t n = 100000;
    char *text = malloc(3 * n);
    (void)state;
    assert_non_null(text);
    memset(text, '(', n);
    for (size_t i = 1; i < n; i += 2)
        text[i] = ' ';
    assert_int_equal(lat_shell_scan(&script, text, n, &error), LAT_LIMIT);
    assert_non_null(strstr(error.text, "nested deeper"));
    lat_shell_release(&script);
    for (size_t i = 0; i < n; i++)
        memcpy(text + 2 * i, "a\n", 2);
    assert_int_equal(lat_shell_scan(&script, text, 2 * n, &error), LAT_LIMIT);
    lat_shell_release(&script);
    free(text);
}

static void programs(void **state)
{
    static const char *const cases[][2] = { { "A=1 sudo -E ./build/lattice-gate run x", "lattice-gate" }, { "timeout 20 make", "make" },
        { "env -i A=b exec /usr/bin/git log", "git" }, { "A=1", "" } };
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct lat_shell_script script;
        assert_int_equal(lat_shell_scan(&script, cases[i][0], strlen(cases[i][0]), NULL), LAT_OK);
        assert_int_equal(script.count, 1);
        assert_string_equal(lat_shell_program_name(&script.commands[0]), cases[i][1]);
        lat_shell_release(&script);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(scripts), cmocka_unit_test(unclosed), cmocka_unit_test(limits),
        cmocka_unit_test(programs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
