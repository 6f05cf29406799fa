#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# The features leg on a small project: green as it is, and red with the right code for each planted fault.
# usage: features.sh BUILD
set -eu
gate=$1/bin/lattice-gate
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
planted=0

project() {
    rm -rf "$work/p" && mkdir "$work/p" && cd "$work/p"
    cat >CMakeLists.txt <<'EOF'
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
EOF
    printf 'int p(void);\nint p(void) { return 0; }\n' >p.c
    printf 'int p(void);\nint main(void) { return p(); }\n' >t.c
    cat >gate.yaml <<'EOF'
schema: 1
project: {name: p, default_branch: main}
areas: {all: ["**"]}
legs:
  features:
    kind: features
    required: true
    areas: [all]
    budget: 5m
    mode: t2
    options: {FAST: ON, LOG: OFF, NET: OFF, BACKEND: {values: [plain, vector], default: plain}}
    forbid: [{when: "NET & !LOG", message: "NET needs LOG"}]
    sets: {logged: {LOG: ON}}
    test_on: [default, logged]
    min_tests: 1
EOF
}
run() { code=0; "$gate" run features >"$work/out" 2>&1 || code=$?; }
# fault CODE TEXT: the leg must be red with them.
fault() {
    planted=$((planted + 1))
    run
    [ "$code" -eq "$3" ] || { cat "$work/out"; echo "FAILED: $1: exit $code, wanted $3"; exit 1; }
    grep -q "$1" "$work/out" && grep -q -- "$2" "$work/out" || { cat "$work/out"; echo "FAILED: no $1 with '$2'"; exit 1; }
}

project
run
[ "$code" -eq 0 ] || { cat "$work/out"; echo "FAILED: the project as it is"; exit 1; }
grep -q 'PASS *features: [0-9]* assignments' "$work/out" || { cat "$work/out"; echo "FAILED: no population"; exit 1; }
"$gate" features plan >"$work/plan"
grep -q 'all [0-9]* legal pairs' "$work/plan" || { echo "FAILED: the plan says nothing of pairs"; exit 1; }

project
printf '#if defined(FAST) && defined(BACKEND_vector)\n#error no vectors in fast\n#endif\nint p(void);\nint p(void) { return 0; }\n' >p.c
fault F404 'no vectors in fast' 1
project
sed -i '/FATAL_ERROR/d' CMakeLists.txt
fault F402 'configures, and is forbidden' 1
project
sed -i 's/"NET needs LOG")/"wrong")/' CMakeLists.txt
fault F402 "not with 'NET needs LOG'" 1
project
sed -i 's/^option(NET/option(NEW "new" OFF)\noption(NET/' CMakeLists.txt
fault F403 'option NEW is not in the policy' 1
project
sed -i 's/FAST: ON,/FAST: ON, GONE: ON,/' gate.yaml
fault F403 "option GONE of the policy" 1
project
printf 'int p(void);\nint main(void) {\n#ifdef LOG\nreturn 1;\n#endif\nreturn p(); }\n' >t.c
fault F405 'LOG=ON: tests fail' 1
project
sed -i '/add_test/d' CMakeLists.txt
fault F405 'tests fail' 1
project
sed -i 's/min_tests: 1/min_tests: 2/' gate.yaml
fault V205 'at least 2 must' 2
project
sed -i 's/mode: t2/mode: t9/' gate.yaml
fault gate.yaml 'expected list, each, t2, t3 or exhaustive' 2
project
sed -i 's/mode: t2/mode: exhaustive\n    max_assignments: 3/' gate.yaml
fault lattice-gate 'more than 3' 2
echo "features: $planted faults planted, $planted caught"
