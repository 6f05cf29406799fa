#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# The programs from outside: what they print, what they refuse, what they leave behind. usage: cli.sh SOURCE BUILD [gate]
# Without the last word the build has no gate program.
set -eu
source=$1 build=$2
lattice=$build/bin/lattice gate=$build/bin/lattice-gate nano=$source/models/nano golden=$source/tests/golden
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0 has_gate=${3:-}

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
[ -z "$has_gate" ] || gives '^usage: lattice-gate parity compare' "$gate" parity compare --help
gives '^usage: lattice doctor' "$lattice" help doctor
gives '^  --threads N' "$lattice" trace --help
gives '^\.SS lattice tokenize' "$lattice" help --man
gives '^ Paris' sh -c "printf 'The capital of France is' | '$lattice' generate '$nano' - -n 8"
gives 'is Paris\.","finish_reason":"stop"' "$lattice" generate "$nano" --chat "What is the capital of France?" -n 8 --json

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
if [ -n "$has_gate" ]; then
    refuses 2 "cannot judge" "$gate" parity compare "$golden/nano/ref.safetensors" /nonexistent
    refuses 2 "cannot judge" "$gate" parity compare "$work/a" "$work/a"
fi

refuses 2 "top_k" "$lattice" generate "$nano" x --top-k -2
refuses 2 "whole number" "$lattice" generate "$nano" x --top-k 99999999999999999999
refuses 2 "top_p" "$lattice" generate "$nano" x --top-p -1
refuses 2 "top_p: 'nan' is not a finite number\|--top-p: 'nan' is not a finite number" "$lattice" generate "$nano" x --top-p nan
refuses 2 "min_p" "$lattice" generate "$nano" x --min-p 2
refuses 2 "finite" "$lattice" generate "$nano" x --presence-penalty inf
refuses 2 "whole number from 0" "$lattice" generate "$nano" x --seed -1
refuses 2 "list of whole numbers" "$lattice" generate "$nano" --ids 1,
refuses 2 "prompt is empty" "$lattice" generate "$nano" --ids ""
refuses 2 "prompt is empty" "$lattice" generate "$nano" -
refuses 2 "chat is about a text" "$lattice" generate "$nano" --ids 1 --chat
refuses 2 "not UTF-8 at byte 2" sh -c "printf 'ab\\300' | '$lattice' generate '$nano' -"
refuses 2 "a chunk of" "$lattice" generate "$nano" x --chunk 100000
refuses 2 "not a folder" "$lattice" generate "$nano/config.json" x
refuses 2 "give one of" "$lattice" tokenize "$nano" x --jsonl
refuses 2 "give one of" "$lattice" tokenize "$nano" x --decode 1
refuses 2 "line 1 of the input is not a JSON string" sh -c "echo 7 | '$lattice' tokenize '$nano' --jsonl"
refuses 2 "outside the vocabulary" "$lattice" trace "$nano" --ids 5000 -o "$work/t"
refuses 2 "give one of" "$lattice" trace "$nano" --ids 1 --text x -o "$work/t"
refuses 2 "more than the model" "$lattice" trace "$nano" --ids 1 -n 5000 -o "$work/t"
for file in '[]' '[[]]' '[[1],2]' '[1.5]' '[-1]' '{}' '[["1"]]' '[[1]' '[[4096]]'; do
    printf '%s' "$file" >"$work/bad.json"
    refuses 2 . "$lattice" trace "$nano" --ids-file "$work/bad.json" -o "$work/t"
done
refuses 2 "not found\|cannot open" "$lattice" trace "$nano" --ids-file /nonexistent -o "$work/t"
[ ! -e "$work/t" ] || die "a refused trace left a file"
for text in --help --version "help --man"; do
    # shellcheck disable=SC2086
    refuses 2 "cannot write" sh -c "exec '$lattice' $text >/dev/full"
done
refuses 2 "cannot write" sh -c "exec '$lattice' doctor '$nano' >/dev/full"
refuses 2 "cannot write" sh -c "exec '$lattice' tokenize '$nano' x >/dev/full"
refuses 2 "cannot write" sh -c "echo '\"x\"' | '$lattice' tokenize '$nano' --jsonl >/dev/full"

# an output takes the place of a file only: not of a pipe, a folder (nor a device: not tried, for what a fault would do)
mkfifo "$work/pipe"
mkdir "$work/folder"
refuses 2 "a device, pipe or socket" "$lattice" trace "$nano" --ids 1 -o "$work/pipe"
refuses 2 "a folder" "$lattice" trace "$nano" --ids 1 -o "$work/folder"
[ -p "$work/pipe" ] || die "a pipe was replaced"

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
# an empty line of --jsonl is an error of its line; what came before is there
code=0
printf '"a"\n\n"b"\n' | "$lattice" tokenize "$nano" --jsonl >"$work/out" 2>"$work/err" || code=$?
[ "$code" -eq 2 ] && [ "$(wc -l <"$work/out")" -eq 1 ] && grep -q "line 2" "$work/err" || die "an empty line: $(cat "$work/err")"

# doctor and generate agree about a broken tokenizer; a broken config does not hide broken weights
broken && echo '{' >"$work/m/tokenizer.json"
refuses 2 "tokenizer.json" "$lattice" generate "$work/m" --ids 1
"$lattice" doctor "$work/m" >"$work/out" && die "doctor: a broken tokenizer can run"
grep -q '^problem: .*tokenizer.json' "$work/out" || die "doctor: $(cat "$work/out")"
echo '{}' >"$work/m/config.json"
echo x >"$work/m/model.safetensors"
code=0
"$lattice" doctor "$work/m" --json >"$work/out" || code=$?
[ "$code" -eq 2 ] || die "doctor ends with $code"
for part in config.json model.safetensors tokenizer.json; do
    grep -q "\"fatal\":true,\"text\":\"[^\"]*$part" "$work/out" || die "doctor does not name $part: $(cat "$work/out")"
done
code=0
"$lattice" doctor /nonexistent >"$work/out" || code=$?
[ "$code" -eq 2 ] && grep -q "^problem: /nonexistent" "$work/out" || die "doctor of nothing"

# end-of-text ids: of config.json, of generation_config.json and of the tokenizer, together
broken
sed -i 's/"eos_token_id": *[^,]*,//' "$work/m/config.json"
rm -f "$work/m/generation_config.json"
ends() { "$lattice" generate "$work/m" --ids 1,2,3 -n 8 --json | grep -q "\"ids\":$1,.*\"finish_reason\":\"$2\"" || die "wanted $1, $2: $3"; }
all=$("$lattice" generate "$work/m" --ids 1,2,3 -n 8 --quiet)
third=$(echo "$all" | tr -d '[]' | cut -d, -f3)
ends "\\$all" length "no end id"
upto=$(echo "$all" | tr -d '[]' | tr ',' '\n' | awk -v x="$third" '{ printf "%s%s", s, $0; s = "," } $0 == x { exit }')
echo "{\"eos_token_id\": [100000, $third]}" >"$work/m/generation_config.json"
ends "\\[$upto\\]" stop "generation_config.json"
rm "$work/m/generation_config.json"
sed -i "s/^{/{\"eos_token_id\": $third,/" "$work/m/config.json"
ends "\\[$upto\\]" stop "config.json"
rm -rf "$work/m"
cp -r "$nano" "$work/m"
rm -f "$work/m/generation_config.json"
sed -i 's/"eos_token_id": *[^,]*,//' "$work/m/config.json"
"$lattice" generate "$work/m" "The capital of France is" -n 200 --json | grep -q '"finish_reason":"stop"' || die "the tokenizer's end id"
mv "$work/m/tokenizer_config.json" "$work/m/other"
"$lattice" generate "$work/m" "The capital of France is" -n 60 --json | grep -q '"finish_reason":"length"' || die "no end id, and yet an end"

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

# waits_for COMMAND...: until it succeeds, at most 30 seconds.
waits_for() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || die "waited in vain: $*"
        sleep 0.05
    done
}
# catches_interrupts PID: it is the program (and no longer the shell before it), and the second lowest bit of the signals
# that it catches, SIGINT, is set.
catches_interrupts() {
    [ "$(cat "/proc/$1/comm" 2>/dev/null)" = lattice ] && grep -q '^SigCgt:.*[2367abef]$' "/proc/$1/status" 2>/dev/null
}
interrupted() { # WHAT
    kill -INT "$child" || die "the run ended too early to be interrupted"
    code=0
    wait "$child" || code=$?
    [ "$code" -eq 3 ] || die "exit $code after Ctrl-C, wanted 3: $1"
}

# Ctrl-C ends cleanly with what was produced, as text and as JSON; a trace leaves nothing behind
"$lattice" generate "$nano" "Once upon a time" --ignore-eos -n 4000 >"$work/cancelled" 2>"$work/err" &
child=$!
waits_for test -s "$work/cancelled"
interrupted "text"
grep -q '; cancelled; ' "$work/err" || die "no figures after Ctrl-C: $(cat "$work/err")"
head -c 10 "$work/whole" | cmp -s - "$work/cancelled" -n 10 || die "not the text that was produced"
"$lattice" generate "$nano" "Once upon a time" --ignore-eos -n 4000 --json >"$work/cancelled" 2>"$work/err" &
child=$!
waits_for catches_interrupts "$child"
interrupted "JSON"
grep -q '"finish_reason":"cancelled"' "$work/cancelled" || die "no result after Ctrl-C"
before=$(find "$work" | wc -l)
"$lattice" trace "$nano" --text "Once upon a time" -n 4000 -o "$work/cut" 2>"$work/err" &
child=$!
waits_for catches_interrupts "$child"
interrupted "trace"
[ "$(find "$work" | wc -l)" -eq "$before" ] || die "an interrupted trace was left behind"

# a progress bar is drawn on a terminal and nowhere else
seq 1 3000 | tr '\n' ' ' | head -c 3000 >"$work/long"
"$lattice" generate "$nano" - -n 2 <"$work/long" >"$work/out" 2>"$work/err"
grep -q "$(printf '\r')" "$work/err" && die "a bar in a file"
if command -v script >/dev/null; then
    echo "exec '$lattice' generate '$nano' - -n 2 --threads 1 --chunk 4 <'$work/long' >'$work/terminal_out'" >"$work/terminal.sh"
    script -qec "sh $work/terminal.sh" /dev/null >"$work/terminal" </dev/null || die "the run on a terminal"
    grep -q '[#.]\] [0-9]* of [0-9]* tokens' "$work/terminal" || die "no bar on a terminal: $(cat "$work/terminal")"
    cmp -s "$work/out" "$work/terminal_out" || die "another text on a terminal"
else
    echo "cli: SKIPPED the progress bar: there is no script(1) to make a terminal"
fi

echo "cli: $checks commands and more"
