#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Runs Hugging Face now and holds the engine against it (`make parity-live`).

usage: live.py [--build DIR] [--strings N]     fresh references in build/live, then compared; exit status 1 if one fails
       live.py --freeze                        writes tests/golden anew instead (checkpoints, references, tokenizer cases)

Makes a virtual environment in build/venv and installs torch, transformers and tokenizers there when they are missing.
"""
import argparse
import os
import shutil
import subprocess
import sys
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "tools/reference")
PACKAGES = ["torch==2.13.0", "transformers==5.24.*", "tokenizers", "safetensors", "numpy"]
FULL_ROWS = "320"
TOKENIZERS = [os.path.join(ROOT, t) for t in ("models/nano/tokenizer.json", "tests/golden/tokenizer/qwen35.json",
                                              "tests/golden/tokenizer/qwen2.json", "tests/golden/tokenizer/gpt2.json")]


def python():
    """The environment's interpreter; this one when it has everything already."""
    probe = "import torch, transformers, tokenizers, safetensors; from transformers import Qwen3_5ForCausalLM"
    if subprocess.run([sys.executable, "-c", probe], stderr=subprocess.DEVNULL).returncode == 0:
        return sys.executable
    folder = os.path.join(ROOT, "build/venv")
    inside = os.path.join(folder, "bin/python")
    if not os.path.exists(inside):
        venv.create(folder, with_pip=True)
    if subprocess.run([inside, "-c", probe], stderr=subprocess.DEVNULL).returncode != 0:
        print("installing", *PACKAGES, flush=True)
        subprocess.run([inside, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    return inside


def run(*command):
    return subprocess.run([str(c) for c in command], cwd=ROOT).returncode


def references(interpreter, out, reuse_tiny):
    """Writes checkpoints and references under `out`; yields (model folder, reference folder, options of the comparison)."""
    tiny = os.path.join(out, "qwen35")
    if reuse_tiny:
        shutil.rmtree(tiny, ignore_errors=True)
        shutil.copytree(os.path.join(ROOT, "tests/golden/qwen35"), tiny)
    else:
        subprocess.run([interpreter, os.path.join(HERE, "tiny.py"), tiny], check=True)
    make = [interpreter, os.path.join(HERE, "make.py")]
    for name in sorted(os.listdir(tiny)):
        folder = os.path.join(tiny, name)
        subprocess.run([*make, folder, "-o", f"{folder}/ref.safetensors", "--prompts", f"{folder}/ids.json", "--layers-for", "0"], check=True)
        yield folder, folder, ["--rms-ratio", "2"]
    nano = os.path.join(out, "nano")
    os.makedirs(nano, exist_ok=True)
    subprocess.run([*make, os.path.join(ROOT, "models/nano"), "-o", f"{nano}/ref.safetensors", "--prompts",
                    os.path.join(HERE, "nano_prompts.json"), "--ids-out", f"{nano}/ids.json", "--layers-for", "0,1", "--full", FULL_ROWS,
                    "--threads", str(os.cpu_count())], check=True)
    yield os.path.join(ROOT, "models/nano"), nano, []


def compare(build, model, reference, options):
    trace = os.path.join(reference, "trace.safetensors")
    lattice, gate = (os.path.join(build, "bin", p) for p in ("lattice", "lattice-gate"))
    print(f"\n{model}", flush=True)
    code = run(lattice, "trace", model, "--ids-file", f"{reference}/ids.json", "--layers", "-n", 64, "-o", trace)
    return code or run(gate, "parity", "compare", f"{reference}/ref.safetensors", trace, *options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--freeze", action="store_true")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/default"))
    parser.add_argument("--strings", type=int, default=20000)
    args = parser.parse_args()
    interpreter = python()
    if args.freeze:
        golden = os.path.join(ROOT, "tests/golden")
        list(references(interpreter, golden, reuse_tiny=False))
        return run(interpreter, os.path.join(HERE, "tokenizer_golden.py"), "--write", os.path.join(golden, "tokenizer"))
    out = os.path.join(ROOT, "build/live")
    os.makedirs(out, exist_ok=True)
    failed = sum(compare(args.build, *row) != 0 for row in references(interpreter, out, reuse_tiny=True))
    failed += run(interpreter, os.path.join(HERE, "tokenizer_golden.py"), "--live", args.strings, "--program",
                  os.path.join(args.build, "bin/lattice"), *TOKENIZERS) != 0
    print(f"\nparity-live: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
