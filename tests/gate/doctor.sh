#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# lattice-gate doctor from outside: each of the 25 codes raised and repaired, exit statuses, our own workflows, bad input.
# usage: doctor.sh SOURCE BUILD
set -eu
root=$1 gate=$2/bin/lattice-gate
here="$root/tests/gate/workflows"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
checks=0

die() { echo "FAILED: $*"; exit 1; }

# ends CODE TEXT COMMAND...: ends with CODE; TEXT stands on stdout or stderr.
ends() {
    code=$1 text=$2
    shift 2
    got=0
    "$@" >out 2>err </dev/null || got=$?
    [ "$got" -eq "$code" ] || die "exit $got, wanted $code: $* ($(cat out err))"
    cat out err | grep -q -- "$text" || die "'$(cat out err)' lacks '$text': $*"
    checks=$((checks + 1))
}

lint() {
    at=$1
    shift
    [ ! -f "$at/ruleset.json" ] || set -- --ruleset "$at/ruleset.json" "$@"
    [ ! -f "$at/../contexts" ] || set -- --context "$(cat "$at/../contexts")" "$@"
    "$gate" doctor --only-workflows --workflows "$at" "$@"
}

declared=$("$gate" explain --all | grep -c '^D[0-9][0-9] ')
tested=0
for folder in "$here"/D[0-9][0-9]; do
    trap_code=${folder##*/}
    # What only informs (a plan that is ignored, what a ruleset leaves open) does not make the linter red.
    want=1
    case $trap_code in D17 | D22) want=0 ;; esac
    ends $want " $trap_code: " lint "$folder/bad"
    ends 0 "" lint "$folder/fixed"
    ! grep -q ' WARN \| FAIL ' out || die "$folder/fixed raises $(cat out)"
    ends 0 "^$trap_code: " "$gate" explain "$trap_code"
    grep -q "^### .*$trap_code: " "$root/docs/gate/WORKFLOWS.md" || die "$trap_code is not in WORKFLOWS.md"
    tested=$((tested + 1))
done
[ "$declared" -eq 25 ] && [ "$tested" -eq "$declared" ] || die "$declared codes declared, $tested tested"
echo "codes of the linter: $declared declared, $tested tested"

# positions and machine-readable output
ends 1 'D01/bad/ci.yml:33:25: FAIL D01: ' lint "$here/D01/bad"
ends 1 '"column": 25' lint "$here/D01/bad" --format json
ends 0 'INFO D22: .*not available' lint "$here/D01/fixed"
ends 0 '^PASS' lint "$here/D22/fixed"

# what WORKFLOWS.md shows is what is printed
sed -n '/^    \$ lattice-gate doctor/,/^$/s/^    //p' "$root/docs/gate/WORKFLOWS.md" | sed 1d >shown
mkdir -p tests/gate/workflows
cp -r "$here/D01" tests/gate/workflows/
ends 1 'D01' "$gate" doctor --only-workflows --workflows tests/gate/workflows/D01/bad
cmp shown out || die "WORKFLOWS.md shows other output than $(cat out)"

# our own
(cd "$root" && "$gate" doctor --only-workflows --workflows .github/workflows) >out 2>&1 || die "our own workflows: $(cat out)"
! grep -q 'WARN\|FAIL\|ERROR' out || die "our own workflows: $(cat out)"
grep -q '^workflows: 1 files' out || die "not our workflow: $(cat out)"

# bad input
mkdir empty bad
ends 2 'no workflow file' "$gate" doctor --only-workflows --workflows empty
ends 2 'no such folder' "$gate" doctor --only-workflows --workflows nowhere
ends 4 'expected text or json' "$gate" doctor --format xml
ends 4 'unknown option' "$gate" doctor --frob
printf 'on: push\njobs:\n  a: &x\n    runs-on: y\n  b: *x\n' >bad/a.yml
ends 1 'bad/a.yml:3:.*D25.*nchor' "$gate" doctor --only-workflows --workflows bad
printf '\377\376' >bad/a.yml
ends 1 'bad/a.yml:1:1: FAIL D25' "$gate" doctor --only-workflows --workflows bad
: >bad/a.yml
ends 1 'D25: an empty file' "$gate" doctor --only-workflows --workflows bad
head -c 9000000 /dev/zero | tr '\0' '#' >bad/a.yml
ends 1 'D25: .*bytes' "$gate" doctor --only-workflows --workflows bad
printf 'on: push\njobs: [a]\n' >bad/a.yml
ends 1 "D25: no 'jobs'" "$gate" doctor --only-workflows --workflows bad
echo '{"name": "x"' >cut.json
ends 2 'cut.json:' "$gate" doctor --only-workflows --workflows "$here/good" --ruleset cut.json
echo '[]' >none.json
ends 2 'none.json: expected' "$gate" doctor --only-workflows --workflows "$here/good" --ruleset none.json
echo '{"name": "x", "enforcement": "evaluate", "rules": [], "bypass_actors": []}' >off.json
ends 1 'D22: .*not enforced' "$gate" doctor --only-workflows --workflows "$here/D01/fixed" --ruleset off.json
echo '{"name": "x", "enforcement": "active", "rules": []}' >open.json
ends 1 'D22: .*no status check is required' "$gate" doctor --only-workflows --workflows "$here/D01/fixed" --ruleset open.json
grep -q 'who may bypass it is not in the file' out || die "hidden bypass actors are passed over"

# the machine
ends 0 '^git version' "$gate" doctor
cat >gate.yaml <<'POLICY'
schema: 1
project: {name: p}
areas: {all: ["**"]}
legs:
  bench: {kind: command, areas: all, run: [no-such-tool], parse: exit, tools: [no-such-tool]}
POLICY
ends 2 "ERROR E301: 'no-such-tool' is not in PATH" "$gate" doctor
echo 'schema: 2' >gate.yaml
ends 2 'gate.yaml:1' "$gate" doctor
cd /
ends_full=$("$gate" doctor --only-workflows --workflows "$here/D01/fixed" >/dev/full 2>/dev/null || echo $?)
[ "$ends_full" = 2 ] || die "a full disk: exit $ends_full"
echo "doctor: $checks checks"
