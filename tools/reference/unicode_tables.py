#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Writes src/text/unicode_tables.c from what Hugging Face's `tokenizers` really does.

Three tables: the class of every code point (letter, mark, number, white space) as its split patterns see it, the word
characters that single_word of added tokens knows besides letters and marks, and the code points that take part in its
NFC. The library's tables are of different Unicode versions (classes 16.0, NFC 9.0), so each code point is asked for
rather than taken from one version of the Unicode database.

usage: unicode_tables.py [OUT.c]      writes the file
       unicode_tables.py --check      exit 1 when src/text/unicode_tables.c differs from what the library does now
(needs the Python package `tokenizers`)
"""
import json
import os
import sys
import tempfile
import unicodedata

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers


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


def word_members():
    """Code points that keep a single_word token from matching, on its left and on its right."""
    t = Tokenizer(models.BPE({c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, []))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    data = json.loads(t.to_str())
    data["added_tokens"] = [{"id": 256, "content": "<w>", "single_word": True, "lstrip": False, "rstrip": False,
                             "normalized": False, "special": False}]
    t = Tokenizer.from_str(json.dumps(data))
    found, codes = set(), scalars()
    for start in range(0, len(codes), 50000):
        block = codes[start:start + 50000]
        right = t.encode_batch(["<w>" + chr(c) for c in block])
        left = t.encode_batch([chr(c) + "<w>" for c in block])
        for c, r, l in zip(block, right, left):
            assert (r.ids[0] != 256) == (l.ids[-1] != 256), hex(c)
            if r.ids[0] != 256:
                found.add(c)
    return found


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


def write(out):
    table = classes()
    # ASCII and plain starters of compositions are members too; the table only serves to tell newcomers apart.
    nfc = ranges((c, 0) for c in nfc_members())
    word = word_members()
    joined = {c for c, name in table.items() if name in ("LETTER", "MARK")}
    assert joined <= word
    pair = lambda r: f"{{ 0x{r[0]:X}, 0x{r[1]:X} }}"
    with open(out, "w") as f:
        f.write("// SPDX-License-Identifier: Apache-2.0\n// Copyright The Lattice authors\n//\n"
                "// Made by tools/reference/unicode_tables.py from the behaviour of the `tokenizers` library; do not edit.\n"
                '#include "text/unicode_tables.h"\n\n')
        f.write(rows("lat_unicode_classes", "lat_unicode_class_range", ranges(table.items()),
                     lambda r: f"{{ 0x{r[0]:X}, 0x{r[1]:X}, LAT_CLASS_{r[2]} }}"))
        f.write("\n")
        f.write(rows("lat_unicode_word_more", "lat_unicode_range", ranges((c, 0) for c in word - joined), pair))
        f.write("\n")
        f.write(rows("lat_unicode_nfc", "lat_unicode_range", nfc, pair))


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "text", "unicode_tables.c")
    if sys.argv[1:] == ["--check"]:
        with tempfile.TemporaryDirectory() as folder:
            fresh = os.path.join(folder, "tables.c")
            write(fresh)
            same = open(fresh).read() == open(here).read()
        print("same" if same else "src/text/unicode_tables.c is not what the library does now")
        sys.exit(0 if same else 1)
    write(sys.argv[1] if len(sys.argv) > 1 else here)


main()
