#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Installs the cross compiler, the two libraries and the emulator that the aarch64 preset needs (Debian, as root).
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh
ready() {
    command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64 && [ -e /usr/lib/aarch64-linux-gnu/libutf8proc.so ] \
        && [ -e /usr/lib/aarch64-linux-gnu/libcmocka.so ]
}
if ! ready >/dev/null 2>&1; then
    command -v apt-get >/dev/null 2>&1 || { say "no apt-get: the aarch64 preset is only set up on Debian"; exit 2; }
    [ "$(id -u)" -eq 0 ] || { say "run tools/setup-aarch64.sh as root"; exit 2; }
    say "installing the aarch64 cross compiler, its libraries and qemu-user"
    dpkg --add-architecture arm64
    apt_install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user libutf8proc-dev:arm64 libcmocka-dev:arm64
fi
ready >/dev/null
