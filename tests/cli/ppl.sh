#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# `lattice ppl` against what Hugging Face said in float64 (tools/reference/ppl.py), and what it refuses.
# usage: ppl.sh SOURCE BUILD
set -eu
source=$1 lattice=$2/bin/lattice nano=$1/models/nano golden=$1/tests/golden
frozen=$golden/nano/ppl.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

die() { echo "FAILED: $*"; exit 1; }
wanted() { sed -n "s/^ \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$frozen"; }
# got NAME [FILE]: the last number of that name in the program's JSON, or with `first` the first.
first() { grep -o "\"$1\":[-0-9.e+]*" "$work/out" | head -n 1 | cut -d: -f2; }
last() { grep -o "\"$1\":[-0-9.e+]*" "$work/out" | tail -n 1 | cut -d: -f2; }
# near NAME GOT WANTED TOLERANCE
near() {
    awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a != "" && b != "" && t + 0 > 0 && d <= t) }' \
        || die "$1 is $2, wanted $3 within $4"
}
# zero FOLDER TENSOR: sets a tensor of FOLDER/model.safetensors to zero.
zero() {
    length=$(od -An -t u8 -N 8 "$1/model.safetensors" | tr -d ' ')
    span=$(dd if="$1/model.safetensors" bs=1 skip=8 count="$length" 2>/dev/null | grep -o "\"$2\":{[^}]*}" \
        | sed 's/.*"data_offsets":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/')
    begin=${span% *} end=${span#* }
    [ "$end" -gt "$begin" ] || die "no tensor $2"
    dd if=/dev/zero of="$1/model.safetensors" bs=1024 seek=$((8 + length + begin)) count=$((end - begin)) conv=notrunc \
        iflag=count_bytes oflag=seek_bytes 2>/dev/null
}

# ---- values
head -c "$(wanted bytes)" "$golden/nano/heldout.txt" >"$work/text"
cp -r "$nano" "$work/zeroed"
zero "$work/zeroed" "$(wanted zeroed)"
"$lattice" ppl "$work/zeroed" "$work/text" --ctx "$(wanted ctx)" --stride "$(wanted stride)" --against "$nano" --json >"$work/out"
for name in tokens text_tokens ctx stride; do
    [ "$(first $name)" = "$(wanted $name)" ] || die "$name: $(first $name), wanted $(wanted $name)"
done
near nll "$(first nll)" "$(wanted nll)" "$(wanted nll_tolerance)"
near "reference's nll" "$(last nll)" "$(wanted reference_nll)" "$(wanted reference_nll_tolerance)"
near kl_mean "$(last kl_mean)" "$(wanted kl)" "$(wanted kl_tolerance)"
near kl_p999 "$(last kl_p999)" "$(wanted kl_p999)" "$(wanted kl_p999_tolerance)"
near same_top1 "$(last same_top1)" "$(wanted same_top1)" "$(wanted same_top1_tolerance)"
near nll_difference "$(last nll_difference)" "$(awk -v a="$(wanted nll)" -v b="$(wanted reference_nll)" 'BEGIN { printf "%.12f", a - b }')" \
    "$(wanted nll_tolerance)"
near ppl "$(first ppl)" "$(awk -v x="$(wanted nll)" 'BEGIN { printf "%.12f", exp(x) }')" 1e-5
near nll_error "$(first nll_error)" "$(wanted nll_error)" 1e-5
near "reference's nll_error" "$(last nll_error)" "$(wanted reference_nll_error)" 1e-5
near kl_mean_error "$(last kl_mean_error)" "$(wanted kl_error)" 1e-5
near nll_difference_error "$(last nll_difference_error)" "$(wanted nll_difference_error)" 1e-5
# the binomial error has n below its root where the sample's has n - 1
near same_top1_error "$(last same_top1_error)" "$(wanted same_top1_error)" 2e-5

# the same without a reference, for any threads, from standard input, and as text
whole=$(first nll)
for threads in 1 3; do
    "$lattice" ppl "$work/zeroed" - --ctx "$(wanted ctx)" --stride "$(wanted stride)" --threads $threads --json <"$work/text" >"$work/out"
    [ "$(first nll)" = "$whole" ] || die "another loss with $threads threads: $(first nll), not $whole"
    ! grep -q against "$work/out" || die "a comparison without a reference"
done
"$lattice" ppl "$nano" "$work/text" >"$work/out"
grep -q "^perplexity 1\.[0-9]* +- 0\.[0-9]* (0\.[0-9]* +- 0\.[0-9]* nats a token)\$" "$work/out" || die "text: $(cat "$work/out")"
# a folder against itself is at no distance; windows that do not overlap leave out one token each
head -c 3000 "$work/text" >"$work/short"
"$lattice" ppl "$nano" "$work/short" --ctx 100 --stride 100 --against "$nano" --json >"$work/out"
[ "$(last kl_mean) $(last kl_p999_high) $(last same_top1)" = "0 0 1" ] || die "a folder differs from itself: $(cat "$work/out")"
[ "$(first tokens)" -eq $(($(first text_tokens) - $(first windows))) ] || die "tokens scored: $(cat "$work/out")"
# two tokens are enough
printf 'the sea' >"$work/few"
"$lattice" ppl "$nano" "$work/few" --json >"$work/out"
[ "$(first tokens)" -ge 1 ] || die "two tokens: $(cat "$work/out")"

# ---- refusals
# refuses TEXT COMMAND...: exit 2, one line on stderr with TEXT, no data.
refuses() {
    text=$1 code=0
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
    [ "$code" -eq 2 ] || die "exit $code: $* ($(cat "$work/err"))"
    grep -q -- "$text" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] || die "'$(cat "$work/err")' lacks '$text': $*"
    [ ! -s "$work/out" ] || die "data in spite of a refusal: $*"
}
: >"$work/empty"
refuses "is empty" "$lattice" ppl "$nano" "$work/empty"
refuses "is empty" "$lattice" ppl "$nano" -
printf 'ab\300' >"$work/bad"
refuses "bad: .*not UTF-8 at byte 2" "$lattice" ppl "$nano" "$work/bad"
printf 'a' >"$work/one"
refuses "1 token only" "$lattice" ppl "$nano" "$work/one"
refuses "not found\|cannot open" "$lattice" ppl "$nano" /nonexistent
refuses "usage\|MODEL FILE" "$lattice" ppl "$nano"
refuses "--ctx: 5000 is more than the model's 4096" "$lattice" ppl "$nano" "$work/short" --ctx 5000
refuses "--ctx: a window of 1 " "$lattice" ppl "$nano" "$work/short" --ctx 1
refuses "--ctx: a window of 0 " "$lattice" ppl "$nano" "$work/short" --ctx 0
refuses "--stride: 65 is outside 1 to the window of 64" "$lattice" ppl "$nano" "$work/short" --ctx 64 --stride 65
refuses "--stride: 0 is outside" "$lattice" ppl "$nano" "$work/short" --stride 0
refuses "threads" "$lattice" ppl "$nano" "$work/short" --threads 100000
refuses "no tokenizer.json\|tokenizer.json" "$lattice" ppl "$golden/qwen35/untied" "$work/short"
refuses "--against: .* has a vocabulary of 128, .* one of 4096" "$lattice" ppl "$nano" "$work/short" --against "$golden/qwen35/untied"
refuses "/nonexistent" "$lattice" ppl "$nano" "$work/short" --against /nonexistent
# a tokenizer that splits otherwise is another vocabulary, too
rm -rf "$work/zeroed/tokenizer.json"
sed '/"merges": \[/,/\]/ { /"merges"/!d; }' "$nano/tokenizer.json" >"$work/zeroed/tokenizer.json" # its first merge is gone
cmp -s "$nano/tokenizer.json" "$work/zeroed/tokenizer.json" && die "the tokenizer was not changed"
refuses "reads the text as other tokens" "$lattice" ppl "$nano" "$work/short" --against "$work/zeroed"
refuses "cannot write" sh -c "exec '$lattice' ppl '$nano' '$work/few' >/dev/full"
echo "ppl: values and refusals"
