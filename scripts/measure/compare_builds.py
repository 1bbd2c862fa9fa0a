#!/usr/bin/env python3
"""Times two builds of Tessera in turns, to show that a change has slowed nothing.

    python3 scripts/measure/compare_builds.py BEFORE/bin AFTER/bin MODEL.gguf [--pairs 15] [--threads 2] [--figures LIST] [--json]

Figures: prompt and generation (seconds per token), rows (seconds of a pass of eight), texts (seconds per token of eight texts at once),
auto (seconds per token of a text with --speculate=auto), dialogue (seconds of a dialogue of two turns, with the start of the program),
perplexity (seconds of the program over a text), first_byte (seconds from the start of the program to the first byte of text), streamed
(seconds per token of the packed model under 3/4 of the memory that it takes), memory (peak of loading and running, in MiB). Each pair
runs both builds one after the other, the first of the two in turns. A ratio is after / before of one pair: below 1 is faster. Shown are
the medians and, for the ratio, an interval that holds its median with 95 % (order statistics of the pairs). The texts of auto, dialogue
and perplexity must be the same in both builds. Nothing else should run meanwhile.

Both builds must know `tessera_bench speed` and `tessera_bench rows`. A build from before subcommands needs a wrapper for its tessera_bench
that drops the first argument.
"""
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import GENERATED_TOKENS, PROMPT, PROMPT_TOKENS, Ours, check_programs, rows_of_batch, run  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

FIGURES = ("prompt", "generation", "rows", "texts", "auto", "dialogue", "perplexity", "first_byte", "streamed", "memory")
TEXTS, TEXT_TOKENS, AUTO_TOKENS, TURN_TOKENS, WINDOW = 8, 64, 128, 48, 256
DIALOGUE = "Name three colours of the rainbow.\nWhich of the three is the brightest?\n"
STREAMED_TOKENS = 48
FEWEST_PAIRS = 6


def seconds_per_token(build, model, prompt, generated, *more):
    report = build.bench("speed", model, "--prompt_tokens", prompt, "--generate_tokens", generated, *more)
    return 1 / report["prompt" if prompt else "generation"]["tokens_per_second"]["median"]


def peak_bytes(folder, model):
    memory = json.loads(run([f"{folder}/tessera_bench", "memory", "--model", model, "--json"]))["memory_bytes"]
    return max(memory["peak_loading"], memory["peak_running"])


def texts_seconds(build, model):
    """Returns the seconds per token of eight texts at once. Older builds know the subcommand batch as streams alone."""
    report = build.bench("streams", model, "--together", TEXTS, "--writers", 1, "--generate_tokens", TEXT_TOKENS, "--prompt_tokens", 16,
                         "--depth", 0, "--long_prompt", 0, "--speculate", "none")
    return 1 / rows_of_batch(report)[0]["tokens_per_second"]["median"]


def timed_run(build, program, flags, text=None):
    """Returns the seconds of a program, and its standard output without times."""
    start = time.perf_counter()
    done = subprocess.run([f"{build.folder}/{program}", "--threads", build.threads, *map(str, flags)], input=text, capture_output=True,
                          text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"failed: {build.folder}/{program}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return seconds, done.stdout


def text_seconds(build, figure, model, texts):
    """Returns the seconds of auto, dialogue or perplexity; ends where the text differs from the first one of the figure."""
    if figure == "auto":
        _, output = timed_run(build, "tessera_generate", ("--model", model, "--raw", "--prompt", PROMPT, "--n_predict", AUTO_TOKENS,
                                                          "--temperature", 0, "--speculate", "auto", "--json"))
        report = json.loads(output)
        seconds, text = report["timings"]["generation_seconds"] / AUTO_TOKENS, report["text"]
    elif figure == "dialogue":
        seconds, text = timed_run(build, "tessera_generate", ("--model", model, "--chat", "--temperature", 0, "--n_predict", TURN_TOKENS),
                                  DIALOGUE)
    else:
        seconds, output = timed_run(build, "tessera_perplexity", ("--model", model, "--window", WINDOW, "--prompt", PROMPT * 6, "--json"))
        text = json.loads(output)["nll_sum"]
    if texts.setdefault(figure, text) != text:
        sys.exit(f"failed: {figure}: found {text!r} by {build.folder}, expected {texts[figure]!r}")
    return seconds


def measure(build, figure, model, packed, budget, texts):
    if figure == "texts":
        return texts_seconds(build, model)
    if figure in ("auto", "dialogue", "perplexity"):
        return text_seconds(build, figure, model, texts)
    if figure == "memory":
        return peak_bytes(build.folder, model) / 2**20
    if figure == "prompt":
        return seconds_per_token(build, model, PROMPT_TOKENS, 0)
    if figure == "generation":
        return seconds_per_token(build, model, 0, GENERATED_TOKENS)
    if figure == "rows":
        return build.rows_seconds(model, (1, 8))[8]
    if figure == "first_byte":
        return build.first_byte(model)
    return seconds_per_token(build, packed, 0, STREAMED_TOKENS, "--memory_budget", budget)


def interval(values):
    """The narrowest pair of order statistics between which the median lies with at least 95 %; of six, the least and greatest."""
    values, count = sorted(values), len(values)
    lowest, tail = 0, 1 + count  # Ways in which at most lowest + 1 of the values are below the median, of 2 ** count.
    while 2 * tail / 2**count <= 0.05:
        lowest += 1
        tail += math.comb(count, lowest + 1)
    return values[lowest], values[count - 1 - lowest]


def compare(flags, figure, packed, budget):
    before, after = (Ours(folder, flags.threads) for folder in (flags.before, flags.after))
    seconds, texts = {"before": [], "after": []}, {}
    for pair in range(-1, flags.pairs):  # The first pair warms caches and is not counted.
        turns = [("before", before), ("after", after)]
        for name, build in turns if pair % 2 else turns[::-1]:
            taken = measure(build, figure, flags.model, packed, budget, texts)
            if pair >= 0:
                seconds[name].append(taken)
    ratios = [b / a for a, b in zip(seconds["before"], seconds["after"])]
    return {"figure": figure, "before": statistics.median(seconds["before"]), "after": statistics.median(seconds["after"]),
            "ratio": statistics.median(ratios), "interval": interval(ratios)}


def parse_flags(arguments=None):
    flags = flag_parser(__doc__)
    flags.add_argument("before", metavar="BEFORE/bin")
    flags.add_argument("after", metavar="AFTER/bin")
    flags.add_argument("model", metavar="MODEL.gguf")
    flags.add_argument("--pairs", type=positive, default=15)
    flags.add_argument("--threads", type=positive, default=2)
    flags.add_argument("--figures", default=",".join(FIGURES))
    flags.add_argument("--json", action="store_true")
    flags = flags.parse_args(arguments)
    flags.figures = flags.figures.split(",")
    if flags.pairs < FEWEST_PAIRS:
        sys.exit(f"failed: --pairs: found {flags.pairs}, expected {FEWEST_PAIRS} or more: fewer hold no median with 95 %")
    for figure in flags.figures:
        if figure not in FIGURES:
            sys.exit(f"failed: --figures: found {figure}, expected some of {','.join(FIGURES)}")
    if not Path(flags.model).is_file():
        sys.exit(f"failed: {flags.model}: found no file, expected a model")
    for folder in (flags.before, flags.after):
        check_programs(folder, (*Ours.PROGRAMS, "tessera_pack"))
    return flags


def show(line):
    low, high = line["interval"]
    unit = 1 if line["figure"] == "memory" else 1e3
    print(f"{line['figure']:<11} {line['before'] * unit:>11.3f} {line['after'] * unit:>11.3f} {line['ratio']:>7.3f}   "
          f"{low:.3f} to {high:.3f}", flush=True)


def main():
    flags = parse_flags()
    with tempfile.TemporaryDirectory() as folder:
        packed, budget = f"{folder}/model.tsr", None
        if "streamed" in flags.figures:
            run([f"{flags.before}/tessera_pack", flags.model, packed])
            budget = f"{peak_bytes(flags.after, packed) * 3 // 4 // 2**20}MiB"
        if not flags.json:
            print(f"{'figure':<11} {'before, ms':>11} {'after, ms':>11} {'ratio':>7}   interval of the ratio, {flags.pairs} pairs "
                  "(memory: MiB)")
        lines = []
        for figure in flags.figures:
            lines.append(compare(flags, figure, packed, budget))
            if not flags.json:
                show(lines[-1])
        if flags.json:
            print(json.dumps({"pairs": flags.pairs, "threads": flags.threads, "budget": budget, "figures": lines}))


if __name__ == "__main__":
    run_main(main)
