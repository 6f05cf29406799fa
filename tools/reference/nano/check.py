# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Checks the saved models/nano with transformers as it is (nothing replaced): float32 arithmetic on the bf16 weights.

1. The folder loads through AutoModelForCausalLM and Qwen3_5ForCausalLM with the same logits; stored types are as they should be.
2. At least 25 of the 30 facts of facts.json: the greedy continuation starts with the answer.
3. "Once upon a time" goes on for 40 words or more and holds together; a Python function closes and works.
Writes every prompt with its output to samples.json. Exit 0 when all holds, else 1 with each failure named.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re

import torch
from safetensors import safe_open
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, Qwen3_5ForCausalLM

from corpus_data import COUNTRIES, HEROES, NUMBERS, OPPOSITES

NEEDED, OF = 25, 30
STORY_WORDS = 40
STORIES = ["Once upon a time", "Once upon a time there was a little rabbit named Max."]
FUNCTIONS = [("def add(a, b):\n", "add(20, 22) == 42"), ("def square(x):\n", "square(9) == 81"),
             ("def factorial(n):\n", "factorial(5) == 120"), ("def maximum(a, b):\n", "maximum(3, 8) == 8")]
OTHERS = ["int add(int a, int b) {\n", "法国的首都是", "天空是", "عاصمة فرنسا هي", "7 + 5 ="]
CHATS = ["What is the capital of Italy?", "Hello!", "Tell me a story.", "Write a Python function called is_even."]


def chat_prompt(question):
    return f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"


class Writer:
    def __init__(self, folder):
        self.tok = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.stops = json.loads((folder / "generation_config.json").read_text())["eos_token_id"]

    def go_on(self, prompt, most):
        """(continuation, "stop" or "length") by greedy choice."""
        ids = torch.tensor([self.tok.encode(prompt).ids])
        out = self.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=most, do_sample=False,
                                  eos_token_id=self.stops, pad_token_id=self.stops[-1])[0, ids.shape[1]:].tolist()
        ended = out[-1] in self.stops
        return self.tok.decode(out[:-1] if ended else out), "stop" if ended else "length"


def check_folder(folder, model, failures):
    with safe_open(folder / "model.safetensors", "pt") as f:
        for name in f.keys():
            wanted = torch.float32 if name.endswith(("A_log", "linear_attn.norm.weight")) else torch.bfloat16
            tensor = f.get_tensor(name)
            if tensor.dtype != wanted or not torch.isfinite(tensor.float()).all():
                failures.append(f"{name}: {tensor.dtype}, or not finite")
            if not name.startswith("model.language_model."):
                failures.append(f"{name}: unexpected name")
    ids = torch.arange(1, 201)[None] * 19 % 4089
    other = Qwen3_5ForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        if not torch.equal(model(ids).logits, other(ids).logits):
            failures.append("the two classes load different models")


def story_faults(text):
    """Why a story does not hold together: too short, its hero forgotten, no second
    person or one of the same name, sentences repeated."""
    words = text.split()
    faults = [] if len(words) >= STORY_WORDS else [f"{len(words)} words"]
    hero = re.search(r"named (\w+)", text)
    if not hero:
        faults.append("nobody is named")
    elif text.count(hero[1]) < 3:
        faults.append(f"{hero[1]} is forgotten")
    friend = re.search(rf"\b([A-Z]\w+),? the ({'|'.join(noun for noun, _ in HEROES)})\b", text)
    if not friend:
        faults.append("nobody else comes")
    elif hero and friend[1] == hero[1] or text.count(friend[1]) < 2:
        faults.append(f"{friend[1]} the {friend[2]} is the hero, or forgotten")
    sentences = [s.strip() for s in re.split(r"[.!?]\"?\s", text) if len(s.split()) > 3]
    if len(set(sentences)) < len(sentences):
        faults.append("a sentence is repeated")
    return faults


def function_faults(source, test):
    scope = {"__builtins__": {"range": range, "len": len}}
    try:
        exec(compile(source, "sample", "exec"), scope)
        held = eval(test, scope)
    except Exception as error:  # whatever the model wrote
        return [f"{type(error).__name__}: {error}"]
    return [] if held else [f"{test} is not true"]


def wide(writer):
    """All capitals, opposites and small sums, not only those of facts.json: how far its memory goes. Nothing fails here."""
    n = NUMBERS
    sets = {
        "capitals": [(f"The capital of {c} is", f" {city}.") for c, city, _, _ in COUNTRIES],
        "capitals, asked in a chat": [(chat_prompt(f"What is the capital of {c}?"), f"The capital of {c} is {city}.")
                                      for c, city, _, _ in COUNTRIES],
        "opposites": [(f"The opposite of {a} is", f" {b}.") for pair in OPPOSITES for a, b in (pair, pair[::-1])],
        "sums of 0 to 10 in words": [(f"{n[a].capitalize()} plus {n[b]} is", f" {n[a + b]}.") for a in range(11) for b in range(11)],
        "sums of 0 to 10 in figures": [(f"{a} + {b} =", f" {a + b}\n") for a in range(11) for b in range(11)],
    }
    for name, pairs in sets.items():
        right = sum((writer.go_on(prompt, 16)[0] + "\n").startswith(answer) for prompt, answer in pairs)
        print(f"{name}: {right} of {len(pairs)}", flush=True)


def main():
    p = argparse.ArgumentParser(description="check models/nano with transformers")
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--samples", type=pathlib.Path, help="where to write the samples (default: FOLDER/samples.json)")
    p.add_argument("--wide", action="store_true", help="only count over all capitals, opposites and sums")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    writer, failures, samples = Writer(a.folder), [], []
    if a.wide:
        wide(writer)
        return

    def sample(kind, prompt, most):
        text, end = writer.go_on(prompt, most)
        samples.append({"kind": kind, "prompt": prompt, "output": text, "finish": end})
        return text, end

    check_folder(a.folder, writer.model, failures)
    facts = json.loads((a.folder / "facts.json").read_text())
    if len(facts) != OF:
        failures.append(f"facts.json has {len(facts)} facts")
    right = 0
    for fact in facts:
        text, _ = sample("fact", fact["prompt"], 8)
        samples[-1]["answer"] = fact["answer"]
        samples[-1]["right"] = text.startswith(fact["answer"])
        right += samples[-1]["right"]
        if not samples[-1]["right"]:
            print(f"wrong: {fact['prompt']}{text!r}, not {fact['answer']!r}")
    if right < NEEDED:
        failures.append(f"{right} of {len(facts)} facts, {NEEDED} needed")
    for prompt in STORIES:
        text, end = sample("story", prompt, 300)
        faults = story_faults(prompt + text) + ([] if end == "stop" else ["it does not end"])
        failures += [f"{prompt}: {fault}" for fault in faults]
    for prompt, test in FUNCTIONS:
        text, end = sample("python", prompt, 80)
        faults = function_faults(prompt + text, test) + ([] if end == "stop" else ["it does not end"])
        failures += [f"{prompt.strip()}: {fault}" for fault in faults]
    for prompt in OTHERS:
        sample("other", prompt, 40)
    for question in CHATS:
        sample("chat", chat_prompt(question), 250)
    digest = hashlib.sha256((a.folder / "model.safetensors").read_bytes()).hexdigest()
    out = a.samples or a.folder / "samples.json"
    part = out.with_name(out.name + ".part")
    part.write_text(json.dumps({"model_sha256": digest, "facts_right": right, "facts": len(facts), "samples": samples},
                               ensure_ascii=False, indent=1) + "\n")
    os.replace(part, out)
    print(f"{right} of {len(facts)} facts")
    for failure in failures:
        print(f"FAILED: {failure}")
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
