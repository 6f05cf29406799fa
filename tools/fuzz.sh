#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Runs every libFuzzer target for some seconds, from the corpus, and leaves what it finds in build/fuzz/found.
# usage: fuzz.sh [SECONDS]
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh
seconds=${1:-60}
setup_tests
need "has clang" clang
need "ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-aarch64.a 2>/dev/null | grep -q ." libclang-rt-dev
install_missing
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz >&2
bad=0 count=0
for target in $(ls fuzz/corpus); do
    count=$((count + 1))
    mkdir -p "build/fuzz/corpus/$target" build/fuzz/found
    say "fuzzing $target for $seconds s"
    "build/fuzz/bin/fuzz_$target" -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="build/fuzz/found/$target-" "build/fuzz/corpus/$target" "fuzz/corpus/$target" || bad=$((bad + 1))
done
printf 'fuzz: %s targets, %s failed\n' "$count" "$bad"
[ "$bad" -eq 0 ]
