#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# `lattice-gate deny` from outside, on a project that links jansson and fetches an archive: exit statuses, what is printed,
# what is written. usage: deny.sh BUILD
set -eu
gate=$1/bin/lattice-gate
for tool in cmake ninja dpkg-query tar sha256sum; do
    command -v $tool >/dev/null || { echo "$tool is not here"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0

die() { echo "FAILED: $*"; exit 1; }

# ends CODE TEXT ARGUMENTS...: `deny` with the arguments ends with CODE and says TEXT.
ends() {
    code=$1 text=$2 got=0
    shift 2
    (cd "$work/project" && "$gate" "$@") >"$work/out" 2>&1 </dev/null || got=$?
    [ "$got" -eq "$code" ] || die "exit $got, wanted $code: $* ($(cat "$work/out"))"
    grep -q -- "$text" "$work/out" || die "'$(cat "$work/out")' lacks '$text': $*"
    checks=$((checks + 1))
}

mkdir -p "$work/tiny" "$work/project/src"
echo 'int tiny(void);' >"$work/tiny/tiny.h"
printf '#include "tiny.h"\nint tiny(void) { return 1; }\n' >"$work/tiny/tiny.c"
printf 'cmake_minimum_required(VERSION 3.20)\nproject(tiny C)\nadd_library(tiny STATIC tiny.c)\ntarget_include_directories(tiny PUBLIC .)\n' \
    >"$work/tiny/CMakeLists.txt"
tar -C "$work" -czf "$work/tiny.tgz" tiny
digest=$(sha256sum "$work/tiny.tgz" | cut -d' ' -f1)
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(fixture C)
include(FetchContent)
FetchContent_Declare(Tiny URL file://$work/tiny.tgz URL_HASH SHA256=$digest)
FetchContent_MakeAvailable(Tiny)
add_executable(app src/app.c)
target_link_libraries(app PRIVATE tiny jansson)
END
printf '#include <jansson.h>\n#include "tiny.h"\nint main(void) { json_decref(json_integer(tiny())); return 0; }\n' >"$work/project/src/app.c"
cat >"$work/project/gate.yaml" <<END
schema: 1
project: {name: fixture, default_branch: main}
areas: {all: ["**"]}
legs:
  deny:
    kind: deny
    areas: ["*"]
    licenses:
      allow: [MIT]
      platform: [glibc, gcc, linux]
      clarify: [{name: Tiny, license: MIT, reason: its author says so, revision: SHA256=$digest}]
    sources: {archives: ["file://$work/*"]}
  advisories:
    kind: feeds
    required: false
    areas: ["*"]
    osv: osv.json
END

# ---- from nothing to green
ends 2 'cannot judge\[D603\]: there is no lock file' deny
ends 0 'PASS deny: ' deny lock
grep -q 'name: "jansson"' "$work/project/deps.lock" || die "the lock lacks jansson"
ends 0 'PASS deny: [0-9]* components in 2 compilations, ' deny
ends 0 'PASS  *deny: ' run deny
for bill in spdx cdx; do
    grep -q '"jansson"' "$work/project/.gate/deny/sbom.$bill.json" || die "no bill of materials: $bill"
done
ends 0 'PASS' deny --spdx "$work/a.json" --cyclonedx "$work/b.json"
grep -q '"SPDX-2.3"' "$work/a.json" && grep -q '"CycloneDX"' "$work/b.json" || die "bills of materials elsewhere"
ends 0 '"state": "PASS"' deny --json
for check in licenses bans sources integrity; do
    ends 0 'PASS deny' deny $check
done

# ---- what a finding looks like: what, where, why, how to fix
printf '/* You may redistribute this under the terms of the GNU General Public License. */\nint x;\n' >"$work/project/src/list.c"
ends 1 '^error\[D618\]: the file is under the GNU GPL by its own words' deny
for line in '^  --> src/list.c:1$' '^  why: By its folder' '^  fix: declare it under' '^FAIL deny: .* 1 errors, 0 warnings'; do
    grep -q -- "$line" "$work/out" || die "'$(cat "$work/out")' lacks '$line'"
done
ends 0 'PASS' deny bans
rm "$work/project/src/list.c"

# ---- the archive under the same address is another one
echo '// more' >>"$work/tiny/tiny.c"
tar -C "$work" -czf "$work/tiny.tgz" tiny
other=$(sha256sum "$work/tiny.tgz" | cut -d' ' -f1)
sed "s/$digest/$other/" "$work/project/CMakeLists.txt" >"$work/changed" && cp "$work/changed" "$work/project/CMakeLists.txt"
ends 1 "D616.: the clarification of 'Tiny' was made for revision SHA256=$digest" deny
grep -q "the archive's digest of 'Tiny': locked SHA256=$digest" "$work/out" || die "the lock did not see it"
sed 's/ URL_HASH SHA256=[0-9a-f]*//' "$work/changed" >"$work/project/CMakeLists.txt"
ends 1 'D613.: .Tiny. comes from .* and no digest' deny sources

# ---- advisories: absent, good, ninety days old
ends 3 'D604' deny feeds
printf '[{"id":"X-1","modified":"%sT00:00:00Z","affected":[]}]' "$(date +%Y-%m-%d)" >"$work/project/osv.json"
ends 0 '0 of 1 advisories apply; the snapshot is 0 days old' deny feeds
printf '[{"id":"X-1","modified":"%sT00:00:00Z","affected":[]}]' "$(date -d '90 days ago' +%Y-%m-%d)" >"$work/project/osv.json"
ends 3 'D604.: the snapshot is 90 days old, 14 are allowed' deny feeds

# ---- usage and configuration
ends 4 "'nonsense' is no check" deny nonsense
ends 4 "'feeds' is a leg of its own" deny feeds bans
ends 4 "no leg 'x' of kind 'deny'" deny --leg x
sed 's/allow: \[MIT\]/allow: [Mitt]/' "$work/project/gate.yaml" >"$work/changed" && cp "$work/changed" "$work/project/gate.yaml"
ends 2 "gate.yaml:9:15: 'allow': licence expression 'Mitt'" deny
echo "deny: $checks checks"
