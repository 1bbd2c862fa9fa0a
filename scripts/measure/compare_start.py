#!/usr/bin/env python3
"""Measures how much sooner the first token comes from a packed file than from its GGUF file.

    python3 scripts/measure/compare_start.py MODEL.gguf [--bin build/bin] [--threads 1] [--repetitions 9] [--json]

Packs the model into a temporary folder beside it and starts a program on both files in turns. Each is brought into the system's cache
before each start, so that the disk is left out: the packer leaves nothing there, and a system that needs memory, or its host, may have
taken pages since the last start. Nothing else should run meanwhile.
"""
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import check_programs, run  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

PROGRAMS = ("tessera_pack", "tessera_generate")


def first_token_seconds(folder, model, threads):
    answer = run([f"{folder}/tessera_generate", "--model", str(model), "--threads", str(threads), "--raw", "--prompt", "a",
                  "--n_predict", "1", "--temperature", "0", "--json"])
    return json.loads(answer)["timings"]["first_token_seconds"]


def bring_into_cache(path):
    with open(path, "rb") as file:
        while file.read(1 << 22):
            pass


def parse_flags(arguments=None):
    flags = flag_parser(__doc__)
    flags.add_argument("model", type=Path, metavar="MODEL.gguf")
    flags.add_argument("--bin", default=str(ROOT / "build/bin"))
    flags.add_argument("--threads", type=positive, default=1)
    flags.add_argument("--repetitions", type=positive, default=9)
    flags.add_argument("--json", action="store_true")
    flags = flags.parse_args(arguments)
    if not flags.model.is_file():
        sys.exit(f"failed: {flags.model}: found no file, expected a model")
    if not os.access(flags.model.parent, os.W_OK):
        sys.exit(f"failed: {flags.model.parent}: found a folder that cannot be written to, expected one for the packed model")
    check_programs(flags.bin, PROGRAMS)
    return flags


def main():
    flags = parse_flags()
    with tempfile.TemporaryDirectory(dir=flags.model.parent) as folder:
        files = {"gguf": flags.model, "packed": Path(folder, "model.tsr")}
        run([f"{flags.bin}/tessera_pack", str(flags.model), str(files["packed"])])
        seconds = {name: [] for name in files}
        for repetition in range(1 + flags.repetitions):
            for name, file in files.items():
                bring_into_cache(file)
                taken = first_token_seconds(flags.bin, file, flags.threads)
                if repetition > 0:  # The first run also brings the program into the cache.
                    seconds[name].append(taken)
    best, median = (of(seconds["gguf"]) / of(seconds["packed"]) for of in (min, statistics.median))
    if flags.json:
        print(json.dumps({"seconds": seconds, "ratio_of_best": best, "ratio_of_medians": median}))
    else:
        print(f"{'first token from':<18} {'best, s':>9} {'median, s':>10}")
        for name, samples in seconds.items():
            print(f"{name:<18} {min(samples):>9.3f} {statistics.median(samples):>10.3f}")
        print(f"{best:.2f} times as fast by the best, {median:.2f} by the medians")


if __name__ == "__main__":
    run_main(main)
