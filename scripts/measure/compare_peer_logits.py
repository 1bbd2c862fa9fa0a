"""Compares logits of llama.cpp and of ours with those of a forward pass in FP64; scripts/measure/compare_peer_logits.sh calls it.

    python3 compare_peer_logits.py --peer llama.cpp/build/bin --ours build/bin --models FOLDER --cases tests/golden/forward.jsonl

A line of the cases is a model, whose file in FOLDER has the line's number from 0 on: its tokens, and some logits after the last of them.
Each engine computes them on one thread; the figure is the largest difference. An engine that does not run a model has "refused" there,
and its last words below the table. Ends with 1 if ours refuses a model, or if logits of any engine are too far from the FP64 ones.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import check_programs  # noqa: E402
from json_lines import json_lines  # noqa: E402
from script_main import flag_parser, run_main  # noqa: E402

MOST = 2e-2  # What the smallest effect of a tensor is on some logit of a model (tests/model/forward_logits_test.cc).
ENGINES = ("llama.cpp", "tessera reference", "tessera fast")


class Refused(Exception):
    """With the engine's last words."""


def run(command, text=""):
    """What it printed, as JSON."""
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                            env={**os.environ, "GGML_NO_BACKTRACE": "1"})
    if result.returncode != 0:
        lines = [line for line in result.stderr.splitlines() if line.strip()] or [f"exit code {result.returncode}"]
        told = next((line for line in lines if "ASSERT" in line or "error loading model" in line), lines[-1])
        raise Refused(re.sub(r"(?:/[^\s/]+)+/", "", told))
    return json.loads(result.stdout)


def peers_logits(flags, model, tokens):
    return run([f"{flags.peer}/logits", model, *map(str, tokens)])["logits"]


def our_logits(flags, model, tokens, path):
    request = json.dumps({"id": 0, "tokens": tokens})
    answer = run([f"{flags.ours}/tessera_logits", "--model", model, "--threads=1", f"--path={path}", "--jsonl", "--top=1000"], request)
    pairs = sorted(answer["positions"][-1]["top"])
    return [logit for _, logit in pairs]


def farthest(expected, logits):
    """The largest difference; a case has every step-th logit."""
    step = -(-len(logits) // len(expected))
    return max(abs(a - b) for a, b in zip(expected, logits[::step], strict=True))


def name_of(case):
    """llama output.weight, biases attn_q attn_k"""
    biases = [tensor.removesuffix(".bias") for tensor in case["optional"] if tensor.endswith(".bias")]
    others = [tensor for tensor in case["optional"] if not tensor.endswith(".bias")]
    parts = [" ".join([case["architecture"], *others]), " ".join(["biases", *biases]) if biases else ""]
    return ", ".join(filter(None, parts))


def compare(flags, number, case):
    model = f"{flags.models}/{number}.gguf"
    results = {"model": name_of(case)}
    for engine, logits in zip(ENGINES, (lambda: peers_logits(flags, model, case["tokens"]),
                                        lambda: our_logits(flags, model, case["tokens"], "reference"),
                                        lambda: our_logits(flags, model, case["tokens"], "fast"))):
        try:
            results[engine] = farthest(case["logits"], logits())
        except Refused as refused:
            results[engine] = str(refused)
    return results


def is_right(results):
    peer, *ours = (results[engine] for engine in ENGINES)
    return all(not isinstance(off, str) and off <= MOST for off in ours) and (isinstance(peer, str) or peer <= MOST)


def print_table(all_results):
    width = max(len(results["model"]) for results in all_results)
    print(f"{'largest difference from FP64':{width}}" + "".join(f"  {engine}" for engine in ENGINES))
    for results in all_results:
        figures = ["refused" if isinstance(results[engine], str) else f"{results[engine]:.1e}" for engine in ENGINES]
        print(f"{results['model']:{width}}" + "".join(f"  {figure:>{len(engine)}}" for figure, engine in zip(figures, ENGINES)))
    for results in all_results:
        for engine in ENGINES:
            if isinstance(results[engine], str):
                print(f"{engine} refused {results['model']}:\n    {results[engine]}")


def main():
    flags = flag_parser(__doc__)
    for flag in ("--peer", "--ours", "--models", "--cases"):
        flags.add_argument(flag, required=True)
    flags.add_argument("--json", action="store_true")
    flags = flags.parse_args()
    check_programs(flags.peer, ["logits"])
    check_programs(flags.ours, ["tessera_logits"])
    cases = [json.loads(line) for line in json_lines(Path(flags.cases).read_text("utf-8"))]
    all_results = [compare(flags, number, case) for number, case in enumerate(cases)]
    if flags.json:
        print(json.dumps({"models": all_results}))
    else:
        print_table(all_results)
    if wrong := [results["model"] for results in all_results if not is_right(results)]:
        sys.exit(f"failed: too far from FP64, or refused by ours: {', '.join(wrong)}")


if __name__ == "__main__":
    run_main(main)
