# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Rules per line, function and file; see tidy.sh.
BEGIN {
    split("core 0 tensor 1 text 1 kernels 1 nn 2 models 3 runtime 4 cli 6 gate 6", pairs, " ")
    for (i = 1; i in pairs; i += 2) level[pairs[i]] = pairs[i + 1]
    while ((getline line < allow) > 0) if (line !~ /^#/ && split(line, w, " ") > 0) allowed[w[1]] = 1
    banned = "strcpy strcat sprintf vsprintf gets strtok atoi atol atof system popen alloca tmpnam rand srand"
    split(banned, ban, " ")
    library_banned = "exit abort printf puts putchar perror"
    split(library_banned, libban, " ")
}
function module_of(path,   p) { split(path, p, "/"); return p[1] == "src" ? p[2] : "" }
function finding(text) { print FILENAME ":" FNR ": " text }
FNR == 1 {
    if (prev_file != "") end_file()
    prev_file = FILENAME; lines = 0; function_start = 0; module = module_of(FILENAME)
}
{ lines = FNR }
/\t/ { finding("tab") }
/[ \r]$/ { finding("trailing space or carriage return") }
length($0) > 140 { finding("line of " length($0) " characters") }
$0 ~ ("TO" "DO|FIX" "ME|(^|[^X])XX" "X([^X]|$)") { finding("leftover") }
FILENAME !~ /^tests\// && $0 ~ /\/(home|root|work|Users)\// { finding("path of a machine") }
/^#include "/ {
    target = $2; gsub(/"/, "", target); split(target, t, "/")
    if (FILENAME ~ /^include\// && t[1] != "lattice") finding("public header includes " target)
    if (module != "" && t[1] in level && t[1] != module && module in level) {
        if (module == "gate" && t[1] != "core" && t[1] != "tensor") finding("gate may use core and tensor, not " target)
        else if (level[t[1]] > level[module] || (level[t[1]] == level[module] && !(module == "kernels" && t[1] == "tensor")))
            finding("include of " target " points up")
    }
}
{
    code = $0; sub(/\/\/.*/, "", code); gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
    if (FILENAME ~ /^(src|include)\//) {
        for (i in ban) if (code ~ ("(^|[^a-zA-Z0-9_])" ban[i] " *\\(")) finding("banned: " ban[i])
        if (module != "cli" && module != "gate" && FILENAME !~ /core\/error\.c$/)
            for (i in libban) if (code ~ ("(^|[^a-zA-Z0-9_])" libban[i] " *\\(")) finding("the library may not: " libban[i])
    }
}
/^\{/ { function_start = FNR }
/^\}/ {
    if (function_start && FNR - function_start - 1 > 70) finding("function of " FNR - function_start - 1 " lines")
    function_start = 0
}
function end_file() {
    if (lines > 800 && !(prev_file in allowed)) print prev_file ": file of " lines " lines"
}
END { end_file() }
