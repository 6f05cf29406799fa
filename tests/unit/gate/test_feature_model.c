// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Feature models against brute force: what is legal is said again here in C, and every covering array is checked by
// counting over all assignments, without the code that made it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gate/covering.h"

struct scene {
    struct lat_yaml doc;
    struct lat_feature_model model;
};

static enum lat_status open_scene(struct scene *s, const char *text, struct lat_error *error)
{
    assert_int_equal(lat_yaml_parse(&s->doc, text, strlen(text), "gate.yaml", error), LAT_OK);
    enum lat_status status = lat_feature_model_read(&s->model, &s->doc, s->doc.root, error);
    if (status != LAT_OK)
        lat_yaml_release(&s->doc);
    return status;
}

static void close_scene(struct scene *s)
{
    lat_feature_model_release(&s->model);
    lat_yaml_release(&s->doc);
}

static void refuse(const char *text, const char *expected)
{
    struct scene s;
    struct lat_error error = { 0 };
    assert_int_not_equal(open_scene(&s, text, &error), LAT_OK);
    if (!strstr(error.text, expected))
        fail_msg("'%s' does not say '%s'", error.text, expected);
}

static void refuses_bad_models(void **state)
{
    (void)state;
    refuse("options: {A: MAYBE}", "gate.yaml:1:14: option 'A'");
    refuse("options: {A: {values: [x, x]}}", "stands twice");
    refuse("options: {A: {values: [x], default: y}}", "none of its values");
    refuse("options: {A: {value: [x]}}", "value");
    refuse("options: {\"A B\": ON}", "letters, digits");
    refuse("options: {A: ON}\nrequires: [\"A -> B\"]", "gate.yaml:2:12: 'A -> B': column 6: there is no option 'B'");
    refuse("options: {A: ON}\nrequires: [\"A -> \"]", "after the end");
    refuse("options: {A: ON}\nrequires: [\"A A\"]", "expected '&', '|' or '->'");
    refuse("options: {A: ON}\nrequires: [\"(A\"]", "expected ')'");
    refuse("options: {A: ON}\nrequires: [\"A=maybe\"]", "'A' has no value 'maybe'");
    refuse("options: {A: ON}\nrequires: [\"!A\"]", "default assignment is illegal");
    refuse("options: {A: ON}\nconflicts: [[A]]", "at least two");
    refuse("options: {A: ON}\nforbid: [{when: A}]", "message");
    refuse("options: {A: ON, B: OFF}\nrequires: [\"A\"]\nsets: {s: {A: OFF}}", "set 's' breaks the constraints");
    refuse("options: {A: ON}\nsets: {default: {A: OFF}}", "exists already");
    refuse("options: {A: ON}\nsets: {s: {B: OFF}}", "there is no option 'B'");
}

// Truth of every expression over all assignments of A, B (booleans) and C (x, y, z).
static void expressions_mean_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned bits; // bit a*6 + b*3 + c
    } cases[] = {
        { "A", 0xfc0 },        { "!A", 0x03f },      { "A & B", 0xe00 },         { "A | B", 0xff8 },  { "A -> B", 0xe3f },
        { "C=x", 0x249 },      { "C!=x", 0xdb6 },    { "A & B | C=z", 0xf24 },   { "A&(B|C=z)", 0xf00 }, { "!A & !B", 0x007 },
        { "A -> B -> C=x", 0x3ff }, { "!(A -> B)", 0x1c0 }, { "C", 0xfff }, { "A=ON & C=y", 0x480 }, { "A->C=x", 0x27f },
    };
    struct scene s;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned bits = 0;
        struct lat_error error = { 0 };
        const struct lat_feature_expr *e = NULL;
        assert_int_equal(open_scene(&s, "options: {A: OFF, B: OFF, C: {values: [x, y, z]}}", &error), LAT_OK);
        assert_int_equal(lat_feature_expr_parse(&e, cases[i].text, s.model.options, 3, &s.model.arena, &error), LAT_OK);
        for (unsigned k = 0; k < 12; k++) {
            struct lat_assignment a = lat_feature_unset();
            a.value[0] = (uint8_t)(k / 6);
            a.value[1] = (uint8_t)(k / 3 % 2);
            a.value[2] = (uint8_t)(k % 3);
            bits |= (unsigned)(lat_feature_expr_eval(e, &a) == LAT_TRUE) << k;
            // With some options unset, "unknown" is only said when both truths are possible, and never a wrong one.
            for (unsigned hide = 1; hide < 8; hide++) {
                struct lat_assignment p = a;
                for (unsigned c = 0; c < 3; c++)
                    if (hide >> c & 1)
                        p.value[c] = LAT_FEATURE_UNSET;
                enum lat_truth t = lat_feature_expr_eval(e, &p);
                if (t != LAT_UNKNOWN)
                    assert_int_equal(t, lat_feature_expr_eval(e, &a));
            }
        }
        if (bits != cases[i].bits)
            fail_msg("%s: %03x, expected %03x", cases[i].text, bits, cases[i].bits);
        close_scene(&s);
    }
}

#define EIGHT "options: {A: OFF, B: ON, C: OFF, D: OFF, E: OFF, F: ON, G: OFF, H: OFF, K: {values: [off, one, two], default: off}}\n"
#define RULES "requires: [\"A -> B\"]\nconflicts: [[C, D, K=two]]\nexactly_one: [[E, F]]\nforbid: [{when: \"G & K=one\", message: no}]\n"

static bool rules_hold(const struct lat_assignment *a)
{
    const uint8_t *v = a->value;
    int three = v[2] + v[3] + (v[8] == 2);
    return (!v[0] || v[1]) && three <= 1 && v[4] + v[5] == 1 && !(v[6] && v[8] == 1);
}
static bool always(const struct lat_assignment *a)
{
    (void)a;
    return true;
}

typedef bool legal_fn(const struct lat_assignment *a);

static bool next(const struct lat_feature_model *m, struct lat_assignment *a)
{
    for (size_t i = m->option_count; i-- > 0; a->value[i] = 0)
        if (++a->value[i] < m->options[i].value_count)
            return true;
    return false;
}

static void enumerates_what_is_legal(void **state)
{
    (void)state;
    struct scene s;
    struct lat_feature_rows rows = { 0 };
    struct lat_assignment a = { { 0 } };
    size_t at = 0;
    assert_int_equal(open_scene(&s, EIGHT RULES, NULL), LAT_OK);
    assert_int_equal(lat_feature_enumerate(&s.model, 10000, &rows, NULL), LAT_OK);
    do {
        assert_int_equal(lat_feature_legal(&s.model, &a), rules_hold(&a));
        if (rules_hold(&a))
            assert_true(lat_feature_equal(&s.model, &rows.items[at++], &a));
    } while (next(&s.model, &a));
    assert_int_equal(at, rows.count);
    lat_feature_rows_release(&rows);
    struct lat_error error = { 0 };
    assert_int_equal(lat_feature_enumerate(&s.model, at - 1, &rows, &error), LAT_LIMIT);
    lat_feature_rows_release(&rows);
    close_scene(&s);
}

static void forbidden_rows_break_one_rule_only(void **state)
{
    (void)state;
    struct scene s;
    struct lat_feature_rows rows = { 0 };
    assert_int_equal(open_scene(&s, EIGHT RULES, NULL), LAT_OK);
    size_t rule = s.model.rule_count - 1;
    assert_non_null(s.model.rules[rule].message);
    assert_int_equal(lat_feature_forbidden(&s.model, rule, 64, &rows, NULL), LAT_OK);
    assert_int_equal(rows.count, 1);
    struct lat_assignment a = rows.items[0];
    assert_int_equal(a.value[6], 1);
    assert_int_equal(a.value[8], 1);
    assert_false(rules_hold(&a));
    a.value[6] = 0;
    assert_true(rules_hold(&a));
    lat_feature_rows_release(&rows);
    close_scene(&s);
}

static void sets_are_the_extremes(void **state)
{
    (void)state;
    struct scene s;
    struct lat_buf text;
    assert_int_equal(open_scene(&s, EIGHT RULES "sets: {mine: {G: ON}}\n", NULL), LAT_OK);
    lat_buf_init(&text, 1 << 12);
    const struct lat_feature_set *on = lat_feature_set_find(&s.model, "all-on");
    assert_true(on->repaired && rules_hold(&on->a));
    assert_true(lat_feature_set_find(&s.model, "all-off")->repaired);
    assert_false(lat_feature_set_find(&s.model, "default")->repaired);
    lat_feature_describe(&s.model, &lat_feature_set_find(&s.model, "mine")->a, true, &text);
    assert_string_equal(text.bytes, "G=ON");
    lat_buf_release(&text);
    close_scene(&s);
}

// Every combination of t options that some legal assignment has stands in some row, and all rows are legal.
static void check_covering(const struct lat_feature_model *m, const struct lat_covering *c, size_t t, legal_fn *legal)
{
    size_t needed = 0;
    for (size_t r = 0; r < c->rows.count; r++)
        assert_true(legal(&c->rows.items[r]));
    for (size_t i = 0; i < m->option_count; i++)
        for (size_t k = i + 1; k < m->option_count; k++)
            for (size_t l = t == 3 ? k + 1 : k; l < (t == 3 ? m->option_count : k + 1); l++) {
                bool possible[8 * 8 * 8] = { false }, there[8 * 8 * 8] = { false };
                struct lat_assignment a = { { 0 } };
                do
                    if (legal(&a))
                        possible[(a.value[i] * 8 + a.value[k]) * 8 + a.value[l]] = true;
                while (next(m, &a));
                for (size_t r = 0; r < c->rows.count; r++) {
                    const uint8_t *v = c->rows.items[r].value;
                    there[(v[i] * 8 + v[k]) * 8 + v[l]] = true;
                }
                for (size_t x = 0; x < 512; x++) {
                    needed += possible[x];
                    assert_int_equal(possible[x], there[x]);
                }
            }
    assert_int_equal(needed, c->tuples);
}

// Known minima: Colbourn's tables of covering array numbers; 3 x 2^4: each of 3 values needs two rows, and 4 columns can
// be placed in 6. At most a fifth more.
static void covers_within_known_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t t, known;
        legal_fn *legal;
    } cases[] = {
        { "options: {A: ON, B: ON, C: ON, D: ON}", 2, 5, always },
        { "options: {A: ON, B: ON, C: ON, D: ON, E: ON, F: ON, G: ON, H: ON, I: ON, J: ON}", 2, 6, always },
        { "options: {A: ON, B: ON, C: ON, D: ON, E: ON, F: ON, G: ON, H: ON, I: ON, J: ON}", 3, 12, always },
        { "options: {A: ON, B: ON, C: ON, D: ON}", 3, 8, always },
        { "options: {A: {values: [x, y, z]}, B: {values: [x, y, z]}, C: {values: [x, y, z]}, D: {values: [x, y, z]}}", 2, 9, always },
        { "options: {A: ON, B: ON, C: ON, D: ON, K: {values: [x, y, z]}}", 2, 6, always },
        { "options: {A: {values: [x, y, z]}, B: {values: [x, y, z]}, C: {values: [x, y, z]}, D: {values: [x, y, z]}, "
          "E: {values: [x, y, z]}}", 2,
          11, always },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene s;
        struct lat_covering c;
        assert_int_equal(open_scene(&s, cases[i].text, NULL), LAT_OK);
        assert_int_equal(lat_covering_new(&c, &s.model, cases[i].t, NULL, 0, NULL), LAT_OK);
        print_message("case %zu: t=%zu: %zu rows, known %zu\n", i, cases[i].t, c.rows.count, cases[i].known);
        check_covering(&s.model, &c, cases[i].t, cases[i].legal);
        assert_true(c.rows.count >= cases[i].known);
        assert_true(c.rows.count * 5 <= cases[i].known * 6);
        lat_covering_release(&c);
        close_scene(&s);
    }
}

static void honours_constraints_and_seeds(void **state)
{
    (void)state;
    struct scene s;
    struct lat_covering c, again;
    assert_int_equal(open_scene(&s, EIGHT RULES, NULL), LAT_OK);
    struct lat_assignment seeds[] = { s.model.sets[0].a, s.model.sets[1].a, s.model.sets[0].a, s.model.sets[2].a };
    for (size_t t = 2; t <= 3; t++) {
        assert_int_equal(lat_covering_new(&c, &s.model, t, seeds, 4, NULL), LAT_OK);
        print_message("constrained, t=%zu: %zu rows for %zu combinations, %zu excluded\n", t, c.rows.count, c.tuples, c.excluded);
        check_covering(&s.model, &c, t, rules_hold);
        assert_true(c.excluded > 0);
        assert_true(c.rows.count <= (t == 2 ? 10 : 23)); // what a plain greedy choice finds for such a model
        assert_true(lat_feature_equal(&s.model, &c.rows.items[0], &seeds[0]));
        assert_true(lat_feature_equal(&s.model, &c.rows.items[2], &seeds[3]));
        assert_int_equal(lat_covering_new(&again, &s.model, t, seeds, 4, NULL), LAT_OK);
        assert_int_equal(again.rows.count, c.rows.count);
        assert_memory_equal(again.rows.items, c.rows.items, c.rows.count * sizeof *c.rows.items);
        lat_covering_release(&c);
        lat_covering_release(&again);
    }
    close_scene(&s);
}

static void small_models_work(void **state)
{
    (void)state;
    struct scene s;
    struct lat_covering c;
    assert_int_equal(open_scene(&s, "options: {}", NULL), LAT_OK);
    assert_int_equal(lat_covering_new(&c, &s.model, 2, NULL, 0, NULL), LAT_OK);
    assert_int_equal(c.rows.count, 1);
    lat_covering_release(&c);
    close_scene(&s);
    assert_int_equal(open_scene(&s, "options: {A: ON}", NULL), LAT_OK);
    assert_int_equal(lat_covering_new(&c, &s.model, 3, NULL, 0, NULL), LAT_OK);
    assert_int_equal(c.rows.count, 2);
    lat_covering_release(&c);
    assert_int_equal(lat_covering_new(&c, &s.model, 4, NULL, 0, NULL), LAT_ARGUMENT);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_bad_models),         cmocka_unit_test(expressions_mean_what_they_say),
        cmocka_unit_test(enumerates_what_is_legal),   cmocka_unit_test(forbidden_rows_break_one_rule_only),
        cmocka_unit_test(sets_are_the_extremes),      cmocka_unit_test(covers_within_known_bounds),
        cmocka_unit_test(honours_constraints_and_seeds), cmocka_unit_test(small_models_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
