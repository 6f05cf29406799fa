// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Codes of the deny and feeds legs.
#include "gate/gate_codes.h"

static const struct lat_gate_code codes[] = {
    { "D601", "a component that nobody vouches for",
      "It is not in the lock, or it is not what the lock says, or nothing says under what licence it may be used. What nobody looked\n"
      "at can be anyone's.",
      "Look at the component. If it belongs here, write the lock anew (lattice-gate deny lock) and commit it; if its licence is unknown,\n"
      "declare or clarify it in gate.yaml.",
      "target_link_libraries(app PRIVATE z), and no zlib in deps.lock" },
    { "D602", "a licence expression that cannot be read", "A misspelt identifier is no licence; taken for one it would allow anything.",
      "Write SPDX identifiers, joined by AND, OR, WITH; a licence of your own is LicenseRef-NAME.", "license: Apachee-2.0" },
    { "D603", "the lock is missing or cannot be read", "Without it, what is used can be compared with nothing.",
      "lattice-gate deny lock; read what it wrote; commit it.", NULL },
    { "D604", "advisories are missing or too old", "An old snapshot says nothing about what was found since; its silence would "
                                                   "look like safety.",
      "Fetch a new snapshot, or remove the leg.", "max_age: 14d, and a snapshot of 90 days ago" },
    { "D605", "an advisory applies", "Someone found a fault in a version that is used here. Informational: it depends on the day, "
                                     "not on the change.",
      "Take a repaired version, or find out that the fault cannot be reached.", NULL },
    { "D606", "a component gets in by another way than is locked",
      "Static instead of shared linking changes what a licence asks for, and who repairs faults; a new DT_NEEDED is a new library at run\n"
      "time.",
      "Undo the change of linkage, or write the lock anew and commit it.", "zlib linked as libz.a, locked as shared" },
    { "D607", "a locked or declared component is gone", "A lock that lists what is not there hides what is.",
      "Write the lock anew and commit it; remove its declaration from gate.yaml.", NULL },
    { "D608", "a program in the tree", "What is only there in binary form, or hides its kind, cannot be reviewed.",
      "Build it from source; where it must be there (test data), list it under 'tree: executables'.", "tests/data/tool.bin, an ELF file" },
    { "D610", "a licence that is not allowed", "Its terms may ask for more than this project gives, such as its own source under "
                                               "the same licence.",
      "Replace the component; allow the licence for all, or for this one under 'exceptions' with a reason.",
      "allow: [MIT], and a component under MIT AND GPL-2.0-only" },
    { "D611", "a banned component", "gate.yaml names it (or its version, or its linkage) with a reason not to use it.",
      "See the reason at the place named.",
      "deny: [{name: openssl, linkage: static, reason: one TLS stack, use_instead: mbedtls}]" },
    { "D612", "a component twice", "Two copies of one library have two states, two sets of faults, and symbols that collide.",
      "Keep one of them.",
      "third_party/zlib beside the distribution's libz.so" },
    { "D613", "a source that is not pinned", "A branch, a tag or an address without a digest can be something else tomorrow, with "
                                             "every check green.",
      "Name the commit, or the SHA-256 of the archive.", "FetchContent_Declare(fmt GIT_REPOSITORY ... GIT_TAG main)" },
    { "D614", "an origin that is not allowed", "Only sources that were chosen may be built in.",
      "Take it from an allowed origin, or list this one under 'sources'.", NULL },
    { "D615", "what the build uses cannot be told", "Without evidence from the build the inventory would be a guess.",
      "Make the project build with Ninja: by itself with the arguments of 'configure', or in the folder named by 'build'.", NULL },
    { "D616", "a clarification that does not hold any more",
      "It was made for a text with a certain digest; the text is another now, or not there.",
      "Read the text again; then put its new digest there, or change the licence.", "the licence file of a vendored library, edited" },
    { "D617", "an entry of the policy that nothing needs", "What is allowed for no reason stays allowed when a reason to refuse it "
                                                           "comes.", "Remove it.", NULL },
    { "D618", "other people's code that is not declared",
      "By its folder, its licence notice or its owner it is not of this project, and nothing says where it is from and under what terms.",
      "Declare it under 'vendored' with name, path, license and license_files; or remove it.",
      "src/list.c, under the GNU GPL by its first comment" },
    { "W701", "a waiver that is expired, unused or too wide", "A waiver stands for a look at one finding by someone, for a time.",
      "Repair what it covers, tie it to a path or an anchor, or remove it.", "until: 2020-01-01" },
};

const struct lat_gate_code_table lat_gate_codes_deny = { "deny", codes, sizeof codes / sizeof codes[0] };
