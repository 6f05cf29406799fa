#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The Lattice authors
"""Lattice beside llama.cpp and Hugging Face on one shape, in turns, in one run (`make bench-peers`).

usage: peers.py [--shape 0.8b|2b|4b] [--threads 2] [--rounds 5] [-p 512] [-n 64] [--work DIR] [--out DIR] [--only TEXT]

Each round runs every contestant once: a prompt of -p random ids, then -n tokens decoded after it (llama-bench: -d with as many).
The order turns by one from round to round. What cannot be built or run is left out, and the tables say so and why. Made and
kept in --work (build/peers): an environment for Hugging Face, llama.cpp, and the same random weights as folders and GGUF files.
Written to --out (WORK/out): samples.csv, ratios.csv, ratios.md, ratios.svg. Nothing of this is needed to build or run Lattice.
"""
import argparse
import csv
import json
import os
import selectors
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tools/reference")]
import llama_cpp
import live
import plot

LATTICE = os.path.join(ROOT, "build/default/bin/lattice")
GGUF_TYPES = {16: "BF16", 8: "Q8_0", 4: "Q4_0"}
QUIET = 0.06  # a sample counts as undisturbed while other programs take no more of the processors than this
METRICS = {"prefill_tok_s": "prefill", "decode_tok_s": "decode"}
# which peers a bit width of ours is held against
AGAINST = {"lattice bf16": ["llama.cpp BF16", "transformers bf16", "transformers f32"],
           "lattice bf16 fast": ["llama.cpp BF16", "transformers bf16"],
           "lattice 8 bits": ["llama.cpp Q8_0", "transformers bf16", "transformers f32"],
           "lattice 4 bits": ["llama.cpp Q4_0", "transformers bf16", "transformers f32"]}


class Skip(Exception):
    pass


def run(command, **options):
    """(standard output, CPU seconds, peak resident bytes) of a child; Skip with its last words when it fails."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as child:
        out, err = read_both(child)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        words = (err.strip() or out.strip() or "no words").splitlines()[-1]
        raise Skip(f"{os.path.basename(command[0])} ended with {child.returncode}: {words[:200]}")
    return out, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def read_both(child):
    parts = {child.stdout: [], child.stderr: []}
    with selectors.DefaultSelector() as selector:
        for pipe in parts:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                block = os.read(key.fd, 65536)
                if block:
                    parts[key.fileobj].append(block)
                else:
                    selector.unregister(key.fileobj)
    return tuple(b"".join(blocks).decode(errors="replace") for blocks in parts.values())


def busy_seconds():
    with open("/proc/stat") as f:
        fields = [int(x) for x in f.readline().split()[1:]]
    idle = fields[3] + fields[4]
    return (sum(fields[:8]) - idle) / os.sysconf("SC_CLK_TCK")


class Lattice:
    def __init__(self, args, folder, extra=()):
        self.command = [LATTICE, "bench", folder, "-p", str(args.prompt), "-n", str(args.decode), "-r", "1", "--threads",
                        str(args.threads), "--json", *extra]

    def once(self):
        out, cpu, _ = run(self.command)
        return json.loads(out), cpu


class LlamaCpp:
    def __init__(self, args, programs, model):
        common = [os.path.join(programs, "llama-bench"), "-m", model, "-t", str(args.threads), "-r", "1", "-o", "json"]
        self.commands = [[*common, "-p", str(args.prompt), "-n", "0"], [*common, "-p", "0", "-n", str(args.decode), "-d", str(args.prompt)]]

    def once(self):
        values, cpu, peak = [], 0, 0
        for command in self.commands:
            out, seconds, rss = run(command)
            values.append(json.loads(out)[0]["avg_ts"])
            cpu, peak = cpu + seconds, max(peak, rss)
        return {"prefill_tok_s": values[0], "decode_tok_s": values[1], "peak_rss_bytes": peak}, cpu


class Transformers:
    def __init__(self, args, interpreter, folder, dtype):
        self.args = args
        command = [interpreter, os.path.join(HERE, "hf_worker.py"), folder, dtype, *map(str, (args.threads, args.prompt, args.decode))]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if self.child.stdout.readline().strip() != "ready":
            raise Skip(f"hf_worker.py ended with {self.child.wait()}")

    def cpu(self):
        with open(f"/proc/{self.child.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def once(self):
        before = self.cpu()
        self.child.stdin.write("go\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise Skip(f"hf_worker.py ended with {self.child.wait()}")
        got = json.loads(line)
        return {"prefill_tok_s": self.args.prompt / got["prefill_s"], "decode_tok_s": self.args.decode / got["decode_s"],
                "peak_rss_bytes": got["peak_rss_bytes"]}, self.cpu() - before

    def close(self):
        self.child.stdin.close()
        self.child.wait()


def make_folder(args, bits):
    folder = os.path.join(args.work, f"qwen35-{args.shape}-{bits}")
    if not os.path.exists(os.path.join(folder, "config.json")):
        run([LATTICE, "bench", "--shape", os.path.join(ROOT, f"bench/shapes/qwen35-{args.shape}.json"), "--bits", str(bits), "-o", folder])
    return folder


def make_gguf(args, interpreter, programs, source, bits):
    whole = os.path.join(args.work, f"qwen35-{args.shape}-BF16.gguf")
    if not os.path.exists(whole):
        run([interpreter, os.path.join(HERE, "to_gguf.py"), source, make_folder(args, 16), whole + ".part"])
        os.replace(whole + ".part", whole)
    if bits == 16:
        return whole
    path = os.path.join(args.work, f"qwen35-{args.shape}-{GGUF_TYPES[bits]}.gguf")
    if not os.path.exists(path):
        run([os.path.join(programs, "llama-quantize"), whole, path + ".part", GGUF_TYPES[bits], str(args.threads)])
        os.replace(path + ".part", path)
    return path


def contestants(args, interpreter, skipped):
    """Name and maker of each; makers may Skip."""
    programs = source = None
    try:
        programs, source = llama_cpp.build(args.work, args.threads)
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        skipped["llama.cpp"] = f"could not be built: {error}"
    makers = {"lattice bf16": lambda: Lattice(args, make_folder(args, 16)),
              "lattice 8 bits": lambda: Lattice(args, make_folder(args, 8)),
              "lattice 4 bits": lambda: Lattice(args, make_folder(args, 4))}
    if "--compute" in subprocess.run([LATTICE, "bench", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout:
        makers["lattice bf16 fast"] = lambda: Lattice(args, make_folder(args, 16), ["--compute", "fast"])
    for bits, name in GGUF_TYPES.items():
        if programs:
            makers["llama.cpp " + name] = lambda bits=bits: LlamaCpp(args, programs, make_gguf(args, interpreter, programs, source, bits))
    for dtype in ("f32", "bf16"):
        makers["transformers " + dtype] = lambda dtype=dtype: Transformers(args, interpreter, make_folder(args, 16), dtype)
    return {name: make for name, make in makers.items() if not args.only or any(word in name for word in args.only.split(","))}


def measure(args, interpreter):
    """Samples as dicts, and what was left out."""
    skipped, samples, ready = {}, [], {}
    for name, make in contestants(args, interpreter, skipped).items():
        try:
            ready[name] = make()
            ready[name].once()  # does not count: the page cache, and whether it runs at all
        except Skip as reason:
            skipped[name] = str(reason)
            print(f"SKIPPED {name}: {reason}", flush=True)
            ready.pop(name, None)
    for turn in range(args.rounds):
        names = list(ready)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            busy, start = busy_seconds(), time.perf_counter()
            try:
                values, cpu = ready[name].once()
            except Skip as reason:
                skipped[name] = f"in round {turn + 1}: {reason}"
                del ready[name]
                continue
            elapsed = time.perf_counter() - start
            others = max(0.0, busy_seconds() - busy - cpu) / (os.cpu_count() * elapsed)
            samples.append({"round": turn + 1, "contestant": name, "others": others, **values})
            print(f"round {turn + 1}  {name:18} prefill {values['prefill_tok_s']:8.1f}  decode {values['decode_tok_s']:7.2f}  "
                  f"others {100 * others:.1f} %", flush=True)
    for contestant in ready.values():
        if hasattr(contestant, "close"):
            contestant.close()
    return samples, skipped


def spread(samples, name, key):
    values = [s[key] for s in samples if s["contestant"] == name and s.get(key) is not None]
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)} if values else None


def ratios(samples):
    """One row a metric, ours and peer. The range is that of the rounds' own ratios."""
    rows = []
    by_round = {(s["contestant"], s["round"]): s for s in samples}
    for ours, peers in AGAINST.items():
        for key, metric in METRICS.items():
            for peer in peers:
                a, b = spread(samples, ours, key), spread(samples, peer, key)
                if not a or not b:
                    continue
                pairs = [by_round[ours, r][key] / by_round[peer, r][key] for r in {s["round"] for s in samples}
                         if (ours, r) in by_round and (peer, r) in by_round]
                rows.append({"metric": metric, "ours": ours, "tok_s": a["median"], "peer": peer, "peer_tok_s": b["median"],
                             "ratio": a["median"] / b["median"], "ratio_min": min(pairs), "ratio_max": max(pairs)})
    return rows


def write_csv(path, rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, names)
        writer.writeheader()
        writer.writerows(rows)


def cell(s, digits=1):
    return f"{s['median']:.{digits}f} [{s['min']:.{digits}f} - {s['max']:.{digits}f}]" if s else "-"


def markdown(args, samples, skipped, rows):
    names = list(dict.fromkeys(s["contestant"] for s in samples))
    out = [f"Qwen3.5-{args.shape.upper()} shape, random weights, {args.threads} threads, prompt of {args.prompt}, then {args.decode} tokens; "
           f"medians of {args.rounds} interleaved rounds [min - max]. \"Others\" is the largest share of the processors that other "
           "programs took in a round.", "", "| engine | prefill tok/s | decode tok/s | peak RSS, MB | of the read ceiling | others |",
           "|---|---|---|---|---|---|"]
    for name in names:
        memory, others = spread(samples, name, "peak_rss_bytes"), spread(samples, name, "others")
        share = spread(samples, name, "bandwidth_share")
        out.append(f"| {name} | {cell(spread(samples, name, 'prefill_tok_s'))} | {cell(spread(samples, name, 'decode_tok_s'))} | "
                   f"{memory['median'] / 1e6:.0f} | {'%.0f %%' % (100 * share['median']) if share else '-'} | {100 * others['max']:.0f} % |")
    loud = sum(s["others"] > QUIET for s in samples)
    if loud:
        out += ["", f"**{loud} of {len(samples)} samples are disturbed**: other programs took more than {100 * QUIET:.0f} % of the processors."]
    out += ["", "| | Lattice | tok/s | peer | tok/s | ratio [of a round: min - max] |", "|---|---|---|---|---|---|"]
    out += [f"| {r['metric']} | {r['ours']} | {r['tok_s']:.1f} | {r['peer']} | {r['peer_tok_s']:.1f} | "
            f"**{r['ratio']:.2f}** [{r['ratio_min']:.2f} - {r['ratio_max']:.2f}] |" for r in rows]
    ceilings = [s for s in samples if "read_bytes_s" in s]
    if ceilings:
        best = {k: max(s[k] for s in ceilings) for k in ("read_bytes_s", "f32_ops_s", "int8_ops_s", "tile_ops_s")}
        out += ["", f"Ceilings of this machine, the best of the run: read {best['read_bytes_s'] / 1e9:.1f} GB/s, f32 {best['f32_ops_s'] / 1e9:.0f}, "
                f"int8 {best['int8_ops_s'] / 1e9:.0f}, tiles {best['tile_ops_s'] / 1e9:.0f} G operations/s."]
    out += ["", *(f"SKIPPED {name}: {reason}" for name, reason in skipped.items())]
    return "\n".join(out).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=["0.8b", "2b", "4b"], default="0.8b")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count()))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("-p", dest="prompt", type=int, default=512)
    parser.add_argument("-n", dest="decode", type=int, default=64)
    parser.add_argument("--work", default=os.path.join(ROOT, "build/peers"))
    parser.add_argument("--out")
    parser.add_argument("--only", metavar="TEXT,TEXT", help="contestants whose names hold one of these")
    args = parser.parse_args()
    interpreter = live.python()
    out = args.out or os.path.join(args.work, "out")
    os.makedirs(args.work, exist_ok=True)
    os.makedirs(out, exist_ok=True)
    samples, skipped = measure(args, interpreter)
    if not samples:
        sys.exit("nothing could be run")
    rows = ratios(samples)
    write_csv(os.path.join(out, "samples.csv"), samples)
    write_csv(os.path.join(out, "ratios.csv"), rows or [{"metric": "", "ratio": ""}])
    text = markdown(args, samples, skipped, rows)
    with open(os.path.join(out, "ratios.md"), "w") as f:
        f.write(text)
    groups = [(label, [(name, spread(samples, name, key)) for name in dict.fromkeys(s["contestant"] for s in samples)])
              for key, label in (("prefill_tok_s", f"prefill of {args.prompt}, tokens/s"), ("decode_tok_s", f"decode of {args.decode}, tokens/s"))]
    with open(os.path.join(out, "ratios.svg"), "w") as f:
        f.write(plot.bars(f"Qwen3.5-{args.shape.upper()} shape, {args.threads} threads", groups))
    print(text)


if __name__ == "__main__":
    main()
