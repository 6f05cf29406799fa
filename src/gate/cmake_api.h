// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// What CMake says of a build folder through its file API (codemodel 2, cache 2, cmakeFiles 1, toolchains 1), and running
// CMake itself. Paths of sources are as CMake gives them: relative to the source folder, or absolute.
#ifndef LAT_GATE_CMAKE_API_H
#define LAT_GATE_CMAKE_API_H

#include "core/buf.h"
#include "core/mem.h"
#include "gate/spawn.h"
#include "gate/yaml_tree.h"

struct lat_cmake_group { // sources that are compiled alike
    const char *language;
    struct lat_text_list flags;    // fragments, in a shell's spelling
    struct lat_text_list defines;  // "NAME" or "NAME=value"
    struct lat_text_list includes; // absolute
};

struct lat_cmake_source {
    const char *path;
    bool generated;
    const struct lat_cmake_group *group; // NULL: not compiled
};

struct lat_cmake_target {
    const char *name, *type; // EXECUTABLE, STATIC_LIBRARY, SHARED_LIBRARY, MODULE_LIBRARY, OBJECT_LIBRARY, INTERFACE_LIBRARY, UTILITY
    const char *folder;      // of its artifacts' rules, relative to the build folder
    struct lat_cmake_source *sources;
    size_t source_count;
    struct lat_cmake_group *groups;
    size_t group_count;
    struct lat_text_list artifacts;      // relative to the build folder
    struct lat_text_list link, link_roles; // fragments and what each is: flags, libraries, libraryPath, frameworkPath
};

struct lat_cmake_entry {
    const char *name, *type, *value, *help;
    bool advanced;
    struct lat_text_list strings; // what it may be, when the project says so
};

struct lat_cmake_input {
    const char *path;
    bool generated, external, of_cmake;
};

struct lat_cmake_compiler {
    const char *language, *path, *id, *version;
};

struct lat_cmake {
    const char *version, *generator, *source, *build;
    struct lat_cmake_target *targets;
    size_t target_count;
    struct lat_cmake_entry *cache;
    size_t cache_count;
    struct lat_cmake_input *inputs;
    size_t input_count;
    struct lat_cmake_compiler *compilers;
    size_t compiler_count;
    struct lat_arena arena; // owns all
};

// Asks for replies: to be called before CMake configures `build` (which is made when it is not there).
LAT_NODISCARD enum lat_status lat_cmake_query(const char *build, struct lat_error *error);
// Reads the newest reply. LAT_NOT_FOUND: there is none.
LAT_NODISCARD enum lat_status lat_cmake_read(struct lat_cmake *cmake, const char *build, struct lat_error *error);
void lat_cmake_release(struct lat_cmake *cmake);
const struct lat_cmake_entry *lat_cmake_entry_find(const struct lat_cmake *cmake, const char *name);
const struct lat_cmake_target *lat_cmake_target_find(const struct lat_cmake *cmake, const char *name);
// An option that users set: a BOOL, or a STRING with a list of values, that is no setting of CMake itself.
bool lat_cmake_is_option(const struct lat_cmake_entry *entry);

struct lat_cmake_run {
    const char *source, *build;
    const char *const *arguments; // NULL-terminated further arguments, such as "-DX=ON"
    double seconds_max;
    bool fresh; // forget the cache but for facts of the toolchain, so that nothing of another configuration remains
};
// Configures with Ninja, stdout and stderr in result->out. LAT_OK also when CMake refuses: look at the result.
LAT_NODISCARD enum lat_status lat_cmake_configure(struct lat_spawn_result *result, const struct lat_cmake_run *run,
                                                  struct lat_error *error);

#endif
