#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# lattice-gate from outside: help, completion, explain, run. usage: gate.sh BUILD
set -eu
gate=$1/bin/lattice-gate
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

# help, in every way
ends 4 '^usage: lattice-gate' "$gate"
ends 0 '^  run  *runs legs' "$gate" --help
ends 0 '^  run  *runs legs' "$gate" help
ends 0 '^usage: lattice-gate run LEG' "$gate" help run
ends 0 '^usage: lattice-gate run LEG' "$gate" run x --help
ends 0 '^usage: lattice-gate parity compare' "$gate" help parity compare
ends 0 '^lattice-gate [0-9]' "$gate" --version
ends 0 '^\.SS lattice\\*-gate run' "$gate" help --man
ends 4 "did you mean 'explain'" "$gate" explian
ends 4 "'parity' is one of: .*'parity compare'" "$gate" parity
ends 4 "unknown command 'frobnicate'" "$gate" frobnicate
ends 4 "unknown option '--frob'" "$gate" run x --frob
ends 4 'usage: lattice-gate run' "$gate" run
ends 4 'expected auto, always or never' "$gate" --color sometimes run x
[ ! -s out ] || die "data in spite of a refusal"
ends 2 'cannot write' sh -c "exec '$gate' help >/dev/full"
# the help names every command of the table, and each command has its own help
"$gate" help | sed -n '/^commands:/,/^$/s/^  \([a-z ]*[a-z]\)  .*/\1/p' >names
[ "$(wc -l <names)" -ge 4 ] || die "commands: $(cat names)"
while read -r name; do
    [ "$name" = help ] || "$gate" help $name | grep -q "^usage: lattice-gate $name" || die "no help of '$name'"
done <names

# completion: scripts that their shells accept, and that complete
ends 4 'bash, zsh or fish' "$gate" completion tcsh
for shell in bash zsh fish; do
    "$gate" completion "$shell" >"completion.$shell"
    [ -s "completion.$shell" ] || die "no completion for $shell"
    if command -v "$shell" >/dev/null 2>&1; then
        "$shell" -n "completion.$shell" || die "$shell does not accept its completion"
        checks=$((checks + 1))
    fi
done
if command -v bash >/dev/null 2>&1; then
    bash -c '. ./completion.bash; COMP_WORDS=(lattice-gate expl); COMP_CWORD=1; _lattice_gate; echo "${COMPREPLY[*]}"
        COMP_WORDS=(lattice-gate parity co); COMP_CWORD=2; _lattice_gate; echo "${COMPREPLY[*]}"
        COMP_WORDS=(lattice-gate run x --no); COMP_CWORD=3; _lattice_gate; echo "${COMPREPLY[*]}"' >out
    [ "$(sed -n 1p out)" = explain ] && grep -q compare out && grep -q -- --no-needs out || die "bash completes: $(cat out)"
fi

# explain
ends 0 '^V205: too little' "$gate" explain v205
ends 0 '^E301: ' "$gate" explain V205 E301
ends 4 "did you mean" "$gate" explain V20
ends 4 'give what to explain' "$gate" explain
ends 0 '^V205 ' "$gate" explain --all
ends 0 '^### V205: too little' "$gate" explain --all --format md
ends 4 'text or md' "$gate" explain --all --format html
"$gate" explain --all | while read -r code rest; do
    "$gate" explain "$code" | grep -q '^  fix ' || die "explain $code ($rest)"
done

# run
ends 2 'no gate.yaml here' "$gate" run unit
mkdir project project/sub
cat >project/gate.yaml <<'YAML'
schema: 1
project: {name: demo}
areas: {all: ["src/**"]}
legs:
  good: {kind: command, areas: all, run: ["true"], parse: exit}
  bad: {kind: command, areas: all, run: [sh, -c, "echo reason >&2; exit 7"], parse: exit}
  after-bad: {kind: command, areas: all, run: [touch, ran], parse: exit, needs: bad}
  after-good: {kind: command, areas: all, run: [touch, ran], parse: exit, needs: good}
  tests: {kind: command, areas: all, run: [printf, "1..2\nok 1 - a\nok 2 - b\n"], parse: tap, min: 2}
  none: {kind: command, areas: all, run: [printf, "1..0\n"], parse: tap, min: 1}
  hang: {kind: command, areas: all, run: [sleep, "600"], parse: exit}
YAML
cd project/sub # found in the folder above
ends 0 '^PASS  *good: 1 command' "$gate" run good
ends 1 'FAIL T102 .*exit status 7; last it said: reason' "$gate" run bad
ends 2 "V204 not run: it needs 'bad'" "$gate" run after-bad
[ ! -e ../ran ] || die "a leg ran whose need is red"
ends 0 '^PASS  *after-good' "$gate" run after-good
[ -e ../ran ] || die "the leg did not run in the project's folder"
ends 0 'tests: 2 tests (at least 2)' "$gate" run tests --no-needs
ends 2 'V205 0 tests looked at' "$gate" run none
ends 2 'V205' "$gate" run good none # the worst counts
ends 4 "there is no leg 'unit'" "$gate" run unit
ends 0 PASS "$gate" run good --work "$work/evidence"
[ -e "$work/evidence/logs/good/stdout.txt" ] && [ "$(cat "$work/evidence/.gitignore")" = '*' ] || die "evidence"
ends 0 PASS "$gate" run good --policy ../gate.yaml
ends 2 'cannot open' "$gate" run good --policy ../nothing.yaml
ends 2 'cannot write' sh -c "exec '$gate' run good >/dev/full"
"$gate" --color always run good | grep -q "$(printf '\033')\[32mPASS" || die "no colour"
"$gate" run good | grep -q "$(printf '\033')" && die "colour in a pipe"
# Ctrl-C ends the gate and what it started
"$gate" run hang >/dev/null 2>&1 &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    child=$(ps -o pid= --ppid "$pid" 2>/dev/null) && [ -n "$child" ] && break
    sleep 0.2
done
kill -TERM "$pid"
wait "$pid" && die "passed in spite of SIGTERM"
kill -0 $child 2>/dev/null && die "left its child behind"
# a policy that is wrong says where
printf 'schema: 1\nproject: {name: demo}\nareas: {all: a}\nlegs:\n  x: {kind: command, areas: al, run: [a], parse: exit}\n' >../gate.yaml
ends 2 "gate.yaml:5:29: leg 'x': there is no area 'al'" "$gate" run x
printf 'schema: 1\nschema: 1\n' >../gate.yaml
ends 2 "gate.yaml:2:1: duplicate key 'schema', first at line 1" "$gate" run x
# local, verdict and report over one project
cd "$work"
mkdir -p whole/src
cat >whole/gate.yaml <<'YAML'
schema: 1
project: {name: demo}
areas: {all: ["src/**"]}
legs:
  tests: {kind: command, areas: all, run: [printf, "1..2\nok 1 - a\nok 2 - b\n"], parse: tap, min: 2, needs: build}
  build: {kind: command, areas: all, run: ["true"], parse: exit}
  look: {kind: command, required: false, areas: all, run: ["false"], parse: exit}
YAML
in_whole() { (cd "$work/whole" && exec "$gate" "$@"); } # what is said of it lies outside: it is judged
ends 2 '^verdict: ERROR$' in_whole verdict # no plan yet
ends 2 'plan.json' in_whole report
ends 0 '^verdict: PASS$' in_whole local --all # a leg that only informs never turns it
[ "$(tail -n 1 out)" = 'verdict: PASS' ] && grep -q '^FAIL  *look  *informs .*T102' out && grep -q '2 tests' out || die "table: $(cat out)"
ends 0 '^verdict: PASS$' in_whole verdict
ends 0 '"state":"[A-Z]*","green":true' in_whole verdict --json
for format in text md json junit sarif github; do
    ends 0 look in_whole report --format $format
done
in_whole report --format sarif -o report.sarif || die "report -o"
grep -q '"version":"2.1.0"' whole/report.sarif || die "no SARIF"
rm whole/report.sarif
ends 4 'expected text, md' in_whole report --format pdf
# the platform's word counts, too
echo '{"tests":{"result":"cancelled"},"plan":{"result":"success"}}' >whole/.gate/needs.json
ends 2 'V204' in_whole verdict --needs-json .gate/needs.json
echo '{"tests":{"result":"success"}}' >whole/.gate/needs.json
ends 0 '^verdict: PASS$' in_whole verdict --needs-json .gate/needs.json
echo '[]' >whole/.gate/needs.json
ends 2 '^verdict: ERROR$' in_whole verdict --needs-json .gate/needs.json
# evidence that is edited, cut, doubled, missing, or of another run
cp -r whole/.gate kept
sed 's/"FAIL"/"PASS"/' kept/results/look.json >whole/.gate/results/look.json
ends 2 'E302 .*cut or edited' in_whole verdict
head -c 100 kept/results/look.json >whole/.gate/results/look.json
ends 2 '^verdict: ERROR$' in_whole verdict
cp kept/results/look.json whole/.gate/results/look.json
cp kept/results/tests.json whole/.gate/results/tests2.json
ends 2 'V202 there are several' in_whole verdict
rm whole/.gate/results/tests*.json
ends 2 'V202 there is no result' in_whole verdict
ends 0 '^verdict: PASS$' in_whole local
cp kept/results/tests.json whole/.gate/results/tests.json
ends 2 'V201 the result is of another' in_whole verdict
# some legs are no verdict over all
ends 0 'only some legs' in_whole local --only tests
grep -q '^PASS  *build' out && grep -q '^NOT_REQUIRED  *look' out || die "--only: $(cat out)"
ends 2 'V201: the plan of some chosen legs' in_whole verdict
ends 4 "there is no leg 'x'" in_whole local --only x
ends 4 'exclude each other' in_whole local --only tests --all
# a leg that writes into the tree
sed -i 's/"true"/touch, src\/new/' whole/gate.yaml
ends 2 'V201: the tree changed' in_whole local
sed -i 's/touch, src\/new/"false"/' whole/gate.yaml
ends 2 '^ERROR  *tests .*V204 not run: it needs .build' in_whole local
sed -i 's/, needs: build//; s/look: {/other: {/' whole/gate.yaml
ends 1 '^verdict: FAIL$' in_whole local
echo "gate: $checks checks"
