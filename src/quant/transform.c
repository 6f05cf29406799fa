// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "quant/transform.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

static const char *const prefixes[] = { "model.language_model.", "language_model.model.", "model." };

// Tail of a layer's tensor: what it is, and which norm it reads.
struct tail {
    const char *name;
    enum lat_role role;
    bool linear, experts, gate_up, post; // post: reads post_attention_layernorm, else input_layernorm
};

static const struct tail tails[] = {
    { "self_attn.q_proj.weight", LAT_ROLE_READER, true, false, false, false },
    { "self_attn.k_proj.weight", LAT_ROLE_READER, true, false, false, false },
    { "self_attn.v_proj.weight", LAT_ROLE_READER, true, false, false, false },
    { "self_attn.o_proj.weight", LAT_ROLE_WRITER, true, false, false, false },
    { "self_attn.o_proj.bias", LAT_ROLE_BIAS, false, false, false, false },
    { "linear_attn.in_proj_qkv.weight", LAT_ROLE_READER, true, false, false, false },
    { "linear_attn.in_proj_z.weight", LAT_ROLE_READER, true, false, false, false },
    { "linear_attn.in_proj_b.weight", LAT_ROLE_READER, false, false, false, false },
    { "linear_attn.in_proj_a.weight", LAT_ROLE_READER, false, false, false, false },
    { "linear_attn.out_proj.weight", LAT_ROLE_WRITER, true, false, false, false },
    { "mlp.gate_proj.weight", LAT_ROLE_READER, true, false, false, true },
    { "mlp.up_proj.weight", LAT_ROLE_READER, true, false, false, true },
    { "mlp.down_proj.weight", LAT_ROLE_WRITER, true, false, false, false },
    { "mlp.gate.weight", LAT_ROLE_READER, false, false, false, true },
    { "mlp.shared_expert_gate.weight", LAT_ROLE_READER, false, false, false, true },
    { "mlp.shared_expert.gate_proj.weight", LAT_ROLE_READER, true, false, false, true },
    { "mlp.shared_expert.up_proj.weight", LAT_ROLE_READER, true, false, false, true },
    { "mlp.shared_expert.down_proj.weight", LAT_ROLE_WRITER, true, false, false, false },
    { "mlp.experts.gate_up_proj", LAT_ROLE_READER, true, true, true, true },
    { "mlp.experts.down_proj", LAT_ROLE_WRITER, true, true, false, false },
    { "mlp.experts.#.gate_proj.weight", LAT_ROLE_READER, true, false, false, true },
    { "mlp.experts.#.up_proj.weight", LAT_ROLE_READER, true, false, false, true },
    { "mlp.experts.#.down_proj.weight", LAT_ROLE_WRITER, true, false, false, false },
    { "input_layernorm.weight", LAT_ROLE_NORM, false, false, false, false },
    { "post_attention_layernorm.weight", LAT_ROLE_NORM, false, false, false, false },
};

// Equal, with '#' for a number.
static bool matches(const char *pattern, const char *name)
{
    for (; *pattern; pattern++) {
        if (*pattern != '#') {
            if (*pattern != *name++)
                return false;
            continue;
        }
        size_t digits = strspn(name, "0123456789");
        if (digits == 0)
            return false;
        name += digits;
    }
    return *name == '\0';
}

static void find_in_layer(struct lat_tensor_role *out, const char *prefix, const char *rest)
{
    size_t digits = strspn(rest, "0123456789");
    if (digits == 0 || rest[digits] != '.')
        return;
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        const struct tail *t = &tails[i];
        if (!matches(t->name, rest + digits + 1))
            continue;
        *out = (struct lat_tensor_role){ .role = t->role, .linear = t->linear, .experts = t->experts, .gate_up = t->gate_up };
        if (t->role == LAT_ROLE_READER)
            snprintf(out->norm, sizeof out->norm, "%slayers.%.*s.%s.weight", prefix, (int)digits, rest,
                     t->post ? "post_attention_layernorm" : "input_layernorm");
        return;
    }
}

void lat_tensor_role_find(struct lat_tensor_role *out, const char *name)
{
    *out = (struct lat_tensor_role){ .role = LAT_ROLE_OTHER };
    if (strncmp(name, "mtp.", 4) == 0 || strstr(name, ".mtp.")) {
        out->role = LAT_ROLE_PREDICTION;
        return;
    }
    if (strstr(name, "visual.")) { // its last layer writes into the stream
        const char *end = strstr(name, "visual.merger.linear_fc2.");
        if (end)
            out->role = strcmp(strrchr(end, '.'), ".bias") == 0 ? LAT_ROLE_BIAS : LAT_ROLE_WRITER;
        return;
    }
    if (strcmp(name, "lm_head.weight") == 0 || strcmp(name, "language_model.lm_head.weight") == 0) {
        *out = (struct lat_tensor_role){ .role = LAT_ROLE_READER, .linear = true };
        return; // its norm's prefix is known only with the folder
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], length) != 0)
            continue;
        if (strcmp(name + length, "embed_tokens.weight") == 0)
            out->role = LAT_ROLE_EMBEDDING;
        else if (strcmp(name + length, "norm.weight") == 0)
            out->role = LAT_ROLE_NORM;
        else if (strncmp(name + length, "layers.", 7) == 0)
            find_in_layer(out, prefixes[i], name + length + 7);
        return;
    }
}

static enum lat_status not_finite(const struct lat_source *s, size_t element, struct lat_error *error)
{
    return lat_error_set(error, LAT_NOT_FINITE, "tensor %s: element %zu is not finite", s->tensor->name, s->first + element);
}

static double load(const struct lat_source *s, size_t row, size_t col)
{
    return lat_dtype_load(s->tensor->dtype, s->tensor->data, s->first + row * s->cols + col);
}

static double fold(const struct lat_source *s, size_t col)
{
    return s->norm ? 1 + (double)lat_dtype_load(s->norm->dtype, s->norm->data, col) : 1;
}

static bool turns_rows(const struct lat_source *s)
{
    return s->rotation && (s->role == LAT_ROLE_READER || s->role == LAT_ROLE_EMBEDDING || s->role == LAT_ROLE_BIAS);
}

// dot(values, probe) and the square of the values' length.
static double probe_dot(const double *values, const double *x, size_t n, double *square)
{
    double dot = 0;
    *square = 0;
    for (size_t i = 0; i < n; i++) {
        dot += values[i] * x[i];
        *square += values[i] * values[i];
    }
    return dot;
}

// Rotates `values` [n] in place, rounds to f32, and holds the result against the probe.
static enum lat_status rotate(const struct lat_source *s, double *values, size_t n, const struct lat_probe *probe,
                              struct lat_error *error)
{
    double square, before = probe_dot(values, probe->x, n, &square);
    lat_rotation_apply(s->rotation, values, values + n);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)values[i];
    double after_square, after = probe_dot(values, probe->rotated, n, &after_square);
    if (fabs(before - after) <= 1e-6 * sqrt(square * (double)n) + 1e-30)
        return LAT_OK;
    return lat_error_set(error, LAT_FAILED, "tensor %s: rotated it would compute something else (%g for %g)", s->tensor->name,
                         after, before);
}

enum lat_status lat_source_row(const struct lat_source *source, size_t row, const struct lat_probe *probe, float *out,
                               double *scratch, struct lat_error *error)
{
    size_t n = source->cols;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = load(source, row, i);
        if (!isfinite(scratch[i]))
            return not_finite(source, row * n + i, error);
        scratch[i] *= fold(source, i);
    }
    if (turns_rows(source))
        LAT_TRY(rotate(source, scratch, n, probe, error));
    for (size_t i = 0; i < n; i++)
        out[i] = source->role == LAT_ROLE_NORM && source->rotation ? 0 : (float)scratch[i];
    return LAT_OK;
}

enum lat_status lat_source_columns(const struct lat_source *source, size_t begin, size_t end, const struct lat_probe *probe,
                                   float *out, double *scratch, struct lat_error *error)
{
    for (size_t c = begin; c < end; c++) {
        for (size_t r = 0; r < source->rows; r++) {
            scratch[r] = load(source, r, c);
            if (!isfinite(scratch[r]))
                return not_finite(source, r * source->cols + c, error);
        }
        LAT_TRY(rotate(source, scratch, source->rows, probe, error));
        for (size_t r = 0; r < source->rows; r++)
            out[r * source->cols + c] = (float)scratch[r];
    }
    return LAT_OK;
}
