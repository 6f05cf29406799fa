#!/usr/bin/env python3
"""Hard strings and the ids that Hugging Face's `tokenizers` gives them.

usage: tokenizer_golden.py --freeze OUTDIR        1,000 strings for each of two tokenizers, into tests/golden/tokenizer
       tokenizer_golden.py --live N LATTICE [MODEL ...]   N fresh strings a tokenizer, through `LATTICE tokenize --jsonl`

The tokenizers: the bundled model's (Qwen3.5's split pattern) and the same vocabulary with Qwen2/3's pattern and added
tokens of every kind of matching.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
ADDED = [("<left>", "lstrip"), ("<right>", "rstrip"), ("<word>", "single_word"), ("<É>", "normalized"), ("<le", None), ("<left>>", None)]


def qwen2_tokenizer():
    """The bundled vocabulary under the other pattern, an end-of-text id after each text, and odd added tokens."""
    with open(os.path.join(ROOT, "models/nano/tokenizer.json")) as f:
        t = json.load(f)
    for part in t["pre_tokenizer"]["pretokenizers"]:
        if part["type"] == "Split":
            part["pattern"]["Regex"] = QWEN2
    top = max([a["id"] for a in t["added_tokens"]] + list(t["model"]["vocab"].values())) + 1
    for i, (content, flag) in enumerate(ADDED):
        token = dict(id=top + i, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False, special=i % 2 == 0)
        if flag:
            token[flag] = True
        t["added_tokens"].append(token)
    end = next(a for a in t["added_tokens"] if a["content"] == "<|endoftext|>")
    t["post_processor"] = {
        "type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": end["content"], "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {end["content"]: {"id": end["content"], "ids": [end["id"]], "tokens": [end["content"]]}}}
    return t


def makers(numbers, added):
    """Functions that each give a small piece of text of one kind."""
    span = lambda a, b: lambda: chr(numbers.randrange(a, b))
    pick = lambda items: lambda: numbers.choice(items)
    spans = [(32, 127), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x800), (0x800, 0x1000), (0x1000, 0x3000), (0x3000, 0xA000),
             (0xA000, 0xD800), (0xE000, 0x10000), (0x10000, 0x20000), (0x1F300, 0x1F700), (0x20000, 0x110000)]
    out = [span(a, b) for a, b in spans]
    out += [pick(" \t\n\r\u00a0\u3000\u2028\u0085\x0b\x0c"), pick(["'s", "'S", "'\u017f", "'re", "'LL", "'ve", "'T", "'d", "'m", "''"]),
            pick(added), pick(["the ", "Hello", "def f(x):\n    return", "  ", "\r\n", "\n\n \n", "e\u0301", "\u1112\u1161\u11ab",
                               "\u0928\u094d", "\u200d", "\U0001f469\u200d\U0001f467", "\0", "<left", "É>", "E\u0301>"]),
            pick("0123456789\u00b2\u00bd\u0663\U0001d7d8"),
            lambda: numbers.choice("abcdefghijklmnopqrstuvwxyzABC") * numbers.randrange(1, 30),
            lambda: numbers.choice([" ", "a", "-", "\n"]) * numbers.randrange(1, 40)]
    return out


def strings(count, seed, added):
    numbers = random.Random(seed)
    kinds = makers(numbers, added)
    for _ in range(count):
        chosen = numbers.sample(kinds, numbers.choice([1, 2, 3, len(kinds)]))
        yield "".join(numbers.choice(chosen)() for _ in range(numbers.randrange(1, 24)))


def added_of(tokenizer):
    return [a.content for a in tokenizer.get_added_tokens_decoder().values()]


def freeze(out):
    os.makedirs(os.path.join(out, "qwen2"), exist_ok=True)
    with open(os.path.join(out, "qwen2/tokenizer.json"), "w") as f:
        json.dump(qwen2_tokenizer(), f, ensure_ascii=False, separators=(",", ":"))
    for seed, (name, path) in enumerate((("qwen35", "models/nano"), ("qwen2", "tests/golden/tokenizer/qwen2"))):
        tokenizer = Tokenizer.from_file(os.path.join(ROOT, path, "tokenizer.json"))
        with open(os.path.join(out, name + ".jsonl"), "w") as f:
            for text in strings(1000, seed, added_of(tokenizer)):
                ids = tokenizer.encode(text).ids
                back = tokenizer.decode(ids, skip_special_tokens=False)
                row = {"text": text, "ids": ids, **({} if back == text else {"back": back})}
                f.write(json.dumps(row, separators=(",", ":")) + "\n")


def compare(count, lattice, path):
    tokenizer = Tokenizer.from_file(os.path.join(path, "tokenizer.json"))
    texts = list(strings(count, random.randrange(2**32), added_of(tokenizer)))
    lines = "".join(json.dumps(t, ensure_ascii=False) + "\n" for t in texts)
    got = subprocess.run([lattice, "tokenize", path, "--jsonl"], input=lines.encode("utf-8"), stdout=subprocess.PIPE, check=True)
    rows = [json.loads(line) for line in got.stdout.splitlines()]
    assert len(rows) == len(texts), "one line of ids a text"
    bad = [(t, e.ids, g) for t, e, g in zip(texts, tokenizer.encode_batch(texts), rows) if e.ids != g]
    for text, want, ids in bad[:5]:
        print(f"  {ascii(text)}\n    Hugging Face {want}\n    lattice      {ids}")
    print(f"{path}: {len(texts)} strings, {len(bad)} differ")
    return len(bad)


def live(count, lattice, paths):
    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, "tokenizer.json"), "w") as f:
            json.dump(qwen2_tokenizer(), f)
        return sum(compare(count, lattice, p) for p in [os.path.join(ROOT, "models/nano"), work, *paths])


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--freeze":
        freeze(sys.argv[2])
    elif len(sys.argv) >= 4 and sys.argv[1] == "--live":
        sys.exit(1 if live(int(sys.argv[2]), sys.argv[3], sys.argv[4:]) else 0)
    else:
        sys.exit(__doc__)
