// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Scores of logits against closed forms; the program as a whole is held against Hugging Face in tests/cli/ppl.sh.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/logit_score.h"

static void near(double got, double wanted, double most)
{
    if (!(fabs(got - wanted) <= most))
        fail_msg("%.17g, wanted %.17g", got, wanted);
}

static void test_nll(void **state)
{
    (void)state;
    const float even[] = { 7, 7, 7, 7 }, sharp[] = { 0, 700, -700 }, huge[] = { 3e38f, -3e38f };
    near(lat_logit_nll(even, 4, 2), log(4), 1e-15);
    near(lat_logit_nll(sharp, 3, 1), 0, 0);
    near(lat_logit_nll(sharp, 3, 2), 1400, 1e-12);
    near(lat_logit_nll(huge, 2, 0), 0, 0); // neither overflows nor is it NaN
    assert_true(isfinite(lat_logit_nll(huge, 2, 1)));
}

static void test_pair(void **state)
{
    (void)state;
    struct lat_logit_pair pair;
    // model (1/4, 3/4), reference (1/2, 1/2): KL = log 2 - log(3) / 2
    const float model[] = { 0, (float)log(3) }, reference[] = { 5, 5 };
    lat_logit_compare(&pair, model, reference, 2, 0);
    near(pair.nll, log(4), 1e-7);
    near(pair.reference_nll, log(2), 1e-15);
    near(pair.kl, log(2) - log(3) / 2, 1e-7);
    assert_false(pair.same_top); // among equals the lower id is the top
    lat_logit_compare(&pair, model, model, 2, 1);
    near(pair.kl, 0, 0);
    assert_true(pair.same_top);
    near(pair.nll, pair.reference_nll, 0);
}

static void test_moments(void **state)
{
    (void)state;
    struct lat_moments m = { 0 };
    near(lat_moments_error(&m), 0, 0);
    for (int i = 0; i < 5; i++) {
        lat_moments_add(&m, 1e9 + i); // far from zero: a sum of squares would lose everything
        if (i == 0)
            near(lat_moments_error(&m), 0, 0);
    }
    near(m.mean, 1e9 + 2, 1e-6);
    near(lat_moments_error(&m), sqrt(2.5 / 5), 1e-9);
}

static void test_quantile(void **state)
{
    (void)state;
    double one[] = { 3 }, values[] = { 5, 1, 4, 2, 3 }, many[1001];
    struct lat_quantile q = lat_quantile_of(one, 1, 0.999);
    near(q.value + q.low + q.high, 9, 0);
    q = lat_quantile_of(values, 5, 0.5);
    near(q.value, 3, 0);
    near(q.low, 3 - sqrt(1.25), 1e-12);
    near(q.high, 3 + sqrt(1.25), 1e-12);
    for (int i = 0; i <= 1000; i++)
        many[i] = 1000 - i;
    q = lat_quantile_of(many, 1001, 0.999);
    near(q.value, 999, 1e-9);
    near(q.high, 999 + sqrt(1001 * 0.999 * 0.001), 1e-9);
    near(q.low, 999 - sqrt(1001 * 0.999 * 0.001), 1e-9);
    q = lat_quantile_of(many, 500, 0.999); // 0 to 499 now that they are sorted
    near(q.high, 499, 0); // not beyond the largest
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_nll), cmocka_unit_test(test_pair), cmocka_unit_test(test_moments),
                                        cmocka_unit_test(test_quantile) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
