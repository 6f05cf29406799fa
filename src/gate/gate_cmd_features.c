// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate features plan`, `run` and `explain`: which assignments of build options a leg looks at, looking at them,
// and what its constraints mean.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "gate/covering.h"
#include "gate/gate_cmd.h"
#include "gate/gate_place.h"
#include "gate/leg_features.h"

struct features_values {
    const char *policy, *work, *leg, *mode, *partition;
    bool json, no_tests, verbose;
};

struct session {
    const struct features_values *v;
    struct lat_gate_place place;
    struct lat_policy policy;
    const struct lat_policy_leg *leg;
    struct lat_features_config config;
    bool has_config;
    struct lat_features_choice choice;
    struct lat_buf out;
};

#define AT(field) offsetof(struct features_values, field)

static enum lat_status read_partition(struct session *s, struct lat_error *error)
{
    const char *text = s->v->partition;
    char *end = NULL;
    s->choice = (struct lat_features_choice){ .mode = s->v->mode, .part = 1, .parts = 1, .no_tests = s->v->no_tests };
    if (!text)
        return LAT_OK;
    unsigned long part = strtoul(text, &end, 10), parts = *end == '/' ? strtoul(end + 1, &end, 10) : 0;
    if (*text < '0' || *text > '9' || *end || part < 1 || part > parts || parts > 100000)
        return lat_error_set(error, LAT_ARGUMENT, "--partition: expected I/N with 1 <= I <= N, not '%.40s'", text);
    s->choice.part = part;
    s->choice.parts = parts;
    return LAT_OK;
}

static enum lat_status find_leg(struct session *s, struct lat_error *error)
{
    for (size_t i = 0; i < s->policy.leg_count; i++) {
        const struct lat_policy_leg *leg = &s->policy.legs[i];
        if (strcmp(leg->kind, "features") != 0 || (s->v->leg && strcmp(s->v->leg, leg->name) != 0))
            continue;
        if (s->leg)
            return lat_error_set(error, LAT_ARGUMENT, "%s has several legs of kind 'features': choose one with --leg", s->place.policy);
        s->leg = leg;
    }
    return s->leg ? LAT_OK
                  : lat_error_set(error, LAT_ARGUMENT, "%s has no leg of kind 'features'%s%.80s", s->place.policy,
                                  s->v->leg ? " named " : "", s->v->leg ? s->v->leg : "");
}

static enum lat_status open_session(struct session *s, struct lat_error *error)
{
    LAT_TRY(read_partition(s, error));
    LAT_TRY(lat_gate_place_find(&s->place, s->v->policy, s->v->work, error));
    LAT_TRY(lat_policy_read(&s->policy, s->place.policy, error));
    LAT_TRY(find_leg(s, error));
    LAT_TRY(lat_features_config_read(&s->config, &s->policy, s->leg, error));
    s->has_config = true;
    if (s->v->mode && !lat_features_mode_parse(s->v->mode, &s->config.mode))
        return lat_error_set(error, LAT_ARGUMENT, "--mode: expected exhaustive-tu, t3, t2, each or list, not '%.40s'", s->v->mode);
    return LAT_OK;
}

static void add_coverage(struct lat_buf *out, const struct lat_features_config *c, const struct lat_features_plan *p)
{
    if (p->mode == LAT_FEATURES_EXHAUSTIVE)
        lat_buf_addf(out, "all %zu legal assignments", p->total);
    else if (p->tuples)
        lat_buf_addf(out, "all %zu legal %s of values in %zu assignments", p->tuples, p->mode == LAT_FEATURES_T2 ? "pairs" : "triples",
                     p->total);
    else
        lat_buf_addf(out, "%zu assignments: %s", p->total, p->mode == LAT_FEATURES_EACH ? "each value once" : "the named sets");
    if (p->legal && p->mode != LAT_FEATURES_EXHAUSTIVE)
        lat_buf_addf(out, ", of %zu that are legal", p->legal);
    if (p->fell_back)
        lat_buf_addf(out, " (more than %llu are legal: mode %s)", (unsigned long long)c->max_assignments, lat_features_mode_name(p->mode));
}

static void add_plan_json(struct session *s, const struct lat_features_plan *p)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < p->rows.count; i++) {
        json_t *row = json_object();
        for (size_t o = 0; o < s->config.model.option_count; o++)
            json_object_set_new(row, s->config.model.options[o].name,
                                json_string(s->config.model.options[o].values[p->rows.items[i].value[o]]));
        json_array_append_new(rows, row);
    }
    json_t *root = json_pack("{s:s,s:I,s:I,s:b,s:I,s:I,s:o}", "mode", lat_features_mode_name(p->mode), "legal", (json_int_t)p->legal,
                             "total",
                             (json_int_t)p->total, "fell_back", p->fell_back, "combinations", (json_int_t)p->tuples, "excluded",
                             (json_int_t)p->excluded, "assignments", rows);
    char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    lat_buf_addf(&s->out, "%s\n", text ? text : "");
    s->out.failed = s->out.failed || !text;
    free(text);
    json_decref(root);
}

static enum lat_status plan(struct session *s, struct lat_error *error)
{
    struct lat_features_plan p;
    LAT_TRY(lat_features_plan_make(&p, &s->config, s->choice.part, s->choice.parts, error));
    if (s->v->json)
        add_plan_json(s, &p);
    for (size_t i = 0; i < p.rows.count && !s->v->json; i++) {
        lat_feature_describe(&s->config.model, &p.rows.items[i], false, &s->out);
        lat_buf_add_char(&s->out, '\n');
    }
    if (!s->v->json) {
        lat_buf_addf(&s->out, "%zu to prove: ", p.rows.count);
        add_coverage(&s->out, &s->config, &p);
        lat_buf_add_char(&s->out, '\n');
    }
    lat_features_plan_release(&p);
    return LAT_OK;
}

static void explain_model(struct session *s)
{
    const struct lat_feature_model *m = &s->config.model;
    lat_buf_addf(&s->out, "leg %s: %zu options\n", s->leg->name, m->option_count);
    for (size_t i = 0; i < m->option_count; i++) {
        lat_buf_addf(&s->out, "  %-24s", m->options[i].name);
        for (size_t v = 0; v < m->options[i].value_count; v++)
            lat_buf_addf(&s->out, " %s%s", m->options[i].values[v], v == m->options[i].preset ? " (default)" : "");
        lat_buf_add_char(&s->out, '\n');
    }
    for (size_t i = 0; i < m->rule_count; i++)
        lat_buf_addf(&s->out, "  line %zu: %s %s%s%s%s\n", m->rules[i].line, m->rules[i].message ? "forbidden:" : "must hold:",
                     m->rules[i].text, m->rules[i].message ? ", refused with '" : "", m->rules[i].message ? m->rules[i].message : "",
                     m->rules[i].message ? "'" : "");
    for (size_t i = 0; i < m->set_count; i++) {
        lat_buf_addf(&s->out, "  set %s: ", m->sets[i].name);
        lat_feature_describe(m, &m->sets[i].a, true, &s->out);
        lat_buf_add_text(&s->out, m->sets[i].repaired ? " (as near as the constraints let it)\n" : "\n");
    }
}

static enum lat_status explain(struct session *s, struct lat_error *error)
{
    static const enum lat_features_mode modes[] = { LAT_FEATURES_LIST, LAT_FEATURES_EACH, LAT_FEATURES_T2, LAT_FEATURES_T3,
                                                    LAT_FEATURES_EXHAUSTIVE };
    enum lat_features_mode chosen = s->config.mode;
    explain_model(s);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct lat_features_plan p;
        s->config.mode = modes[i];
        LAT_TRY(lat_features_plan_make(&p, &s->config, 1, 1, error));
        lat_buf_addf(&s->out, "%s %-14s ", modes[i] == chosen ? "*" : " ", lat_features_mode_name(modes[i]));
        add_coverage(&s->out, &s->config, &p);
        lat_buf_add_char(&s->out, '\n');
        lat_features_plan_release(&p);
    }
    return LAT_OK;
}

static void add_finding(struct lat_buf *out, const struct lat_finding *f, bool color)
{
    lat_buf_addf(out, "  %s%s %s%s ", lat_gate_color_of(f->state, color), lat_leg_state_name(f->state), f->code, lat_gate_color_end(color));
    for (const char *c = f->path ? f->path : ""; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            lat_buf_addf(out, "\\x%02x", (unsigned char)*c);
        else
            lat_buf_add_char(out, *c);
    lat_buf_addf(out, "%s%s\n", f->path ? ": " : "", f->message);
    if (f->fix)
        lat_buf_addf(out, "       fix: %s\n", f->fix);
}

static double number(const json_t *totals, const char *key) { return json_number_value(json_object_get(totals, key)); }

static void add_result(struct session *s, const struct lat_leg_result *r)
{
    bool color = lat_gate_color(stdout);
    const json_t *t = r->details ? json_object_get(r->details, "totals") : NULL;
    if (s->v->json) {
        char *text = json_dumps(r->details, JSON_INDENT(1));
        lat_buf_addf(&s->out, "%s\n", text ? text : "{}");
        free(text);
        return;
    }
    lat_buf_addf(&s->out, "%s%s%s %s: ", lat_gate_color_of(r->state, color), lat_leg_state_name(r->state), lat_gate_color_end(color),
                 r->leg);
    if (t)
        lat_buf_addf(&s->out,
                     "%.0f of %.0f assignments configure; %.0f compilations stand for %.0f, %.0f links for %.0f; "
                     "configuring %.1f s, compiling %.1f s, linking %.1f s\n",
                     number(t, "configured"), number(t, "assignments"), number(t, "compilations"), number(t, "unit_occurrences"),
                     number(t, "links_distinct"), number(t, "link_occurrences"), number(t, "configure_seconds"), number(t,
                                                                      "compile_seconds"),
                     number(t, "link_seconds"));
    else
        lat_buf_add_text(&s->out, "nothing proven\n");
    if (r->passed + r->failed + r->skipped)
        lat_buf_addf(&s->out, "  tests: %llu passed, %llu failed, %llu skipped\n", (unsigned long long)r->passed,
                     (unsigned long long)r->failed,
                     (unsigned long long)r->skipped);
    for (size_t i = 0; i < r->finding_count; i++)
        add_finding(&s->out, &r->findings[i], color);
    if (r->details && json_object_get(r->details, "certificate"))
        lat_buf_addf(&s->out, "  certificate: %s; %.1f s\n", json_string_value(json_object_get(r->details, "certificate")), r->seconds);
}

static enum lat_status prove(struct session *s, int *code, struct lat_error *error)
{
    struct lat_gate_run run = { .root = s->place.root, .work = s->place.work, .policy = &s->policy, .verbose = s->v->verbose };
    struct lat_leg_result result;
    double start = lat_clock_seconds();
    lat_leg_result_init(&result, s->leg->name);
    result.population_min = s->leg->population_min;
    enum lat_status status = lat_features_run(&run, s->leg, &s->choice, &result, error);
    result.seconds = lat_clock_seconds() - start;
    if (status == LAT_OK) {
        lat_leg_result_close(&result);
        add_result(s, &result);
        *code = lat_gate_exit_of(result.state);
    }
    lat_leg_result_release(&result);
    return status;
}

static int run_any(int argc, char **argv, const struct lat_command *self)
{
    struct features_values values = { 0 };
    struct lat_operands operands;
    struct lat_error error = { 0 };
    int code = LAT_GATE_PASS;
    if (lat_options_parse(self, argc, argv, &values, &operands, &error) != LAT_OK)
        return lat_gate_complain(&error);
    struct session *s = lat_mem_new(1, sizeof *s);
    if (!s)
        return LAT_GATE_CANNOT_JUDGE;
    s->v = &values;
    lat_buf_init(&s->out, 1 << 28);
    enum lat_status status = open_session(s, &error);
    if (status == LAT_OK)
        status = strcmp(self->name, "features run") == 0 ? prove(s, &code, &error)
                 : strcmp(self->name, "features plan") == 0 ? plan(s, &error) : explain(s, &error);
    if (status != LAT_OK)
        code = lat_gate_complain(&error);
    else if (!lat_gate_print(&s->out))
        code = LAT_GATE_CANNOT_JUDGE;
    if (s->has_config)
        lat_features_config_release(&s->config);
    lat_policy_release(&s->policy);
    lat_buf_release(&s->out);
    lat_mem_free(s);
    return code;
}

#define WHICH                                                                                                              \
    { "--policy", "FILE", "the policy (gate.yaml here or in the nearest folder above)", LAT_OPTION_TEXT, AT(policy) },     \
        { "--leg", "LEG", "the leg, when there are several of kind features", LAT_OPTION_TEXT, AT(leg) }
#define HOW                                                                                                                \
    { "--mode", "MODE", "exhaustive-tu, t3, t2, each or list, instead of the leg's", LAT_OPTION_TEXT, AT(mode) },         \
        { "--partition", "I/N", "every N-th assignment from the I-th on", LAT_OPTION_TEXT, AT(partition) },              \
        { "--json", NULL, "as JSON", LAT_OPTION_FLAG, AT(json) }

static const struct lat_option explain_options[] = { WHICH };
static const struct lat_option plan_options[] = { WHICH, HOW };
static const struct lat_option run_options[] = {
    WHICH,
    HOW,
    { "--work", "DIR", "where logs and evidence go (.gate beside the policy)", LAT_OPTION_TEXT, AT(work) },
    { "--no-tests", NULL, "prove that it builds, run no tests", LAT_OPTION_FLAG, AT(no_tests) },
    { "--verbose", NULL, "progress on standard error", LAT_OPTION_FLAG, AT(verbose) },
};

const struct lat_command lat_gate_cmd_features_explain = {
    .program = "lattice-gate",
    .name = "features explain",
    .operands = "",
    .summary = "options, constraints and sets of a features leg, and what each mode would look at",
    .options = explain_options,
    .option_count = sizeof explain_options / sizeof explain_options[0],
    .run = run_any,
};

const struct lat_command lat_gate_cmd_features_plan = {
    .program = "lattice-gate",
    .name = "features plan",
    .operands = "",
    .summary = "the assignments of build options that a features leg proves, and what they cover",
    .options = plan_options,
    .option_count = sizeof plan_options / sizeof plan_options[0],
    .run = run_any,
};

const struct lat_command lat_gate_cmd_features_run = {
    .program = "lattice-gate",
    .name = "features run",
    .operands = "",
    .summary = "proves that every planned assignment builds: each distinct unit and link once",
    .details = "The certificate, JSON, lies in DIR/features/LEG. With --partition, forbidden assignments and tests belong to part 1.\n",
    .options = run_options,
    .option_count = sizeof run_options / sizeof run_options[0],
    .run = run_any,
};
