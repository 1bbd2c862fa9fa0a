"""Tests of the golden logits that scripts/tests/forward_logits.py computes: they are what it computes, and a change is noticed.

    python3 tests/forward_logits_test.py -v
"""
import json
import sys
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(1, f"{ROOT}/scripts/tests")
import forward_logits  # noqa: E402


class ForwardLogits(unittest.TestCase):
    def test_the_file_holds_what_is_computed(self):
        forward_logits.check()

    def test_a_logit_that_is_a_little_off_is_named(self):
        kept = [json.loads(line) for line in forward_logits.DATA.read_text().splitlines()]
        changed = [json.loads(json.dumps(line)) for line in kept]
        changed[2]["logits"][5] += 1e-5
        with mock.patch.object(forward_logits, "lines", lambda: changed), self.assertRaises(SystemExit) as ended:
            forward_logits.check()
        self.assertIn("llama with ['output.weight', 'attn_q.bias']: found logits off by", str(ended.exception))

    def test_another_list_of_models_is_noticed(self):
        kept = [json.loads(line) for line in forward_logits.DATA.read_text().splitlines()]
        with mock.patch.object(forward_logits, "lines", lambda: kept[:-1]), self.assertRaises(SystemExit) as ended:
            forward_logits.check()
        self.assertIn(f"found {len(kept)} lines, expected {len(kept) - 1}", str(ended.exception))

    def test_rotation_keeps_lengths_and_turns_by_position(self):
        model = forward_logits.Model("llama", [])
        head = [1.0, 0.0] * 4
        self.assertEqual(model.rotate(head, 0, local=False), head)
        turned = model.rotate(head, 3, local=False)
        self.assertAlmostEqual(forward_logits.dot(turned, turned), 4)
        self.assertNotAlmostEqual(turned[0], 1)


if __name__ == "__main__":
    unittest.main()
