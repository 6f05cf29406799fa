#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Shows that the parity leg can fail, and that it does not fail for nothing. Builds the engine with LATTICE_FAULTS=ON, plants
# one fault at a time in each of three models, and demands that `parity run` is red, with the code of the rung that must see
# it, and names the layer where it is. Then threads, chunks, instruction sets and 20 orders of summation must stay green.
set -eu
cd "$(dirname "$0")/../.."
build=build/faults
cmake -S . -B "$build" -G Ninja -DLATTICE_FAULTS=ON -DLATTICE_TESTS=OFF >/dev/null
cmake --build "$build" --target lattice lattice-gate >/dev/null
bin="$PWD/$build/bin"
gate="$bin/lattice-gate"
. tests/parity/leg.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
orders=20

# judge NAME FOLDER: runs the leg; sets `code`, `codes` (of findings) and `first` (wrong point).
judge() {
    code=0
    "$gate" parity run --policy "$2/gate.yaml" >"$2/run.txt" || code=$?
    codes=$(sed -n 's/^  [A-Z]* \([A-Z][0-9]*\) .*/\1/p' "$2/run.txt" | sort -u | tr '\n' ' ')
    first=$(sed -n 's/.*first wrong: //p' "$2/run.txt")
}

# fault MODEL NAME WANTED-CODE WANTED-POINT: the finding (CODE/CODE: one of two) and the layer ("-": a fault that is in none)
fault() {
    LATTICE_FAULT=$2 judge "$2" "$work/$1"
    verdict=caught
    [ "$code" -eq 1 ] || verdict="WRONG: exit $code, wanted 1"
    case " $codes" in *" ${3%/*} "* | *" ${3#*/} "*) ;; *) verdict="WRONG: codes $codes, wanted $3" ;; esac
    where=${first:-nothing}
    # An engine that gives up names the layer itself.
    [ -n "$first" ] || where=$(sed -n 's/.*the output of layer \([0-9]*\) .* is not finite.*/layers.\1/p' "$work/$1/run.txt" | head -n 1)
    case "${where:-nothing}" in
        "$4" | "$4".*) ;;
        *) [ "$4" = - ] && [ -z "$first" ] || verdict="WRONG: first wrong is ${where:-nothing}, wanted $4" ;;
    esac
    printf 'fault %-16s %-20s %-7s codes %-15s first wrong %-18s\n' "$1" "$2" "$verdict" "$codes" "${where:--}"
}

# benign MODEL WHAT: what the environment asks for must stay green
benign() {
    judge "$2" "$work/$1-benign"
    verdict=green
    [ "$code" -eq 0 ] || verdict="WRONG: exit $code: $(grep -m 1 FAIL "$work/$1-benign/run.txt")"
    printf 'benign %-15s %-20s %s\n' "$1" "$2" "$verdict"
}

# model NAME LINEAR FULL FIRST-LINEAR FIRST-FULL: layers that get a fault of their own, and the first of each kind
model() {
    write_leg "$bin" "$1" "$work/$1" "$decode"
    fault "$1" head_mapping P814 "layers.$4"
    fault "$1" plain_norm P814 layers.0
    fault "$1" no_l2_norm P814/P802 "layers.$4" # P802: the state grew until the engine gave up
    fault "$1" conv_state P813 "layers.$4"
    fault "$1" rope_interleaved P814 "layers.$5"
    fault "$1" plain_final_norm P814 norm
    fault "$1" repetition_penalty P811 -
    fault "$1" "attention_scale@$3" P814 "layers.$3"
    fault "$1" "norm_eps@$3" P814 "layers.$3"
    fault "$1" "kv_window@$3" P814 "layers.$3"
    fault "$1" "kv_mapping@$3" P814 "layers.$3"
    fault "$1" "no_output_gate@$3" P814 "layers.$3"
    fault "$1" "head_decode@$3" P813 "layers.$3"
    fault "$1" rope_theta P814 "layers.$5"
    fault "$1" rope_decode P813 "layers.$5"
    fault "$1" "no_dt_bias@$2" P814 "layers.$2"
    fault "$1" "plain_beta@$2" P814 "layers.$2"
    fault "$1" "gelu@$2" P814 "layers.$2"
    fault "$1" "ffn_row@$2" P814 "layers.$2"
    fault "$1" "bf16_residual@$2" P814 "layers.$2"
    write_leg "$bin" "$1" "$work/$1-benign" "$two_threads, $again, $decode, $chunks"
    benign "$1" "threads, chunks"
    for isa in scalar avx2 avx512 neon dotprod; do
        [ "$1 $isa" != "nano scalar" ] || continue # takes minutes; the tiny models show it
        LATTICE_ISA=$isa "$bin/lattice" trace models/nano --ids 1 -o "$work/$1/isa.safetensors" 2>/dev/null || continue
        write_leg "$bin" "$1" "$work/$1-benign" "{name: $isa, rung: P7, env: {LATTICE_ISA: $isa}, proof: {isa: $isa}}"
        benign "$1" "$isa"
    done
    write_leg "$bin" "$1" "$work/$1-benign" ""
    order=1
    while [ "$order" -le "$orders" ]; do
        LATTICE_REORDER=$order benign "$1" "order $order"
        order=$((order + 1))
    done
}

model nano 2 3 0 3 >"$work/nano.txt" &
pid=$!
model dense-f32 1 3 0 3 >"$work/dense-f32.txt"
model irregular-bias 1 2 1 0 >"$work/irregular-bias.txt"
wait "$pid"
cat "$work/nano.txt" "$work/dense-f32.txt" "$work/irregular-bias.txt" >"$work/all.txt"
cat "$work/all.txt"
planted=$(grep -c '^fault' "$work/all.txt")
caught=$(grep -c '^fault.* caught ' "$work/all.txt")
quiet=$(grep -c '^benign' "$work/all.txt")
green=$(grep -c '^benign.* green$' "$work/all.txt")
printf 'planted faults: %d of %d caught, with their layer; benign changes: %d of %d green\n' "$caught" "$planted" "$green" "$quiet"
[ "$planted" -eq 60 ] && [ "$caught" -eq "$planted" ] && [ "$quiet" -ge $((3 * (orders + 1))) ] && [ "$green" -eq "$quiet" ]
