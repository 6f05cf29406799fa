#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# The engine against every frozen reference of Hugging Face. usage: frozen.sh [BUILD-DIRECTORY]
# The bundled, trained model is held to the defaults (2 and 1.2 floors). For the tiny random checkpoints one prompt is
# a handful of numbers: there the root mean square may be 2 floors.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/default}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0 bad=0

# compare MODEL REFERENCE-FOLDER [options of parity compare]
compare() {
    model=$1 reference=$2
    shift 2
    printf '\n%s\n' "$model"
    "$build/bin/lattice" trace "$model" --ids-file "$reference/ids.json" --layers -n 64 --compute exact -o "$work/trace.safetensors"
    "$build/bin/lattice-gate" parity compare "$reference/ref.safetensors" "$work/trace.safetensors" "$@" || bad=$((bad + 1))
    count=$((count + 1))
}

compare models/nano tests/golden/nano
for folder in tests/golden/qwen35/*/; do
    compare "$folder" "$folder" --rms-ratio 2
done
for folder in tests/golden/quantized/*/; do # weights widened to f32: what Hugging Face computes
    compare "$folder" "$folder" --rms-ratio 2
done
printf '\nparity: %d references, %d failed\n' "$count" "$bad"
[ "$count" -ge 14 ] || { echo "fewer references than there must be"; exit 1; }
[ "$bad" -eq 0 ]
