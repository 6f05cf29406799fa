#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# `lattice bench`: what it prints, counts, makes, leaves behind and refuses. usage: bench.sh SOURCE BUILD
set -eu
lattice=$2/bin/lattice nano=$1/models/nano golden=$1/tests/golden/qwen35 shapes=$1/bench/shapes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work/tmp"
mkdir "$TMPDIR"

die() { echo "FAILED: $*"; exit 1; }
value() { grep -o "\"$1\":[^,}]*" "$work/out" | cut -d: -f2; }
holds() { awk "BEGIN { exit !($1) }" || die "not so: $1 ($2)"; }
short="-p 8 -n 4 -r 2 --threads 2"
nothing_left() { [ -z "$(ls -A "$TMPDIR")" ] || die "left behind: $(ls "$TMPDIR") ($*)"; }

# ---- figures
# shellcheck disable=SC2086
"$lattice" bench "$nano" $short --json >"$work/out"
for name in prefill_tok_s decode_tok_s ttft_s bandwidth_share op_share; do
    holds "$(value ${name}_min) > 0 && $(value ${name}_min) <= $(value $name) && $(value $name) <= $(value ${name}_max)" "$name"
done
holds "$(value ttft_s) * $(value prefill_tok_s_max) > 7.9" "the first token comes after the prompt"
holds "$(value peak_rss_bytes) > 4e6 && $(value peak_rss_bytes) < 1e9" "without the buffer of the machine's measure"
holds "$(value read_buffer_bytes) >= 2^20 && $(value read_bytes_s) > 1e8 && $(value f32_ops_s) > 1e8" "ceilings"
[ "$(value threads)" = 2 ] && [ "$(value prompt) $(value decode) $(value repeats)" = "8 4 2" ] || die "$(cat "$work/out")"
[ "$(value isa)" != '""' ] && [ "$(value dtype)" = '"BF16"' ] || die "$(cat "$work/out")"
# nano is tied: each weight is read once a token
[ "$(value bytes_per_token)" = "$(value weight_bytes)" ] || die "bytes a token of a tied model"
near_share() { holds "($1) / ($2) > 0.999999 && ($1) / ($2) < 1.000001" "$3"; }
near_share "$(value decode_tok_s) * $(value bytes_per_token)" "$(value bandwidth_share) * $(value read_bytes_s)" "bandwidth_share"
near_share "$(value prefill_tok_s) * $(value ops_per_token)" "$(value op_share) * $(value f32_ops_s)" "op_share"
# untied: all but the embedding (128 rows of 48), of which a row; MoE: 3 experts of 6, each 3 matrices of 24 x 48, 4 layers, bf16
"$lattice" bench "$golden/untied" -p 2 -n 2 -r 1 --json >"$work/out"
[ "$(value bytes_per_token)" -eq $(($(value weight_bytes) - 127 * 48 * 2)) ] || die "bytes a token, untied: $(cat "$work/out")"
"$lattice" bench "$golden/moe-fused" -p 2 -n 2 -r 1 --json >"$work/out"
[ "$(value bytes_per_token)" -eq $(($(value weight_bytes) - 3 * 3 * 24 * 48 * 4 * 2)) ] || die "bytes a token, MoE: $(cat "$work/out")"
# CSV: as many values as names; text: a line each
"$lattice" bench "$nano" -p 4 -n 0 -r 1 --csv >"$work/out"
fields() { sed 's/"[^"]*"/quoted/g' | tr , '\n' | wc -l; }
[ "$(head -n 1 "$work/out" | fields)" -eq "$(tail -n 1 "$work/out" | fields)" ] || die "CSV: $(cat "$work/out")"
[ "$(wc -l <"$work/out")" -eq 2 ] || die "CSV has $(wc -l <"$work/out") lines"
"$lattice" bench "$nano" -p 4 -n 2 -r 1 >"$work/out"
grep -q '^prefill    4 .* tokens/s \[.*\], .* % of .* G operations/s (' "$work/out" || die "text: $(cat "$work/out")"

# ---- random weights: a seed gives the same bytes, another seed others; a model that runs, straight or as a folder
make() { "$lattice" bench --shape "$golden/$1/config.json" --bits "$2" --seed "$3" -o "$work/$4"; }
make dense-f32 16 1 a
make dense-f32 16 1 b
make dense-f32 16 2 c
cmp -s "$work/a/model.safetensors" "$work/b/model.safetensors" || die "one seed, other weights"
! cmp -s "$work/a/model.safetensors" "$work/c/model.safetensors" || die "two seeds, the same weights"
cmp -s "$work/a/config.json" "$golden/dense-f32/config.json" || die "16 bits change the config"
"$lattice" doctor "$work/a" >"$work/out" || die "doctor: $(cat "$work/out")"
"$lattice" generate "$work/a" --ids 1,2,3 -n 4 --quiet >"$work/out" || die "a random model does not run"
"$lattice" bench --shape "$golden/dense-f32/config.json" -p 4 -n 2 -r 1 --json >"$work/out"
nothing_left "after a run"
cp "$work/out" "$work/straight"
"$lattice" bench "$work/a" -p 4 -n 2 -r 1 --json >"$work/out"
[ "$(value weight_bytes)" = "$(grep -o '"weight_bytes":[0-9]*' "$work/straight" | cut -d: -f2)" ] || die "another model without -o"
# 8 and 4 bits: the layout's tensors and its config; a head of 16 bits stays tied
make odd-sizes 4 1 q4
make odd-sizes 8 1 q8
for file in q4 q8; do
    grep -q '"quantization_config":{"quant_method":"compressed-tensors","format":"pack-quantized"' "$work/$file/config.json" || die "$file config"
    ! grep -q '"tie_word_embeddings":true' "$work/$file/config.json" || die "$file: a head of 8 bits, and tied"
done
grep -q '"targets":\["re:^lm_head$"\],"weights":{"num_bits":8' "$work/q4/config.json" || die "q4: no group for the head"
"$lattice" bench --shape "$golden/odd-sizes/config.json" --bits 4 --head-bits 16 -o "$work/q4tied"
grep -q '"ignore":\[.*"lm_head"\]' "$work/q4tied/config.json" || die "a head of 16 bits is not ignored"
# nano's sizes are multiples of the group: 256 columns are 32 words and 8 scales a row; odd-sizes has matrices that stay whole
"$lattice" bench --shape "$nano/config.json" --bits 4 -o "$work/nano4"
header() { head -c 40000 "$work/$1/model.safetensors" | tr -d '\000' | grep -ao "\"$2\":{[^}]*}"; }
header nano4 model.language_model.layers.0.mlp.up_proj.weight_packed | grep -q '"dtype":"I32","shape":\[512,32\]' || die "codes"
header nano4 model.language_model.layers.0.mlp.up_proj.weight_scale | grep -q '"dtype":"BF16","shape":\[512,8\]' || die "scales"
header nano4 model.language_model.layers.0.mlp.up_proj.weight_shape | grep -q '"dtype":"I64","shape":\[2\]' || die "shape"
header nano4 lm_head.weight_packed | grep -q '"dtype":"I32","shape":\[4096,64\]' || die "a head of 8 bits"
header nano4 model.language_model.layers.0.linear_attn.in_proj_a.weight | grep -q '"dtype":"BF16"' || die "in_proj_a"
for size in 0.8b 2b 4b; do
    grep -q '"vocab_size": 248320' "$shapes/qwen35-$size.json" || die "shape $size"
done
# an empty folder is filled, another is not
mkdir "$work/empty"
make dense-f32 16 1 empty
[ -s "$work/empty/config.json" ] || die "an empty folder was not filled"

# ---- refusals: exit 2, one line, nothing made
refuses() {
    text=$1 code=0
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
    [ "$code" -eq 2 ] || die "exit $code: $* ($(cat "$work/err"))"
    grep -q -- "$text" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] || die "'$(cat "$work/err")' lacks '$text': $*"
    [ ! -s "$work/out" ] && [ ! -e "$work/new" ] || die "something was made in spite of a refusal: $*"
    nothing_left "$@"
}
dense=$golden/dense-f32/config.json
refuses "give one of MODEL and --shape" "$lattice" bench
refuses "give one of MODEL and --shape" "$lattice" bench "$nano" --shape "$dense"
refuses "go with --shape" "$lattice" bench "$nano" --bits 8
refuses "go with --shape" "$lattice" bench "$nano" -o "$work/new"
refuses "--bits: bits are 16, 8 or 4" "$lattice" bench --shape "$dense" --bits 5 -o "$work/new"
refuses "--head-bits: bits are 16, 8 or 4" "$lattice" bench --shape "$dense" --head-bits 7 -o "$work/new"
refuses "-p, -n" "$lattice" bench "$nano" -p 0
refuses "more than the model" "$lattice" bench "$nano" -p 5000
refuses "-r: 0 is outside" "$lattice" bench "$nano" -r 0
refuses "-r: 1001 is outside" "$lattice" bench "$nano" -r 1001
refuses "--json and --csv" "$lattice" bench "$nano" --json --csv
refuses "threads" "$lattice" bench "$nano" --threads 100000
refuses "threads" "$lattice" bench --shape "$dense" --threads 100000
refuses "no empty folder" "$lattice" bench --shape "$dense" -o "$work/a"
echo x >"$work/file"
refuses "no empty folder" "$lattice" bench --shape "$dense" -o "$work/file"
refuses "/nonexistent" "$lattice" bench --shape /nonexistent
refuses "/nonexistent" "$lattice" bench --shape "$dense" -o /nonexistent/x
refuses "dense shapes only" "$lattice" bench --shape "$golden/moe-fused/config.json" -o "$work/new"
refuses "is quantised itself" "$lattice" bench --shape "$work/q4/config.json" -o "$work/new"
echo '{' >"$work/broken.json"
refuses "broken.json" "$lattice" bench --shape "$work/broken.json" -o "$work/new"
: >"$work/none.json"
refuses "none.json" "$lattice" bench --shape "$work/none.json"
refuses "gone" env TMPDIR="$work/gone" "$lattice" bench --shape "$dense"
refuses "cannot write" sh -c "exec '$lattice' bench '$nano' -p 2 -n 1 -r 1 >/dev/full"
# a folder that cannot be written whole is not there
refuses "cannot write" sh -c "ulimit -f 64; trap '' XFSZ; exec '$lattice' bench --shape '$dense' -o '$work/new'"

# Ctrl-C while the weights are made, or while the model runs: nothing is left, exit 3
interrupted() { # WHEN COMMAND...
    when=$1
    shift
    "$@" >"$work/out" 2>"$work/err" &
    child=$!
    tries=0
    until $when; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || die "waited in vain: $*"
        sleep 0.05
    done
    kill -INT "$child" || die "the run ended too early: $*"
    code=0
    wait "$child" || code=$?
    [ "$code" -eq 3 ] || die "exit $code after Ctrl-C: $* ($(cat "$work/err"))"
    nothing_left "$@"
}
making() { [ -n "$(ls -A "$TMPDIR")" ]; }
catching() { grep -q '^SigCgt:.*[2367abef]$' "/proc/$child/status" 2>/dev/null; }
if [ "$(df -P "$TMPDIR" | awk 'NR == 2 { print $4 }')" -gt 12000000 ]; then
    interrupted making "$lattice" bench --shape "$shapes/qwen35-4b.json"
else
    echo "bench: SKIPPED Ctrl-C while weights are made: too little room in $TMPDIR"
fi
interrupted catching "$lattice" bench "$nano" -p 1000 -n 3000 -r 100
[ ! -s "$work/out" ] || die "figures of a run that was broken off"
echo "bench: figures, random models, refusals"
