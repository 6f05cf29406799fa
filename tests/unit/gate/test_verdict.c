// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The verdict over every combination of three legs, and its properties on random sets; evidence and plans that were cut,
// edited, or belong to something else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/rng.h"
#include "gate/evidence.h"
#include "gate/verdict.h"

static const char *const names[] = { "a", "b", "c", "d", "e", "f" };

static struct lat_plan plan_of(size_t legs, unsigned required, unsigned needed)
{
    struct lat_plan plan = { .leg_count = legs, .attempt = 1 };
    for (size_t i = 0; i < legs; i++)
        plan.legs[i] = (struct lat_plan_leg){ names[i], required >> i & 1, needed >> i & 1, "" };
    return plan;
}

static struct lat_witness witness(const char *leg, enum lat_leg_state state)
{
    return (struct lat_witness){ .leg = leg, .state = state, .nonce_fits = true, .tree_fits = true, .attempt_fits = true,
                                 .population = 5, .population_min = 5 };
}

static enum lat_leg_state join(const struct lat_plan *plan, const struct lat_witness *w, size_t count)
{
    struct lat_verdict v;
    lat_verdict_join(&v, plan, w, count, 0, NULL, 0);
    return v.state;
}

// What a leg's evidence can be: one of eight states, missing, twice, of another run, of another tree, of another attempt, a
// process that failed under a green result, too small a population, one of nothing.
enum { CASES = LAT_LEG_STATE_COUNT + 8 };

static size_t put_case(size_t kind, const char *leg, struct lat_witness *out)
{
    out[0] = witness(leg, kind < LAT_LEG_STATE_COUNT ? (enum lat_leg_state)kind : LAT_LEG_PASS);
    switch (kind) {
    case LAT_LEG_STATE_COUNT: return 0;
    case LAT_LEG_STATE_COUNT + 1: out[1] = out[0]; return 2;
    case LAT_LEG_STATE_COUNT + 2: out[0].nonce_fits = false; return 1;
    case LAT_LEG_STATE_COUNT + 3: out[0].tree_fits = false; return 1;
    case LAT_LEG_STATE_COUNT + 4: out[0].attempt_fits = false; return 1;
    case LAT_LEG_STATE_COUNT + 5: out[0].process_status = 1; return 1;
    case LAT_LEG_STATE_COUNT + 6: out[0].population = 4; return 1;
    case LAT_LEG_STATE_COUNT + 7: out[0].population = out[0].population_min = 0; return 1;
    default: return 1;
    }
}

// Written down apart from the code: what one needed leg is worth.
static enum lat_leg_state worth(size_t kind)
{
    if (kind == LAT_LEG_NOT_REQUIRED)
        return LAT_LEG_ERROR; // needed, and says that it was not
    return kind < LAT_LEG_STATE_COUNT ? (enum lat_leg_state)kind : LAT_LEG_ERROR;
}

static void test_three_legs(void **state)
{
    (void)state;
    size_t judged = 0;
    for (unsigned required = 0; required < 8; required++)
        for (size_t x = 0; x < CASES * CASES * CASES; x++) {
            size_t kinds[3] = { x % CASES, x / CASES % CASES, x / CASES / CASES }, count = 0;
            struct lat_witness w[6];
            enum lat_leg_state want = required ? LAT_LEG_PASS : LAT_LEG_ERROR; // nothing required: not green
            for (size_t i = 0; i < 3; i++) {
                count += put_case(kinds[i], names[i], w + count);
                if (required >> i & 1)
                    want = lat_leg_state_worse(want, worth(kinds[i]));
            }
            struct lat_plan plan = plan_of(3, required, 7);
            if (join(&plan, w, count) != want)
                fail_msg("required %u, kinds %zu %zu %zu: %s, not %s", required, kinds[0], kinds[1], kinds[2],
                         lat_leg_state_name(join(&plan, w, count)), lat_leg_state_name(want));
            judged++;
        }
    assert_int_equal(judged, 8 * CASES * CASES * CASES);
}

static void test_random_sets(void **state)
{
    (void)state;
    struct lat_rng rng;
    lat_rng_init(&rng, 17);
    for (int i = 0; i < 100000; i++) {
        struct lat_plan plan = plan_of(6, (unsigned)lat_rng_next(&rng) & 63, (unsigned)lat_rng_next(&rng) & 63);
        struct lat_witness w[14], other[14];
        size_t count = 0;
        for (size_t k = 0; k < 6; k++)
            count += put_case(lat_rng_next(&rng) % CASES, names[k], w + count);
        enum lat_leg_state before = join(&plan, w, count);
        memcpy(other, w, sizeof w); // another order says the same
        for (size_t k = count; k > 1; k--) {
            size_t pick = lat_rng_next(&rng) % k;
            struct lat_witness swap = other[k - 1];
            other[k - 1] = other[pick];
            other[pick] = swap;
        }
        assert_int_equal(join(&plan, other, count), before);
        if (count == 0)
            continue;
        size_t at = lat_rng_next(&rng) % count; // anything that gets worse never makes red green
        memcpy(other, w, sizeof w);
        size_t after_count = count;
        switch (lat_rng_next(&rng) % 6) {
        case 0:
            other[at].state = (enum lat_leg_state)(w[at].state + lat_rng_next(&rng) % (LAT_LEG_STATE_COUNT - w[at].state));
            break;
        case 1: other[at].nonce_fits = false; break;
        case 2: other[at].tree_fits = false; break;
        case 3: other[at].process_status = 1; break;
        case 4: other[at].population = 0; break;
        default: other[after_count++] = witness("stranger", LAT_LEG_PASS); break;
        }
        enum lat_leg_state after = join(&plan, other, after_count);
        if (w[at].state == LAT_LEG_NOT_REQUIRED)
            continue; // the plan's word, which no leg may say: an error in a result
        if (before >= LAT_LEG_UNMEASURABLE && after < LAT_LEG_UNMEASURABLE)
            fail_msg("red became green");
    }
}

// GT-4: the platform's words, for two needed jobs and one that is proven not to be needed.
static void test_second_witness(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        bool needed, result, green;
    } table[] = {
        { "success", true, true, true },  { "failure", true, true, false },   { "cancelled", true, true, false },
        { "skipped", true, true, false }, { "skipped", true, false, false },  { "skipped", false, false, true },
        { "", true, true, false },        { "timed_out", true, true, false }, { "success", true, false, false },
        { "cancelled", false, false, false }, { "neutral", true, true, false }, { "failure", false, false, false },
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct lat_plan plan = plan_of(2, 3, table[i].needed ? 3 : 2);
        struct lat_witness w[] = { witness("b", LAT_LEG_PASS), witness("a", LAT_LEG_PASS) };
        struct lat_second_witness second[] = { { "a", table[i].word }, { "b", "success" } };
        struct lat_verdict v;
        lat_verdict_join(&v, &plan, w, table[i].result ? 2 : 1, 0, second, 2);
        if (lat_verdict_is_green(&v) != table[i].green)
            fail_msg("row %zu: %s", i, lat_leg_state_name(v.state));
    }
    struct lat_plan plan = plan_of(1, 1, 1);
    struct lat_witness w = witness("a", LAT_LEG_PASS);
    struct lat_verdict v;
    lat_verdict_join(&v, &plan, &w, 1, 1, NULL, 0); // one result that nobody can read
    assert_false(lat_verdict_is_green(&v));
}

static char folder[] = "/tmp/lattice-verdict-XXXXXX";

static void path_of(char *out, size_t size, const char *name) { snprintf(out, size, "%s/%s", folder, name); }

static size_t read_bytes(const char *path, char *out, size_t size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, size, f);
    fclose(f);
    return n;
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void test_evidence(void **state)
{
    (void)state;
    static char bytes[1 << 16], path[200];
    struct lat_plan plan = plan_of(2, 3, 1), back;
    struct lat_error error = { 0 };
    struct lat_leg_result r;
    struct lat_leg_evidence e;
    strcpy(plan.nonce, "0123456789abcdef0123456789abcdef");
    strcpy(plan.tree, "files:00");
    path_of(path, sizeof path, "plan.json");
    assert_int_equal(lat_plan_write(&plan, path, &error), LAT_OK);
    if (lat_plan_read(&back, path, &error) != LAT_OK)
        fail_msg("%s", error.text);
    assert_string_equal(back.nonce, plan.nonce);
    assert_true(back.leg_count == 2 && back.legs[0].needed && !back.legs[1].needed && back.legs[1].required);
    lat_plan_release(&back);
    lat_leg_result_init(&r, "a");
    r.population = 12;
    r.population_unit = "tests";
    lat_leg_find(&r, LAT_LEG_FAIL, "T101", "src/\xff|`\x1b[31m.c", 7, "repair it", "says %s", "::error::no");
    lat_leg_result_close(&r);
    assert_int_equal(lat_leg_evidence_write(&r, &plan, folder, &error), LAT_OK);
    lat_leg_result_release(&r);
    path_of(path, sizeof path, "results/a.json");
    if (lat_leg_evidence_read(&e, path, &error) != LAT_OK)
        fail_msg("%s", error.text);
    assert_int_equal(e.result.state, LAT_LEG_FAIL);
    assert_int_equal(e.result.population, 12);
    assert_int_equal(e.result.finding_count, 1);
    assert_string_equal(e.nonce, plan.nonce);
    lat_leg_evidence_release(&e);
    size_t n = read_bytes(path, bytes, sizeof bytes);
    for (size_t cut = 0; cut < n; cut += 7) { // cut anywhere: refused
        write_bytes(path, bytes, cut);
        assert_int_not_equal(lat_leg_evidence_read(&e, path, &error), LAT_OK);
        lat_leg_evidence_release(&e);
    }
    char *state_text = strstr(bytes, "\"FAIL\"");
    assert_non_null(state_text);
    memcpy(state_text, "\"PASS\"", 6); // edited: refused
    write_bytes(path, bytes, n);
    assert_int_equal(lat_leg_evidence_read(&e, path, &error), LAT_FORMAT);
    assert_non_null(strstr(error.text, "cut or edited"));
    lat_leg_evidence_release(&e);
    struct lat_leg_evidence_set set;
    char results[200];
    path_of(results, sizeof results, "results");
    assert_int_equal(lat_leg_evidence_set_read(&set, results, &error), LAT_OK);
    assert_true(set.count == 0 && set.unreadable_count == 1);
    lat_leg_evidence_set_release(&set);
}

static void run(const char *line)
{
    char command[600];
    snprintf(command, sizeof command, "cd %s/repo && %s", folder, line);
    if (system(command) != 0)
        fail_msg("%s", command);
}

// The id is git's own, follows every kind of edit, and leaves the user's index alone.
static void test_tree_id(void **state)
{
    (void)state;
    char root[200], command[300], id[72], first[72], again[72];
    struct lat_error error = { 0 };
    path_of(root, sizeof root, "repo");
    path_of(command, sizeof command, "tmp");
    setenv("TMPDIR", command, 1);
    snprintf(command, sizeof command, "mkdir -p %s/sub %s/tmp", root, folder);
    assert_int_equal(system(command), 0);
    run("echo one >a; ln -s a link; echo x >sub/b");
    assert_int_equal(lat_plan_tree(root, first, &error), LAT_OK);
    assert_int_equal(strncmp(first, "files:", 6), 0);
    static const char *const edits[] = { "echo two >a", "ln -sfn sub link", "chmod +x a", "mv a c", "rm sub/b", "echo new >new" };
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) { // outside of git
        run(edits[i]);
        assert_int_equal(lat_plan_tree(root, id, &error), LAT_OK);
        assert_string_not_equal(id, first);
        strcpy(first, id);
    }
    if (system("git --version >/dev/null 2>&1") != 0)
        return;
    run("rm -rf * && mkdir sub && echo one >a && ln -s a link && echo x >sub/b && git init -q . && echo ignored >.gitignore");
    run("git add -A && git -c user.name=n -c user.email=e commit -qm m && git write-tree >../want");
    size_t n = 0;
    char want[80] = "";
    path_of(command, sizeof command, "want");
    n = read_bytes(command, want, sizeof want - 1);
    want[n ? n - 1 : 0] = 0;
    if (lat_plan_tree(root, first, &error) != LAT_OK)
        fail_msg("%s", error.text);
    assert_string_equal(first, want);
    run("echo z >ignored");
    assert_int_equal(lat_plan_tree(root, id, &error), LAT_OK);
    assert_string_equal(id, first);
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        run(edits[i]);
        assert_int_equal(lat_plan_tree(root, id, &error), LAT_OK);
        assert_int_equal(lat_plan_tree(root, again, &error), LAT_OK);
        assert_string_equal(id, again);
        assert_string_not_equal(id, first);
        strcpy(first, id);
    }
    run("git diff --cached --quiet && test -z \"$(ls ../tmp)\"");
    run("mkdir -p deep && echo d >deep/d"); // a project below the top of its repository
    path_of(command, sizeof command, "repo/deep");
    if (lat_plan_tree(command, id, &error) != LAT_OK)
        fail_msg("%s", error.text);
    assert_int_equal(strlen(id), 40);
    assert_string_not_equal(id, first);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_three_legs),
        cmocka_unit_test(test_random_sets),
        cmocka_unit_test(test_second_witness),
        cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_tree_id),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
