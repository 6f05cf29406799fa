// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The judge itself: pairs of a small reference and a small trace, of which one thing is changed at a time.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/json.h"
#include "core/rng.h"
#include "gate/parity_report.h"
#include "tensor/safetensors.h"

enum { T = 6, V = 8, H = 4, N = 5, FULL = 2, TOP = 3 };
#define FLOOR 1e-3

static char folder[] = "/tmp/lattice-test-XXXXXX";
static char ref_path[64], trace_path[64];

// What a test changes before the files are written.
struct scene {
    bool partial;          // the reference keeps FULL rows and the TOP largest of the others
    double noise;          // of the engine's logits, in floors
    int bad_layer;         // its output is 100 floors off; -1: none
    int greedy_difference; // index of the first other id; -1: none
    float margin;
    bool nan, other_ids, other_model, no_truth, no_prompts, short_trace;
    const char *prompts; // metadata
};

static struct scene usual(void)
{
    return (struct scene){ .noise = 1, .bad_layer = -1, .greedy_difference = -1, .margin = 1, .prompts = "1" };
}

struct file {
    struct lat_st_spec specs[16];
    const void *values[16];
    size_t count;
};

static void put(struct file *f, const char *name, enum lat_dtype dtype, size_t rows, size_t cols, const void *values)
{
    f->specs[f->count] = (struct lat_st_spec){ name, dtype, cols ? 2 : 1, { rows, cols } };
    f->values[f->count++] = values;
}

static void write_file(const struct file *f, const char *path, const struct lat_st_pair *metadata, size_t count)
{
    struct lat_st_writer *w = NULL;
    assert_int_equal(lat_st_writer_open(&w, path, f->specs, f->count, metadata, count, NULL), LAT_OK);
    for (size_t i = 0; i < f->count; i++) {
        size_t elements = f->specs[i].shape[0] * (f->specs[i].rank == 2 ? f->specs[i].shape[1] : 1);
        assert_int_equal(lat_st_writer_put(w, i, 0, f->values[i], elements, NULL), LAT_OK);
    }
    assert_int_equal(lat_st_writer_commit(w, NULL), LAT_OK);
}

static float truth[T * V], logits[T * V], layer[3][T * H], seen[3][T * H];
static int64_t ids[T] = { 1, 2, 3, 4, 5, 6 }, other_ids[T] = { 1, 2, 3, 4, 5, 7 }, greedy[N] = { 1, 2, 3, 4, 5 }, got_greedy[N];
static int64_t positions[FULL] = { 0, T - 1 }, top_ids[T * TOP];
static float margins[N], got_margins[N], top_truth[T * TOP], lse[T], full[FULL * V];

static void make_values(const struct scene *s)
{
    struct lat_rng rng;
    lat_rng_init(&rng, 11);
    for (int i = 0; i < T * V; i++) {
        truth[i] = (float)(6 * lat_rng_uniform(&rng) - 3);
        logits[i] = truth[i] + (float)(s->noise * FLOOR * (lat_rng_uniform(&rng) < 0.5 ? -1 : 1));
    }
    if (s->nan)
        logits[T * V / 2] = NAN;
    for (int l = 0; l < 3; l++)
        for (int i = 0; i < T * H; i++) {
            layer[l][i] = (float)(2 * lat_rng_uniform(&rng) - 1);
            seen[l][i] = layer[l][i] + (float)((s->bad_layer >= 0 && l > s->bad_layer ? 100 : 0.5) * FLOOR);
        }
    for (int i = 0; i < N; i++) {
        margins[i] = s->margin;
        got_greedy[i] = greedy[i] + (s->greedy_difference >= 0 && i >= s->greedy_difference);
    }
    for (int t = 0; t < T; t++) {
        double sum = 0;
        for (int k = 0; k < TOP; k++) {
            int best = -1;
            for (int i = 0; i < V; i++) {
                bool used = false;
                for (int j = 0; j < k; j++)
                    used = used || top_ids[t * TOP + j] == i;
                if (!used && (best < 0 || truth[t * V + i] > truth[t * V + best]))
                    best = i;
            }
            top_ids[t * TOP + k] = best;
            top_truth[t * TOP + k] = truth[t * V + best];
        }
        for (int i = 0; i < V; i++)
            sum += exp(truth[t * V + i]);
        lse[t] = (float)log(sum);
    }
    memcpy(full, truth, V * sizeof(float));
    memcpy(full + V, truth + (T - 1) * V, V * sizeof(float));
}

static void write_pair(const struct scene *s)
{
    struct file ref = { 0 }, trace = { 0 };
    make_values(s);
    if (!s->no_prompts)
        put(&ref, "p0.input_ids", LAT_DTYPE_I64, T, 0, ids);
    if (s->partial) {
        put(&ref, "p0.truth", LAT_DTYPE_F32, FULL, V, full);
        put(&ref, "p0.positions", LAT_DTYPE_I64, FULL, 0, positions);
        put(&ref, "p0.top_ids", LAT_DTYPE_I64, T, TOP, top_ids);
        put(&ref, "p0.top_truth", LAT_DTYPE_F32, T, TOP, top_truth);
        put(&ref, "p0.lse_truth", LAT_DTYPE_F32, T, 0, lse);
    } else if (!s->no_truth)
        put(&ref, "p0.truth", LAT_DTYPE_F32, T, V, truth);
    static const char *const names[3] = { "p0.truth.embed", "p0.truth.layers.0", "p0.truth.norm" };
    static const char *const seen_names[3] = { "p0.embed", "p0.layers.0", "p0.norm" };
    for (int l = 0; l < 3; l++) {
        put(&ref, names[l], LAT_DTYPE_F32, T, H, layer[l]);
        put(&trace, seen_names[l], LAT_DTYPE_F32, T, H, seen[l]);
    }
    put(&ref, "p0.greedy_ids", LAT_DTYPE_I64, N, 0, greedy);
    put(&ref, "p0.greedy_margin", LAT_DTYPE_F32, N, 0, margins);
    put(&trace, "p0.input_ids", LAT_DTYPE_I64, T, 0, s->other_ids ? other_ids : ids);
    put(&trace, "p0.logits", LAT_DTYPE_F32, s->short_trace ? T - 1 : T, V, logits);
    put(&trace, "p0.greedy_ids", LAT_DTYPE_I64, N, 0, got_greedy);
    put(&trace, "p0.greedy_margin", LAT_DTYPE_F32, N, 0, got_margins);
    const struct lat_st_pair ref_meta[] = {
        { "format", "lattice-reference-1" },
        { "prompts", s->prompts },
        { "model_sha256", "{\"config.json\":\"aa\",\"model.safetensors\":\"bb\"}" },
        { "floor", "{\"p0\":{\"max_prefill\":0.001,\"rms_prefill\":0.001,\"max_steps\":0.0005,\"rms_steps\":0.0002}}" },
        { "layer_floor", "{\"p0\":{\"embed\":{\"max\":0.001,\"rms\":0.001},\"layers.0\":{\"max\":0.001,\"rms\":0.001},"
                         "\"norm\":{\"max\":0.001,\"rms\":0.001}}}" },
    };
    const struct lat_st_pair trace_meta[] = {
        { "model_sha256", s->other_model ? "{\"config.json\":\"aa\",\"model.safetensors\":\"cc\"}"
                                         : "{\"config.json\":\"aa\",\"model.safetensors\":\"bb\"}" },
    };
    write_file(&ref, ref_path, ref_meta, 5);
    write_file(&trace, trace_path, trace_meta, 1);
}

static enum lat_status judge(const struct scene *s, struct lat_parity_result *r, struct lat_error *error)
{
    struct lat_parity_limits limits = lat_parity_limits_default();
    write_pair(s);
    return lat_parity_compare(r, ref_path, trace_path, &limits, error);
}

static void judged(const struct scene *s, bool passes, const char *first_layer)
{
    struct lat_parity_result r;
    struct lat_error error = { 0 };
    if (judge(s, &r, &error) != LAT_OK)
        fail_msg("%s", error.text);
    assert_int_equal(r.passed, passes);
    assert_string_equal(r.prompts[0].first_layer, first_layer);
    lat_parity_result_release(&r);
}

static void cannot_judge(const struct scene *s, const char *text)
{
    struct lat_parity_result r;
    struct lat_error error = { 0 };
    assert_int_not_equal(judge(s, &r, &error), LAT_OK);
    if (!strstr(error.text, text))
        fail_msg("\"%s\" lacks \"%s\"", error.text, text);
}

static void test_distance(void **state)
{
    (void)state;
    struct scene s = usual();
    judged(&s, true, "");
    s.noise = 1.3; // max within 2, rms not within 1.2
    judged(&s, false, "");
    s.noise = 3;
    judged(&s, false, "");
    s.noise = 30;
    judged(&s, false, "logits");
    s = usual();
    s.partial = true;
    judged(&s, true, "");
    s.noise = 3;
    judged(&s, false, "");
}

static void test_layers(void **state)
{
    (void)state;
    static const char *const first[] = { "layers.0", "norm" };
    for (int l = 0; l < 2; l++) {
        struct scene s = usual();
        s.bad_layer = l;
        judged(&s, true, first[l]); // the logits decide; the layer is named
    }
}

static void test_greedy(void **state)
{
    (void)state;
    struct scene s = usual();
    s.greedy_difference = 3;
    judged(&s, false, "");
    s.margin = 3.9e-3f; // four floors
    judged(&s, true, "");
    s.margin = 4.1e-3f;
    judged(&s, false, "");
}

static void test_what_cannot_be_judged(void **state)
{
    (void)state;
    struct scene s = usual();
    s.nan = true;
    cannot_judge(&s, "not finite");
    s = usual();
    s.other_ids = true;
    cannot_judge(&s, "other input_ids");
    s = usual();
    s.other_model = true;
    cannot_judge(&s, "model.safetensors is another file");
    s = usual();
    s.no_truth = true;
    cannot_judge(&s, "truth is missing");
    s = usual();
    s.no_prompts = true;
    cannot_judge(&s, "0 prompts");
    s = usual();
    s.prompts = "2";
    cannot_judge(&s, "says that it holds 2");
    s = usual();
    s.short_trace = true;
    cannot_judge(&s, "p0.logits");
}

// A reference cut anywhere is refused, never a crash and never a pass.
static void test_cut_reference(void **state)
{
    (void)state;
    struct scene s = usual();
    struct lat_parity_limits limits = lat_parity_limits_default();
    write_pair(&s);
    FILE *f = fopen(ref_path, "rb");
    static unsigned char bytes[1 << 16];
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    for (size_t cut = 0; cut < size; cut += 13) {
        struct lat_parity_result r;
        f = fopen(ref_path, "wb");
        assert_int_equal(fwrite(bytes, 1, cut, f), cut);
        fclose(f);
        assert_int_not_equal(lat_parity_compare(&r, ref_path, trace_path, &limits, NULL), LAT_OK);
    }
}

static void test_reports(void **state)
{
    (void)state;
    struct scene s = usual();
    struct lat_parity_limits limits = lat_parity_limits_default();
    struct lat_parity_result r;
    struct lat_buf out;
    struct lat_json doc;
    s.noise = 30;
    assert_int_equal(judge(&s, &r, NULL), LAT_OK);
    lat_buf_init(&out, 1 << 20);
    lat_parity_report_json(&out, &r, &limits);
    assert_int_equal(lat_json_parse(&doc, out.bytes, out.length, "report", NULL), LAT_OK);
    assert_true(lat_json_is_text(lat_json_get(doc.root, "verdict"), "fail"));
    const struct lat_json_node *prompt = lat_json_get(doc.root, "prompts")->u.child;
    assert_true(lat_json_is_text(lat_json_get(prompt, "first_bad_layer"), "logits"));
    lat_json_release(&doc);
    lat_buf_clear(&out);
    lat_parity_report_markdown(&out, &r, &limits);
    assert_non_null(strstr(out.bytes, "FAIL"));
    lat_buf_release(&out);
    lat_parity_result_release(&r);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(ref_path, sizeof ref_path, "%s/ref", folder);
    snprintf(trace_path, sizeof trace_path, "%s/trace", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return unlink(ref_path) | unlink(trace_path) | rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distance), cmocka_unit_test(test_layers), cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_what_cannot_be_judged), cmocka_unit_test(test_cut_reference), cmocka_unit_test(test_reports),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
