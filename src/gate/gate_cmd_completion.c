// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate completion`: scripts for shells, made from the table of commands.
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "gate/gate_cmd.h"

static const char *second_word(const char *name)
{
    const char *space = strchr(name, ' ');
    return space ? space + 1 : NULL;
}

static size_t first_length(const char *name) { return strcspn(name, " "); }

static bool same_first(const char *a, const char *b)
{
    return first_length(a) == first_length(b) && strncmp(a, b, first_length(a)) == 0;
}

// The first words of all names, each once.
static void add_first_words(struct lat_buf *out)
{
    for (const struct lat_command *const *c = lat_gate_commands; *c; c++) {
        const struct lat_command *const *before = lat_gate_commands;
        while (before != c && !same_first((*before)->name, (*c)->name))
            before++;
        if (before == c)
            lat_buf_addf(out, "%.*s ", (int)first_length((*c)->name), (*c)->name);
    }
    lat_buf_add_text(out, "help");
}

static void add_options(struct lat_buf *out, const struct lat_command *c)
{
    for (size_t i = 0; i < c->option_count; i++)
        lat_buf_addf(out, "%s ", c->options[i].name);
    lat_buf_add_text(out, "--color --help");
}

// "word1 word2)" rows of a case: what may follow a command.
static void add_cases(struct lat_buf *out)
{
    for (const struct lat_command *const *c = lat_gate_commands; *c; c++) {
        lat_buf_addf(out, "        '%s'|'%s '*) words='", (*c)->name, (*c)->name);
        add_options(out, *c);
        lat_buf_add_text(out, "' ;;\n");
    }
    for (const struct lat_command *const *c = lat_gate_commands; *c; c++) {
        const struct lat_command *const *before = lat_gate_commands;
        while (before != c && !same_first((*before)->name, (*c)->name))
            before++;
        if (before != c || !second_word((*c)->name))
            continue;
        lat_buf_addf(out, "        '%.*s') words='", (int)first_length((*c)->name), (*c)->name);
        for (const struct lat_command *const *d = c; *d; d++)
            if (same_first((*c)->name, (*d)->name) && second_word((*d)->name))
                lat_buf_addf(out, "%s ", second_word((*d)->name));
        lat_buf_add_text(out, "' ;;\n");
    }
}

static void add_bash(struct lat_buf *out)
{
    lat_buf_add_text(out, "_lattice_gate() {\n"
                          "    local words='' before=\"${COMP_WORDS[*]:1:COMP_CWORD-1}\" now=\"${COMP_WORDS[COMP_CWORD]}\"\n"
                          "    case \"$before\" in\n        '') words='");
    add_first_words(out);
    lat_buf_add_text(out, " --color --help --version' ;;\n");
    add_cases(out);
    lat_buf_add_text(out, "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$now\"))\n}\n"
                          "complete -o default -F _lattice_gate lattice-gate\n");
}

static void add_zsh(struct lat_buf *out)
{
    lat_buf_add_text(out, "#compdef lattice-gate\nautoload -Uz bashcompinit && bashcompinit\n");
    add_bash(out);
}

// Single quotes and backslashes end or bend a text of fish.
static void add_fish_text(struct lat_buf *out, const char *text)
{
    lat_buf_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            lat_buf_add_char(out, '\\');
        lat_buf_add_char(out, *text);
    }
    lat_buf_add_char(out, '\'');
}

static void add_fish(struct lat_buf *out)
{
    for (const struct lat_command *const *c = lat_gate_commands; *c; c++) {
        const char *second = second_word((*c)->name);
        int first = (int)first_length((*c)->name);
        if (second) {
            lat_buf_addf(out, "complete -c lattice-gate -n __fish_use_subcommand -a %.*s\n", first, (*c)->name);
            lat_buf_addf(out, "complete -c lattice-gate -n '__fish_seen_subcommand_from %.*s' -a %s -d ", first, (*c)->name, second);
        } else
            lat_buf_addf(out, "complete -c lattice-gate -n __fish_use_subcommand -a %s -d ", (*c)->name);
        add_fish_text(out, (*c)->summary);
        lat_buf_add_char(out, '\n');
        for (size_t i = 0; i < (*c)->option_count; i++) {
            const struct lat_option *o = &(*c)->options[i];
            if (strncmp(o->name, "--", 2) != 0)
                continue;
            lat_buf_addf(out, "complete -c lattice-gate -n '__fish_seen_subcommand_from %.*s' -l %s%s -d ", first, (*c)->name, o->name + 2,
                         o->value ? " -r" : "");
            add_fish_text(out, o->help);
            lat_buf_add_char(out, '\n');
        }
    }
    lat_buf_add_text(out, "complete -c lattice-gate -l color -r -d 'auto, always or never'\n");
}

static int run_completion(int argc, char **argv, const struct lat_command *self)
{
    static const struct {
        const char *name;
        void (*add)(struct lat_buf *out);
    } shells[] = { { "bash", add_bash }, { "zsh", add_zsh }, { "fish", add_fish } };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    struct lat_buf out;
    if (lat_options_parse(self, argc, argv, NULL, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shells[i].name, operands.items[0]) == 0) {
            lat_buf_init(&out, 1 << 22);
            shells[i].add(&out);
            bool written = lat_gate_print(&out);
            lat_buf_release(&out);
            return written ? LAT_GATE_PASS : LAT_GATE_CANNOT_JUDGE;
        }
    lat_error_set(&error, LAT_ARGUMENT, "completion: expected bash, zsh or fish, not '%.40s'", operands.items[0]);
    return lat_gate_complain(&error);
}

const struct lat_command lat_gate_cmd_completion = {
    .program = "lattice-gate",
    .name = "completion",
    .operands = "bash|zsh|fish",
    .operands_min = 1,
    .operands_max = 1,
    .summary = "prints a completion script, e.g. for bash: source <(lattice-gate completion bash)",
    .run = run_completion,
};
