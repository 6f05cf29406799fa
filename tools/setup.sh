# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Sourced by demo.sh, test.sh and .ci/run: installs what is missing to build Lattice. Asks nothing, says what it does.

say() { printf '== %s\n' "$*" >&2; }

# need PROGRAM-OR-HEADER-TEST PACKAGE: remembers the package when the test fails.
missing=""
need() {
    if ! eval "$1" >/dev/null 2>&1; then missing="$missing $2"; fi
}

has() { command -v "$1"; }
has_pc() { command -v pkg-config && pkg-config --exists "$1"; }
has_cmake() {
    command -v cmake && [ "$(cmake --version | awk 'NR == 1 { split($3, v, "."); print v[1] * 100 + v[2] }')" -ge 322 ]
}

# apt_install PACKAGES...: as root or through sudo, asking nothing; waits for another apt at work.
apt_install() {
    as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true >/dev/null 2>&1; then
            say "not root, and sudo is not there or wants a password. Please run: sudo apt-get install $*"
            return 2
        fi
        as_root="sudo -n"
    fi
    say "installing: $*"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2 </dev/null \
        || say "apt-get update failed; trying with what is known"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "$@" >&2 </dev/null
}

install_missing() {
    [ -z "$missing" ] && return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        say "please install the equivalents of these Debian packages, then run this again:$missing"
        return 2
    fi
    # shellcheck disable=SC2086
    apt_install $missing || return 2
    missing=""
}

# What building the default set takes.
setup_build() {
    need "has cc" gcc
    need "echo '#include <stdio.h>' | cc -E -" libc6-dev
    need "has make" make
    need has_cmake cmake
    need "has ninja" ninja-build
    need "has pkg-config" pkg-config
    need "has_pc libutf8proc" libutf8proc-dev
    need "has_pc libpcre2-8" libpcre2-dev
    need "has_pc jansson" libjansson-dev
    need "has_pc yaml-0.1" libyaml-dev
    install_missing
}

# What the tests take besides.
setup_tests() {
    setup_build || return 2
    need "has_pc cmocka" libcmocka-dev
    need "has git" git
    need "has c++" g++
    install_missing
}
