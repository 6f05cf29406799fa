// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate explain`: what a code means. What a path or a leg means is asked of the explainers listed below, in turn.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "gate/gate_cmd.h"
#include "gate/gate_codes.h"
#include "gate/nearest.h"

struct explain_values {
    bool all;
    const char *format;
};

// Adds what there is to say about `what`. LAT_NOT_FOUND, without a text: it is nothing of this kind.
typedef enum lat_status explainer(const char *what, struct lat_buf *out, struct lat_error *error);

static void add_indented(struct lat_buf *out, const char *label, const char *text)
{
    lat_buf_addf(out, "  %-8s ", label);
    for (; *text; text++) {
        lat_buf_add_char(out, *text);
        if (*text == '\n' && text[1])
            lat_buf_addf(out, "  %-8s ", "");
    }
    lat_buf_add_char(out, '\n');
}

static enum lat_status explain_code(const char *what, struct lat_buf *out, struct lat_error *error)
{
    char code[16];
    (void)error;
    if (strlen(what) >= sizeof code)
        return LAT_NOT_FOUND;
    for (size_t i = 0; i <= strlen(what); i++)
        code[i] = (char)toupper((unsigned char)what[i]);
    const struct lat_gate_code *c = lat_gate_code_find(code);
    if (!c)
        return LAT_NOT_FOUND;
    lat_buf_addf(out, "%s: %s\n", c->code, c->title);
    add_indented(out, "why", c->why);
    add_indented(out, "fix", c->fix);
    if (c->example)
        add_indented(out, "example", c->example);
    return LAT_OK;
}

static explainer *const explainers[] = {
    explain_code,
};

static void add_markdown(struct lat_buf *out)
{
    lat_buf_add_text(out, "# Codes\n\nWritten by `lattice-gate explain --all --format md`; `lattice-gate explain CODE` prints one.\n");
    for (const struct lat_gate_code_table *const *t = lat_gate_code_tables; *t; t++) {
        lat_buf_addf(out, "\n## %s\n", (*t)->area);
        for (size_t i = 0; i < (*t)->count; i++) {
            const struct lat_gate_code *c = &(*t)->codes[i];
            lat_buf_addf(out, "\n### %s: %s\n\n%s\n\nFix: %s\n", c->code, c->title, c->why, c->fix);
            if (c->example)
                lat_buf_addf(out, "\n```\n%s\n```\n", c->example);
        }
    }
}

static void add_list(struct lat_buf *out)
{
    for (const struct lat_gate_code_table *const *t = lat_gate_code_tables; *t; t++)
        for (size_t i = 0; i < (*t)->count; i++)
            lat_buf_addf(out, "%-5s %-10s %s\n", (*t)->codes[i].code, (*t)->area, (*t)->codes[i].title);
}

static enum lat_status not_known(const char *what, struct lat_error *error)
{
    const char *codes[1024] = { NULL };
    size_t count = 0;
    for (const struct lat_gate_code_table *const *t = lat_gate_code_tables; *t; t++)
        for (size_t i = 0; i < (*t)->count && count < 1023; i++)
            codes[count++] = (*t)->codes[i].code;
    const char *near = lat_nearest(what, codes);
    return lat_error_set(error, LAT_ARGUMENT, "'%.80s' is no code%s%s%s; 'lattice-gate explain --all' lists the codes", what,
                         near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static enum lat_status explain(const struct explain_values *v, const struct lat_operands *operands, struct lat_buf *out,
                               struct lat_error *error)
{
    bool md = strcmp(v->format, "md") == 0;
    if (!md && strcmp(v->format, "text") != 0)
        return lat_error_set(error, LAT_ARGUMENT, "--format: expected text or md, not '%.40s'", v->format);
    if (v->all != (operands->count == 0))
        return lat_error_set(error, LAT_ARGUMENT, "give what to explain, or --all");
    if (md && !v->all)
        return lat_error_set(error, LAT_ARGUMENT, "--format md goes with --all");
    if (md)
        add_markdown(out);
    else if (v->all)
        add_list(out);
    for (size_t i = 0; i < operands->count; i++) {
        enum lat_status status = LAT_NOT_FOUND;
        error->text[0] = '\0';
        for (size_t k = 0; k < sizeof explainers / sizeof explainers[0] && status == LAT_NOT_FOUND && !error->text[0]; k++)
            status = explainers[k](operands->items[i], out, error);
        if (status == LAT_NOT_FOUND && !error->text[0])
            return not_known(operands->items[i], error);
        LAT_TRY(status);
    }
    return LAT_OK;
}

static int run_explain(int argc, char **argv, const struct lat_command *self)
{
    struct explain_values values = { .format = "text" };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    struct lat_buf out;
    int code = LAT_GATE_PASS;
    lat_buf_init(&out, 1 << 24);
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK ||
        explain(&values, &operands, &out, &error) != LAT_OK)
        code = lat_gate_complain(&error);
    else if (!lat_gate_print(&out))
        code = LAT_GATE_CANNOT_JUDGE;
    lat_buf_release(&out);
    return code;
}

static const struct lat_option explain_options[] = {
    { "--all", NULL, "every code", LAT_OPTION_FLAG, offsetof(struct explain_values, all) },
    { "--format", "F", "text, or md for the whole reference (text)", LAT_OPTION_TEXT, offsetof(struct explain_values, format) },
};

const struct lat_command lat_gate_cmd_explain = {
    .program = "lattice-gate",
    .name = "explain",
    .operands = "CODE...",
    .operands_max = LAT_OPERANDS_MAX,
    .summary = "what a finding's code means, why it matters, and how to repair it",
    .options = explain_options,
    .option_count = sizeof explain_options / sizeof explain_options[0],
    .run = run_explain,
};
