#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Hugging Face transformers on a folder, waiting for its turn.

usage: hf_worker.py FOLDER f32|bf16 THREADS PROMPT DECODE

Prints "ready" once it has loaded and run once; then, for each line of standard input, a JSON object: seconds of a prompt of
PROMPT random ids, seconds of DECODE greedy tokens after it, and the peak resident memory.
"""
import json
import os
import sys
import time

os.environ.update(TRANSFORMERS_VERBOSITY="error", HF_HUB_OFFLINE="1", HF_HUB_DISABLE_PROGRESS_BARS="1")
import torch
import transformers


def peak_rss():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) * 1024


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    folder, dtype, threads, prompt, decode = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype={"f32": torch.float32, "bf16": torch.bfloat16}[dtype]).eval()

    def once():
        ids = torch.randint(0, model.config.vocab_size, (1, prompt))
        start = time.perf_counter()
        out = model(ids, use_cache=True, logits_to_keep=1)
        token = out.logits[:, -1:].argmax(-1)
        first = time.perf_counter()
        for _ in range(decode):
            out = model(token, past_key_values=out.past_key_values, use_cache=True)
            token = out.logits[:, -1:].argmax(-1)
        return {"prefill_s": first - start, "decode_s": time.perf_counter() - first, "peak_rss_bytes": peak_rss(),
                "version": f"transformers {transformers.__version__}, torch {torch.__version__}"}

    with torch.inference_mode():
        once()
        print("ready", flush=True)
        for _ in sys.stdin:
            print(json.dumps(once()), flush=True)


if __name__ == "__main__":
    main()
