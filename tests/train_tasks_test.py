"""Tests of the tasks that adapters are shown with: their data, and their scores.

    python3 tests/train_tasks_test.py -v
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "scripts"
TRAIN = SCRIPTS / "train"
sys.dont_write_bytecode = True
sys.path[1:1] = [str(TRAIN), str(SCRIPTS / "lib")]
import make_tasks  # noqa: E402
import score_task  # noqa: E402

# In place of tessera_generate: writes what it was asked beside its flags, and answers with the text as a pirate says it, or as it is.
FAKE = """#!/usr/bin/env python3
import json, os, sys
sys.path.insert(0, {train!r})
sys.path.insert(0, {lib!r})
from make_tasks import pirate_of
requests = [json.loads(line) for line in sys.stdin]
with open({log!r}, "w") as log:
    json.dump([sys.argv[1:], requests], log)
if os.environ.get("FAIL"):
    sys.exit("no such adapter")
for request in requests:
    text = request["messages"][-1]["content"].split(": ", 1)[1]
    print(json.dumps({{"id": request["id"], "output_text": pirate_of(text) if request.get("adapter") else text}}))
"""


def run(script, *flags, **environment):
    return subprocess.run([sys.executable, "-B", str(SCRIPTS / script), *flags], capture_output=True, text=True,
                          env={**os.environ, **environment})


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def made(self, name, *flags, **environment):
        result = run("train/make_tasks.py", "--out", str(self.folder / name), *flags, **environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return {path.name: path.read_text("utf-8") for path in (self.folder / name).iterdir()}


class Data(WithFolder):
    def test_the_same_flags_make_the_same_files_and_another_seed_makes_others(self):
        first, again = self.made("a", PYTHONHASHSEED="1"), self.made("b", PYTHONHASHSEED="2")
        self.assertEqual(first, again)
        self.assertEqual(set(first), {f"{task}.{part}.jsonl" for task in ("pirate", "facts") for part in ("train", "held_out")})
        other = self.made("c", "--seed", "1")
        for name, text in first.items():
            self.assertNotEqual(text, other[name], name)

    def test_files_have_as_many_dialogues_as_asked_and_no_question_twice(self):
        for task in make_tasks.TASKS:
            files = self.made("a", "--examples", "200", "--held_out", "50")
            questions = []
            for part, count in (("train", 200), ("held_out", 50)):
                dialogues = [json.loads(line)["messages"] for line in files[f"{task}.{part}.jsonl"].splitlines()]
                self.assertEqual(len(dialogues), count)
                self.assertEqual({tuple(message["role"] for message in messages) for messages in dialogues}, {("user", "assistant")})
                questions += [messages[0]["content"] for messages in dialogues]
            self.assertEqual(len(set(questions)), 250)

    def test_no_word_that_is_held_out_is_trained_on(self):
        for words in (make_tasks.FIRST, make_tasks.LAST, make_tasks.PLACES, make_tasks.THINGS):
            self.assertFalse(set(words[0]) & set(words[1]))
            self.assertEqual(len(set(words[0])) + len(set(words[1])), len(words[0]) + len(words[1]))
        for task in make_tasks.TASKS:
            trained = " ".join(question for question, _ in make_tasks.examples(task, 0, 200, 0))
            held = [word for words in (make_tasks.FIRST, make_tasks.LAST, make_tasks.PLACES, make_tasks.THINGS) for word in words[1]]
            self.assertEqual([word for word in held if word in trained], [], task)
            for question, _ in make_tasks.examples(task, 1, 50, 0):
                self.assertTrue(any(word in question for word in held), question)

    def test_pirates_speak_by_the_rule(self):
        self.assertEqual(make_tasks.pirate_of("The old king is going to you. I am never bringing my ring."),
                         "Ahoy! Th' old king be goin' t' ye. I be ne'er bringin' me ring, matey!")
        for question, answer in make_tasks.examples("pirate", 0, 200, 0):
            message = question.split(": ", 1)[1]
            self.assertTrue(answer.startswith("Ahoy! ") and answer.endswith(", matey!"), answer)
            words = [word.strip(".,!").lower() for word in answer.split()]
            self.assertFalse(set(words) & set(make_tasks.SAID), answer)
            self.assertEqual(len(words), len(message.split()) + 2, answer)
            self.assertTrue(set(message.lower().strip(".").split()) & set(make_tasks.SAID), f"nothing to change: {message}")
            self.assertNotIn("{", question)

    def test_facts_stand_in_their_sentences(self):
        seen = set()
        for question, answer in make_tasks.examples("facts", 0, 200, 0):
            found = json.loads(answer)
            self.assertEqual(list(found), ["name", "date", "place"])
            for value in found.values():
                self.assertIn(value, question)
            seen.add(question.replace(found["name"], "N").replace(found["date"], "D").replace(found["place"], "P").split(" ", 8)[8])
        self.assertGreater(len(seen), 12, "sentences of many forms")

    def test_numbers_that_make_no_sense_are_refused(self):
        for flags, said in ((["--examples", "0"], "--examples: found 0"), (["--held_out", "5001"], "found 5001, expected at most 5000")):
            result = run("train/make_tasks.py", "--out", str(self.folder / "a"), *flags)
            self.assertEqual(result.returncode, 2)
            self.assertIn(said, result.stderr)


class Scores(unittest.TestCase):
    WANTED = "Ahoy! Th' kettle o' Bruno be on th' ship, matey!"

    def test_what_is_right_has_all_of_it_and_nothing_has_none(self):
        for task, examples in ((task, make_tasks.examples(task, 1, 20, 0)) for task in make_tasks.TASKS):
            for _, answer in examples:
                for name, score in score_task.SCORES[task].items():
                    self.assertEqual(score(answer, answer), 1, (task, name))
                    self.assertEqual(score("", answer), 0, (task, name))

    def test_each_part_of_the_style_counts(self):
        style = lambda answer: score_task.pirate_style(answer, self.WANTED)
        worse = {"no beginning": self.WANTED[6:], "no end": self.WANTED[:-8] + ".",
                 "a word that is not changed": self.WANTED.replace("o'", "of"),
                 "another word": self.WANTED.replace("kettle", "tent"), "another order": "Ahoy! Be on th' ship th' kettle o' Bruno, matey!",
                 "more words": self.WANTED.replace("ship", "big ship")}
        for name, answer in worse.items():
            self.assertLess(style(answer), 1, name)
            self.assertGreater(style(answer), 0.5, name)
        self.assertLess(style("The kettle of Bruno is on the boat."), 0.5)
        self.assertEqual(style(self.WANTED + "\n"), 1)

    def test_facts_count_field_by_field_and_only_as_an_object(self):
        wanted = json.dumps({"name": "Edith Sato", "date": "5 April", "place": "Riga"})
        cases = ((wanted, 1, 3), ('{"place":"Riga","date":"5 April","name":"Edith Sato"}', 1, 3), (wanted.replace("Riga", "Oslo"), 0, 2),
                 ('{"name": "Edith Sato"}', 0, 1), (wanted[:-1] + ', "age": 3}', 0, 3), ("Riga", 0, 0), ('["Riga"]', 0, 0),
                 (f"It is {wanted}", 0, 0))
        for answer, right, fields in cases:
            self.assertEqual(score_task.facts_exact(answer, wanted), right, answer)
            self.assertAlmostEqual(score_task.facts_fields(answer, wanted), fields / 3, msg=answer)

    def test_the_common_part_keeps_its_order(self):
        for words, wanted, share in (("a b c", "a b c", 1), ("a c", "a b c", 2 / 3), ("c b a", "a b c", 1 / 3), ("", "a", 0),
                                     ("a b c d", "a b", 0.5)):
            self.assertAlmostEqual(score_task.kept(words.split(), wanted.split()), share)


class Runs(WithFolder):
    def setUp(self):
        super().setUp()
        self.made("data", "--held_out", "6")
        self.log = self.folder / "log"
        program = self.folder / "tessera_generate"
        program.write_text(FAKE.format(train=str(TRAIN), lib=str(SCRIPTS / "lib"), log=str(self.log)))
        program.chmod(0o755)

    def score(self, *flags, **environment):
        return run("train/score_task.py", "--model", "m.gguf", "--task", "pirate", "--bin", str(self.folder), "--data",
                   str(self.folder / "data/pirate.held_out.jsonl"), *flags, **environment)

    def test_each_example_is_asked_with_the_adapter_and_without(self):
        result = self.score("--adapter", "lora", "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        flags, requests = json.loads(self.log.read_text())
        self.assertIn("--adapter=task:lora", flags)
        self.assertIn("--temperature=0", flags)
        self.assertEqual([request["adapter"] for request in requests], [None] * 6 + ["task"] * 6, "null: not the flag's only one")
        self.assertEqual([message["role"] for request in requests for message in request["messages"]], ["user"] * 12)
        found = json.loads(result.stdout)
        self.assertEqual(found["scores"]["with"], {"exactly right": 1, "style": 1})
        self.assertEqual(found["scores"]["without"]["exactly right"], 0)
        self.assertEqual(found["examples"], 6)

    def test_a_table_shows_both_and_examples_beside(self):
        result = self.score("--adapter", "lora", "--show", "2")
        self.assertEqual(result.stdout.count("asked:"), 2)
        lines = result.stdout.splitlines()[-3:]
        self.assertEqual(lines[0].split(), ["pirate", "without", "adapter", "with", "adapter"])
        self.assertEqual(lines[1].split()[-2:], ["100.0", "%"])

    def test_without_an_adapter_there_is_one_column(self):
        result = self.score()
        self.assertEqual(result.stdout.splitlines()[0].split(), ["pirate", "without", "adapter"])
        flags, requests = json.loads(self.log.read_text())
        self.assertNotIn("--adapter", " ".join(flags))
        self.assertNotIn("adapter", requests[0])

    def test_an_answer_may_hold_what_ends_a_line_elsewhere(self):
        odd = "one\u2028two\u0085three"
        said = json.dumps({"id": "without 0", "output_text": odd}, ensure_ascii=False) + "\n"
        given = argparse.Namespace(bin=self.folder, model="m", adapter=None, n_predict=8, parallel=1)
        with mock.patch.object(subprocess, "run", return_value=subprocess.CompletedProcess([], 0, said, "")):
            self.assertEqual(score_task.ask(given, [([{"role": "user", "content": "a"}], "b")]), {"without": [odd]})

    def test_what_cannot_be_scored_is_said(self):
        other = self.folder / "empty"
        other.write_text("\n")
        for flags, environment, said in ((["--adapter", "a:b"], {}, "--adapter: found a:b"), (["--bin", "/nowhere"], {}, "is missing"),
                                         (["--data", "/nowhere/d"], {}, "found no file"), (["--data", str(other)], {}, "found no dialogue"),
                                         (["--task", "poem"], {}, "invalid choice"), ([], {"FAIL": "1"}, "no such adapter")):
            with self.subTest(flags=flags):
                result = self.score(*flags, **environment)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(said, result.stderr)
                self.assertNotIn("Traceback", result.stderr)


if __name__ == "__main__":
    unittest.main()
