"""Times two engines under limits of memory smaller than the model, in alternation; scripts/measure/compare_peer_memory.sh calls it.

    python3 compare_peer_memory.py --peer llama.cpp/build/bin --ours build/bin --gguf m.gguf --tsr m.tsr [--json] [--limits 0.8,0.5]

    python3 compare_peer_memory.py --check [...]         # only whether the flags are right and limits of memory can be set

Every run starts in a control group of its own with nothing of the model in the page cache. docs/benchmarks.md says what is compared.
"""
import json
import os
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import Ours, Peer  # noqa: E402
from memory_group import MIB, MemoryGroup, NoGroup, check_limit_bites, check_limit_kills  # noqa: E402
from page_cache import drop_from_cache  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

# What a group counts besides what our budget bounds: the program's own pages, page tables, thread stacks, the ring's queues.
BESIDES = 32 * MIB


@dataclass
class Contestant:
    name: str
    file: str            # The model it reads.
    command: Callable    # From a limit in bytes, or None, and what else a run is about, to what is run; None if it takes no part.
    speed: Callable      # From its output to tokens/s.


def contestants(flags):
    """In the order of the table; ours is the last."""
    peer, ours = Peer(flags.peer, flags.threads), Ours(flags.ours, flags.threads)

    def peer_command(*more):
        return peer.bench_command(flags.gguf, "-p", 0, "-n", flags.peer_tokens, *more)

    def our_command(limit, *more):
        budget = [] if limit is None else [f"--memory_budget={limit - BESIDES}"]
        return ours.bench_command("speed", flags.tsr, "--prompt_tokens", 0, "--generate_tokens", flags.tokens, *budget, *more)

    def peer_speed(output):
        return json.loads(output)[0]["avg_ts"]

    def our_speed(output):
        return json.loads(output)["generation"]["tokens_per_second"]["median"]

    return [Contestant("llama.cpp", flags.gguf, lambda limit: peer_command(), peer_speed),
            Contestant("llama.cpp mapped", flags.gguf, lambda limit: peer_command("--repack", 0, "-lm", "mmap"), peer_speed),
            Contestant("tessera --mapped", flags.tsr, lambda limit: limit and our_command(limit, "--mapped"), our_speed),
            Contestant("tessera", flags.tsr, our_command, our_speed)]


class Runs:
    """All runs of one contestant under one limit."""

    def __init__(self, contestant):
        self.contestant, self.speeds, self.peaks, self.ended = contestant, [], [], ""

    def once(self, limit, seconds, cpus, *about):
        """Not again after a run without a result: the next would take as long and tell as little."""
        if self.ended:
            return
        drop_from_cache(self.contestant.file)
        with MemoryGroup(limit) as group:
            outcome = group.run(["taskset", "--cpu-list", cpus, *self.contestant.command(limit, *about)], seconds)
        self.peaks.append(outcome.peak)
        self.ended = outcome.ended
        if not outcome.ended:
            self.speeds.append(self.contestant.speed(outcome.output))

    def median(self):
        """Tokens/s; None without a result. One run that ended badly makes the others worth nothing."""
        return None if self.ended or not self.speeds else statistics.median(self.speeds)

    def report(self, ours):
        """`ours`: the median that it is held against."""
        median = self.median()
        return {"engine": self.contestant.name, "tokens_per_second": median, "samples": self.speeds, "ended": self.ended,
                "peak_bytes": max(self.peaks, default=0), "ratio": ours / median if ours and median else None}


def measure(flags, share):
    """The report for one limit: a share of the model's file, or None for as much memory as there is."""
    limit = None if share is None else int(os.path.getsize(flags.gguf) * share) // MIB * MIB
    runs = [Runs(contestant) for contestant in contestants(flags) if contestant.command(limit)]
    for repetition in range(flags.repetitions):
        for each in runs:
            state = f"left out: {each.ended}" if each.ended else f"{repetition + 1} of {flags.repetitions}"
            print(f"memory {memory_text(share, limit)}: {each.contestant.name}, {state}", file=sys.stderr)
            each.once(limit, flags.seconds, flags.cpus)
    return {"share": share, "limit_bytes": limit, "budget_bytes": limit and limit - BESIDES,
            "engines": [each.report(runs[-1].median()) for each in runs]}


def memory_text(share, limit):
    return "all there is" if share is None else f"{share:g}, {limit // MIB} MiB"


def ratio_text(value):
    return "-" if value is None else f"{value:.2f}"


def engine_heading(name, width):
    return f"{'memory':<14} {name:<{width}} {'tokens/s':>8} {'least':>7} {'most':>7} {'peak MiB':>9} {'ratio':>6}"


def engine_lines(result, width):
    """A line for each engine, in columns of that heading."""
    memory = memory_text(result["share"], result["limit_bytes"])
    for run in result["engines"]:
        row = f"{memory:<14} {run['engine']:<{width}} "
        if run["tokens_per_second"] is None:
            yield row + run["ended"]
            continue
        yield (f"{row}{run['tokens_per_second']:>8.2f} {min(run['samples']):>7.2f} {max(run['samples']):>7.2f} "
               f"{run['peak_bytes'] // MIB:>9} {ratio_text(run['ratio']):>6}")


def table(results, flags):
    lines = [f"medians of {flags.repetitions}, {flags.threads} threads on CPUs {flags.cpus}; ratio: how much faster tessera is",
             engine_heading("engine", 17)]
    for result in results:
        lines += engine_lines(result, 17)
    return "\n".join(lines)


def parse_flags(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    flags = flag_parser(__doc__)
    flags.add_argument("--check", action="store_true")
    for name in ("--peer", "--ours", "--gguf", "--tsr"):
        flags.add_argument(name, required="--check" not in arguments)
    flags.add_argument("--limits", default="none,0.8,0.5,0.25")
    flags.add_argument("--repetitions", type=positive, default=5)
    flags.add_argument("--threads", type=positive, default=2)
    flags.add_argument("--tokens", type=positive, default=16)
    flags.add_argument("--peer_tokens", type=positive, default=4)
    flags.add_argument("--seconds", type=positive, default=200)
    flags.add_argument("--json", action="store_true")
    flags = flags.parse_args(arguments)
    set_limits_and_cpus(flags)
    return flags


def set_limits_and_cpus(flags):
    """--limits as shares, and as many CPUs as --threads says."""
    flags.limits = [parse_share(share) for share in flags.limits.split(",")]
    allowed = sorted(os.sched_getaffinity(0))
    if not 1 <= flags.threads <= len(allowed):
        sys.exit(f"failed: --threads: found {flags.threads}, expected 1 to {len(allowed)}, as many as there are CPUs")
    flags.cpus = ",".join(map(str, allowed[:flags.threads]))


def check_models(*files):
    for file in files:
        if not os.path.isfile(file):
            sys.exit(f"failed: {file}: found no file, expected a model")


def parse_share(text):
    try:
        share = None if text == "none" else float(text)
    except ValueError:
        share = 0
    if share is not None and not 0 < share <= 4:
        sys.exit(f"failed: --limits: found {text}, expected shares of the model's file such as 0.5, or none")
    return share


def main():
    flags = parse_flags()
    try:
        if flags.check:
            check_limit_kills()
            return
        check_models(flags.gguf, flags.tsr)
        check_limit_bites(flags.gguf)
        results = [measure(flags, share) for share in flags.limits]
    except NoGroup as error:
        sys.exit(f"failed: {error}")
    print(table(results, flags))
    if flags.json:
        print(json.dumps({"repetitions": flags.repetitions, "threads": flags.threads, "tokens": flags.tokens,
                          "peer_tokens": flags.peer_tokens, "limits": results}))
    if bad := [f"{result['share']}: {result['engines'][-1]['ended']}" for result in results if result["engines"][-1]["ended"]]:
        sys.exit(f"failed: tessera gave no result with a limit of {'; '.join(bad)}")


if __name__ == "__main__":
    run_main(main)
