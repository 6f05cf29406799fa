// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/sbom.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/error.h"
#include "gate/deps_lock.h"

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
}

static void add_encoded(struct lat_buf *out, const char *text)
{
    for (; *text; text++)
        if (is_plain(*text))
            lat_buf_add_char(out, *text);
        else
            lat_buf_addf(out, "%%%02X", (unsigned char)*text);
}

void lat_sbom_purl(struct lat_buf *out, const struct lat_dep *dep, const char *distribution)
{
    bool deb = dep->origin == LAT_DEP_SYSTEM;
    lat_buf_add_text(out, deb ? "pkg:deb/" : "pkg:generic/");
    if (deb) {
        add_encoded(out, distribution);
        lat_buf_add_char(out, '/');
    }
    add_encoded(out, dep->name);
    const char *version = dep->version ? dep->version : dep->is_git ? dep->revision : NULL;
    if (version) {
        lat_buf_add_char(out, '@');
        add_encoded(out, version);
    }
    if (deb)
        lat_buf_add_text(out, "?arch=source");
}

// What both forms share: texts of one inventory.
struct bom {
    const struct lat_inventory *inv;
    const struct lat_sbom_options *o;
    char digest[LAT_SHA256_HEX_SIZE], time[32];
    struct lat_buf text;
};

static enum lat_status open_bom(struct bom *b, const struct lat_inventory *inventory, const struct lat_sbom_options *options,
                                struct lat_error *error)
{
    struct lat_sha256 hash;
    struct tm utc;
    time_t created = (time_t)options->created;
    *b = (struct bom){ .inv = inventory, .o = options };
    lat_buf_init(&b->text, 1 << 26);
    lat_deps_lock_write(&b->text, inventory);
    if (b->text.failed || !gmtime_r(&created, &utc)) {
        lat_buf_release(&b->text);
        return lat_error_memory(error, "a bill of materials");
    }
    strftime(b->time, sizeof b->time, "%Y-%m-%dT%H:%M:%SZ", &utc);
    lat_sha256_init(&hash);
    lat_sha256_add(&hash, options->project, strlen(options->project) + 1);
    lat_sha256_add(&hash, b->time, strlen(b->time));
    lat_sha256_add(&hash, b->text.bytes, b->text.length);
    lat_sha256_hex(&hash, b->digest);
    return LAT_OK;
}

// Steals `root`; NULL means that some part could not be made.
static enum lat_status close_bom(struct bom *b, json_t *root, struct lat_buf *out, struct lat_error *error)
{
    lat_buf_release(&b->text);
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    json_decref(root);
    if (!text)
        return lat_error_set(error, LAT_FORMAT, "a bill of materials: a name that is not UTF-8, or no memory");
    lat_buf_add_text(out, text);
    lat_buf_add_char(out, '\n');
    free(text);
    return out->failed ? lat_error_memory(error, "a bill of materials") : LAT_OK;
}

static const char *purl(struct bom *b, const struct lat_dep *d)
{
    lat_buf_clear(&b->text);
    lat_sbom_purl(&b->text, d, b->o->distribution);
    return b->text.failed ? "" : b->text.bytes;
}

static const char *linkage(struct bom *b, const struct lat_dep *d)
{
    lat_buf_clear(&b->text);
    lat_link_print(&b->text, d->linkage);
    return b->text.failed || !b->text.length ? "" : b->text.bytes;
}

static bool is_address(const char *url) { return url && (strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0); }

// Where it can be had: "git+https://host/x@commit", an archive's address, or NOASSERTION.
static json_t *download_location(const struct lat_dep *d)
{
    if (!is_address(d->url) || strpbrk(d->url, " ${}<>"))
        return json_string("NOASSERTION");
    if (d->is_git)
        return d->revision ? json_sprintf("git+%s@%s", d->url, d->revision) : json_sprintf("git+%s", d->url);
    return json_string(d->url);
}

static json_t *spdx_package(struct bom *b, const struct lat_dep *d, size_t index)
{
    const char *license = d->license ? d->license : "NOASSERTION", *digest = d->digest && strncmp(d->digest, "SHA256=",
        7) == 0 ? d->digest + 7 : NULL;
    json_t *p = json_pack("{s:o, s:s, s:o, s:b, s:s, s:s, s:s}", "SPDXID", json_sprintf("SPDXRef-Package-%zu", index + 1), "name", d->name,
                          "downloadLocation", download_location(d), "filesAnalyzed", 0, "licenseConcluded", license,
                          "licenseDeclared", license,
                          "copyrightText", "NOASSERTION");
    if (!p)
        return NULL;
    int bad = d->version ? json_object_set_new(p, "versionInfo", json_string(d->version)) : 0;
    bad |= json_object_set_new(p, "externalRefs", json_pack("[{s:s, s:s, s:s}]", "referenceCategory", "PACKAGE-MANAGER",
                                                            "referenceType", "purl",
                                                            "referenceLocator", purl(b, d)));
    bad |= json_object_set_new(p, "sourceInfo", json_sprintf("%s; %s%s%s", lat_dep_origin_name(d->origin), linkage(b, d),
                                                             d->path ? "; in " : "",
                                                             d->path ? d->path : ""));
    if (digest)
        bad |= json_object_set_new(p, "checksums", json_pack("[{s:s, s:s}]", "algorithm", "SHA256", "checksumValue", digest));
    if (d->license_from)
        bad |= json_object_set_new(p, "licenseComments", json_string(d->license_from));
    if (bad) {
        json_decref(p);
        return NULL;
    }
    return p;
}

static const char *relationship(const struct lat_dep *d)
{
    if (d->linkage & LAT_LINK_SOURCE)
        return "CONTAINS";
    if (d->linkage & LAT_LINK_STATIC)
        return "STATIC_LINK";
    return d->linkage & LAT_LINK_SHARED ? "DYNAMIC_LINK" : "DEPENDS_ON";
}

// "LicenseRef-x" of someone's own must be told what it stands for.
static int add_references(json_t *list, const char *license)
{
    for (const char *at = license; at && (at = strstr(at, "LicenseRef-"));) {
        size_t n = strcspn(at, " ()"), i;
        bool known = at > license && at[-1] == ':';
        json_t *item;
        json_array_foreach(list, i, item) {
            const char *id = json_string_value(json_object_get(item, "licenseId"));
            known = known || (strlen(id) == n && strncmp(id, at, n) == 0);
        }
        if (!known && json_array_append_new(list, json_pack("{s:s%, s:s}", "licenseId", at, n, "extractedText",
                                                            "See the licence text of the component that names it.")) != 0)
            return -1;
        at += n;
    }
    return 0;
}

enum lat_status lat_sbom_spdx(struct lat_buf *out, const struct lat_inventory *inventory, const struct lat_sbom_options *options,
                              struct lat_error *error)
{
    struct bom b;
    LAT_TRY(open_bom(&b, inventory, options, error));
    const char *license = options->license ? options->license : "NOASSERTION";
    json_t *packages = json_pack("[{s:s, s:s, s:s, s:b, s:s, s:s, s:s}]", "SPDXID", "SPDXRef-Root", "name", options->project,
                                 "downloadLocation",
                                 "NOASSERTION", "filesAnalyzed", 0, "licenseConcluded", license, "licenseDeclared", license,
                                 "copyrightText",
                                 "NOASSERTION");
    json_t *relations = json_pack("[{s:s, s:s, s:s}]", "spdxElementId", "SPDXRef-DOCUMENT", "relationshipType", "DESCRIBES",
                                  "relatedSpdxElement",
                                  "SPDXRef-Root");
    json_t *references = json_array();
    int bad = !packages || !relations || !references || add_references(references, license);
    for (size_t i = 0; !bad && i < inventory->count; i++) {
        const struct lat_dep *d = &inventory->deps[i];
        bad = json_array_append_new(packages, spdx_package(&b, d, i)) != 0 || add_references(references, d->license) != 0 ||
              json_array_append_new(relations, json_pack("{s:s, s:s, s:o}", "spdxElementId", "SPDXRef-Root", "relationshipType",
                                                         relationship(d),
                                                         "relatedSpdxElement", json_sprintf("SPDXRef-Package-%zu", i + 1))) != 0;
    }
    json_t *root = bad ? NULL
                       : json_pack("{s:s, s:s, s:s, s:s, s:o, s:{s:s, s:[o]}, s:O, s:O}", "spdxVersion", "SPDX-2.3", "dataLicense",
                                   "CC0-1.0", "SPDXID",
                                   "SPDXRef-DOCUMENT", "name", options->project, "documentNamespace",
                                   json_sprintf("https://spdx.org/spdxdocs/%.16s-%s", b.digest + 16, b.digest), "creationInfo",
                                   "created", b.time, "creators",
                                   json_sprintf("Tool: %s", options->tool), "packages", packages, "relationships", relations);
    if (root && json_array_size(references) && json_object_set(root, "hasExtractedLicensingInfos", references) != 0) {
        json_decref(root);
        root = NULL;
    }
    json_decref(packages);
    json_decref(relations);
    json_decref(references);
    return close_bom(&b, root, out, error);
}

static json_t *cyclonedx_component(struct bom *b, const struct lat_dep *d, size_t index)
{
    const char *digest = d->digest && strncmp(d->digest, "SHA256=", 7) == 0 ? d->digest + 7 : NULL;
    json_t *c = json_pack("{s:s, s:o, s:s, s:s}", "type", "library", "bom-ref", json_sprintf("component-%zu", index + 1), "name",
                          d->name, "purl",
                          purl(b, d));
    if (!c)
        return NULL;
    int bad = d->version ? json_object_set_new(c, "version", json_string(d->version)) : 0;
    if (d->license && strcmp(d->license, "NONE") != 0 && strcmp(d->license, "NOASSERTION") != 0)
        bad |= json_object_set_new(c, "licenses", json_pack("[{s:s}]", "expression", d->license));
    if (digest)
        bad |= json_object_set_new(c, "hashes", json_pack("[{s:s, s:s}]", "alg", "SHA-256", "content", digest));
    if (is_address(d->url) && !strpbrk(d->url, " ${}<>"))
        bad |= json_object_set_new(c, "externalReferences", json_pack("[{s:s, s:s}]", "type", d->is_git ? "vcs" : "distribution",
                                                                      "url", d->url));
    bad |= json_object_set_new(c, "properties", json_pack("[{s:s, s:s}, {s:s, s:s}]", "name", "lattice-gate:origin", "value",
                                                          lat_dep_origin_name(d->origin), "name", "lattice-gate:linkage", "value",
                                                          linkage(b, d)));
    if (bad) {
        json_decref(c);
        return NULL;
    }
    return c;
}

enum lat_status lat_sbom_cyclonedx(struct lat_buf *out, const struct lat_inventory *inventory, const struct lat_sbom_options *options,
                                   struct lat_error *error)
{
    struct bom b;
    LAT_TRY(open_bom(&b, inventory, options, error));
    json_t *components = json_array(), *needs = json_array();
    json_t *self = json_pack("{s:s, s:s, s:s}", "type", "application", "bom-ref", "root", "name", options->project);
    int bad = !components || !needs || !self;
    if (!bad && options->license)
        bad = json_object_set_new(self, "licenses", json_pack("[{s:s}]", "expression", options->license));
    for (size_t i = 0; !bad && i < inventory->count; i++)
        bad = json_array_append_new(components, cyclonedx_component(&b, &inventory->deps[i], i)) != 0 ||
              json_array_append_new(needs, json_sprintf("component-%zu", i + 1)) != 0;
    const char *h = b.digest;
    json_t *root = bad ? NULL
                       : json_pack("{s:s, s:s, s:o, s:i, s:{s:s, s:{s:[{s:s, s:s}]}, s:O}, s:O, s:[{s:s, s:O}]}", "bomFormat",
                                   "CycloneDX", "specVersion",
                                   "1.5", "serialNumber", json_sprintf("urn:uuid:%.8s-%.4s-5%.3s-8%.3s-%.12s", h, h + 8, h + 12,
                                                                       h + 15, h + 18), "version",
                                   1, "metadata", "timestamp", b.time, "tools", "components", "type", "application", "name",
                                   options->tool, "component",
                                   self, "components", components, "dependencies", "ref", "root", "dependsOn", needs);
    json_decref(components);
    json_decref(needs);
    json_decref(self);
    return close_bom(&b, root, out, error);
}
