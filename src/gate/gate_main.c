// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate`: checks whose green means something. It judges evidence and never links the engine.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "gate/gate_cmd.h"
#include "gate/nearest.h"

// One command a line, in the order of the help. A name may have two words.
const struct lat_command *const lat_gate_commands[] = {
    &lat_gate_cmd_local,
    &lat_gate_cmd_plan,
    &lat_gate_cmd_run,
    &lat_gate_cmd_verdict,
    &lat_gate_cmd_report,
    &lat_gate_cmd_features_run,
    &lat_gate_cmd_features_plan,
    &lat_gate_cmd_features_explain,
    &lat_gate_cmd_deny,
    &lat_gate_cmd_deny_lock,
    &lat_gate_cmd_parity_run,
    &lat_gate_cmd_parity_compare,
    &lat_gate_cmd_parity_freeze,
    &lat_gate_cmd_parity_live,
    &lat_gate_cmd_parity_power,
    &lat_gate_cmd_parity_bisect,
    &lat_gate_cmd_doctor,
    &lat_gate_cmd_explain,
    &lat_gate_cmd_completion,
    NULL,
};

static const char exit_text[] = "0 pass; 1 judged and failed; 2 could not judge (gate, environment, configuration);\n"
                                "3 not measurable or not armed; 4 usage; 5 the self-test found a gate that cannot fail.\n";

static const char environment_text[] = "NO_COLOR (not empty) turns colours off; LATTICE_GATE_COLOR=always|never is what --color sets.\n";

static void usage(FILE *out)
{
    fprintf(out, "lattice-gate %s: checks whose green means something\n\n"
                 "usage: lattice-gate [--color auto|always|never] COMMAND ...\n\ncommands:\n",
            lat_version());
    for (const struct lat_command *const *c = lat_gate_commands; *c; c++)
        fprintf(out, "  %-18s %s\n", (*c)->name, (*c)->summary);
    fprintf(out, "  %-18s %s\n", "help", "the help of a command: lattice-gate help explain; all as a man page: lattice-gate help --man");
    fprintf(out, "\n'lattice-gate COMMAND --help' is the same as 'lattice-gate help COMMAND'; '--version' prints the version.\n"
                 "\nData goes to standard output, progress and complaints to standard error.\nExit status: %s%s",
            exit_text, environment_text);
}

static void man_page(void)
{
    printf(".TH LATTICE\\-GATE 1 \"\" \"lattice %s\"\n.SH NAME\nlattice\\-gate \\- checks whose green means something\n"
           ".SH SYNOPSIS\n.B lattice\\-gate\n[\\-\\-color auto|always|never] COMMAND ...\n.SH COMMANDS\n",
           lat_version());
    for (const struct lat_command *const *c = lat_gate_commands; *c; c++)
        lat_options_man(*c, stdout);
    printf(".SH EXIT STATUS\n%s.SH ENVIRONMENT\n%s", exit_text, environment_text);
}

static int printed(void)
{
    struct lat_buf nothing;
    lat_buf_init(&nothing, 0);
    return lat_gate_print(&nothing) ? LAT_GATE_PASS : LAT_GATE_CANNOT_JUDGE;
}

// Does `name` ("parity compare") stand at argv[0..argc)? Returns the number of its words, or 0.
static int name_stands_at(const char *name, int argc, char **argv)
{
    int words = 0;
    for (const char *at = name; *at; words++) {
        size_t length = strcspn(at, " ");
        if (words == argc || strlen(argv[words]) != length || memcmp(argv[words], at, length) != 0)
            return 0;
        at += length + (at[length] == ' ');
    }
    return words;
}

// The command with the most words that stands at argv, or NULL. `*words`: how many those are.
static const struct lat_command *find(int argc, char **argv, int *words)
{
    const struct lat_command *best = NULL;
    *words = 0;
    for (const struct lat_command *const *c = lat_gate_commands; *c; c++) {
        int n = name_stands_at((*c)->name, argc, argv);
        if (n > *words) {
            *words = n;
            best = *c;
        }
    }
    return best;
}

// Names that begin with the word, or the nearest one.
static int unknown(int argc, char **argv)
{
    const char *names[128] = { NULL };
    size_t count = 0, length = strlen(argv[0]);
    char given[120];
    bool family = false;
    snprintf(given, sizeof given, "%.50s%s%.50s", argv[0], argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
    for (const struct lat_command *const *c = lat_gate_commands; *c && count < 126; c++) {
        names[count++] = (*c)->name;
        family = family || (strncmp((*c)->name, argv[0], length) == 0 && (*c)->name[length] == ' ');
    }
    names[count] = NULL;
    const char *near = lat_nearest(given, names);
    if (!near)
        near = lat_nearest(argv[0], names);
    if (near && !family)
        fprintf(stderr, "lattice-gate: unknown command '%.50s'; did you mean '%s'? See 'lattice-gate help'\n", argv[0], near);
    else if (family) {
        fprintf(stderr, "lattice-gate: '%.50s' is one of:", argv[0]);
        for (size_t i = 0; i < count; i++)
            if (strncmp(names[i], argv[0], length) == 0 && names[i][length] == ' ')
                fprintf(stderr, " '%s'", names[i]);
        fputs("; see 'lattice-gate help'\n", stderr);
    } else
        fprintf(stderr, "lattice-gate: unknown command '%.50s'; see 'lattice-gate help'\n", argv[0]);
    return LAT_GATE_USAGE;
}

static int help(int argc, char **argv)
{
    int words = 0;
    if (argc == 0)
        usage(stdout);
    else if (strcmp(argv[0], "--man") == 0)
        man_page();
    else {
        const struct lat_command *command = find(argc, argv, &words);
        if (!command)
            return unknown(argc, argv);
        lat_options_help(command, stdout);
    }
    return printed();
}

static bool wants_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

// Takes --color out of argv, wherever it stands, and notes it for lat_gate_color.
static bool take_color(int *argc, char **argv)
{
    for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0;) {
        bool joined = strncmp(argv[i], "--color=", 8) == 0;
        if (!joined && strcmp(argv[i], "--color") != 0) {
            i++;
            continue;
        }
        const char *when = joined ? argv[i] + 8 : i + 1 < *argc ? argv[i + 1] : "";
        if (strcmp(when, "auto") != 0 && strcmp(when, "always") != 0 && strcmp(when, "never") != 0) {
            fprintf(stderr, "lattice-gate: --color: expected auto, always or never, not '%.40s'\n", when);
            return false;
        }
        setenv("LATTICE_GATE_COLOR", when, 1);
        int used = joined ? 1 : 2;
        memmove(argv + i, argv + i + used, (size_t)(*argc - i - used + 1) * sizeof *argv);
        *argc -= used;
    }
    return true;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); // a closed pipe is a write error like any other
    signal(SIGCHLD, SIG_DFL); // ignored, as some parents leave it, the ends of our children would be lost
    if (argc < 1 || !take_color(&argc, argv))
        return LAT_GATE_USAGE;
    if (argc < 2) {
        usage(stderr);
        return LAT_GATE_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0) {
        printf("lattice-gate %s\n", lat_version());
        return printed();
    }
    int words = 0;
    const struct lat_command *command = find(argc - 1, argv + 1, &words);
    if (!command)
        return unknown(argc - 1, argv + 1);
    if (wants_help(argc - 1 - words, argv + 1 + words)) {
        lat_options_help(command, stdout);
        return printed();
    }
    return command->run(argc - 1 - words, argv + 1 + words, command);
}
