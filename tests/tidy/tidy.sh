#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# The house rules that a program can check. usage: tidy.sh SOURCE          check the tree
#                                                 tidy.sh SOURCE --self   show that each rule can fail
set -eu
root=$1
here="$root/tests/tidy"
allow="$here/allow.txt"

sources() { (cd "$1" && find include src tests fuzz examples -name '*.[ch]' 2>/dev/null | sort); }

texts() {
    (cd "$1" && {
        find . -name build -prune -o -name .git -prune -o -name .gate -prune -o -type f \( -name '*.sh' -o -name '*.awk' -o -name '*.py' -o -name '*.cmake' \
            -o -name '*.in' -o -name CMakeLists.txt -o -name Makefile -o -name '*.md' \) -print
        find .ci -type f 2>/dev/null || [ ! -d .ci ]
    } | sed 's:^\./::' | sort)
}

# check TREE: prints one line per finding.
check() {
    tree=$1
    cd "$tree"
    # shellcheck disable=SC2046
    [ -z "$(sources "$tree")" ] || awk -v allow="$allow" -f "$here/tidy.awk" $(sources "$tree")
    # shellcheck disable=SC2046
    [ -z "$(texts "$tree")" ] || awk -f "$here/text.awk" $(texts "$tree")
    sources "$tree" | sed 's:.*/::' | sort | uniq -d | sed 's/^/file name stands twice: /'
    for f in $(sources "$tree"); do
        head -n 1 "$f" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$f: no SPDX line at its head"
        sed -n 2p "$f" | grep -q 'Copyright The Lattice authors' || echo "$f: no copyright line at its head"
    done
}

if [ "${2:-}" != --self ]; then
    findings=$(check "$root")
    [ -z "$findings" ] || { echo "$findings"; exit 1; }
    echo "tidy: $(sources "$root" | wc -l) C files, $(texts "$root" | wc -l) other texts"
    exit 0
fi

# Each planted fault must give a finding with its text.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
allow="$work/allow.txt"
printf 'src/core/long.c\nsrc/core/gone.c was here once\nsrc/core/short.c generated\nsrc/core/huge.c generated\n' >"$allow"
head='// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors'
plant() {
    rm -rf "$work/tree"
    mkdir -p "$work/tree/$(dirname "$1")"
    printf '%s\n' "$2" >"$work/tree/$1"
    if ! (check "$work/tree") | grep -q "$3"; then
        echo "not found: $3"
        exit 1
    fi
}
plant src/core/a.c "$head
#include \"models/model.h\"" "points up"
plant src/gate/a.c "$head
#include \"runtime/sampler.h\"" "gate may use"
plant include/lattice/a.h "$head
#include \"core/buf.h\"" "public header"
plant src/core/a.c "$head
void f(char *a, char *b) { strcpy(a, b); }" "banned: strcpy"
plant src/core/a.c "$head
void f(void) { exit(1); }" "library may not"
plant src/core/a.c "$head
// TO""DO later" "leftover"
plant src/core/a.c "$head
$(printf '\t')int x;" "tab"
plant src/core/a.c "$head
int x; " "trailing space"
plant src/core/a.c "$head
// $(printf '%0140d' 0)" "line of"
plant src/core/a.c "$head
static void f(void)
{
$(i=0; while [ $i -lt 75 ]; do echo '    g();'; i=$((i + 1)); done)
}" "function of"
plant src/core/a.c "$head
$(i=0; while [ $i -lt 850 ]; do echo 'int x;'; i=$((i + 1)); done)" "file of"
plant src/core/a.c "int x;" "allowed without a reason"
plant src/core/a.c "int x;" "gone.c is not there"
plant src/core/short.c "int x;" "no longer needs"
plant src/core/huge.c "$head
$(i=0; while [ $i -lt 1600 ]; do echo 'int x;'; i=$((i + 1)); done)" "no reason allows"
plant src/core/a.c "$head
#include \"core/b.c\"" "include of a source file"
plant examples/a.c "$head
#include \"core/buf.h\"" "an example may"
plant src/core/a.c "$head
#include <utf8proc.h>" "utf8proc is for"
plant src/models/a.c "$head
#include <pcre2.h>" "PCRE2 is for"
plant src/gate/a.c "$head
#include <yaml.h>" "libyaml is for"
plant src/core/a.c "$head
#include <jansson.h>" "jansson is for"
plant src/core/a.c "$head
void f(void) { fprintf(stderr, x); }" "stdout or stderr"
plant tools/a.sh "echo" "no SPDX"
plant CMakeLists.txt "project(x)" "no copyright"
plant docs/a.md "see /home/someone/x" "path of a machine"
plant .ci/run "# SPDX-License-Identifier: Apache-2.0
make || true" "swallowed"
plant src/core/a.c "int x;" "no SPDX"
plant src/core/a.c "$head
// /home/someone/x" "path of a machine"
echo "tidy: every planted fault was found"
