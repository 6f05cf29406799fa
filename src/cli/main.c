// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const struct lat_command *const commands[] = {
    &lat_command_generate,
    &lat_command_trace,
    &lat_command_tokenize,
    &lat_command_doctor,
    &lat_command_quantize,
    &lat_command_ppl,
    &lat_command_bench,
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void usage(FILE *out)
{
    fprintf(out, "lattice %s: runs Qwen3.5 models from Hugging Face folders, on CPUs\n\n"
                 "usage: lattice COMMAND ...\n\ncommands:\n",
            lat_version());
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "  %-10s %s\n", "help", "the help of a command: lattice help generate; all as a man page: lattice help --man");
    fprintf(out, "\n'lattice COMMAND --help' is the same as 'lattice help COMMAND'; 'lattice --version' prints the version.\n");
    fprintf(out, "\nData goes to standard output, progress and figures to standard error.\n"
                 "Exit status: 0 done, 1 a check failed, 2 bad usage or input, 3 cancelled or not available.\n"
                 "LATTICE_ISA=scalar|avx2|avx512|neon lowers the instruction set (results are the same, bit for bit).\n");
}

static void man_page(void)
{
    printf(".TH LATTICE 1 \"\" \"lattice %s\"\n.SH NAME\nlattice \\- run Qwen3.5 models from Hugging Face folders\n"
           ".SH SYNOPSIS\n.B lattice\nCOMMAND ...\n.SH COMMANDS\n",
           lat_version());
    for (size_t i = 0; i < COMMANDS; i++)
        lat_options_man(commands[i], stdout);
    printf(".SH EXIT STATUS\n0 done, 1 a check failed, 2 bad usage or input, 3 cancelled or not available.\n"
           ".SH ENVIRONMENT\n.TP\n.B LATTICE_ISA\nscalar, avx2, avx512 or neon: lowers the instruction set.\n");
}

static const struct lat_command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    fprintf(stderr, "lattice: unknown command '%.80s'; see 'lattice help'\n", name);
    return 2;
}

// Text on stdout that did not get there is a failure like that of any other data.
static int printed(void)
{
    struct lat_error error = { 0 };
    return lat_cli_print_bytes("", 0, &error) == LAT_OK ? 0 : lat_cli_fail(&error);
}

static int help_command(const char *name)
{
    const struct lat_command *command = find(name);
    if (!command)
        return unknown(name);
    lat_options_help(command, stdout);
    return printed();
}

static int help(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "--man") != 0)
        return help_command(argv[0]);
    if (argc > 0)
        man_page();
    else
        usage(stdout);
    return printed();
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); // a closed pipe is a write error like any other
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0) {
        printf("lattice %s\n", lat_version());
        return printed();
    }
    const struct lat_command *command = find(argv[1]);
    if (!command)
        return unknown(argv[1]);
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return help_command(argv[1]);
    return command->run(argc - 2, argv + 2, command);
}
