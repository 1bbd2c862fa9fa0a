"""Tests of scripts/measure/compare_engines.py with engines that are small programs of their own.

    python3 tests/compare_engines_test.py -v
"""
import contextlib
import io
import json
import math
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts/measure"))
import compare_engines  # noqa: E402


def flags(**more):
    return types.SimpleNamespace(**{"ours": "ours", "peer": "peer", "python": sys.executable, "threads": 2, "repetitions": 3, **more})


class FakeForm(compare_engines.Form):
    """Each sample is faster than the one before; it has as many bytes as weights, so eight bits each."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.samples = 0

    def bytes(self):
        return self.weights

    def speeds(self):
        self.samples += 1
        return {"prompt": 100.0 * self.samples, "generation": 10.0 * self.samples, "memory": 2 << 20}

    def perplexity(self, windows):
        return float(len(windows))


class CompareEngines(unittest.TestCase):
    def compare(self, name):
        tensors = [{"shape": [4, 8], "bytes": 16}, {"shape": [4], "bytes": 16}]
        with mock.patch.object(compare_engines, "ENGINES", {"one": FakeForm, "two": FakeForm}), \
             mock.patch.object(compare_engines, "tensors_of", lambda *_: tensors), \
             mock.patch.object(compare_engines, "windows_of", lambda *_: [[1, 2], [3, 4]]), contextlib.redirect_stderr(io.StringIO()):
            return compare_engines.compare(flags(), name, {"model": "m", "one": "a", "two": "b"})

    def test_each_engine_gives_medians_and_what_they_cost(self):
        row = self.compare("smollm2")["two"]
        self.assertEqual((row["prompt"], row["generation"], row["memory"]), (200, 20, 2 << 20))
        self.assertEqual((row["bits_per_weight"], row["perplexity"], row["chooses"]), (8, 2, True))

    def test_a_random_model_has_no_perplexity(self):
        self.assertIsNone(self.compare("random-1b")["one"]["perplexity"])

    def test_the_table_has_a_row_for_each_engine(self):
        with contextlib.redirect_stdout(io.StringIO()) as table:
            compare_engines.print_table({"smollm2": self.compare("smollm2")}, flags())
        self.assertEqual([line.split()[1] for line in table.getvalue().splitlines()[2:]], ["one", "two"])

    def test_the_peak_of_memory_is_that_of_the_process(self):
        output, peak = compare_engines.run_with_peak([sys.executable, "-c", "x = b'1' * (200 << 20); print(len(x))"])
        self.assertEqual(int(output), 200 << 20)
        self.assertTrue(200 << 20 < peak < 400 << 20, peak)

    def test_a_program_that_fails_ends_the_comparison_with_its_words(self):
        with self.assertRaisesRegex(SystemExit, "exit code 3\nbroken"):
            compare_engines.run_with_peak([sys.executable, "-c", "import sys; print('broken', file=sys.stderr); sys.exit(3)"])

    def test_windows_are_whole_and_begin_with_the_mark_that_the_model_asks_for(self):
        metadata = [{"key": "tokenizer.ggml.add_bos_token", "value": True}, {"key": "tokenizer.ggml.bos_token_id", "value": 7},
                    {"key": "tokenizer.ggml.tokens", "type": "array"}]
        answer = types.SimpleNamespace(stdout=json.dumps({"tokens": list(range(2, 2 + 3 * 511 + 510))}) + "\n")
        with mock.patch.object(compare_engines, "inspect", lambda *_: {"metadata": metadata}), \
             mock.patch.object(compare_engines.subprocess, "run", lambda *_, **__: answer):
            windows = compare_engines.windows_of(flags(), "m")
        self.assertEqual([(len(window), window[0], window[1]) for window in windows], [(512, 7, 2), (512, 7, 513), (512, 7, 1024)])

    def test_perplexity_of_other_engines_is_read_from_their_process(self):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "process.py")
            program.write_text("import json, sys\nwindows = json.load(open(sys.argv[sys.argv.index('--windows') + 1]))\n"
                               "print(json.dumps({'nll_sum': 2.0 * len(windows), 'scored': len(windows)}))\n")
            with mock.patch.object(compare_engines, "PROCESS", str(program)):
                form = compare_engines.OpenVinoForm(flags(), folder, 1)
                self.assertAlmostEqual(form.perplexity([[1, 2], [3, 4]]), math.exp(2))

    def test_another_engine_that_fails_ends_the_comparison_with_its_words(self):
        form = compare_engines.OnnxRuntimeForm(flags(python="false"), "folder", 1)
        with self.assertRaisesRegex(SystemExit, "failed: false .*other_engine_process.py onnxruntime perplexity folder.*exit code 1"):
            form.perplexity([[1, 2]])

    def test_perplexities_of_different_tokens_are_not_compared(self):
        ours = types.SimpleNamespace(perplexity=lambda *_: (6.0, 3))
        with mock.patch.object(compare_engines, "Ours", lambda *_: ours):
            form = compare_engines.TesseraForm(flags(), "file", 1)
            self.assertAlmostEqual(form.perplexity([[1, 2, 3], [4, 5]]), math.exp(2))
            with self.assertRaisesRegex(SystemExit, "scored 3 tokens, expected the 4"):
                form.perplexity([[1, 2, 3], [4, 5, 6]])


if __name__ == "__main__":
    unittest.main()
