"""Times a model larger than its memory with a draft model, and without, beside llama.cpp with the same draft; compare_lever.sh calls it.

    python3 compare_lever.py --peer llama.cpp/build/bin --ours build/bin --gguf m.gguf --tsr m.tsr --draft d.gguf --data FOLDER

    python3 compare_lever.py --check [...]               # only whether the flags are right and limits of memory can be set

Every run writes one text, in a control group of its own with nothing of the model in the page cache. docs/benchmarks.md says what is
compared.
"""
import json
import os
import re
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure", f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from compare_peer_memory import (BESIDES, Contestant, Runs, check_models, engine_heading, engine_lines, memory_text,  # noqa: E402
                                 ratio_text, set_limits_and_cpus)
from engines import Ours, Peer, check_programs, run  # noqa: E402
from json_lines import json_lines  # noqa: E402
from memory_group import MIB, NoGroup, check_limit_bites, check_limit_kills  # noqa: E402
from page_cache import drop_from_cache  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

CONTEXT = 512
PLAIN, AUTO = "tessera plain", "tessera auto"   # The names of ours. All others are the peer's.
MAPPED = ("-lm", "mmap")                        # And without a repacked copy of all weights, which takes memory of its own.
SETS = {"gsm8k": ("gsm8k_test.jsonl", lambda record: record["question"]),
        "humaneval": ("humaneval.jsonl", lambda record: "Complete this function:\n\n" + record["prompt"]),
        "mbpp": ("mbpp.jsonl", lambda record: record["text"] + " Your code should pass these tests:\n\n" + "\n".join(record["test_list"])),
        "mt_bench": ("mt_bench.jsonl", lambda record: record["turns"][0])}


class Texts(Runs):
    """All texts that one way of writing gave under one limit."""

    def median(self):
        """The geometric mean over texts; None without a result."""
        return None if self.ended or not self.speeds else statistics.geometric_mean(self.speeds)

    def once(self, limit, seconds, cpus, *about):
        drop_from_cache(self.contestant.draft)
        super().once(limit, seconds, cpus, *about)


class Way(Contestant):
    draft = None

    def __init__(self, flags, *rest):
        super().__init__(*rest)
        self.draft = flags.draft


class OurWay(Way):
    """Keeps the tokens that were written, and what was chosen."""

    def __init__(self, flags, name, *speculate):
        self.texts, self.chosen = [], set()
        program = [f"{flags.ours}/tessera_generate", "--model", flags.tsr, "--threads", str(flags.threads), "--context", str(CONTEXT),
                   "--n_predict", str(flags.tokens), "--temperature", "0", "--raw", "--json", *speculate]

        def command(limit, prompt):
            return [*program, *([] if limit is None else [f"--memory_budget={limit - BESIDES}"]), "--prompt", prompt]

        super().__init__(flags, name, flags.tsr, command, self.read)

    def read(self, output):
        answer = json.loads(output)
        self.texts.append(answer["tokens"])
        if "speculation" in answer:
            self.chosen.add(answer["speculation"]["chosen"])
        return answer["timings"]["generation_tokens_per_second"]


def peer_speed(output):
    """llama-speculative-simple says it among other words."""
    said = re.search(r"decoded +(\d+) tokens in +([\d.]+) seconds", output)
    if said is None:
        sys.exit(f"failed: llama-speculative-simple: found no line about decoded tokens, expected one, in\n{output[-2000:]}")
    return int(said.group(1)) / float(said.group(2))


def peer_ways(flags, share):
    """Without the draft, and for each length of drafts."""
    is_mapped = share is not None and share < 1
    mapped = ("--repack", "0", *MAPPED) if is_mapped else ()
    plain = Peer(flags.peer, flags.threads).bench_command(flags.gguf, "-p", 0, "-n", flags.peer_tokens, *mapped)
    yield Way(flags, "llama.cpp plain", flags.gguf, lambda limit, prompt: plain, lambda output: json.loads(output)[0]["avg_ts"])
    for most in flags.drafts:
        program = [f"{flags.peer}/llama-speculative-simple", "-m", flags.gguf, "-md", flags.draft, "--spec-type", "draft-simple",
                   "--spec-draft-n-max", str(most), "-t", str(flags.threads), "-c", str(CONTEXT), "-n", str(flags.tokens), "--temp", "0",
                   "--no-escape", *(("--no-repack", *MAPPED) if is_mapped else ())]
        yield Way(flags, f"llama.cpp draft {most}", flags.gguf,
                  lambda limit, prompt, program=program: ["sh", "-c", 'exec "$0" "$@" 2>&1', *program, "-p", prompt], peer_speed)


def ways(flags, share):
    """In the order of the table; ours are the last."""
    Ours(flags.ours, flags.threads)   # Checks that its programs are there.
    return [*peer_ways(flags, share), OurWay(flags, PLAIN, "--speculate", "none"),
            OurWay(flags, AUTO, "--speculate", "auto", "--draft_model", flags.draft)]


def prompts(flags):
    """The first of each set, as the model is given them."""
    texts = []
    for name, (file, prompt_of) in SETS.items():
        lines = [line for line in json_lines(Path(flags.data, file).read_text(encoding="utf-8")) if line.strip()]
        for line in lines[:flags.texts]:
            text = run([f"{flags.ours}/tessera_tokenize", "--model", flags.draft, "--chat", "--show_prompt", "--prompt",
                        prompt_of(json.loads(line))])
            texts.append((name, text))
    return texts


def measure(flags, share, texts):
    """The report for one limit: a share of the model's file, or None for as much memory as there is."""
    limit = None if share is None else int(os.path.getsize(flags.gguf) * share) // MIB * MIB
    runs = [Texts(way) for way in ways(flags, share)]
    for number, (name, text) in enumerate(texts):
        for turn in range(len(runs)):
            each = runs[(turn + number) % len(runs)]
            state = f"left out: {each.ended}" if each.ended else f"text {number + 1} of {len(texts)}, of {name}"
            print(f"memory {memory_text(share, limit)}: {each.contestant.name}, {state}", file=sys.stderr)
            each.once(limit, flags.seconds, flags.cpus, text)
    by_name = {each.contestant.name: each for each in runs}
    plain, auto = by_name[PLAIN], by_name[AUTO]
    peers = [each.median() for name, each in by_name.items() if name not in (PLAIN, AUTO) and each.median()]
    ended = bool(plain.ended or auto.ended)
    return {"share": share, "limit_bytes": limit, "budget_bytes": limit and limit - BESIDES,
            "engines": [each.report(auto.median()) for each in runs],
            "of_plain": auto.median() / plain.median() if not ended else None,
            "of_peer": auto.median() / max(peers) if peers and not auto.ended else None,
            "auto_chose": sorted(auto.contestant.chosen), "texts_changed": plain.contestant.texts != auto.contestant.texts and not ended}


def table(results, flags):
    texts = f"{flags.texts * len(SETS)} texts of {flags.tokens} tokens"
    lines = [f"geometric means over {texts}, {flags.threads} threads on CPUs {flags.cpus}; ratio: how much faster tessera auto is",
             engine_heading("way", 19)]
    for result in results:
        memory, chose = memory_text(result["share"], result["limit_bytes"]), ", ".join(result["auto_chose"])
        lines += [*engine_lines(result, 19), f"{memory:<14} auto ({chose}): {ratio_text(result['of_plain'])} times our plain decoding, "
                  f"{ratio_text(result['of_peer'])} times the best of llama.cpp"]
    return "\n".join(lines)


def parse_flags(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    flags = flag_parser(__doc__)
    flags.add_argument("--check", action="store_true")
    for name in ("--peer", "--ours", "--gguf", "--tsr", "--draft", "--data"):
        flags.add_argument(name, required="--check" not in arguments)
    flags.add_argument("--limits", default="0.25,0.5,0.8")
    flags.add_argument("--drafts", default="4,8,16")
    for name, default in (("--texts", 1), ("--tokens", 64), ("--peer_tokens", 4), ("--threads", 2), ("--seconds", 400)):
        flags.add_argument(name, type=positive, default=default)
    flags.add_argument("--json", action="store_true")
    flags = flags.parse_args(arguments)
    flags.drafts = [parse_draft(most) for most in flags.drafts.split(",")]
    set_limits_and_cpus(flags)
    return flags


def parse_draft(text):
    if not re.fullmatch(r"[1-9]\d?", text):
        sys.exit(f"failed: --drafts: found {text}, expected most tokens of a draft, such as 4,8,16")
    return int(text)


def main():
    flags = parse_flags()
    try:
        if flags.check:
            check_limit_kills()
            return
        check_programs(flags.peer, ("llama-bench", "llama-speculative-simple"))
        check_models(flags.gguf, flags.tsr, flags.draft)
        check_limit_bites(flags.gguf)
        texts = prompts(flags)
        results = [measure(flags, share, texts) for share in flags.limits]
    except NoGroup as error:
        sys.exit(f"failed: {error}")
    print(table(results, flags))
    if flags.json:
        print(json.dumps({"threads": flags.threads, "tokens": flags.tokens, "texts": len(texts), "limits": results}))
    for result in results:
        if result["texts_changed"]:
            sys.exit(f"failed: {result['share']}: found other texts with the draft than without, expected the same")
        if result["of_plain"] is None:
            sys.exit(f"failed: {result['share']}: tessera gave no result")


if __name__ == "__main__":
    run_main(main)
