#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Installs what is missing, builds the default set, runs all of its tests. Skipped tests are counted and shown.
# usage: test.sh [PRESET]
set -eu
cd "$(dirname "$0")"
. tools/setup.sh
setup_tests
preset=${1:-default}
say "building preset $preset"
cmake --preset "$preset" -DLATTICE_TESTS=ON >/dev/null
cmake --build --preset "$preset" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
ctest --preset "$preset" -j "$(nproc)" --no-tests=error >"$log" 2>&1 || status=$?
cat "$log"
total=$(sed -n 's/.*tests failed out of \([0-9]*\).*/\1/p; s/.*tests passed out of \([0-9]*\).*/\1/p' "$log" | tail -n 1)
failed=$(sed -n 's/.* \([0-9]*\) tests failed out of.*/\1/p' "$log" | tail -n 1)
skipped=$(grep -c '\*\*\*Skipped' "$log" || [ $? -eq 1 ])
: "${total:=0}" "${failed:=0}"
printf '%s: %s passed, %s failed, %s skipped\n' "$preset" "$((total - failed - skipped))" "$failed" "$skipped"
[ "$total" -gt 0 ] || { say "no test ran"; exit 1; }
exit "$status"
