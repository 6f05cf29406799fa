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
  -Wpointer-arith -Wwrite-strings -ffp-contract=off -fno-math-errno)
if(LATTICE_WERROR)
  target_compile_options(lattice_flags INTERFACE -Werror)
endif()
if(LATTICE_SANITIZE)
  target_compile_options(lattice_flags INTERFACE -fsanitize=${LATTICE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(lattice_flags INTERFACE -fsanitize=${LATTICE_SANITIZE})
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

# The static library (and, when asked, the shared one) made of all modules declared so far.
function(lat_library)
  get_property(modules GLOBAL PROPERTY lattice_modules)
  get_property(libraries GLOBAL PROPERTY lattice_libraries)
  set(objects "")
  foreach(module IN LISTS modules)
    list(APPEND objects $<TARGET_OBJECTS:lattice_${module}>)
  endforeach()
  add_library(lattice_static STATIC ${objects})
  set_target_properties(lattice_static PROPERTIES OUTPUT_NAME lattice)
  target_include_directories(lattice_static PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(lattice_static PUBLIC ${libraries})
endfunction()
