"""Chat templates are rendered as the package jinja2 renders them, set up as the package transformers does.

    python3 tests/jinja_test.py -v
    python3 tests/jinja_test.py --cases 100000 --seed 7        # random templates by the many; prints what differs

Compared are all templates in the source of llama.cpp (scripts/fetch_peer_source.sh) with thirty dialogues each, and random templates
over the constructs that those use. Texts must be the same byte by byte, with an error where jinja2 has one."""
import argparse
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "templates"))
from dialogues import DIALOGUES  # noqa: E402
from random_templates import random_case  # noqa: E402
from reference import ROOT, expected, found  # noqa: E402

REFUSED = ("not supported", "beyond 64 bits")  # What a random template may ask for and is refused by name.


def differences(cases, may_refuse=False):
    """(template's number, render's number, what jinja2 gave, what we gave), and how many were refused."""
    wrong, refused = [], 0
    for number, ((source, renders), ours) in enumerate(zip(cases, found(cases))):
        for place, (theirs, mine) in enumerate(zip(expected(source, renders), ours)):
            if theirs is not None and may_refuse and any(word in mine.get("error", "") for word in REFUSED):
                refused += 1
            elif theirs != mine.get("text"):
                wrong.append((number, place, theirs, mine.get("text", mine.get("error"))))
    return wrong, refused


def vendor_templates():
    folder = subprocess.run(["bash", str(ROOT / "scripts" / "fetch_peer_source.sh")], capture_output=True, text=True,
    check=True).stdout.strip()
    return sorted(Path(folder, "models", "templates").glob("*.jinja"))


class JinjaTest(unittest.TestCase):
    def test_vendor_templates_give_the_same_texts(self):
        paths = vendor_templates()
        self.assertGreaterEqual(len(paths), 70)
        wrong, _ = differences([(path.read_text(encoding="utf-8"), DIALOGUES) for path in paths])
        told = [f"{paths[number].name}, dialogue {place}:\n  jinja2: {theirs!r}\n  found:  {mine!r}" for number, place, theirs,
            mine in wrong[:5]]
        self.assertFalse(wrong, f"{len(wrong)} differ\n" + "\n".join(told))

    def test_random_templates_give_the_same_texts(self):
        cases = [random_case(seed) for seed in range(2500)]
        wrong, refused = differences(cases, may_refuse=True)
        told = [f"{cases[number][0]!r}:\n  jinja2: {theirs!r}\n  found:  {mine!r}" for number, place, theirs, mine in wrong[:5]]
        self.assertFalse(wrong, f"{len(wrong)} differ\n" + "\n".join(told))
        self.assertLess(refused, len(cases) / 20)

    def test_letters_have_the_case_that_python_gives_them(self):
        letters = [chr(code) for code in range(1, 0x11000) if not 0xD800 <= code < 0xE000]
        one_to_one = "".join(letter for letter in letters if len(letter.upper()) == len(letter.lower()) == 1 and letter not in "Σ\r")
        source = "{% for c in text %}{{ c|upper }}{{ c|lower }}{% endfor %}"
        texts = found([(source, [{"text": one_to_one}])])[0]
        self.assertEqual(texts[0].get("text"), "".join(letter.upper() + letter.lower() for letter in one_to_one))

    def test_words_of_the_data_are_known_as_such(self):
        source = "<|user|>{{ m|trim|upper|replace('B', '<|x|>') }}{{ {'k': m}|tojson }}{{ m[1:3] ~ '<|end|>' }}"
        result = found([(source, [{"m": " a<|end|>b "}])])[0][0]
        text = result["text"].encode()
        data = [text[begin:end].decode() for begin, end in result["data"]]
        self.assertEqual(text.decode(), '<|user|>A<|END|><|x|>{"k": " a<|end|>b "}a<<|end|>')
        self.assertEqual(data, ["A<|END|>", " a<|end|>b ", "a<"])


def many(count, seed):
    """Random templates by the many, for a person."""
    total = 0
    for first in range(seed * 10_000_000, seed * 10_000_000 + count, 2000):
        cases = [random_case(number) for number in range(first, min(first + 2000, seed * 10_000_000 + count))]
        wrong, refused = differences(cases, may_refuse=True)
        total += len(wrong)
        for number, _, theirs, mine in wrong[:3]:
            print(f"{cases[number]!r}:\n  jinja2: {theirs!r}\n  found:  {mine!r}")
        print(f"{first + len(cases) - seed * 10_000_000} cases: {total} differ; {refused} of the last {len(cases)} refused", flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options, rest = parser.parse_known_args()
    if options.cases:
        sys.exit(many(options.cases, options.seed))
    unittest.main(argv=[sys.argv[0], *rest])
