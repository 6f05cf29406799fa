#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# Everything that can go wrong around a parity leg, one at a time: each must give its code and exit status, none green.
# usage: states.sh SOURCE BUILD
set -eu
cd "$1"
bin="$2/bin"
gate="$bin/lattice-gate"
. tests/parity/leg.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
m=dense-f32

# fresh: a leg over copies of everything, frozen and green to begin with
fresh() {
    rm -rf "$work/leg" "$work/model"
    cp -r "tests/golden/qwen35/$m" "$work/model"
    write_leg "$bin" "$m" "$work/leg" "$decode"
    mv "$work/model/ref.safetensors" "$work/ref.safetensors"
    mv "$work/model/ids.json" "$work/ids.json"
    cp "tests/golden/operators/$m.safetensors" "$work/operators.safetensors"
    chmod u+w "$work"/*.safetensors "$work/model"/*
    sed -i "s|file: [^,]*|file: $work/ref.safetensors|; s|model: [^,]*, ids: [^,]*|model: $work/model, ids: $work/ids.json|; \
s|operators: /[^,]*|operators: $work/operators.safetensors|" "$work/leg/gate.yaml"
}

# expect STATUS CODE TEXT WHAT [COMMAND]
expect() {
    code=0
    "$gate" parity "${5:-run}" --policy "$work/leg/gate.yaml" >"$work/out.txt" 2>&1 || code=$?
    count=$((count + 1))
    if [ "$code" -ne "$1" ] || ! grep -q -- "$2" "$work/out.txt" || ! grep -q -- "$3" "$work/out.txt"; then
        cat "$work/out.txt"
        echo "FAILED: $4: exit $code, wanted $1 with $2 and '$3'"
        exit 1
    fi
    printf '%-34s exit %s %s\n' "$4" "$code" "$2"
}

# engine SCRIPT: a program in place of the engine that gets lattice's arguments as "$@"; $real runs lattice
engine() {
    cat >"$work/engine.sh" <<END
real() { "$bin/lattice" "\$@"; }
out=
for a in "\$@"; do [ "\$last" != -o ] || out=\$a; last=\$a; done
$1
END
    sed -i "s|engine: \[\"[^\"]*\", trace|engine: [sh, \"$work/engine.sh\", trace|" "$work/leg/gate.yaml"
}

# byte FILE OFFSET: that byte becomes another one
byte() {
    old=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    printf "\\$(printf %o $(((old + 1) % 256)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# offset FILE TENSOR: where the tensor's bytes begin
offset() {
    header=$(od -An -tu8 -N 8 "$1" | tr -d ' ')
    at=$(head -c $((8 + header)) "$1" | tail -c "$header" | sed 's/.*"'"$2"'":{[^}]*"data_offsets":\[\([0-9]*\),.*/\1/')
    echo $((8 + header + at))
}

fresh; expect 0 PASS "P0:ok P1:ok P2:ok P3:ok P4:ok P6:ok P8:ok" "nothing wrong"
cp "$work/leg/gate.yaml" "$work/good.yaml"

fresh; byte "$work/ref.safetensors" 100000; expect 2 P801 "another file than was agreed" "reference edited by one byte"
fresh; byte "$work/operators.safetensors" 50000; expect 2 P801 "operator reference is another file" "operators edited by one byte"
fresh; rm "$work/leg/parity.lock.yaml"; expect 3 P801 "unarmed" "no digest: unarmed"
fresh; rm "$work/ref.safetensors"; expect 2 P801 "cannot be read" "no reference"
fresh; : >"$work/ref.safetensors"; expect 2 P801 "another file" "empty reference"
fresh; sed -i 's/^\[\[[0-9]*/[[99/' "$work/ids.json"; expect 2 P801 "prompt 0 has other ids" "prompts of another run"
fresh; byte "$work/model/model.safetensors" 200000; expect 2 P807 "stale" "model changed: stale reference"
fresh; : >"$work/model/pytorch_model.bin"; expect 2 P807 "pickled" "pickle in the model's folder"
fresh; rm -r "$work/model"; expect 2 P807 "no model folder" "no model"
fresh; sed -i 's/threads: 1/threads: 1\n    limits: {floor_max: 0.000000001}/' "$work/leg/gate.yaml"; expect 2 P804 "too noisy" "floor above its ceiling"

fresh; engine 'exit 0'; expect 1 P802 "exit status 0 and wrote nothing" "engine exits 0 without output"
fresh; engine 'kill -SEGV $$'; expect 1 P802 "signal 11" "engine crashes"
fresh; engine 'echo no weights >&2; exit 7'; expect 1 P802 "exit status 7; last it said: no weights" "engine gives up"
fresh; sed -i 's/min: 200/min: 200\n    budget: 1s/' "$work/leg/gate.yaml"; engine 'sleep 60'; expect 1 P802 "over its time" "engine hangs"
fresh; engine 'real "$@" && head -c 20000 "$out" >"$out.cut" && mv "$out.cut" "$out"'; expect 1 P802 "cannot be read" "output cut short"
fresh; engine 'for a in "$@"; do case $a in *.ids.json) sed -i "s/^\[\[[0-9]*/[[99/" "$a";; esac; done; real "$@"'
expect 1 P802 "other input_ids" "another prompt than was asked for"
fresh; engine "real \"\$@\"; cp -n \"\$out\" $work/kept.safetensors"; expect 0 PASS PASS "an engine that keeps its output"
fresh; engine "cp $work/kept.safetensors \"\$out\""; expect 1 P802 "drawn at random" "engine prints old tokens"
fresh; sed -i 's/"@/"/; s|engine: \["[^"]*/lattice"|engine: ["'"$work"'/nothing"|' "$work/leg/gate.yaml"; expect 2 E301 "nothing" "no engine"
at=$(offset "$work/kept.safetensors" p2.logits)
fresh; engine "real \"\$@\" && printf '\\377\\377\\377\\177' | dd of=\"\$out\" bs=1 seek=$at conv=notrunc 2>/dev/null"
expect 1 P803 "p2.logits of the trace is not finite" "NaN in the logits"
fresh; sed -i 's/isa: \[/isa: [none] #/' "$work/leg/gate.yaml"; sed -i 's/proof: .*/proof: {isa: [none]}/' "$work/leg/gate.yaml"
expect 1 P805 "does not prove its path" "another path than was claimed"
fresh; sed -i 's/proof: .*/counters: [kernel_calls]/' "$work/leg/gate.yaml"; expect 1 P805 "kernel_calls is not said" "path counter missing"

# tokens LINES: a tokenizer that answers so, for four texts
tokens() {
    printf '["a","b","c","d"]' >"$work/texts.json"
    sed -i "s|tokenizer: .*|tokenizer: [cat, $1]|; s|, operators: /|, texts: $work/texts.json, operators: /|" "$work/leg/gate.yaml"
}
sed 's/^\[\[/[/; s/\],\[/]\n[/g; s/\]\]$/]/' "$work/ids.json" >"$work/tokens.txt"
sed '3s/^\[[0-9]*/[99/' "$work/tokens.txt" >"$work/wrong.txt"
fresh; tokens "$work/tokens.txt"; expect 0 PASS "P0:ok" "tokenizer agrees"
fresh; tokens "$work/wrong.txt"; expect 1 P810 "1 of 4 texts; first prompt p2" "tokenizer differs"

# flip WHEN: one bit of the last logits changes in runs whose arguments match
at=$(offset "$work/kept.safetensors" p3.logits)
flip() { engine "real \"\$@\"; case \" \$* \" in $1) printf '\\001' | dd of=\"\$out\" bs=1 seek=$at conv=notrunc 2>/dev/null;; esac"; }
fresh; sed -i "s|variants: .*|variants: [$again]|" "$work/leg/gate.yaml"; flip '*variant-0*'
expect 1 P817 "p3.logits, position 0" "the same run gives other bits"
fresh; flip '*variant-0*'; expect 1 P813 "p3.logits, position 0" "decode gives other bits"
fast='{name: fast, rung: P5, kl_max: 0.000001, top1_min: 0.99, chunk: 1}'
fresh; sed -i "s|variants: .*|variants: [$fast]|" "$work/leg/gate.yaml"; flip '*variant-0*'; expect 0 PASS "P5:ok" "a fast type that is near"
fresh; sed -i "s|variants: .*|variants: [$fast]|" "$work/leg/gate.yaml"
engine "real \"\$@\"; case \"\$*\" in *variant-0*) printf '\\001\\001\\001\\105' | dd of=\"\$out\" bs=1 seek=$at conv=notrunc 2>/dev/null;; esac"
expect 1 P815 "too far from the first run" "a fast type that is too far"

fresh; sed -i "s|threads: 1|threads: 1\n    live: [cp, $work/ref.safetensors, \"{out}\"]|" "$work/leg/gate.yaml"
expect 0 agrees "0 floors apart" "live reference agrees" live
cp "$work/ref.safetensors" "$work/moved.safetensors"
byte "$work/moved.safetensors" $(($(offset "$work/moved.safetensors" p1.truth) + 3))
sed -i "s|live: \[cp, [^,]*|live: [cp, $work/moved.safetensors|" "$work/leg/gate.yaml"
expect 2 P806 "the truth has moved" "live reference disagrees" live
sed -i 's|live: .*|live: ["false"]|' "$work/leg/gate.yaml"; expect 2 P806 "exit status 1" "live reference cannot be made" live
fresh; expect 3 frozen "Not measured" "freeze is never green" freeze
fresh; rm "$work/ref.safetensors"; expect 2 P801 "nothing was frozen" "freeze without a reference" freeze
fresh; sed -i 's/    threads: 1/    treads: 1/' "$work/leg/gate.yaml"; expect 2 treads "gate.yaml:" "unknown key"
fresh; sed -i 's/    threads: 1/    rungs: [P2, P5]/' "$work/leg/gate.yaml"; expect 2 "without evidence" "gate.yaml:" "a rung without evidence"
printf 'parity states: %d as they must be\n' "$count"
