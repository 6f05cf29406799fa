#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Speed beside Hugging Face on this machine, in one run (`make bench-hf`).

usage: bench_hf.py [--threads N] [--rounds N]    nano: prefill of 512 tokens and decode of 64, Hugging Face f32 and lattice in turn
       bench_hf.py --first-token FOLDER          process start to first token of a 32-token prompt, and peak memory for 512 tokens
                                                 (FOLDER as shape08.py writes it)
Prints medians and their ratios.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LATTICE = os.path.join(ROOT, "build/default/bin/lattice")
NANO = os.path.join(ROOT, "models/nano")
PREFILL, DECODE = 512, 64


def ids(count, vocab, seed=0):
    numbers = random.Random(seed)
    return [numbers.randrange(vocab) for _ in range(count)]


def lattice(folder, prompt, count, threads):
    """The engine's own JSON; --ignore-eos so that it always decodes all."""
    command = [LATTICE, "generate", folder, "--ids", ",".join(map(str, prompt)), "-n", str(count), "--threads", str(threads),
               "--json", "--ignore-eos", "--quiet"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def hf_worker(folder, threads):
    """A child that loads once and answers 'go' lines with seconds for prefill and decode."""
    code = f"""
import os, sys, time, warnings
os.environ["TRANSFORMERS_VERBOSITY"] = "error"; os.environ["HF_HUB_OFFLINE"] = "1"; warnings.filterwarnings("ignore")
import torch, transformers
torch.set_num_threads({threads})
model = transformers.AutoModelForCausalLM.from_pretrained({folder!r}, dtype=torch.float32).eval()
prompt = torch.tensor([{ids(PREFILL, 4000)!r}])
print("ready", flush=True)
for _ in sys.stdin:
    with torch.no_grad():
        start = time.perf_counter()
        out = model(prompt, use_cache=True, logits_to_keep=1)
        first = time.perf_counter()
        for _ in range({DECODE}):
            out = model(out.logits[:, -1:].argmax(-1), past_key_values=out.past_key_values, use_cache=True)
        print(first - start, time.perf_counter() - first, flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline().strip() == "ready"
    return child


def ask(child):
    child.stdin.write("go\n")
    child.stdin.flush()
    return tuple(float(x) for x in child.stdout.readline().split())


def bench_nano(threads, rounds):
    child = hf_worker(NANO, threads)
    ask(child)  # warm
    rows = {"hf": ([], []), "lattice": ([], [])}
    for _ in range(rounds):
        prefill, decode = ask(child)
        rows["hf"][0].append(PREFILL / prefill)
        rows["hf"][1].append(DECODE / decode)
        t = lattice(NANO, ids(PREFILL, 4000), DECODE + 1, threads)["timings"]
        rows["lattice"][0].append(t["prompt_tokens"] / t["prompt_s"])
        rows["lattice"][1].append(t["decode_tokens"] / t["decode_s"])
    child.stdin.close()
    print(f"nano, {threads} threads, medians of {rounds} interleaved rounds [min - max], tokens/s")
    medians = {}
    for i, what in enumerate(("prefill 512", "decode 64")):
        for name, values in rows.items():
            medians[name, i] = statistics.median(values[i])
            print(f"  {what:12} {name:8} {medians[name, i]:9.0f} [{min(values[i]):.0f} - {max(values[i]):.0f}]")
        print(f"  {what:12} ratio    {medians['lattice', i] / medians['hf', i]:9.2f}")


def hf_first_token(folder, prompt):
    code = f"""
import os, resource, warnings
os.environ["TRANSFORMERS_VERBOSITY"] = "error"; os.environ["HF_HUB_OFFLINE"] = "1"; warnings.filterwarnings("ignore")
import torch, transformers
model = transformers.AutoModelForCausalLM.from_pretrained({folder!r}, dtype=torch.bfloat16).eval()
with torch.no_grad():
    print(int(model(torch.tensor([{prompt!r}]), logits_to_keep=1).logits.argmax()))
"""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def lattice_first_token(folder, prompt, threads):
    start = time.perf_counter()
    lattice(folder, prompt, 1, threads)
    return time.perf_counter() - start


def bench_first_token(folder, threads, rounds):
    prompt = ids(32, 200000)
    lattice_first_token(folder, prompt, threads)  # warm page cache
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(hf_first_token(folder, prompt))
        ours.append(lattice_first_token(folder, prompt, threads))
    a, b = statistics.median(theirs), statistics.median(ours)
    print(f"process start to first token, 32-token prompt: Hugging Face bf16 {a:.2f} s, lattice {b:.2f} s, ratio {a / b:.1f}")
    long = lattice(folder, ids(480, 200000), 32, threads)
    t = long["timings"]
    print(f"512 tokens: peak RSS {long['peak_rss_bytes'] / 1e6:.0f} MB; prefill {t['prompt_tokens'] / t['prompt_s']:.0f} tokens/s, "
          f"decode {t['decode_tokens'] / t['decode_s']:.1f} tokens/s ({long['isa']}, {long['threads']} threads)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count()))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--first-token", metavar="FOLDER")
    args = parser.parse_args()
    sys.path.insert(0, HERE)
    import live

    interpreter = live.python()
    if interpreter != sys.executable:
        os.execv(interpreter, [interpreter, *sys.argv])
    if args.first_token:
        bench_first_token(args.first_token, args.threads, args.rounds)
    else:
        bench_nano(args.threads, args.rounds)


if __name__ == "__main__":
    main()
