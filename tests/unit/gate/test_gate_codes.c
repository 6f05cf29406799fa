// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The tables of codes as a whole: every row complete, every code well-formed and there once.
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gate/gate_codes.h"

static bool is_well_formed(const char *code)
{
    size_t length = strlen(code);
    if (code[0] < 'A' || code[0] > 'Z' || (length != 4 && !(code[0] == 'D' && length == 3)))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!isdigit((unsigned char)code[i]))
            return false;
    return true;
}

static void every_row(void **state)
{
    size_t count = 0;
    (void)state;
    for (const struct lat_gate_code_table *const *t = lat_gate_code_tables; *t; t++)
        for (size_t i = 0; i < (*t)->count; i++, count++) {
            const struct lat_gate_code *c = &(*t)->codes[i];
            if (!is_well_formed(c->code))
                fail_msg("%s: '%s' is no code", (*t)->area, c->code);
            if (!*c->title || strchr(c->title, '\n') || !*c->why || !*c->fix)
                fail_msg("%s: a text is missing, or the title has lines", c->code);
            if (lat_gate_code_find(c->code) != c) // the first of that name
                fail_msg("%s stands twice", c->code);
        }
    assert_true(count >= 10);
    assert_null(lat_gate_code_find("V999"));
    assert_null(lat_gate_code_find(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_row) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
