# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Cuts a page into out/NNN.sh (a command of a ```console block; a line that begins with "> " goes on with it) and
# out/NNN.want (what it prints), and its first ```c block into out/program.c.
/^```console$/ { inside = 1; next }
/^```c$/ && !program { program = 1; inside = 2; next }
/^```/ { inside = 0; next }
inside == 2 { print > (out "/program.c") }
inside == 1 && /^\$ / {
    n++
    name = sprintf("%s/%03d", out, n)
    print substr($0, 3) > (name ".sh")
    printf "" > (name ".want")
    continued = 1
    next
}
inside == 1 && continued && /^> / { print substr($0, 3) > (name ".sh"); next }
inside == 1 && n { continued = 0; print > (name ".want") }
