#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Writes what each operator inside the layers must give, so that a wrong layer can be narrowed down to one operator.

usage: operators.py FOLDER --prompts IDS.json --prompt K --positions 0,2,5 [--layers 2,3|all] -o OPERATORS.safetensors

Of prompt K, at the given positions: the embedding, every layer's output, the final norm, and for the given layers each
operator, in float64 (rounded to F32), with the distance of Hugging Face's float32 over the whole prompt as the floor.
docs/PARITY.md describes the file.
"""
import argparse
import contextlib
import json

from make import Layers, distance, let_all_linear_models_cache, load, model_digests, sha256

import torch
import transformers
from safetensors.torch import save_file
from truth import double_copy, exact, modeling_module


def rows(tensor):
    """[1, T, ...] as [T, width]."""
    return tensor.detach()[0].reshape(tensor.shape[1], -1)


class Operators:
    """Collects the operators of some layers: through hooks, and by looking over the shoulder of two functions."""

    def __init__(self, model, layers):
        self.model, self.layers, self.values, self.now = model, layers, {}, None
        self.handles, self.module = [], modeling_module(model)
        for i in layers:
            layer = model.model.layers[i]
            self.handles.append(layer.register_forward_pre_hook(lambda *_, i=i: setattr(self, "now", i)))
            self.handles.append(layer.register_forward_hook(lambda *_: setattr(self, "now", None)))
            self.after(i, "norm", layer.input_layernorm)
            if hasattr(layer, "linear_attn"):
                for name in ("qkv", "z", "b", "a"):
                    self.after(i, name, getattr(layer.linear_attn, f"in_proj_{name}"))
                self.before(i, "gated", layer.linear_attn.out_proj)
            else:
                for name in ("q_proj", "k_proj", "v_proj"):
                    self.after(i, name, getattr(layer.self_attn, name))
                self.before(i, "context", layer.self_attn.o_proj)
            self.before(i, "mid", layer.post_attention_layernorm)
            self.after(i, "mlp_norm", layer.post_attention_layernorm)
            if hasattr(layer.mlp, "down_proj"):
                self.before(i, "act", layer.mlp.down_proj)

    def put(self, layer, name, tensor):
        tensor = tensor if tensor.dim() > 2 else tensor[None]
        self.values[f"layers.{layer}.{name}"] = rows(tensor)

    def after(self, layer, name, module):
        self.handles.append(module.register_forward_hook(lambda _m, _i, out: self.put(layer, name, out)))

    def before(self, layer, name, module):
        self.handles.append(module.register_forward_pre_hook(lambda _m, inputs: self.put(layer, name, inputs[0])))

    def rotary(self, function):
        def wrapped(q, k, *args, **kwargs):
            q, k = function(q, k, *args, **kwargs)
            if self.now is not None:
                self.put(self.now, "q", q.transpose(1, 2))
                self.put(self.now, "k", k.transpose(1, 2))
            return q, k

        return wrapped

    def delta(self, function):
        def wrapped(query, key, value, **kwargs):
            out = function(query, key, value, **kwargs)
            if self.now is not None:
                norm = lambda x: x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)
                q, k = norm(query) * query.shape[-1] ** -0.5, norm(key)
                self.put(self.now, "conv", torch.cat([t.reshape(*t.shape[:2], -1) for t in (q, k, value)], -1))
                self.put(self.now, "delta", out[0])
            return out

        return wrapped

    @contextlib.contextmanager
    def watch(self):
        names = {"apply_rotary_pos_emb": self.rotary, "torch_chunk_gated_delta_rule": self.delta}
        old = {name: getattr(self.module, name) for name in names}
        for name, wrap in names.items():
            setattr(self.module, name, wrap(old[name]))
        try:
            yield
        finally:
            for name in names:
                setattr(self.module, name, old[name])
            for handle in self.handles:
                handle.remove()


@torch.no_grad()
def run(model, ids, layers):
    points, operators = Layers(model), Operators(model, layers)
    with operators.watch():
        model(torch.tensor([ids]), use_cache=False)
    points.close()
    return {**points.values, **operators.values}


ORDER = ("norm", "q_proj", "k_proj", "v_proj", "q", "k", "context", "qkv", "z", "b", "a", "conv", "delta", "gated", "mid", "mlp_norm", "act")


def in_order(values, count):
    """Names in the order of computation."""
    names = ["embed"]
    for i in range(count):
        names += [f"layers.{i}.{op}" for op in ORDER if f"layers.{i}.{op}" in values] + [f"layers.{i}"]
    return names + ["norm"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--prompts", required=True)
    parser.add_argument("--prompt", type=int, required=True)
    parser.add_argument("--positions", required=True, type=lambda s: [int(x) for x in s.split(",")])
    parser.add_argument("--layers", default="all")
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    model = load(args.folder)
    let_all_linear_models_cache(model)
    twin = double_copy(model)
    with open(args.prompts) as f:
        ids = json.load(f)[args.prompt]
    count = len(model.model.layers)
    layers = list(range(count)) if args.layers == "all" else [int(x) for x in args.layers.split(",")]
    ours = run(model, ids, layers)
    with exact(twin):
        truth = run(twin, ids, layers)
    names = in_order(truth, count)
    assert set(names) == set(truth) and all(t.dtype == torch.float64 for t in truth.values())
    out = {"p0.input_ids": torch.tensor(ids), "p0.positions": torch.tensor(args.positions)}
    out.update({f"p0.truth.{n}": truth[n][args.positions].float().contiguous() for n in names})
    metadata = {
        "format": "lattice-operators-1",
        "model_sha256": json.dumps(model_digests(args.folder)),
        "prompts": "1",
        "points": json.dumps(names),
        "point_floor": json.dumps({"p0": {n: distance(ours[n], truth[n]) for n in names}}),
        "generator": "tools/reference/operators.py",
        "generator_sha256": sha256(__file__),
        "transformers": transformers.__version__,
        "torch": torch.__version__,
    }
    save_file(out, args.output, metadata)
    print(f"{args.output}: {len(names)} points at {len(args.positions)} positions")


if __name__ == "__main__":
    main()
