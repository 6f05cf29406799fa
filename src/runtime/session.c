// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A session: one sequence, its caches, its threads. Prompts of any length go through in chunks; results do not depend
// on where the chunks end.
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "lattice/generate.h"
#include "models/model_parts.h"
#include "models/qwen35_step.h"

enum { CONTEXT_DEFAULT = 4096, CHUNK_DEFAULT = 128, CHUNK_MAX = 65536, LOGIT_ROWS = 16, LOGIT_BYTES_MAX = 64 << 20 };

struct lat_session {
    const struct lat_model *model;
    struct lat_qwen35_state state;
    struct lat_pool *pool;
    struct lat_session_options options;
    bool failed; // a step broke off: the states are not those of any sequence
    bool has_logits;
};

static enum lat_status resolve(const struct lat_model *model, const struct lat_session_options *given,
                               struct lat_session_options *out, struct lat_error *error)
{
    *out = given ? *given : (struct lat_session_options){ 0 };
    size_t most = model->config.max_position_embeddings;
    if (out->context == 0)
        out->context = most < CONTEXT_DEFAULT ? most : CONTEXT_DEFAULT;
    if (out->context > most)
        return lat_error_set(error, LAT_LIMIT, "a context of %zu positions is more than the model's %zu", out->context, most);
    if (out->chunk == 0)
        out->chunk = CHUNK_DEFAULT;
    if (out->chunk > CHUNK_MAX)
        return lat_error_set(error, LAT_ARGUMENT, "a chunk of %zu tokens is more than %d", out->chunk, CHUNK_MAX);
    if (out->chunk > out->context)
        out->chunk = out->context;
    if (out->threads == 0)
        out->threads = lat_pool_processors();
    return LAT_OK;
}

// Logits of several rows at a time when every position's are wanted, so that the head's weights are read less often.
static size_t logit_rows(const struct lat_model *model, const struct lat_session_options *o)
{
    size_t rows = LOGIT_BYTES_MAX / sizeof(float) / model->config.vocab_size;
    if (!o->observe || !o->observe_logits || rows < 1)
        return 1;
    return rows < LOGIT_ROWS ? rows : LOGIT_ROWS;
}

enum lat_status lat_session_bytes(const struct lat_model *model, const struct lat_session_options *options,
                                  uint64_t *bytes, struct lat_error *error)
{
    struct lat_session_options o;
    LAT_TRY(resolve(model, options, &o, error));
    return lat_qwen35_state_bytes(&model->config, o.context, o.chunk, logit_rows(model, &o), bytes, error);
}

static enum lat_status session_init(struct lat_session *s, const struct lat_session_options *options,
                                    struct lat_error *error)
{
    LAT_TRY(resolve(s->model, options, &s->options, error));
    uint64_t bytes = 0, there = lat_clock_memory_free();
    LAT_TRY(lat_session_bytes(s->model, &s->options, &bytes, error));
    if (bytes > there)
        return lat_error_set(error, LAT_LIMIT, "a context of %zu positions needs %llu MB, %llu MB are available",
                             s->options.context, (unsigned long long)(bytes >> 20), (unsigned long long)(there >> 20));
    LAT_TRY(lat_qwen35_state_init(&s->state, &s->model->config, s->options.context, s->options.chunk,
                                  logit_rows(s->model, &s->options), error));
    return lat_pool_new(&s->pool, s->options.threads, error);
}

enum lat_status lat_session_new(struct lat_session **out, const struct lat_model *model,
                                const struct lat_session_options *options, struct lat_error *error)
{
    *out = NULL;
    struct lat_session *s = lat_mem_new(1, sizeof *s);
    if (!s)
        return lat_error_memory(error, "a session");
    s->model = model;
    enum lat_status status = session_init(s, options, error);
    if (status != LAT_OK) {
        lat_session_free(s);
        return status;
    }
    *out = s;
    return LAT_OK;
}

void lat_session_free(struct lat_session *session)
{
    if (!session)
        return;
    lat_pool_free(session->pool);
    lat_qwen35_state_release(&session->state);
    lat_mem_free(session);
}

static enum lat_status check_ids(const struct lat_session *s, const int32_t *ids, size_t count, struct lat_error *error)
{
    if (s->failed)
        return lat_error_set(error, LAT_ARGUMENT, "the session broke off earlier and must be reset");
    if (count == 0)
        return lat_error_set(error, LAT_ARGUMENT, "there are no ids to evaluate");
    if (count > s->state.context - s->state.position)
        return lat_error_set(error, LAT_LIMIT, "%zu ids after %zu do not fit into the context of %zu positions", count,
                             s->state.position, s->state.context);
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= s->model->config.vocab_size)
            return lat_error_set(error, LAT_ARGUMENT, "id %d at position %zu is outside the vocabulary of %zu", (int)ids[i], i,
                                 s->model->config.vocab_size);
    return LAT_OK;
}

static enum lat_status run_chunks(struct lat_session *s, const int32_t *ids, size_t count, struct lat_error *error)
{
    for (size_t done = 0; done < count;) {
        if (s->options.cancel && *s->options.cancel)
            return lat_error_set(error, LAT_CANCELLED, "cancelled after %zu of %zu tokens", done, count);
        size_t now = count - done < s->options.chunk ? count - done : s->options.chunk;
        struct lat_qwen35_step step = {
            .kernels = s->model->kernels,
            .config = &s->model->config,
            .weights = &s->model->weights,
            .state = &s->state,
            .pool = s->pool,
            .ids = ids + done,
            .tokens = now,
            .last = done + now == count,
            .observe = s->options.observe,
            .observe_context = s->options.observe_context,
            .observe_logits = s->options.observe_logits,
            .error = error,
        };
        LAT_TRY(lat_qwen35_step_run(&step));
        done += now;
    }
    return LAT_OK;
}

enum lat_status lat_session_eval(struct lat_session *session, const int32_t *ids, size_t count, struct lat_error *error)
{
    LAT_TRY(check_ids(session, ids, count, error));
    enum lat_status status = run_chunks(session, ids, count, error);
    session->failed = status != LAT_OK;
    session->has_logits = status == LAT_OK;
    return status;
}

const float *lat_session_logits(const struct lat_session *session)
{
    return session->has_logits ? session->state.work.logits : NULL;
}

size_t lat_session_position(const struct lat_session *session) { return session->state.position; }
size_t lat_session_context(const struct lat_session *session) { return session->state.context; }
int lat_session_threads(const struct lat_session *session) { return session->options.threads; }

void lat_session_reset(struct lat_session *session)
{
    lat_qwen35_state_reset(&session->state);
    session->failed = false;
    session->has_logits = false;
}
const struct lat_model *lat_session_model(const struct lat_session *session) { return session->model; }
