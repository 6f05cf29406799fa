# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Rules for scripts, build files and pages; see tidy.sh.
# make.py has no licence lines: its digest stands in the frozen references; it gets them when those are next written.
function finding(text) { print FILENAME ":" FNR ": " text }
FNR == 1 { if (name != "") end_file(); name = FILENAME; spdx = owner = 0; page = FILENAME ~ /\.md$|^tools\/reference\/make\.py$/ }
FNR <= 3 && /SPDX-License-Identifier: Apache-2\.0/ { spdx = 1 }
FNR <= 4 && /Copyright The Lattice authors/ { owner = 1 }
/\t/ && FILENAME !~ /Makefile$/ { finding("tab") }
/[ \r]$/ { finding("trailing space or carriage return") }
$0 ~ ("TO" "DO|FIX" "ME") { finding("leftover") }
FILENAME !~ /^tests\// && $0 ~ /\/(home|root|work|Users)\// { finding("path of a machine") }
# A failure may not be swallowed.
FILENAME !~ /^tests\/tidy\// && !page && $0 ~ /\|\| *(true|:)( |$|\))/ { finding("a swallowed failure") }
function end_file() {
    if (!page && !spdx) print name ": no SPDX line at its head"
    if (!page && !owner) print name ": no copyright line at its head"
}
END { end_file() }
