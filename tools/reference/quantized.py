#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Writes the quantised checkpoints of tests/golden/quantized with the compressed-tensors library itself, and what Hugging
Face says about each (make.py).

usage: quantized.py OUTDIR        (needs compressed-tensors 0.20 beside the environment of parity-live)
"""
import json
import os
import subprocess
import sys

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from safetensors.torch import load_file, save_file
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import tiny

SIZES = dict(vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=32,
             linear_key_head_dim=16, linear_value_head_dim=32, linear_num_key_heads=2, linear_num_value_heads=2,
             intermediate_size=96, max_position_embeddings=256, tie_word_embeddings=False, eos_token_id=1,
             layer_types=["linear_attention", "full_attention"])
# name: bits, group (None: a row), type of the scales, symmetric
KINDS = {
    "int4-group32-bf16": (4, 32, torch.bfloat16, True),
    "int8-channel-f16": (8, None, torch.float16, True),
    "int4-asymmetric-f32": (4, 32, torch.float32, False),
}
IGNORED = ("in_proj_a", "in_proj_b", "conv1d", "embed_tokens")


def quantise(weight, bits, group, scale_type, symmetric):
    """Codes, scales and zero points of one matrix, by the plain rule of the library's min-max observer."""
    out, inner = weight.shape
    rows = weight.reshape(out, -1, group or inner)
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    if symmetric:
        scale = rows.abs().amax(-1) / ((high - low) / 2)
        zero = torch.zeros_like(scale)
    else:
        least, most = rows.amin(-1).clamp(max=0), rows.amax(-1).clamp(min=0)
        scale = (most - least) / (high - low)
        zero = (low - least / scale).round().clamp(low, high)
    scale = scale.to(scale_type)
    wide = scale.float().unsqueeze(-1)
    codes = (rows / wide + zero.unsqueeze(-1)).round().clamp(low, high).to(torch.int8).reshape(out, inner)
    return codes, scale, zero.to(torch.int8)


def rewrite(folder, kind):
    bits, group, scale_type, symmetric = KINDS[kind]
    path = os.path.join(folder, "model.safetensors")
    tensors = {}
    for name, value in load_file(path).items():
        base = name.removesuffix(".weight")
        if value.dim() != 2 or any(part in name for part in IGNORED):
            tensors[name] = value if tiny.keep_f32(name) else value.to(torch.bfloat16)
            continue
        codes, scale, zero = quantise(value.float(), bits, group, scale_type, symmetric)
        tensors[base + ".weight_packed"] = pack_to_int32(codes, bits).contiguous()
        tensors[base + ".weight_scale"] = scale.contiguous()
        tensors[base + ".weight_shape"] = torch.tensor(value.shape)
        if not symmetric:
            tensors[base + ".weight_zero_point"] = pack_to_int32(zero, bits, packed_dim=0).contiguous()
    save_file(tensors, path, {"format": "pt"})
    config_path = os.path.join(folder, "config.json")
    with open(config_path) as f:
        config = json.load(f)
    weights = dict(num_bits=bits, type="int", symmetric=symmetric, strategy="group" if group else "channel", dynamic=False)
    if group:
        weights["group_size"] = group
    config["quantization_config"] = dict(
        quant_method="compressed-tensors", format="pack-quantized", quantization_status="compressed",
        config_groups=dict(group_0=dict(targets=["Linear"], weights=weights)), ignore=["re:.*in_proj_a$", "re:.*in_proj_b$"])
    with open(config_path, "w") as f:
        json.dump(config, f, indent=2)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for k, kind in enumerate(KINDS):
        torch.manual_seed(100 + k)
        folder = os.path.join(sys.argv[1], kind)
        os.makedirs(folder, exist_ok=True)
        model = Qwen3_5ForCausalLM(Qwen3_5TextConfig(**SIZES)).eval()
        tiny.randomise(model)
        model.save_pretrained(folder)
        rewrite(folder, kind)
        os.path.exists(p := os.path.join(folder, "generation_config.json")) and os.remove(p)
        prompts = os.path.join(folder, "prompts.json")
        generator = torch.Generator().manual_seed(k)
        with open(prompts, "w") as f:
            json.dump([torch.randint(2, 128, (n,), generator=generator).tolist() for n in (1, 23)], f)
        subprocess.run([sys.executable, os.path.join(HERE, "make.py"), folder, "-o", os.path.join(folder, "ref.safetensors"),
                        "--prompts", prompts, "--ids-out", os.path.join(folder, "ids.json"), "--greedy", "64"], check=True)
        os.remove(prompts)


if __name__ == "__main__":
    main()
