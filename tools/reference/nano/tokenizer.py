# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Trains the tokenizer of models/nano on the synthetic corpus and writes its files.

Byte-level BPE, 4096 ids in all, built as Qwen3.5's tokenizer.json is: NFC, Qwen3.5's split pattern, ByteLevel without regex,
no post-processing; the added tokens end the id space.
"""
import argparse
import json
import pathlib
import re

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import corpus

VOCAB = 4096
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
ORDINARY = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
           r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CONTEXT = 4096
# The split pattern keeps a run of Chinese together. The corpus has few sentences, so that whole ones would become entries and no
# beginning of a sentence would look like training data: merges must not cross a character.
HAN = re.compile("([\u3000-\u303f\u4e00-\u9fff\uff00-\uffef])")

# The part of Qwen's chat format that the model was trained on; thinking is off unless asked for, as in the 0.8B model.
CHAT_TEMPLATE = """{%- if not messages %}{{- raise_exception('a chat needs at least one message') }}{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'system' and not loop.first %}
        {{- raise_exception('the system message must come first') }}
    {%- elif message.role == 'system' or message.role == 'user' %}
        {{- '<|im_start|>' + message.role + '\\n' + (message.content | trim) + '<|im_end|>\\n' }}
    {%- elif message.role == 'assistant' %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if loop.last %}
            {{- '<think>\\n\\n</think>\\n\\n' }}
        {%- endif %}
        {{- (message.content | trim) + '<|im_end|>\\n' }}
    {%- else %}
        {{- raise_exception('unknown role: ' + message.role) }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n<think>\\n' }}
    {%- if not (enable_thinking is defined and enable_thinking) %}
        {{- '\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""


def train(seed, count):
    added = SPECIAL + ORDINARY
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PATTERN), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.decoder = decoders.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    tok.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    trainer = trainers.BpeTrainer(vocab_size=VOCAB - len(added), min_frequency=2, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))

    def pieces():
        for _, text in corpus.documents(seed, count):
            if corpus.split(text) == "train":
                for token in added:      # an added token is no text to learn merges from
                    text = text.replace(token, "\n")
                yield HAN.sub(r"\1\n", text)

    tok.train_from_iterator(pieces(), trainer)
    base = tok.get_vocab_size()
    tok.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in SPECIAL])
    tok.add_tokens([AddedToken(t, special=False, normalized=False) for t in ORDINARY])
    return tok, base


def write(tok, out):
    data = json.loads(tok.to_str())
    data["model"].update(continuing_subword_prefix="", end_of_word_suffix="", ignore_merges=False)
    (out / "tokenizer.json").write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    config = {
        "add_bos_token": False, "add_prefix_space": False,
        "added_tokens_decoder": {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in data["added_tokens"]},
        "bos_token": None, "chat_template": CHAT_TEMPLATE, "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>", "errors": "replace", "model_max_length": CONTEXT, "pad_token": "<|endoftext|>",
        "split_special_tokens": False, "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": None,
    }
    (out / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=2) + "\n")
    end, im_end = tok.token_to_id("<|endoftext|>"), tok.token_to_id("<|im_end|>")
    generation = {"bos_token_id": end, "do_sample": False, "eos_token_id": [im_end, end], "pad_token_id": end}
    (out / "generation_config.json").write_text(json.dumps(generation, indent=2) + "\n")


def main():
    p = argparse.ArgumentParser(description="train the tokenizer of models/nano")
    p.add_argument("--out", type=pathlib.Path, required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=60000)
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    tok, base = train(a.seed, a.count)
    print(f"{base} ordinary entries, {tok.get_vocab_size()} in all")
    if tok.get_vocab_size() != VOCAB:
        raise SystemExit(f"the corpus gave {tok.get_vocab_size()} entries, not {VOCAB}")
    write(tok, a.out)


if __name__ == "__main__":
    main()
