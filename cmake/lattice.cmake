# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# How Lattice's parts are declared: a module is one object library that sees only its own layer's needs.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
if(LATTICE_REGEX)
  pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
endif()

add_library(lattice_flags INTERFACE)
target_compile_definitions(lattice_flags INTERFACE _GNU_SOURCE LATTICE_BUILD LATTICE_VERSION="${PROJECT_VERSION}")
target_include_directories(lattice_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
# Contraction off: where a fused multiply-add is meant, the code says fmaf, so that every machine has the same bits.
target_compile_options(lattice_flags INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wpointer-arith -Wwrite-strings -Wvla -ffp-contract=off -fno-math-errno)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64" AND CMAKE_C_COMPILER_ID STREQUAL "GNU"
   AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
  # gcc 12 breaks off with an internal error when it vectorises some reductions; the kernels are written out by hand.
  target_compile_options(lattice_flags INTERFACE -fno-tree-vectorize)
endif()
if(LATTICE_WERROR)
  target_compile_options(lattice_flags INTERFACE -Werror)
endif()
if(LATTICE_SANITIZE)
  target_compile_options(lattice_flags INTERFACE -fsanitize=${LATTICE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(lattice_flags INTERFACE -fsanitize=${LATTICE_SANITIZE})
endif()

if(LATTICE_FUZZ) # a fuzzer is guided by what the parsers run through, not by the targets alone; kernels parse nothing
  set(is_kernel $<STREQUAL:$<TARGET_PROPERTY:NAME>,lattice_kernels>)
  target_compile_options(lattice_flags INTERFACE $<$<NOT:${is_kernel}>:-fsanitize=fuzzer-no-link>)
  target_link_options(lattice_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(LATTICE_FAULTS)
  target_compile_definitions(lattice_flags INTERFACE LATTICE_FAULTS)
endif()

set_property(GLOBAL PROPERTY lattice_modules "")
set_property(GLOBAL PROPERTY lattice_libraries "m;Threads::Threads")

# lat_module(NAME SOURCES a.c b.c [LIBRARIES imported targets]): an object library lattice_<NAME> that goes into liblattice.
function(lat_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  set(sources "")
  foreach(source IN LISTS arg_SOURCES)
    list(APPEND sources ${PROJECT_SOURCE_DIR}/src/${name}/${source})
  endforeach()
  add_library(lattice_${name} OBJECT ${sources})
  target_link_libraries(lattice_${name} PUBLIC lattice_flags Threads::Threads ${arg_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY lattice_modules ${name})
  set_property(GLOBAL APPEND PROPERTY lattice_libraries ${arg_LIBRARIES})
endfunction()

# liblattice, static and shared, made of all modules declared so far; installed with headers, pkg-config file and
# CMake package.
function(lat_library)
  get_property(modules GLOBAL PROPERTY lattice_modules)
  get_property(libraries GLOBAL PROPERTY lattice_libraries)
  set(objects "")
  foreach(module IN LISTS modules)
    list(APPEND objects $<TARGET_OBJECTS:lattice_${module}>)
  endforeach()
  add_library(lattice_static STATIC ${objects})
  add_library(lattice_shared SHARED ${objects})
  foreach(target IN ITEMS lattice_static lattice_shared)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME lattice VERSION ${PROJECT_VERSION} SOVERSION 0)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    if(LATTICE_SANITIZE)
      target_link_options(${target} PUBLIC -fsanitize=${LATTICE_SANITIZE})
    endif()
  endforeach()
  target_link_libraries(lattice_static PUBLIC ${libraries})
  target_link_libraries(lattice_shared PRIVATE ${libraries})
  lat_install()
endfunction()

include(GNUInstallDirs)
function(lat_install)
  set(LATTICE_REQUIRES_PRIVATE "libutf8proc")
  if(LATTICE_REGEX)
    string(APPEND LATTICE_REQUIRES_PRIVATE ", libpcre2-8")
  endif()
  string(REPLACE "," "" LATTICE_NEEDS "${LATTICE_REQUIRES_PRIVATE}")
  # The installed tree may be moved: both files find the rest from where they lie, however deep the library folder is.
  file(RELATIVE_PATH LATTICE_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  file(RELATIVE_PATH LATTICE_PREFIX_FROM_CONFIG /${CMAKE_INSTALL_LIBDIR}/cmake/lattice /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/lattice.pc.in ${PROJECT_BINARY_DIR}/lattice.pc @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/lattice-config.cmake.in ${PROJECT_BINARY_DIR}/lattice-config.cmake @ONLY)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/lattice-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(TARGETS lattice_static lattice_shared)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/lattice TYPE INCLUDE)
  install(FILES ${PROJECT_BINARY_DIR}/lattice.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  install(FILES ${PROJECT_BINARY_DIR}/lattice-config.cmake ${PROJECT_BINARY_DIR}/lattice-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lattice)
endfunction()
