# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Reads the wanted lines, and those of the file `got` beside them; "…" matches anything within a line,
# and on a line of its own any number of lines.
function matches(want, have,   piece, count, i, at) {
    count = split(want, piece, "…")
    if (count == 1) return want == have
    if (substr(have, 1, length(piece[1])) != piece[1]) return 0
    have = substr(have, length(piece[1]) + 1)
    for (i = 2; i < count; i++) {
        at = index(have, piece[i])
        if (!at) return 0
        have = substr(have, at + length(piece[i]))
    }
    return length(have) >= length(piece[count]) && substr(have, length(have) - length(piece[count]) + 1) == piece[count]
}
function wrong(want, have) { printf "wanted: %s\ngot:    %s\n", want, have; bad = 1 }
$0 == "…" { skip = 1; next }
{
    do more = (getline have < got)
    while (more > 0 && skip && !matches($0, have))
    if (more <= 0) wrong($0, "(nothing more)")
    else if (!matches($0, have)) wrong($0, have)
    skip = 0
}
END {
    if (!skip && (getline have < got) > 0) wrong("(nothing more)", have)
    exit bad
}
