// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Sequences in a batch have the logits that they have alone, bit for bit, whatever shares their chunks; and a step of
// decoding after the first makes no allocation and no system call but futex.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/rng.h"
#include "lattice/batch.h"

static const char nano[] = LATTICE_SOURCE_DIR "/models/nano";
enum { SEQUENCES = 5, LENGTH = 60 };

static struct lat_model *open_model(const char *folder)
{
    struct lat_model *model = NULL;
    struct lat_error error = { 0 };
    if (lat_model_open(&model, folder, &error) != LAT_OK)
        fail_msg("%s", error.text);
    return model;
}

static void random_ids(int32_t ids[SEQUENCES][LENGTH], size_t vocab)
{
    struct lat_rng rng;
    lat_rng_init(&rng, 11);
    for (size_t s = 0; s < SEQUENCES; s++)
        for (size_t i = 0; i < LENGTH; i++)
            ids[s][i] = (int32_t)(lat_rng_next(&rng) % vocab);
}

// Logits after ids[0..count) of each sequence alone.
static float *alone(const struct lat_model *model, const int32_t *ids, size_t count, const struct lat_session_options *options)
{
    size_t vocab = lat_model_info_view(model)->vocab_size;
    struct lat_session *session = NULL;
    struct lat_error error = { 0 };
    float *out = malloc(vocab * sizeof *out);
    assert_int_equal(lat_session_new(&session, model, options, &error), LAT_OK);
    assert_int_equal(lat_session_eval(session, ids, count, &error), LAT_OK);
    memcpy(out, lat_session_logits(session), vocab * sizeof *out);
    lat_session_free(session);
    return out;
}

static void same_as_alone(const struct lat_model *model, const struct lat_batch *batch, size_t item, const int32_t *ids,
                          size_t count, const struct lat_session_options *options)
{
    float *want = alone(model, ids, count, options);
    const float *got = lat_batch_logits(batch, item);
    assert_non_null(got);
    if (memcmp(want, got, lat_model_info_view(model)->vocab_size * sizeof *want) != 0)
        fail_msg("item %zu differs from its sequence alone after %zu ids", item, count);
    free(want);
}

// Sequences of different lengths begin together, then decode while another one still takes its prompt.
static void check_batch(const char *folder, size_t chunk, int threads, enum lat_compute compute, bool half_cache)
{
    struct lat_model *model = open_model(folder);
    struct lat_session_options options = { .context = LENGTH, .chunk = chunk, .threads = threads, .compute = compute,
                                           .half_cache = half_cache };
    struct lat_batch *batch = NULL;
    struct lat_error error = { 0 };
    int32_t ids[SEQUENCES][LENGTH];
    size_t held[SEQUENCES] = { 0 };
    random_ids(ids, lat_model_info_view(model)->vocab_size);
    assert_int_equal(lat_batch_new(&batch, model, &options, SEQUENCES, &error), LAT_OK);
    static const size_t plan[][SEQUENCES] = { { 7, 1, 23, 0, 12 }, { 1, 1, 1, 0, 1 }, { 1, 30, 1, 17, 0 }, { 1, 0, 1, 1, 1 } };
    for (size_t round = 0; round < 4; round++) {
        struct lat_batch_item items[SEQUENCES];
        size_t count = 0;
        for (size_t k = 0; k < SEQUENCES; k++) {
            size_t s = (k + round) % SEQUENCES; // the order of items is free
            if (plan[round][s] == 0)
                continue;
            items[count++] = (struct lat_batch_item){ .sequence = s, .ids = ids[s] + held[s], .count = plan[round][s] };
            held[s] += plan[round][s];
        }
        if (lat_batch_eval(batch, items, count, &error) != LAT_OK)
            fail_msg("%s", error.text);
        for (size_t i = 0; i < count; i++) {
            size_t s = items[i].sequence;
            assert_int_equal(lat_batch_position(batch, s), held[s]);
            same_as_alone(model, batch, i, ids[s], held[s], &options);
        }
        assert_null(lat_batch_logits(batch, count));
    }
    lat_batch_free(batch);
    lat_model_close(model);
}

static void test_batch(void **state)
{
    (void)state;
    check_batch(nano, 128, 2, LAT_COMPUTE_DEFAULT, false);
    check_batch(nano, 8, 3, LAT_COMPUTE_DEFAULT, true);
    check_batch(nano, 16, 2, LAT_COMPUTE_FAST, false);
    check_batch(LATTICE_SOURCE_DIR "/tests/golden/qwen35/moe-fused", 8, 2, LAT_COMPUTE_DEFAULT, false);
    check_batch(LATTICE_SOURCE_DIR "/tests/golden/qwen35/odd-sizes", 9, 3, LAT_COMPUTE_DEFAULT, true);
}

static void test_refusals(void **state)
{
    (void)state;
    struct lat_model *model = open_model(nano);
    struct lat_session_options options = { .context = 20, .threads = 1 };
    struct lat_batch *batch = NULL;
    struct lat_error error = { 0 };
    int32_t ids[32] = { 5, 6, 7 };
    assert_int_equal(lat_batch_new(&batch, model, &options, 0, &error), LAT_ARGUMENT);
    assert_int_equal(lat_batch_new(&batch, model, &options, LAT_BATCH_SEQUENCES_MAX + 1, &error), LAT_ARGUMENT);
    assert_null(batch);
    assert_int_equal(lat_batch_new(&batch, model, &options, 2, &error), LAT_OK);
    struct lat_batch_item twice[] = { { 1, ids, 1 }, { 1, ids, 1 } }, outside[] = { { 0, ids, 1 }, { 2, ids, 1 } };
    struct lat_batch_item wrong[] = { { 0, ids, 2 }, { 1, (int32_t[]){ -1 }, 1 } }, large[] = { { 0, ids, 21 } };
    assert_int_equal(lat_batch_eval(batch, twice, 2, &error), LAT_ARGUMENT);
    assert_int_equal(lat_batch_eval(batch, outside, 2, &error), LAT_ARGUMENT);
    assert_int_equal(lat_batch_eval(batch, wrong, 2, &error), LAT_ARGUMENT);
    assert_int_equal(lat_batch_eval(batch, large, 1, &error), LAT_LIMIT);
    assert_int_equal(lat_batch_eval(batch, twice, 0, &error), LAT_ARGUMENT);
    assert_int_equal(lat_batch_position(batch, 0), 0); // refusals left everything as it was
    assert_int_equal(lat_batch_eval(batch, twice, 1, &error), LAT_OK);
    lat_batch_reset(batch, 1);
    assert_int_equal(lat_batch_position(batch, 1), 0);
    lat_batch_free(batch);
    lat_model_close(model);
}

// From here on any system call of any thread but futex and leaving ends the process.
static int forbid_system_calls(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { .len = sizeof rules / sizeof rules[0], .filter = rules };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}

// 0: ten steps went through; 77: the system has no seccomp; or killed.
static int decode_without_system_calls(const char *folder, bool break_the_rule)
{
    struct lat_model *model = open_model(folder);
    struct lat_session_options options = { .context = 64, .threads = 2 };
    struct lat_session *session = NULL;
    struct lat_error error = { 0 };
    int32_t ids[20] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
    if (lat_session_new(&session, model, &options, &error) != LAT_OK || lat_session_eval(session, ids, 10, &error) != LAT_OK)
        return 1;
    if (forbid_system_calls() != 0)
        return 77;
    for (int i = 10; i < 20; i++)
        if (lat_session_eval(session, ids + i, 1, &error) != LAT_OK)
            return 1;
    if (break_the_rule)
        syscall(SYS_getppid);
    return 0;
}

static int status_of_child(bool break_the_rule)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        syscall(SYS_exit_group, decode_without_system_calls(nano, break_the_rule));
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_decode_makes_no_system_calls(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("[  SKIPPED ] a sanitizer makes system calls of its own\n");
    skip();
#endif
    int status = status_of_child(false);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("[  SKIPPED ] no seccomp here\n");
        skip();
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("a decode step made a system call (wait status %#x)", status);
    status = status_of_child(true); // and the test can fail
    assert_true(WIFSIGNALED(status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_decode_makes_no_system_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
