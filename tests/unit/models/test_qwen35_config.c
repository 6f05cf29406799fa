// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/qwen35_config.h"

#define GOOD                                                                                                    \
    "\"model_type\":\"qwen3_5_text\",\"vocab_size\":100,\"hidden_size\":32,\"num_hidden_layers\":4,"            \
    "\"num_attention_heads\":2,\"num_key_value_heads\":1,\"head_dim\":16,\"intermediate_size\":48,"             \
    "\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,\"eos_token_id\":[7,9]"

static enum lat_status parse(struct lat_qwen35_config *c, const char *text, struct lat_error *error)
{
    return lat_qwen35_config_parse(c, text, strlen(text), "config.json", error);
}

static void test_defaults(void **state)
{
    (void)state;
    struct lat_qwen35_config c;
    assert_int_equal(parse(&c, "{" GOOD "}", NULL), LAT_OK);
    assert_int_equal(c.rotary_dim, 4);
    assert_int_equal(c.rotary_half, 2);
    assert_true(c.rms_norm_eps == 1e-6);
    assert_int_equal(c.linear_conv_kernel_dim, 4);
    assert_false(c.layer_is_full[2]);
    assert_true(c.layer_is_full[3]);
    assert_int_equal(c.eos_count, 2);
    assert_false(c.tie_word_embeddings);
}

static void test_nested(void **state)
{
    (void)state;
    struct lat_qwen35_config c;
    const char *text = "{\"model_type\":\"qwen3_5\",\"tie_word_embeddings\":true,\"text_config\":{" GOOD
                       ",\"rope_parameters\":{\"type\":\"default\",\"rope_theta\":10000000,\"partial_rotary_factor\":0.5}}}";
    assert_int_equal(parse(&c, text, NULL), LAT_OK);
    assert_string_equal(c.model_type, "qwen3_5");
    assert_true(c.tie_word_embeddings);
    assert_true(c.rope_theta == 1e7);
    assert_int_equal(c.rotary_dim, 8);
}

// A config with one thing wrong, and what the message must name.
static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *extra, *place;
    } cases[] = {
        { "\"hidden_act\":\"gelu\"", "hidden_act" },
        { "\"attn_output_gate\":false", "attn_output_gate" },
        { "\"layer_types\":[\"full_attention\"]", "layer_types" },
        { "\"layer_types\":[\"full_attention\",\"x\",\"x\",\"x\"]", "layer_types" },
        { "\"rope_parameters\":{\"rope_type\":\"yarn\"}", "rope_type" },
        { "\"partial_rotary_factor\":2", "partial_rotary_factor" },
        { "\"rms_norm_eps\":-1", "rms_norm_eps" },
        { "\"linear_conv_kernel_dim\":1000", "linear_conv_kernel_dim" },
        { "\"max_position_embeddings\":0", "max_position_embeddings" },
        { "\"quantization_config\":{}", "quantization_config" },
        { "\"attention_bias\":3", "attention_bias" },
        { "\"linear_key_head_dim\":-5", "linear_key_head_dim" },
        { "\"linear_value_head_dim\":99999999999999999999", "linear_value_head_dim" },
        { "\"hidden_size\":1", "stands twice" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lat_qwen35_config c;
        struct lat_error error = { 0 };
        char text[1200];
        snprintf(text, sizeof text, "{%s,%s}", GOOD, cases[i].extra);
        if (parse(&c, text, &error) == LAT_OK)
            fail_msg("accepted: %s", cases[i].extra);
        if (!strstr(error.text, cases[i].place))
            fail_msg("%s: \"%s\" does not name the place", cases[i].extra, error.text);
    }
}

// Each needed key: missing, zero, of another type.
static void test_needed_keys(void **state)
{
    (void)state;
    static const char *const keys[] = { "vocab_size",          "hidden_size",       "num_hidden_layers", "num_attention_heads",
                                        "num_key_value_heads", "intermediate_size", "model_type" };
    static const char *const values[] = { NULL, "0", "1.5", "\"many\"", "1e99", "[]", "null" };
    for (size_t k = 0; k < 7; k++)
        for (size_t v = 0; v < 7; v++) {
            char text[1200] = "{", *out = text + 1, good[] = GOOD;
            for (char *part = strtok(good, ","); part; part = strtok(NULL, ",")) {
                char name[64];
                snprintf(name, sizeof name, "\"%s\"", keys[k]);
                bool hit = strncmp(part, name, strlen(name)) == 0;
                if (hit && values[v])
                    out += sprintf(out, "%s:%s,", name, values[v]);
                else if (!hit)
                    out += sprintf(out, "%s,", part);
            }
            out[-1] = '}';
            struct lat_qwen35_config c;
            struct lat_error error = { 0 };
            assert_int_not_equal(parse(&c, text, &error), LAT_OK);
            if (!strstr(error.text, keys[k]))
                fail_msg("%s: \"%s\" does not name %s", text, error.text, keys[k]);
        }
}

static void test_unknown_type_names_known(void **state)
{
    (void)state;
    struct lat_qwen35_config c;
    struct lat_error error = { 0 };
    assert_int_equal(parse(&c, "{\"model_type\":\"llama\"}", &error), LAT_UNSUPPORTED);
    assert_non_null(strstr(error.text, "llama"));
    assert_non_null(strstr(error.text, "qwen3_5_moe"));
    assert_int_not_equal(parse(&c, "[1]", &error), LAT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),    cmocka_unit_test(test_nested), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_needed_keys), cmocka_unit_test(test_unknown_type_names_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
