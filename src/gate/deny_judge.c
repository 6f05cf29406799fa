// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/deny_judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SECONDS_A_DAY = 86400 };

bool lat_date_parse(const char *text, size_t length, int64_t *days)
{
    int number[3] = { 0 };
    if (length < 10 || text[4] != '-' || text[7] != '-')
        return false;
    for (int i = 0; i < 10; i++) {
        if (i == 4 || i == 7)
            continue;
        if (text[i] < '0' || text[i] > '9')
            return false;
        int *n = &number[i < 4 ? 0 : i < 7 ? 1 : 2];
        *n = *n * 10 + text[i] - '0';
    }
    int64_t year = number[0], month = number[1], day = number[2];
    if (month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    // Days before 1 March of a year that begins in March; 719468 of them before 1970-01-01.
    year -= month <= 2;
    int64_t era = year / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    *days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    return true;
}

static const char *member(const struct lat_yaml_node *waiver, const char *key)
{
    const struct lat_yaml_node *n = lat_yaml_get(waiver, key);
    return n && n->kind == LAT_YAML_SCALAR ? n->text : NULL;
}

static bool is_ours(const struct lat_deny_judge *j, const struct lat_yaml_node *waiver)
{
    const char *leg = member(waiver, "leg");
    return leg && strcmp(leg, j->result->leg) == 0;
}

static bool is_expired(const struct lat_deny_judge *j, const struct lat_yaml_node *waiver)
{
    int64_t days;
    const char *until = member(waiver, "until");
    return !until || !lat_date_parse(until, strlen(until), &days) || j->now >= (days + 1) * SECONDS_A_DAY;
}

// A key that the waiver has must agree; at least one it must have.
static bool covers(const struct lat_yaml_node *waiver, const char *code, const struct lat_deny_place *place)
{
    const struct { const char *key, *value; } ties[] = { { "code", code }, { "path", place->path }, { "anchor", place->anchor } };
    bool tied = false;
    for (size_t i = 0; i < 3; i++) {
        const char *wanted = member(waiver, ties[i].key);
        if (wanted && (!ties[i].value || strcmp(wanted, ties[i].value) != 0))
            return false;
        tied = tied || wanted;
    }
    return tied;
}

static const struct lat_yaml_node *find_waiver(struct lat_deny_judge *j, const char *code, const struct lat_deny_place *place)
{
    size_t i = 0;
    const struct lat_yaml_node *w = j->policy->waivers ? j->policy->waivers->child : NULL;
    for (; w && i < LAT_DENY_WAIVERS_MAX; w = w->next, i++)
        if (is_ours(j, w) && !is_expired(j, w) && covers(w, code, place)) {
            j->matched[i]++;
            return w;
        }
    return NULL;
}

void lat_deny_find(struct lat_deny_judge *judge, unsigned check, enum lat_leg_state state, const char *code,
                   struct lat_deny_place place, const char *fix, const char *message, ...)
{
    char text[1200];
    va_list arguments;
    if (!(judge->checks & check))
        return;
    va_start(arguments, message);
    vsnprintf(text, sizeof text, message, arguments);
    va_end(arguments);
    const struct lat_yaml_node *w = state >= LAT_LEG_UNMEASURABLE ? find_waiver(judge, code, &place) : NULL;
    if (w) {
        lat_leg_find(judge->result, LAT_LEG_WARN, code, place.path, place.line, fix, "%s [waived until %s by %s: %s]", text,
                     member(w, "until"), member(w, "owner"), member(w, "reason"));
        return;
    }
    if (state >= LAT_LEG_UNMEASURABLE)
        judge->failed |= check;
    lat_leg_find(judge->result, state, code, place.path, place.line, fix, "%s", text);
}

void lat_deny_judge_close(struct lat_deny_judge *judge)
{
    const struct lat_yaml_node *w = judge->policy->waivers ? judge->policy->waivers->child : NULL;
    const char *file = judge->file;
    if (judge->checks != LAT_DENY_ALL)
        return;
    for (size_t i = 0; w && i < LAT_DENY_WAIVERS_MAX; w = w->next, i++) {
        if (!is_ours(judge, w))
            continue;
        if (is_expired(judge, w))
            lat_leg_find(judge->result, LAT_LEG_FAIL, "W701", file, w->line,
                         "repair what it covers, or have its owner renew it with a reason",
                         "the waiver ended on %s (%s)", member(w, "until"), member(w, "owner"));
        else if (judge->matched[i] == 0)
            lat_leg_find(judge->result, LAT_LEG_FAIL, "W701", file, w->line, "remove it", "the waiver covers no finding (%s)",
                         member(w, "reason"));
        else if (judge->matched[i] > 1 && !member(w, "path") && !member(w, "anchor"))
            lat_leg_find(judge->result, LAT_LEG_FAIL, "W701", file, w->line, "tie it to one 'path' or 'anchor'",
                         "the waiver covers %zu findings; it must not cover more than was looked at", judge->matched[i]);
    }
}
