// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Several sequences over one work space and one pool of threads. Prompts of any length go through in chunks; results
// depend neither on where the chunks end nor on which sequences share them.
#include "lattice/batch.h"

#include "core/clock.h"
#include "core/error.h"
#include "models/model_parts.h"
#include "models/qwen35_step.h"

enum { CONTEXT_DEFAULT = 4096, CHUNK_DEFAULT = 192, CHUNK_MAX = 65536, LOGIT_ROWS = 16, LOGIT_BYTES_MAX = 64 << 20 };

struct slot {
    struct lat_qwen35_sequence sequence;
    bool failed; // a step broke off: the states are not those of any sequence
    bool in_call;
};

struct lat_batch {
    const struct lat_model *model;
    struct lat_session_options options;
    struct slot *slots;
    size_t sequences;
    struct lat_qwen35_work work;
    struct lat_pool *pool;
    struct lat_qwen35_part *parts; // [sequences]
    size_t *done;                  // [sequences]: tokens of each item that went through
    size_t logit_rows;             // of the last call; 0: it failed
};

static enum lat_status resolve(const struct lat_model *model, const struct lat_session_options *given, size_t sequences,
                               struct lat_session_options *out, struct lat_error *error)
{
    *out = given ? *given : (struct lat_session_options){ 0 };
    size_t most = model->config.max_position_embeddings;
    if (sequences < 1 || sequences > LAT_BATCH_SEQUENCES_MAX)
        return lat_error_set(error, LAT_ARGUMENT, "a batch of %zu sequences is outside 1 to %d", sequences,
                             LAT_BATCH_SEQUENCES_MAX);
    if (out->observe && sequences != 1)
        return lat_error_set(error, LAT_ARGUMENT, "an observer is for a batch of one sequence");
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
    if (out->chunk < sequences) // a step of decoding takes one row of each
        out->chunk = sequences;
    if (out->threads == 0)
        out->threads = lat_pool_processors();
    if (out->threads < 1 || out->threads > LAT_POOL_THREADS_MAX)
        return lat_error_set(error, LAT_ARGUMENT, "threads: %d is outside 1 to %d", out->threads, LAT_POOL_THREADS_MAX);
    return LAT_OK;
}

static struct lat_qwen35_work_size work_size(const struct lat_model *model, const struct lat_session_options *o,
                                             size_t sequences)
{
    // Logits of several rows at a time when every position's are wanted, so that the head's weights are read less often.
    size_t rows = LOGIT_BYTES_MAX / sizeof(float) / model->config.vocab_size;
    if (rows > LOGIT_ROWS)
        rows = LOGIT_ROWS;
    if (!o->observe || !o->observe_logits || rows < 1)
        rows = 1;
    return (struct lat_qwen35_work_size){ .rows = o->chunk, .logit_rows = rows > sequences ? rows : sequences,
                                          .threads = o->threads, .narrow = o->compute == LAT_COMPUTE_FAST };
}

static enum lat_status bytes_of(const struct lat_model *model, const struct lat_session_options *o, size_t sequences,
                                uint64_t *bytes, struct lat_error *error)
{
    uint64_t one = 0, work = 0, all = 0;
    struct lat_qwen35_work_size size = work_size(model, o, sequences);
    LAT_TRY(lat_qwen35_sequence_bytes(&model->config, o->context, o->half_cache, &one, error));
    LAT_TRY(lat_qwen35_work_bytes(&model->config, &size, &work, error));
    if (__builtin_mul_overflow(one, (uint64_t)sequences, &all) || __builtin_add_overflow(all, work, bytes))
        return lat_error_set(error, LAT_LIMIT, "%zu sequences need more memory than can be addressed", sequences);
    return LAT_OK;
}

enum lat_status lat_batch_bytes(const struct lat_model *model, const struct lat_session_options *options, size_t sequences,
                                uint64_t *bytes, struct lat_error *error)
{
    struct lat_session_options o;
    LAT_TRY(resolve(model, options, sequences, &o, error));
    return bytes_of(model, &o, sequences, bytes, error);
}

static enum lat_status batch_init(struct lat_batch *b, struct lat_error *error)
{
    const struct lat_session_options *o = &b->options;
    const struct lat_qwen35_config *config = &b->model->config;
    struct lat_qwen35_work_size size = work_size(b->model, o, b->sequences);
    uint64_t bytes = 0, there = lat_clock_memory_free();
    LAT_TRY(bytes_of(b->model, o, b->sequences, &bytes, error));
    if (bytes > there)
        return lat_error_set(error, LAT_LIMIT, "a context of %zu positions needs %llu MB, %llu MB are available", o->context,
                             (unsigned long long)(bytes >> 20), (unsigned long long)(there >> 20));
    b->slots = lat_mem_new(b->sequences, sizeof *b->slots);
    b->parts = lat_mem_new(b->sequences, sizeof *b->parts);
    b->done = lat_mem_new(b->sequences, sizeof *b->done);
    if (!b->slots || !b->parts || !b->done)
        return lat_error_memory(error, "a batch");
    for (size_t i = 0; i < b->sequences; i++)
        LAT_TRY(lat_qwen35_sequence_init(&b->slots[i].sequence, config, o->context, o->half_cache, error));
    LAT_TRY(lat_qwen35_work_init(&b->work, config, &size, error));
    return lat_pool_new(&b->pool, o->threads, error);
}

enum lat_status lat_batch_new(struct lat_batch **out, const struct lat_model *model,
                              const struct lat_session_options *options, size_t sequences, struct lat_error *error)
{
    *out = NULL;
    struct lat_session_options resolved;
    LAT_TRY(resolve(model, options, sequences, &resolved, error));
    struct lat_batch *b = lat_mem_new(1, sizeof *b);
    if (!b)
        return lat_error_memory(error, "a batch");
    b->model = model;
    b->options = resolved;
    b->sequences = sequences;
    enum lat_status status = batch_init(b, error);
    if (status != LAT_OK) {
        lat_batch_free(b);
        return status;
    }
    *out = b;
    return LAT_OK;
}

void lat_batch_free(struct lat_batch *batch)
{
    if (!batch)
        return;
    lat_pool_free(batch->pool);
    for (size_t i = 0; batch->slots && i < batch->sequences; i++)
        lat_qwen35_sequence_release(&batch->slots[i].sequence);
    lat_qwen35_work_release(&batch->work);
    lat_mem_free(batch->slots);
    lat_mem_free(batch->parts);
    lat_mem_free(batch->done);
    lat_mem_free(batch);
}

static enum lat_status check_item(const struct lat_batch *b, const struct lat_batch_item *item, struct lat_error *error)
{
    if (item->sequence >= b->sequences)
        return lat_error_set(error, LAT_ARGUMENT, "sequence %zu is outside a batch of %zu", item->sequence, b->sequences);
    const struct slot *slot = &b->slots[item->sequence];
    size_t held = slot->sequence.position;
    if (slot->in_call)
        return lat_error_set(error, LAT_ARGUMENT, "sequence %zu is there twice", item->sequence);
    if (slot->failed)
        return lat_error_set(error, LAT_ARGUMENT, "the session broke off earlier and must be reset");
    if (item->count == 0)
        return lat_error_set(error, LAT_ARGUMENT, "there are no ids to evaluate");
    if (item->count > b->options.context - held)
        return lat_error_set(error, LAT_LIMIT, "%zu ids after %zu do not fit into the context of %zu positions", item->count,
                             held, b->options.context);
    for (size_t i = 0; i < item->count; i++)
        if (item->ids[i] < 0 || (size_t)item->ids[i] >= b->model->config.vocab_size)
            return lat_error_set(error, LAT_ARGUMENT, "id %d at position %zu is outside the vocabulary of %zu",
                                 (int)item->ids[i], i, b->model->config.vocab_size);
    return LAT_OK;
}

static enum lat_status check_items(struct lat_batch *b, const struct lat_batch_item *items, size_t count,
                                   struct lat_error *error)
{
    enum lat_status status = LAT_OK;
    size_t checked = 0;
    if (count == 0)
        return lat_error_set(error, LAT_ARGUMENT, "there is nothing to evaluate");
    for (; checked < count && status == LAT_OK; checked++) {
        status = check_item(b, &items[checked], error);
        if (status == LAT_OK)
            b->slots[items[checked].sequence].in_call = true;
    }
    for (size_t i = 0; i < checked; i++)
        if (items[i].sequence < b->sequences)
            b->slots[items[i].sequence].in_call = false;
    return status;
}

// The parts of the next chunk. While not everything fits, each item keeps back its last token, so that the last chunk has
// the last tokens of all and one product gives all their logits.
static size_t plan_chunk(struct lat_batch *b, const struct lat_batch_item *items, size_t count, size_t left)
{
    bool final = left <= b->options.chunk;
    size_t room = b->options.chunk, parts = 0;
    for (size_t i = 0; i < count && room > 0; i++) {
        size_t rest = items[i].count - b->done[i], now = final ? rest : rest - 1;
        if (now > room)
            now = room;
        if (now == 0)
            continue;
        b->parts[parts++] = (struct lat_qwen35_part){ .sequence = &b->slots[items[i].sequence].sequence,
                                                      .ids = items[i].ids + b->done[i], .tokens = now, .last = final };
        b->done[i] += now;
        room -= now;
    }
    return parts;
}

static enum lat_status run_chunks(struct lat_batch *b, const struct lat_batch_item *items, size_t count,
                                  struct lat_error *error)
{
    const struct lat_session_options *o = &b->options;
    size_t all = 0, left;
    for (size_t i = 0; i < count; i++) {
        all += items[i].count;
        b->done[i] = 0;
    }
    for (left = all; left > 0;) {
        if (o->cancel && *o->cancel)
            return lat_error_set(error, LAT_CANCELLED, "cancelled after %zu of %zu tokens", all - left, all);
        struct lat_qwen35_step step = {
            .kernels = b->model->kernels,
            .config = &b->model->config,
            .weights = &b->model->weights,
            .work = &b->work,
            .pool = b->pool,
            .parts = b->parts,
            .part_count = plan_chunk(b, items, count, left),
            .compute = o->compute,
            .bf16_dot = o->compute == LAT_COMPUTE_FAST ? lat_kernels_bf16_dot(b->model->kernels) : NULL,
            .observe = o->observe,
            .observe_context = o->observe_context,
            .observe_logits = o->observe_logits,
            .observe_operators = o->observe_operators,
            .error = error,
        };
        LAT_TRY(lat_qwen35_step_run(&step));
        left -= step.tokens;
    }
    return LAT_OK;
}

enum lat_status lat_batch_eval(struct lat_batch *batch, const struct lat_batch_item *items, size_t count,
                               struct lat_error *error)
{
    LAT_TRY(check_items(batch, items, count, error));
    enum lat_status status = run_chunks(batch, items, count, error);
    for (size_t i = 0; i < count; i++)
        batch->slots[items[i].sequence].failed = status != LAT_OK;
    batch->logit_rows = status == LAT_OK ? count : 0;
    return status;
}

const float *lat_batch_logits(const struct lat_batch *batch, size_t item)
{
    return item < batch->logit_rows ? batch->work.logits + item * batch->model->config.vocab_size : NULL;
}

size_t lat_batch_position(const struct lat_batch *batch, size_t sequence)
{
    return sequence < batch->sequences ? batch->slots[sequence].sequence.position : 0;
}

void lat_batch_reset(struct lat_batch *batch, size_t sequence)
{
    if (sequence >= batch->sequences)
        return;
    lat_qwen35_sequence_reset(&batch->slots[sequence].sequence);
    batch->slots[sequence].failed = false;
    batch->logit_rows = 0;
}

size_t lat_batch_context(const struct lat_batch *batch) { return batch->options.context; }
int lat_batch_threads(const struct lat_batch *batch) { return batch->options.threads; }
