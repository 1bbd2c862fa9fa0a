#!/usr/bin/env python3
"""Measures how much sooner the first token comes from a packed file than from its GGUF file, or from one build than from another.

    python3 scripts/measure/compare_start.py MODEL.gguf [--bin build/bin] [--threads 1] [--repetitions 9] [--json]
    python3 scripts/measure/compare_start.py MODEL.gguf --before OTHER/bin --memory_budget 400MiB [--flash ufs3.1] [--words 24] ...

Packs the model into a temporary folder beside it and starts a program on both files in turns. Each is brought into the system's cache
before each start, so that the disk is left out: the packer leaves nothing there, and a system that needs memory, or its host, may have
taken pages since the last start. Nothing else should run meanwhile.

With --before the programs of both builds start in turns on the packed file under a budget, with so many words as prompt, and the time of
their first token is shown beside two formulas: pins / B + max(compute, rest / B) for the build before, and max(compute, (pins + rest) / B)
for the other. B is the speed of the flash, which the first start probes with this file (or that of --flash), and compute the time of the
prompt with all weights in memory. The first token's time has more: the start of the program itself, in both builds.
"""
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import PROMPT, check_programs, run  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

PROGRAMS = ("tessera_pack", "tessera_generate")


def first_token_seconds(folder, model, threads):
    answer = run([f"{folder}/tessera_generate", "--model", str(model), "--threads", str(threads), "--raw", "--prompt", "a",
                  "--n_predict", "1", "--temperature", "0", "--json"])
    return json.loads(answer)["timings"]["first_token_seconds"]


def timings(folder, model, flags, *more):
    """What a prompt and a first token take. The flash's speed is kept beside the model."""
    prompt = " ".join(PROMPT.split()[:flags.words])
    answer = run([f"{folder}/tessera_generate", "--model", str(model), "--threads", str(flags.threads), "--raw", "--prompt", prompt,
                  "--n_predict", "1", "--temperature", "0", "--speculate", "none", "--json", *more],
                 env={**os.environ, "TESSERA_CACHE": str(Path(model).parent)})
    return json.loads(answer)["timings"]


def compare_builds(flags, packed):
    streamed = ["--memory_budget", flags.memory_budget, *(["--flash", flags.flash] if flags.flash else [])]
    seconds = {"before": [], "after": []}
    compute, streaming = [], None
    for repetition in range(1 + flags.repetitions):
        for name, folder in (("before", flags.before), ("after", flags.bin)):
            taken = timings(folder, packed, flags, *streamed)
            streaming = taken["streaming"]
            if repetition > 0:  # The first start of a build also probes the flash.
                seconds[name].append(taken["first_token_seconds"])
        bring_into_cache(packed)
        compute.append(timings(flags.bin, packed, flags)["prompt_seconds"])
    speed, compute = streaming["flash_bytes_per_second"], statistics.median(compute)
    if not speed:
        sys.exit("failed: the flash: found no speed, as of a file that is too small to probe it with; expected one, or --flash")
    pins, rest = streaming["pinned_bytes"] / speed, streaming["streamed_bytes_per_pass"] / speed
    formulas = {"before": pins + max(compute, rest), "after": max(compute, pins + rest)}
    ratio = statistics.median(seconds["before"]) / statistics.median(seconds["after"])
    return {"seconds": seconds, "formulas": formulas, "compute_seconds": compute, "flash_bytes_per_second": speed,
            "pinned_bytes": streaming["pinned_bytes"], "streamed_bytes_per_pass": streaming["streamed_bytes_per_pass"],
            "ratio_of_medians": ratio, "of_formulas": ratio * formulas["after"] / formulas["before"]}


def show_builds(report):
    print(f"{'first token of':<18} {'best, s':>9} {'median, s':>10} {'formula, s':>11}")
    for name, samples in report["seconds"].items():
        print(f"{name:<18} {min(samples):>9.3f} {statistics.median(samples):>10.3f} {report['formulas'][name]:>11.3f}")
    print(f"{report['ratio_of_medians']:.2f} times as fast by the medians, {report['of_formulas']:.2f} of what the formulas say "
          f"(expected: 0.80 or more); prompt {report['compute_seconds']:.3f} s, pins {report['pinned_bytes'] / 1e6:.1f} MB, "
          f"rest {report['streamed_bytes_per_pass'] / 1e6:.1f} MB, flash {report['flash_bytes_per_second'] / 1e9:.2f} GB/s")


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
    flags.add_argument("--before", metavar="OTHER/bin")
    flags.add_argument("--memory_budget", metavar="SIZE")
    flags.add_argument("--flash", metavar="NAME")
    flags.add_argument("--words", type=positive, default=24)
    flags = flags.parse_args(arguments)
    if (flags.before is None) != (flags.memory_budget is None):
        sys.exit("failed: --before and --memory_budget: found one of them, expected both or none")
    if not flags.model.is_file():
        sys.exit(f"failed: {flags.model}: found no file, expected a model")
    if not os.access(flags.model.parent, os.W_OK):
        sys.exit(f"failed: {flags.model.parent}: found a folder that cannot be written to, expected one for the packed model")
    check_programs(flags.bin, PROGRAMS)
    if flags.before is not None:
        check_programs(flags.before, PROGRAMS[1:])
    return flags


def compare_files(flags, files):
    seconds = {name: [] for name in files}
    for repetition in range(1 + flags.repetitions):
        for name, file in files.items():
            bring_into_cache(file)
            taken = first_token_seconds(flags.bin, file, flags.threads)
            if repetition > 0:  # The first run also brings the program into the cache.
                seconds[name].append(taken)
    return seconds


def main():
    flags = parse_flags()
    with tempfile.TemporaryDirectory(dir=flags.model.parent) as folder:
        files = {"gguf": flags.model, "packed": Path(folder, "model.tsr")}
        run([f"{flags.bin}/tessera_pack", str(flags.model), str(files["packed"])])
        if flags.before is not None:
            report = compare_builds(flags, files["packed"])
            if flags.json:
                print(json.dumps(report))
            else:
                show_builds(report)
            return
        seconds = compare_files(flags, files)
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
