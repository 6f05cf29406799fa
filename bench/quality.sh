#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# What quantisation costs: a Markdown table of perplexity and distance to the model as it is, on a text that it was not
# trained on. usage: quality.sh [MODEL [TEXT]]     (models/nano and its held-out text; needs build/default)
#
# Rows: bits x search x plain or QuaRot x group; the head has 8 bits. The distance of a row has two parts: of the weights
# (--compute exact) and, in the last columns, of how it runs by default, with activations of 8 bits.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
lattice=$root/build/default/bin/lattice model=${1:-$root/models/nano} text=${2:-$root/tests/golden/nano/heldout.txt}
[ -x "$lattice" ] || { echo "quality: no $lattice; run 'make' first" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# values FILE NAME...: the last number of each name, in one line.
values() {
    file=$1
    shift
    for name; do
        grep -o "\"$name\":[-0-9.e+]*" "$file" | tail -n 1 | cut -d: -f2
    done | tr '\n' ' '
}
# row NAME FOLDER SIZE
row() {
    "$lattice" ppl "$2" "$text" --ctx 512 --stride 384 --compute exact --against "$model" --against-compute exact --json >"$work/exact"
    "$lattice" ppl "$2" "$text" --ctx 512 --stride 384 --against "$model" --against-compute exact --json >"$work/default"
    first_ppl=$(grep -o '"ppl":[0-9.e+-]*' "$work/exact" | head -n 1 | cut -d: -f2)
    first_error=$(grep -o '"ppl_error":[0-9.e+-]*' "$work/exact" | head -n 1 | cut -d: -f2)
    printf '%s %s %s %s\n' "$first_ppl" "$first_error" \
        "$(values "$work/exact" ppl_ratio ppl_ratio_error kl_mean kl_mean_error kl_p999 kl_p999_low kl_p999_high same_top1 same_top1_error)" \
        "$(values "$work/default" ppl_ratio ppl_ratio_error kl_mean kl_mean_error)" \
        | awk -v name="$1" -v mb="$3" '{ printf "| %s | %s | %.4f +- %.4f | %.5f +- %.5f | %.2e +- %.0e | %.1e [%.1e, %.1e] | %.2f +- %.2f %% | %.5f +- %.5f | %.2e +- %.0e |\n",
            name, mb, $1, $2, $3, $4, $5, $6, $7, $8, $9, 100 * $10, 100 * $11, $12, $13, $14, $15 }'
}
size() { awk -v b="$(wc -c <"$1/model.safetensors")" 'BEGIN { printf "%.2f", b / 1e6 }'; }

echo "| weights | MB | perplexity | ratio (paired) | KL mean | KL 99.9 % | same top 1 | ratio, default | KL mean, default |"
echo "|---|---|---|---|---|---|---|---|---|"
row "as they are" "$model" "$(size "$model")"
for bits in 8 4; do
    for quarot in "" "--quarot --seed 1"; do
        for search in none mse; do
            for group in 32 64 128 channel; do
                name="$bits bits, $([ "$search" = mse ] && echo search || echo RTN)$([ -z "$quarot" ] || echo ", QuaRot"), group $group"
                rm -rf "$work/m"
                # shellcheck disable=SC2086
                if "$lattice" quantize "$model" "$work/m" --bits $bits --group $group --search $search $quarot --quiet >"$work/out" 2>"$work/err"; then
                    row "$name" "$work/m" "$(size "$work/m")"
                else
                    echo "| $name | SKIPPED: $(head -n 1 "$work/err") | | | | | | | |"
                fi
            done
        done
    done
done
