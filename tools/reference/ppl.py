#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Held-out text for models/nano, and what Hugging Face says about it, for the test of `lattice ppl` (tests/cli/ppl.sh).

usage: ppl.py        writes tests/golden/nano/heldout.txt (documents of the nano corpus that training never saw) and
                     tests/golden/nano/ppl.json

Per token and window, in float64 (the truth; see truth.py) and in float32 (whose distance from it is the floor): the loss under
nano, and under nano with one matrix set to zero, which stands for a model that was damaged a little; between the two the
Kullback-Leibler divergence. A tolerance is twice the root mean square, over tokens, of float32's distance: no mean can be
farther off than that unless float32 is, too.
"""
import json
import os
import sys

import torch
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "nano")]
import corpus
import truth

ROOT = os.path.dirname(os.path.dirname(HERE))
NANO, OUT = os.path.join(ROOT, "models/nano"), os.path.join(ROOT, "tests/golden/nano")
SEED, BYTES_MAX = 20261201, 64000      # of the held-out text
DOCUMENTS, CTX, STRIDE = 16, 192, 80   # of the frozen values; windows that do not tile
ZEROED = "model.layers.7.mlp.down_proj.weight"


def heldout():
    out, size = [], 0
    for _, text in corpus.documents(SEED, 100000):
        if corpus.split(text) == "held-out":
            out.append(text + corpus.END)
            size += len(out[-1].encode())
            if size > BYTES_MAX:
                return out[:-1]
    raise SystemExit("too few documents")


def windows(count):
    """(begin, end, first target), each token a target once, in the first window that has it; a window's first is none."""
    scored, begin = 1, 0
    while True:
        end = min(begin + CTX, count)
        yield begin, end, max(scored, begin + 1)
        scored, begin = end, begin + STRIDE
        if end == count:
            return


def log_probabilities(model, ids, dtype):
    rows = []
    for begin, end, first in windows(len(ids)):
        with torch.no_grad():
            logits = model(torch.tensor([ids[begin:end]])).logits[0]
        rows.append(torch.log_softmax(logits.double(), -1)[first - 1 - begin:end - 1 - begin])
    assert dtype == next(model.parameters()).dtype
    return torch.cat(rows)


def run(model, ids):
    """log p in float64 and float32, under the model and under the damaged one."""
    out = {}
    for name in ("plain", "zeroed"):
        if name == "zeroed":
            with torch.no_grad():
                model.get_parameter(ZEROED).zero_()
        out[name, "f32"] = log_probabilities(model, ids, torch.float32)
        twin = truth.double_copy(model)
        with truth.exact(twin):
            out[name, "f64"] = log_probabilities(twin, ids, torch.float64)
    return out


def figures(log_p, log_r, targets):
    """Per token: losses, divergence of p from the reference r, same most probable id."""
    take = torch.arange(len(targets)), targets
    return {"nll": -log_p[take], "reference_nll": -log_r[take], "kl": (log_r.exp() * (log_r - log_p)).sum(-1),
            "same_top1": (log_p.argmax(-1) == log_r.argmax(-1)).double()}


def main():
    torch.set_num_threads(2)
    documents = heldout()
    with open(os.path.join(OUT, "heldout.txt"), "w", newline="") as f:
        f.write("".join(documents))
    text = "".join(documents[:DOCUMENTS])
    ids = Tokenizer.from_file(os.path.join(NANO, "tokenizer.json")).encode(text).ids
    targets = torch.tensor([ids[t] for _, end, first in windows(len(ids)) for t in range(first, end)])
    logs = run(AutoModelForCausalLM.from_pretrained(NANO, dtype=torch.float32).eval(), ids)
    exact, floor = (figures(logs["zeroed", d], logs["plain", d], targets) for d in ("f64", "f32"))
    out = {"bytes": len(text.encode()), "ctx": CTX, "stride": STRIDE, "zeroed": "model.language_model." + ZEROED[len("model."):],
           "text_tokens": len(ids), "tokens": len(targets)}
    for name, value in exact.items():
        out[name] = value.mean().item()
        out[name + "_error"] = (value.std() / len(value) ** 0.5).item()
        out[name + "_tolerance"] = 2 * (floor[name] - value).square().mean().sqrt().item()
    out["kl_p999"] = torch.quantile(exact["kl"], 0.999).item()
    out["kl_p999_tolerance"] = 2 * (floor["kl"] - exact["kl"]).abs().max().item()
    out["same_top1_tolerance"] = max(out["same_top1_tolerance"], 1.5 / len(targets))  # one near tie
    difference = exact["nll"] - exact["reference_nll"]
    out["nll_difference_error"] = (difference.std() / len(difference) ** 0.5).item()
    with open(os.path.join(OUT, "ppl.json"), "w") as f:
        f.write(json.dumps(out, indent=1) + "\n")
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
