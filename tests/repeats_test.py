"""Tests of scripts/measure/repeats.py, and by it of the answers to README's example questions at default settings.

    python3 tests/repeats_test.py -v
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts/measure/repeats.py"
sys.dont_write_bytecode = True
sys.path[1:1] = [str(ROOT / "scripts/measure")]
from repeats import OF_README, OTHERS, repeated  # noqa: E402


class RepeatedTest(unittest.TestCase):
    def test_a_line_that_stands_twice_is_found(self):
        self.assertEqual(repeated("One.\nTwo.\n  One.\n"), "One.")
        self.assertEqual(repeated("- a\n- b\n- a"), "- a")

    def test_a_run_of_characters_is_found(self):
        self.assertEqual(repeated("Well: " + "-" * 24), "-" * 24)
        self.assertEqual(repeated("It is blue and red and green and red and green and red and green."),
                         " and red and green and red and green and red and green")
        self.assertIsNotNone(repeated("The sky is blue. " * 3))

    def test_a_text_that_repeats_nothing_has_none(self):
        for text in ("", "One.\nTwo.\n\n\nThree.", "for i in x:\n    {\n    }\n    {\n    }", "a = 1" + " " * 40 + "b", "-" * 23,
                     "ha ha ha"):
            self.assertIsNone(repeated(text), text)


class CountTest(unittest.TestCase):
    def count(self, answer, *flags):
        """The script, with a program that gives `answer` for each request; its exit code and rows."""
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "tessera_generate")
            program.write_text(f"#!{sys.executable}\nimport json, sys\nfor line in sys.stdin:\n    id = json.loads(line)['id']\n"
                               f"    print(json.dumps({{'id': id, 'output_text': {answer}, 'finish': 'end of text', "
                               "'counts': {'output': 3}}))\n")
            program.chmod(0o755)
            run = subprocess.run([sys.executable, str(SCRIPT), f"--bin={folder}", "--json", *flags], capture_output=True, text=True)
            return run.returncode, json.loads(run.stdout)

    def test_each_question_is_asked_with_each_seed(self):
        code, rows = self.count("id", "--seeds=3")
        self.assertEqual(code, 0)
        self.assertEqual([(row["question"], row["answers"], row["repeat"]) for row in rows], [(name, 3, 0) for name in OF_README])

    def test_other_questions_are_shown_and_fail_nothing(self):
        code, rows = self.count("'a\\na' if id.startswith('Hello') else 'a'", "--seeds=1", "--all")
        self.assertEqual(code, 0)
        self.assertEqual({row["question"]: row["repeat"] for row in rows}, dict.fromkeys([*OF_README, *OTHERS], 0) | {"Hello": 1})

    def test_an_answer_that_repeats_is_counted_and_fails(self):
        code, rows = self.count("'a\\na' if id.endswith(' 1') else 'a'", "--seeds=2")
        self.assertEqual(code, 1)
        self.assertEqual([row["repeat"] for row in rows], [1] * len(OF_README))
        self.assertEqual(rows[0]["examples"][0]["repeated"], "a")


class AnswersTest(unittest.TestCase):
    def test_readme_has_the_questions_and_their_flags(self):
        readme = (ROOT / "README.md").read_text()
        for shown in ('scripts/quickstart.sh "Why is the sky blue?"', '"text": "The capital of France is", "n": 8',
                      'tessera_generate --chat --system "You answer briefly." --repetition_penalty 1.1'):
            self.assertIn(shown, readme)

    def test_no_answer_of_20_seeds_at_default_settings_repeats_itself(self):
        run = subprocess.run([sys.executable, str(SCRIPT), "--seeds=20", "--show"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn(f"0 of {20 * len(OF_README)} answers to README's questions repeat", run.stdout)


if __name__ == "__main__":
    unittest.main()
