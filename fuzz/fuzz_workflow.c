// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Lints any bytes as a workflow, as the script of a step, and as a shell script. Places must lie in the file.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "gate/shell_scan.h"
#include "gate/workflow_lint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_script(const char *text, size_t size)
{
    struct lat_shell_script script;
    struct lat_error error = { 0 };
    if (lat_shell_scan(&script, text, size, &error) == LAT_OK)
        for (size_t i = 0; i < script.count; i++) {
            const struct lat_shell_command *c = &script.commands[i];
            bool back = c->previous == LAT_SHELL_NONE || (c->previous < i && script.commands[c->previous].next == i);
            if (c->at > size || !back || (c->join != LAT_SHELL_NEXT) != (c->previous != LAT_SHELL_NONE) ||
                (c->inner != LAT_SHELL_NONE && c->inner > i) || lat_shell_program(c) > c->word_count)
                abort();
        }
    else if (!error.text[0])
        abort();
    lat_shell_release(&script);
}

static void check_workflow(const char *text, size_t size)
{
    static const char *const contexts[] = { "gate" };
    struct lat_lint_file file = { "w.yml", text, size };
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n' || text[i] == '\r' || (unsigned char)text[i] >= 0x80; // NEL, LS and PS end a YAML line, too
    for (size_t told = 0; told < 2; told++) {
        struct lat_lint_options options = { .contexts = { contexts, told } };
        struct lat_leg_result result;
        struct lat_error error = { 0 };
        lat_leg_result_init(&result, "doctor");
        if (lat_lint_files(&result, &file, 1, &options, &error) != LAT_OK && error.status != LAT_MEMORY)
            abort();
        for (size_t i = 0; i < result.finding_count; i++)
            if (result.findings[i].line > lines + 1 || !result.findings[i].fix)
                abort();
        lat_leg_result_release(&result);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char head[] = "on: pull_request\njobs:\n  gate:\n    runs-on: x\n    steps:\n      - uses: "
        "actions/checkout@v4\n      - run: |\n          ";
    struct lat_buf text;
    if (memchr(data, 0, size))
        return 0; // the scanner gets NUL-free texts: YAML holds none
    check_script((const char *)data, size);
    check_workflow((const char *)data, size);
    lat_buf_init(&text, 1 << 24);
    lat_buf_add_text(&text, head);
    for (size_t i = 0; i < size; i++) {
        lat_buf_add_char(&text, (char)data[i]);
        if (data[i] == '\n')
            lat_buf_add_text(&text, "          ");
    }
    if (!text.failed)
        check_workflow(text.bytes, text.length);
    lat_buf_release(&text);
    return 0;
}
