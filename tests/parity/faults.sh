#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Shows that the parity check can fail: builds the engine with LATTICE_FAULTS=ON, plants one fault at a time, and
# demands that the comparison fails and names the layer where it first shows.
set -eu
cd "$(dirname "$0")/../.."
build=build/faults
cmake -S . -B "$build" -G Ninja -DLATTICE_FAULTS=ON -DLATTICE_TESTS=OFF >/dev/null
cmake --build "$build" --target lattice lattice-gate >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# check FAULT WANTED-CODE WANTED-LAYER (a JSON text for prompt p0, or "any")
check() {
    LATTICE_FAULT=$1 "$build/bin/lattice" trace models/nano --ids-file tests/golden/nano/ids.json --layers -n 64 \
        -o "$work/trace.safetensors" 2>/dev/null
    code=0
    "$build/bin/lattice-gate" parity compare tests/golden/nano/ref.safetensors "$work/trace.safetensors" --json \
        >"$work/report.json" || code=$?
    layer=$(sed -n 's/.*"prompt":"p0"[^}]*"first_bad_layer":\([^,]*\),.*/\1/p' "$work/report.json")
    verdict=ok
    [ "$code" -eq "$2" ] || verdict="WRONG: exit $code, wanted $2"
    [ "$3" = any ] || [ "$layer" = "$3" ] || verdict="WRONG: layer $layer, wanted $3"
    [ "$verdict" = ok ] || bad=$((bad + 1))
    printf '%-22s exit %s, first bad layer %-12s %s\n' "$1" "$code" "$layer" "$verdict"
}

check none 0 null
check head_mapping 1 '"layers.0"'
check plain_norm 1 '"layers.0"'
check no_l2_norm 1 '"layers.0"'
check conv_state 1 any
check rope_interleaved 1 '"layers.3"'
check plain_final_norm 1 '"norm"'
check repetition_penalty 1 null
printf 'planted faults: %s not caught as they must be\n' "$bad"
[ "$bad" -eq 0 ]
