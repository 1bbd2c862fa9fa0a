#!/usr/bin/env python3
"""Times the products of each block format in two builds of Tessera, in turns, to show that a change of the kernels has slowed nothing.

    python3 scripts/measure/compare_products.py BEFORE/bin AFTER/bin [--kernels avx512,avx2,portable] [--pairs 7] [--json]

Each pair runs `tessera_bench products` of both builds one after the other, the first of the two in turns. A ratio is speed after / speed
before of one pair: above 1 is faster. Each line is a format and a kind of rows (8 or 16 bits): the median of the ratios for each number of
rows, and the median over all rows and pairs. Nothing else should run meanwhile.
"""
import json
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import check_programs, run  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402


def speeds(folder, kernels):
    """Returns operations per second by (format, bits of the rows, rows)."""
    report = json.loads(run([f"{folder}/tessera_bench", "products", "--kernels", kernels, "--repetitions", "3", "--json"]))
    return {(product["format"], 16 if product["fine"] else 8, point["rows"]): point["operations_per_second"]
            for product in report["products"] for point in product["rows"]}


def compare(flags, kernels):
    """Returns a list of ratios, a pair each, by (format, bits, rows)."""
    ratios = {}
    for pair in range(flags.pairs):
        folders = (flags.before, flags.after) if pair % 2 else (flags.after, flags.before)
        taken = {folder: speeds(folder, kernels) for folder in folders}
        for key, speed in taken[flags.after].items():
            ratios.setdefault(key, []).append(speed / taken[flags.before][key])
    return ratios


def lines_of(kernels, ratios):
    """Returns a dictionary per format and kind of rows."""
    lines = []
    for name, bits in dict.fromkeys(key[:2] for key in ratios):
        own = {key[2]: values for key, values in ratios.items() if key[:2] == (name, bits)}
        lines.append({"kernels": kernels, "format": name, "bits": bits,
                      "rows": {rows: statistics.median(values) for rows, values in own.items()},
                      "ratio": statistics.median(value for values in own.values() for value in values)})
    return lines


def parse_flags():
    flags = flag_parser(__doc__)
    flags.add_argument("before", metavar="BEFORE/bin")
    flags.add_argument("after", metavar="AFTER/bin")
    flags.add_argument("--kernels", default="avx512,avx2,portable")
    flags.add_argument("--pairs", type=positive, default=7)
    flags.add_argument("--json", action="store_true")
    flags = flags.parse_args()
    for folder in (flags.before, flags.after):
        check_programs(folder, ("tessera_bench",))
    return flags


def main():
    flags = parse_flags()
    lines = []
    for kernels in flags.kernels.split(","):
        lines += lines_of(kernels, compare(flags, kernels))
    if flags.json:
        print(json.dumps({"pairs": flags.pairs, "products": lines}))
        return
    counts = list(lines[0]["rows"])
    print(f"{'kernels':<9} {'format':<9} {'bits':>4} " + " ".join(f"{rows:>5}" for rows in counts) + "   all")
    for line in lines:
        print(f"{line['kernels']:<9} {line['format']:<9} {line['bits']:>4} " + " ".join(f"{line['rows'][rows]:5.2f}" for rows in counts)
              + f"  {line['ratio']:.2f}")
    least = min(lines, key=lambda line: line["ratio"])
    print(f"least: {least['kernels']} {least['format']}, rows of {least['bits']} bits, {least['ratio']:.3f}")


if __name__ == "__main__":
    run_main(main)
