"""Tests of scripts/measure/compare_answers.py, with engines that answer as they are told.

    python3 tests/compare_answers_test.py -v
"""
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path[1:1] = [str(ROOT / "scripts/measure")]
import compare_answers  # noqa: E402
from compare_answers import intervals, is_right  # noqa: E402

QUESTIONS = [{"question": "What is 2 + 2?", "answers": ["4", "four"]},
             {"question": "Which day comes after Monday?", "answers": ["Tuesday"]}]
# Answers each request with the text of its question, and a token for each question.
OURS = """#!/usr/bin/env python3
import json, sys
texts = json.load(open({texts!r}))
for line in sys.stdin:
    request = json.loads(line)
    assert (request["temperature"], request["top_p"], request["top_k"], request["min_p"]) == (0.2, 0.9, 0, 0), request
    number, seed = map(int, request["id"].split("/"))
    assert request["seed"] == seed and request["messages"][0]["content"] == texts[number][0], request
    print(json.dumps({{"id": request["id"], "prompt_tokens": [1, number], "output_text": texts[number][1 + seed]}}))
"""


class FakeServer:
    """The peer: its template writes the number of a question, its text for a seed is one of `texts`."""
    texts, template_token, asked = [], 1, []

    def __init__(self, *_):
        pass

    def wait(self):
        pass

    def close(self):
        pass

    def ask(self, path, body):
        if path == "/apply-template":
            return {"prompt": str([question["question"] for question in QUESTIONS].index(body["messages"][0]["content"]))}
        return {"tokens": [self.template_token, int(body["content"])]}

    def complete(self, tokens, most, more):
        self.asked.append(more)
        return {"content": self.texts[tokens[1]][more["seed"]]}


class Rights(unittest.TestCase):
    def test_an_answer_is_right_if_a_word_of_it_is_right(self):
        for text in ("4", "It is 4.", "2 + 2 = 4", "Four, of course.", "**4**", "the answer is:\n4\n"):
            self.assertTrue(is_right(QUESTIONS[0], text), text)

    def test_a_part_of_a_word_or_number_is_not_right(self):
        for text in ("", "14", "40", "4.5", "4,000", "3.4", "4th", "fourteen", "2 + 2 = 5"):
            self.assertFalse(is_right(QUESTIONS[0], text), text)


class Intervals(unittest.TestCase):
    def test_equal_engines_have_an_interval_of_zero(self):
        self.assertEqual(intervals([[0, 0], [0, 0]], 50), ([0, 0], [0, 0]))

    def test_the_interval_over_questions_holds_the_differences_between_questions(self):
        over_questions, over_seeds = intervals([[1] * 20, [-1] * 20, [0] * 20, [0] * 20], 1000)
        self.assertEqual(over_seeds, [0, 0])
        self.assertLess(over_questions[0], -0.4)
        self.assertGreater(over_questions[1], 0.4)

    def test_seeds_that_differ_widen_both(self):
        over_questions, over_seeds = intervals([[1, -1] * 10] * 4, 1000)
        for low, high in (over_questions, over_seeds):
            self.assertTrue(-0.4 < low < -0.1 and 0.1 < high < 0.4, (low, high))


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "questions").write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS))
        (self.folder / "llama-server").touch(0o755)
        FakeServer.texts, FakeServer.template_token, FakeServer.asked = [["It is 4.", "5"], ["Tuesday", "Tuesday"]], 1, []
        self.ours([["4", "four"], ["Tuesday", "Sunday"]])

    def ours(self, texts):
        (self.folder / "texts").write_text(json.dumps([[question["question"], *each] for question, each in zip(QUESTIONS, texts)]))
        self.program(OURS.format(texts=str(self.folder / "texts")))

    def program(self, text):
        (self.folder / "tessera_generate").write_text(text)
        (self.folder / "tessera_generate").chmod(0o755)

    def run_script(self, *flags):
        """Returns what it printed and, if it failed, its last words."""
        where = ["--peer", self.folder, "--ours", self.folder, "--model", "m", "--questions", self.folder / "questions", "--seeds", "2"]
        printed, failure = io.StringIO(), ""
        with mock.patch.object(compare_answers, "PeerServer", FakeServer), mock.patch.object(compare_answers, "DRAWS", 200), \
                mock.patch.object(sys, "argv", ["compare_answers.py", *map(str, where), *flags]), \
                contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            try:
                compare_answers.main()
            except SystemExit as ended:
                failure = ended.code
        return printed.getvalue(), failure

    def test_shares_are_those_of_the_answers_of_all_seeds(self):
        result = json.loads(self.run_script("--json")[0])
        self.assertEqual([(row["tessera"], row["llama.cpp"]) for row in result["questions"]], [(1, 0.5), (0.5, 1)])
        self.assertEqual((result["tessera"], result["llama.cpp"], result["difference"], result["not_below"]), (0.75, 0.75, 0, True))
        self.assertEqual(result["questions"][0]["texts"], {"tessera": ["4", "four"], "llama.cpp": ["It is 4.", "5"]})

    def test_the_table_has_a_row_for_each_question_and_one_for_all(self):
        printed, failure = self.run_script()
        self.assertEqual(failure, "")
        self.assertRegex(printed, r"What is 2 \+ 2\? +100\.0 +50\.0\n")
        self.assertRegex(printed, r"\nall +75\.0 +75\.0\ntessera - llama\.cpp: \+0\.0; 95 % interval")
        self.assertTrue(printed.endswith("below llama.cpp by more than the interval over questions: no\n"), printed)

    def test_an_engine_that_is_always_wrong_is_below(self):
        self.ours([["5", "5"], ["Sunday", "Sunday"]])
        FakeServer.texts = [["4", "4"], ["Tuesday", "Tuesday"]]
        printed, failure = self.run_script()
        self.assertEqual(failure, "failed: fewer answers of ours are right than of llama.cpp's")
        self.assertIn("interval over questions: yes\n", printed)

    def test_the_peer_has_the_same_sampling_and_no_sampler_but_these(self):
        self.run_script()
        self.assertEqual([asked["seed"] for asked in FakeServer.asked], [0, 1, 0, 1])
        for asked in FakeServer.asked:
            self.assertEqual((asked["temperature"], asked["top_p"], asked["samplers"]), (0.2, 0.9, ["top_p", "temperature"]))

    def test_a_template_that_gives_other_tokens_is_an_error(self):
        FakeServer.template_token = 9
        self.assertEqual(self.run_script()[1], "failed: What is 2 + 2?: found the tokens [1, 0] for ours, expected llama.cpp's, [9, 0]")

    def test_an_engine_that_fails_is_named(self):
        self.program("#!/bin/sh\necho no model >&2\nexit 1\n")
        self.assertEqual(self.run_script()[1], "failed: tessera_generate: no model")

    def test_a_missing_answer_is_an_error(self):
        self.program("#!/bin/sh\nexit 0\n")
        self.assertIn("found 0 answers, expected 4", self.run_script()[1])


class Script(unittest.TestCase):
    def test_a_comparison_that_cannot_be_is_refused_before_anything_is_built(self):
        for flags, said in ((["--seeds", "0"], "--seeds: found 0, expected a whole number"), (["--threads"], "--threads needs a value"),
                            (["--speed"], "unknown argument --speed")):
            result = subprocess.run(["bash", str(ROOT / "scripts/measure/compare_answers.sh"), *flags], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertIn(said, result.stderr)

    def test_the_twenty_questions_have_answers_that_they_do_not_say_themselves(self):
        lines = (ROOT / "scripts/measure/plain_questions.jsonl").read_text("utf-8").splitlines()
        questions = [json.loads(line) for line in lines]
        self.assertEqual(len({question["question"] for question in questions}), 20)
        for question in questions:
            self.assertFalse(is_right(question, question["question"]), question)
            self.assertTrue(all(is_right(question, f"It is {answer}.") for answer in question["answers"]), question)


if __name__ == "__main__":
    unittest.main()
