// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gate/policy.h"

static struct lat_policy policy;
static struct lat_error error;

#define HEAD "schema: 1\nproject: {name: p, default_branch: trunk}\n"
#define AREAS "areas:\n  all: [\"src/**\", CMakeLists.txt]\n"
#define LEG "legs:\n  unit: {kind: command, areas: [all]}\n"

static enum lat_status parse(const char *text) { return lat_policy_parse(&policy, text, strlen(text), "gate.yaml", &error); }

static void whole(void **state)
{
    (void)state;
    assert_int_equal(parse(HEAD "paths:\n  always: [gate.yaml, \".github/**\"]\n"
                           "  inert: \"**/*.md\"\n  inert_except: [\"tests/**/*.md\"]\n" AREAS
                           "legs:\n"
                           "  build: {kind: command, areas: \"*\", required: false}\n"
                           "  unit:\n    kind: command\n    areas: [all]\n    needs: [build]\n    budget: 5m\n    rss_max: 2GiB\n"
                           "    min: 200\n    tools: [ctest, ninja]\n    run: [ctest]\n"
                           "waivers:\n  - {leg: unit, code: T101, reason: known, owner: me, until: 2028-02-29}\n"),
                     LAT_OK);
    assert_string_equal(policy.project, "p");
    assert_string_equal(policy.default_branch, "trunk");
    assert_int_equal(policy.always.count, 2);
    assert_int_equal(policy.inert.count, 1);
    assert_string_equal(policy.inert_except.items[0], "tests/**/*.md");
    assert_int_equal(policy.area_count, 1);
    assert_string_equal(policy.areas[0].globs.items[0], "src/**");
    assert_int_equal(policy.leg_count, 2);
    assert_false(policy.legs[0].required);
    const struct lat_policy_leg *unit = lat_policy_leg_find(&policy, "unit");
    assert_true(unit->required); // unless it says no
    assert_true(unit->budget_s == 300);
    assert_true(unit->rss_max == 2ull << 30);
    assert_int_equal(unit->population_min, 200);
    assert_int_equal(unit->tools.count, 2);
    assert_string_equal(unit->needs.items[0], "build");
    assert_string_equal(lat_yaml_get(unit->node, "run")->child->text, "ctest");
    assert_int_equal(policy.waivers->count, 1);
    assert_null(lat_policy_leg_find(&policy, "none"));
    static const char *const own[] = { "run", NULL }, *const other[] = { "rum", NULL };
    assert_int_equal(lat_policy_leg_keys_check(&policy, unit, own, &error), LAT_OK);
    assert_int_equal(lat_policy_leg_keys_check(&policy, unit, other, &error), LAT_FORMAT);
    assert_string_equal(error.text, "gate.yaml:19:5: unknown key 'run'; did you mean 'rum'?");
    lat_policy_release(&policy);
    assert_int_equal(parse("schema: 1\nproject: {name: p}\n" AREAS LEG), LAT_OK);
    assert_string_equal(policy.default_branch, "main");
    assert_null(policy.waivers);
    lat_policy_release(&policy);
}

static const struct {
    const char *text, *why;
} wrong[] = {
    { "", "gate.yaml:1:1: an empty file: expected 'schema: 1'" },
    { "- a\n", "gate.yaml:1:1: expected keys and values" },
    { "project: {name: p}\n", "gate.yaml:1:1: 'schema' is missing" },
    { "schema: 2\n", "gate.yaml:1:9: 'schema': expected 1" },
    { "schema: '1'\n", "gate.yaml:1:9: 'schema': expected 1" },
    { "schema: [1]\n", "gate.yaml:1:9: 'schema': expected 1" },
    { HEAD AREAS LEG "leg: {}\n", "gate.yaml:7:1: unknown key 'leg'; did you mean 'legs'?" },
    { HEAD "schema: 1\n", "gate.yaml:3:1: duplicate key 'schema', first at line 1" },
    { "schema: 1\n" AREAS LEG, "'project' is missing" },
    { "schema: 1\nproject: {nam: p}\n" AREAS LEG, "gate.yaml:2:11: unknown key 'nam'; did you mean 'name'?" },
    { "schema: 1\nproject: {default_branch: p}\n" AREAS LEG, "'name' is missing" },
    { "schema: 1\nproject: {name: ''}\n" AREAS LEG, "not an empty text" },
    { HEAD "paths: {alway: a}\n" AREAS LEG, "did you mean 'always'?" },
    { HEAD "paths: {always: [a, \"b//c\"]}\n" AREAS LEG, "gate.yaml:3:21: 'always': pattern 'b//c': an empty component" },
    { HEAD "paths: {inert: [a, b, a]}\n" AREAS LEG, "gate.yaml:3:23: 'inert': 'a' stands twice" },
    { HEAD "paths: {inert: [\"!src/**\"]}\n" AREAS LEG, "no negation" },
    { HEAD LEG, "'areas' is missing" },
    { HEAD "areas: []\n" LEG, "gate.yaml:3:8: 'areas': expected at least one" },
    { HEAD "areas: {}\n" LEG, "'areas': expected at least one" },
    { HEAD "areas: {a: []}\n" LEG, "area 'a': expected at least one pattern" },
    { HEAD "areas: {a: {b: c}}\n" LEG, "'a': expected a text or a list of texts, not keys and values" },
    { HEAD "areas: {'a b': [x]}\n" LEG, "area 'a b': expected at most 64 letters" },
    { HEAD AREAS, "'legs' is missing" },
    { HEAD AREAS "legs: {}\n", "'legs': expected at least one" },
    { HEAD AREAS "legs: {unit: yes}\n", "leg 'unit': expected keys and values" },
    { HEAD AREAS "legs: {../x: {kind: command, areas: all}}\n", "leg '../x': expected at most 64 letters" },
    { HEAD AREAS "legs: {unit: {areas: all}}\n", "'kind' is missing: expected one of command," },
    { HEAD AREAS "legs: {unit: {kind: comand, areas: all}}\n", "gate.yaml:5:21: leg 'unit': there is no kind 'comand'" },
    { HEAD AREAS "legs: {unit: {kind: command}}\n", "gate.yaml:5:14: leg 'unit': expected 'areas'" },
    { HEAD AREAS "legs: {unit: {kind: command, areas: []}}\n", "gate.yaml:5:37: leg 'unit': expected 'areas'" },
    { HEAD AREAS "legs: {unit: {kind: command, areas: [al]}}\n", "gate.yaml:5:37: leg 'unit': there is no area 'al'" },
    { HEAD AREAS "legs: {unit: {kind: command, areas: all, required: yes}}\n", "'required': expected true or false, not yes" },
    { HEAD AREAS "legs: {unit: {kind: command, areas: all, budget: 20}}\n", "'budget': expected a time like" },
    { HEAD AREAS "legs: {unit: {kind: command, areas: all, budget: 0s}}\n", "a budget of no time" },
    { HEAD AREAS "legs: {unit: {kind: command, areas: all, rss_max: lots}}\n", "'rss_max': expected a size" },
    { HEAD AREAS "legs: {unit: {kind: command, areas: all, min: 0}}\n", "a minimum of at least 1" },
    { HEAD AREAS "legs: {unit: {kind: command, areas: all, min: -3}}\n", "'min': expected a whole number" },
    { HEAD AREAS "legs: {unit: {kind: command, areas: all, needs: [x]}}\n", "leg 'unit' needs 'x', which is no leg" },
    { HEAD AREAS "legs: {unit: {kind: command, areas: all, needs: unit}}\n", "leg 'unit' needs itself" },
    { HEAD AREAS "legs:\n  a: {kind: command, areas: all, needs: b}\n  b: {kind: command, areas: all, needs: a}\n",
      "leg 'a' needs itself" },
    { HEAD AREAS LEG "waivers: {}\n", "'waivers': expected a list" },
    { HEAD AREAS LEG "waivers: [{leg: unit, code: T101, owner: me, until: 2026-12-31}]\n", "gate.yaml:7:11: a waiver needs 'reason'" },
    { HEAD AREAS LEG "waivers: [{leg: unit, code: T101, reason: r, until: 2026-12-31}]\n", "a waiver needs 'owner'" },
    { HEAD AREAS LEG "waivers: [{leg: unit, code: T101, reason: r, owner: me}]\n", "a waiver needs 'until'" },
    { HEAD AREAS LEG "waivers: [{leg: unit, reason: r, owner: me, until: 2026-12-31}]\n", "something it is tied to" },
    { HEAD AREAS LEG "waivers: [{leg: u, code: c, reason: r, owner: me, until: 2026-12-31}]\n", "a waiver for 'u', which is no leg" },
    { HEAD AREAS LEG "waivers: [{leg: unit, code: c, reason: '', owner: me, until: 2026-12-31}]\n",
      "'reason' of a waiver: an empty text" },
    { HEAD AREAS LEG "waivers: [{leg: unit, code: c, reason: r, owner: me, until: 2026-02-30}]\n", "expected a date like 2026-12-31" },
    { HEAD AREAS LEG "waivers: [{leg: unit, code: c, reason: r, owner: me, until: 2027-02-29}]\n", "expected a date like 2026-12-31" },
    { HEAD AREAS LEG "waivers: [{leg: unit, code: c, reason: r, owner: me, until: soon}]\n",
      "expected a date like 2026-12-31, not 'soon'" },
    { HEAD AREAS LEG "waivers: [{leg: unit, cod: c, reason: r, owner: me, until: 2026-12-31}]\n",
      "unknown key 'cod'; did you mean 'code'?" },
};

static void each_fault_has_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error.text[0] = '\0';
        if (parse(wrong[i].text) != LAT_FORMAT || !strstr(error.text, wrong[i].why))
            fail_msg("expected '%s', got '%s'", wrong[i].why, error.text);
        assert_true(strncmp(error.text, "gate.yaml:", 10) == 0);
    }
}

static void too_many(void **state)
{
    char text[20000];
    size_t used = (size_t)snprintf(text, sizeof text, HEAD AREAS "legs:\n");
    (void)state;
    for (int i = 0; i < LAT_POLICY_LEGS_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "  leg%d: {kind: command, areas: all}\n", i);
    assert_int_equal(parse(text), LAT_OK);
    lat_policy_release(&policy);
    snprintf(text + used, sizeof text - used, "  last: {kind: command, areas: all}\n");
    assert_int_equal(parse(text), LAT_FORMAT);
    assert_non_null(strstr(error.text, "more than 64 legs"));
}

static void dead_globs(void **state)
{
    static const char *const paths[] = { "src/a.c", "README.md", "gate.yaml" };
    struct lat_policy_dead_glob dead[8];
    (void)state;
    assert_int_equal(parse(HEAD "paths: {always: [gate.yaml, deps.lock], inert: \"**/*.md\"}\n"
                                "areas:\n  live: [\"src/**\", \"lib/**\"]\n  dead: [\"old/**\", \"older/**\"]\n" LEG),
                     LAT_FORMAT); // LEG names an area that is not there
    assert_int_equal(parse(HEAD "paths: {always: [gate.yaml, deps.lock], inert: \"**/*.md\"}\n"
                                "areas:\n  all: [\"src/**\", \"lib/**\"]\n  dead: [\"old/**\", \"older/**\"]\n" LEG),
                     LAT_OK);
    assert_int_equal(lat_policy_dead_globs(&policy, paths, 3, dead, 8), 4);
    assert_string_equal(dead[0].pattern, "deps.lock");
    assert_string_equal(dead[0].list, "always");
    assert_int_equal(dead[0].line, 3);
    assert_int_equal(dead[0].column, 29);
    assert_string_equal(dead[1].pattern, "lib/**");
    assert_false(dead[1].whole_area);
    assert_string_equal(dead[2].list, "dead");
    assert_true(dead[2].whole_area);
    assert_true(dead[3].whole_area);
    assert_int_equal(lat_policy_dead_globs(&policy, paths, 3, dead, 1), 4); // counts what it cannot store
    lat_policy_release(&policy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),
        cmocka_unit_test(each_fault_has_its_place),
        cmocka_unit_test(too_many),
        cmocka_unit_test(dead_globs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
