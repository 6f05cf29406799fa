# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Rules per line, function and file; see tidy.sh.
BEGIN {
    split("core 0 tensor 1 text 1 kernels 1 nn 2 quant 2 models 3 runtime 4 cli 6 gate 6", pairs, " ")
    for (i = 1; i in pairs; i += 2) level[pairs[i]] = pairs[i + 1]
    while ((getline line < allow) > 0) {
        if (line ~ /^#/ || split(line, w, " ") == 0) continue
        allowed[w[1]] = 1
        if (!(2 in w) || w[2] == "") print allow ": " w[1] " is allowed without a reason"
        delete w
    }
    banned = "strcpy strcat sprintf vsprintf gets strtok atoi atol atof system popen alloca tmpnam rand srand"
    split(banned, ban, " ")
    library_banned = "exit abort printf vprintf puts putchar perror setlocale setenv"
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
/^#include "[^"]*\.c"/ { finding("include of a source file") }
/^#include "/ && FILENAME ~ /^examples\// { finding("an example may include <lattice/...> only") }
# A dependency is wrapped by one file of ours.
/^#include <utf8proc/ && FILENAME != "src/text/nfc.c" { finding("utf8proc is for src/text/nfc.c") }
/^#include <pcre2/ && FILENAME != "src/text/split_pcre2.c" { finding("PCRE2 is for src/text/split_pcre2.c") }
/^#include <yaml\.h>/ && FILENAME != "src/gate/yaml_tree.c" { finding("libyaml is for src/gate/yaml_tree.c") }
/^#include <jansson\.h>/ && FILENAME !~ /^(src\/gate|tests\/unit\/gate)\// { finding("jansson is for the gate") }
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
        if (module != "cli" && module != "gate" && FILENAME !~ /core\/error\.c$/ && code ~ /(^|[^a-zA-Z0-9_])(stdout|stderr)($|[^a-zA-Z0-9_])/)
            finding("the library may not write to stdout or stderr")
    }
}
/^\{/ { function_start = FNR }
/^\}/ {
    if (function_start && FNR - function_start - 1 > 70) finding("function of " FNR - function_start - 1 " lines")
    function_start = 0
}
function end_file() {
    if (lines > 1500) print prev_file ": file of " lines " lines, no reason allows that"
    else if (lines > 800 && !(prev_file in allowed)) print prev_file ": file of " lines " lines"
    if (lines <= 800 && prev_file in allowed) print prev_file ": no longer needs its place in allow.txt"
    delete allowed[prev_file]
}
END {
    end_file()
    for (name in allowed) print allow ": " name " is not there"
}
