#!/usr/bin/env python3
"""Scores a model on held-out examples of a task of make_tasks.py, without an adapter and with one, in one run of tessera_generate.

    scripts/train/score_task.py --model model.gguf --task pirate --data tasks/pirate.held_out.jsonl --adapter tasks/pirate
    scripts/train/score_task.py --model model.gguf --task facts --data tasks/facts.held_out.jsonl

Each example is asked twice, once with the adapter, once with none, greedily, by requests that name the adapter. pirate: the share of
answers that are exactly right, and a score of style by rule, the mean of four: it begins with "Ahoy!"; it ends with ", matey!"; no word is
left for which a pirate has another; its words are those of the rule, in their order. facts: the share of answers whose JSON is exactly
right, and of fields that are. --show N prints the first N examples beside the answers. --json writes scores and answers. Texts are the same
each time.
"""
import json
import subprocess
import sys
from pathlib import Path

sys.path[1:1] = [f"{Path(__file__).resolve().parent}/lib", f"{Path(__file__).resolve().parents[1]}/lib"]
from dialogues import read_dialogues  # noqa: E402
from json_lines import json_lines  # noqa: E402
from make_tasks import BEGIN, END, SAID, TASKS  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

NAME = "task"   # What requests call the adapter.
FIELDS = ("name", "date", "place")


def read_flags():
    flags = flag_parser(__doc__)
    flags.add_argument("--model", required=True, metavar="FILE")
    flags.add_argument("--task", required=True, choices=TASKS)
    flags.add_argument("--data", required=True, metavar="FILE")
    flags.add_argument("--adapter", metavar="PATH")
    flags.add_argument("--n_predict", type=positive, default=80)
    flags.add_argument("--parallel", type=positive, default=4)
    flags.add_argument("--show", type=int, default=0)
    flags.add_argument("--json", action="store_true")
    flags.add_argument("--bin", default="build/bin", metavar="FOLDER")
    given = flags.parse_args()
    if given.adapter is not None and ("," in given.adapter or ":" in given.adapter):
        flags.error(f"--adapter: found {given.adapter}, expected a path without commas and colons")
    return given


def read_examples(path):
    """(messages but the last, the answer that is expected) of each line."""
    examples = read_dialogues(path)
    if not examples:
        raise SystemExit(f"{path}: found no dialogue, expected some")
    return examples


def ways_of(given):
    return ("without", "with") if given.adapter is not None else ("without",)


def ask(given, examples):
    """{way: answers}, by one run."""
    program = Path(given.bin) / "tessera_generate"
    if not program.exists():
        raise SystemExit(f"{program} is missing, expected a program that scripts/build.sh makes (--bin)")
    ways = ways_of(given)
    # A request that names no adapter has the only one of the flag; null says that it has none.
    named = {"without": {} if given.adapter is None else {"adapter": None}, "with": {"adapter": NAME}}
    requests = [{"id": f"{way} {i}", "messages": messages} | named[way] for way in ways for i, (messages, _) in enumerate(examples)]
    flags = [f"--model={given.model}", "--jsonl", "--temperature=0", f"--n_predict={given.n_predict}", f"--parallel={given.parallel}"]
    if given.adapter is not None:
        flags.append(f"--adapter={NAME}:{given.adapter}")
    ended = subprocess.run([str(program), *flags], input="".join(json.dumps(each) + "\n" for each in requests), capture_output=True,
                           text=True)
    if ended.returncode != 0:
        raise SystemExit(f"{program}: {ended.stderr.strip()}")
    texts = {answer["id"]: answer["output_text"] for answer in map(json.loads, json_lines(ended.stdout))}
    return {way: [texts[f"{way} {i}"] for i in range(len(examples))] for way in ways}


def exact(answer, expected):
    return float(answer.strip() == expected)


def bare_words(text):
    return [word.strip('.,;:!?"').lower() for word in text.split()]


def pirate_style(answer, expected):
    """The mean of four parts of the rule, each from 0 to 1; 0 for an answer without words."""
    answer, words = answer.strip(), bare_words(answer)
    if not words:
        return 0.0
    changed = 1 - sum(word in SAID for word in words) / len(words)
    return (answer.startswith(BEGIN) + answer.endswith(END) + changed + kept(words, bare_words(expected))) / 4


def kept(words, wanted):
    """The longest common part in order, as a share of the longer one."""
    row = [0] * (len(wanted) + 1)
    for word in words:
        above, row = row, [0] * (len(wanted) + 1)
        for i, other in enumerate(wanted):
            row[i + 1] = above[i] + 1 if word == other else max(row[i], above[i + 1])
    return row[-1] / max(len(words), len(wanted), 1)


def read_object(answer):
    """The object that the answer is; None: it is none."""
    try:
        found = json.loads(answer)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def facts_exact(answer, expected):
    return float(read_object(answer) == json.loads(expected))


def facts_fields(answer, expected):
    found, wanted = read_object(answer) or {}, json.loads(expected)
    return sum(found.get(field) == wanted[field] for field in FIELDS) / len(FIELDS)


SCORES = {"pirate": {"exactly right": exact, "style": pirate_style},
          "facts": {"exactly right": facts_exact, "fields right": facts_fields}}


def scores_of(task, answers, examples):
    return {name: sum(score(answer, expected) for answer, (_, expected) in zip(answers, examples)) / len(examples)
            for name, score in SCORES[task].items()}


def table(task, scores):
    """A line per score, a column per way."""
    ways = list(scores)
    names = {"without": "without adapter", "with": "with adapter"}
    lines = [f"{task:<16}" + "".join(f"{names[way]:>17}" for way in ways)]
    lines += [f"{name:<16}" + "".join(f"{100 * scores[way][name]:>15.1f} %" for way in ways) for name in SCORES[task]]
    return "\n".join(lines)


def show(examples, answers, count):
    for i, (messages, expected) in enumerate(examples[:count]):
        print(f"asked:     {messages[-1]['content']}\nexpected:  {expected}")
        for way, texts in answers.items():
            print(f"{way + ':':<10} {texts[i].strip()}")
        print()


def main():
    given = read_flags()
    examples = read_examples(given.data)
    answers = ask(given, examples)
    scores = {way: scores_of(given.task, texts, examples) for way, texts in answers.items()}
    if given.json:
        print(json.dumps({"task": given.task, "examples": len(examples), "scores": scores, "answers": answers}))
        return
    show(examples, answers, given.show)
    print(table(given.task, scores))


if __name__ == "__main__":
    run_main(main)
