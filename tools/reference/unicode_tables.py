#!/usr/bin/env python3
"""Writes src/text/unicode_tables.c from what Hugging Face's `tokenizers` really does.

Two tables: the class of every code point (letter, mark, number, white space) as its regular expressions see it, and
the code points that take part in its NFC. The library's tables are of different Unicode versions (classes 16.0, NFC
9.0), so each code point is asked for rather than taken from one version of the Unicode database.

usage: unicode_tables.py [OUT.c]     (needs the Python package `tokenizers`)
"""
import sys
import unicodedata

from tokenizers import Regex, normalizers


def scalars():
    return [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def members(pattern):
    """Code points that match a one-character pattern."""
    drop = normalizers.Replace(Regex(pattern), "")
    found = set()
    for start in range(0, 0x110000, 4096):
        block = [c for c in range(start, start + 4096) if not 0xD800 <= c <= 0xDFFF]
        left = {ord(c) for c in drop.normalize_str("".join(map(chr, block)))}
        found.update(c for c in block if c not in left)
    return found


def classes():
    table = {}
    for name, pattern in (("LETTER", r"\p{L}"), ("MARK", r"\p{M}"), ("NUMBER", r"\p{N}"), ("SPACE", r"\s")):
        for c in members(pattern):
            assert c not in table, hex(c)
            table[c] = name
    return table


def nfc_members():
    """Code points that Hugging Face's NFC reorders, composes or decomposes."""
    nfc = normalizers.NFC().normalize_str
    found = set()
    for c in scalars():
        ch, cls = chr(c), unicodedata.combining(chr(c))
        if unicodedata.normalize("NFD", ch) != ch and normalizers.NFD().normalize_str(ch) != ch:
            found.add(c)
            found.update(map(ord, normalizers.NFD().normalize_str(ch)))
        elif cls > 1 and nfc("a" + ch + "\u0334") == "a\u0334" + ch:
            found.add(c)
        elif cls == 1 and nfc("a\u0345" + ch) == "a" + ch + "\u0345":
            found.add(c)
    return found


def ranges(items):
    out = []
    for c, value in sorted(items):
        if out and out[-1][1] == c - 1 and out[-1][2] == value:
            out[-1][1] = c
        else:
            out.append([c, c, value])
    return out


def rows(name, kind, entries, form):
    lines, line = [], "   "
    for entry in entries:
        text = " " + form(entry) + ","
        if len(line) + len(text) > 118:
            lines.append(line)
            line = "   "
        line += text
    lines.append(line)
    body = "\n".join(lines)
    return (f"const struct {kind} {name}[] = {{\n{body}\n}};\n"
            f"const size_t {name}_count = sizeof {name} / sizeof {name}[0];\n")


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else "src/text/unicode_tables.c"
    cls = ranges(classes().items())
    # ASCII and plain starters of compositions are members too; the table only serves to tell newcomers apart.
    nfc = ranges((c, 0) for c in nfc_members())
    with open(out, "w") as f:
        f.write("// SPDX-License-Identifier: Apache-2.0\n// Copyright The Lattice authors\n//\n"
                "// Made by tools/reference/unicode_tables.py from the behaviour of the `tokenizers` library; do not edit.\n"
                '#include "text/unicode_tables.h"\n\n')
        f.write(rows("lat_unicode_classes", "lat_unicode_class_range", cls,
                     lambda r: f"{{ 0x{r[0]:X}, 0x{r[1]:X}, LAT_CLASS_{r[2]} }}"))
        f.write("\n")
        f.write(rows("lat_unicode_nfc", "lat_unicode_range", nfc, lambda r: f"{{ 0x{r[0]:X}, 0x{r[1]:X} }}"))
    print(len(cls), "class ranges,", len(nfc), "NFC ranges")


main()
