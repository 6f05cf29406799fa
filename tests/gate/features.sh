#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# The features leg on two small projects: green as they are, and red with the right code for each planted fault.
# usage: features.sh SOURCE BUILD
set -eu
gate=$2/bin/lattice-gate
fixture=$1/tests/gate/features_fixture
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
planted=0

# A project of one library and one test; its options differ in four values and a constraint: 12 legal assignments.
small() {
    rm -rf "$work/p" && mkdir "$work/p" && cd "$work/p"
    cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(p C)
option(FAST "speed" ON)
option(LOG "logging" OFF)
option(NET "network" OFF)
set(BACKEND plain CACHE STRING "plain or vector")
if(NET AND NOT LOG)
  message(FATAL_ERROR "NET needs LOG")
endif()
add_library(p p.c)
foreach(o FAST LOG NET)
  if(${o})
    target_compile_definitions(p PRIVATE ${o})
  endif()
endforeach()
target_compile_definitions(p PRIVATE BACKEND_${BACKEND})
add_executable(t t.c)
target_link_libraries(t p)
if(LOG)
  target_compile_definitions(t PRIVATE LOG)
endif()
enable_testing()
add_test(NAME t COMMAND t)
END
    cat >p.c <<'END'
int p(void);
#if defined(FAST) || defined(LOG)
int q(void);
#endif
#if defined(NET) || defined(BACKEND_vector)
int r(void);
#endif
int p(void) { return 0; }
END
    printf 'int p(void);\nint main(void) { return p(); }\n' >t.c
    cat >gate.yaml <<'END'
schema: 1
project: {name: p, default_branch: main}
areas: {all: ["**"]}
legs:
  features:
    kind: features
    areas: [all]
    budget: 5m
    min: 4
    mode: exhaustive-tu
    options: {FAST: ON, LOG: OFF, NET: OFF, BACKEND: {values: [plain, vector], default: plain}}
    forbid: [{when: "NET & !LOG", message: "NET needs LOG"}]
    sets: {logged: {LOG: ON}}
    test_on: [default, logged]
    min_tests: 1
END
}
large() { rm -rf "$work/p" && cp -r "$fixture" "$work/p" && cd "$work/p"; }
die() { cat "$work/out"; echo "FAILED: $*"; exit 1; }
run() { code=0; "$gate" features run "$@" >"$work/out" 2>&1 || code=$?; }
# fault CODE TEXT EXIT [ARGUMENT...]: the leg must be red with them.
fault() {
    planted=$((planted + 1))
    c=$1 t=$2 x=$3
    shift 3
    run "$@"
    [ "$code" -eq "$x" ] || die "$c: exit $code, wanted $x"
    grep -q "$c" "$work/out" && grep -q -- "$t" "$work/out" || die "no $c with '$t'"
}
# number NAME: of the certificate's totals.
number() { sed -n "s/^  \"$1\": \([0-9]*\).*/\1/p" .gate/features/features/certificate.json; }

# Green: every assignment configures; far fewer compilations than occurrences; generated headers; versioned libraries.
small
run
[ "$code" -eq 0 ] || die "the small project as it is"
[ "$(number configured)" -eq 12 ] && [ "$(number unit_occurrences)" -eq 24 ] || die "12 assignments of 2 units"
[ "$(number units_distinct)" -eq 5 ] || die "four texts of p.c and one of t.c, not $(number units_distinct)"
grep -q 'tests: 2 passed' "$work/out" || die "no tests ran"
"$gate" run features >"$work/out" || die "as a leg"
grep -q 'PASS *features: 5 units' "$work/out" || die "no population"
large
run --mode t2
[ "$code" -eq 0 ] || die "the fixture as it is"
[ "$(number preprocessed)" -gt 0 ] || die "configured headers were not asked for"
[ "$(number units_distinct)" -lt "$(number unit_occurrences)" ] || die "nothing was shared"
grep -q 'all pairs of values' .gate/features/features/certificate.json || die "what is covered is not told"
"$gate" features plan --mode t2 --partition 2/3 >"$work/out"
grep -q '^3 to prove: all 124 legal pairs' "$work/out" || die "partition"
"$gate" features explain >"$work/out"
grep -q 'exhaustive-tu  all 256 legal' "$work/out" || die "explain"

# One pair of options, of eight.
large
sed -i 's/^#ifdef FIX_STATS$/#if defined(FIX_STATS) \&\& defined(FIX_TLS)\n#error counters of what is secret\n#endif\n&/' src/store.c
fault F404 'src/store.c: .*FIX_TLS=ON.*FIX_STATS=ON.*counters of what is secret' 1 --mode t2 --no-tests
small
printf '#if defined(FAST) && defined(BACKEND_vector)\n#error no vectors in fast\n#endif\nint p(void);\nint p(void) { return 0; }\n' >p.c
fault F404 'p.c: fails in 3 of 12 assignments (FAST=ON & BACKEND=vector, exactly there)' 1
# A warning that is an error in the strict sets alone.
large
printf 'static int unused;\n' >>src/net.c
fault F404 'src/net.c: .*FIX_STRICT=ON.*unused' 1 --mode t2 --no-tests
# A function that only one set of sources has.
large
sed -i 's/log_line(FIX_BACKEND_NAME);/log_line(FIX_BACKEND_NAME); net_send(1);/' src/app.c
fault F404 'app: .*FIX_NET=OFF.*net_send' 1 --mode t2 --no-tests
# A header that is missing in one state of a generated file.
large
sed -i 's/^#ifdef FIX_STATS$/&\n#include "stats.h"/' src/store.c
fault F404 'src/store.c: .*FIX_STATS=ON.*stats.h' 1 --mode each --no-tests
# The generator itself.
large
sed -i 's/return fclose(f) != 0/return 1/' src/make_table.c
fault F404 'generated sources cannot be built' 1 --mode list --no-tests
# Configuration.
small
sed -i 's/^add_library/if(LOG AND FAST)\n  find_package(nothing_of_this_name REQUIRED)\nendif()\n&/' CMakeLists.txt
fault F404 'LOG=ON.* does not configure: CMake Error.*nothing_of_this_name' 1 --no-tests
# What is forbidden.
small
sed -i '/FATAL_ERROR/d' CMakeLists.txt
fault F402 'is forbidden (NET & !LOG), and it configures' 1 --mode list --no-tests
small
sed -i 's/"NET needs LOG")/"wrong")/' CMakeLists.txt
fault F402 "not with 'NET needs LOG': .*wrong" 1 --mode list --no-tests
# Options that one side does not know.
small
sed -i 's/^option(NET/option(NEW "new" OFF)\noption(NET/' CMakeLists.txt
fault F403 'an option NEW (BOOL: new)' 1 --mode list --no-tests
small
sed -i 's/^option(NET/if(LOG)\n  option(LATE "late" OFF)\nendif()\n&/' CMakeLists.txt
fault F403 'an option LATE' 1 --mode each --no-tests
small
sed -i 's/FAST: ON,/FAST: ON, GONE: ON,/' gate.yaml
fault F403 'option GONE is named by the leg' 1 --mode list --no-tests
# An option without effect; a value that CMake replaces.
small
sed -i 's/^option(NET/option(IDLE "idle" OFF)\n&/' CMakeLists.txt
sed -i 's/FAST: ON,/FAST: ON, IDLE: OFF,/; s/mode: exh/dead_option: fail\n    mode: exh/' gate.yaml
fault F407 'option IDLE changes' 1 --no-tests
small
sed -i 's/^add_library/set(FAST ON CACHE BOOL "" FORCE)\n&/' CMakeLists.txt
run --mode each --no-tests
grep -q 'INFO F408 .*FAST' "$work/out" || die "a value that is replaced is not told"
# A compiler that says yes.
small
printf '#!/bin/sh\nexit 0\n' >liar && chmod +x liar
sed -i "s#^add_library#set(CMAKE_C_COMPILER_LAUNCHER $work/p/liar)\n&#" CMakeLists.txt
fault F406 'ended with exit status 0 and left no file' 1 --mode list --no-tests
small
printf '#!/bin/sh\nfor a; do l="$k"; k="$a"; if [ "$l" = -o ]; then printf "" >"$a"; fi; done\n' >liar && chmod +x liar
sed -i "s#^add_library#set(CMAKE_C_COMPILER_LAUNCHER $work/p/liar)\n&#" CMakeLists.txt
fault F406 'left an empty file' 1 --mode list --no-tests
# A unit that dropped out everywhere; no time.
small
sed -i 's/^add_library(p p.c)/add_library(p INTERFACE)/; s/target_compile_definitions(p PRIVATE/target_compile_definitions(p INTERFACE/' CMakeLists.txt
printf 'int main(void) { return 0; }\n' >t.c
fault V205 'units looked at, at least 4 are needed' 2 --no-tests
small
sed -i 's/budget: 5m/budget: 1s/' gate.yaml
fault F401 'of 12 assignments' 2 --no-tests
# Tests.
small
printf 'int p(void);\nint main(void) {\n#ifdef LOG\nreturn 1;\n#endif\nreturn p(); }\n' >t.c
fault F405 "set 'logged': test t fails" 1 --mode list
small
sed -i '/add_test/d' CMakeLists.txt
fault V205 '0 tests ran, at least 1 must\|results cannot be read' 2 --mode list
small
sed -i 's/min_tests: 1/min_tests: 2/' gate.yaml
fault V205 "set 'default': 1 tests ran, at least 2 must" 2 --mode list
small
printf 'set_tests_properties(t PROPERTIES SKIP_RETURN_CODE 0)\nadd_test(NAME u COMMAND t --not)\n' >>CMakeLists.txt
fault V206 "set 'default': test t was skipped" 1 --mode list
# The policy.
small
sed -i 's/mode: exhaustive-tu/mode: t9/' gate.yaml
fault gate.yaml 'expected exhaustive-tu, t3, t2, each or list' 2
small
sed -i 's/test_on: .default, logged./test_on: [default, loud]/' gate.yaml
fault gate.yaml "there is no set 'loud'" 2
small
fault partition 'expected I/N' 4 --partition 3/2
# Too many: the certificate must not say "all".
small
sed -i 's/mode: exhaustive-tu/mode: exhaustive-tu\n    max_assignments: 3\n    fallback: t2/' gate.yaml
run --no-tests
grep -q '"coverage": "all pairs of values"' .gate/features/features/certificate.json && grep -q '"fell_back": true' .gate/features/features/certificate.json ||
    die "the fallback is not told"
echo "features: $planted faults planted, $planted caught"
