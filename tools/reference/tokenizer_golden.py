#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Reference ids of Hugging Face's `tokenizers` for hard strings, frozen or live.

  tokenizer_golden.py --write [DIR]      trains the small tokenizers and writes DIR (tests/golden/tokenizer)
  tokenizer_golden.py --live N --program build/default/bin/lattice [--library liblattice.so] [TOKENIZER.json ...]
                                         N fresh strings a tokenizer, Hugging Face now against our program; with a
                                         shared library also N/4 random id lists decoded, plain and streaming

DIR holds qwen35.json and qwen2.json (byte-level BPE with Qwen3.5's and Qwen2/3's split pattern, trained here on text
written for it, with added tokens of every combination of flags), gpt2.json (ByteLevel's own pattern, no normaliser),
cases.jsonl ({"text", "qwen35", "qwen2", "gpt2"}: one text and its ids) and decode.jsonl ({"ids", "all", "text"}: what
qwen35 decodes them to, with and without special tokens). Needs the Python package `tokenizers`.
"""
import argparse
import ctypes
import json
import os
import random
import subprocess
import sys
import unicodedata

import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
DIR = os.path.join(HERE, "..", "..", "tests", "golden", "tokenizer")
PATTERNS = {
    "qwen35": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
              r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
             r"|\s*[\r\n]+|\s+(?!\S)|\s+",
}

TEXT = """The ferry left the harbour at seven, and nobody on deck had thought to bring a map. It's fine, they'd said; we'll
follow the coast. By noon the fog was so thick that the captain couldn't see the bow, and he'd rung the bell 120 times.
  def mean(values):
      total = 0.0
      for v in values:
          total += v
      return total / len(values) if values else None
#include <stdio.h>
int main(void) { for (int i = 0; i < 10; i++) printf("%d\\n", i * i); return 0; }
Un café près de la forêt, où l'été dure à peine deux mois. Das Mädchen aß süße Äpfel über den Dächern von Köln.
Příliš žluťoučký kůň běžel přes louku. Ağaçların altında küçük bir ışık vardı. Chú mèo nhỏ ngủ trên mái nhà.
В тихом городе у реки жил старый мастер, который чинил часы. Στην άκρη του δρόμου υπάρχει ένα μικρό σπίτι.
今天早上下雨了,我们没有去公园。他说:明天再去吧。小猫在窗边睡觉。山の上に古い寺があり、春には桜が咲く。
비가 오는 날에는 창가에 앉아 책을 읽는다. 바람이 불면 나뭇잎이 춤을 춘다.
في الصباح ذهب الولد إلى السوق واشترى خبزًا وتمرًا. בבוקר הלך הילד אל השוק וקנה לחם ותמרים.
सुबह की हवा ठंडी थी और बच्चे आँगन में खेल रहे थे। เช้านี้อากาศเย็นสบาย เด็กๆ เล่นอยู่ในสวน
{"name": "lamp", "price": 12.50, "tags": ["light", "desk"], "stock": null}
"""


def at(i, content, flags):
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": i, "content": content, **{n: bool(flags >> k & 1) for k, n in enumerate(names)}}


def added_tokens(first):
    """Every combination of the five flags, and contents that are hard to match."""
    out = [(f"<t{flags:02d}>", flags) for flags in range(32)]
    out += [("<|endoftext|>", 16), ("<|im_start|>", 16), ("<|im_end|>", 16), ("<think>", 0), ("</think>", 0)]
    out += [("<|im", 0), ("<|im_start|>user", 8), ("kin", 1), ("cafe\u0301", 8), ("cafe\u0301s", 0), ("\u00c5ngstr\u00f6m", 8),
            ("\n\n\n", 0), ("   ", 0), ("\t", 4), ("\u6771\u4eac\u90fd", 2), ("\u00e9\u0144", 0), ("\u1100\u1161", 8), ("'s", 1)]
    return [at(first + i, c, f) for i, (c, f) in enumerate(out)]


def train(name, samples):
    t = Tokenizer(models.BPE())
    t.decoder = decoders.ByteLevel()
    if name == "gpt2":
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    else:
        t.normalizer = normalizers.NFC()
        t.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(PATTERNS[name]), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    size = 400 if name == "gpt2" else 1200
    t.train_from_iterator([TEXT] * 4 + samples, trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    data = json.loads(t.to_str())
    data["added_tokens"] = added_tokens(len(data["model"]["vocab"]))
    data = json.loads(Tokenizer.from_str(json.dumps(data)).to_str())  # with the ids that Hugging Face gives them
    if name == "qwen2":  # merges as strings, the older way; the other file has pairs
        data["model"]["merges"] = [" ".join(m) if isinstance(m, list) else m for m in data["model"]["merges"]]
    return json.dumps(data, ensure_ascii=False)


def category(prefixes):
    return [chr(c) for c in range(0x110000)
            if not 0xD800 <= c <= 0xDFFF and unicodedata.category(chr(c)).startswith(prefixes)]


class Hard:
    """Strings that tell tokenizers apart."""

    def __init__(self, seed, contents):
        self.r = random.Random(seed)
        self.contents = contents
        self.words = TEXT.split() + "don't I'm we'll you've they're he'd IT'S 'Tis o'clock '\u017f x'\u017f '\u017ft 'LL'Re".split()
        self.spaces = [chr(c) for c in (9, 10, 11, 12, 13, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F,
                                        0x205F, 0x3000)]
        self.marks = category(("M",))
        self.marks += [chr(c) for a, b in ((0x7FD, 0x7FD), (0x897, 0x89F), (0x8CA, 0x8D3), (0xD3B, 0xD3C), (0x1ABF, 0x1ACE),
                                           (0x1DF6, 0x1DFA), (0x1E130, 0x1E136), (0x11938, 0x11938)) for c in range(a, b + 1)] * 3
        self.numbers = category(("N",))
        self.composed = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF and not 0xAC00 <= c <= 0xD7A3
                         and unicodedata.decomposition(chr(c)) and "<" not in unicodedata.decomposition(chr(c))]
        self.symbols = category(("P", "S"))
        self.other = category(("C",))[:4000]
        self.kinds = [self.planes, self.stack, self.stack, self.hangul, self.rtl, self.emoji, self.blank, self.blank,
                      self.contraction, self.newlines, self.digits, self.control, self.added, self.added, self.added,
                      self.decomposed, self.run, self.word, self.word, self.word, self.punctuation]

    def planes(self):
        top = self.r.choice([0x80, 0x800, 0x3000, 0x10000, 0x10000, 0x20000, 0x30000, 0xF0000, 0x110000])
        low = self.r.randrange(top)
        return "".join(chr(c) for c in (min(0x10FFFF, low + self.r.randrange(64)) for _ in range(self.r.randint(1, 6)))
                       if not 0xD800 <= c <= 0xDFFF)

    def stack(self):
        base = self.r.choice("aeiouAENsS q7-\u00df\u0928\u0e01\u05d0\u0627\u3042\u30cf" + self.r.choice(self.composed))
        return base + "".join(self.r.choices(self.marks if self.r.random() < .5 else self.marks[:120], k=self.r.randint(1, 6)))

    def hangul(self):
        r, out = self.r, ""
        for _ in range(r.randint(1, 4)):
            out += r.choice([chr(0x1100 + r.randrange(20)) + chr(0x1161 + r.randrange(22)), chr(0x1100 + r.randrange(19)),
                             chr(0xAC00 + 28 * r.randrange(399)), chr(0xAC00 + r.randrange(11172)), chr(0x11A7 + r.randrange(29)),
                             chr(0xA960 + r.randrange(32)), chr(0xD7B0 + r.randrange(80)), chr(0x3131 + r.randrange(90))])
        return out

    def rtl(self):
        low, high = self.r.choice([(0x590, 0x5FF), (0x600, 0x6FF), (0x700, 0x74F), (0x8A0, 0x8FF), (0xFB1D, 0xFDFF)])
        return "".join(chr(self.r.randint(low, high)) for _ in range(self.r.randint(1, 8))) + self.r.choice(["", "\u200f", "\u202e", " "])

    def emoji(self):
        people = "\U0001F468\U0001F469\U0001F467\U0001F9D1\U0001F680\u2764\U0001F3F4\U0001F44D\u261D"
        one = lambda: self.r.choice(people) + self.r.choice(["", "\ufe0f", "\U0001F3FD"])
        flag = "".join(chr(0x1F1E6 + self.r.randrange(26)) for _ in range(self.r.randint(1, 3)))
        return self.r.choice(["\u200d".join(one() for _ in range(self.r.randint(1, 4))), flag, "7\ufe0f\u20e3", "\u200d"])

    def blank(self):
        r = self.r
        some = " " if r.random() < .4 else " \t" if r.random() < .4 else " \n" if r.random() < .3 else "".join(self.spaces) + "\u200b\u180e\ufeff"
        return "".join(r.choice(some) for _ in range(r.randint(1, 7)))

    def contraction(self):
        tail = self.r.choice("s t re ve m ll d S T RE Ve M lL D \u017f \u017ft \u212a r l v sx re\u0301".split())
        return self.r.choice(["", "it", " ", "9", "\u05d0", "!", "'"]) + self.r.choice("''''\u2019`") + tail

    def newlines(self):
        return "".join(self.r.choice(["\n", "\r", "\r\n", " ", ".", "\t", "\u2028", "x"]) for _ in range(self.r.randint(1, 7)))

    def digits(self):
        return "".join(self.r.choice(self.numbers if self.r.random() < .5 else "0123456789") for _ in range(self.r.randint(1, 6)))

    def control(self):
        return self.r.choice(["\0", "left\0right", "\x1b[0m", "\x7f", "\ufffd", "\ufffe", "\x1c", self.r.choice(self.other)])

    def added(self):
        r, one = self.r, self.r.choice(self.contents)
        if r.random() < .2:
            one = unicodedata.normalize(r.choice(["NFC", "NFD"]), one)
        if r.random() < .15:
            one = one[:-1] if r.random() < .5 else one[1:]
        glue = lambda: r.choice(["", "", " ", "  ", "x", "_", "\u0301", "\n", ".", "\u24d0", "\u203f", "\u00a0", "\u0e33", "7",
                                 "\u200d", "\u216b", "\u00b2", r.choice(self.marks), r.choice(self.symbols), r.choice(self.numbers)])
        return glue() + one + glue()

    def decomposed(self):
        out = list(unicodedata.normalize("NFD", "".join(self.r.choices(self.composed, k=self.r.randint(1, 4)))))
        if self.r.random() < .5:
            self.r.shuffle(out)
        return "".join(out)

    def run(self):
        unit = self.r.choice(["a", " ", "\n", "0", "ab", "=", "\u00e9", "\u0301", "\u4e00", "\r\n", " \n", "'s", "\U0001F600", "e\u0301"])
        return unit * self.r.choice([2, 3, 5, 9, 17, 33])

    def word(self):
        return self.r.choice(["", " ", " "]) + self.r.choice(self.words)

    def punctuation(self):
        return self.r.choice(["", " "]) + "".join(self.r.choice(self.symbols if self.r.random() < .4 else ".,;:!?-_()[]{}\"'/\\|@#$%^&*+=<>~`")
                                                   for _ in range(self.r.randint(1, 5)))

    def string(self):
        return "".join(self.r.choice(self.kinds)() for _ in range(self.r.randint(1, 6)))

    def long_string(self):
        unit = self.string() if self.r.random() < .5 else self.run()
        return (unit * (20000 // max(1, len(unit))))[:self.r.randint(2000, 20000)]


FIXED = ["", " ", "  ", "\n", "a   b", "a  ", "a \n b", "a\u0000b", "left\u0000right", "This is a test \U0001F60A\nI was born in 92000",
         "\n\u751f\u6d3b\u7684\u771f\u8c1b\u662f\n", "Hi  Hello", "<s>", "\n \n  \n", "x<|im_end|>\n<|im_start|>system\nobey",
         "e\u1abf\u0301", "\U00011935\U00011930", "\U00011938", "'\u017f", "it'\u017f", "\u0301", "\u0323\u0301\u0323\u0301e",
         "<t04>      x", "<t04>   <t02>", "a     <t02>", "<t04> \t\t <t06>   ", "<t01>x", "x<t01>", "<t01>\u24d0", "kin kink akin kin",
         "a" * 2000, " " * 999 + "x", "\u0301\u0323" * 300, "\r\n" * 200 + "x"]


def contents_of(path):
    return [t["content"] for t in json.load(open(path, encoding="utf-8"))["added_tokens"]]


def write(folder):
    os.makedirs(folder, exist_ok=True)
    warm = Hard(1, ["<x>"])
    samples = [warm.string() for _ in range(3000)]
    for name in ("qwen35", "qwen2", "gpt2"):
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
            f.write(train(name, samples) + "\n")
    tok = {n: Tokenizer.from_file(os.path.join(folder, n + ".json")) for n in ("qwen35", "qwen2", "gpt2")}
    hard = Hard(20261201, contents_of(os.path.join(folder, "qwen35.json")))
    texts = FIXED + [hard.string() for _ in range(2000 - len(FIXED))]
    with open(os.path.join(folder, "cases.jsonl"), "w", encoding="utf-8") as f:
        for text in texts:
            ids = {n: t.encode(text).ids for n, t in tok.items()}
            f.write(json.dumps({"text": text, **ids}, ensure_ascii=False, separators=(",", ":")).replace("\u007f", "\\u007f") + "\n")
    t = tok["qwen35"]
    with open(os.path.join(folder, "decode.jsonl"), "w", encoding="utf-8") as f:
        for _ in range(500):
            ids = [random_id(hard.r, t.get_vocab_size()) for _ in range(hard.r.randint(0, 20))]
            f.write(json.dumps({"ids": ids, "all": t.decode(ids, skip_special_tokens=False), "text": t.decode(ids)},
                               ensure_ascii=True, separators=(",", ":")) + "\n")


def random_id(r, size):
    # Single bytes first: they are what makes broken characters.
    return r.randrange(256) if r.random() < .5 else r.randrange(size)


def live_encode(program, path, count, seed):
    t = Tokenizer.from_file(path)
    t.no_truncation()
    t.no_padding()
    hard = Hard(seed, contents_of(path))
    texts = FIXED + [hard.long_string() if i % 500 == 7 else hard.string() for i in range(count)]
    lines = "".join(json.dumps(x) + "\n" for x in texts)
    out = subprocess.run([program, "tokenize", path, "--jsonl"], input=lines.encode(), stdout=subprocess.PIPE, check=True)
    ours = [json.loads(line) for line in out.stdout.splitlines()]
    if len(ours) != len(texts):
        sys.exit(f"{path}: {len(texts)} texts in, {len(ours)} lines out")
    wrong = [(x, a, b.ids) for x, a, b in zip(texts, ours, t.encode_batch(texts)) if a != b.ids]
    for x, a, b in wrong[:5]:
        print(f"  differs: {x[:120]!a}\n    ours {a[:40]}\n    HF   {b[:40]}")
    print(f"{path}: encode, {len(texts) - len(wrong)} of {len(texts)} equal")
    return len(wrong)


class Library:
    """The decoding half of include/lattice/tokenizer.h."""

    def __init__(self, path, tokenizer):
        self.c = c = ctypes.CDLL(path)
        self.t = ctypes.c_void_p()
        if c.lat_tokenizer_open(ctypes.byref(self.t), tokenizer.encode(), None):
            sys.exit(f"{tokenizer}: not opened")

    def decode(self, ids, flags):
        text, length = ctypes.c_void_p(), ctypes.c_size_t()
        if self.c.lat_tokenizer_decode(self.t, (ctypes.c_int32 * len(ids))(*ids), ctypes.c_size_t(len(ids)), flags,
                                       ctypes.byref(text), ctypes.byref(length), None):
            return None
        out = ctypes.string_at(text, length.value)
        self.c.lat_text_free(text)
        return out.decode("utf-8")

    def stream(self, ids, flags):
        d, text, length, out = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t(), ""
        if self.c.lat_decoder_new(ctypes.byref(d), self.t, flags, None):
            return None
        for i in [*ids, None]:
            step = [ctypes.byref(text), ctypes.byref(length), None]
            if self.c.lat_decoder_end(d, *step) if i is None else self.c.lat_decoder_put(d, i, *step):
                return None
            out += ctypes.string_at(text, length.value).decode("utf-8")  # whole characters, or this raises
        self.c.lat_decoder_free(d)
        return out


def live_decode(library, path, count, seed):
    t, ours, r = Tokenizer.from_file(path), Library(library, path), random.Random(seed)
    wrong = 0
    for _ in range(count):
        ids = [random_id(r, t.get_vocab_size()) for _ in range(r.randint(0, 30))]
        for flags in (0, 1):
            want = t.decode(ids, skip_special_tokens=bool(flags))
            if ours.decode(ids, flags) != want or ours.stream(ids, flags) != want:
                wrong += 1
                if wrong < 5:
                    print(f"  differs: {ids}\n    ours {ours.decode(ids, flags)!a} {ours.stream(ids, flags)!a}\n    HF   {want!a}")
    print(f"{path}: decode, {2 * count - wrong} of {2 * count} equal")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", nargs="?", const=DIR, metavar="DIR")
    parser.add_argument("--live", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=None, help="of the live strings; a fresh one each time otherwise")
    parser.add_argument("--program", default="build/default/bin/lattice")
    parser.add_argument("--library", help="a shared liblattice, to compare decoding too")
    parser.add_argument("tokenizers", nargs="*", help="tokenizer.json files; those of tests/golden/tokenizer otherwise")
    a = parser.parse_args()
    wrong = 0
    if a.write:
        write(a.write)
    if a.live:
        seed = a.seed if a.seed is not None else random.SystemRandom().randrange(1 << 32)
        print(f"tokenizers {tokenizers.__version__}, seed {seed}")
        for path in a.tokenizers or [os.path.normpath(os.path.join(DIR, n + ".json")) for n in ("qwen35", "qwen2", "gpt2")]:
            wrong += live_encode(a.program, path, a.live, seed)
            if a.library:
                wrong += live_decode(a.library, path, a.live // 4, seed + 1)
    if not a.write and not a.live:
        parser.error("give --write or --live N")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
