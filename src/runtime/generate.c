// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "lattice/generate.h"

#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/mem.h"
#include "runtime/sampler.h"
#include "runtime/stop.h"
#include "text/bpe.h"

struct run {
    struct lat_session *session;
    const struct lat_tokenizer *tokenizer; // may be NULL
    const struct lat_generate_options *options;
    struct lat_generate_result *result;
    struct lat_sampler sampler;
    struct lat_decoder *decoder;
    struct lat_stop stop;
    struct lat_buf text;
    bool *allowed;
    struct lat_error *error;
};

struct lat_generate_options lat_generate_defaults(void)
{
    return (struct lat_generate_options){ .sampling = { .top_p = 1, .repetition_penalty = 1 }, .max_new = 128 };
}

const char *lat_finish_name(enum lat_finish finish)
{
    return finish == LAT_FINISH_STOP ? "stop" : finish == LAT_FINISH_LENGTH ? "length" : "cancelled";
}

void lat_generate_result_release(struct lat_generate_result *result)
{
    lat_ids_release(&result->ids);
    lat_mem_free(result->text);
    *result = (struct lat_generate_result){ 0 };
}

static bool is_end(const struct run *r, int32_t id)
{
    const struct lat_model_info *info = lat_model_info_view(lat_session_model(r->session));
    if (r->options->ignore_eos)
        return false;
    for (size_t i = 0; i < info->eos_count; i++)
        if (info->eos_ids[i] == id)
            return true;
    return r->tokenizer && lat_tokenizer_eos(r->tokenizer) == id;
}

// Text that became final goes to the caller and to the result.
static enum lat_status give(struct run *r)
{
    const struct lat_buf *ready = &r->stop.ready;
    if (ready->length == 0)
        return LAT_OK;
    lat_buf_add(&r->text, ready->bytes, ready->length);
    if (r->text.failed)
        return lat_error_memory(r->error, "generated text");
    return r->options->on_text ? r->options->on_text(r->options->context, ready->bytes, ready->length, r->error) : LAT_OK;
}

// An id that ends the output gives no text, also where its token is not marked as special.
static enum lat_status take_token(struct run *r, int32_t id)
{
    const char *text = NULL;
    size_t length = 0;
    LAT_TRY(lat_ids_add(&r->result->ids, id, r->error));
    lat_sampler_note(&r->sampler, id, true);
    if (!r->tokenizer || is_end(r, id))
        return LAT_OK;
    LAT_TRY(lat_decoder_put(r->decoder, id, &text, &length, r->error));
    LAT_TRY(lat_stop_add(&r->stop, text, length, r->error));
    return give(r);
}

static enum lat_status end_text(struct run *r)
{
    const char *text = NULL;
    size_t length = 0;
    if (!r->tokenizer)
        return LAT_OK;
    LAT_TRY(lat_decoder_end(r->decoder, &text, &length, r->error));
    LAT_TRY(lat_stop_add(&r->stop, text, length, r->error));
    LAT_TRY(give(r));
    if (!r->stop.hit) {
        LAT_TRY(lat_stop_end(&r->stop, r->error));
        LAT_TRY(give(r));
    } else
        r->result->stop_index = (int)r->stop.which;
    r->result->text = lat_buf_take(&r->text, &r->result->length);
    return r->result->text ? LAT_OK : lat_error_memory(r->error, "generated text");
}

// Why generation ends now, after at least one token.
static bool finished(const struct run *r, int32_t id, enum lat_finish *why)
{
    *why = LAT_FINISH_STOP;
    if (is_end(r, id) || r->stop.hit)
        return true;
    *why = LAT_FINISH_CANCELLED;
    if (r->options->cancel && *r->options->cancel)
        return true;
    *why = LAT_FINISH_LENGTH;
    return r->result->ids.count >= r->options->max_new
        || lat_session_position(r->session) >= lat_session_context(r->session);
}

// Evaluates ids; *cancelled when the session was told to stop, which is an end of the generation and no error of it.
static enum lat_status eval(struct run *r, const int32_t *ids, size_t count, bool *cancelled)
{
    struct lat_error error = { 0 };
    enum lat_status status = lat_session_eval(r->session, ids, count, &error);
    *cancelled = status == LAT_CANCELLED;
    if (status == LAT_OK || *cancelled)
        return LAT_OK;
    if (r->error)
        *r->error = error;
    return status;
}

static enum lat_status run_loop(struct run *r, const int32_t *prompt, size_t count)
{
    struct lat_generate_result *result = r->result;
    double start = lat_clock_seconds();
    bool cancelled = false;
    LAT_TRY(eval(r, prompt, count, &cancelled));
    result->prompt_s = lat_clock_seconds() - start;
    while (!cancelled) {
        int32_t id = 0;
        LAT_TRY(lat_sampler_next(&r->sampler, lat_session_logits(r->session), &id, r->error));
        LAT_TRY(take_token(r, id));
        if (result->ids.count == 1)
            result->first_token_s = lat_clock_seconds() - start;
        if (finished(r, id, &result->finish))
            break;
        LAT_TRY(eval(r, &id, 1, &cancelled));
    }
    if (cancelled)
        result->finish = LAT_FINISH_CANCELLED;
    if (result->ids.count) {
        result->decode_tokens = result->ids.count - 1;
        result->decode_s = lat_clock_seconds() - start - result->first_token_s;
    }
    return LAT_OK;
}

// Ids that the model has a row for but the tokenizer has no token are never drawn.
static enum lat_status find_allowed(struct run *r, size_t vocab)
{
    if (!r->tokenizer)
        return LAT_OK;
    r->allowed = lat_mem_new(vocab, sizeof *r->allowed);
    if (!r->allowed)
        return lat_error_memory(r->error, "the sampler");
    bool any = false;
    for (size_t i = 0; i < vocab; i++) {
        r->allowed[i] = lat_tokenizer_has(r->tokenizer, (int32_t)i);
        any = any || r->allowed[i];
    }
    return any ? LAT_OK : lat_error_set(r->error, LAT_FORMAT, "the tokenizer has no token that the model knows");
}

static enum lat_status run_init(struct run *r, const int32_t *prompt, size_t count)
{
    size_t vocab = lat_model_info_view(lat_session_model(r->session))->vocab_size;
    for (size_t i = 0; i < r->options->stop_count; i++)
        if (r->options->stops[i][0] == '\0')
            return lat_error_set(r->error, LAT_ARGUMENT, "stop text %zu is empty", i + 1);
    LAT_TRY(find_allowed(r, vocab));
    LAT_TRY(lat_sampler_init(&r->sampler, &r->options->sampling, vocab, r->allowed, r->error));
    if (r->tokenizer)
        LAT_TRY(lat_decoder_new(&r->decoder, r->tokenizer, LAT_DECODE_SKIP_SPECIAL, r->error));
    for (size_t i = 0; i < count; i++) {
        if (prompt[i] < 0 || (size_t)prompt[i] >= vocab)
            return lat_error_set(r->error, LAT_ARGUMENT, "id %d at position %zu is outside the vocabulary of %zu",
                                 (int)prompt[i], i, vocab);
        lat_sampler_note(&r->sampler, prompt[i], false);
    }
    return LAT_OK;
}

enum lat_status lat_generate(struct lat_session *session, const struct lat_tokenizer *tokenizer, const int32_t *prompt,
                             size_t prompt_count, const struct lat_generate_options *options,
                             struct lat_generate_result *result, struct lat_error *error)
{
    *result = (struct lat_generate_result){ .finish = LAT_FINISH_LENGTH, .stop_index = -1 };
    if (prompt_count == 0)
        return lat_error_set(error, LAT_ARGUMENT, "the prompt is empty");
    struct run r = { .session = session, .tokenizer = tokenizer, .options = options, .result = result, .error = error };
    lat_stop_init(&r.stop, options->stops, options->stop_count);
    lat_buf_init(&r.text, 1 << 28);
    enum lat_status status = run_init(&r, prompt, prompt_count);
    if (status == LAT_OK && options->max_new > 0)
        status = run_loop(&r, prompt, prompt_count);
    if (status == LAT_OK)
        status = end_text(&r);
    if (status != LAT_OK)
        lat_generate_result_release(result);
    lat_sampler_release(&r.sampler);
    lat_decoder_free(r.decoder);
    lat_stop_release(&r.stop);
    lat_buf_release(&r.text);
    lat_mem_free(r.allowed);
    return status;
}
