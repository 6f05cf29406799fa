#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# The programs from outside: what they print, what they refuse, what they leave behind. usage: cli.sh SOURCE BUILD
set -eu
source=$1 build=$2
lattice=$build/bin/lattice gate=$build/bin/lattice-gate nano=$source/models/nano golden=$source/tests/golden
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0

die() { echo "FAILED: $*"; exit 1; }

# refuses CODE TEXT COMMAND...: ends with CODE, says TEXT in one line on stderr, prints no data.
refuses() {
    code=$1 text=$2
    shift 2
    got=0
    "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
    [ "$got" -eq "$code" ] || die "exit $got, wanted $code: $* ($(cat "$work/err"))"
    grep -q -- "$text" "$work/err" || die "'$(cat "$work/err")' lacks '$text': $*"
    [ "$(wc -l <"$work/err")" -eq 1 ] || die "more than one line: $* ($(cat "$work/err"))"
    [ ! -s "$work/out" ] || die "data in spite of a refusal: $*"
    checks=$((checks + 1))
}

# gives TEXT COMMAND...: exit 0 and stdout holds TEXT.
gives() {
    text=$1
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null || die "exit $?: $* ($(cat "$work/err"))"
    grep -q -- "$text" "$work/out" || die "'$(head -c 300 "$work/out")' lacks '$text': $*"
    checks=$((checks + 1))
}

# ---- what works
gives '^ Paris' "$lattice" generate "$nano" "The capital of France is" -n 8
gives '"finish_reason":"length"' "$lattice" generate "$nano" "Once" -n 3 --json
gives '"text":"","finish_reason":"length"' "$lattice" generate "$nano" "Once" -n 0 --json
gives '"prompt_ids":\[1,2,3\]' "$lattice" generate "$nano" --ids 1,2,3 -n 2 --json
gives '^\[[0-9,]*\]$' "$lattice" generate "$golden/qwen35/untied" --ids 5,6 -n 3
gives '^\[' "$lattice" tokenize "$nano" "hello"
gives '"tokens":\["' "$lattice" tokenize "$nano" "hello" --json
gives 'can run' "$lattice" doctor "$nano"
gives '"runs":true' "$lattice" doctor "$golden/qwen35/moe-fused" --json
gives '^usage: lattice generate' "$lattice" generate --help
gives '--repetition-penalty R' "$lattice" help generate
gives '^lattice 0' "$lattice" --version
gives '^usage: lattice-gate parity compare' "$gate" parity compare --help

# the same text however it is given, and back
ids=$("$lattice" tokenize "$nano" "Grüße, 世界! don't" | tr -d '[]')
[ "$("$lattice" tokenize "$nano" --decode "$ids")" = "Grüße, 世界! don't" ] || die "decode(encode(x)) is not x"
[ "$(printf 'a b' | "$lattice" tokenize "$nano" -)" = "$("$lattice" tokenize "$nano" 'a b')" ] || die "standard input differs"
[ "$(printf '"a b"\n"\\u0000"\n' | "$lattice" tokenize "$nano" --jsonl | wc -l)" -eq 2 ] || die "--jsonl"

# a stop text is not printed, a seed decides, text streams the same as it is collected
"$lattice" generate "$nano" "Once upon a time" -n 60 --quiet >"$work/whole"
word=$(cut -d' ' -f6 "$work/whole" | head -n 1)
"$lattice" generate "$nano" "Once upon a time" -n 60 --stop "$word" --json >"$work/stopped"
grep -q '"finish_reason":"stop"' "$work/stopped" || die "the stop text was not found"
sed 's/.*"text":"\([^"]*\)".*/\1/' "$work/stopped" | grep -q -- "$word" && die "the stop text was printed"
sample() { "$lattice" generate "$nano" "The" -n 30 --temperature 1.2 --top-k 50 --top-p 0.95 --seed "$1" --quiet; }
[ "$(sample 7)" = "$(sample 7)" ] || die "one seed, two texts"
[ "$(sample 7)" != "$(sample 8)" ] || die "two seeds, one text"

# traces: byte-identical for threads and chunks; the file appears whole or not at all
trace() { "$lattice" trace "$nano" --ids-file "$golden/nano/ids.json" --layers -n 4 -o "$1" --threads "$2" --chunk "$3" 2>/dev/null; }
digest() { sed 's/"threads":"[0-9]*"//' "$1" | sha256sum; }
trace "$work/a" 1 512
for way in "2 1" "3 7" "2 64" "1 128"; do
    # shellcheck disable=SC2086
    trace "$work/b" $way
    [ "$(digest "$work/a")" = "$(digest "$work/b")" ] || die "other bytes with threads and chunk $way"
done
LATTICE_ISA=scalar "$lattice" trace "$nano" --ids 1,2,3,4,5,6,7,8,9 --layers -n 4 -o "$work/b" 2>/dev/null
"$lattice" trace "$nano" --ids 1,2,3,4,5,6,7,8,9 --layers -n 4 -o "$work/a" 2>/dev/null
[ "$(tail -c 100000 "$work/a" | sha256sum)" = "$(tail -c 100000 "$work/b" | sha256sum)" ] || die "scalar code has other bits"

# ---- what is refused
refuses 2 "unknown command" "$lattice" dance
refuses 2 "not a folder" "$lattice" generate /nonexistent x
refuses 2 "unknown option" "$lattice" generate "$nano" x --frobnicate
refuses 2 "needs a value" "$lattice" generate "$nano" x -n
refuses 2 "whole number" "$lattice" generate "$nano" x -n -3
refuses 2 "prompt is empty" "$lattice" generate "$nano" ""
refuses 2 "no prompt" "$lattice" generate "$nano"
refuses 2 "not both" "$lattice" generate "$nano" x --ids 1
refuses 2 "top_p" "$lattice" generate "$nano" x --top-p 1.5
refuses 2 "top_k" "$lattice" generate "$nano" x --top-k -5
refuses 2 "temperature" "$lattice" generate "$nano" x --temperature -1
refuses 2 "finite" "$lattice" generate "$nano" x --temperature 1e400
refuses 2 "repetition_penalty" "$lattice" generate "$nano" x --repetition-penalty 0
refuses 2 "outside the vocabulary" "$lattice" generate "$nano" --ids 4096
refuses 2 "list of whole numbers" "$lattice" generate "$nano" --ids 1,-1
refuses 2 "list of whole numbers" "$lattice" generate "$nano" --ids 1.5
refuses 2 "not UTF-8 at byte 1" "$lattice" generate "$nano" "$(printf 'a\377')"
refuses 2 "ids, --ctx is 3" "$lattice" generate "$nano" --ids 1,2,3,4 --ctx 3
refuses 2 "more than the model" "$lattice" generate "$nano" x --ctx 5000
refuses 2 "threads" "$lattice" generate "$nano" x --threads 100000
refuses 2 "stop text 1 is empty" "$lattice" generate "$nano" x --stop ""
refuses 2 "LATTICE_ISA" env LATTICE_ISA=mmx "$lattice" generate "$nano" x
refuses 2 "no tokenizer.json" "$lattice" generate "$golden/qwen35/untied" x
refuses 2 "no token of this tokenizer" "$lattice" tokenize "$nano" --decode 99999
refuses 2 "cannot write" sh -c "exec '$lattice' generate '$nano' x >/dev/full"
refuses 2 "give one of" "$lattice" trace "$nano" -o "$work/t"
refuses 2 "missing" "$lattice" trace "$nano" --ids 1
refuses 2 "cannot create" "$lattice" trace "$nano" --ids 1 -o /nonexistent/t
refuses 2 "cannot judge" "$gate" parity compare "$golden/nano/ref.safetensors" /nonexistent
refuses 2 "cannot judge" "$gate" parity compare "$work/a" "$work/a"

# a file that cannot be written whole leaves nothing behind
before=$(find "$work" | wc -l)
refuses 2 "cannot write" sh -c "ulimit -f 16; trap '' XFSZ; exec '$lattice' trace '$nano' --ids 1,2,3,4,5,6,7,8 --layers -o '$work/cut'"
[ "$(find "$work" | wc -l)" -eq "$before" ] || die "a cut file was left behind"

# ---- broken folders
broken() { rm -rf "$work/m"; cp -r "$golden/qwen35/dense-f32" "$work/m"; rm -f "$work/m/ref.safetensors"; }
broken && head -c 5000 "$golden/qwen35/dense-f32/model.safetensors" >"$work/m/model.safetensors"
refuses 2 "model.safetensors" "$lattice" generate "$work/m" --ids 1
broken && echo '{"model_type":"llama"}' >"$work/m/config.json"
refuses 2 "qwen3_5_moe" "$lattice" generate "$work/m" --ids 1
broken && sed -i 's/"hidden_size": 48/"hidden_size": 64/' "$work/m/config.json"
refuses 2 "embed_tokens.weight has shape \[128, 48\], the config asks for \[128, 64\]" "$lattice" generate "$work/m" --ids 1
broken && sed -i 's/"num_hidden_layers": 4/"num_hidden_layers": -4/' "$work/m/config.json"
refuses 2 "num_hidden_layers" "$lattice" generate "$work/m" --ids 1
broken && rm "$work/m/model.safetensors" && touch "$work/m/pytorch_model.bin"
refuses 2 "pickle" "$lattice" generate "$work/m" --ids 1
broken && rm "$work/m/config.json"
refuses 2 "config.json" "$lattice" generate "$work/m" --ids 1
# a NaN weight: doctor names it, a run stops at the first output that it reaches
broken && python_free_nan() { printf '\000\000\300\177' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
size=$(wc -c <"$work/m/model.safetensors")
python_free_nan "$work/m/model.safetensors" $((size - 4))
"$lattice" doctor "$work/m" >"$work/out" 2>&1 && die "doctor did not see the NaN"
grep -q 'problem: tensor .* is not finite' "$work/out" || die "doctor: $(cat "$work/out")"
refuses 2 "not finite" "$lattice" generate "$work/m" --ids 1,2,3 -n 4

# case ST-7: tied and untied heads
broken && sed -i 's/"tie_word_embeddings": true/"tie_word_embeddings": false/' "$work/m/config.json"
refuses 2 "lm_head.weight is missing" "$lattice" generate "$work/m" --ids 1
rm -rf "$work/m" && cp -r "$golden/qwen35/untied" "$work/m"
sed -i 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' "$work/m/config.json"
"$lattice" generate "$work/m" --ids 1 -n 1 >"$work/out" 2>"$work/err" || die "a tied config with a stored head must load"
grep -q "warning: lm_head.weight differs" "$work/err" || die "no warning about the stored head"

# Ctrl-C ends cleanly with what was produced
mkfifo "$work/pipe"
"$lattice" generate "$nano" "Once upon a time" --ignore-eos -n 4000 --json >"$work/cancelled" 2>/dev/null &
child=$!
sleep 0.2
kill -INT "$child" || die "the run ended too early to be interrupted"
code=0
wait "$child" || code=$?
[ "$code" -eq 3 ] || die "exit $code after Ctrl-C, wanted 3"
grep -q '"finish_reason":"cancelled"' "$work/cancelled" || die "no result after Ctrl-C"

echo "cli: $checks commands and more"
