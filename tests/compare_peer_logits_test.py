"""Tests of scripts/measure/compare_peer_logits.py, with programs that print what they are told.

    python3 tests/compare_peer_logits_test.py -v
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "scripts/measure/compare_peer_logits.py"
QWEN2 = "qwen2 output.weight, biases attn_q output"
PEER = """#!/bin/sh
[ "$2 $3" = "1 2" ] || exit 9
cat "$1.peer" && exit 0
echo "a line before" >&2
echo "/a/folder/llama.cpp:7: GGML_ASSERT(n_embd_head == n_rot) failed" >&2
echo "a line after" >&2
exit 1
"""
OURS = """#!/bin/sh
[ "$(cat)" = '{"id": 0, "tokens": [1, 2]}' ] || exit 9
case "$*" in *--path=reference*) cat "$2.reference" ;; *--path=fast*) cat "$2.fast" ;; esac
"""


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in (("logits", PEER), ("tessera_logits", OURS)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        cases = [{"architecture": "llama", "optional": [], "tokens": [1, 2], "logits": [1.0, 3.0]},
                 {"architecture": "qwen2", "optional": ["output.weight", "attn_q.bias", "output.bias"], "tokens": [1, 2],
                  "logits": [1.0, 3.0]}]
        (self.folder / "cases").write_text("".join(json.dumps(case) + "\n" for case in cases))
        for number in (0, 1):
            self.say(number, [1.0, 2.0, 3.0, 4.0], [1.0, 9.0, 3.001, 9.0], [1.01, 9.0, 3.0, 9.0])

    def say(self, number, peer, reference, fast):
        if peer is not None:
            (self.folder / f"{number}.gguf.peer").write_text(json.dumps({"logits": peer}))
        for path, logits in (("reference", reference), ("fast", fast)):
            top = [[token, logit] for token, logit in sorted(enumerate(logits), key=lambda pair: -pair[1])]
            answer = {"id": 0, "tokens": [1, 2], "positions": [{"top": []}, {"top": top}]}
            (self.folder / f"{number}.gguf.{path}").write_text(json.dumps(answer))

    def run_script(self, *flags):
        where = ["--peer", self.folder, "--ours", self.folder, "--models", self.folder, "--cases", self.folder / "cases"]
        return subprocess.run([sys.executable, str(SCRIPT), *where, *flags], capture_output=True, text=True, check=False)

    def test_differences_are_those_of_the_logits_that_a_case_has(self):
        result = self.run_script("--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        first, second = json.loads(result.stdout)["models"]
        self.assertEqual((first["model"], second["model"]), ("llama", QWEN2))
        self.assertEqual(first["llama.cpp"], 0)
        self.assertAlmostEqual(first["tessera reference"], 0.001)
        self.assertAlmostEqual(first["tessera fast"], 0.01)
        self.assertIn(QWEN2, self.run_script().stdout)

    def test_a_model_that_the_peer_refuses_has_its_words_without_folders(self):
        (self.folder / "1.gguf.peer").unlink()
        result = self.run_script()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, f"{QWEN2} +refused +1.0e-03 +1.0e-02\n")
        self.assertIn(f"llama.cpp refused {QWEN2}:\n    llama.cpp:7: GGML_ASSERT(n_embd_head == n_rot) failed\n", result.stdout)

    def test_logits_that_are_far_off_fail_whoever_computed_them(self):
        near, far = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.03, 4.0]
        for peer, reference, fast in ((far, near, near), (near, far, near), (near, near, far)):
            self.say(1, peer, reference, fast)
            result = self.run_script()
            self.assertEqual((result.returncode, result.stderr), (1, f"failed: too far from FP64, or refused by ours: {QWEN2}\n"))

    def test_a_model_that_ours_refuses_fails(self):
        (self.folder / "0.gguf.fast").unlink()
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn("tessera fast refused llama:\n    ", result.stdout)

    def test_a_missing_program_is_named(self):
        (self.folder / "logits").unlink()
        self.assertIn("logits is missing, expected a program", self.run_script().stderr)


if __name__ == "__main__":
    unittest.main()
