#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Installs the build into a scratch prefix and uses it as a stranger would: pkg-config shared and static, CMake, each
# public header alone in C and in C++, the man page. usage: package.sh SOURCE BUILD
set -eu
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
pc=$(dirname "$(find "$work/prefix" -name lattice.pc)")
lib=$(dirname "$pc")
export PKG_CONFIG_PATH="$pc"
want=" Paris"
model="$source/models/nano"

answer() { "$@" "$model" "The capital of France is" | head -n 1 | cut -c1-6; }
check() { [ "$2" = "$want" ] || { echo "$1: got '$2'"; exit 1; }; echo "$1: ok"; }

# shellcheck disable=SC2046
cc -std=c17 "$source/examples/hello.c" $(pkg-config --cflags --libs lattice) -o "$work/shared"
check "pkg-config, shared" "$(LD_LIBRARY_PATH=$lib answer "$work/shared")"
# shellcheck disable=SC2046
cc -std=c17 "$source/examples/hello.c" $(pkg-config --cflags lattice) "$lib/liblattice.a" \
    $(pkg-config --static --libs lattice | sed 's/-llattice//g') -o "$work/static"

mkdir "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(consumer C)
find_package(lattice 0.1 REQUIRED)
add_executable(consumer $source/examples/hello.c)
target_link_libraries(consumer PRIVATE lattice::lattice)
add_executable(consumer_static $source/examples/hello.c)
target_link_libraries(consumer_static PRIVATE lattice::lattice_static)
END
cmake -S "$work/cmake" -B "$work/cmake/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/cmake/build" >/dev/null
check "find_package, shared" "$(answer "$work/cmake/build/consumer")"
# The static one must not need the shared library at all.
mkdir "$work/aside" && mv "$lib"/liblattice.so* "$work/aside/"
check "find_package, static" "$(answer "$work/cmake/build/consumer_static")"
check "pkg-config, static" "$(answer "$work/static")"
mv "$work"/aside/* "$lib/"

for header in "$work"/prefix/include/lattice/*.h; do
    for language in c c++; do
        echo "#include \"$header\"" | cc -x $language -I"$work/prefix/include" -Wall -Wextra -Werror -fsyntax-only -
    done
done
echo "headers alone: ok"
"$build/bin/lattice" help --man | grep -q '^.SH NAME'
# Only the public names leave the shared library.
extra=$(nm -D --defined-only "$lib/liblattice.so" | awk '{print $3}' | grep -v '^lat_' || [ $? -eq 1 ])
[ -z "$extra" ] || { echo "the shared library exports $extra"; exit 1; }
[ "$(nm -D --defined-only "$lib/liblattice.so" | grep -c ' T lat_kernels\| T lat_st_')" -eq 0 ] \
    || { echo "internal names are exported"; exit 1; }
echo "exports: ok"
