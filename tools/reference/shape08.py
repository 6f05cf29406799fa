#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Writes a folder with random bf16 weights in the exact shape of Qwen3.5-0.8B (1.5 GB), to measure speed and memory.

usage: shape08.py OUTDIR       (texts from it are noise; it has no tokenizer, prompts are given as ids)
"""
import json
import os
import sys

import torch
from safetensors.torch import save_file

TEXT = dict(model_type="qwen3_5_text", vocab_size=248320, hidden_size=1024, intermediate_size=3584, num_hidden_layers=24,
            num_attention_heads=8, num_key_value_heads=2, head_dim=256, hidden_act="silu", rms_norm_eps=1e-6, attention_bias=False,
            max_position_embeddings=262144, full_attention_interval=4, linear_conv_kernel_dim=4, linear_key_head_dim=128,
            linear_value_head_dim=128, linear_num_key_heads=16, linear_num_value_heads=16, tie_word_embeddings=True,
            eos_token_id=248044, dtype="bfloat16",
            layer_types=["full_attention" if i % 4 == 3 else "linear_attention" for i in range(24)],
            rope_parameters=dict(rope_type="default", rope_theta=10000000, partial_rotary_factor=0.25,
                                 mrope_section=[11, 11, 10], mrope_interleaved=True))


def shapes():
    h, inner = TEXT["hidden_size"], TEXT["intermediate_size"]
    heads, kv = TEXT["num_attention_heads"] * TEXT["head_dim"], TEXT["num_key_value_heads"] * TEXT["head_dim"]
    key = TEXT["linear_num_key_heads"] * TEXT["linear_key_head_dim"]
    nv, value = TEXT["linear_num_value_heads"], TEXT["linear_num_value_heads"] * TEXT["linear_value_head_dim"]
    yield "embed_tokens.weight", (TEXT["vocab_size"], h)
    yield "norm.weight", (h,)
    for i, kind in enumerate(TEXT["layer_types"]):
        p = f"layers.{i}."
        yield p + "input_layernorm.weight", (h,)
        yield p + "post_attention_layernorm.weight", (h,)
        for name, shape in (("gate", (inner, h)), ("up", (inner, h)), ("down", (h, inner))):
            yield f"{p}mlp.{name}_proj.weight", shape
        if kind == "full_attention":
            for name, shape in (("q", (2 * heads, h)), ("k", (kv, h)), ("v", (kv, h)), ("o", (h, heads))):
                yield f"{p}self_attn.{name}_proj.weight", shape
            yield p + "self_attn.q_norm.weight", (TEXT["head_dim"],)
            yield p + "self_attn.k_norm.weight", (TEXT["head_dim"],)
        else:
            p += "linear_attn."
            for name, shape in (("in_proj_qkv.weight", (2 * key + value, h)), ("in_proj_z.weight", (value, h)),
                                ("in_proj_b.weight", (nv, h)), ("in_proj_a.weight", (nv, h)), ("out_proj.weight", (h, value)),
                                ("conv1d.weight", (2 * key + value, 1, 4)), ("A_log", (nv,)), ("dt_bias", (nv,)),
                                ("norm.weight", (TEXT["linear_value_head_dim"],))):
                yield p + name, shape


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.manual_seed(0)
    os.makedirs(sys.argv[1], exist_ok=True)
    tensors = {}
    for name, shape in shapes():
        value = torch.empty(shape, dtype=torch.bfloat16).normal_(0, 0.02)
        tensors["model.language_model." + name] = value.float() if name.endswith(("A_log", "linear_attn.norm.weight")) else value
    save_file(tensors, os.path.join(sys.argv[1], "model.safetensors"), {"format": "pt"})
    config = {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "tie_word_embeddings": True, "text_config": TEXT}
    with open(os.path.join(sys.argv[1], "config.json"), "w") as f:
        json.dump(config, f, indent=2)


if __name__ == "__main__":
    main()
