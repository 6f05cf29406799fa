#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Holds a page against the programs: every command of a ```console block is run and must print exactly what the page
# says (`…` stands for anything within a line, alone on a line for any lines), and the page's C program must be examples/hello.c.
# usage: readme.sh SOURCE BUILD          the README
#        readme.sh SOURCE BUILD --self   shows that a wrong page is found
set -eu
source=$1 build=$2
here=$source/tests/readme
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/run"
ln -s "$source/models" "$source/tests" "$work/run/"
export PATH="$build/bin:$PATH"

# check PAGE PROGRAM
check() {
    rm -rf "$work/blocks" && mkdir "$work/blocks"
    awk -v out="$work/blocks" -f "$here/blocks.awk" "$1"
    count=0 bad=0
    for command in "$work"/blocks/*.sh; do
        [ -e "$command" ] || break
        code=0
        (cd "$work/run" && sh "$command") >"$work/got" 2>"$work/err" </dev/null || code=$?
        if ! awk -v got="$work/got" -f "$here/match.awk" "${command%.sh}.want"; then
            printf 'the page shows something else for: %s\n(exit status %s) %s\n' "$(cat "$command")" "$code" \
                "$(cat "$work/err")"
            bad=$((bad + 1))
        fi
        count=$((count + 1))
    done
    # The program as it is in examples, without the two lines of licence and the line between.
    sed 1,3d "$2" | cmp -s - "$work/blocks/program.c" || { echo "the page's C program is not $2"; bad=$((bad + 1)); }
    echo "readme: $count commands, $bad differ"
    [ "$bad" -eq 0 ] && [ "$count" -gt 0 ]
}

if [ "${3:-}" != --self ]; then
    check "$source/README.md" "$source/examples/hello.c"
    exit 0
fi

program='```c
int x;
```'
printf '1\n2\n3\nint x;\n' >"$work/x.c"
page() { printf '%s\n' '```console' "$1" '```' "${2-$program}" >"$work/page.md"; }
wrong() {
    page "$@"
    if check "$work/page.md" "$work/x.c" >/dev/null; then echo "not found: $1"; exit 1; fi
}
page '$ printf "a 17 b\nc\nd\ne\n"
a … b
c
…
e'
check "$work/page.md" "$work/x.c" >/dev/null || { echo "a true page was refused"; exit 1; }
wrong '$ echo a
b'
wrong '$ printf "a\nb\n"
a'
wrong '$ echo a
a
b'
wrong '$ echo "a 17 c"
a … b'
wrong '$ printf "a\nb\nc\n"
a
…
d'
wrong '$ false'"
one line that nobody prints"
wrong '$ echo a
a' '```c
int y;
```'
wrong 'no command at all'
echo "readme: every wrong page was found"
