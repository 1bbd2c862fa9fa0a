"""Tests of what a reward head is trained on and measured by: labels, halves, areas and choices (scripts/train/lib/labels.py).

    python3 tests/train_labels_test.py -v
"""
import itertools
import json
import random
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path[1:1] = [str(ROOT / "scripts/train/lib"), str(ROOT / "scripts/lib")]
from dialogues import read_dialogues  # noqa: E402
from json_lines import json_lines  # noqa: E402
from labels import Label, auc, auc_interval, best_of, fnv1a, interval, is_trained, questions_of, read_labels  # noqa: E402


def made(rights, answers=None):
    """Labels of one question."""
    return [Label("q", True, right, answers is None or answers[i], 5, [4], {}) for i, right in enumerate(rights)]


class Halves(unittest.TestCase):
    def test_the_hash_is_the_published_one(self):
        self.assertEqual(fnv1a(""), 0xCBF29CE484222325)
        self.assertEqual(fnv1a("a"), 0xAF63DC4C8601EC8C)
        self.assertEqual(fnv1a("foobar"), 0x85944171F73967E8)

    def test_halves_are_those_of_the_program(self):
        """As Candidates.EachQuestionIsOfOneHalf has them."""
        self.assertFalse(is_trained(""))
        self.assertTrue(is_trained("a"))
        self.assertEqual(is_trained("é"), fnv1a("é") % 2 == 0)


class Reading(unittest.TestCase):
    line = {"id": "1/0", "question": "1", "statement": "a", "sample": 0, "right": True, "answer": "3", "tokens": 9, "ends": [4, 8],
            "figures": {"mean_log_probability": -0.5}}

    def read(self, *lines):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "labels.jsonl")
            path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines), "utf-8")
            return read_labels(path)

    def four(self):
        return [self.line, self.line | {"right": False}, self.line | {"statement": "", "answer": None},
                self.line | {"statement": "", "right": False}]

    def test_labels_are_read_whole(self):
        labels = self.read(*self.four(), "\n")
        self.assertEqual(labels[0], Label("1", True, True, True, 9, [4, 8], {"mean_log_probability": -0.5}))
        self.assertEqual([label.trained for label in labels], [True, True, False, False])
        self.assertEqual([label.answers for label in labels], [True, True, False, True])

    def test_what_is_no_label_is_named_by_its_line(self):
        for wrong in ("no JSON\n", "[]\n", {"id": 1}, self.line | {"ends": []}, self.line | {"ends": [4, 9]}, self.line | {"ends": [8, 4]},
                      self.line | {"ends": [4, 4]}, self.line | {"figures": {"a": "b"}}, self.line | {"statement": None}):
            with self.subTest(wrong), self.assertRaisesRegex(SystemExit, "line 5: found"):
                self.read(*self.four(), wrong)
        with self.assertRaisesRegex(SystemExit, "found no file"):
            read_labels("/nowhere")

    def test_lines_end_only_where_json_lines_do(self):
        odd = "a\u2028b\u2029c\u0085d"
        self.assertEqual(json_lines(f'"{odd}"\n\n1\n'), [f'"{odd}"', "", "1"])
        self.assertEqual((json_lines(""), json_lines("1"), json_lines("1\n")), ([], ["1"], ["1"]))
        first, *others = self.four()
        line = json.dumps(first | {"question": odd}, ensure_ascii=False) + "\n"
        self.assertEqual(self.read(line, *others)[0].question, odd)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "dialogues.jsonl")
            messages = [{"role": "user", "content": odd}, {"role": "assistant", "content": odd}]
            path.write_text(json.dumps({"messages": messages}, ensure_ascii=False) + "\n", "utf-8")
            self.assertEqual(read_dialogues(path), [(messages[:1], odd)])

    def test_each_half_needs_right_and_wrong_answers(self):
        with self.assertRaisesRegex(SystemExit, "found only right answers in the half that is trained on"):
            self.read(self.line)
        with self.assertRaisesRegex(SystemExit, "found no answers in the half that is held out"):
            self.read(*self.four()[:2])


class Area(unittest.TestCase):
    def test_it_is_the_share_of_pairs_in_order(self):
        draw = random.Random(1)
        for _ in range(50):
            labels = made([draw.random() < 0.5 for _ in range(8)])
            scores = [draw.randrange(4) for _ in labels]   # With ties.
            pairs = [(scores[i] > scores[j]) + (scores[i] == scores[j]) / 2
                     for i, j in itertools.product(range(8), repeat=2) if labels[i].right and not labels[j].right]
            found = auc([list(range(8))], labels, scores)
            if pairs:
                self.assertAlmostEqual(found, sum(pairs) / len(pairs))
            else:
                self.assertIsNone(found)

    def test_its_interval_holds_it(self):
        labels = [Label(str(i // 4), False, i % 3 == 0, True, 5, [4], {}) for i in range(80)]
        scores = [label.right + random.Random(i).random() for i, label in enumerate(labels)]
        mean, low, high = auc_interval(questions_of(labels, range(80)), labels, scores)
        self.assertTrue(low <= mean <= high and high - low < 0.3, (low, mean, high))


class Choice(unittest.TestCase):
    def test_it_is_that_of_all_orders(self):
        draw = random.Random(2)
        for _ in range(30):
            labels = made([draw.random() < 0.5 for _ in range(5)], [draw.random() < 0.7 for _ in range(5)])
            scores = [draw.randrange(3) for _ in labels]
            for count in range(1, 6):
                chances = []
                for order in itertools.permutations(range(5), count):
                    best = max(order, key=lambda place: (labels[place].answers, scores[place]))   # The first of several.
                    chances.append(labels[best].right)
                self.assertAlmostEqual(best_of(list(range(5)), labels, scores, count), sum(chances) / len(chances))

    def test_intervals_are_the_same_again_and_hold_the_mean(self):
        values = [random.Random(i).random() for i in range(60)]
        mean, low, high = interval(values)
        self.assertTrue(low < mean < high)
        self.assertEqual(interval(values), (mean, low, high))
        self.assertEqual(interval([1.0] * 5), (1, 1, 1))


if __name__ == "__main__":
    unittest.main()
