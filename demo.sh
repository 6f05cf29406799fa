#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Installs what is missing, builds Lattice, lets the bundled model answer, and holds the engine against what Hugging
# Face said about the same model.
set -eu
cd "$(dirname "$0")"
. tools/setup.sh
setup_build
say "building"
cmake --preset default -DLATTICE_TESTS=OFF >/dev/null
cmake --build --preset default --target lattice lattice-gate >&2

lattice=build/default/bin/lattice
run() { printf '\n$ lattice'; for word in "$@"; do case $word in *' '*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac; done; printf '\n'; "$lattice" "$@"; }

run doctor models/nano
run generate models/nano "The capital of France is" -n 8
run generate models/nano "Once upon a time" -n 100
run generate models/nano "def add(a, b):
" -n 24
run generate models/nano --chat "What is the capital of Italy?"

printf '\nIs the engine as close to the exact answer as Hugging Face is?\n'
trace=$(mktemp -d)
trap 'rm -rf "$trace"' EXIT
run trace models/nano --ids-file tests/golden/nano/ids.json --layers -n 64 -o "$trace/nano.safetensors"
printf '\n$ lattice-gate parity compare tests/golden/nano/ref.safetensors nano.safetensors\n'
build/default/bin/lattice-gate parity compare tests/golden/nano/ref.safetensors "$trace/nano.safetensors"
