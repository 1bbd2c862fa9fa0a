#!/usr/bin/env python3
"""Comments in headers, help texts, documents and names of tests use nouns: words that stand for a noun are counted, and may only get fewer.

    scripts/checks/check_prose.py                    compares each group with its bounds (prose_bounds.tsv)
    scripts/checks/check_prose.py --show PATH...     lists the sentences that are counted in these files or folders
    scripts/checks/check_prose.py --lower            writes lower bounds, as far as the prose has become better

A group is the headers of a layer, the help texts or the documents. Per 1,000 words of its prose are counted: "what" and "whatever"; "it",
"its", "they", "those" and "these"; and prepositions before "which" or "that". The fourth number is the share of sentences with more than
25 words. Neither code nor what stands in quotes is counted. Names of tests count if they have What, Those, They, It or Which."""
import re
import sys
from pathlib import Path

shown = sys.argv[sys.argv.index("--show") + 1:] if "--show" in sys.argv else []
lowers = "--lower" in sys.argv
if shown or lowers: del sys.argv[1:]

from sources import files, problems, report, text  # noqa: E402: reads the arguments that are left.

BOUNDS = "scripts/checks/prose_bounds.tsv"
LAYERS = ("base", "tensor", "quant", "npu", "storage", "model", "spec", "runtime")
PREPOSITIONS = "after at before beside between by for from in of on over than to under with within without".split()
COUNTED = (
    ("what", r"\b(?:what|whatever)\b"),
    ("pronouns", r"\b(?:it|its|they|those|these)\b"),
    ("which", rf"\b(?:{'|'.join(PREPOSITIONS)}) (?:which|that)\b"),
)
LONG = 25
TEST_NAME = r"\bTEST(?:_F|_P)?\(\s*\w+,\s*(\w+)"
VAGUE_NAME = r"(?:What|Those|They|It|Which)(?![a-z])"
STRING = r'"((?:[^"\\\n]|\\.)*)"'


def paragraphs_of_comments(content):
    """Returns the paragraphs of // comments, each as (line, text); indented lines of a comment are code."""
    found, lines = [], []
    def end():
        if lines: found.append((lines[0][0], " ".join(words for _, words in lines)))
        lines.clear()
    for number, line in enumerate(content.splitlines(), 1):
        whole = re.match(r"\s*//+ ?(.*)$", line)
        if whole and whole[1].strip() and not whole[1].startswith("  "):
            lines.append((number, whole[1].strip()))
            continue
        end()
        behind = None if whole else re.search(r"\s//+ (.*)$", line)
        if behind: found.append((number, behind[1]))
    end()
    return found


def paragraphs_of_markdown(content):
    """Returns the paragraphs of running text, each as (line, text); tables, code and headings have none."""
    content = re.sub(r"^[ \t]*```.*?^[ \t]*```", lambda match: re.sub(r"[^\n]", "", match.group()), content, flags=re.DOTALL | re.MULTILINE)
    found = []
    for block in re.finditer(r"(?:[^\n]*\S[^\n]*\n?)+", content):
        lines = [line for line in block.group().splitlines() if not line.lstrip().startswith(("|", "#"))]
        line = content.count("\n", 0, block.start()) + 1
        found += [(line, part) for part in re.split(r"(?:^|\s)[-*]\s|(?:^|\s)\d+\.\s", " ".join(lines)) if part and part.strip()]
    return found


def paragraphs_of_help(content):
    """Returns the help of each flag of DEFINE_*, as (line, text)."""
    found = []
    for flag in re.finditer(r"\bDEFINE_\w+\((?:[^()\"]|\([^()]*\)|" + STRING + r")*\)", content):
        strings = re.findall(STRING, flag.group().partition(",")[2])
        found.append((content.count("\n", 0, flag.start()) + 1, "".join(strings)))
    return found


def sentences(paragraphs):
    for line, paragraph in paragraphs:
        plain = re.sub(r"`[^`]*`|\"[^\"]*\"|\[([^\]]*)\]\([^)]*\)", lambda match: match[1] or "x", paragraph)
        for sentence in re.split(r"(?<=[.!?])\s+", plain):
            if sentence.strip(): yield line, sentence


def is_long(sentence):
    return len(re.findall(r"[A-Za-z0-9_][\w'-]*", sentence)) > LONG


def prose_of(path):
    if path.endswith(".md"): return paragraphs_of_markdown(text(path))
    if path.endswith(".h"): return paragraphs_of_comments(text(path))
    return paragraphs_of_help(text(path)) if path.endswith(".cc") else []


def measure(paths):
    """Returns (words, numbers): the counts per 1,000 words in the order of COUNTED, then the percentage of long sentences."""
    every = [sentence for path in paths for _, sentence in sentences(prose_of(path))]
    words = sum(len(re.findall(r"[A-Za-z][A-Za-z'-]*", sentence)) for sentence in every)
    counts = [1000 * sum(len(re.findall(rule, sentence, re.IGNORECASE)) for sentence in every) / max(words, 1) for _, rule in COUNTED]
    return words, [*counts, 100 * sum(map(is_long, every)) / max(len(every), 1)]


def groups():
    for layer in LAYERS: yield layer, files(f"{layer}/*.h")
    yield "help", files("apps/*.cc")
    yield "docs", [path for path in files("docs/*.md", "README.md") if not path.startswith("docs/results/")]


def vague_tests():
    names = [name for path in files("tests/*.cc") for name in re.findall(TEST_NAME, text(path))]
    return 100 * sum(bool(re.search(VAGUE_NAME, name)) for name in names) / max(len(names), 1)


def measured():
    """Returns {(group, what is counted): number}."""
    numbers = {}
    for group, paths in groups():
        for kind, number in zip([name for name, _ in COUNTED] + ["long"], measure(paths)[1]): numbers[group, kind] = number
    numbers["tests", "names"] = vague_tests()
    return numbers


def bounds():
    rows = [line.split("\t") for line in text(BOUNDS).splitlines() if line and not line.startswith("#")]
    return {(group, kind): (float(bound), float(wanted)) for group, kind, bound, wanted in rows}


def show(names):
    for path in [found for name in names for found in files(name, f"{name.rstrip('/')}/*")]:
        for line, sentence in sentences(prose_of(path)):
            reasons = [kind for kind, rule in COUNTED if re.search(rule, sentence, re.IGNORECASE)] + ["long"] * is_long(sentence)
            if reasons: print(f"{path}:{line}: {', '.join(reasons)}: {sentence}")
    paths = [found for name in names for found in files(name, f"{name.rstrip('/')}/*")]
    print("words %d; what %.1f, pronouns %.1f, which %.1f, long %.1f %%" % (measure(paths)[0], *measure(paths)[1]))


def lower():
    numbers, old = measured(), bounds()
    head = [line for line in text(BOUNDS).splitlines() if line.startswith("#")]
    rows = [f"{group}\t{kind}\t{max(wanted, min(bound, round(numbers[group, kind] + 0.05, 1))):g}\t{wanted:g}"
            for (group, kind), (bound, wanted) in old.items()]
    Path(BOUNDS).write_text("\n".join(head + rows) + "\n")


def main():
    if shown: return show(shown)
    if lowers: return lower()
    numbers, most = measured(), bounds()
    for key in sorted(set(numbers) ^ set(most)): problems.append(f"{BOUNDS}: {key}: stands in one of file and check")
    for (group, kind), (bound, wanted) in most.items():
        found = numbers.get((group, kind), 0)
        if found > bound: problems.append(f"{group}: {kind}: found {found:.2f}, at most {bound:g} (--show lists the sentences)")
        if bound > max(wanted, 1.1 * found + 0.1):
            problems.append(f"{group}: {kind}: found {found:.2f}, so the bound {bound:g} falls: scripts/checks/check_prose.py --lower")
    report("prose names its nouns")


if __name__ == "__main__":
    main()
