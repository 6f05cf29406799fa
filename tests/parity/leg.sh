# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
#
# For faults.sh and states.sh: write_leg BIN MODEL FOLDER VARIANTS writes FOLDER/gate.yaml with one parity leg, and its lock.
two_threads='{name: two threads, rung: P7, threads: 2}'
again='{name: again, rung: P7}'
decode='{name: decode, rung: P3, chunk: 1}'
chunks='{name: chunk 7, rung: P3, chunk: 7}, {name: chunk 64, rung: P3, chunk: 64}'

write_leg() {
    golden="$PWD/tests/golden"
    case $2 in
        nano) reference="nano: {file: $golden/nano/ref.safetensors, model: $PWD/models/nano, ids: $golden/nano/ids.json, \
texts: $PWD/tools/reference/nano_prompts.json, operators: $golden/operators/nano.safetensors}" ;;
        *) reference="$2: {file: $golden/qwen35/$2/ref.safetensors, model: $golden/qwen35/$2, ids: $golden/qwen35/$2/ids.json, \
operators: $golden/operators/$2.safetensors, rms_ratio: 2}" ;;
    esac
    mkdir -p "$3"
    sed "s|@BIN@|$1|g; s|@VARIANTS@|$4|; s|@REFERENCES@|$reference|" tests/parity/gate.yaml.in >"$3/gate.yaml"
    code=0
    "$gate" parity freeze --policy "$3/gate.yaml" >"$3/freeze.txt" || code=$?
    [ "$code" -eq 3 ] || { cat "$3/freeze.txt"; echo "freeze: exit $code, wanted 3"; return 1; }
}
