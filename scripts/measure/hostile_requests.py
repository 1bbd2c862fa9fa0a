#!/usr/bin/env python3
"""Writes hostile requests between good ones to tessera_generate --jsonl, in a control group of the memory budget and a tenth.

    scripts/measure/hostile_requests.py --model MODEL --budget 100 [--parallel 4] [--context 512] [--hostile 200] [--good 20]

Prints the peak of the group, how the good requests were answered, and how much slower than the same requests alone. Exit code 1 if the
process was killed, a good answer is missing or differs, a hostile line has no error or answer of its own, or the median of the good
requests' times is above --most_ratio of that alone. The requests follow from --seed. Needs root: control groups, version 1 or 2.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts/lib"))
from script_main import flag_parser, positive, run_main  # noqa: E402

MIB = 1 << 20
PROMPTS = ("Once upon a time", "The capital of France is", "A list of fruit:", "def main():", "Water boils at", "She opened the door and")


def text_request(text, **more):
    return lambda name, rng: json.dumps({"id": name, "text": text(rng), "n": 4, **more})


def dialogue(messages, **more):
    return lambda name, rng: json.dumps({"id": name, "messages": messages(rng), "n": 4, **more})


def user(text):
    return {"role": "user", "content": text}


def nested(depth, inner):
    value = inner
    for _ in range(depth):
        value = {"properties": value, "a": [value] if depth < 12 else 1}
    return value


def random_text(rng, letters):
    return "".join(chr(rng.choice((rng.randrange(32, 127), rng.randrange(0xA0, 0xD7FF), rng.randrange(0x10000, 0x1FFFF))))
                   for _ in range(letters))


# Each makes a line of a name and random numbers. What is larger than the limits, what is just below them, and what is no request.
HOSTILE = {
    "a line of 20 MB": text_request(lambda rng: "a b " * 5_000_000),
    "a word of 60 KB": text_request(lambda rng: "a" * 60_000),
    "spaces": text_request(lambda rng: " " * 65_000),
    "digits": text_request(lambda rng: "7" * 65_000),
    "random characters": text_request(lambda rng: random_text(rng, 20_000)),
    "escapes": lambda name, rng: '{"id": "%s", "text": "%s", "n": 4}' % (name, "\\u0001" * 30_000),
    "a megabyte": text_request(lambda rng: "word " * 200_000),
    "5 MB that are no JSON": lambda name, rng: '{"id": "%s", "text": "' % name + "x" * 5_000_000,
    "a million numbers": lambda name, rng: json.dumps({"id": name, "tokens": [1] * 1_000_000}),
    "lists in lists": lambda name, rng: "[" * 1_000_000,
    "lists of a dialogue": lambda name, rng: json.dumps({"id": name, "messages": [[]] * 100_000}),
    "an id of a megabyte": lambda name, rng: json.dumps({"id": name * 100_000, "text": "Hello"}),
    "many stop texts": text_request(lambda rng: "Hello", stop=["stop %d" % i for i in range(20_000)]),
    "a long stop text": text_request(lambda rng: "Hello", stop="s" * 100_000),
    "many fields": lambda name, rng: json.dumps({"id": name, "text": "Hello", **{"field %d" % i: i for i in range(20_000)}}),
    "a key of 50 KB": lambda name, rng: json.dumps({"id": name, "text": "Hello", "k" * 50_000: 1}),
    "one message": dialogue(lambda rng: [user("word " * 12_000)]),
    "many messages": dialogue(lambda rng: [{"role": role, "content": "x"} for role in ("user", "assistant") * 700] + [user("y")]),
    "long roles": dialogue(lambda rng: [{"role": "r" * 30_000, "content": "x"}, user("y")]),
    "many parts": dialogue(lambda rng: [{"role": "user", "content": [{"type": "text", "text": "part "}] * 700}]),
    "deep tools": dialogue(lambda rng: [user("Hello")], tools=[nested(9, "x" * 20)]),
    "many tools": dialogue(lambda rng: [user("Hello")], tools=[{"type": "function", "function": {"name": "f%d" % i}} for i in range(400)]),
    "template arguments": dialogue(lambda rng: [user("Hello")], template_args={"a%d" % i: "x" * 100 for i in range(300)}),
    "all answers at once": text_request(lambda rng: "Once", answers=64, temperature=1, distinct_first_tokens=False),
    "no end": lambda name, rng: json.dumps({"id": name, "text": "Once upon", "n": 1 << 29}),
    "wrong kinds": lambda name, rng: json.dumps({"id": name, "text": {"a": [1, 2]}, "n": "many"}),
    "NUL bytes": lambda name, rng: "\0" * 60_000,
    "no UTF-8": lambda name, rng: '{"id": "%s", "text": "' % name + "\udcff\udcfe" * 20_000 + '"}',
}


def good_requests(count):
    return [json.dumps({"id": f"good {i}", "text": PROMPTS[i % len(PROMPTS)], "n": 12, "temperature": 0}) for i in range(count)]


def mixed_lines(flags):
    """Returns the lines, and the kinds of the hostile ones by their names."""
    rng = random.Random(flags.seed)
    kinds = list(HOSTILE)
    hostile = {f"bad {i}": kinds[i % len(kinds)] for i in range(flags.hostile)}
    lines = [HOSTILE[kind](name, rng) for name, kind in hostile.items()]
    good = good_requests(flags.good)
    places = sorted(rng.sample(range(len(lines) + len(good)), len(good)))
    for place, line in zip(places, good):
        lines.insert(place, line)
    return lines, hostile


class MemoryGroup:
    """A control group that holds at most so many bytes; with `with`."""

    def __init__(self, limit):
        first = Path("/sys/fs/cgroup/memory")
        self.folder = (first if first.is_dir() else Path("/sys/fs/cgroup")) / f"tessera_hostile_{os.getpid()}"
        self.limit_file = "memory.limit_in_bytes" if first.is_dir() else "memory.max"
        self.peak_file = "memory.max_usage_in_bytes" if first.is_dir() else "memory.peak"
        self.limit = limit

    def __enter__(self):
        self.folder.mkdir()
        (self.folder / self.limit_file).write_text(str(self.limit))
        return self

    def __exit__(self, *_):
        self.folder.rmdir()

    def peak(self):
        return int((self.folder / self.peak_file).read_text())


def run(flags, lines):
    """Returns (exit code, peak of the group in bytes, VmHWM or None, answers in the order of lines)."""
    command = [str(ROOT / "build/bin/tessera_generate"), f"--model={flags.model}", f"--memory_budget={flags.budget}MiB",
               f"--context={flags.context}", "--jsonl", f"--parallel={flags.parallel}", "--threads=2", *flags.more]
    with MemoryGroup(flags.budget * MIB * 11 // 10) as group, tempfile.TemporaryDirectory() as folder:
        given, answers = Path(folder, "given"), Path(folder, "answers")
        given.write_bytes(b"".join(line.encode("utf-8", "surrogateescape") + b"\n" for line in lines))
        with given.open("rb") as stdin, answers.open("wb") as stdout:
            join = lambda: (group.folder / "cgroup.procs").write_text(str(os.getpid()))  # noqa: E731
            ended = subprocess.run(command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, preexec_fn=join, check=False)
        return ended, group.peak(), [json.loads(line) for line in answers.read_text().splitlines()]


def seconds_of(answers):
    return {answer["id"]: answer["seconds"]["total"] for answer in answers if str(answer["id"]).startswith("good") and "seconds" in answer}


def report(flags):
    lines, hostile = mixed_lines(flags)
    alone, _, good_answers = run(flags, good_requests(flags.good))
    if alone.returncode != 0:
        raise SystemExit(f"the good requests alone ended with {alone.returncode}: {alone.stderr.decode()[-500:]}")
    mixed, peak, answers = run(flags, lines)
    expected = {answer["id"]: answer["output_tokens"] for answer in good_answers}
    found = {answer["id"]: answer["output_tokens"] for answer in answers if answer["id"] in expected}
    same = sum(found.get(name) == tokens for name, tokens in expected.items())
    before, after = seconds_of(good_answers), seconds_of(answers)
    ratio = statistics.median(after[name] / before[name] for name in after) if after else float("inf")
    refused = sum("error" in answer for answer in answers)
    print(f"budget {flags.budget} MiB, group of {flags.budget * 1.1:.0f} MiB, its peak {peak / MIB:.1f} MiB; exit code {mixed.returncode}")
    print(f"lines {len(lines)}, answered or refused {len(answers)} ({refused} refused); good requests as if alone: {same} of {flags.good}")
    print(f"time of a good request beside that alone, median: {ratio:.2f}")
    if flags.show:
        for answer in answers:
            name = hostile.get(answer.get("id"), "")
            if "error" in answer:
                print(f"  {name or answer.get('line')}: {answer['error'][:150]}")
            elif name:
                print(f"  {name}: answered")
    if mixed.returncode < 0 or mixed.returncode == 137:
        print(mixed.stderr.decode()[-300:])
    return mixed.returncode in (0, 1) and same == flags.good and len(answers) == len(lines) and ratio <= flags.most_ratio


def main():
    flags = flag_parser(__doc__)
    flags.add_argument("--model", required=True)
    flags.add_argument("--budget", type=positive, default=100, help="MiB")
    flags.add_argument("--parallel", type=positive, default=1)
    flags.add_argument("--context", type=positive, default=512)
    flags.add_argument("--hostile", type=positive, default=200)
    flags.add_argument("--good", type=positive, default=20)
    flags.add_argument("--seed", type=positive, default=1)
    flags.add_argument("--most_ratio", type=float, default=1.2)
    flags.add_argument("--show", action="store_true", help="what became of each line")
    flags.add_argument("more", nargs="*", help="further flags of tessera_generate, behind --")
    sys.exit(0 if report(flags.parse_args()) else 1)


if __name__ == "__main__":
    run_main(main)
