// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The smallest program that lets a model answer: cc hello.c $(pkg-config --cflags --libs lattice) && ./a.out MODEL TEXT
#include <lattice/generate.h>
#include <stdio.h>
#include <string.h>

static enum lat_status print(void *context, const char *text, size_t length, struct lat_error *error)
{
    (void)context, (void)error;
    fwrite(text, 1, length, stdout);
    return LAT_OK;
}

int main(int argc, char **argv)
{
    struct lat_error error = { 0 };
    struct lat_model *model = NULL;
    struct lat_tokenizer *tokenizer = NULL;
    struct lat_session *session = NULL;
    struct lat_ids prompt = { 0 };
    struct lat_generate_result result = { 0 };
    struct lat_generate_options options = lat_generate_defaults();
    options.max_new = 16;
    options.on_text = print;
    if (argc != 3)
        return 2;
    int failed = lat_model_open(&model, argv[1], &error) != LAT_OK
        || lat_tokenizer_open(&tokenizer, argv[1], &error) != LAT_OK
        || lat_tokenizer_encode(tokenizer, argv[2], strlen(argv[2]), 0, &prompt, &error) != LAT_OK
        || lat_session_new(&session, model, NULL, &error) != LAT_OK
        || lat_generate(session, tokenizer, prompt.items, prompt.count, &options, &result, &error) != LAT_OK;
    puts(failed ? error.text : "");
    lat_generate_result_release(&result);
    lat_session_free(session);
    lat_ids_release(&prompt);
    lat_tokenizer_free(tokenizer);
    lat_model_close(model);
    return failed;
}
