// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "core/utf8.h"

enum { MESSAGE_MAX = 4096, ERRORS_EXTRA = 100 };

const char *lat_leg_state_name(enum lat_leg_state state)
{
    static const char *const names[] = {
#define LAT_LEG_STATE_NAME(name) #name,
        LAT_LEG_STATE_MAP(LAT_LEG_STATE_NAME)
#undef LAT_LEG_STATE_NAME
    };
    // A state that is none must never read as a good one.
    return (size_t)state < LAT_LEG_STATE_COUNT ? names[state] : "ERROR";
}

bool lat_leg_state_parse(const char *name, enum lat_leg_state *out)
{
    for (int i = 0; i < LAT_LEG_STATE_COUNT; i++)
        if (strcmp(name, lat_leg_state_name((enum lat_leg_state)i)) == 0) {
            *out = (enum lat_leg_state)i;
            return true;
        }
    return false;
}

void lat_leg_result_init(struct lat_leg_result *result, const char *leg)
{
    *result = (struct lat_leg_result){ .leg = leg, .state = LAT_LEG_PASS, .population_unit = "items" };
    lat_arena_init(&result->arena, 64u << 20);
    size_t size = strlen(leg) + 1;
    char *copy = lat_arena_new(&result->arena, size, 1);
    if (copy)
        result->leg = memcpy(copy, leg, size);
    else
        result->state = LAT_LEG_ERROR;
}

void lat_leg_result_release(struct lat_leg_result *result)
{
    lat_mem_free(result->findings);
    json_decref(result->details);
    lat_arena_release(&result->arena);
    *result = (struct lat_leg_result){ .state = LAT_LEG_ERROR };
}

// One line of valid UTF-8: control bytes and bytes that are no UTF-8 become \xHH, a line feed "\n".
static const char *copy_line(struct lat_arena *arena, const char *text)
{
    struct lat_buf out;
    size_t length = strlen(text);
    char *copy = NULL;
    lat_buf_init(&out, 8 * (size_t)MESSAGE_MAX);
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t size = lat_utf8_decode(text + i, length - i, &code);
        // U+0080 to U+009F are control characters of terminals, too.
        if (size > 0 && code >= 0x20 && code != 0x7f && !(code >= 0x80 && code < 0xa0))
            lat_buf_add(&out, text + i, size);
        else if (text[i] == '\n')
            lat_buf_add_text(&out, "\\n");
        else
            for (size_t k = 0; k < (size ? size : 1); k++)
                lat_buf_addf(&out, "\\x%02x", (unsigned char)text[i + k]);
        i += size ? size : 1;
    }
    if (!out.failed && (copy = lat_arena_new(arena, out.length + 1, 1)) && out.length)
        memcpy(copy, out.bytes, out.length);
    lat_buf_release(&out);
    return copy;
}

const char *lat_leg_text(struct lat_leg_result *result, const char *text) { return copy_line(&result->arena, text); }

static const char *copy_raw(struct lat_arena *arena, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = lat_arena_new(arena, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

static bool has_room(struct lat_leg_result *result)
{
    if (result->finding_count < result->finding_capacity)
        return true;
    size_t capacity = result->finding_capacity ? 2 * result->finding_capacity : 16;
    struct lat_finding *grown = lat_mem_grow(result->findings, capacity, sizeof *grown);
    if (!grown)
        return false;
    result->findings = grown;
    result->finding_capacity = capacity;
    return true;
}

// vsnprintf may cut inside a character; a cut text ends with an ellipsis.
static void format_message(char *out, size_t size, const char *format, va_list args)
{
    int need = vsnprintf(out, size, format, args);
    if (need < 0)
        snprintf(out, size, "a message that cannot be written");
    else if ((size_t)need >= size) {
        size_t end = size - 4;
        while (end > 0 && ((unsigned char)out[end] & 0xc0) == 0x80)
            end--;
        memcpy(out + end, "...", 4);
    }
}

void lat_leg_find(struct lat_leg_result *result, enum lat_leg_state state, const char *code, const char *path, size_t line,
                  const char *fix, const char *message, ...)
{
    char text[MESSAGE_MAX];
    va_list args;
    result->state = lat_leg_state_worse(result->state, state);
    // Some room stays for what says that nothing was proven.
    if (result->finding_count >= LAT_LEG_FINDINGS_MAX + (state == LAT_LEG_ERROR ? ERRORS_EXTRA : 0u)) {
        result->findings_dropped++;
        return;
    }
    va_start(args, message);
    format_message(text, sizeof text, message, args);
    va_end(args);
    struct lat_finding f = { .state = state, .line = line };
    f.code = copy_line(&result->arena, code);
    f.message = copy_line(&result->arena, text);
    f.path = path ? copy_raw(&result->arena, path) : NULL;
    f.fix = fix ? copy_line(&result->arena, fix) : NULL;
    if (!f.code || !f.message || (path && !f.path) || (fix && !f.fix) || !has_room(result)) {
        result->state = LAT_LEG_ERROR;
        result->findings_dropped++;
        return;
    }
    result->findings[result->finding_count++] = f;
}

void lat_leg_result_close(struct lat_leg_result *result)
{
    uint64_t least = result->population_min;
    // Nobody named a minimum: nothing looked at is still nothing proven.
    if (least == 0 && result->state < LAT_LEG_UNMEASURABLE)
        least = 1;
    if (result->population < least)
        lat_leg_find(result, LAT_LEG_ERROR, "V205", NULL, 0, "find out why so little ran; lower the minimum only when the project shrank",
                     "%llu %s looked at, at least %llu are needed", (unsigned long long)result->population, result->population_unit,
                     (unsigned long long)least);
}
