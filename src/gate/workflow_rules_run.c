// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What scripts hide: D01 pipes, D02 swallowed failures, D16 injection, D18 history that is not there, D24 versions that
// are not pinned.
#include <stdio.h>
#include <string.h>

#include "gate/workflow_rules.h"

struct site {
    struct lat_lint *lint;
    const struct lat_workflow *w;
    const struct lat_workflow_job *job;
    const struct lat_workflow_step *step;
};

static const struct lat_shell_command *command_at(const struct site *s, size_t i)
{
    return i == LAT_SHELL_NONE ? NULL : &s->step->script.commands[i];
}

// A compound is one of a list when all its parts are.
static bool all_among(const struct site *s, size_t index, const char *const *list)
{
    const struct lat_shell_command *c = command_at(s, index);
    if (c->inner == LAT_SHELL_NONE)
        return c->word_count == 0 || lat_shell_program(c) == c->word_count || lat_lint_one_of(lat_shell_program_name(c), list);
    for (size_t i = c->inner; i < index; i++)
        if (command_at(s, i)->inner == LAT_SHELL_NONE && !all_among(s, i, list))
            return false;
    return true;
}

// The name of what would fail unseen.
static const char *name_of(const struct site *s, size_t index)
{
    const struct lat_shell_command *c = command_at(s, index);
    if (c->inner == LAT_SHELL_NONE)
        return lat_shell_program_name(c);
    return "a group of commands";
}

static bool mentions(const struct site *s, const char *text) { return strstr(s->step->run->text, text) != NULL; }

// `set -o pipefail` (or +o) at this command; else the old value.
static bool pipefail_after(const struct lat_shell_command *c, bool now)
{
    if (c->word_count < 2 || strcmp(c->words[0], "set") != 0)
        return now;
    for (size_t i = 1; i + 1 < c->word_count; i++)
        if (strchr(c->words[i], 'o') && (c->words[i][0] == '-' || c->words[i][0] == '+') && strcmp(c->words[i + 1], "pipefail") == 0)
            now = c->words[i][0] == '-';
    return now;
}

// D01. What stands left of a pipe loses its status, unless it has none worth having.
static void check_pipes(const struct site *s)
{
    static const char *const harmless[] = { "echo", "printf", "yes", "true", ":", "seq", "[", "test", "[[", "set", NULL };
    bool pipefail = s->step->shell == LAT_WORKFLOW_BASH_PIPEFAIL;
    if (mentions(s, "PIPESTATUS"))
        return; // looks at each status itself
    for (size_t i = 0; i < s->step->script.count; i++) {
        const struct lat_shell_command *c = command_at(s, i);
        pipefail = pipefail_after(c, pipefail);
        // A substitution that is an argument has no status at all, with pipefail or without.
        if (pipefail || c->join != LAT_SHELL_PIPE || (c->substitutions && !c->assigned) || all_among(s, c->previous, harmless))
            continue;
        lat_lint_script(s->lint, LAT_LEG_FAIL, "D01", s->w, s->step, c->join_at,
                        "the failure of '%s' is lost in this pipe: the shell has no pipefail",
                        name_of(s, c->previous));
        while (c->next != LAT_SHELL_NONE && command_at(s, c->next)->join == LAT_SHELL_PIPE) // once a pipeline
            i = c->next, c = command_at(s, i);
    }
}

// ---- D02

// Commands whose failure means nothing for a check: cleaning up, and looking for something that may not be there.
static const char *const may_fail[] = { "rm", "rmdir", "kill", "pkill", "killall", "umount", "mkdir", "echo", "printf", "grep", "egrep",
    "fgrep", "read", "sleep", "docker", "podman", "df", "free", "ulimit", "sysctl", "command", "which", "type", "true", ":", "cat", "ls",
    "wait", NULL };

// exit 0, true, echo: what ends a list well whatever came before.
static bool ends_well(const struct site *s, size_t index)
{
    const struct lat_shell_command *c = command_at(s, index);
    if (c->inner != LAT_SHELL_NONE) {
        bool any = false;
        for (size_t i = c->inner; i < index; i++) {
            if (command_at(s, i)->substitutions != c->substitutions)
                continue;
            if (!ends_well(s, i))
                return false;
            any = true;
        }
        return any;
    }
    static const char *const well[] = { "true", ":", "echo", "printf", NULL };
    const char *program = lat_shell_program_name(c);
    if ((strcmp(program, "exit") == 0 || strcmp(program, "return") == 0) && c->word_count == 2)
        return strcmp(c->words[1], "0") == 0;
    return lat_lint_one_of(program, well);
}

// All that stands left of `c` in its pipeline may fail.
static bool left_may_fail(const struct site *s, const struct lat_shell_command *c)
{
    for (size_t i = c->previous; i != LAT_SHELL_NONE; i = command_at(s, i)->previous) {
        const struct lat_shell_command *left = command_at(s, i);
        if (!all_among(s, i, may_fail) && !lat_lint_one_of(lat_shell_program_name(left),
                                                           (const char *const[]){ "exit", "[", "test", "[[", NULL }))
            return false;
    }
    return true;
}

// The list goes on after `index` with something that can still fail it: `|| echo why && exit 1`.
static bool goes_on(const struct site *s, size_t index)
{
    size_t next = command_at(s, index)->next;
    return next != LAT_SHELL_NONE && !ends_well(s, next);
}

static void check_swallowed(const struct site *s)
{
    for (size_t i = 0; i < s->step->script.count; i++) {
        const struct lat_shell_command *c = command_at(s, i);
        if (c->join != LAT_SHELL_OR || c->substitutions || !ends_well(s, i) || goes_on(s, i) || left_may_fail(s, c))
            continue;
        const char *program = c->inner == LAT_SHELL_NONE ? lat_shell_program_name(c) : "a group";
        lat_lint_script(s->lint, LAT_LEG_FAIL, "D02", s->w, s->step, c->join_at, "'|| %s%s' makes a failure of '%s' green", program,
                        strcmp(program, "exit") == 0 ? " 0" : "", name_of(s, c->previous));
    }
}

// `set +e` whose statuses nobody reads, and shells without -e.
static void check_errexit(const struct site *s)
{
    if (mentions(s, "$?") || mentions(s, "PIPESTATUS"))
        return;
    const struct lat_shell_command *off = NULL;
    size_t after = 0;
    for (size_t i = 0; i < s->step->script.count; i++) {
        const struct lat_shell_command *c = command_at(s, i);
        bool set = c->word_count >= 2 && strcmp(c->words[0], "set") == 0;
        if (set && strncmp(c->words[1], "+", 1) == 0 && strchr(c->words[1], 'e'))
            off = c, after = 0;
        else if (set && c->words[1][0] == '-' && strchr(c->words[1], 'e'))
            return;
        else
            after += c->substitutions == 0;
    }
    if (off && after > 1)
        lat_lint_script(s->lint, LAT_LEG_FAIL, "D02", s->w, s->step, off->at, "after 'set +e' only the last command's failure counts");
    else if (!off && s->step->shell == LAT_WORKFLOW_BASH_CARELESS && after > 1)
        lat_lint_script(s->lint, LAT_LEG_FAIL, "D02", s->w, s->step, 0, "this shell has no -e: only the last command's failure counts");
}

// A later step looks at how this one ended.
static bool outcome_is_read(const struct site *s)
{
    char text[160];
    if (!*s->step->id)
        return false;
    snprintf(text, sizeof text, "steps.%.100s.outcome", s->step->id);
    return lat_workflow_mentions(s->job->node, text);
}

static void check_continue(const struct site *s)
{
    const struct lat_yaml_node *go_on = lat_yaml_get(s->step->node, "continue-on-error");
    const char *text = lat_workflow_text(go_on);
    bool upload = strstr(s->step->uses_text, "upload") || strstr(s->step->uses_text, "cache");
    bool always = strcmp(text, "true") == 0;
    if ((!always && !strstr(text, "${{")) || lat_lint_reporter(s->step) || upload || outcome_is_read(s))
        return;
    lat_lint_find(s->lint, always ? LAT_LEG_FAIL : LAT_LEG_WARN, "D02", s->w, go_on->key_line, go_on->key_column,
                  "'continue-on-error' makes a failure of this step green%s", always ? "" : " wherever the expression is true");
}

// ---- D16

// Numbers, hashes and words that GitHub makes; the rest is what anybody writes into a title or a branch's name.
static bool is_safe_context(const char *path, size_t length)
{
    static const char *const last[] = { "number", "sha", "id", "node_id", "before", "after", "draft", "action", "merged",
        "base_sha", "head_sha",
        "run_id", "run_number", "run_attempt", "conclusion", "created_at", "updated_at", "private", "fork", "state", "schedule", NULL };
    char text[160];
    if (length >= sizeof text)
        return false;
    memcpy(text, path, length);
    text[length] = '\0';
    const char *dot = strrchr(text, '.');
    return (dot && lat_lint_one_of(dot + 1, last)) || strstr(text, ".base.ref") || strstr(text, "event.inputs.") ||
        strstr(text, "event.repository.") || strstr(text, "event.merge_group.base_ref");
}

static size_t path_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.*");
}

static void check_expression(const struct site *s, const struct lat_yaml_node *script, size_t from, size_t to)
{
    static const char *const contexts[] = { "github.event", "github.head_ref" };
    for (size_t at = from; at < to; at++)
        for (size_t k = 0; k < 2; k++) {
            const char *here = script->text + at;
            if (strncmp(here, contexts[k], strlen(contexts[k])) != 0 || (at > from && path_length(here - 1) > 0 && here[-1] != '-'))
                continue;
            size_t length = path_length(here), line = 0, column = 0;
            bool other = k == 0 && here[12] != '.' && here[12] != '[' && length != 12; // github.event_name
            if (other || is_safe_context(here, length))
                continue;
            lat_workflow_place(s->w, script, at, &line, &column);
            lat_lint_find(s->lint, LAT_LEG_FAIL, "D16", s->w, line, column,
                          "'%.*s' is pasted into the script: whoever writes it runs commands here",
                          (int)(length < 100 ? length : 100), here);
            at += length;
            break;
        }
}

static void check_injection(const struct site *s)
{
    const struct lat_yaml_node *script = s->step->run;
    if (!script && strncmp(s->step->uses_text, "actions/github-script@", 22) == 0)
        script = lat_yaml_get(lat_yaml_get(s->step->node, "with"), "script");
    const char *text = lat_workflow_text(script);
    for (const char *open = text; (open = strstr(open, "${{"));) {
        const char *close = strstr(open, "}}");
        if (!close)
            return;
        check_expression(s, script, (size_t)(open + 3 - text), (size_t)(close - text));
        open = close;
    }
}

// ---- D18

static const struct lat_workflow_step *checkout_of(const struct lat_workflow_job *job)
{
    for (size_t i = 0; i < job->step_count; i++)
        if (strncmp(job->steps[i].uses_text, "actions/checkout@", 17) == 0)
            return &job->steps[i];
    return NULL;
}

// git diff A...B, git merge-base, git log A..B against another branch.
static bool looks_at_base(const struct lat_shell_command *c)
{
    static const char *const verbs[] = { "diff", "log", "rev-list", "diff-tree", "merge-base", NULL };
    size_t at = lat_shell_program(c) + 1;
    if (strcmp(lat_shell_program_name(c), "git") != 0)
        return false;
    while (at < c->word_count && (c->words[at][0] == '-' || (at && strcmp(c->words[at - 1], "-c") == 0)))
        at++;
    if (at >= c->word_count || !lat_lint_one_of(c->words[at], verbs))
        return false;
    if (strcmp(c->words[at], "merge-base") == 0)
        return true;
    for (at++; at < c->word_count; at++)
        if (strstr(c->words[at], "origin/") || strstr(c->words[at], "base.sha") || strstr(c->words[at], "base_ref") ||
            strstr(c->words[at], "BASE") ||
            (strstr(c->words[at], "..") && strncmp(c->words[at], "..", 2) != 0 && !strchr(c->words[at], '/')))
            return true;
    return false;
}

static bool has_word_like(const struct lat_shell_command *c, const char *start)
{
    for (size_t i = 0; i < c->word_count; i++)
        if (strncmp(c->words[i], start, strlen(start)) == 0)
            return true;
    return false;
}

static void check_history(const struct site *s, bool *fetched)
{
    const struct lat_workflow_step *checkout = checkout_of(s->job);
    const char *depth = checkout ? lat_workflow_text(lat_yaml_get(lat_yaml_get(checkout->node, "with"), "fetch-depth")) : "";
    bool full = strcmp(depth, "0") == 0;
    for (size_t i = 0; checkout && i < s->step->script.count; i++) {
        const struct lat_shell_command *c = command_at(s, i);
        size_t gate = lat_workflow_gate_command(c);
        bool fetch = strcmp(lat_shell_program_name(c), "git") == 0 && has_word_like(c, "fetch");
        bool shallow = fetch && (has_word_like(c, "--depth") || has_word_like(c, "--shallow"));
        if (fetch && !shallow)
            *fetched = true;
        if (shallow && full)
            lat_lint_script(s->lint, LAT_LEG_FAIL, "D18", s->w, s->step, c->at,
                            "'git fetch --depth' makes the full clone shallow: the merge base is lost");
        bool plan = gate && strcmp(c->words[gate], "changes") == 0;
        if (!full && !*fetched && (plan || looks_at_base(c)))
            lat_lint_script(s->lint, LAT_LEG_FAIL, "D18", s->w, s->step, c->at,
                            "'%s' needs the base, and the checkout has a depth of %s: 'fetch-depth: 0' is missing",
                            plan ? "lattice-gate changes" : "git", *depth ? depth : "1");
    }
}

// ---- D24

static bool is_local(const char *word)
{
    size_t n = strlen(word);
    return word[0] == '.' || word[0] == '/' || strchr(word, '$') || strstr(word, "${{") || (n > 4 && strcmp(word + n - 4, ".whl") == 0);
}

// The first package of `pip install ...` without an exact version, or NULL.
static const char *unpinned_package(const struct lat_shell_command *c, size_t at)
{
    static const char *const with_value[] = { "-r", "--requirement", "-e", "--editable", "-i", "--index-url",
        "--extra-index-url", "-t", "--target",
        "-f", "--find-links", "--python", "--prefix", "--root", "--timeout", "--retries", "--cache-dir", "--progress-bar",
            "--group", NULL };
    static const char *const tools[] = { "pip", "setuptools", "wheel", NULL };
    const char *found = NULL;
    for (; at < c->word_count; at++) {
        const char *w = c->words[at];
        if (strcmp(w, "-c") == 0 || strncmp(w, "--constraint", 12) == 0 || strcmp(w, "--require-hashes") == 0)
            return NULL;
        if (lat_lint_one_of(w, with_value))
            at++;
        else if (w[0] != '-' && !is_local(w) && !strstr(w, "==") && !strchr(w, '@') && !lat_lint_one_of(w, tools) && !found)
            found = w;
    }
    return found;
}

static size_t pip_install(const struct lat_shell_command *c)
{
    size_t at = lat_shell_program(c);
    const char *program = lat_shell_program_name(c);
    if ((strncmp(program, "python", 6) == 0 && at + 2 < c->word_count && strcmp(c->words[at + 1], "-m") == 0) ||
        strcmp(program, "uv") == 0) {
        at += program[0] == 'u' ? 1 : 2;
        program = at < c->word_count ? c->words[at] : "";
    }
    bool pip = strcmp(program, "pip") == 0 || strcmp(program, "pip3") == 0 || strcmp(program, "pipx") == 0;
    return pip && at + 1 < c->word_count && strcmp(c->words[at + 1], "install") == 0 ? at + 2 : 0;
}

static bool downloads_model(const struct lat_shell_command *c)
{
    const char *program = lat_shell_program_name(c);
    size_t at = lat_shell_program(c);
    if (strcmp(program, "huggingface-cli") == 0 || strcmp(program, "hf") == 0)
        return at + 1 < c->word_count && strcmp(c->words[at + 1], "download") == 0 && !has_word_like(c, "--revision");
    bool fetches = strcmp(program, "curl") == 0 || strcmp(program, "wget") == 0;
    for (size_t i = at; fetches && i < c->word_count; i++)
        if (strstr(c->words[i], "huggingface.co/") && strstr(c->words[i], "/resolve/main/"))
            return true;
    return false;
}

static void check_versions(const struct site *s)
{
    for (size_t i = 0; i < s->step->script.count; i++) {
        const struct lat_shell_command *c = command_at(s, i);
        size_t at = pip_install(c), program = lat_shell_program(c);
        const char *package = at ? unpinned_package(c, at) : NULL, *name = lat_shell_program_name(c);
        if (package)
            lat_lint_script(s->lint, LAT_LEG_FAIL, "D24", s->w, s->step, c->at,
                            "the Python package '%.80s' has no exact version: a release elsewhere changes this check", package);
        if (downloads_model(c))
            lat_lint_script(s->lint, LAT_LEG_FAIL, "D24", s->w, s->step, c->at,
                            "a model is downloaded without a revision: its owner can change this check");
        bool pull = (strcmp(name, "docker") == 0 || strcmp(name, "podman") == 0) && program + 2 < c->word_count &&
            strcmp(c->words[program + 1], "pull") == 0;
        const char *image = pull ? c->words[c->word_count - 1] : "";
        if (pull && !strstr(image, "@sha256:") && !strchr(image, '$'))
            lat_lint_script(s->lint, LAT_LEG_FAIL, "D24", s->w, s->step, c->at, "the image '%.80s' has no digest", image);
    }
}

static void check_image(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_yaml_node *image)
{
    const char *text = lat_workflow_text(image);
    if (*text && !strstr(text, "@sha256:") && !strstr(text, "${{") && strncmp(text, "./", 2) != 0)
        LINT_AT(lint, "D24", w, image, "the image '%.80s' has no digest: its owner can change this check", text);
}

static void check_images(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_workflow_job *job)
{
    const struct lat_yaml_node *container = lat_yaml_get(job->node, "container"), *services = lat_yaml_get(job->node, "services");
    if (container)
        check_image(lint, w, container->kind == LAT_YAML_MAPPING ? lat_yaml_get(container, "image") : container);
    for (const struct lat_yaml_node *c = services && services->kind == LAT_YAML_MAPPING ? services->child : NULL; c; c = c->next)
        check_image(lint, w, lat_yaml_get(c, "image"));
}

void lat_lint_rules_run(struct lat_lint *lint, const struct lat_workflow *w)
{
    for (size_t i = 0; i < w->job_count; i++) {
        const struct lat_workflow_job *job = &w->jobs[i];
        bool leg = lat_lint_leg(lint, w, job), fetched = false;
        const struct lat_yaml_node *go_on = lat_yaml_get(job->node, "continue-on-error");
        if (leg && strcmp(lat_workflow_text(go_on), "true") == 0)
            LINT_KEY(lint, "D02", w, go_on, "'continue-on-error' makes the whole job '%s' green", job->id);
        check_images(lint, w, job);
        for (size_t k = 0; k < job->step_count; k++) {
            struct site s = { lint, w, job, &job->steps[k] };
            check_injection(&s);
            if (leg)
                check_continue(&s);
            if (!s.step->scanned)
                continue;
            check_pipes(&s);
            check_history(&s, &fetched);
            check_versions(&s);
            if (leg) {
                check_swallowed(&s);
                check_errexit(&s);
            }
        }
    }
}
