// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/deny_checks.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "gate/fetch_scan.h"
#include "gate/glob.h"

static struct lat_deny_place place_of(const struct lat_dep *d) { return (struct lat_deny_place){ d->place, d->line, d->name }; }

// Lists that may allow a term for one component.
struct allowance {
    struct lat_deny_licenses *lists[64];
    struct lat_deny_exception *exceptions[64]; // the one a list belongs to, or NULL
    size_t count;
};

static void collect_allowance(struct allowance *a, const struct lat_dep *d, struct lat_deny_policy *p)
{
    a->count = 0;
    a->lists[a->count] = &p->allow;
    a->exceptions[a->count++] = NULL;
    // Shared only: nothing of the component becomes part of ours, but what headers bring along.
    if ((d->linkage & LAT_LINK_SHARED) && !(d->linkage & (LAT_LINK_STATIC | LAT_LINK_SOURCE))) {
        a->lists[a->count] = &p->allow_shared;
        a->exceptions[a->count++] = NULL;
    }
    for (size_t i = 0; i < p->exception_count && a->count < 64; i++)
        if (strcmp(p->exceptions[i].name, d->name) == 0) {
            a->lists[a->count] = &p->exceptions[i].allow;
            a->exceptions[a->count++] = &p->exceptions[i];
        }
}

// Is the term allowed? Marks every entry that says so (two exceptions may name one licence; both hold).
static bool allows(const struct allowance *a, const struct lat_spdx_term *term, bool mark)
{
    bool allowed = false;
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < a->lists[i]->count; k++) {
            struct lat_deny_license *l = &a->lists[i]->items[k];
            if (!lat_spdx_term_equal(&l->spdx.terms[0], term))
                continue;
            allowed = true;
            l->used = l->used || mark;
            if (mark && a->exceptions[i])
                a->exceptions[i]->used = true;
        }
    return allowed;
}

static void refuse(const struct lat_dep *d, const struct lat_spdx *spdx, size_t offending, struct lat_deny_judge *judge)
{
    struct lat_buf part, how;
    lat_buf_init(&part, 1 << 16);
    lat_buf_init(&how, 200);
    if (spdx->kind == LAT_SPDX_EXPRESSION)
        lat_spdx_print_node(&part, spdx, offending);
    else
        lat_buf_add_text(&part, d->license);
    lat_link_print(&how, d->linkage);
    lat_deny_find(judge, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D610", place_of(d),
                  "replace the component, or allow the licence: under 'licenses: allow' for all, under 'licenses: exceptions' for "
                  "this one with a reason",
                  "'%s' is under '%s' (%s), and of that '%s' is not allowed here (%s)", d->name, d->license,
                  d->license_from ? d->license_from : "?",
                  part.failed ? "?" : part.bytes, how.failed ? "?" : how.bytes);
    lat_buf_release(&part);
    lat_buf_release(&how);
}

static void find_unlicensed(const struct lat_dep *d, struct lat_deny_judge *judge)
{
    char fix[900];
    if (d->origin == LAT_DEP_SYSTEM && d->license_file_count)
        snprintf(fix, sizeof fix, "read %s; then, under 'licenses: clarify': {name: %s, license: <SPDX>, reason: <why>, files: "
                                  "[{path: %s, sha256: %s}]}",
                 d->license_files[0].path, d->name, d->license_files[0].path, d->license_files[0].sha256);
    else if (d->origin == LAT_DEP_FETCHED && (d->revision || d->digest))
        snprintf(fix, sizeof fix, "read its licence; then, under 'licenses: clarify': {name: %s, license: <SPDX>, reason: <why>, "
                                  "revision: %s}", d->name,
                 d->is_git ? d->revision : d->digest);
    else
        snprintf(fix, sizeof fix, "name 'license' and 'license_files' where it is declared");
    lat_deny_find(judge, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D601", place_of(d), fix, "'%s' has no known licence: %s", d->name,
                  d->license_problem ? d->license_problem : "nothing says what it is");
}

// An allowed licence that is the tree's own is not allowed for nothing.
static void mark_own(struct lat_deny_policy *policy)
{
    struct lat_spdx own;
    const char *text = policy->tree_license;
    if (!text || lat_spdx_parse(&own, text, strlen(text), NULL) != LAT_OK)
        return;
    for (size_t t = 0; t < own.term_count; t++)
        for (size_t i = 0; i < policy->allow.count; i++)
            if (lat_spdx_term_equal(&policy->allow.items[i].spdx.terms[0], &own.terms[t]))
                policy->allow.items[i].used = true;
    lat_spdx_release(&own);
}

enum lat_status lat_deny_check_licenses(const struct lat_inventory *inventory, struct lat_deny_policy *policy, struct lat_deny_judge *judge,
                                        struct lat_error *error)
{
    mark_own(policy);
    for (size_t i = 0; i < inventory->count; i++) {
        const struct lat_dep *d = &inventory->deps[i];
        struct lat_spdx spdx;
        struct lat_spdx_verdict verdict;
        struct allowance allowance;
        uint64_t allowed = 0;
        if (d->platform)
            continue;
        if (!d->license) {
            find_unlicensed(d, judge);
            continue;
        }
        LAT_TRY(lat_spdx_parse(&spdx, d->license, strlen(d->license), error));
        collect_allowance(&allowance, d, policy);
        for (size_t t = 0; t < spdx.term_count; t++)
            if (allows(&allowance, &spdx.terms[t], false))
                allowed |= UINT64_C(1) << t;
        enum lat_status status = lat_spdx_judge(&spdx, allowed, &verdict, error);
        for (size_t t = 0; status == LAT_OK && t < spdx.term_count; t++)
            if (verdict.chosen >> t & 1)
                (void)allows(&allowance, &spdx.terms[t], true);
        if (status == LAT_OK && spdx.kind != LAT_SPDX_EXPRESSION)
            lat_deny_find(judge, LAT_DENY_LICENSES, LAT_LEG_FAIL, "D601", place_of(d), "name its licence",
                          "'%s' says %s: that is no licence", d->name,
                          d->license);
        else if (status == LAT_OK && !verdict.satisfied)
            refuse(d, &spdx, verdict.offending, judge);
        lat_spdx_release(&spdx);
        LAT_TRY(status);
    }
    return LAT_OK;
}

static void check_ban(const struct lat_dep *d, const struct lat_deny_ban *b, struct lat_deny_judge *judge)
{
    char fix[400];
    struct lat_buf how;
    unsigned linkage = d->linkage & b->linkage;
    if (strcmp(b->name, d->name) != 0 || !linkage || (b->version && d->version && !lat_version_matches(b->version, d->version)))
        return;
    const char *user = d->targets.count ? d->targets.items[0] : "?";
    if (b->wrappers.count) {
        bool wrapped = d->targets.count > 0;
        for (size_t i = 0; i < d->targets.count; i++)
            if (!lat_text_list_holds(&b->wrappers, d->targets.items[i])) {
                wrapped = false;
                user = d->targets.items[i];
                break;
            }
        if (wrapped)
            return;
    }
    if (b->use_instead)
        snprintf(fix, sizeof fix, "use '%s' instead", b->use_instead);
    else if (b->wrappers.count)
        snprintf(fix, sizeof fix, "use it through %s only", b->wrappers.items[0]);
    else
        snprintf(fix, sizeof fix, "do without it");
    lat_buf_init(&how, 200);
    lat_link_print(&how, linkage);
    lat_deny_find(judge, LAT_DENY_BANS, LAT_LEG_FAIL, "D611", place_of(d), fix,
                  "'%s'%s%s is banned (gate.yaml:%zu: %s), and target '%s' uses it: %s", d->name,
                  d->version ? " " : "", d->version ? d->version : "", b->line, b->reason, user, how.failed ? "?" : how.bytes);
    lat_buf_release(&how);
}

static bool differs(const char *a, const char *b) { return a && b && strcmp(a, b) != 0; }

// The same library twice: of two origins or folders, in two ways of linking, or in two ABIs.
static void check_duplicates(const struct lat_inventory *inventory, enum lat_leg_state state, struct lat_deny_judge *judge)
{
    static const char fix[] = "keep one of them; remove the other, or say why both under 'bans: duplicates: off'";
    for (size_t i = 0; i < inventory->count; i++) {
        const struct lat_dep *d = &inventory->deps[i];
        for (size_t k = i + 1; k < inventory->count && strcmp(inventory->deps[k].name, d->name) == 0; k++) {
            const struct lat_dep *e = &inventory->deps[k];
            lat_deny_find(judge, LAT_DENY_BANS, state, "D612", place_of(e), fix, "'%s' is there twice: %s%s%s%s%s and %s%s%s%s%s", d->name,
                          lat_dep_origin_name(d->origin), d->path ? " in " : "", d->path ? d->path : "", d->version ? ", version " : "",
                          d->version ? d->version : "", lat_dep_origin_name(e->origin), e->path ? " in " : "", e->path ? e->path : "",
                          e->version ? ", version " : "", e->version ? e->version : "");
        }
        if (!d->platform && (d->linkage & LAT_LINK_SHARED) && (d->linkage & LAT_LINK_STATIC))
            lat_deny_find(judge, LAT_DENY_BANS, state, "D612", place_of(d), fix, "'%s' is linked both shared and static", d->name);
        for (size_t k = 0; k < d->sonames.count; k++) {
            const char *a = d->sonames.items[k], *b = k + 1 < d->sonames.count ? d->sonames.items[k + 1] : NULL;
            const char *end = strstr(a, ".so");
            if (!d->platform && b && end && strncmp(a, b, (size_t)(end - a) + 3) == 0 && differs(a, b))
                lat_deny_find(judge, LAT_DENY_BANS, state, "D612", place_of(d), fix, "'%s' is there in two versions: %s and %s",
                              d->name, a, b);
        }
    }
}

void lat_deny_check_bans(const struct lat_inventory *inventory, const struct lat_deny_policy *policy, struct lat_deny_judge *judge)
{
    for (size_t i = 0; i < inventory->count; i++)
        for (size_t k = 0; k < policy->ban_count; k++)
            check_ban(&inventory->deps[i], &policy->bans[k], judge);
    if (policy->duplicates != LAT_LEG_PASS)
        check_duplicates(inventory, policy->duplicates, judge);
}

bool lat_address_matches(const char *pattern, const char *address)
{
    const char *p = strstr(pattern, "://"), *a = strstr(address, "://");
    if ((p == NULL) != (a == NULL))
        return false;
    if (p && ((p - pattern) != (a - address) || strncmp(pattern, address, (size_t)(p - pattern)) != 0))
        return false;
    // No one may hide another host before an "@", nor climb out of a path.
    const char *rest = a ? a + 3 : address;
    if (strstr(rest, "..") || (a && memchr(rest, '@', strcspn(rest, "/"))))
        return false;
    return lat_glob_match(p ? p + 3 : pattern, rest, strlen(rest));
}

static bool is_listed(const struct lat_text_list *patterns, const char *address)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (lat_address_matches(patterns->items[i], address))
            return true;
    return false;
}

static void check_pin(const struct lat_dep *d, struct lat_deny_judge *judge)
{
    if (d->is_git && !lat_fetch_revision_is_exact(d->revision))
        lat_deny_find(judge, LAT_DENY_SOURCES, LAT_LEG_FAIL, "D613", place_of(d), "name the commit: 40 hexadecimal digits, in place",
                      "'%s' comes from %s at '%.80s': a branch, a tag or a variable can be another tomorrow", d->name, d->url,
                      d->revision ? d->revision : "(nothing)");
    else if (!d->is_git && !lat_fetch_hash_is_exact(d->digest))
        lat_deny_find(judge, LAT_DENY_SOURCES, LAT_LEG_FAIL, "D613", place_of(d),
                      d->origin == LAT_DEP_VENDORED ? "name the archive's 'sha256'" :
                      "name its digest: URL_HASH (or EXPECTED_HASH) SHA256=<64 hex>",
                      "'%s' comes from %s, and no digest of SHA-256 or better says which", d->name, d->url);
}

void lat_deny_check_sources(const struct lat_inventory *inventory, const struct lat_deny_policy *policy, struct lat_deny_judge *judge)
{
    for (size_t i = 0; i < inventory->count; i++) {
        const struct lat_dep *d = &inventory->deps[i];
        if (d->origin == LAT_DEP_SYSTEM && policy->has_system && !d->platform && !lat_text_list_holds(&policy->system, d->name))
            lat_deny_find(judge, LAT_DENY_SOURCES, LAT_LEG_FAIL, "D614", place_of(d), "do without it, or list it under 'sources: system'",
                          "'%s' of the distribution is not among the system components that may be used; target '%s' does", d->name,
                          d->targets.count ? d->targets.items[0] : "?");
        if (!d->url)
            continue;
        check_pin(d, judge);
        if (!is_listed(d->is_git ? &policy->git : &policy->archives, d->url))
            lat_deny_find(judge, LAT_DENY_SOURCES, LAT_LEG_FAIL, "D614", place_of(d),
                          d->is_git ? "take it from elsewhere, or list its origin under 'sources: git'"
                                    : "take it from elsewhere, or list its origin under 'sources: archives'",
                          "'%s' comes from %s, which is no allowed origin", d->name, d->url);
    }
}

static void find_unused(const struct lat_deny_policy *p, size_t line, const char *name, const char *what, struct lat_deny_judge *judge)
{
    struct lat_deny_place place = { p->file, line, name };
    lat_deny_find(judge, LAT_DENY_LICENSES, LAT_LEG_WARN, "D617", place, "remove it", "%s '%s': nothing needs it", what, name);
}

void lat_deny_check_unused(const struct lat_deny_policy *policy, struct lat_deny_judge *judge)
{
    const struct lat_deny_licenses *lists[] = { &policy->allow, &policy->allow_shared };
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < lists[i]->count; k++) {
            struct lat_buf term;
            if (lists[i]->items[k].used)
                continue;
            lat_buf_init(&term, 1 << 12);
            lat_spdx_print(&term, &lists[i]->items[k].spdx);
            struct lat_deny_place place = { policy->file, lists[i]->items[k].line, NULL };
            lat_deny_find(judge, LAT_DENY_LICENSES, LAT_LEG_INFO, "D617", place, "remove it, or keep it for what is to come",
                          "the allowed licence %s: nothing needs it", term.failed ? "?" : term.bytes);
            lat_buf_release(&term);
        }
    for (size_t i = 0; i < policy->exception_count; i++)
        if (!policy->exceptions[i].used)
            find_unused(policy, policy->exceptions[i].line, policy->exceptions[i].name, "the licence exception for", judge);
    for (size_t i = 0; i < policy->clarify_count; i++)
        if (!policy->clarify[i].used)
            find_unused(policy, policy->clarify[i].line, policy->clarify[i].name, "the clarification of", judge);
    for (size_t i = 0; i < policy->provided_count; i++)
        if (!policy->provided[i].used)
            find_unused(policy, policy->provided[i].line, policy->provided[i].name, "the provided component", judge);
    for (size_t i = 0; i < policy->ignore_count; i++)
        if (!policy->ignore[i].used)
            find_unused(policy, policy->ignore[i].line, policy->ignore[i].paths.items[0], "the ignored paths", judge);
}
