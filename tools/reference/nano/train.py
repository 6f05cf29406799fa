# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Trains models/nano: a Qwen3.5 model of 5.5 M parameters, from random weights, on the synthetic corpus, on a CPU.

The schedule runs over wall-clock minutes (--minutes) or, for a rerun that can be repeated, over a number of steps (--steps).
Every document is new (a stream from a seed); sequences start where a document starts. Weights are saved in bf16 with A_log and
linear_attn.norm.weight in F32, under the names and in the nested config of the real repositories.
"""
import argparse
import json
import math
import os
import pathlib
import random
import time

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig
from transformers.models.qwen3_5 import modeling_qwen3_5

import corpus

TOKENS_PER_STEP = 2048
LENGTHS = [256, 128, 256, 256, 1024, 256, 128, 256, 256, 256]    # one step each, in turn
KEEP_F32 = ("linear_attn.A_log", "linear_attn.norm.weight")


def model_config(tok):
    end, im_end = tok.token_to_id("<|endoftext|>"), tok.token_to_id("<|im_end|>")
    return Qwen3_5TextConfig(
        vocab_size=tok.get_vocab_size(), hidden_size=256, intermediate_size=512, num_hidden_layers=8,
        num_attention_heads=4, num_key_value_heads=2, head_dim=64, linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=32, linear_value_head_dim=32, linear_conv_kernel_dim=4, max_position_embeddings=4096,
        rope_parameters={"rope_type": "default", "rope_theta": 10000000, "partial_rotary_factor": 0.25,
                         "mrope_section": [3, 3, 2], "mrope_interleaved": True},
        tie_word_embeddings=True, eos_token_id=end, pad_token_id=end, bos_token_id=None, use_cache=True)


# ---- the gated delta rule for training -----------------------------------------------------------------------------------

def delta_rule(query, key, value, g, beta, chunk_size=32, initial_state=None, output_final_state=False, **_):
    """Same results as Hugging Face's chunked form (see --check-delta), with chunks of 32, whose triangular systems are half as
    long, and the heads' products in float32 whatever autocast says."""
    with torch.autocast("cpu", enabled=False):
        b, t, nk, dk = key.shape
        nv, dv = value.shape[2:]
        c = chunk_size
        pad = -t % c
        n = (t + pad) // c

        def chunks(x):           # [b, t, heads, d] -> [b, heads, n, c, d]
            x = x.float().transpose(1, 2)
            x = torch.nn.functional.pad(x, (0, 0, 0, pad)) if pad else x
            return x.reshape(b, x.shape[1], n, c, x.shape[-1])

        q, k, v = chunks(query), chunks(key), chunks(value)
        beta, g = chunks(beta[..., None]), chunks(g[..., None])[..., 0]
        q = q * (torch.rsqrt((q * q).sum(-1, keepdim=True) + 1e-6) * dk ** -0.5)
        k = k * torch.rsqrt((k * k).sum(-1, keepdim=True) + 1e-6)
        kk, qk = k @ k.transpose(-1, -2), q @ k.transpose(-1, -2)
        rep = nv // nk
        if rep > 1:              # key head h // rep serves value head h
            q, k, kk, qk = (x.repeat_interleave(rep, dim=1) for x in (q, k, kk, qk))
        gamma = g.cumsum(-1)
        later = torch.ones(c, c, dtype=torch.bool).triu(1)
        decay = (gamma[..., :, None] - gamma[..., None, :]).masked_fill(later, float("-inf")).exp()
        grow = gamma.exp()[..., None]
        rhs = torch.cat([v * beta, k * (beta * grow)], dim=-1)
        solved = torch.linalg.solve_triangular(kk * decay * beta, rhs, upper=False, unitriangular=True)
        u, w = solved[..., :dv], solved[..., dv:]
        inside, q_in = qk * decay, q * grow
        k_out = (k * (gamma[..., -1:] - gamma).exp()[..., None]).transpose(-1, -2)
        last = gamma[..., -1].exp()[..., None, None]
        state = u.new_zeros(b, nv, dk, dv) if initial_state is None else initial_state.float()
        states, news = [], []
        for i in range(n):
            new = u[:, :, i] - w[:, :, i] @ state
            states.append(state)
            news.append(new)
            state = state * last[:, :, i] + k_out[:, :, i] @ new
        out = q_in @ torch.stack(states, 2) + inside @ torch.stack(news, 2)
        out = out.reshape(b, nv, n * c, dv)[:, :, :t].transpose(1, 2).to(query.dtype)
    return out, state if output_final_state else None


def check_delta():
    """Values and gradients of delta_rule against Hugging Face's function, with unequal head counts and a ragged length."""
    torch.manual_seed(5)
    worst = 0.0
    for t in (1, 31, 64, 65, 200):
        args = [torch.randn(2, t, 2, 32), torch.randn(2, t, 2, 32), torch.randn(2, t, 4, 32),
                -torch.rand(2, t, 4) * 2, torch.rand(2, t, 4)]
        pick = torch.randn(2, t, 4, 32)
        seen = []
        for rule in (modeling_qwen3_5.torch_chunk_gated_delta_rule, delta_rule):
            leaves = [a.clone().requires_grad_() for a in args]
            q, k, v, g, beta = leaves
            out, state = rule(q, k, v, g=g, beta=beta, output_final_state=True, use_qk_l2norm_in_kernel=True)
            ((out * pick).sum() + state.sum()).backward()
            seen.append([out.detach(), state.detach()] + [x.grad for x in leaves])
        for ours, theirs in zip(*seen):
            worst = max(worst, ((ours - theirs).abs().max() / theirs.abs().max().clamp_min(1e-6)).item())
    if not worst < 1e-4:
        raise SystemExit(f"delta_rule differs from Hugging Face: {worst:.2e}")
    return worst


# ---- data ----------------------------------------------------------------------------------------------------------------

class Stream:
    """Endless packed sequences; each begins with a document, and every document is followed by <|endoftext|>."""

    def __init__(self, tok, seed, part="train", block=4000):
        self.tok, self.end, self.part, self.block = tok, tok.token_to_id("<|endoftext|>"), part, block
        self.seed, self.docs = seed * 1000, []

    def document(self):
        if not self.docs:
            self.seed += 1
            texts = [t for _, t in corpus.documents(self.seed, self.block) if corpus.split(t) == self.part]
            self.docs = [e.ids + [self.end] for e in self.tok.encode_batch(texts)][::-1]
        return self.docs.pop()

    def sequence(self, length):
        ids = []
        while len(ids) < length:
            ids += self.document()
        return ids[:length]

    def batch(self, length, tokens=TOKENS_PER_STEP):
        return torch.tensor([self.sequence(length) for _ in range(tokens // length)])


def held_out_loss(model, batches):
    model.eval()
    with torch.no_grad():
        total = sum(loss_of(model, x).item() for x in batches)
    model.train()
    return total / len(batches)


def loss_of(model, x):
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model.model(input_ids=x, use_cache=False).last_hidden_state
        logits = model.lm_head(hidden[:, :-1])
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), x[:, 1:].flatten())


# ---- saving --------------------------------------------------------------------------------------------------------------

def hub_config(config):
    """The nested form of the real repositories."""
    text = config.to_dict()
    for key in ("architectures", "transformers_version", "_name_or_path", "return_dict", "output_hidden_states", "id2label",
                "label2id", "problem_type", "chunk_size_feed_forward", "is_encoder_decoder", "output_attentions"):
        text.pop(key, None)
    text.update(model_type="qwen3_5_text", dtype="bfloat16", attn_output_gate=True, full_attention_interval=4,
                mamba_ssm_dtype="float32")
    return {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5", "dtype": "bfloat16",
            "tie_word_embeddings": True, "text_config": dict(sorted(text.items()))}


def save(model, out):
    """Writes config.json and model.safetensors, each by rename."""
    tensors = {}
    for name, value in model.state_dict().items():
        if name == "lm_head.weight":
            continue
        value = value.detach().clone().contiguous()
        name = name.replace("model.", "model.language_model.", 1)
        tensors[name] = value.float() if name.endswith(KEEP_F32) else value.to(torch.bfloat16)
    save_file(tensors, out / "model.safetensors.part", metadata={"format": "pt"})
    os.chmod(out / "model.safetensors.part", 0o644)      # save_file leaves it 0600
    os.replace(out / "model.safetensors.part", out / "model.safetensors")
    (out / "config.json.part").write_text(json.dumps(hub_config(model.config), indent=2) + "\n")
    os.replace(out / "config.json.part", out / "config.json")


def write_log(rows, path, most=200):
    """Every row with a held-out loss, the last, and the others thinned evenly to `most` lines."""
    held = {i for i, row in enumerate(rows) if "held_out_loss" in row} | {len(rows) - 1}
    stride = max(1, math.ceil(len(rows) / max(1, most - len(held))))
    keep = sorted(held | set(range(0, len(rows), stride)))
    path.write_text("".join(json.dumps(rows[i]) + "\n" for i in keep))


# ---- the run -------------------------------------------------------------------------------------------------------------

def groups(model, decay):
    big = [p for p in model.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if p.ndim != 2]
    return [{"params": big, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]


def run(a):
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    random.seed(a.seed)
    tok = Tokenizer.from_file(str(a.out / "tokenizer.json"))
    model = Qwen3_5ForCausalLM(model_config(tok))
    print(f"delta rule: {check_delta():.1e} from Hugging Face's", flush=True)
    modeling_qwen3_5.torch_chunk_gated_delta_rule = delta_rule
    model.train()
    optimizer = torch.optim.AdamW(groups(model, a.weight_decay), lr=a.lr, betas=(0.9, 0.95), fused=True)
    stream = Stream(tok, a.seed)
    held = Stream(tok, a.seed + 500, "held-out", block=20000)
    held_batches = [held.batch(256) for _ in range(4)] + [held.batch(1024) for _ in range(2)]
    rows, tokens, start, saved, recent = [], 0, time.monotonic(), time.monotonic(), []
    parameters = sum(p.numel() for p in model.parameters())
    print(f"{parameters} parameters", flush=True)
    step = 0
    while True:
        elapsed = time.monotonic() - start
        done = step / a.steps if a.steps else elapsed / (60 * a.minutes)
        if done >= 1:
            break
        rate = a.lr * min(1.0, (step + 1) / a.warmup) * min(1.0, (1 - done) / (1 - a.flat))
        for group in optimizer.param_groups:
            group["lr"] = rate
        x = stream.batch(LENGTHS[step % len(LENGTHS)])
        loss = loss_of(model, x)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, tokens = step + 1, tokens + x.numel()
        recent.append(loss.item())
        if step % 20 == 0:
            row = {"step": step, "tokens": tokens, "seconds": round(time.monotonic() - start, 1), "lr": round(rate, 7),
                   "loss": round(sum(recent) / len(recent), 4), "tokens_per_second": int(tokens / (time.monotonic() - start))}
            recent = []
            if step % 200 == 0:
                row["held_out_loss"] = round(held_out_loss(model, held_batches), 4)
            rows.append(row)
            print(json.dumps(row), flush=True)
        if time.monotonic() - saved > 60 * a.save_every:
            save(model, a.out)
            write_log(rows, a.out / "training-log.jsonl")
            saved = time.monotonic()
    rows.append({"step": step, "tokens": tokens, "seconds": round(time.monotonic() - start, 1), "lr": 0.0,
                 "loss": round(sum(recent) / len(recent), 4) if recent else rows[-1]["loss"],
                 "held_out_loss": round(held_out_loss(model, held_batches), 4),
                 "tokens_per_second": int(tokens / (time.monotonic() - start))})
    print(json.dumps(rows[-1]), flush=True)
    save(model, a.out)
    write_log(rows, a.out / "training-log.jsonl")


def main():
    p = argparse.ArgumentParser(description="train models/nano")
    p.add_argument("--out", type=pathlib.Path, required=True, help="folder that holds tokenizer.json; the model is written there")
    p.add_argument("--minutes", type=float, default=60, help="wall-clock length of the run and of its schedule")
    p.add_argument("--steps", type=int, default=0, help="length in steps instead: repeatable")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--warmup", type=int, default=200, help="steps")
    p.add_argument("--flat", type=float, default=0.1, help="share of the run before the rate starts to fall to zero")
    p.add_argument("--weight-decay", type=float, default=0.05)
    p.add_argument("--save-every", type=float, default=4, help="minutes")
    p.add_argument("--check-delta", action="store_true", help="only compare the delta rule with Hugging Face's")
    a = p.parse_args()
    if a.check_delta:
        print(f"delta rule: {check_delta():.1e} from Hugging Face's")
        return
    run(a)


if __name__ == "__main__":
    main()
