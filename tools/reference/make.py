#!/usr/bin/env python3
"""Writes a reference: what Hugging Face says about a model folder, and how far it is itself from the exact answer.

usage: make.py FOLDER -o REF.safetensors [--prompts PROMPTS.json] [--ids-out IDS.json] [--layers-for 0,1] [--full N]
               [--greedy N] [--threads N]

PROMPTS.json: a list of texts, or of lists of ids. docs/PARITY.md describes the file that is written.
"""
import argparse
import hashlib
import json
import os
import sys
import time
import warnings

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")
import torch
import transformers
from safetensors.torch import load_file, save_file

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from truth import double_copy, exact


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def model_digests(folder):
    names = sorted(n for n in os.listdir(folder) if n in ("config.json", "tokenizer.json") or n.endswith(".safetensors"))
    return {n: sha256(os.path.join(folder, n)) for n in names if not n.startswith("ref")}


def load(folder):
    with open(os.path.join(folder, "config.json")) as f:
        asymmetric = '"symmetric": false' in f.read()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", ignore_mismatched_sizes=asymmetric).eval()
    if getattr(model.config, "quantization_config", None) is None:
        return model
    del model.config.quantization_config
    plain = type(model)._from_config(model.config, dtype=torch.float32, attn_implementation="eager").eval()
    weights = as_text_model(widened(folder))
    missing, unexpected = plain.load_state_dict(weights, strict=False)
    assert not unexpected and all("rotary" in name for name in missing), (missing, unexpected)
    # The library's own widening must agree wherever it can load the folder (it cannot load packed zero points).
    ids = torch.tensor([[0, 1, 2]])
    with torch.no_grad():
        logits, theirs = model(ids).logits, model.state_dict()
        # transformers 5.24 rounds q * scale of experts to the scale's type when it loads; the folder means the product.
        experts = {n: theirs[n] for n in weights if ".experts." in n and theirs[n].dtype != torch.float32}
        assert all(torch.equal(weights[n].to(value.dtype), value) for n, value in experts.items()), "experts differ"
        apart = 0 if asymmetric or experts else float((plain(ids).logits - logits).abs().max())
    assert apart < 1e-4, f"compressed-tensors disagrees by {apart}"
    return plain


def as_text_model(weights):
    """Names of the text class; experts in a tensor each become the two tensors that it has."""
    out = {n.replace("model.language_model.", "model."): t for n, t in weights.items()
           if not n.startswith("mtp.") and ".mtp." not in n and "visual." not in n}
    for stem in sorted({n[: n.index(".experts.0.")] + ".experts." for n in out if ".experts.0." in n}):
        count = len({n[len(stem) :].split(".")[0] for n in out if n.startswith(stem)})
        take = lambda part: torch.stack([out.pop(f"{stem}{e}.{part}_proj.weight") for e in range(count)])
        out[stem + "gate_up_proj"] = torch.cat([take("gate"), take("up")], 1)
        out[stem + "down_proj"] = take("down")
    return out


def widened(folder):
    """All weights as float32, packed ones read by the format's rule: (code - zero point) * scale."""
    stored = {}
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".safetensors") and n.startswith("model")):
        stored.update(load_file(os.path.join(folder, name)))

    def unpack(words, bits):
        codes = (words.unsqueeze(-1) >> (torch.arange(32 // bits) * bits)) & ((1 << bits) - 1)
        return codes.reshape(words.shape[0], -1) - (1 << (bits - 1))

    out = {}
    for name, value in stored.items():
        base, packed, part = name.rpartition(".weight_")
        if not packed:
            out[name] = value.float()
        if part != "packed":
            continue
        rows, cols = stored[base + ".weight_shape"].tolist()
        bits = value.shape[1] * 32 // cols
        scale = stored[base + ".weight_scale"].float().repeat_interleave(cols // stored[base + ".weight_scale"].shape[1], 1)
        codes = unpack(value, bits)[:, :cols]
        if base + ".weight_zero_point" in stored:
            zero = unpack(stored[base + ".weight_zero_point"].t().contiguous(), bits).t()[:rows]
            codes = codes - zero.repeat_interleave(cols // zero.shape[1], 1)
        out[base + ".weight"] = codes.float() * scale
    return out


def let_all_linear_models_cache(model):
    """transformers asks the cache for lengths that only attention layers keep; without such layers they do not matter."""
    if "full_attention" in model.config.layer_types:
        return
    cache = transformers.cache_utils.Cache
    cache.get_seq_length = lambda self, *args, **kwargs: 0
    cache.get_mask_sizes = lambda self, query_length, *args, **kwargs: (query_length, 0)


def read_prompts(folder, path):
    with open(path) as f:
        prompts = json.load(f)
    if any(isinstance(p, str) for p in prompts):
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        prompts = [tokenizer.encode(p).ids if isinstance(p, str) else p for p in prompts]
    assert prompts and all(prompts), "empty prompts"
    return prompts


class Layers:
    """Collects embedding, layer and norm outputs through hooks."""

    def __init__(self, model):
        self.values = {}
        points = [("embed", model.model.embed_tokens), ("norm", model.model.norm)]
        points += [(f"layers.{i}", layer) for i, layer in enumerate(model.model.layers)]
        self.handles = [m.register_forward_hook(self._hook(name)) for name, m in points]

    def _hook(self, name):
        def hook(_module, _inputs, output):
            self.values[name] = (output[0] if isinstance(output, tuple) else output).detach()[0]

        return hook

    def close(self):
        for handle in self.handles:
            handle.remove()


@torch.no_grad()
def prefill(model, ids, layers=False):
    hooks = Layers(model) if layers else None
    logits = model(torch.tensor([ids])).logits[0]
    if hooks:
        hooks.close()
    return logits, (hooks.values if hooks else None)


@torch.no_grad()
def steps(model, ids):
    cache, rows = None, []
    for i in ids:
        out = model(torch.tensor([[i]]), past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        rows.append(out.logits[0, -1])
    return torch.stack(rows)


@torch.no_grad()
def greedy(model, ids, count):
    """Greedy ids with Hugging Face's cache, for each the distance of the best logit to the second, and how fast it went."""
    start = time.perf_counter()
    out = model(torch.tensor([ids]), use_cache=True)
    chosen, margins, first = [], [], time.perf_counter()
    for _ in range(count):
        best = torch.topk(out.logits[0, -1], 2)
        chosen.append(int(torch.argmax(out.logits[0, -1])))
        margins.append(float(best.values[0] - best.values[1]))
        out = model(torch.tensor([[chosen[-1]]]), past_key_values=out.past_key_values, use_cache=True)
    speed = {"prompt_tokens_s": len(ids) / (first - start), "decode_tokens_s": count / (time.perf_counter() - first)}
    return torch.tensor(chosen), torch.tensor(margins), speed


def distance(a, truth):
    d = (a.double() - truth).abs()
    return {"max": float(d.max()), "rms": float(d.pow(2).mean().sqrt())}


def full_rows(count, budget):
    """Positions whose whole rows are kept: all when they fit, else the first, the last and an even spread."""
    if count <= budget:
        return None
    picks = {0, count - 1} | {round(i * (count - 1) / max(1, budget - 1)) for i in range(budget)}
    return sorted(picks)[:budget]


def add_prompt(out, floors, layer_floors, speeds, k, ids, model, twin, args, budget):
    with_layers = k in args.layers_for
    p = f"p{k}."
    hf, hf_layers = prefill(model, ids, with_layers)
    hf_steps = steps(model, ids)
    with exact(twin):
        truth, true_layers = prefill(twin, ids, with_layers)
        again = steps(twin, ids)
    apart = float((truth - again).abs().max())
    assert truth.dtype == torch.float64 and apart < 1e-9, f"the truth disagrees with itself by {apart}"
    a, b = distance(hf, truth), distance(hf_steps, truth)
    floors[f"p{k}"] = {"max_prefill": a["max"], "rms_prefill": a["rms"], "max_steps": b["max"], "rms_steps": b["rms"]}
    out[p + "input_ids"] = torch.tensor(ids)
    rows = full_rows(len(ids), budget)
    if rows is None:
        out[p + "truth"] = truth.float()
    else:
        top = torch.topk(truth, min(64, truth.shape[1]))
        out[p + "positions"] = torch.tensor(rows)
        out[p + "truth"] = truth[rows].float()
        out[p + "top_ids"] = top.indices
        out[p + "top_truth"] = top.values.float()
        out[p + "lse_truth"] = torch.logsumexp(truth, -1).float()
    if with_layers:
        layer_floors[f"p{k}"] = {name: distance(hf_layers[name], true_layers[name]) for name in true_layers}
        for name, value in true_layers.items():
            out[p + "truth." + name] = value.float()
    out[p + "greedy_ids"], out[p + "greedy_margin"], speeds[f"p{k}"] = greedy(model, ids, args.greedy)
    return len(ids) if rows is None else len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--prompts", required=True)
    parser.add_argument("--ids-out")
    parser.add_argument("--layers-for", type=lambda s: {int(x) for x in s.split(",")}, default={0, 1})
    parser.add_argument("--full", type=int, default=10**9, help="whole logit rows to keep in all prompts together")
    parser.add_argument("--greedy", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = load(args.folder)
    let_all_linear_models_cache(model)
    twin = double_copy(model)
    prompts = read_prompts(args.folder, args.prompts)
    out, floors, layer_floors, speeds = {}, {}, {}, {}
    budget = args.full // len(prompts)
    for k, ids in enumerate(prompts):
        add_prompt(out, floors, layer_floors, speeds, k, ids, model, twin, args, budget)
    here = os.path.abspath(__file__)
    metadata = {
        "format": "lattice-reference-1",
        "model": os.path.basename(os.path.normpath(args.folder)),
        "model_sha256": json.dumps(model_digests(args.folder)),
        "prompts": str(len(prompts)),
        "floor": json.dumps(floors),
        "layer_floor": json.dumps(layer_floors),
        "speed": json.dumps(speeds),
        "generator": "tools/reference/make.py",
        "generator_sha256": sha256(here),
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "threads": str(args.threads),
    }
    save_file({n: t.contiguous() for n, t in out.items()}, args.output, metadata)
    if args.ids_out:
        with open(args.ids_out, "w") as f:
            json.dump(prompts, f, separators=(",", ":"))
            f.write("\n")
    worst = max(max(v["max_prefill"], v["max_steps"]) for v in floors.values())
    print(f"{args.output}: {len(prompts)} prompts, {sum(map(len, prompts))} positions, largest floor {worst:.2g}")


if __name__ == "__main__":
    main()
