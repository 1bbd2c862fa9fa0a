"""Tests of scripts/measure/first_tokens.py, with programs that print what they are told.

    python3 tests/first_tokens_test.py -v
"""
import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts/measure/first_tokens.py"
OURS = """#!/bin/sh
case "$*" in
  *--version*) echo '{"kernels": ["portable", "avx2"]}' ;;
  *--path=fast*--kernels=avx2*) cat "$(dirname "$0")/avx2" ;;
  *--path=fast*) cat "$(dirname "$0")/portable" ;;
  *--path=npu*) cat "$(dirname "$0")/npu" ;;
  *--path=reference*) cat "$(dirname "$0")/reference" ;;
esac
"""
TOKENIZE = """#!/bin/sh
case "$*" in *--chat*--prompt=Hi*) echo '{"tokens": [7, 8]}' ;; esac
"""
PEER = """#!/bin/sh
[ "$2 $3" = "7 8" ] || exit 9
cat "$1"
"""


def answers(*probabilities):
    tokens = [{"id": token, "text": text, "probability": probability} for token, text, probability in probabilities]
    return json.dumps({"answers": [{"first_token": token, "text": "x"} for token in tokens]})


class FirstTokens(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in (("tessera_generate", OURS), ("tessera_tokenize", TOKENIZE), ("logits", PEER)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        for name in ("portable", "avx2"):
            (self.folder / name).write_text(answers((1, "L", 0.3125), (2, "The", 0.25)))
        (self.folder / "npu").write_text(answers((2, "The", 0.5), (3, "\n", 0.125)))
        (self.folder / "reference").write_text(answers((2, "The", 0.375), (1, "L", 0.25)))
        # A softmax of 0.5, 0.25, 0.125, 0.0625, 0.046875, 0.015625.
        logits = [math.log(share) for share in (4, 32, 16, 3, 8, 1)]
        (self.folder / "m.gguf").write_text(json.dumps({"logits": logits}))
        (self.folder / "f32.gguf").write_text(json.dumps({"logits": logits[::-1]}))

    def run_script(self, *flags):
        where = ["--ours", self.folder, "--model", self.folder / "m.gguf", "--prompt", "Hi"]
        return subprocess.run([sys.executable, "-B", SCRIPT, *where, *flags], capture_output=True, text=True, check=False)

    def test_each_path_has_a_row_with_the_fp32_one_first(self):
        result = self.run_script()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = result.stdout.splitlines()
        self.assertEqual(lines[1:4], ['reference path, FP32  "The" 0.3750  "L" 0.2500', 'fast path             "L" 0.3125    "The" 0.2500',
                                      'npu path              "The" 0.5000  "\\n" 0.1250'])
        self.assertEqual(lines[4], "fast path: the same to the last digit by the kernels portable, avx2")

    def test_the_peers_probabilities_are_of_all_its_logits(self):
        result = self.run_script("--peer", self.folder, "--f32", self.folder / "f32.gguf", "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        paths = json.loads(result.stdout)["paths"]
        self.assertEqual([(token["id"], token["text"]) for token in paths["llama.cpp, the same file"]],
                         [(1, "L"), (2, "The"), (4, None), (0, None), (3, "\n")])
        for token, expected in zip(paths["llama.cpp, the same file"], (0.5, 0.25, 0.125, 0.0625, 0.046875)):
            self.assertAlmostEqual(token["probability"], expected)
        self.assertEqual([token["id"] for token in paths["llama.cpp, FP32 weights"]], [4, 3, 1, 5, 2])

    def test_kernels_that_differ_in_the_last_digit_fail(self):
        (self.folder / "avx2").write_text(answers((1, "L", 0.3125), (2, "The", 0.25000001)))
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn("failed: --kernels=avx2: found", result.stderr)

    def test_one_of_the_peers_flags_alone_is_an_error(self):
        result = self.run_script("--peer", self.folder)
        self.assertEqual(result.returncode, 2)
        self.assertIn("--peer and --f32: found one of them, expected both", result.stderr)

    def test_a_path_that_fails_is_named(self):
        (self.folder / "npu").unlink()
        result = self.run_script()
        self.assertEqual(result.returncode, 1)
        self.assertIn("--path=npu", result.stderr)


class Script(unittest.TestCase):
    def test_wrong_flags_are_refused_before_anything_is_built(self):
        for flags, said in ((["--prompt"], "--prompt needs a value"), (["--top", "5"], "unknown argument --top")):
            result = subprocess.run(["bash", ROOT / "scripts/measure/first_tokens.sh", *flags], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertIn(said, result.stderr)


if __name__ == "__main__":
    unittest.main()
