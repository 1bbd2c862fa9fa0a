"""Labels of answers, as `tessera_scale texts` writes them, and how well scores tell right answers from wrong ones. The standard library is
enough.

    labels = read_labels("labels.jsonl")
    labels[0].right, labels[0].ends, labels[0].trained         # True, [140, 171], of the half that is trained on
    held = questions_of(labels, [i for i, label in enumerate(labels) if not label.trained])
    auc(held, scores)                                          # how often a right answer has the larger score than a wrong one
    best_of(held[0], labels, scores, 4)                        # how likely the best of 4 of a question's answers is right
    interval(values)                                           # 95 % of the mean, questions drawn again

The half is that of apps/lab/scale/judging/candidates.h: the lowest bit of the FNV-1a hash (64 bits) of the problem's statement, 0 for
training.
"""
import json
import math
import random
from pathlib import Path
from typing import NamedTuple

from json_lines import json_lines

RESAMPLES = 1000


class Label(NamedTuple):
    question: str
    trained: bool        # It is in the half that is trained on.
    right: bool
    answers: bool        # It has an answer at all.
    tokens: int
    ends: list           # Places of the last tokens of its steps, in all of its tokens.
    figures: dict


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode("utf-8"):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def is_trained(statement):
    return fnv1a(statement) % 2 == 0


def label_of(record):
    ends, tokens = record["ends"], record["tokens"]
    if not ends or ends != sorted(set(ends)) or ends[0] < 0 or ends[-1] >= tokens:
        raise ValueError
    figures = {name: float(value) for name, value in record["figures"].items()}
    return Label(question=str(record["question"]), trained=is_trained(record["statement"]), right=record["right"] is True,
                 answers=record["answer"] is not None, tokens=tokens, ends=ends, figures=figures)


def read_labels(path):
    if not Path(path).is_file():
        raise SystemExit(f"{path}: found no file, expected labels, as tessera_scale texts writes them")
    labels = []
    for number, line in enumerate(json_lines(Path(path).read_text("utf-8")), 1):
        if not line.strip():
            continue
        try:
            labels.append(label_of(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SystemExit(f"{path}, line {number}: found {line[:60]!r}, expected a label of tessera_scale texts") from None
    for half in (True, False):
        rights = {label.right for label in labels if label.trained == half}
        if len(rights) < 2:
            name = "trained on" if half else "held out"
            found = "no" if not rights else "only right" if True in rights else "only wrong"
            raise SystemExit(f"{path}: found {found} answers in the half that is {name}, expected right and wrong ones")
    return labels


def questions_of(labels, places):
    """Lists of places, one for each question, in the order in which questions come first."""
    questions = {}
    for place in places:
        questions.setdefault(labels[place].question, []).append(place)
    return list(questions.values())


def auc(questions, labels, scores):
    """The area under the curve: of all pairs of a right and a wrong answer, how many have their scores in this order; ties count half.
    Nothing where all are right, or all wrong."""
    order = sorted((scores[place], labels[place].right) for question in questions for place in question)
    rights = sum(right for _, right in order)
    wrongs = len(order) - rights
    if rights == 0 or wrongs == 0:
        return None
    total, below, at = 0.0, 0, 0
    while at < len(order):
        end = at
        while end < len(order) and order[end][0] == order[at][0]:
            end += 1
        right = sum(each[1] for each in order[at:end])
        wrong = end - at - right
        total += right * (below + wrong / 2)
        below += wrong
        at = end
    return total / rights / wrongs


def best_of(question, labels, scores, count):
    """How likely the answer of the largest score among `count` of the question's, in any order, is right. One without an answer comes after
    all others; among equals any may be the first."""
    rank = lambda place: (labels[place].answers, scores[place])
    order = sorted(question, key=rank, reverse=True)
    ways, total, chance, above = math.comb(len(order), count), 0.0, 0, 0
    while above < len(order):
        equals = [place for place in order[above:] if rank(place) == rank(order[above])]
        # None of those above is among the chosen, and one of the equals is.
        chance = (math.comb(len(order) - above, count) - math.comb(len(order) - above - len(equals), count)) / ways
        total += chance * sum(labels[place].right for place in equals) / len(equals)
        above += len(equals)
    return total


def quantiles(values):
    values = sorted(values)
    at = lambda share: values[min(len(values) - 1, int(share * len(values)))]
    return [at(0.025), at(0.975)]


def interval(values, seed=0):
    """(mean, low, high) of values, one for each question."""
    draw = random.Random(seed)
    means = [sum(draw.choices(values, k=len(values))) / len(values) for _ in range(RESAMPLES)]
    return (sum(values) / len(values), *quantiles(means))


def auc_interval(questions, labels, scores, seed=0, resamples=200):
    draw, found = random.Random(seed), []
    for _ in range(resamples):
        value = auc(draw.choices(questions, k=len(questions)), labels, scores)
        if value is not None:
            found.append(value)
    return (auc(questions, labels, scores), *quantiles(found))
