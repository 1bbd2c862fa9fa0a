"""Checks that tessera_bench's probes reach what this machine can do: plain loops (lib/roofline_loop.cc) run in alternation with them.

    python3 scripts/measure/compare_roofline.py [--bench build/bin/tessera_bench] [--threads 2] [--repetitions 7]

Fails if a median of ours is below 0.9 of theirs: a limit that is set too low makes every engine look good. Nothing else should run
meanwhile. x86-64 with AVX2 or AVX-512 VNNI.
"""
import json
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import run  # noqa: E402
from script_main import flag_parser, run_main  # noqa: E402

PEAKS = {"read": "read_bytes_per_second", "int8": "int8_operations_per_second", "fp32": "fp32_operations_per_second"}
LEAST = 0.9


def plain_peaks(program, threads):
    return json.loads(run([program, str(threads)]))


def our_peaks(bench, threads):
    """Any model is good enough: the probes do not depend on it."""
    roofline = json.loads(run([bench, "roofline", "--json", "--model", str(ROOT / "tests/golden/tiny/llama.gguf"), "--depth", "1",
                               "--prompt_tokens", "1", "--generate_tokens", "1", "--repetitions", "1",
                               "--threads", str(threads)]))["roofline"]
    return {peak: roofline[key]["median"] for peak, key in PEAKS.items()}


def too_low(ours, plain):
    """Names of the peaks whose median is too far below the plain loops'."""
    return [peak for peak in PEAKS if statistics.median(ours[peak]) < LEAST * statistics.median(plain[peak])]


def main():
    flags = flag_parser(__doc__)
    flags.add_argument("--bench", default=str(ROOT / "build/bin/tessera_bench"))
    flags.add_argument("--threads", type=int, default=2)
    flags.add_argument("--repetitions", type=int, default=7)
    flags = flags.parse_args()
    ours, plain = ({peak: [] for peak in PEAKS} for _ in range(2))
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/roofline_loop"
        run(["g++", "-std=c++20", "-O3", "-march=native", "-pthread", str(ROOT / "scripts/measure/lib/roofline_loop.cc"),
             "-o", program])
        for _ in range(flags.repetitions):
            for samples, rates in ((plain, plain_peaks(program, flags.threads)), (ours, our_peaks(flags.bench, flags.threads))):
                for peak, rate in rates.items():
                    samples[peak].append(rate)
    print(f"{'peak':<6} {'plain loop, G/s':>16} {'tessera, G/s':>14} {'ratio':>7}")
    for peak in PEAKS:
        a, b = statistics.median(plain[peak]) * 1e-9, statistics.median(ours[peak]) * 1e-9
        print(f"{peak:<6} {a:>16.1f} {b:>14.1f} {b / a:>7.2f}")
    if low := too_low(ours, plain):
        sys.exit(f"failed: {', '.join(low)}: expected at least {LEAST} of the plain loops'")


if __name__ == "__main__":
    run_main(main)
