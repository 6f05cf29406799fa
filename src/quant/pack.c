// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "quant/pack.h"

#include <math.h>
#include <string.h>

#include "tensor/dtype.h"

enum { TRIES = 40 };

bool lat_pack_fits(const struct lat_pack *pack, size_t cols)
{
    return pack->group > 0 && cols % pack->group == 0 && cols % (32 / (size_t)pack->bits) == 0;
}

// The nearest code, or the end of the range. A scale of 0 has code 0 only.
static int code_of(float w, float scale, int most)
{
    if (scale == 0)
        return 0;
    const float turn = 0x1.8p23f; // adding it leaves no bits for a fraction: rounds to the nearest, ties to even
    float q = w / scale, low = (float)(-most - 1), high = (float)most;
    q = q < low ? low : q > high ? high : q;
    return (int)(q + turn - turn);
}

// Stops when the sum has reached `enough`.
static double group_error(const float *w, size_t count, float scale, int most, double enough)
{
    double sum = 0;
    for (size_t i = 0; i < count && !(sum >= enough && i % 8 == 0); i++) {
        double e = (double)w[i] - (double)code_of(w[i], scale, most) * (double)scale;
        sum += e * e;
    }
    return sum;
}

static float round_scale(double scale) { return lat_bf16_to_f32(lat_f32_to_bf16((float)scale)); }

// The plain scale is tried first, so that the search is never worse than no search.
static float choose_scale(const struct lat_pack *pack, const float *w, int most, double *error)
{
    double largest = 0;
    for (size_t i = 0; i < pack->group; i++)
        largest = fmax(largest, fabs((double)w[i]));
    float best = round_scale(largest / (most + 0.5));
    *error = group_error(w, pack->group, best, most, INFINITY);
    for (int i = 0; pack->search && i < TRIES; i++) {
        float scale = round_scale(largest / (most + 0.5) * (1.06 - 0.015 * i)); // 0.475 to 1.06
        double now = group_error(w, pack->group, scale, most, *error);
        if (now < *error) {
            *error = now;
            best = scale;
        }
    }
    return best;
}

double lat_pack_row(const struct lat_pack *pack, const float *w, size_t cols, uint32_t *words, uint16_t *scales)
{
    size_t per_word = 32 / (size_t)pack->bits;
    int most = (1 << (pack->bits - 1)) - 1;
    double sum = 0;
    memset(words, 0, cols / per_word * sizeof *words);
    for (size_t g = 0; g * pack->group < cols; g++) {
        const float *from = w + g * pack->group;
        double error;
        float scale = choose_scale(pack, from, most, &error);
        sum += error;
        scales[g] = lat_f32_to_bf16(scale);
        for (size_t i = 0; i < pack->group; i++) {
            size_t at = g * pack->group + i;
            uint32_t code = (uint32_t)(code_of(from[i], scale, most) + most + 1);
            words[at / per_word] |= code << (at % per_word * (size_t)pack->bits);
        }
    }
    return sum;
}
