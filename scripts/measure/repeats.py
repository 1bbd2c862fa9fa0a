#!/usr/bin/env python3
"""Counts answers that repeat themselves, to README's example questions at default settings.

    python3 scripts/measure/repeats.py [--all] [--seeds 20] [--bin build/bin] [--model NAME] [--show] [--json] [-- --temperature=0.8 ...]

Each question is answered once per seed by tessera_generate --jsonl, with the program's defaults and, behind --, other flags; --all adds
questions that README does not ask. Counted is an answer in which a line stands twice, or a run: a stretch of up to 200 characters, three
times or more at once, 24 characters or more together. Blanks alone, and lines without a letter or digit, are no line and no run: a list
of code has both. --show writes each answer that is counted. The exit code is 1 if an answer to README's questions is one of them.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import check_programs  # noqa: E402
from json_lines import json_lines  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

SKY, FRANCE, HELLO = "Why is the sky blue?", "What is the capital of France?", "Hello"
BRIEF = "You answer briefly."


def asked(question, system=None, **more):
    messages = [{"role": "system", "content": system}] if system else []
    return {"messages": [*messages, {"role": "user", "content": question}], **more}


def in_readmes_dialogue(question):
    return asked(question, BRIEF, repetition_penalty=1.1)


# README's questions with README's flags; README leaves open which messages a dialogue has.
OF_README = {
    SKY: asked(SKY),
    "The capital of France is (8 tokens)": {"text": "The capital of France is", "n": 8},
    f"--chat: {SKY}": in_readmes_dialogue(SKY),
    f"--chat: {FRANCE}": in_readmes_dialogue(FRANCE),
    f"--chat: {HELLO}": in_readmes_dialogue(HELLO),
}
# To compare: questions without the penalty.
OTHERS = {
    FRANCE: asked(FRANCE),
    HELLO: asked(HELLO),
    f"briefly: {SKY}": asked(SKY, BRIEF),
    f"briefly: {FRANCE}": asked(FRANCE, BRIEF),
    f"briefly: {HELLO}": asked(HELLO, BRIEF),
}
TOGETHER = 16     # Texts per pass.
SHORTEST_RUN = 24
RUN = re.compile(r"(.{1,200}?)\1{2,}", re.DOTALL)


def repeated(text):
    """The first line or run that an answer repeats; None: it repeats nothing."""
    seen = set()
    for line in map(str.strip, text.split("\n")):
        if any(map(str.isalnum, line)):
            if line in seen:
                return line
            seen.add(line)
    runs = (found for found in RUN.finditer(text) if len(found[0]) >= SHORTEST_RUN and not found[1].isspace())
    return next((found[0] for found in runs), None)


def requests(questions, seeds):
    return [{"id": f"{name} {seed}", "seed": seed, **question} for name, question in questions.items() for seed in range(seeds)]


def answers(flags, questions):
    command = [f"{flags.bin}/tessera_generate", "--jsonl", f"--parallel={TOGETHER}", *flags.others]
    if flags.model:
        command.append(f"--model={flags.model}")
    text = "".join(json.dumps(request) + "\n" for request in requests(questions, flags.seeds))
    run = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"failed: {' '.join(command)} ended with {run.returncode}; its messages stand above")
    return [json.loads(line) for line in json_lines(run.stdout)]


def figures_of(name, lines):
    counted = [(line["id"], found, line["output_text"]) for line in lines if (found := repeated(line["output_text"])) is not None]
    return {"question": name, "answers": len(lines), "repeat": len(counted),
            "cut": sum(line["finish"] != "end of text" for line in lines),
            "tokens": round(sum(line["counts"]["output"] for line in lines) / len(lines)),
            "examples": [{"id": id, "repeated": found, "text": text} for id, found, text in counted]}


def parse_flags(arguments=None):
    flags = flag_parser(__doc__)
    flags.add_argument("--all", action="store_true")
    flags.add_argument("--seeds", type=positive, default=20)
    flags.add_argument("--bin", default=str(ROOT / "build/bin"))
    flags.add_argument("--model")
    flags.add_argument("--show", action="store_true")
    flags.add_argument("--json", action="store_true")
    flags.add_argument("others", nargs="*")
    flags = flags.parse_args(arguments)
    check_programs(flags.bin, ("tessera_generate",))
    return flags


def main():
    flags = parse_flags()
    questions = OF_README | (OTHERS if flags.all else {})
    lines = answers(flags, questions)
    rows = [figures_of(name, [line for line in lines if line["id"].rsplit(" ", 1)[0] == name]) for name in questions]
    if flags.json:
        print(json.dumps(rows))
    else:
        print(f"{'question':<42} {'answers':>8} {'repeat':>7} {'cut':>4} {'tokens':>7}")
        for row in rows:
            print(f"{row['question']:<42} {row['answers']:>8} {row['repeat']:>7} {row['cut']:>4} {row['tokens']:>7}")
        of_readme = [row for row in rows if row["question"] in OF_README]
        print(f"{sum(row['repeat'] for row in of_readme)} of {sum(row['answers'] for row in of_readme)} answers to README's questions "
              "repeat a line or a run of characters")
    for row in rows if flags.show else []:
        for example in row["examples"]:
            print(f"\n{example['id']}: {example['repeated'][:80]!r}\n{example['text']}")
    sys.exit(1 if any(row["repeat"] for row in rows if row["question"] in OF_README) else 0)


if __name__ == "__main__":
    run_main(main)
