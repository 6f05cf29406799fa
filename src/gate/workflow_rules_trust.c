// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Who may do what: D11 and D12 foreign actions, D13 foreign code with our rights, D14 tokens, D15 caches, D20 machines; and
// D23, jobs without an end.
#include <ctype.h>
#include <string.h>

#include "gate/workflow_rules.h"

// Commits and tags that are known to have carried an attack.
struct bad_action {
    const char *action, *commit, *what;
    const char *const *tags; // that pointed at it
};

static const char *const setup_tags[] = { "v1", NULL };
static const struct bad_action bad_actions[] = {
    // CVE-2025-30066: the tags v1 to v45.0.7 were moved to a commit that printed the runner's secrets.
    { "tj-actions/changed-files", "0e58ed8671d6b60d0890c21b07f8835ace038e67", "CVE-2025-30066", NULL },
    { "reviewdog/action-setup", "f0d342d24037bb11d26b9bd8496e0808ba32e9ec", "CVE-2025-30154", setup_tags },
};

// v1 ... v45.0.7, as the advisory has them.
static bool is_moved_tag(const char *ref)
{
    if (ref[0] != 'v' || !isdigit((unsigned char)ref[1]))
        return false;
    unsigned major = 0;
    const char *c = ref + 1;
    for (; isdigit((unsigned char)*c) && major < 1000; c++)
        major = 10 * major + (unsigned)(*c - '0');
    return major >= 1 && major <= 45 && (*c == '\0' || *c == '.');
}

static bool is_commit(const char *ref)
{
    size_t n = strspn(ref, "0123456789abcdef");
    return n == 40 && ref[n] == '\0';
}

static void check_action(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_yaml_node *uses)
{
    const char *text = lat_workflow_text(uses), *at = strrchr(text, '@');
    if (!*text || strncmp(text, "./", 2) == 0)
        return;
    if (strncmp(text, "docker://", 9) == 0) {
        if (!strstr(text, "@sha256:"))
            LINT_AT(lint, "D11", w, uses, "'%.100s' has no digest", text);
        return;
    }
    size_t name = at ? (size_t)(at - text) : strlen(text);
    for (size_t i = 0; i < sizeof bad_actions / sizeof bad_actions[0] && at; i++) {
        const struct bad_action *b = &bad_actions[i];
        bool same = strlen(b->action) <= name && strncmp(text, b->action, strlen(b->action)) == 0 &&
            (text[strlen(b->action)] == '@' || text[strlen(b->action)] == '/');
        if (same && (strcmp(at + 1, b->commit) == 0 || (b->tags ? lat_lint_one_of(at + 1, b->tags) : is_moved_tag(at + 1)))) {
            LINT_AT(lint, "D12", w, uses, "'%.100s' is or was an attack (%s)", text, b->what);
            return;
        }
    }
    if (!at || !is_commit(at + 1))
        LINT_AT(lint, "D11", w, uses, "'%.100s' is not pinned by a full commit: its owner, or who takes over the account, can "
                "change it", text);
}

// ---- D13

static bool names_head(const char *text)
{
    static const char *const heads[] = { "pull_request.head.", "github.head_ref", "workflow_run.head_",
        "workflow_run.pull_requests", "refs/pull/",
        "merge_commit_sha" };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        if (strstr(text, heads[i]))
            return true;
    return false;
}

static void check_foreign_head(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_workflow_step *s, const char *event)
{
    const struct lat_yaml_node *with = lat_yaml_get(s->node, "with"), *ref = lat_yaml_get(with, "ref"),
        *repo = lat_yaml_get(with, "repository");
    bool checkout = strncmp(s->uses_text, "actions/checkout@", 17) == 0;
    if (checkout && (names_head(lat_workflow_text(ref)) || names_head(lat_workflow_text(repo)))) {
        const struct lat_yaml_node *at = names_head(lat_workflow_text(ref)) ? ref : repo;
        LINT_KEY(lint, "D13", w, at, "%s runs with the rights of the base, and this checks out what a stranger wrote", event);
    }
    for (size_t i = 0; i < s->script.count; i++) {
        const struct lat_shell_command *c = &s->script.commands[i];
        size_t at = lat_shell_program(c);
        const char *program = lat_shell_program_name(c);
        bool gh = strcmp(program, "gh") == 0 && at + 2 < c->word_count && strcmp(c->words[at + 1], "pr") == 0 &&
            strcmp(c->words[at + 2], "checkout") == 0;
        bool git = false;
        for (size_t k = at + 1; k < c->word_count && strcmp(program, "git") == 0; k++)
            git = git || names_head(c->words[k]) || (strncmp(c->words[k], "pull/", 5) == 0 && strstr(c->words[k], "/head"));
        if (gh || git)
            lat_lint_script(lint, LAT_LEG_FAIL, "D13", w, s, c->at,
                            "%s runs with the rights of the base, and this takes what a stranger wrote", event);
    }
}

// ---- D14

static void check_scopes(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_yaml_node *permissions,
                         const char *job, bool codeql)
{
    if (permissions->kind == LAT_YAML_SCALAR && strcmp(permissions->text, "write-all") == 0)
        LINT_KEY(lint, "D14", w, permissions, "job '%s' runs the code of pull requests with a token that may write everything", job);
    for (const struct lat_yaml_node *c = permissions->kind == LAT_YAML_MAPPING ? permissions->child : NULL; c; c = c->next) {
        bool scan = strcmp(c->key, "security-events") == 0; // what uploads a scanner's results needs
        if (strcmp(lat_workflow_text(c), "write") == 0 && !(codeql && scan))
            lat_lint_find(lint, scan ? LAT_LEG_WARN : LAT_LEG_FAIL, "D14", w, c->key_line, c->key_column,
                          "job '%s' runs the code of pull requests with a token that may write '%s'", job, c->key);
    }
}

static void check_token(struct lat_lint *lint, const struct lat_workflow *w)
{
    const struct lat_yaml_node *all = lat_yaml_get(w->doc.root, "permissions");
    bool called_only = lat_workflow_event(w, "workflow_call") && !lat_workflow_event(w, "pull_request"), said_all = false;
    if (!lat_lint_on_pull_request(lint, w))
        return;
    for (size_t i = 0; i < w->job_count; i++) {
        const struct lat_workflow_job *job = &w->jobs[i];
        const struct lat_yaml_node *own = lat_yaml_get(job->node, "permissions");
        bool codeql = false;
        for (size_t k = 0; k < job->step_count; k++)
            codeql = codeql || strncmp(job->steps[k].uses_text, "github/codeql-action/", 21) == 0;
        if (!job->runs_code || lat_workflow_not_on_pull_request(job))
            continue;
        if (own)
            check_scopes(lint, w, own, job->id, codeql);
        else if (all && !said_all) {
            check_scopes(lint, w, all, job->id, codeql);
            said_all = true;
        } else if (!all && !called_only)
            LINT_KEY(lint, "D14", w, job->node, "job '%s' runs the code of pull requests, and 'permissions' is missing: the "
                     "token may write what the repository's default says", job->id);
    }
}

// ---- D15

static bool saves_cache(const struct lat_workflow_step *s)
{
    const struct lat_yaml_node *with = lat_yaml_get(s->node, "with");
    const char *u = s->uses_text;
    if (strncmp(u, "actions/cache@", 14) == 0)
        return strcmp(lat_workflow_text(lat_yaml_get(with, "lookup-only")), "true") != 0;
    if (strncmp(u, "actions/cache/save@", 19) == 0 || strstr(u, "ccache-action@"))
        return true;
    if (strncmp(u, "Swatinem/rust-cache@", 20) == 0)
        return strcmp(lat_workflow_text(lat_yaml_get(with, "save-if")), "false") != 0;
    const char *cache = lat_workflow_text(lat_yaml_get(with, "cache"));
    return strncmp(u, "actions/setup-", 14) == 0 && *cache && strcmp(cache, "false") != 0;
}

// ---- D20

static void check_runner(struct lat_lint *lint, const struct lat_workflow *w, const struct lat_workflow_job *job)
{
    const struct lat_yaml_node *on = lat_yaml_get(job->node, "runs-on");
    bool pull = lat_workflow_event(w, "pull_request") || lat_workflow_event(w, "pull_request_target");
    bool own_only = job->condition && strstr(job->condition, "head.repo.full_name == github.repository") && !strstr(job->condition, "||");
    if (pull && !own_only && on && lat_workflow_mentions(on, "self-hosted") && !lat_workflow_not_on_pull_request(job))
        LINT_KEY(lint, "D20", w, on, "job '%s' lets anybody's pull request run on a machine of your own", job->id);
}

void lat_lint_rules_trust(struct lat_lint *lint, const struct lat_workflow *w)
{
    static const char *const base_events[] = { "pull_request_target", "workflow_run", "issue_comment" };
    const char *base = NULL; // an event of strangers that runs with the rights and the cache of the default branch
    for (size_t i = 0; i < 3 && !base; i++)
        base = lat_workflow_event(w, base_events[i]) ? base_events[i] : NULL;
    check_token(lint, w);
    for (size_t i = 0; i < w->job_count; i++) {
        const struct lat_workflow_job *job = &w->jobs[i];
        const struct lat_yaml_node *uses = lat_yaml_get(job->node, "uses");
        if (uses)
            check_action(lint, w, uses);
        check_runner(lint, w, job);
        bool pull = lat_lint_on_pull_request(lint, w) && !lat_workflow_not_on_pull_request(job);
        if (!uses && !lat_yaml_get(job->node, "timeout-minutes"))
            lat_lint_find(lint, pull ? LAT_LEG_FAIL : LAT_LEG_WARN, "D23", w, job->node->key_line, job->node->key_column,
                          "job '%s' has no 'timeout-minutes': when it hangs it holds %s for six hours", job->id,
                          pull ? "the check" : "its runner");
        for (size_t k = 0; k < job->step_count; k++) {
            const struct lat_workflow_step *s = &job->steps[k];
            if (s->uses)
                check_action(lint, w, s->uses);
            if (base && (strcmp(base, "issue_comment") != 0 || job->runs_code))
                check_foreign_head(lint, w, s, base);
            if (base && job->runs_code && saves_cache(s))
                LINT_AT(lint, "D15", w, s->uses, "a run that a stranger starts (%s) writes a cache that the default branch reads", base);
        }
    }
}
