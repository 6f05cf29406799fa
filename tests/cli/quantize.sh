#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# lattice quantize from outside: what it writes runs, what it refuses leaves nothing behind.
# usage: quantize.sh SOURCE BUILD
set -u
source=$1 build=$2
lattice=$build/bin/lattice
nano=$source/models/nano
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

check() { # NAME CONDITION...
    name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL: $name"
        cat "$work/err" 2>/dev/null
    fi
}
run() { "$lattice" "$@" >"$work/out" 2>"$work/err"; }
says() { run generate "$1" "The capital of France is" -n 4 --quiet && grep -q "Paris" "$work/out"; }
# refused TEXT ARGUMENTS...: exit 2, one line with the text, and no OUT nor anything of it.
refused() {
    text=$1
    shift
    run "$@"
    code=$?
    [ "$code" -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q -- "$text" "$work/err" && ! ls -d "$work"/new* >/dev/null 2>&1
}

for bits in 4 8; do
    check "quantises to $bits bits" run quantize "$nano" "$work/q$bits" --bits $bits
    check "$bits bits run" says "$work/q$bits"
    check "tokenizer is copied" cmp -s "$nano/tokenizer.json" "$work/q$bits/tokenizer.json"
done
check "4 bits a row" run quantize "$nano" "$work/qc" --bits 4 --group channel --search none --head-bits 4
check "they run" says "$work/qc"
check "rotated" run quantize "$nano" "$work/qr" --quarot --seed 18446744073709551615 --group 128
check "they run" says "$work/qr"
check "the seed is kept" grep -q '"quarot_rotation_seed": 18446744073709551615' "$work/qr/config.json"
check "folded norms are kept" test -s "$work/qr/quarot.safetensors"
check "head untied" grep -q '"tie_word_embeddings": false' "$work/qr/config.json"
check "head of 16 bits" run quantize "$nano" "$work/qh" --head-bits 16
check "stays tied" grep -q '"tie_word_embeddings": true' "$work/qh/config.json"
check "it runs" says "$work/qh"
check "same bytes for any threads" sh -c "'$lattice' quantize '$nano' '$work/qt' --threads 3 >/dev/null 2>&1 && cmp -s '$work/qt/model.safetensors' '$work/q4/model.safetensors'"
check "doctor is content" run doctor "$work/q4"
for model in moe-fused moe-experts odd-sizes untied sharded-bf16; do
    folder=$source/tests/golden/qwen35/$model
    check "$model" run quantize "$folder" "$work/t-$model" --bits 8 --group channel --quarot --seed 3
    check "$model runs" run generate "$work/t-$model" --ids 5,6,7 -n 3 --ignore-eos --quiet
done
# Experts whose columns are no whole groups stay, in one tensor: beside packed matrices that is what others read.
for model in moe-experts moe-fused; do
    folder=$source/tests/golden/qwen35/$model
    check "$model that does not fit" run quantize "$folder" "$work/e-$model" --bits 4 --group 32
    check "$model is named" grep -q "layers.0.mlp.experts.gate_up_proj: .* kept" "$work/err"
    check "$model is one tensor" grep -aq '"model.layers.3.mlp.experts.down_proj":' "$work/e-$model/model.safetensors"
    check "$model is no other" sh -c "! grep -aq 'experts.0.' '$work/e-$model/model.safetensors'"
    check "$model runs so" run generate "$work/e-$model" --ids 5,6,7 -n 8 --ignore-eos --quiet
done

check "dry run" run quantize "$nano" "$work/new" --dry-run
check "writes nothing" test ! -e "$work/new"
check "bits" refused "bits" quantize "$nano" "$work/new" --bits 5
check "bits without rotation" refused "rotation" quantize "$nano" "$work/new" --bits 16
check "group" refused "--group" quantize "$nano" "$work/new" --group 33
check "head bits" refused "head bits" quantize "$nano" "$work/new" --head-bits 2
check "search" refused "--search" quantize "$nano" "$work/new" --search best
check "quarot without seed" refused "--seed" quantize "$nano" "$work/new" --quarot
check "seed without quarot" refused "--quarot" quantize "$nano" "$work/new" --seed 1
check "quantised already" refused "already" quantize "$work/q4" "$work/new"
check "no such model" refused "not a folder" quantize "$work/none" "$work/new"
check "no such parent" refused "" quantize "$nano" "$work/none/new"
check "out exists" refused "exists already" quantize "$nano" "$work/q4"
check "with --force it is replaced" run quantize "$nano" "$work/q4" --bits 8 --force
check "and nothing is left beside it" sh -c "! ls -d '$work'/q4.* >/dev/null 2>&1"
check "the model itself is never replaced" refused "already" quantize "$work/q8" "$work/q8" --force
cp -r "$nano" "$work/self"
check "nor under another spelling" refused "is the model itself" quantize "$work/self" "$work/./self/" --force
check "and stays" cmp -s "$nano/model.safetensors" "$work/self/model.safetensors"
ln -s self "$work/link"
check "nor what a link points at" refused "not replaced" quantize "$nano" "$work/link" --force
check "and stays too" cmp -s "$nano/model.safetensors" "$work/self/model.safetensors"
check "rotated only" run quantize "$nano" "$work/r16" --quarot --seed 18446744073709551615 --bits 16
check "and quantised later" run quantize "$work/r16" "$work/r4" --bits 4
check "the seed keeps all its digits" grep -q '"quarot_rotation_seed": 18446744073709551615' "$work/r4/config.json"
check "folded norms come along" cmp -s "$work/r16/quarot.safetensors" "$work/r4/quarot.safetensors"
check "rotated already" refused "rotated already" quantize "$work/r16" "$work/new" --quarot --seed 1
mkdir "$work/precious" && echo data >"$work/precious/thesis"
check "no model is never replaced" refused "not replaced" quantize "$nano" "$work/precious" --force
check "and stays" test -s "$work/precious/thesis"
mkdir "$work/nan" && cp "$nano"/* "$work/nan/" 2>/dev/null
printf '\377\377' | dd of="$work/nan/model.safetensors" bs=1 seek=10000000 conv=notrunc 2>/dev/null
check "a weight that is not finite is named" refused "tensor .* element" quantize "$work/nan" "$work/new"
if [ "$(id -u)" -eq 0 ] && mkdir "$work/full" && mount -t tmpfs -o size=3m none "$work/full" 2>/dev/null; then
    run quantize "$nano" "$work/full/new"
    check "full disk" test $? -eq 2
    check "nothing is left" test -z "$(ls -A "$work/full")"
    umount "$work/full"
else
    echo "SKIPPED: no small file system could be mounted for the full disk"
fi
"$lattice" quantize "$nano" "$work/kill" --bits 4 --threads 1 >/dev/null 2>&1 &
child=$!
sleep 0.1
kill -9 "$child" 2>/dev/null
wait "$child" 2>/dev/null
check "a killed run leaves no OUT, or a whole one" sh -c "[ ! -e '$work/kill' ] || '$lattice' doctor '$work/kill' >/dev/null 2>&1"
check "and the next run succeeds" run quantize "$nano" "$work/kill" --force
check "and clears up" sh -c "! ls -d '$work'/kill.* >/dev/null 2>&1"

# Packed tensors that are damaged: each is refused with its name.
damage() {
    rm -rf "$work/bad" && cp -r "$work/q8" "$work/bad"
}
damage
sed -i 's/"pack-quantized"/"int-quantized"/' "$work/bad/config.json"
check "another format" sh -c "! '$lattice' generate '$work/bad' x 2>'$work/err' && grep -q 'format' '$work/err'"
damage
sed -i 's/"compressed-tensors"/"gptq"/' "$work/bad/config.json"
check "another method" sh -c "! '$lattice' generate '$work/bad' x 2>'$work/err' && grep -q 'quant_method' '$work/err'"
damage
head -c 5000000 "$work/q8/model.safetensors" >"$work/bad/model.safetensors"
check "cut short" sh -c "! '$lattice' generate '$work/bad' x 2>'$work/err' && [ -s '$work/err' ]"

echo "quantize: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
