// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// `lattice-gate deny [CHECK...]` and `lattice-gate deny lock`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/error.h"
#include "gate/deny_judge.h"
#include "gate/gate_cmd.h"
#include "gate/gate_codes.h"
#include "gate/gate_place.h"
#include "gate/leg_deny.h"
#include "gate/leg_run.h"

struct deny_values {
    const char *policy, *work, *leg, *spdx, *cyclonedx;
    bool json;
};

#define AT(field) offsetof(struct deny_values, field)

static const struct lat_option deny_options[] = {
    { "--policy", "FILE", "the policy (gate.yaml, here or in a folder above)", LAT_OPTION_TEXT, AT(policy) },
    { "--work", "DIR", "where evidence goes (.gate beside the policy)", LAT_OPTION_TEXT, AT(work) },
    { "--leg", "NAME", "which leg, when the policy has several", LAT_OPTION_TEXT, AT(leg) },
    { "--spdx", "FILE", "where the SPDX 2.3 document goes (DIR/deny/sbom.spdx.json)", LAT_OPTION_TEXT, AT(spdx) },
    { "--cyclonedx", "FILE", "where the CycloneDX 1.5 document goes (DIR/deny/sbom.cdx.json)", LAT_OPTION_TEXT, AT(cyclonedx) },
    { "--json", NULL, "components and findings as JSON", LAT_OPTION_FLAG, AT(json) },
};

struct session {
    struct lat_gate_place place;
    struct lat_policy policy;
    struct lat_leg_result result;
};

static const char *label(enum lat_leg_state state)
{
    static const char *const labels[] = { [LAT_LEG_INFO] = "info", [LAT_LEG_WARN] = "warning", [LAT_LEG_UNMEASURABLE] = "not measurable",
                                          [LAT_LEG_FAIL] = "error", [LAT_LEG_ERROR] = "cannot judge" };
    return state >= LAT_LEG_INFO && state <= LAT_LEG_ERROR ? labels[state] : "note";
}

// Bytes of a path that would break a line.
static void add_path(struct lat_buf *out, const char *path)
{
    for (; *path; path++)
        if ((unsigned char)*path < 0x20 || *path == 0x7f)
            lat_buf_addf(out, "\\x%02x", (unsigned char)*path);
        else
            lat_buf_add_char(out, *path);
}

static bool is_first(const struct lat_leg_result *r, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(r->findings[k].code, r->findings[i].code) == 0)
            return false;
    return true;
}

// What, where, why, how to fix. The why of a code stands once.
static void add_finding(struct lat_buf *out, const struct lat_leg_result *r, size_t i, bool color)
{
    const struct lat_finding *f = &r->findings[i];
    const struct lat_gate_code *code = lat_gate_code_find(f->code);
    lat_buf_addf(out, "%s%s[%s]%s: %s\n", lat_gate_color_of(f->state, color), label(f->state), f->code, lat_gate_color_end(color),
                 f->message);
    if (f->path) {
        lat_buf_add_text(out, "  --> ");
        add_path(out, f->path);
        if (f->line)
            lat_buf_addf(out, ":%zu", f->line);
        lat_buf_add_char(out, '\n');
    }
    if (code && f->state >= LAT_LEG_UNMEASURABLE && is_first(r, i)) {
        lat_buf_add_text(out, "  why: ");
        for (const char *c = code->why; *c; c++)
            lat_buf_add_char(out, *c == '\n' ? ' ' : *c);
        lat_buf_add_char(out, '\n');
    }
    if (f->fix)
        lat_buf_addf(out, "  fix: %s\n", f->fix);
}

static long long count_of(json_t *measured, const char *key) { return (long long)json_integer_value(json_object_get(measured, key)); }

static void add_text(struct lat_buf *out, const struct lat_leg_result *r, bool color)
{
    size_t failures = 0, warnings = 0;
    for (size_t i = 0; i < r->finding_count; i++) {
        add_finding(out, r, i, color);
        failures += r->findings[i].state >= LAT_LEG_UNMEASURABLE;
        warnings += r->findings[i].state == LAT_LEG_WARN;
    }
    json_t *m = json_object_get(r->details, "measured");
    lat_buf_addf(out, "%s%s%s %s: %llu %s", lat_gate_color_of(r->state, color), lat_leg_state_name(r->state),
                 lat_gate_color_end(color), r->leg,
                 (unsigned long long)r->population, r->population_unit);
    if (m)
        lat_buf_addf(out, " in %lld compilations, %lld links and %lld files of the tree", count_of(m, "compilations"), count_of(m, "links"),
                     count_of(m, "tree_files"));
    lat_buf_addf(out, "; %zu errors, %zu warnings, %.1f s\n", failures, warnings, r->seconds);
}

static void add_json(struct lat_buf *out, const struct lat_leg_result *r)
{
    json_t *findings = json_array();
    for (size_t i = 0; i < r->finding_count; i++) {
        const struct lat_finding *f = &r->findings[i];
        struct lat_buf path;
        lat_buf_init(&path, 1 << 16);
        add_path(&path, f->path ? f->path : "");
        json_t *item = json_pack("{s:s, s:s, s:s?, s:I, s:s, s:s?}", "code", f->code, "state", lat_leg_state_name(f->state), "path",
                                 f->path && !path.failed ? path.bytes : NULL, "line", (json_int_t)f->line, "message", f->message,
                                 "fix", f->fix);
        json_array_append_new(findings, item ? item : json_null());
        lat_buf_release(&path);
    }
    json_t *root = json_pack("{s:s, s:s, s:I, s:O?, s:o}", "leg", r->leg, "state", lat_leg_state_name(r->state), "population",
                             (json_int_t)r->population,
                             "details", r->details, "findings", findings);
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    lat_buf_add_text(out, text ? text : "");
    lat_buf_add_char(out, '\n');
    out->failed = out->failed || !text;
    free(text);
    json_decref(root);
}

static enum lat_status choose_leg(const struct session *s, const char *kind, const char *name, const struct lat_policy_leg **out,
                                  struct lat_error *error)
{
    *out = NULL;
    for (size_t i = 0; i < s->policy.leg_count; i++) {
        const struct lat_policy_leg *leg = &s->policy.legs[i];
        if (strcmp(leg->kind, kind) != 0 || (name && strcmp(name, leg->name) != 0))
            continue;
        if (*out)
            return lat_error_set(error, LAT_ARGUMENT, "%s has several legs of kind '%s': choose one with --leg", s->place.policy, kind);
        *out = leg;
    }
    if (!*out && name)
        return lat_error_set(error, LAT_ARGUMENT, "%s has no leg '%.80s' of kind '%s'", s->place.policy, name, kind);
    return *out ? LAT_OK : lat_error_set(error, LAT_ARGUMENT, "%s has no leg of kind '%s'", s->place.policy, kind);
}

static enum lat_status read_checks(const struct lat_operands *names, unsigned *checks, bool *feeds, struct lat_error *error)
{
    static const struct { const char *name; unsigned bit; } known[] = {
        { "licenses", LAT_DENY_LICENSES }, { "bans", LAT_DENY_BANS }, { "sources", LAT_DENY_SOURCES }, { "integrity", LAT_DENY_INTEGRITY },
    };
    *checks = names->count ? 0 : LAT_DENY_ALL;
    *feeds = false;
    for (size_t i = 0; i < names->count; i++) {
        unsigned bit = 0;
        for (size_t k = 0; k < 4; k++)
            bit |= strcmp(names->items[i], known[k].name) == 0 ? known[k].bit : 0;
        *feeds = *feeds || strcmp(names->items[i], "feeds") == 0;
        if (!bit && strcmp(names->items[i], "feeds") != 0)
            return lat_error_set(error, LAT_ARGUMENT, "'%.80s' is no check: licenses, bans, sources, integrity or feeds is "
                                                      "expected", names->items[i]);
        *checks |= bit;
    }
    if (*feeds && *checks)
        return lat_error_set(error, LAT_ARGUMENT, "'feeds' is a leg of its own: ask for it alone");
    return LAT_OK;
}

static int print(struct session *s, const struct deny_values *v)
{
    struct lat_buf out;
    lat_buf_init(&out, 1 << 28);
    if (v->json)
        add_json(&out, &s->result);
    else
        add_text(&out, &s->result, lat_gate_color(stdout));
    int code = lat_gate_print(&out) ? lat_gate_exit_of(s->result.state) : LAT_GATE_CANNOT_JUDGE;
    lat_buf_release(&out);
    return code;
}

static enum lat_status judge(struct session *s, const struct deny_values *v, const struct lat_operands *names, bool lock,
                             struct lat_error *error)
{
    const struct lat_policy_leg *leg = NULL;
    bool feeds = false;
    struct lat_deny_options options = { .now = (int64_t)time(NULL), .write_lock = lock, .spdx = v->spdx, .cyclonedx = v->cyclonedx };
    double start = lat_clock_seconds();
    LAT_TRY(read_checks(names, &options.checks, &feeds, error));
    LAT_TRY(lat_gate_place_find(&s->place, v->policy, v->work, error));
    LAT_TRY(lat_policy_read(&s->policy, s->place.policy, error));
    LAT_TRY(lat_legs_check(&s->policy, error));
    LAT_TRY(choose_leg(s, feeds ? "feeds" : "deny", v->leg, &leg, error));
    struct lat_gate_run run = { .root = s->place.root, .work = s->place.work, .policy = &s->policy };
    lat_leg_result_release(&s->result);
    lat_leg_result_init(&s->result, leg->name);
    s->result.population_min = leg->population_min;
    LAT_TRY(feeds ? lat_feeds_run(&run, leg, options.now, &s->result, error) : lat_deny_run(&run, leg, &options, &s->result, error));
    s->result.seconds = lat_clock_seconds() - start;
    if (s->result.state < LAT_LEG_ERROR || s->result.population > 0)
        lat_leg_result_close(&s->result);
    return LAT_OK;
}

static int run(int argc, char **argv, const struct lat_command *self, bool lock)
{
    struct deny_values values = { 0 };
    struct lat_operands names;
    struct lat_error error = { 0 };
    if (lat_options_parse(self, argc, argv, &values, &names, &error) != LAT_OK)
        return lat_gate_complain(&error);
    struct session *s = lat_mem_new(1, sizeof *s);
    if (!s)
        return LAT_GATE_CANNOT_JUDGE;
    lat_leg_result_init(&s->result, "deny");
    int code = judge(s, &values, &names, lock, &error) == LAT_OK ? print(s, &values) : lat_gate_complain(&error);
    // The lock was written, whatever remains to be done; only when nothing could be seen it was not.
    if (lock && code == LAT_GATE_FAIL)
        code = LAT_GATE_PASS;
    lat_leg_result_release(&s->result);
    lat_policy_release(&s->policy);
    lat_mem_free(s);
    return code;
}

static int run_deny(int argc, char **argv, const struct lat_command *self) { return run(argc, argv, self, false); }
static int run_lock(int argc, char **argv, const struct lat_command *self) { return run(argc, argv, self, true); }

const struct lat_command lat_gate_cmd_deny = {
    .program = "lattice-gate",
    .name = "deny",
    .operands = "[licenses|bans|sources|integrity|feeds]...",
    .operands_max = LAT_OPERANDS_MAX,
    .summary = "what the project stands on, against its lock and its policy",
    .details = "Components are found by what the build reads, links and includes, and in the tree. Without a check all but feeds\n"
               "(advisories, a leg of its own) are run. Writes bills of materials as SPDX 2.3 and CycloneDX 1.5.\n",
    .options = deny_options,
    .option_count = sizeof deny_options / sizeof deny_options[0],
    .run = run_deny,
};

const struct lat_command lat_gate_cmd_deny_lock = {
    .program = "lattice-gate",
    .name = "deny lock",
    .operands = "",
    .summary = "writes the lock file of the components; to be read and committed",
    .details = "Prints what `deny` would find besides. Exit status 0 when the lock was written.\n",
    .options = deny_options,
    .option_count = sizeof deny_options / sizeof deny_options[0],
    .run = run_lock,
};
