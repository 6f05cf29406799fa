// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/workflow_lint.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "gate/gate_codes.h"
#include "gate/workflow_rules.h"

static void find(struct lat_lint *lint, enum lat_leg_state state, const char *code, const char *path, size_t line, size_t column,
                 const char *message)
{
    const struct lat_gate_code *known = lat_gate_code_find(code);
    size_t before = lint->result->finding_count;
    LAT_BUG_IF(!known);
    lat_leg_find(lint->result, state, code, path, line, known->fix, "%s", message);
    if (lint->result->finding_count > before)
        lint->result->findings[before].column = column;
}

void lat_lint_find(struct lat_lint *lint, enum lat_leg_state state, const char *code, const struct lat_workflow *workflow, size_t line,
                   size_t column, const char *format, ...)
{
    char message[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    find(lint, state, code, workflow ? workflow->path : NULL, line, column, message);
}

void lat_lint_script(struct lat_lint *lint, enum lat_leg_state state, const char *code, const struct lat_workflow *workflow,
                     const struct lat_workflow_step *step, size_t offset, const char *format, ...)
{
    char message[1000];
    size_t line = 0, column = 0;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    lat_workflow_place(workflow, step->run, offset, &line, &column);
    find(lint, state, code, workflow->path, line, column, message);
}

bool lat_lint_one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

// "test" is also who makes "test (ubuntu, gcc)" when it has a matrix.
static bool makes(const struct lat_workflow_job *job, const char *context)
{
    size_t n = strlen(job->name);
    if (strcmp(job->name, context) == 0 || strcmp(job->id, context) == 0)
        return true;
    const char *hole = strstr(job->name, "${{");
    if (hole) // the words before the expression are the only ones that are known
        return hole > job->name && strncmp(context, job->name, (size_t)(hole - job->name)) == 0;
    return job->matrix && strncmp(context, job->name, n) == 0 && context[n] == ' ' && context[n + 1] == '(';
}

bool lat_lint_required(const struct lat_lint *lint, const struct lat_workflow_job *job)
{
    for (size_t i = 0; i < lint->contexts.count; i++)
        if (makes(job, lint->contexts.items[i]))
            return true;
    if (lint->contexts.count)
        return false;
    if (lint->any_judge)
        return job->judges;
    // Nobody said what is required. One that asks for an event, a repository or an author is a messenger.
    return job->reads_needs && lat_yaml_get(job->node, "needs") && !(job->condition && strstr(job->condition, "github."));
}

bool lat_lint_aggregates(const struct lat_lint *lint, const struct lat_workflow_job *job)
{
    return lat_lint_required(lint, job) && (job->judges || lat_yaml_get(job->node, "needs"));
}

bool lat_lint_owner(const struct lat_lint *lint, const struct lat_workflow *workflow)
{
    for (size_t i = 0; i < workflow->job_count; i++)
        if (lat_lint_required(lint, &workflow->jobs[i]))
            return true;
    return false;
}

// A job of another file that calls this one.
static bool calls(const struct lat_workflow_job *job, const struct lat_workflow *called)
{
    const char *uses = lat_workflow_text(lat_yaml_get(job->node, "uses")), *slash = strrchr(uses, '/'), *name = strrchr(called->path, '/');
    return strncmp(uses, "./", 2) == 0 && slash && strcmp(slash + 1, name ? name + 1 : called->path) == 0;
}

static bool is_leg_here(const struct lat_lint *lint, const struct lat_workflow *workflow, const struct lat_workflow_job *job)
{
    if (lat_lint_required(lint, job))
        return true;
    for (size_t i = 0; i < workflow->job_count; i++)
        if (lat_lint_required(lint, &workflow->jobs[i]) && lat_workflow_needs(&workflow->jobs[i], job->id))
            return true;
    return false;
}

bool lat_lint_leg(const struct lat_lint *lint, const struct lat_workflow *workflow, const struct lat_workflow_job *job)
{
    bool known = lint->contexts.count > 0;
    for (size_t i = 0; i < lint->count; i++)
        known = known || lat_lint_owner(lint, &lint->workflows[i]);
    if (!known)
        return lat_lint_on_pull_request(lint, workflow) && !lat_workflow_not_on_pull_request(job);
    if (is_leg_here(lint, workflow, job))
        return true;
    if (!lat_workflow_event(workflow, "workflow_call"))
        return false;
    for (size_t i = 0; i < lint->count; i++)
        for (size_t k = 0; k < lint->workflows[i].job_count; k++)
            if (calls(&lint->workflows[i].jobs[k], workflow) && is_leg_here(lint, &lint->workflows[i], &lint->workflows[i].jobs[k]))
                return true;
    return false;
}

static bool has_pull_request(const struct lat_workflow *w)
{
    return lat_workflow_event(w, "pull_request") || lat_workflow_event(w, "pull_request_target") || lat_workflow_event(w, "merge_group");
}

bool lat_lint_on_pull_request(const struct lat_lint *lint, const struct lat_workflow *workflow)
{
    if (has_pull_request(workflow))
        return true;
    for (size_t i = 0; i < lint->count && lat_workflow_event(workflow, "workflow_call"); i++)
        for (size_t k = 0; k < lint->workflows[i].job_count; k++)
            if (calls(&lint->workflows[i].jobs[k], workflow) && has_pull_request(&lint->workflows[i]))
                return true;
    return false;
}

// Only when nothing but reporting happens in the step.
bool lat_lint_reporter(const struct lat_workflow_step *step)
{
    static const char *const actions[] = { "comment", "label", "slack", "notify", "codecov", "coveralls", "actions/github-script@",
        "discord", "test-reporter", "publish-unit-test-result", NULL };
    static const char *const harmless[] = { "echo", "printf", "cat", "set", "test", "[", "[[", "cd", "true", NULL };
    for (size_t i = 0; step->uses && actions[i]; i++)
        if (strstr(step->uses_text, actions[i]))
            return true;
    size_t reports = 0;
    for (size_t i = 0; i < step->script.count; i++) {
        const struct lat_shell_command *c = &step->script.commands[i];
        size_t gate = lat_workflow_gate_command(c), at = lat_shell_program(c);
        const char *program = lat_shell_program_name(c), *verb = at + 1 < c->word_count ? c->words[at + 1] : "";
        if ((gate && strcmp(c->words[gate], "report") == 0) ||
            (strcmp(program, "gh") == 0 && (strcmp(verb, "pr") == 0 || strcmp(verb, "issue") == 0 || strcmp(verb, "api") == 0)))
            reports++;
        else if (*program && !lat_lint_one_of(program, harmless))
            return false;
    }
    return reports > 0;
}

// ---- files

// A file that cannot be read as YAML is a finding with the place that the reader names.
static void find_unreadable(struct lat_lint *lint, const struct lat_lint_file *file, const char *text)
{
    size_t line = 0, column = 0, n = strlen(file->path);
    const char *message = text;
    char *end = NULL;
    if (n <= 150 && strncmp(text, file->path, n) == 0 && text[n] == ':') {
        line = strtoul(text + n + 1, &end, 10);
        if (line && *end == ':')
            column = strtoul(end + 1, &end, 10);
        message = end && *end == ':' ? end + 1 + (end[1] == ' ') : text;
        if (message == text)
            line = column = 0;
    }
    find(lint, LAT_LEG_FAIL, "D25", file->path, line, column, message);
}

static enum lat_status parse_all(struct lat_lint *lint, const struct lat_lint_file *files, size_t count, struct lat_error *error)
{
    struct lat_error here = { 0 };
    for (size_t i = 0; i < count; i++) {
        struct lat_workflow *w = &lint->workflows[lint->count];
        lint->result->population++;
        enum lat_status status = lat_workflow_parse(w, files[i].text ? files[i].text : "", files[i].length, files[i].path, &here);
        if (status == LAT_MEMORY)
            return lat_error_set(error, status, "%s", here.text);
        if (status != LAT_OK) {
            lat_workflow_release(w);
            find_unreadable(lint, &files[i], here.text);
            continue;
        }
        for (size_t k = 0; k < w->job_count; k++)
            lint->any_judge = lint->any_judge || w->jobs[k].judges;
        lint->count++;
    }
    return LAT_OK;
}

static int compare_findings(const void *a, const void *b)
{
    const struct lat_finding *x = a, *y = b;
    int order = strcmp(x->path ? x->path : "", y->path ? y->path : "");
    if (order)
        return order;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    order = strcmp(x->code, y->code);
    return order ? order : strcmp(x->message, y->message);
}

enum lat_status lat_lint_files(struct lat_leg_result *result, const struct lat_lint_file *files, size_t count,
                               const struct lat_lint_options *options, struct lat_error *error)
{
    struct lat_lint lint = { .result = result, .options = options, .contexts = options->contexts };
    size_t before = result->finding_count;
    lint.workflows = lat_mem_new(count ? count : 1, sizeof *lint.workflows);
    if (!lint.workflows)
        return lat_error_memory(error, "the workflows");
    enum lat_status status = parse_all(&lint, files, count, error);
    if (status == LAT_OK)
        status = lat_lint_ruleset(&lint, error);
    for (size_t i = 0; status == LAT_OK && i < lint.count; i++) {
        lat_lint_rules_events(&lint, &lint.workflows[i]);
        lat_lint_rules_run(&lint, &lint.workflows[i]);
        lat_lint_rules_verdict(&lint, &lint.workflows[i]);
        lat_lint_rules_trust(&lint, &lint.workflows[i]);
    }
    if (status == LAT_OK)
        lat_lint_rules_together(&lint);
    for (size_t i = 0; i < lint.count; i++)
        lat_workflow_release(&lint.workflows[i]);
    lat_mem_free(lint.workflows);
    if (result->finding_count > before + 1)
        qsort(result->findings + before, result->finding_count - before, sizeof *result->findings, compare_findings);
    return status;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool is_workflow_name(const char *name)
{
    size_t n = strlen(name);
    return name[0] != '.' && ((n > 4 && strcmp(name + n - 4, ".yml") == 0) || (n > 5 && strcmp(name + n - 5, ".yaml") == 0));
}

static enum lat_status list_folder(const char *folder, char **names, size_t *count, struct lat_error *error)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return lat_error_errno(error, errno, "open", folder);
    enum lat_status status = LAT_OK;
    for (struct dirent *e; status == LAT_OK && (e = readdir(dir));) {
        if (!is_workflow_name(e->d_name))
            continue;
        if (*count == LAT_LINT_FILES_MAX)
            status = lat_error_set(error, LAT_LIMIT, "%.300s: more than %d workflows", folder, LAT_LINT_FILES_MAX);
        else if (!(names[*count] = lat_mem_copy_text(e->d_name, strlen(e->d_name))))
            status = lat_error_memory(error, "names of workflows");
        else
            ++*count;
    }
    closedir(dir);
    qsort(names, *count, sizeof *names, compare_names);
    return status;
}

static enum lat_status lint_named(struct lat_leg_result *result, const char *folder, const char *shown, char **names, size_t count,
                                  const struct lat_lint_options *options, struct lat_error *error)
{
    struct lat_file_map *maps = lat_mem_new(count + 1, sizeof *maps);
    struct lat_lint_file *files = lat_mem_new(count + 1, sizeof *files);
    char **paths = lat_mem_new(count + 1, sizeof *paths);
    enum lat_status status = maps && files && paths ? LAT_OK : lat_error_memory(error, "the workflows");
    size_t opened = 0;
    for (; status == LAT_OK && opened < count; opened++) {
        char *path = lat_file_path_join(folder, names[opened]);
        paths[opened] = lat_file_path_join(shown, names[opened]);
        status = path && paths[opened] ? lat_file_map_open(&maps[opened], path, error) : lat_error_memory(error, "the workflows");
        lat_mem_free(path);
        if (status != LAT_OK)
            break;
        files[opened] = (struct lat_lint_file){ paths[opened], (const char *)maps[opened].bytes, maps[opened].length };
    }
    if (status == LAT_OK)
        status = lat_lint_files(result, files, count, options, error);
    for (size_t i = 0; maps && i < opened; i++)
        lat_file_map_close(&maps[i]);
    for (size_t i = 0; paths && i < count; i++)
        lat_mem_free(paths[i]);
    lat_mem_free(maps);
    lat_mem_free(files);
    lat_mem_free(paths);
    return status;
}

enum lat_status lat_lint_folder(struct lat_leg_result *result, const char *folder, const char *shown,
                                const struct lat_lint_options *options,
                                struct lat_error *error)
{
    char *names[LAT_LINT_FILES_MAX] = { NULL };
    size_t count = 0;
    if (!lat_file_is_folder(folder))
        return lat_error_set(error, LAT_NOT_FOUND, "%.300s: no such folder", folder);
    enum lat_status status = list_folder(folder, names, &count, error);
    if (status == LAT_OK)
        status = lint_named(result, folder, shown, names, count, options, error);
    for (size_t i = 0; i < count; i++)
        lat_mem_free(names[i]);
    return status;
}
