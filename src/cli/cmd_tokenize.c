// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <string.h>

#include "cli/cli.h"
#include "core/error.h"
#include "core/json.h"
#include "core/mem.h"

struct tokenize_values {
    const char *decode;
    bool json, jsonl, plain;
};

#define AT(field) offsetof(struct tokenize_values, field)

static const struct lat_option options[] = {
    { "--decode", "1,2,3", "the text of these ids, instead of the ids of a text", LAT_OPTION_TEXT, AT(decode) },
    { "--json", NULL, "a JSON object: ids, and for each its bytes as text", LAT_OPTION_FLAG, AT(json) },
    { "--jsonl", NULL, "read one JSON string a line, write one JSON array of ids a line", LAT_OPTION_FLAG, AT(jsonl) },
    { "--plain", NULL, "special tokens in the text are plain text", LAT_OPTION_FLAG, AT(plain) },
};

static enum lat_status add_text_of(struct lat_buf *out, const struct lat_tokenizer *t, const int32_t *ids, size_t count,
                                   bool quoted, struct lat_error *error)
{
    char *text = NULL;
    size_t length = 0;
    LAT_TRY(lat_tokenizer_decode(t, ids, count, 0, &text, &length, error));
    if (quoted)
        lat_json_add_string(out, text, length);
    else
        lat_buf_add(out, text, length);
    lat_text_free(text);
    return LAT_OK;
}

static enum lat_status decode(const struct lat_tokenizer *t, const struct tokenize_values *v, struct lat_buf *out,
                              struct lat_error *error)
{
    int32_t *ids = NULL;
    size_t count = 0;
    LAT_TRY(lat_options_ids(v->decode, &ids, &count, error));
    if (v->json)
        lat_buf_add_text(out, "{\"text\":");
    enum lat_status status = add_text_of(out, t, ids, count, v->json, error);
    lat_buf_add_text(out, v->json ? "}\n" : "\n");
    lat_mem_free(ids);
    return status;
}

static enum lat_status add_encoding(struct lat_buf *out, const struct lat_tokenizer *t, const struct tokenize_values *v,
                                    const struct lat_ids *ids, struct lat_error *error)
{
    if (!v->json || v->jsonl) {
        lat_cli_add_ids(out, ids->items, ids->count);
        lat_buf_add_char(out, '\n');
        return LAT_OK;
    }
    lat_buf_add_text(out, "{\"ids\":");
    lat_cli_add_ids(out, ids->items, ids->count);
    lat_buf_add_text(out, ",\"tokens\":[");
    for (size_t i = 0; i < ids->count; i++) {
        if (i)
            lat_buf_add_char(out, ',');
        LAT_TRY(add_text_of(out, t, &ids->items[i], 1, true, error));
    }
    lat_buf_add_text(out, "]}\n");
    return LAT_OK;
}

static enum lat_status encode(const struct lat_tokenizer *t, const struct tokenize_values *v, const char *text, size_t length,
                              struct lat_buf *out, struct lat_error *error)
{
    struct lat_ids ids = { 0 };
    enum lat_status status = lat_tokenizer_encode(t, text, length, v->plain ? LAT_ENCODE_PLAIN : 0, &ids, error);
    if (status == LAT_OK)
        status = add_encoding(out, t, v, &ids, error);
    lat_ids_release(&ids);
    return status;
}

static enum lat_status encode_line(const struct lat_tokenizer *t, const struct tokenize_values *v, const char *line,
                                   size_t length, size_t number, struct lat_error *error)
{
    struct lat_json doc;
    char name[48];
    snprintf(name, sizeof name, "line %zu of the input", number);
    LAT_TRY(lat_json_parse(&doc, line, length, name, error));
    struct lat_buf out;
    lat_buf_init(&out, 1 << 30);
    enum lat_status status = doc.root->kind == LAT_JSON_STRING
                               ? encode(t, v, doc.root->u.string, doc.root->count, &out, error)
                               : lat_error_set(error, LAT_FORMAT, "%s is not a JSON string", name);
    if (status == LAT_OK && (out.failed || fwrite(out.bytes, 1, out.length, stdout) != out.length))
        status = lat_error_set(error, LAT_IO, "standard output: cannot write");
    lat_buf_release(&out);
    lat_json_release(&doc);
    return status;
}

static enum lat_status encode_lines(const struct lat_tokenizer *t, const struct tokenize_values *v, struct lat_error *error)
{
    struct lat_buf input;
    enum lat_status status = lat_cli_read_text("-", &input, error);
    size_t number = 0;
    for (size_t at = 0; status == LAT_OK && at < input.length;) {
        const char *line = input.bytes + at, *end = memchr(line, '\n', input.length - at);
        size_t length = end ? (size_t)(end - line) : input.length - at;
        number++; // an empty line is no JSON string: left out, it would shift all that follow
        status = encode_line(t, v, line, length, number, error);
        at += length + 1;
    }
    lat_buf_release(&input);
    return status == LAT_OK ? lat_cli_print_bytes("", 0, error) : status;
}

static enum lat_status tokenize(const struct lat_tokenizer *t, const struct tokenize_values *v,
                                const struct lat_operands *operands, struct lat_error *error)
{
    struct lat_buf out, text = { 0 };
    if ((operands->count > 1) + (v->decode != NULL) + v->jsonl != 1)
        return lat_error_set(error, LAT_ARGUMENT, "give one of a text (or -), --decode IDS, --jsonl");
    if (v->jsonl)
        return encode_lines(t, v, error);
    lat_buf_init(&out, 1 << 30);
    enum lat_status status = v->decode ? decode(t, v, &out, error) : lat_cli_read_text(operands->items[1], &text, error);
    if (status == LAT_OK && !v->decode)
        status = encode(t, v, text.bytes ? text.bytes : "", text.length, &out, error);
    if (status == LAT_OK)
        status = lat_cli_print(&out, error);
    lat_buf_release(&text);
    lat_buf_release(&out);
    return status;
}

static int run(int argc, char **argv, const struct lat_command *self)
{
    struct tokenize_values values = { 0 };
    struct lat_operands operands;
    struct lat_tokenizer *tokenizer = NULL;
    struct lat_error error = { 0 };
    enum lat_status status = lat_options_parse(self, argc, argv, &values, &operands, &error);
    if (status == LAT_OK)
        status = lat_tokenizer_open(&tokenizer, operands.items[0], &error);
    if (status == LAT_OK)
        status = tokenize(tokenizer, &values, &operands, &error);
    lat_tokenizer_free(tokenizer);
    return status == LAT_OK ? 0 : lat_cli_fail(&error);
}

const struct lat_command lat_command_tokenize = {
    .program = "lattice",
    .name = "tokenize",
    .operands = "MODEL [TEXT|-]",
    .operands_min = 1,
    .operands_max = 2,
    .summary = "text to ids and back, the same ids as Hugging Face; MODEL is a folder or a tokenizer.json",
    .details = "Special tokens in a text count as such, as in Hugging Face, unless --plain is given. --decode prints them.\n"
               "JSON: ids and tokens (the text of each id), or text with --decode. --jsonl stops at the first line that is\n"
               "no JSON string and names it.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .run = run,
};
