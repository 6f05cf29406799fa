// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The linter over tests/gate/workflows: for each code CODE/bad raises exactly the findings of CODE/expect, at their places,
// and CODE/fixed none; no good workflow raises any; our own raise none. A code without its folder fails.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/buf.h"
#include "core/file.h"
#include "gate/gate_codes.h"
#include "gate/workflow_lint.h"

#define HERE LATTICE_SOURCE_DIR "/tests/gate/workflows"

static char *read_text(const char *path)
{
    struct lat_file_map map;
    if (lat_file_map_open(&map, path, NULL) != LAT_OK)
        return NULL;
    char *text = lat_mem_copy_text(map.bytes ? (const char *)map.bytes : "", map.length);
    lat_file_map_close(&map);
    return text;
}

// "ci.yml:33:25 FAIL D01" a line; what is only said for want of a ruleset is left out.
static void render(struct lat_buf *out, const struct lat_leg_result *result)
{
    for (size_t i = 0; i < result->finding_count; i++) {
        const struct lat_finding *f = &result->findings[i];
        const char *slash = f->path ? strrchr(f->path, '/') : NULL;
        if (f->state == LAT_LEG_INFO && strcmp(f->code, "D22") == 0)
            continue;
        lat_buf_addf(out, "%s:%zu:%zu %s %s\n", f->path ? slash ? slash + 1 : f->path : "-", f->line, f->column,
                     lat_leg_state_name(f->state), f->code);
        if (!f->fix || !*f->fix || !*f->message)
            fail_msg("%s: a finding without a message or a fix", f->code);
    }
}

static void lint_folder(const char *folder, const char *code, struct lat_buf *out)
{
    char path[400], ruleset[400];
    struct lat_leg_result result;
    struct lat_error error = { 0 };
    struct lat_lint_options options = { 0 };
    const char *context = NULL;
    snprintf(ruleset, sizeof ruleset, "%s/ruleset.json", folder);
    if (lat_file_exists(ruleset))
        options.ruleset = ruleset;
    snprintf(path, sizeof path, HERE "/%s/contexts", code);
    char *contexts = read_text(path);
    if (contexts) {
        contexts[strcspn(contexts, "\n")] = '\0';
        context = contexts;
        options.contexts = (struct lat_text_list){ &context, 1 };
    }
    lat_leg_result_init(&result, "doctor");
    if (lat_lint_folder(&result, folder, folder, &options, &error) != LAT_OK)
        fail_msg("%s: %s", folder, error.text);
    assert_true(result.population > 0);
    render(out, &result);
    lat_leg_result_release(&result);
    lat_mem_free(contexts);
}

// Each line of the example stands in the bad file, in order.
static void check_example(const struct lat_gate_code *c, const char *text)
{
    const char *at = text;
    for (const char *line = c->example; line && *line;) {
        size_t n = strcspn(line, "\n");
        while (n && *line == ' ') {
            line++;
            n--;
        }
        char want[300];
        snprintf(want, sizeof want, "%.*s", (int)n, line);
        at = strstr(at, want);
        if (!at)
            fail_msg("%s: '%s' of the example is not in the bad file", c->code, want);
        at += n;
        line += n + (line[n] == '\n');
    }
}

static void every_code(void **state)
{
    size_t declared = 0, tested = 0;
    (void)state;
    for (size_t i = 0; i < lat_gate_codes_doctor.count; i++) {
        const struct lat_gate_code *c = &lat_gate_codes_doctor.codes[i];
        char path[300], own[8];
        struct lat_buf got, fixed;
        if (c->code[0] != 'D')
            continue;
        declared++;
        snprintf(path, sizeof path, HERE "/%s/expect", c->code);
        char *expect = read_text(path);
        if (!expect || !*expect)
            fail_msg("%s: no example that raises it", c->code);
        lat_buf_init(&got, 1 << 16);
        lat_buf_init(&fixed, 1 << 16);
        snprintf(path, sizeof path, HERE "/%s/bad", c->code);
        lint_folder(path, c->code, &got);
        snprintf(own, sizeof own, " %s\n", c->code);
        if (!strstr(expect, own) || !got.bytes || strcmp(got.bytes, expect) != 0)
            fail_msg("%s raises\n%swanted\n%s", path, got.bytes ? got.bytes : "", expect);
        const char *file = strcmp(c->code, "D22") == 0 ? "ruleset.json" : strcmp(c->code, "D21") == 0 ? "other.yml" : "ci.yml";
        snprintf(path, sizeof path, HERE "/%s/bad/%s", c->code, file);
        char *bad = read_text(path);
        assert_non_null(bad);
        check_example(c, bad);
        snprintf(path, sizeof path, HERE "/%s/fixed", c->code);
        lint_folder(path, c->code, &fixed);
        if (fixed.length)
            fail_msg("%s raises\n%s", path, fixed.bytes);
        lat_mem_free(bad);
        lat_mem_free(expect);
        lat_buf_release(&got);
        lat_buf_release(&fixed);
        tested++;
    }
    print_message("codes of the linter: %zu declared, %zu tested\n", declared, tested);
    assert_int_equal(declared, 25);
    assert_int_equal(tested, declared);
}

static size_t lint_texts(const char *const *names, char *const *texts, size_t count, const struct lat_lint_options *options,
                         struct lat_buf *out)
{
    struct lat_lint_file files[16];
    struct lat_leg_result result;
    struct lat_error error = { 0 };
    assert_true(count <= 16);
    for (size_t i = 0; i < count; i++)
        files[i] = (struct lat_lint_file){ names[i], texts[i], strlen(texts[i]) };
    lat_leg_result_init(&result, "doctor");
    if (lat_lint_files(&result, files, count, options, &error) != LAT_OK)
        fail_msg("%s", error.text);
    render(out, &result);
    for (size_t i = 0; i < result.finding_count; i++)
        lat_buf_addf(out, "  %s\n", result.findings[i].state == LAT_LEG_INFO ? "" : result.findings[i].message);
    size_t findings = 0;
    for (size_t i = 0; i < result.finding_count; i++)
        findings += result.findings[i].state > LAT_LEG_INFO;
    lat_leg_result_release(&result);
    return findings;
}

// Each alone; who calls another file comes with it.
static void good_ones(void **state)
{
    struct dirent *e;
    DIR *dir = opendir(HERE "/good");
    char *called = read_text(HERE "/good/called.yml");
    size_t count = 0;
    (void)state;
    assert_non_null(dir);
    assert_non_null(called);
    while ((e = readdir(dir))) {
        char path[600];
        struct lat_buf out;
        struct lat_lint_options options = { 0 };
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, HERE "/good/%s", e->d_name);
        char *text = read_text(path);
        assert_non_null(text);
        lat_buf_init(&out, 1 << 20);
        const char *names[] = { path, HERE "/good/called.yml" };
        char *texts[] = { text, called };
        bool calls = strcmp(e->d_name, "caller.yml") == 0;
        if (lint_texts(names, texts, calls ? 2 : 1, &options, &out))
            fail_msg("%s raises\n%s", e->d_name, out.bytes);
        lat_buf_release(&out);
        lat_mem_free(text);
        count++;
    }
    closedir(dir);
    lat_mem_free(called);
    print_message("good workflows: %zu\n", count);
    assert_true(count >= 10);
}

// ---- variants in a few lines: what is put into a leg's script, and the code that it must raise (NULL: none)

static const char frame[] = "on: {pull_request: {types: [opened, synchronize, reopened, ready_for_review]}, merge_group: }\n"
                            "permissions: {contents: read}\n"
                            "jobs:\n"
                            "  test:\n"
                            "    runs-on: ubuntu-24.04\n"
                            "    timeout-minutes: 5\n"
                            "    steps:\n"
                            "      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683\n"
                            "      - %s%srun: |\n"
                            "%s"
                            "  gate:\n"
                            "    if: always()\n"
                            "    needs: [test]\n"
                            "    runs-on: ubuntu-24.04\n"
                            "    timeout-minutes: 5\n"
                            "    steps: [{run: lattice-gate verdict}]\n";

struct variant {
    const char *key, *script, *code;
    size_t line, column; // in the script, 1-based; 0: not looked at
};

static const struct variant variants[] = {
    { "", "make | tee x", "D01", 1, 6 },
    { "", "set -e\n\nmake \\\n  | tee x", "D01", 4, 3 },
    { "shell: sh", "make | tee x", "D01", 1, 6 },
    { "shell: bash -e {0}", "make | tee x", "D01", 1, 6 },
    { "shell: bash", "make | tee x", NULL, 0, 0 },
    { "shell: bash -euo pipefail {0}", "make | tee x", NULL, 0, 0 },
    { "shell: pwsh", "make | tee x", NULL, 0, 0 },
    { "shell: bash", "set +o pipefail\nmake | tee x", "D01", 2, 6 },
    { "", "make | tee x\nset -o pipefail", "D01", 1, 6 },
    { "", "v=$(git describe | cut -c2-)", "D01", 1, 18 },
    { "", "if git status --porcelain | grep -q .; then exit 1; fi", "D01", 1, 27 },
    { "", "{ make; } | tee x", "D01", 1, 11 },
    { "", "for x in a b; do make $x; done | tee log", "D01", 1, 32 },
    { "", "echo \"\xc3\xa4\"; make | tee x", "D01", 1, 16 },
    { "", "make || true", "D02", 1, 6 },
    { "", "make || :", "D02", 1, 6 },
    { "", "make || exit 0", "D02", 1, 6 },
    { "", "make || echo failed", "D02", 1, 6 },
    { "", "make || { echo failed; }", "D02", 1, 6 },
    { "", "make && make check || true", "D02", 1, 20 },
    { "", "make || { echo failed; exit 1; }", NULL, 0, 0 },
    { "", "make || exit 1", NULL, 0, 0 },
    { "", "make || echo failed && exit 1", NULL, 0, 0 },
    { "", "make || rc=$?\nexit \"$rc\"", NULL, 0, 0 },
    { "", "grep -q bad src && exit 1 || true", NULL, 0, 0 },
    { "", "[ -f x ] && rm x || true", NULL, 0, 0 },
    { "", "set +e\nmake\nmake check", "D02", 1, 1 },
    { "", "set +e\nmake\nrc=$?\nexit $rc", NULL, 0, 0 },
    { "shell: bash {0}", "make\nmake check", "D02", 1, 1 },
    { "continue-on-error: true", "make", "D02", 0, 0 },
    { "continue-on-error: false", "make", NULL, 0, 0 },
    { "continue-on-error: true", "gh pr comment 1 --body x", NULL, 0, 0 },
    { "continue-on-error: yes", "make", "D25", 0, 0 },
    { "", "echo '${{ github.head_ref }}'", "D16", 1, 11 },
    { "", "echo ${{ toJSON(github.event) }}", "D16", 1, 17 },
    { "", "echo ${{ github.event.number }} ${{ github.event_name }} ${{ github.event.pull_request.head.sha }}", NULL, 0, 0 },
    { "", "echo ${{ github.event.pull_request.head.ref }}", "D16", 1, 10 },
    { "", "git merge-base origin/main HEAD", "D18", 1, 1 },
    { "", "git fetch origin main\ngit diff origin/main...HEAD", NULL, 0, 0 },
    { "", "git diff --exit-code", NULL, 0, 0 },
    { "", "git diff -- ../x.c src/a.c", NULL, 0, 0 },
    { "", "lattice-gate changes --worktree", "D18", 1, 1 },
    { "", "python -m pip install torch", "D24", 1, 1 },
    { "", "pip install -r requirements.txt", NULL, 0, 0 },
    { "", "pip install -e . 'torch==2.1'", NULL, 0, 0 },
    { "", "pip install 'torch>=2'", "D24", 1, 1 },
    { "", "uv pip install torch", "D24", 1, 1 },
    { "", "hf download org/model", "D24", 1, 1 },
    { "", "curl -LO https://huggingface.co/a/b/resolve/main/c.bin", "D24", 1, 1 },
    { "", "docker pull debian:12", "D24", 1, 1 },
    { "", "echo pip install torch", NULL, 0, 0 },
    { "", "echo 'unclosed", NULL, 0, 0 },
};

static void check_variant(const struct variant *v)
{
    char script[1200], text[4000];
    size_t n = 0;
    struct lat_leg_result result;
    struct lat_lint_options options = { 0 };
    struct lat_error error = { 0 };
    for (const char *line = v->script; *line;) {
        size_t length = strcspn(line, "\n");
        n += (size_t)snprintf(script + n, sizeof script - n, length ? "          %.*s\n" : "\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    int size = snprintf(text, sizeof text, frame, v->key, *v->key ? "\n        " : "", script);
    struct lat_lint_file file = { "ci.yml", text, (size_t)size };
    lat_leg_result_init(&result, "doctor");
    if (lat_lint_files(&result, &file, 1, &options, &error) != LAT_OK)
        fail_msg("%s", error.text);
    const struct lat_finding *first = NULL;
    for (size_t i = 0; i < result.finding_count; i++)
        if (result.findings[i].state > LAT_LEG_INFO) {
            if (first)
                fail_msg("%s %s: two findings, %s and %s", v->key, v->script, first->code, result.findings[i].code);
            first = &result.findings[i];
        }
    if (!v->code != !first || (first && strcmp(first->code, v->code) != 0))
        fail_msg("%s %s: %s %s, wanted %s", v->key, v->script, first ? first->code : "nothing", first ? first->message : "",
                 v->code ? v->code : "nothing");
    size_t above = *v->key ? 10 : 9;
    if (first && v->line && (first->line != above + v->line || first->column != 10 + v->column))
        fail_msg("%s %s: at %zu:%zu, wanted %zu:%zu", v->key, v->script, first->line, first->column, above + v->line, 10 + v->column);
    lat_leg_result_release(&result);
}

static void scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        check_variant(&variants[i]);
    print_message("variants of scripts: %zu\n", sizeof variants / sizeof variants[0]);
}

// ---- changes to a good workflow, each of which must raise its code

struct change {
    const char *from, *to, *code;
};

static const struct change changes[] = {
    { "    if: always()\n    needs: [changes, leg]", "    if: '!cancelled()'\n    needs: [changes, leg]", "D07" },
    { "    if: always()\n    needs: [changes, leg]", "    if: always() && github.actor != 'x'\n    needs: [changes, leg]", "D07" },
    { "    if: always()\n    needs: [changes, leg]", "    if: success()\n    needs: [changes, leg]", "D07" },
    { "needs: [changes, leg]", "needs: [leg]", "D08" },
    { "  merge_group:\n", "", "D03" },
    { "ready_for_review]", "closed]", "D03" },
    { "opened, synchronize, reopened,", "opened, reopened,", "D03" },
    { "    types: [opened, synchronize, reopened, ready_for_review]", "    paths-ignore: ['**.md']", "D04" },
    { "    types: [opened, synchronize, reopened, ready_for_review]", "    branches: [develop]", "D04" },
    { "    types: [opened, synchronize, reopened, ready_for_review]", "    branches: [main]", "D04" },
    { "    types: [opened, synchronize, reopened, ready_for_review]", "    branches-ignore: [wip]", "D04" },
    { "cancel-in-progress: false", "cancel-in-progress: true", "D10" },
    { "cancel-in-progress: false", "cancel-in-progress: ${{ github.event_name == 'pull_request' }}", "D10" },
    { "gate-${{ github.event.pull_request.head.sha || github.event.merge_group.head_sha || github.sha }}",
        "gate-${{ github.ref }}", "D10" },
    { "name: gate\n    if", "name: gate ${{ github.ref }}\n    if", "D05" },
    { "with: { fetch-depth: 0,", "with: { fetch-depth: 2,", "D18" },
    { "        continue-on-error: true\n", "", "D19" },
    { "permissions: { contents: read }", "permissions: write-all", "D14" },
    { "permissions: { contents: read }", "permissions: { contents: read, id-token: write }", "D14" },
    { "permissions: { contents: read }\n", "", "D14" },
    { "run \"$LEG\"", "run \"$LEG\" | tee log", "D01" },
    { "run \"$LEG\"", "run \"$LEG\" || true", "D02" },
    { "    timeout-minutes: 60\n", "", "D23" },
    { "jobs:\n", "x: &anchor 1\njobs:\n", "D25" },
    { "on:\n", "true:\n", "D25" },
    { "lattice-gate verdict --evidence evidence --needs-json \"$NEEDS\"", "lattice-gate verdict --evidence evidence || true", "D02" },
};

static void changed(void **state)
{
    char *good = read_text(HERE "/good/gate-matrix.yml");
    (void)state;
    assert_non_null(good);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct lat_buf text, out;
        struct lat_lint_options options = { 0 };
        const char *at = strstr(good, changes[i].from), *name = "gate-matrix.yml";
        char want[8];
        if (!at)
            fail_msg("'%s' is not in the good workflow", changes[i].from);
        lat_buf_init(&text, 1 << 20);
        lat_buf_init(&out, 1 << 20);
        lat_buf_add(&text, good, (size_t)(at - good));
        lat_buf_add_text(&text, changes[i].to);
        lat_buf_add_text(&text, at + strlen(changes[i].from));
        size_t findings = lint_texts(&name, &text.bytes, 1, &options, &out);
        snprintf(want, sizeof want, " %s\n", changes[i].code);
        if (findings == 0 || !strstr(out.bytes, want))
            fail_msg("'%s' raises\n%s\nwanted %s", changes[i].to, out.bytes ? out.bytes : "", changes[i].code);
        lat_buf_release(&text);
        lat_buf_release(&out);
    }
    lat_mem_free(good);
    print_message("changes to a good workflow: %zu\n", sizeof changes / sizeof changes[0]);
}

// Required checks by name: one that nobody makes, one that is an expression, a commit status beside one.
static void contexts(void **state)
{
    static const char *const want[][2] = { { "nobody", "D03" }, { "gate ${{ x }}", "D05" } };
    char *good = read_text(HERE "/D01/fixed/ci.yml");
    const char *name = "ci.yml";
    (void)state;
    assert_non_null(good);
    for (size_t i = 0; i < 2; i++) {
        struct lat_lint_options options = { .contexts = { &want[i][0], 1 } };
        struct lat_buf out;
        lat_buf_init(&out, 1 << 20);
        assert_int_equal(lint_texts(&name, &good, 1, &options, &out), 1);
        assert_non_null(strstr(out.bytes, want[i][1]));
        lat_buf_release(&out);
    }
    lat_mem_free(good);
}

// Legs of the policy: one that no job runs, one that the policy does not know.
static void legs(void **state)
{
    static const char *const policies[][2] = {
        { "  test: {kind: command, areas: all, run: [make], parse: exit}\n", NULL },
        { "  test: {kind: command, areas: all, run: [make], parse: exit}\n  more: {kind: command, areas: all, run: [make], "
          "parse: exit}\n", "'more'" },
        { "  test: {kind: command, areas: all, run: [make], parse: exit}\n  more: {kind: command, required: false, areas: all, "
          "run: [make], parse: exit}\n",
          NULL },
        { "  other: {kind: command, areas: all, run: [make], parse: exit}\n", "'test'" },
    };
    char *good = read_text(HERE "/D01/fixed/ci.yml");
    const char *name = "ci.yml";
    (void)state;
    assert_non_null(good);
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        struct lat_policy *policy = lat_mem_new(1, sizeof *policy);
        struct lat_error error = { 0 };
        char text[1000];
        struct lat_buf out;
        assert_non_null(policy);
        snprintf(text, sizeof text, "schema: 1\nproject: {name: p}\nareas: {all: [\"**\"]}\nlegs:\n%s", policies[i][0]);
        if (lat_policy_parse(policy, text, strlen(text), "gate.yaml", &error) != LAT_OK)
            fail_msg("%s", error.text);
        lat_buf_init(&out, 1 << 20);
        struct lat_lint_options options = { .policy = policy };
        size_t findings = lint_texts(&name, &good, 1, &options, &out);
        if (!findings != !policies[i][1] || (findings && (!strstr(out.bytes, " D08\n") || !strstr(out.bytes, policies[i][1]))))
            fail_msg("policy %zu raises\n%s", i, out.bytes);
        lat_buf_release(&out);
        lat_policy_release(policy);
        lat_mem_free(policy);
    }
    lat_mem_free(good);
}

static void our_own(void **state)
{
    struct lat_leg_result result;
    struct lat_error error = { 0 };
    struct lat_lint_options options = { 0 };
    const char *folder = LATTICE_SOURCE_DIR "/.github/workflows";
    struct lat_buf out;
    (void)state;
    lat_leg_result_init(&result, "doctor");
    if (lat_lint_folder(&result, folder, folder, &options, &error) != LAT_OK)
        fail_msg("%s", error.text);
    assert_true(result.population >= 1);
    lat_buf_init(&out, 1 << 20);
    render(&out, &result);
    if (out.length)
        fail_msg("our own workflows raise\n%s", out.bytes);
    lat_buf_release(&out);
    lat_leg_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_code), cmocka_unit_test(good_ones), cmocka_unit_test(scripts),
                                        cmocka_unit_test(changed), cmocka_unit_test(contexts), cmocka_unit_test(legs),
                                            cmocka_unit_test(our_own) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
