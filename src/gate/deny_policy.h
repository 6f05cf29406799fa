// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// The deny leg's part of gate.yaml: what licences, components and origins are allowed, what is vendored, what has been
// clarified by hand. Everything is an allow list: what is not named is refused.
//
//   deny:
//     kind: deny
//     areas: ["*"]
//     build: build                      # a Ninja build folder of the project's own; absent: the gate makes one
//     configure: [-DX=ON]               # arguments of CMake for the gate's build folder
//     lock: deps.lock
//     licenses:
//       allow: [MIT, Apache-2.0 WITH LLVM-exception]
//       allow_shared: [LGPL-2.1-or-later] # only where nothing of the component is linked statically or compiled in
//       platform: [glibc, gcc]          # what any C program stands on: known by name, licence not asked
//       exceptions: [{name: x, allow: [GPL-2.0-only], reason: ...}]
//       clarify: [{name: x, license: MIT, reason: ..., files: [{path: /usr/share/doc/x/copyright, sha256: [...]}]}]
//     bans: {duplicates: fail, deny: [{name: x, version: "<1.2", linkage: static, reason: ..., use_instead: y, wrappers: [t]}]}
//     sources: {git: ["https://h/org/*"], archives: [...], system: [zlib]}
//     vendored: [{name: x, path: third_party/x, version: 1, license: MIT, license_files: [third_party/x/LICENSE],
//                 git: URL, revision: 40 hex | archive: URL, sha256: 64 hex}]
//     provided: [{name: x, version: 1, files: ["/opt/x/**"], license: MIT, reason: ...}]
//     tree: {license: Apache-2.0, owners: [The X authors], executables: [globs], ignore: [{paths: [globs], reason: ...}]}
#ifndef LAT_GATE_DENY_POLICY_H
#define LAT_GATE_DENY_POLICY_H

#include "gate/finding.h"
#include "gate/policy.h"
#include "gate/spdx.h"

// How a component gets into what is built. A set of bits.
enum {
    LAT_LINK_SHARED = 1,  // a DT_NEEDED of something built
    LAT_LINK_STATIC = 2,  // an archive or object that the linker read
    LAT_LINK_OFFERED = 4, // a shared library that the linker read, and nothing is bound to
    LAT_LINK_HEADER = 8,  // a header of it was compiled in
    LAT_LINK_SOURCE = 16, // its source lies in the tree, or is fetched by the build
    LAT_LINK_ALL = 31,
};
enum { LAT_LINK_KINDS = 5 };
const char *lat_link_name(unsigned bit); // "shared"
bool lat_link_parse(const char *name, unsigned *bit);
void lat_link_print(struct lat_buf *out, unsigned bits); // "shared, header"

// An allowed licence: one term. `used` is set when a choice rests on it.
struct lat_deny_license {
    struct lat_spdx spdx;
    size_t line;
    bool used;
};

struct lat_deny_licenses {
    struct lat_deny_license *items;
    size_t count;
};

struct lat_deny_exception {
    const char *name, *reason;
    struct lat_deny_licenses allow;
    size_t line;
    bool used;
};

struct lat_deny_digest {
    const char *path; // absolute, or from the root
    struct lat_text_list sha256;
    size_t line;
};

struct lat_deny_clarify {
    const char *name, *license, *reason;
    struct lat_deny_digest *files;
    size_t file_count, line;
    const char *revision; // of a fetched component: the commit or archive digest that was looked at
    bool used;
};

struct lat_deny_ban {
    const char *name, *version, *reason, *use_instead;
    unsigned linkage; // LAT_LINK_ALL unless told
    struct lat_text_list wrappers;
    size_t line;
};

struct lat_deny_vendored {
    const char *name, *path, *version, *license, *git, *revision, *archive, *sha256;
    struct lat_text_list license_files;
    size_t line;
};

struct lat_deny_provided {
    const char *name, *version, *license, *reason;
    struct lat_text_list files;
    size_t line;
    bool used;
};

struct lat_deny_ignore {
    struct lat_text_list paths;
    const char *reason;
    size_t line;
    bool used;
};

struct lat_deny_policy {
    const char *file; // gate.yaml, for places
    const char *build, *lock;
    struct lat_text_list configure;
    struct lat_deny_licenses allow, allow_shared;
    struct lat_text_list platform;
    struct lat_deny_exception *exceptions;
    size_t exception_count;
    struct lat_deny_clarify *clarify;
    size_t clarify_count;
    enum lat_leg_state duplicates; // FAIL, WARN or PASS (off)
    struct lat_deny_ban *bans;
    size_t ban_count;
    struct lat_text_list git, archives, system;
    bool has_system; // an empty list allows none; an absent one asks nothing
    struct lat_deny_vendored *vendored;
    size_t vendored_count;
    struct lat_deny_provided *provided;
    size_t provided_count;
    const char *tree_license; // expression of the tree's own files; NULL: not asked
    struct lat_text_list owners, executables;
    struct lat_deny_ignore *ignore;
    size_t ignore_count;
    struct lat_arena arena;
};

// Texts live in the policy's document. LAT_FORMAT with the place. Release also after a failure.
LAT_NODISCARD enum lat_status lat_deny_policy_read(struct lat_deny_policy *deny, struct lat_policy *policy,
                                                   const struct lat_policy_leg *leg, struct lat_error *error);
void lat_deny_policy_release(struct lat_deny_policy *deny);
bool lat_text_list_holds(const struct lat_text_list *list, const char *text);

#endif
