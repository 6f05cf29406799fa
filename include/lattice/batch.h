// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Several sequences of one model at once. Decoding reads every weight once for all of them, so a batch yields more tokens
// a second than its sequences would one after another. A sequence's logits have the same bits alone, in any company, and
// in a lat_session.
//
//   struct lat_batch *batch;
//   if (lat_batch_new(&batch, model, NULL, 8, &err) == LAT_OK) {
//       struct lat_batch_item items[] = { { 0, prompt, prompt_count }, { 3, &next_id, 1 } };   // prefill beside decode
//       if (lat_batch_eval(batch, items, 2, &err) == LAT_OK)
//           use(lat_batch_logits(batch, 1));          // vocab_size floats, after next_id in sequence 3
//   }
//   lat_batch_free(batch);
#ifndef LATTICE_BATCH_H
#define LATTICE_BATCH_H

#include "lattice/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LAT_BATCH_SEQUENCES_MAX = 1024 };

struct lat_batch;

// ids[0..count) to be appended to a sequence.
struct lat_batch_item {
    size_t sequence; // 0 to sequences-1
    const int32_t *ids;
    size_t count;
};

// Bytes that lat_batch_new would allocate.
LAT_API LAT_NODISCARD enum lat_status lat_batch_bytes(const struct lat_model *model,
                                                      const struct lat_session_options *options, size_t sequences,
                                                      uint64_t *bytes, struct lat_error *error);
// `options` (NULL: the defaults) count for each sequence; an observer is for a batch of one sequence only. Refused before
// anything is allocated when memory cannot hold it. A batch belongs to one thread at a time.
LAT_API LAT_NODISCARD enum lat_status lat_batch_new(struct lat_batch **out, const struct lat_model *model,
                                                    const struct lat_session_options *options, size_t sequences,
                                                    struct lat_error *error);
LAT_API void lat_batch_free(struct lat_batch *batch); // NULL is harmless
// Appends each item to its sequence; a sequence may be in one item of a call. Everything is checked before anything
// changes. After any other failure the sequences of the items must be reset.
LAT_API LAT_NODISCARD enum lat_status lat_batch_eval(struct lat_batch *batch, const struct lat_batch_item *items,
                                                     size_t count, struct lat_error *error);
// vocab_size logits after the last id of item `item` of the last call; NULL when that failed or had no such item. Valid
// until the next call.
LAT_API const float *lat_batch_logits(const struct lat_batch *batch, size_t item);
LAT_API size_t lat_batch_position(const struct lat_batch *batch, size_t sequence); // ids held
LAT_API void lat_batch_reset(struct lat_batch *batch, size_t sequence);            // empty again, memory kept
LAT_API size_t lat_batch_context(const struct lat_batch *batch);
LAT_API int lat_batch_threads(const struct lat_batch *batch);

#ifdef __cplusplus
}
#endif
#endif
