"""Asks llama.cpp and ours plain questions, and compares the shares of right answers; scripts/measure/compare_answers.sh calls it.

    python3 compare_answers.py --peer llama.cpp/build/bin --ours build/bin --model m.gguf --questions plain_questions.jsonl

A line of the questions is {"question": ..., "answers": [...]}. Each question is asked once a seed. Ours says which tokens the dialogue
is, the peer's own template must give the same tokens, and the peer gets these tokens. Both engines sample by SAMPLING alone. An answer
is right if one of the question's answers stands in it as a word.

The interval of the difference is a bootstrap over questions and, in each question, over its seeds. Another interval keeps the questions,
and draws seeds alone. Ends with 1 if ours is below the peer by more than the first interval.
"""
import contextlib
import json
import random
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [f"{ROOT}/scripts/measure/lib", f"{ROOT}/scripts/lib"]
from engines import check_programs  # noqa: E402
from json_lines import json_lines  # noqa: E402
from peer_server import PeerServer, check_server  # noqa: E402
from script_main import flag_parser, positive, run_main  # noqa: E402

CONTEXT = 512
MOST_TOKENS = 64
DRAWS = 10000
SAMPLING = {"temperature": 0.2, "top_p": 0.9, "top_k": 0, "min_p": 0}
# The peer's order is ours, too: top_p sees the probabilities at temperature 1.
PEER_SAMPLING = {**SAMPLING, "samplers": ["top_p", "temperature"], "repeat_penalty": 1}


def read_flags():
    flags = flag_parser(__doc__)
    for name in ("--peer", "--ours", "--model", "--questions"):
        flags.add_argument(name, required=True, metavar="PATH")
    flags.add_argument("--seeds", type=positive, default=20)
    flags.add_argument("--threads", type=positive, default=2)
    flags.add_argument("--json", action="store_true")
    given = flags.parse_args()
    check_server(given.peer)
    check_programs(given.ours, ["tessera_generate"])
    return given


def messages_of(question):
    return [{"role": "user", "content": question["question"]}]


def is_right(question, text):
    """Whether one of the answers stands in the text as a word: 4 does not stand in 14, in 4.5 or in 4th."""
    return any(re.search(rf"(?<![\w.]){re.escape(answer)}(?!\w|[.,]\d)", text, re.IGNORECASE) for answer in question["answers"])


def our_answers(given, questions):
    """A list for each question: the answer to each seed, as tessera_generate writes it."""
    asked = [{"id": f"{number}/{seed}", "messages": messages_of(question), "seed": seed, "n_predict": MOST_TOKENS, **SAMPLING}
             for number, question in enumerate(questions) for seed in range(given.seeds)]
    command = [f"{given.ours}/tessera_generate", f"--model={given.model}", "--jsonl", "--parallel=8", f"--threads={given.threads}",
               f"--context={CONTEXT}"]
    ended = subprocess.run(command, input="".join(json.dumps(request) + "\n" for request in asked), capture_output=True, text=True,
                           check=False)
    if ended.returncode != 0:
        sys.exit(f"failed: tessera_generate: {ended.stderr.strip()}")
    answers = [json.loads(line) for line in json_lines(ended.stdout)]
    if [answer["id"] for answer in answers] != [request["id"] for request in asked]:
        sys.exit(f"failed: tessera_generate: found {len(answers)} answers, expected {len(asked)} in the order of their requests")
    return [answers[at:at + given.seeds] for at in range(0, len(answers), given.seeds)]


def check_template(server, question, tokens):
    prompt = server.ask("/apply-template", {"messages": messages_of(question)})["prompt"]
    peers = server.ask("/tokenize", {"content": prompt, "add_special": False, "parse_special": True})["tokens"]
    if peers != tokens:
        sys.exit(f"failed: {question['question']}: found the tokens {tokens} for ours, expected llama.cpp's, {peers}")


def peer_texts(given, questions, prompts):
    """A list for each question: the text of each seed. prompts: the tokens of each question's dialogue."""
    texts = []
    with contextlib.closing(PeerServer(given.peer, given.model, given.threads, CONTEXT)) as server:
        server.wait()
        for question, tokens in zip(questions, prompts):
            print(f"llama.cpp: question {len(texts) + 1} of {len(questions)}", file=sys.stderr)
            check_template(server, question, tokens)
            texts.append([server.complete(tokens, MOST_TOKENS, {**PEER_SAMPLING, "seed": seed})["content"]
                          for seed in range(given.seeds)])
    return texts


def mean(numbers):
    return sum(numbers) / len(numbers)


def interval(means):
    """The 2.5th and the 97.5th percentile."""
    ordered = sorted(means)
    return [ordered[round(share * (len(ordered) - 1))] for share in (0.025, 0.975)]


def intervals(differences, draws=DRAWS):
    """differences: a list for each question, of ours minus the peer's for each seed. Returns the intervals of their mean: over questions
    and their seeds, and over seeds alone."""
    source = random.Random(0)

    def drawn(questions):
        return mean([mean(source.choices(question, k=len(question))) for question in questions])

    return (interval([drawn(source.choices(differences, k=len(differences))) for _ in range(draws)]),
            interval([drawn(differences) for _ in range(draws)]))


def compare(questions, ours, peer):
    """ours, peer: texts, a list for each question. Returns the figures, in shares of 1."""
    rights = [[[is_right(question, text) for text in texts] for question, texts in zip(questions, engine)] for engine in (ours, peer)]
    over_questions, over_seeds = intervals([[mine - other for mine, other in zip(*pair)] for pair in zip(*rights)])
    rows = [{"question": question["question"], "tessera": mean(mine), "llama.cpp": mean(other), "texts": {"tessera": mine_texts,
             "llama.cpp": other_texts}} for question, mine, other, mine_texts, other_texts in zip(questions, *rights, ours, peer)]
    shares = {engine: mean([row[engine] for row in rows]) for engine in ("tessera", "llama.cpp")}
    return {**shares, "difference": shares["tessera"] - shares["llama.cpp"], "interval": over_questions,
            "interval_over_seeds": over_seeds, "not_below": over_questions[1] >= 0, "questions": rows}


def points(numbers):
    return f"[{100 * numbers[0]:+.1f}, {100 * numbers[1]:+.1f}]"


def show(result, given):
    print(f"{len(result['questions'])} questions, {given.seeds} seeds each, temperature {SAMPLING['temperature']}, "
          f"top_p {SAMPLING['top_p']}, at most {MOST_TOKENS} tokens; right answers in %")
    width = max(len(row["question"]) for row in result["questions"])
    print(f"{'question':{width}}  tessera  llama.cpp")
    for name, row in [*((row["question"], row) for row in result["questions"]), ("all", result)]:
        print(f"{name:{width}}  {100 * row['tessera']:7.1f}  {100 * row['llama.cpp']:9.1f}")
    print(f"tessera - llama.cpp: {100 * result['difference']:+.1f}; 95 % interval, over questions and their seeds: "
          f"{points(result['interval'])}, over seeds alone: {points(result['interval_over_seeds'])}")
    print(f"below llama.cpp by more than the interval over questions: {'no' if result['not_below'] else 'yes'}")


def main():
    given = read_flags()
    questions = [json.loads(line) for line in json_lines(Path(given.questions).read_text("utf-8"))]
    ours = our_answers(given, questions)
    peer = peer_texts(given, questions, [answers[0]["prompt_tokens"] for answers in ours])
    result = compare(questions, [[answer["output_text"] for answer in answers] for answers in ours], peer)
    if given.json:
        print(json.dumps(result))
    else:
        show(result, given)
    if not result["not_below"]:
        sys.exit("failed: fewer answers of ours are right than of llama.cpp's")


if __name__ == "__main__":
    run_main(main)
