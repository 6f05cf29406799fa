// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A session: a batch of one sequence.
#include "core/error.h"
#include "core/mem.h"
#include "lattice/batch.h"
#include "lattice/generate.h"

struct lat_session {
    const struct lat_model *model;
    struct lat_batch *batch;
};

enum lat_status lat_session_bytes(const struct lat_model *model, const struct lat_session_options *options,
                                  uint64_t *bytes, struct lat_error *error)
{
    return lat_batch_bytes(model, options, 1, bytes, error);
}

enum lat_status lat_session_new(struct lat_session **out, const struct lat_model *model,
                                const struct lat_session_options *options, struct lat_error *error)
{
    *out = NULL;
    struct lat_session *s = lat_mem_new(1, sizeof *s);
    if (!s)
        return lat_error_memory(error, "a session");
    s->model = model;
    enum lat_status status = lat_batch_new(&s->batch, model, options, 1, error);
    if (status != LAT_OK) {
        lat_mem_free(s);
        return status;
    }
    *out = s;
    return LAT_OK;
}

void lat_session_free(struct lat_session *session)
{
    if (!session)
        return;
    lat_batch_free(session->batch);
    lat_mem_free(session);
}

enum lat_status lat_session_eval(struct lat_session *session, const int32_t *ids, size_t count, struct lat_error *error)
{
    struct lat_batch_item item = { .ids = ids, .count = count };
    return lat_batch_eval(session->batch, &item, 1, error);
}

const float *lat_session_logits(const struct lat_session *session) { return lat_batch_logits(session->batch, 0); }
size_t lat_session_position(const struct lat_session *session) { return lat_batch_position(session->batch, 0); }
size_t lat_session_context(const struct lat_session *session) { return lat_batch_context(session->batch); }
int lat_session_threads(const struct lat_session *session) { return lat_batch_threads(session->batch); }
void lat_session_reset(struct lat_session *session) { lat_batch_reset(session->batch, 0); }
const struct lat_model *lat_session_model(const struct lat_session *session) { return session->model; }
