// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/gate_verdict_table.h"

#include <string.h>

#include "core/error.h"
#include "core/json.h"
#include "gate/gate_cmd.h"
#include "gate/report.h"

enum lat_status lat_verdict_of(struct lat_verdict *verdict, const struct lat_plan *plan, const struct lat_leg_evidence_set *set,
                               const struct lat_second_witness *second, size_t second_count, struct lat_error *error)
{
    struct lat_witness *witnesses = lat_mem_new(set->count + 1, sizeof *witnesses);
    if (!witnesses)
        return lat_error_memory(error, "the verdict");
    for (size_t i = 0; i < set->count; i++) {
        const struct lat_leg_evidence *e = &set->items[i];
        witnesses[i] = (struct lat_witness){ .leg = e->result.leg, .state = e->result.state, .process_status = e->result.process_status,
                                             .population = e->result.population, .population_min = e->result.population_min,
                                             .nonce_fits = strcmp(e->nonce, plan->nonce) == 0,
                                             .tree_fits = strcmp(e->tree, plan->tree) == 0, .attempt_fits = e->attempt == plan->attempt };
    }
    lat_verdict_join(verdict, plan, witnesses, set->count, set->unreadable_count, second, second_count);
    lat_mem_free(witnesses);
    return LAT_OK;
}

static const struct lat_leg_result *result_of(const struct lat_leg_evidence_set *set, const char *leg)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].result.leg, leg) == 0)
            return &set->items[i].result;
    return NULL;
}

static const struct lat_finding *worst_finding(const struct lat_leg_result *r)
{
    const struct lat_finding *worst = NULL;
    for (size_t i = 0; r && i < r->finding_count; i++)
        if (!worst || r->findings[i].state > worst->state)
            worst = &r->findings[i];
    return worst && worst->state > LAT_LEG_INFO ? worst : NULL;
}

static void add_finding(struct lat_buf *out, const struct lat_finding *f)
{
    lat_buf_addf(out, "  %s ", f->code);
    lat_report_add(out, f->path, LAT_REPORT_NAME_MAX, LAT_REPORT_PLAIN);
    lat_buf_add_text(out, f->path ? ": " : "");
    lat_report_add(out, f->message, 160, LAT_REPORT_PLAIN);
}

static void add_row(struct lat_buf *out, const struct lat_verdict_leg *leg, const struct lat_leg_result *r, bool color)
{
    const struct lat_finding *worst = worst_finding(r);
    lat_buf_addf(out, "%s%-12s%s %-18s %-8s", lat_gate_color_of(leg->state, color), lat_leg_state_name(leg->state),
                 lat_gate_color_end(color), leg->plan->name, leg->plan->required ? "required" : "informs");
    if (r)
        lat_buf_addf(out, " %7llu %-10s %7.1f s", (unsigned long long)r->population, r->population_unit, r->seconds);
    if (leg->code)
        lat_buf_addf(out, "  %s %s", leg->code, leg->why);
    else if (worst)
        add_finding(out, worst);
    else if (!r)
        lat_buf_addf(out, "  %s", leg->plan->reason);
    lat_buf_add_char(out, '\n');
}

void lat_verdict_table(struct lat_buf *out, const struct lat_verdict *verdict, const struct lat_leg_evidence_set *set, bool color)
{
    for (size_t i = 0; i < verdict->count; i++)
        add_row(out, &verdict->legs[i], result_of(set, verdict->legs[i].plan->name), color);
    for (size_t i = 0; i < set->unreadable_count; i++)
        lat_buf_addf(out, "ERROR        E302 %s\n", set->unreadable[i]);
    if (verdict->unknown)
        lat_buf_addf(out, "ERROR        V202 %zu results are of legs that the plan does not know\n", verdict->unknown);
    lat_buf_addf(out, "verdict: %s%s%s\n", lat_gate_color_of(verdict->state, color), lat_verdict_is_green(verdict) ? "PASS"
                 : lat_leg_state_name(verdict->state), lat_gate_color_end(color));
}

void lat_verdict_json(struct lat_buf *out, const struct lat_verdict *verdict, const struct lat_plan *plan)
{
    lat_buf_addf(out, "{\"schema\":\"lattice-gate-verdict-1\",\"nonce\":\"%s\",\"tree\":\"%s\",\"wide\":%s,", plan->nonce, plan->tree,
                 plan->wide ? "true" : "false");
    lat_buf_addf(out, "\"state\":\"%s\",\"green\":%s,\"legs\":[", lat_leg_state_name(verdict->state),
                 lat_verdict_is_green(verdict) ? "true" : "false");
    for (size_t i = 0; i < verdict->count; i++) {
        const struct lat_verdict_leg *l = &verdict->legs[i];
        lat_buf_add_text(out, i ? ",{\"leg\":" : "{\"leg\":");
        lat_json_add_string(out, l->plan->name, strlen(l->plan->name));
        lat_buf_addf(out, ",\"state\":\"%s\",\"required\":%s,\"needed\":%s,\"code\":", lat_leg_state_name(l->state),
                     l->plan->required ? "true" : "false", l->plan->needed ? "true" : "false");
        if (l->code)
            lat_json_add_string(out, l->code, strlen(l->code));
        else
            lat_buf_add_text(out, "null");
        lat_buf_add_char(out, '}');
    }
    lat_buf_addf(out, "],\"unknown\":%zu,\"unreadable\":%zu}\n", verdict->unknown, verdict->unreadable);
}
