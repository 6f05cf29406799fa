// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Results that are lines: CTest's output, cmocka's, TAP (versions 12 to 14).
#include <string.h>
#include <strings.h>

#include "core/error.h"
#include "gate/result_parts.h"

// First place of `text` in [at, end), or NULL.
static const char *find(const char *at, const char *end, const char *text) { return memmem(at, (size_t)(end - at), text, strlen(text)); }

static const char *find_last(const char *at, const char *end, const char *text)
{
    const char *last = NULL;
    for (const char *f = at; (f = find(f, end, text)); f++)
        last = f;
    return last;
}

static void trim(const char **at, const char **end)
{
    while (*at < *end && (**at == ' ' || **at == '\t'))
        ++*at;
    while (*end > *at && ((*end)[-1] == ' ' || (*end)[-1] == '\t'))
        --*end;
}

// " 3/12 Test  #7: name ......***Failed  0.10 sec" to number, total, and where the name begins; false: no such line.
static bool ctest_head(const struct lat_line *line, uint64_t *number, uint64_t *total, const char **name)
{
    const char *at = line->text, *end = line->text + line->length;
    uint64_t id = 0;
    while (at < end && *at == ' ')
        at++;
    if (!lat_line_count(&at, end, number) || at == end || *at++ != '/' || !lat_line_count(&at, end, total))
        return false;
    if (end - at < 6 || memcmp(at, " Test ", 6) != 0)
        return false;
    at += 6;
    while (at < end && *at == ' ')
        at++;
    if (at == end || *at++ != '#' || !lat_line_count(&at, end, &id) || end - at < 2 || at[0] != ':' || at[1] != ' ')
        return false;
    *name = at + 2;
    return true;
}

// Whether the state that follows the dots is one of a real skip.
static enum lat_test_outcome ctest_outcome(const char *at, const char *end)
{
    size_t length = (size_t)(end - at);
    if (length >= 7 && memcmp(at, "Skipped", 7) == 0)
        return LAT_TEST_SKIPPED;
    return find(at, end, "(Disabled)") ? LAT_TEST_SKIPPED : LAT_TEST_FAILED;
}

static enum lat_status ctest_case(struct lat_results_reader *r, const struct lat_line *line, const char *name)
{
    const char *end = line->text + line->length, *bad = find_last(name, end, "***"), *good = find_last(name, end, "   Passed ");
    const char *stop = bad ? bad : good, *reason = bad ? bad + 3 : NULL, *reason_end = end;
    if (!stop)
        return lat_results_refuse(r, "a test without a result that is known");
    const char *name_end = stop;
    while (name_end > name && name_end[-1] == '.')
        name_end--;
    trim(&name, &name_end);
    if (name == name_end)
        return lat_results_refuse(r, "a test without a name");
    if (!reason)
        return lat_results_add(r, LAT_TEST_PASSED, name, (size_t)(name_end - name), NULL, 0);
    const char *seconds = find_last(reason, end, " sec"), *full = reason;
    if (seconds)
        for (reason_end = seconds; reason_end > reason && strchr("0123456789. ", reason_end[-1]);)
            reason_end--;
    trim(&full, &reason_end);
    return lat_results_add(r, ctest_outcome(reason, end), name, (size_t)(name_end - name), full, (size_t)(reason_end - full));
}

enum lat_status lat_results_ctest_text(struct lat_results_reader *r)
{
    struct lat_line line;
    uint64_t number = 0, total = 0, announced = 0;
    const char *name = NULL;
    bool summary = false;
    while (lat_results_line(r, &line)) {
        if (ctest_head(&line, &number, &total, &name)) {
            announced = total > announced ? total : announced;
            LAT_TRY(ctest_case(r, &line, name));
        } else if (find(line.text, line.text + line.length, "% tests passed"))
            summary = true;
    }
    if (r->results->count == 0 && !summary)
        return LAT_OK;
    if (!summary)
        return lat_results_refuse(r, "ends without CTest's line 'N%% tests passed': cut short?");
    if (r->results->count != announced)
        return lat_results_refuse(r, "CTest announces %llu tests and tells of %zu", (unsigned long long)announced, r->results->count);
    return LAT_OK;
}

// "[==========] Running 3 test(s)." and "[==========] 3 test(s) run."
static bool cmocka_rule(const struct lat_line *line, bool *begins, uint64_t *count)
{
    static const char bar[] = "[==========] ", running[] = "Running ";
    const char *end = line->text + line->length, *at = line->text + sizeof bar - 1;
    if (!lat_line_starts(line, bar))
        return false;
    *begins = (size_t)(end - at) > sizeof running && memcmp(at, running, sizeof running - 1) == 0;
    // Newer versions name the group: "group: Running 3 test(s)."
    const char *colon = find_last(at, end, ": ");
    if (!*begins && colon) {
        at = colon + 2;
        *begins = (size_t)(end - at) > sizeof running && memcmp(at, running, sizeof running - 1) == 0;
    }
    at += *begins ? sizeof running - 1 : 0;
    return lat_line_count(&at, end, count) && find(at, end, "test(s)");
}

static enum lat_status cmocka_case(struct lat_results_reader *r, const struct lat_line *line)
{
    static const struct {
        const char *mark;
        enum lat_test_outcome outcome;
    } marks[] = { { "[       OK ] ", LAT_TEST_PASSED }, { "[  FAILED  ] ", LAT_TEST_FAILED }, { "[  SKIPPED ] ", LAT_TEST_SKIPPED },
                  { "[  ERROR   ] ", LAT_TEST_FAILED } };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        size_t length = strlen(marks[i].mark);
        if (!lat_line_starts(line, marks[i].mark))
            continue;
        const char *name = line->text + length, *end = line->text + line->length;
        if (end - name >= 3 && memcmp(name, "---", 3) == 0) // the reason of a failure, not a test
            return LAT_OK;
        if (name == end)
            return lat_results_refuse(r, "a test without a name");
        return lat_results_add(r, marks[i].outcome, name, (size_t)(end - name), NULL, 0);
    }
    return LAT_OK;
}

enum lat_status lat_results_cmocka_text(struct lat_results_reader *r)
{
    struct lat_line line;
    uint64_t announced = 0, count = 0;
    size_t before = 0;
    bool in_group = false, begins = false;
    while (lat_results_line(r, &line)) {
        if (cmocka_rule(&line, &begins, &count)) {
            if (begins == in_group)
                return lat_results_refuse(r, in_group ? "a group inside another" : "the end of a group that did not begin");
            if (begins) {
                announced = count;
                before = r->results->count;
            } else if (count != announced || r->results->count - before != announced)
                return lat_results_refuse(r, "a group announces %llu tests and tells of %zu", (unsigned long long)announced,
                                          r->results->count - before);
            in_group = begins;
        } else if (in_group)
            LAT_TRY(cmocka_case(r, &line));
    }
    return in_group ? lat_results_refuse(r, "ends inside a group: cut short?") : LAT_OK;
}

struct tap {
    bool has_plan;
    uint64_t planned, seen;
};

static enum lat_status tap_plan(struct lat_results_reader *r, const struct lat_line *line, struct tap *t, bool groups)
{
    const char *at = line->text + 3, *end = line->text + line->length;
    if (t->has_plan && groups && t->seen == t->planned)
        *t = (struct tap){ 0 };
    if (t->has_plan)
        return lat_results_refuse(r, "a second plan, before the first is done");
    if (!lat_line_count(&at, end, &t->planned))
        return lat_results_refuse(r, "a plan without a number");
    t->has_plan = true;
    return LAT_OK;
}

// The directive behind an unescaped '#': its word (or NULL), and where the description ends.
static const char *tap_directive(const char *at, const char **end, const char **reason)
{
    for (const char *c = at; c < *end; c++)
        if (*c == '#' && (c == at || c[-1] != '\\')) {
            const char *word = c + 1, *stop = *end;
            trim(&word, &stop);
            if (stop - word < 4)
                continue;
            bool skip = strncasecmp(word, "skip", 4) == 0, todo = strncasecmp(word, "todo", 4) == 0;
            if (!skip && !todo)
                continue;
            *end = c;
            *reason = word + 4;
            while (*reason < stop && **reason != ' ')
                ++*reason;
            return skip ? "skip" : "todo";
        }
    return NULL;
}

static enum lat_status tap_case(struct lat_results_reader *r, const struct lat_line *line, bool ok, struct tap *t, bool cmocka)
{
    const char *at = line->text + (ok ? 2 : 6), *end = line->text + line->length, *name_end = end, *reason = end;
    uint64_t number = ++t->seen, given = 0;
    trim(&at, &end);
    if (lat_line_count(&at, end, &given) && given != number)
        return lat_results_refuse(r, "test %llu where %llu is next", (unsigned long long)given, (unsigned long long)number);
    name_end = end;
    const char *directive = tap_directive(at, &name_end, &reason);
    trim(&at, &name_end);
    if (at < name_end && *at == '-')
        at++;
    trim(&at, &name_end);
    trim(&reason, &end);
    char unnamed[] = "(unnamed)";
    if (at == name_end && cmocka && directive && reason < end) { // "not ok 3 # SKIP name"
        at = reason;
        name_end = end;
    } else if (at == name_end) {
        at = unnamed;
        name_end = unnamed + sizeof unnamed - 1;
    }
    enum lat_test_outcome outcome = ok ? LAT_TEST_PASSED : LAT_TEST_FAILED;
    if (directive && directive[0] == 's' && (ok || cmocka))
        outcome = LAT_TEST_SKIPPED;
    if (directive && directive[0] == 't' && !ok)
        outcome = LAT_TEST_SKIPPED; // a failure that is announced: it proves nothing either way
    return lat_results_add(r, outcome, at, (size_t)(name_end - at), directive ? reason : NULL, directive ? (size_t)(end - reason) : 0);
}

static bool is_word(const struct lat_line *line, const char *word)
{
    size_t length = strlen(word);
    return lat_line_starts(line, word) && (line->length == length || line->text[length] == ' ');
}

enum lat_status lat_results_tap(struct lat_results_reader *r, bool cmocka)
{
    struct lat_line line;
    struct tap t = { 0 };
    // Indented lines are subtests and diagnostics; what they say, their parent sums up.
    while (lat_results_line(r, &line)) {
        if (lat_line_starts(&line, "1.."))
            LAT_TRY(tap_plan(r, &line, &t, cmocka));
        else if (is_word(&line, "ok"))
            LAT_TRY(tap_case(r, &line, true, &t, cmocka));
        else if (is_word(&line, "not ok"))
            LAT_TRY(tap_case(r, &line, false, &t, cmocka));
        else if (lat_line_starts(&line, "Bail out!"))
            return lat_results_refuse(r, "the tests gave up: %.*s", (int)(line.length < 200 ? line.length : 200), line.text);
    }
    if (!t.has_plan)
        return lat_results_refuse(r, "no plan (1..N): not TAP, or cut short");
    if (t.seen != t.planned)
        return lat_results_refuse(r, "%llu tests planned, %llu told of", (unsigned long long)t.planned, (unsigned long long)t.seen);
    return LAT_OK;
}
