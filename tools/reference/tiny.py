#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Writes the tiny random checkpoints of tests/golden/qwen35: together they cover what the bundled model does not.

usage: tiny.py OUTDIR        (then make.py for each; `make references` does both)
"""
import json
import os
import random
import sys

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen3_5ForCausalLM, Qwen3_5MoeForCausalLM, Qwen3_5MoeTextConfig, Qwen3_5TextConfig

BASE = dict(vocab_size=128, hidden_size=48, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
            linear_key_head_dim=16, linear_value_head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
            intermediate_size=64, max_position_embeddings=1024, tie_word_embeddings=True, eos_token_id=1)
MOE = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24, shared_expert_intermediate_size=32)

# name: (changes, storage type, what is done to the folder afterwards)
CHECKPOINTS = {
    "dense-f32": ({}, torch.float32, None),
    "dense-f16": ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.5}}, torch.float16, None),
    "sharded-bf16": ({}, torch.bfloat16, "nested"),
    "moe-experts": (dict(MOE), torch.bfloat16, None),
    "moe-fused": (dict(MOE, num_experts_per_tok=3), torch.bfloat16, "fused"),
    "equal-heads": (dict(linear_num_key_heads=3, linear_num_value_heads=3), torch.bfloat16, None),
    "untied": (dict(tie_word_embeddings=False), torch.bfloat16, None),
    "odd-sizes": (dict(vocab_size=101, hidden_size=37, head_dim=20, num_attention_heads=3, num_key_value_heads=1,
                       linear_key_head_dim=12, linear_value_head_dim=21, linear_num_key_heads=2, linear_num_value_heads=6,
                       intermediate_size=53, tie_word_embeddings=False), torch.float32, None),
    "linear-deep": (dict(num_hidden_layers=12, hidden_size=32, intermediate_size=40, layer_types=["linear_attention"] * 12),
                    torch.bfloat16, None),
    "irregular-bias": (dict(num_hidden_layers=5, attention_bias=True,
                            layer_types=["full_attention", "linear_attention", "full_attention", "full_attention",
                                         "linear_attention"]), torch.bfloat16, None),
}


def randomise(model):
    """Weights at which every layer matters and logits spread by about 3."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "A_log" in name:
                p.uniform_(-2.0, 1.0)
            elif "dt_bias" in name:
                p.uniform_(-1.0, 1.0)
            elif "linear_attn.norm" in name:
                p.normal_(1.0, 0.2)
            elif name.endswith("bias") or p.dim() == 1:
                p.normal_(0.0, 0.2)
            elif "conv1d" in name:
                p.normal_(0.0, 0.5)
            elif "embed" in name or "lm_head" in name:
                p.normal_(0.0, 3.0 / p.shape[1] ** 0.5)
            else:
                p.normal_(0.0, 1.0 / p.shape[-1] ** 0.5)


def keep_f32(name):
    return name.endswith("A_log") or name.endswith("linear_attn.norm.weight")


def store(folder, dtype):
    """Casts the saved weights, with the tensors that real repositories keep in f32 kept so."""
    path = os.path.join(folder, "model.safetensors")
    tensors = {n: t if keep_f32(n) else t.to(dtype) for n, t in load_file(path).items()}
    save_file(tensors, path, {"format": "pt"})
    return tensors


def fuse_experts(folder, tensors, config):
    """The fused layout: experts.gate_up_proj [E, 2I, H] and experts.down_proj [E, H, I]."""
    out = {n: t for n, t in tensors.items() if ".experts." not in n}
    for layer in range(config.num_hidden_layers):
        stem = f"model.layers.{layer}.mlp.experts."
        pick = lambda e, part: tensors[f"{stem}{e}.{part}_proj.weight"]
        experts = range(config.num_experts)
        out[stem + "gate_up_proj"] = torch.stack([torch.cat([pick(e, "gate"), pick(e, "up")]) for e in experts])
        out[stem + "down_proj"] = torch.stack([pick(e, "down") for e in experts])
    save_file(out, os.path.join(folder, "model.safetensors"), {"format": "pt"})


def nest(folder, tensors):
    """As the hub has the multimodal repositories: nested config, other prefix, shards, tensors that are not ours."""
    with open(os.path.join(folder, "config.json")) as f:
        text = json.load(f)
    config = {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "text_config": text,
              "tie_word_embeddings": text["tie_word_embeddings"], "dtype": "bfloat16"}
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f, indent=2)
    named = {n.replace("model.", "model.language_model.", 1): t for n, t in tensors.items()}
    named["model.visual.patch_embed.proj.bias"] = torch.full((7,), float("nan"))
    named["mtp.norm.weight"] = torch.full((3,), float("inf"))
    names = sorted(named)
    total, weight_map = 0, {}
    for i, part in enumerate((names[::2], names[1::2])):
        shard = f"model.safetensors-{i + 1:05d}-of-00002.safetensors"
        save_file({n: named[n] for n in part}, os.path.join(folder, shard), {"format": "pt"})
        weight_map.update({n: shard for n in part})
        total += sum(named[n].numel() * named[n].element_size() for n in part)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as f:
        json.dump({"metadata": {"total_size": total}, "weight_map": weight_map}, f, indent=1)
    os.remove(os.path.join(folder, "model.safetensors"))


def write(out, index, name):
    changes, dtype, after = CHECKPOINTS[name]
    moe = "num_experts" in changes
    keys = {k: v for k, v in BASE.items() if not (moe and k == "intermediate_size")}
    config = (Qwen3_5MoeTextConfig if moe else Qwen3_5TextConfig)(**{**keys, **changes})
    torch.manual_seed(1000 + index)
    model = (Qwen3_5MoeForCausalLM if moe else Qwen3_5ForCausalLM)(config).float().eval()
    randomise(model)
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    model.save_pretrained(folder)
    generation = os.path.join(folder, "generation_config.json")
    if os.path.exists(generation):
        os.remove(generation)
    tensors = store(folder, dtype)
    if after == "fused":
        fuse_experts(folder, tensors, config)
    elif after == "nested":
        nest(folder, tensors)
    numbers = random.Random(index)
    prompts = [[numbers.randrange(config.vocab_size) for _ in range(n)] for n in (17, 1, 66, 130)]
    with open(os.path.join(folder, "ids.json"), "w") as f:
        json.dump(prompts, f, separators=(",", ":"))
        f.write("\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    for index, name in enumerate(CHECKPOINTS):
        write(sys.argv[1], index, name)
        print(name)


if __name__ == "__main__":
    main()
