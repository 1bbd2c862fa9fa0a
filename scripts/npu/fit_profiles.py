#!/usr/bin/python3
"""Fits the parameters of npu/profiles that are marked `fitted` to published primitive figures, and says how well they can be met.

    scripts/npu/fit_profiles.py [--build-dir build] [--write] [--json]

The figures are those of notes that no prediction is judged by: the first two tables of one-for-all and its times of loading, and vendors'
own measurements of single graphs (Qualcomm AI Hub, context 4096), in apps/lab/papers/npu/calibration.jsonl, which tessera_reproduce npu
reads too. Each asks tessera_inspect --device one question; the parameters are moved until the sum of squares of
log(predicted / measured) is least (Gauss and Newton's way, steps damped). Parameters are one for all phones, except the speed of DMA where
none was measured. --write puts the values into npu/profiles; without it nothing is changed.
"""
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, f"{ROOT}/scripts/lib")
from script_main import flag_parser, run_main  # noqa: E402

PROFILES = ROOT / "npu/profiles"

# Moved together in all profiles.
SHARED = ("matrix_integer_speedup", "matrix_efficiency", "dequantize_static_packets", "softmax_integer_packets", "row_integer_packets",
          "operator_seconds", "call_seconds", "load_bytes_per_second")
# Moved in each of these by itself.
OWN = {"8elite": ("dma_bytes_per_second",), "8elite5": ("dma_bytes_per_second",), "xelite": ("dma_bytes_per_second",)}
STIFFNESS = 0.05               # How much a figure's error counts that a parameter's move from its profile by a factor e is worth.

# An object per line: the milliseconds of a source, what of the program's answer they are (key), and the question (ask). Not among them:
# decoding in table 6 of one-for-all (52 ms), whose table 7 has 43.6 ms for 32 rows of the same model, so that graphs or clocks differ; and
# genie's decoding on X Elite, where 3B fell from 18.4 to 12.1 tokens/s between versions of the software.
FIGURES = tuple(json.loads(line) for line in (ROOT / "apps/lab/papers/npu/calibration.jsonl").read_text().splitlines())

BLOCK = r'(parameter \{{\s*name: "{name}"\s*value: )([-+.0-9e]+)'


class Fit:
    """The profiles' texts, and the parameters that are moved: (profile or None for all, name)."""

    def __init__(self, program):
        self.program = program
        self.texts = {path.stem: path.read_text() for path in sorted(PROFILES.glob("*.textproto"))}
        self.moved = [(None, name) for name in SHARED] + [(device, name) for device, names in OWN.items() for name in names]
        self.start = numpy.log([self.value(device or "8gen3", name) for device, name in self.moved])

    def value(self, device, name):
        found = re.search(BLOCK.format(name=name), self.texts[device])
        if found is None:
            raise SystemExit(f"{device}: found no parameter {name}, expected one")
        return float(found[2])

    def limits(self, device, name):
        """The least and the most of a parameter, as its block says them."""
        block = re.search(BLOCK.format(name=name) + r"[^}]*\}", self.texts[device or "8gen3"])[0]
        return [float(re.search(rf"\b{end}: ([-+.0-9e]+)", block)[1]) for end in ("low", "high")]

    def with_values(self, logs):
        texts = dict(self.texts)
        for (device, name), log in zip(self.moved, logs):
            for each in texts if device is None else (device,):
                texts[each] = re.sub(BLOCK.format(name=name), lambda m: f"{m[1]}{math.exp(log):.4g}", texts[each])
        return texts

    def clip(self, logs):
        low, high = numpy.log([self.limits(*parameter) for parameter in self.moved]).T
        return numpy.clip(logs, low, high)

    def predict(self, logs):
        """Milliseconds of each figure."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in self.with_values(logs).items():
                Path(folder, f"{name}.textproto").write_text(text)
            lines = [json.dumps({**figure["ask"], "device": f"{folder}/{figure['device']}.textproto:static"}) for figure in FIGURES]
            command = [self.program, "--device=8gen3", "--jsonl"]
            done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{self.program} --jsonl: exit code {done.returncode}: {done.stderr.strip()}")
        predicted = []
        for figure, line in zip(FIGURES, done.stdout.splitlines()):
            answer = json.loads(line)
            for key in figure["key"]:
                answer = answer[key]
            predicted.append(answer)
        return numpy.array(predicted)

    def residuals(self, logs):
        measured = numpy.array([figure["milliseconds"] for figure in FIGURES])
        return numpy.concatenate([numpy.log(self.predict(logs) / measured), STIFFNESS * (logs - self.start)])

    def run(self, steps=25, epsilon=1e-2):
        logs, damping = self.clip(self.start), 1e-2
        errors = self.residuals(logs)
        for _ in range(steps):
            columns = []
            for axis in numpy.eye(len(logs)):
                # To the side on which there is room within the parameter's limits.
                side = epsilon if numpy.array_equal(self.clip(logs + epsilon * axis), logs + epsilon * axis) else -epsilon
                columns.append((self.residuals(logs + side * axis) - errors) / side)
            slopes = numpy.array(columns).T
            move = numpy.linalg.solve(slopes.T @ slopes + damping * numpy.eye(len(logs)), -slopes.T @ errors)
            tried = self.clip(logs + move)
            found = self.residuals(tried)
            if found @ found < errors @ errors:
                gained = errors @ errors - found @ found
                logs, errors, damping = tried, found, damping / 3
                if gained < 1e-7:
                    break
            else:
                damping *= 5
        return logs


def report(fit, logs, as_json):
    predicted = fit.predict(logs)
    rows = [{"device": figure["device"], "shape": figure["ask"]["shape"], "what": figure["key"][0], "measured": figure["milliseconds"],
             "predicted": float(value), "error": float(value / figure["milliseconds"] - 1), "source": figure["source"]}
            for figure, value in zip(FIGURES, predicted)]
    values = [{"device": device or "all", "parameter": name, "value": float(f"{math.exp(log):.4g}")}
              for (device, name), log in zip(fit.moved, logs)]
    errors = sorted(abs(row["error"]) for row in rows)
    summary = {"parameters": len(values), "figures": len(rows), "median_error": errors[len(errors) // 2], "worst_error": errors[-1]}
    if as_json:
        print(json.dumps({"summary": summary, "parameters": values, "figures": rows}))
        return
    for value in values:
        print(f"{value['device']:8} {value['parameter']:28} {value['value']:.4g}")
    print()
    for row in rows:
        print(f"{row['device']:8} {row['shape']:14} {row['what']:26} {row['measured']:8.1f} {row['predicted']:8.1f} "
              f"{100 * row['error']:+6.1f} %  {row['source']}")
    print(f"\n{summary['parameters']} parameters, {summary['figures']} figures: median error {100 * summary['median_error']:.1f} %, "
          f"worst {100 * summary['worst_error']:.1f} %")


def main():
    flags = flag_parser(__doc__)
    flags.add_argument("--build-dir", default=f"{ROOT}/build")
    flags.add_argument("--write", action="store_true")
    flags.add_argument("--json", action="store_true")
    given = flags.parse_args()
    program = Path(given.build_dir) / "bin/tessera_inspect"
    if not program.exists():
        raise SystemExit(f"{program}: found no program, expected the one that scripts/build.sh makes")
    fit = Fit(str(program))
    logs = fit.run()
    report(fit, logs, given.json)
    if given.write:
        for name, text in fit.with_values(logs).items():
            (PROFILES / f"{name}.textproto").write_text(text)


if __name__ == "__main__":
    run_main(main)
