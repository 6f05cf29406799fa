// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/workflow_file.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"

const char *lat_workflow_text(const struct lat_yaml_node *node)
{
    return node && node->kind == LAT_YAML_SCALAR ? node->text : "";
}

bool lat_workflow_lists(const struct lat_yaml_node *node, const char *text)
{
    if (!node)
        return false;
    if (node->kind == LAT_YAML_SCALAR)
        return strcmp(node->text, text) == 0;
    for (const struct lat_yaml_node *c = node->child; c; c = c->next)
        if (strcmp(lat_workflow_text(c), text) == 0)
            return true;
    return false;
}

bool lat_workflow_mentions(const struct lat_yaml_node *node, const char *text)
{
    if (!node)
        return false;
    if (node->kind == LAT_YAML_SCALAR)
        return strstr(node->text, text) != NULL;
    for (const struct lat_yaml_node *c = node->child; c; c = c->next)
        if (lat_workflow_mentions(c, text))
            return true;
    return false;
}

const struct lat_yaml_node *lat_workflow_event(const struct lat_workflow *workflow, const char *event)
{
    const struct lat_yaml_node *on = workflow->on;
    if (!on)
        return NULL;
    if (on->kind == LAT_YAML_MAPPING)
        return lat_yaml_get(on, event);
    if (on->kind == LAT_YAML_SCALAR)
        return strcmp(on->text, event) == 0 ? on : NULL;
    for (const struct lat_yaml_node *c = on->child; c; c = c->next)
        if (strcmp(lat_workflow_text(c), event) == 0)
            return c;
    return NULL;
}

bool lat_workflow_needs(const struct lat_workflow_job *job, const char *id)
{
    return lat_workflow_lists(lat_yaml_get(job->node, "needs"), id);
}

bool lat_workflow_depends(const struct lat_workflow *workflow, const struct lat_workflow_job *job, const char *id)
{
    bool seen[LAT_WORKFLOW_JOBS_MAX] = { false };
    size_t queue[LAT_WORKFLOW_JOBS_MAX], head = 0, tail = 0;
    queue[tail++] = (size_t)(job - workflow->jobs);
    seen[queue[0]] = true;
    while (head < tail) {
        const struct lat_workflow_job *at = &workflow->jobs[queue[head++]];
        if (lat_workflow_needs(at, id))
            return true;
        for (size_t i = 0; i < workflow->job_count; i++)
            if (!seen[i] && lat_workflow_needs(at, workflow->jobs[i].id)) {
                seen[i] = true;
                queue[tail++] = i;
            }
    }
    return false;
}

// Start of the file's line `line` (1-based).
static const char *line_start(const struct lat_workflow *workflow, size_t line)
{
    const char *at = workflow->text, *end = workflow->text + workflow->length;
    for (size_t i = 1; i < line && at; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    return at;
}

static size_t code_points(const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

void lat_workflow_place(const struct lat_workflow *workflow, const struct lat_yaml_node *node, size_t offset, size_t *line, size_t *column)
{
    *line = node->line;
    *column = node->column;
    const char *start = line_start(workflow, node->line), *end = workflow->text + workflow->length;
    if (!start || node->kind != LAT_YAML_SCALAR || offset > strlen(node->text))
        return;
    const char *at = start;
    for (size_t left = node->column - 1; left && at < end; at++)
        left -= at + 1 == end || ((unsigned char)at[1] & 0xc0) != 0x80;
    char style = at < end ? *at : '\0';
    if (style == '|') {
        const char *script_line = node->text;
        size_t below = 0;
        for (size_t i = 0; i < offset; i++)
            if (node->text[i] == '\n') {
                below++;
                script_line = node->text + i + 1;
            }
        size_t in_line = offset - (size_t)(script_line - node->text), length = strcspn(script_line, "\n");
        const char *raw = line_start(workflow, node->line + 1 + below);
        const char *stop = raw ? memchr(raw, '\n', (size_t)(end - raw)) : NULL;
        size_t raw_length = raw ? (size_t)((stop ? stop : end) - raw) : 0;
        if (raw_length && raw[raw_length - 1] == '\r')
            raw_length--;
        if (raw_length < length || memcmp(raw + raw_length - length, script_line, length) != 0)
            return;
        *line = node->line + 1 + below;
        *column = code_points(raw, raw_length - length + in_line) + 1;
        return;
    }
    if (style == '>')
        return;
    size_t quote = style == '"' || style == '\'';
    if ((size_t)(end - at) >= quote + offset && memcmp(at + quote, node->text, offset) == 0) // no escapes, one line
        *column = node->column + quote + code_points(node->text, offset);
}

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++)
        if ((at == text || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' '))
            return true;
    return false;
}

// A flag `-...letter...` of a shell template.
static bool has_flag(const char *text, char letter)
{
    for (const char *at = text; (at = strstr(at, " -")); at++) {
        if (at[2] == '-')
            continue;
        size_t n = strcspn(at + 2, " ");
        if (memchr(at + 2, letter, n))
            return true;
    }
    return false;
}

static enum lat_workflow_shell shell_of(const char *text)
{
    size_t n = strcspn(text, " ");
    if (strcmp(text, "bash") == 0)
        return LAT_WORKFLOW_BASH_PIPEFAIL; // bash --noprofile --norc -eo pipefail {0}
    if (strcmp(text, "sh") == 0)
        return LAT_WORKFLOW_BASH_PLAIN; // sh -e {0}
    const char *name = text;
    for (size_t i = 0; i < n; i++)
        if (text[i] == '/')
            name = text + i + 1;
    n -= (size_t)(name - text);
    bool family = (n == 4 && (memcmp(name, "bash", 4) == 0 || memcmp(name, "dash", 4) == 0)) || (n == 2 && memcmp(name, "sh", 2) == 0) ||
        (n == 3 && memcmp(name, "zsh", 3) == 0);
    if (!family)
        return LAT_WORKFLOW_NO_BASH;
    if (!has_flag(text, 'e') && !has_word(text, "errexit"))
        return LAT_WORKFLOW_BASH_CARELESS;
    return has_word(text, "pipefail") ? LAT_WORKFLOW_BASH_PIPEFAIL : LAT_WORKFLOW_BASH_PLAIN;
}

static const struct lat_yaml_node *default_shell(const struct lat_yaml_node *node)
{
    return lat_yaml_get(lat_yaml_get(lat_yaml_get(node, "defaults"), "run"), "shell");
}

static enum lat_workflow_shell step_shell(const struct lat_workflow *workflow, const struct lat_yaml_node *job,
                                          const struct lat_yaml_node *step)
{
    const struct lat_yaml_node *shell = lat_yaml_get(step, "shell");
    if (!shell)
        shell = default_shell(job);
    if (!shell)
        shell = default_shell(workflow->doc.root);
    if (shell)
        return shell_of(lat_workflow_text(shell));
    // Nothing said: PowerShell on Windows, bash -e elsewhere; sh -e in a container.
    return lat_workflow_mentions(lat_yaml_get(job, "runs-on"), "windows") ? LAT_WORKFLOW_NO_BASH : LAT_WORKFLOW_BASH_PLAIN;
}

size_t lat_workflow_gate_command(const struct lat_shell_command *command)
{
    size_t i = lat_shell_program(command);
    const char *name = lat_shell_program_name(command);
    if (strcmp(name, "lattice-gate") != 0 && strcmp(name, "$GATE") != 0 && strcmp(name, "${GATE}") != 0)
        return 0;
    for (i++; i < command->word_count; i++)
        if (strcmp(command->words[i], "--color") == 0)
            i++;
        else if (command->words[i][0] != '-')
            return i;
    return 0;
}

// ---- which legs a job runs

struct leg_names {
    struct lat_workflow *workflow;
    struct lat_workflow_job *job;
    const char *items[256];
    size_t count;
    bool memory;
};

static void add_leg(struct leg_names *names, const char *leg, size_t length)
{
    if (names->count == sizeof names->items / sizeof names->items[0]) {
        names->job->all_legs = true; // more than can be told apart
        return;
    }
    char *copy = lat_arena_new(&names->workflow->doc.arena, length + 1, 1);
    if (!copy) {
        names->memory = true;
        return;
    }
    memcpy(copy, leg, length);
    names->items[names->count++] = copy;
}

// "${{ matrix.leg }}": each value that the matrix gives, or all when an expression gives them.
static void add_matrix_legs(struct leg_names *names, const char *key, size_t length)
{
    char name[80];
    const struct lat_yaml_node *matrix = names->job->matrix;
    snprintf(name, sizeof name, "%.*s", (int)(length < 79 ? length : 79), key);
    const struct lat_yaml_node *values = lat_yaml_get(matrix, name), *include = lat_yaml_get(matrix, "include");
    if (!matrix || matrix->kind != LAT_YAML_MAPPING || (values && values->kind == LAT_YAML_SCALAR) ||
        (include && include->kind == LAT_YAML_SCALAR))
        names->job->all_legs = true; // fromJSON: the plan says
    for (const struct lat_yaml_node *v = values && values->kind == LAT_YAML_SEQUENCE ? values->child : NULL; v; v = v->next)
        if (v->kind == LAT_YAML_SCALAR)
            add_leg(names, v->text, strlen(v->text));
    for (const struct lat_yaml_node *v = include && include->kind == LAT_YAML_SEQUENCE ? include->child : NULL; v; v = v->next) {
        const char *text = lat_workflow_text(lat_yaml_get(v, name));
        if (*text)
            add_leg(names, text, strlen(text));
    }
}

static void add_leg_word(struct leg_names *names, const struct lat_workflow_step *step, const char *word, int depth)
{
    const char *matrix = strstr(word, "matrix.");
    if (strncmp(word, "${{", 3) == 0) {
        if (matrix)
            add_matrix_legs(names, matrix + 7, strspn(matrix + 7, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"));
        else
            names->job->all_legs = true;
        return;
    }
    if (word[0] != '$') {
        add_leg(names, word, strlen(word));
        return;
    }
    char name[80];
    const char *start = word + 1 + (word[1] == '{');
    size_t n = strspn(start, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    snprintf(name, sizeof name, "%.*s", (int)(n < 79 ? n : 79), start);
    const struct lat_yaml_node *nodes[] = { step->node, names->job->node, names->workflow->doc.root };
    for (size_t i = 0; i < 3; i++) {
        const struct lat_yaml_node *value = lat_yaml_get(lat_yaml_get(nodes[i], "env"), name);
        if (value && depth < 4) {
            add_leg_word(names, step, lat_workflow_text(value), depth + 1);
            return;
        }
    }
    names->job->all_legs = true; // made in the script: not to be told here
}

static void look_at_gate(struct leg_names *names, const struct lat_workflow_step *step, const struct lat_shell_command *command)
{
    size_t at = lat_workflow_gate_command(command);
    if (at == 0)
        return;
    const char *verb = command->words[at];
    names->job->plans = names->job->plans || strcmp(verb, "changes") == 0;
    names->job->judges = names->job->judges || strcmp(verb, "verdict") == 0;
    if (strcmp(verb, "run") != 0)
        return;
    names->job->runs_legs = true;
    for (size_t i = at + 1; i < command->word_count; i++) {
        const char *w = command->words[i];
        if (w[0] != '-')
            add_leg_word(names, step, w, 0);
        else if (!strchr(w, '=') && strcmp(w, "--no-needs") != 0 && strcmp(w, "--verbose") != 0)
            i++; // an option's value
    }
}

static bool runs_code(const struct lat_workflow_job *job)
{
    if (strncmp(lat_workflow_text(lat_yaml_get(job->node, "uses")), "./", 2) == 0)
        return true;
    for (size_t i = 0; i < job->step_count; i++) {
        const struct lat_workflow_step *s = &job->steps[i];
        if (strncmp(s->uses_text, "actions/checkout@", 17) == 0 || strncmp(s->uses_text, "./", 2) == 0)
            return true;
        for (size_t k = 0; k < s->script.count; k++) {
            const struct lat_shell_command *c = &s->script.commands[k];
            const char *program = lat_shell_program_name(c);
            size_t at = lat_shell_program(c);
            if (at + 1 < c->word_count && ((strcmp(program, "git") == 0 && (strcmp(c->words[at + 1], "clone") == 0 ||
                                            strcmp(c->words[at + 1], "checkout") == 0)) ||
                                           (strcmp(program, "gh") == 0 && at + 2 < c->word_count &&
                                            strcmp(c->words[at + 2], "checkout") == 0)))
                return true;
        }
    }
    return false;
}

static bool reads_needs(const struct lat_yaml_node *step)
{
    static const char *const parts[] = { "run", "env", "with" };
    for (size_t i = 0; i < 3; i++) {
        const struct lat_yaml_node *n = lat_yaml_get(step, parts[i]);
        if (lat_workflow_mentions(n, "needs.*.result") || lat_workflow_mentions(n, "toJSON(needs") ||
            lat_workflow_mentions(n, "toJson(needs") ||
            (lat_workflow_mentions(n, "needs.") && lat_workflow_mentions(n, ".result")))
            return true;
    }
    return strncmp(lat_workflow_text(lat_yaml_get(step, "uses")), "re-actors/alls-green@", 21) == 0;
}

static enum lat_status take_step(struct lat_workflow *workflow, struct lat_workflow_job *job, struct leg_names *names,
                                 const struct lat_yaml_node *node, struct lat_error *error)
{
    struct lat_workflow_step *step = &job->steps[job->step_count++];
    *step = (struct lat_workflow_step){ .node = node, .run = lat_yaml_get(node, "run"), .uses = lat_yaml_get(node, "uses") };
    step->uses_text = lat_workflow_text(step->uses);
    step->id = lat_workflow_text(lat_yaml_get(node, "id"));
    step->shell = step_shell(workflow, job->node, node);
    job->reads_needs = job->reads_needs || reads_needs(node);
    if (!step->run || step->run->kind != LAT_YAML_SCALAR || step->shell == LAT_WORKFLOW_NO_BASH)
        return LAT_OK;
    step->scanned = true;
    enum lat_status status = lat_shell_scan(&step->script, step->run->text, strlen(step->run->text), error);
    if (status == LAT_LIMIT)
        return lat_yaml_error(error, &workflow->doc, step->run, "a script that is nested or long beyond reason");
    LAT_TRY(status);
    for (size_t i = 0; i < step->script.count; i++)
        look_at_gate(names, step, &step->script.commands[i]);
    return names->memory ? lat_error_memory(error, "a workflow") : LAT_OK;
}

static enum lat_status take_job(struct lat_workflow *workflow, const struct lat_yaml_node *node, struct lat_error *error)
{
    struct lat_workflow_job *job = &workflow->jobs[workflow->job_count++];
    struct leg_names names = { .workflow = workflow, .job = job };
    const struct lat_yaml_node *steps = lat_yaml_get(node, "steps"), *condition = lat_yaml_get(node, "if");
    *job = (struct lat_workflow_job){ .node = node, .id = node->key, .matrix = lat_yaml_get(lat_yaml_get(node, "strategy"), "matrix") };
    job->name = *lat_workflow_text(lat_yaml_get(node, "name")) ? lat_workflow_text(lat_yaml_get(node, "name")) : job->id;
    job->condition = condition && condition->kind == LAT_YAML_SCALAR ? condition->text : NULL;
    if (steps && steps->kind == LAT_YAML_SEQUENCE && steps->count) {
        if (steps->count > LAT_WORKFLOW_STEPS_MAX)
            return lat_yaml_error(error, &workflow->doc, steps, "more than %d steps", LAT_WORKFLOW_STEPS_MAX);
        job->steps = lat_mem_new(steps->count, sizeof *job->steps);
        if (!job->steps)
            return lat_error_memory(error, "a workflow");
        for (const struct lat_yaml_node *s = steps->child; s; s = s->next)
            LAT_TRY(take_step(workflow, job, &names, s, error));
    }
    job->runs_code = runs_code(job);
    const char **legs = names.count ? lat_arena_new(&workflow->doc.arena, names.count, sizeof(const char *)) : NULL;
    if (names.count && !legs)
        return lat_error_memory(error, "a workflow");
    if (names.count)
        memcpy(legs, names.items, names.count * sizeof(const char *));
    job->legs = (struct lat_text_list){ legs, names.count };
    return LAT_OK;
}

static enum lat_status take_jobs(struct lat_workflow *workflow, struct lat_error *error)
{
    const struct lat_yaml_node *jobs = workflow->jobs_node;
    if (jobs->count > LAT_WORKFLOW_JOBS_MAX)
        return lat_yaml_error(error, &workflow->doc, jobs, "more than %d jobs", LAT_WORKFLOW_JOBS_MAX);
    workflow->jobs = lat_mem_new(jobs->count ? jobs->count : 1, sizeof *workflow->jobs);
    if (!workflow->jobs)
        return lat_error_memory(error, "a workflow");
    for (const struct lat_yaml_node *j = jobs->child; j; j = j->next) {
        if (j->kind != LAT_YAML_MAPPING)
            return lat_yaml_error(error, &workflow->doc, j, "job '%.80s': expected keys and values", j->key);
        LAT_TRY(take_job(workflow, j, error));
    }
    return LAT_OK;
}

enum lat_status lat_workflow_parse(struct lat_workflow *workflow, const char *text, size_t length, const char *path,
                                   struct lat_error *error)
{
    *workflow = (struct lat_workflow){ .path = path, .text = text, .length = length };
    LAT_TRY(lat_yaml_parse(&workflow->doc, text, length, path, error));
    workflow->on = lat_yaml_get(workflow->doc.root, "on");
    workflow->jobs_node = lat_yaml_get(workflow->doc.root, "jobs");
    if (workflow->jobs_node && workflow->jobs_node->kind != LAT_YAML_MAPPING)
        workflow->jobs_node = NULL;
    enum lat_status status = workflow->jobs_node ? take_jobs(workflow, error) : LAT_OK;
    if (status != LAT_OK)
        lat_workflow_release(workflow);
    return status;
}

void lat_workflow_release(struct lat_workflow *workflow)
{
    for (size_t i = 0; workflow->jobs && i < workflow->job_count; i++) {
        for (size_t k = 0; workflow->jobs[i].steps && k < workflow->jobs[i].step_count; k++)
            lat_shell_release(&workflow->jobs[i].steps[k].script);
        lat_mem_free(workflow->jobs[i].steps);
    }
    lat_mem_free(workflow->jobs);
    lat_yaml_release(&workflow->doc);
    workflow->jobs = NULL;
    workflow->job_count = 0;
}

bool lat_workflow_not_on_pull_request(const struct lat_workflow_job *job)
{
    static const char *const events[] = { "push", "schedule", "workflow_dispatch", "merge_group", "release" };
    if (!job->condition || strstr(job->condition, "||"))
        return false;
    if (strstr(job->condition, "github.event_name != 'pull_request'") || strstr(job->condition, "github.ref == 'refs/heads/") ||
        strstr(job->condition, "startsWith(github.ref, 'refs/tags/"))
        return true;
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        char text[80];
        snprintf(text, sizeof text, "github.event_name == '%s'", events[i]);
        if (strstr(job->condition, text))
            return true;
    }
    return false;
}
