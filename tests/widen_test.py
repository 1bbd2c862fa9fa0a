"""Tests of scripts/train/widen.py: what was trained for a small model, for one that was made around it.

    python3 tests/widen_test.py -v
"""
import json
import math
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPT, MODEL, BIN = ROOT / "scripts/train/widen.py", ROOT / "tests/golden/tiny/llama.gguf", ROOT / "build/bin"
sys.dont_write_bytecode = True
sys.path[1:1] = [str(ROOT / "scripts/train/lib"), str(ROOT / "scripts/train"), str(ROOT / "scripts/lib")]
import widen  # noqa: E402
from model_mark import mark_of  # noqa: E402
from gguf_header import GgufHeader  # noqa: E402
from safetensors_header import read_header  # noqa: E402

METADATA = GgufHeader(str(MODEL)).metadata
WIDTH, LAYERS = METADATA["llama.embedding_length"], METADATA["llama.block_count"]
PREFIX = ("prefix.keys", "prefix.values")
KEY_HEADS = METADATA["llama.attention.head_count_kv"]
HEAD_SIZE = METADATA.get("llama.attention.key_length", WIDTH // METADATA["llama.attention.head_count"])


def predictor_bytes(name, rows, columns, texts, dtype="F32", cut=0):
    numbers = [float(100 * row + column) for row in range(rows) for column in range(columns)]
    data = struct.pack(f"<{len(numbers)}f", *numbers)
    header = {"__metadata__": texts, name: {"dtype": dtype, "shape": [rows, columns], "data_offsets": [0, len(data)]}}
    header = json.dumps(header).encode()
    return struct.pack("<Q", len(header)) + header + data[:len(data) - cut]


def with_offsets(offsets):
    header = json.dumps({"predictor.map": {"dtype": "F32", "shape": [2, 2], "data_offsets": offsets}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(16)


class Widen(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.out = self.folder / "wide.safetensors"

    def run_script(self, data):
        small = self.folder / "small.safetensors"
        small.write_bytes(data)
        return subprocess.run([sys.executable, "-B", str(SCRIPT), "--part", str(small), "--model", str(MODEL), "--out", str(self.out)],
                              capture_output=True, text=True)

    def widened(self, name, rows, columns, layers=LAYERS):
        result = self.run_script(predictor_bytes(name, rows, columns, {"layer": "1", "layers": str(layers), "kind": "width"}))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        header, texts, begin = read_header(str(self.out))
        shape = header[name]["shape"]
        numbers = struct.unpack(f"<{shape[0] * shape[1]}f", self.out.read_bytes()[begin:])
        return shape, [numbers[row * shape[1]:(row + 1) * shape[1]] for row in range(shape[0])], texts

    def test_a_map_is_the_small_one_and_then_zeros(self):
        columns = WIDTH - 3
        shape, rows, _ = self.widened("predictor.map", columns, columns)
        self.assertEqual(shape, [WIDTH, WIDTH])
        for number, row in enumerate(rows):
            own = [float(100 * number + column) for column in range(columns)] if number < columns else [0.0] * columns
            self.assertEqual(list(row), own + [0.0] * 3)

    def test_a_row_for_each_token_stays_one_for_each_token(self):
        shape, rows, texts = self.widened("predictor.weight", 5, WIDTH - 2)
        self.assertEqual(shape, [5, WIDTH])
        self.assertEqual(rows[4][:2], (400.0, 401.0))
        self.assertEqual((texts["layer"], texts["layers"], texts["kind"]), ("1", str(LAYERS), "width"))

    def test_the_layer_is_the_first_with_as_many_of_the_small_models_before_it(self):
        for small, layers in ((30, 40), (3, 7), (5, 5), (1, 9)):
            large = widen.Large.__new__(widen.Large)
            large.layers = layers
            own = [large.small_layer(layer, small) for layer in range(layers)]
            self.assertEqual([layer for layer in own if layer is not None], list(range(small)))
            for layer in range(1, small + 1):
                self.assertEqual(own[large.layer_after(layer, small) - 1], layer - 1)

    def test_forecasts_get_zeros_where_the_small_model_has_nothing(self):
        slots, forecasts, heads, size, width, layers = 2, 3, 1, HEAD_SIZE, WIDTH - 8, LAYERS - 1
        counts = {"forecasts": [forecasts, width]} | {name: [layers, slots, heads, size] for name in PREFIX}
        header, data = {"__metadata__": {"slots": "2", "forecasts": "3", "tessera.model.vectors": "1"}}, b""
        for name, shape in counts.items():
            more = struct.pack(f"<{math.prod(shape)}f", *(1 + i % 997 for i in range(math.prod(shape))))
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(more)]}
            data += more
        text = json.dumps(header).encode()
        result = self.run_script(struct.pack("<Q", len(text)) + text + data)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        found, texts, begin = read_header(str(self.out))
        self.assertEqual({name: found[name]["shape"] for name in found},
                         {"forecasts": [forecasts, WIDTH]} | {name: [LAYERS, slots, KEY_HEADS, size] for name in PREFIX})
        self.assertEqual(texts["tessera.model.vectors"], mark_of(str(MODEL))["tessera.model.vectors"])
        at = found["prefix.values"]["data_offsets"][0] + begin
        count = LAYERS * slots * KEY_HEADS * size
        numbers = struct.unpack(f"<{count}f", self.out.read_bytes()[at:at + 4 * count])
        large, index = widen.Large(str(MODEL)), 0
        for layer in range(LAYERS):
            own = large.small_layer(layer, layers)
            for slot in range(slots):
                for head in range(KEY_HEADS):
                    first = None if own is None or head >= heads else (own * slots + slot) * size
                    expected = [0.0] * size if first is None else [1.0 + (first + i) % 997 for i in range(size)]
                    self.assertEqual(list(numbers[index:index + size]), expected, (layer, slot, head))
                    index += size
        # And the engine drafts with them.
        done = subprocess.run([BIN / "tessera_generate", f"--model={MODEL}", "--prompt=ab", "--temperature=0", "--n_predict=8",
                               f"--draft_model={self.out}", "--speculate=draft"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_engine_prunes_by_it(self):
        texts = {"layer": "1", "layers": str(LAYERS), "kind": "width"}
        result = self.run_script(predictor_bytes("predictor.map", WIDTH - 4, WIDTH - 4, texts))
        self.assertEqual(result.returncode, 0, result.stderr)
        written = []
        for more in ([], [f"--draft_model={MODEL}", f"--prune={self.out}"]):
            done = subprocess.run([BIN / "tessera_generate", f"--model={MODEL}", "--prompt=ab", "--temperature=0", "--n_predict=8", *more],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            written.append(done.stdout)
        self.assertEqual(*written)

    def test_what_is_no_predictor_or_does_not_fit_is_named(self):
        texts = {"layer": "1", "layers": str(LAYERS)}
        for data, words in ((b"x", "expected at most 0"),
                            (predictor_bytes("other", 2, 2, texts), "expected predictor.map, predictor.weight or forecasts and"),
                            (predictor_bytes("predictor.map", 2, 2, texts, dtype="I8"), "expected 2 dimensions of F32, F16, BF16"),
                            (predictor_bytes("predictor.map", 2, 2, texts, cut=1),
                             "tensor predictor.map: found bytes 0 to 16 of 15, expected 16"),
                            (with_offsets([0, 10 ** 15]), f"found bytes 0 to {10 ** 15} of 16, expected 16 of F32"),
                            (with_offsets([8, 4]), "found bytes 8 to 4 of 16, expected 16"),
                            (predictor_bytes("predictor.map", 2, 2, {"layers": "3"}), "metadata layer: found null"),
                            (predictor_bytes("predictor.map", 2, 2, texts | {"layer": "half"}), 'metadata layer: found "half"'),
                            (predictor_bytes("predictor.map", WIDTH + 1, WIDTH + 1, texts),
                             f"which has {LAYERS} layers of width {WIDTH + 1}"),
                            (predictor_bytes("predictor.map", 2, 2, texts | {"layers": str(LAYERS + 1)}), "expected a model around"),
                            (predictor_bytes("predictor.map", 2, 2, texts | {"layer": "0"}), "expected a model around")):
            result = self.run_script(data)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn(words, result.stderr)
            self.assertEqual(len(result.stderr.strip().split("\n")), 1, result.stderr)
            self.assertFalse(self.out.exists())

    def test_what_is_read_is_not_replaced(self):
        data = predictor_bytes("predictor.map", 2, 2, {"layer": "1", "layers": str(LAYERS)})
        self.out = self.folder / "small.safetensors"
        result = self.run_script(data)
        self.assertEqual(result.returncode, 1)
        self.assertIn("found the file of --part", result.stderr)
        self.assertEqual(self.out.read_bytes(), data)


if __name__ == "__main__":
    unittest.main()
