"""Tests of scripts/train/adapter_to_gguf.py: the file is what llama.cpp's own converter makes of the same folder, and our engine reads the
same adapter from it; and of the mark by which a model knows its files.

    python3 tests/adapter_to_gguf_test.py -v
"""
import json
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN, SCRIPT, BIN = ROOT / "tests/golden", ROOT / "scripts/train/adapter_to_gguf.py", ROOT / "build/bin"
sys.dont_write_bytecode = True
sys.path[1:1] = [str(ROOT / "scripts/train/lib"), str(ROOT / "scripts/train")]
import adapter_to_gguf  # noqa: E402
import model_mark  # noqa: E402
from gguf_header import GgufHeader  # noqa: E402
from safetensors_header import read_header  # noqa: E402

ADAPTERS = {"llama-all": "llama", "llama-qv": "llama", "qwen3-attn": "qwen3"}   # And the models that they are for.


def model_of(name):
    return GOLDEN / f"tiny/{ADAPTERS[name]}.gguf"


def logits_by(adapter, model):
    request = json.dumps({"id": 1, "tokens": [1, 5, 9, 70]})
    return subprocess.run([BIN / "tessera_logits", f"--model={model}", f"--adapter=a:{adapter}", "--jsonl", "--top=20"], input=request,
                          capture_output=True, text=True)


class WithFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_script(self, adapter, model):
        out = self.folder / "adapter.gguf"
        return out, subprocess.run([sys.executable, "-B", str(SCRIPT), "--model", str(model), "--adapter", str(adapter), "--out", str(out)],
                                   capture_output=True, text=True)

    def made(self, adapter, model):
        out, result = self.run_script(adapter, model)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        return out

    def copied(self, name, **changed):
        """A golden folder, with other values in its configuration."""
        folder = self.folder / "peft"
        shutil.copytree(GOLDEN / "lora" / name, folder, dirs_exist_ok=True)
        config = json.loads((folder / "adapter_config.json").read_text())
        (folder / "adapter_config.json").write_text(json.dumps(config | changed))
        return folder

    def with_texts(self, folder, texts):
        path = folder / "adapter_model.safetensors"
        header, _, begin = read_header(path)
        numbers, text = path.read_bytes()[begin:], json.dumps({"__metadata__": texts} | header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + numbers)


class Files(WithFolder):
    def test_they_are_what_the_peers_converter_makes(self):
        for name in ADAPTERS:
            made, golden = GgufHeader(self.made(GOLDEN / "lora" / name, model_of(name))), GgufHeader(GOLDEN / f"lora/{name}.gguf")
            self.assertEqual(made.metadata, golden.metadata, name)
            self.assertEqual(set(made.tensors), set(golden.tensors), name)
            for tensor, (shape, kind, _) in golden.tensors.items():
                size = shape[0] * shape[1] * (4 if kind == 0 else 2)
                self.assertEqual(made.tensors[tensor][:2], (shape, kind), tensor)
                self.assertEqual(made.read(tensor, size), golden.read(tensor, size), tensor)

    def test_our_engine_computes_the_same_with_folder_and_file(self):
        for name in ADAPTERS:
            made, printed = self.made(GOLDEN / "lora" / name, model_of(name)), []
            for path in (GOLDEN / "lora" / name, made):
                result = logits_by(path, model_of(name))
                self.assertEqual((result.returncode, result.stderr), (0, ""), name)
                printed.append(result.stdout)
            self.assertEqual(printed[0], printed[1], name)

    def test_ranks_by_module_and_rs_lora_stand_in_the_scale(self):
        self.assertEqual(adapter_to_gguf.alpha_of({"r": 4, "lora_alpha": 6}), 6)
        self.assertEqual(adapter_to_gguf.alpha_of({"r": 4, "lora_alpha": 6, "use_rslora": True}), 12)
        self.assertEqual(GgufHeader(self.made(self.copied("llama-qv", use_rslora=True, r=4), model_of("llama-qv"))).metadata
                         ["adapter.lora.alpha"], 32)

    def test_the_mark_goes_along(self):
        folder = self.copied("llama-qv")
        self.with_texts(folder, model_mark.mark_of(model_of("llama-qv")))
        metadata = GgufHeader(self.made(folder, model_of("llama-qv"))).metadata
        self.assertEqual(str(metadata["tessera.model.vectors"]), model_mark.mark_of(model_of("llama-qv"))["tessera.model.vectors"])

    def test_what_one_alpha_cannot_say_is_refused(self):
        for changed, said in (({"use_dora": True}, "use_dora"), ({"bias": "all"}, "bias"), ({"peft_type": "IA3"}, "IA3"),
                              ({"alpha_pattern": {"q_proj": 4}}, "alpha_pattern"), ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
                              ({"rank_pattern": {"q_proj": 2}, "use_rslora": True}, "rank_pattern with use_rslora")):
            folder = self.copied("llama-qv", **({"alpha_pattern": {}, "rank_pattern": {}} | changed))
            out, result = self.run_script(folder, model_of("llama-qv"))
            self.assertNotEqual(result.returncode, 0, changed)
            self.assertRegex(result.stderr, f"adapter_config.json: found .*{said}")
            self.assertNotIn("Traceback", result.stderr)
            self.assertFalse(out.exists())
            shutil.rmtree(self.folder / "peft")

    def test_what_is_no_adapter_or_no_model_is_named(self):
        _, result = self.run_script(self.folder, model_of("llama-qv"))
        self.assertIn(f"{self.folder}/adapter_config.json: found no file", result.stderr)
        _, result = self.run_script(GOLDEN / "lora/llama-qv", GOLDEN / "README.md")
        self.assertIn("expected GGUF version 2 or 3", result.stderr)


class Marks(WithFolder):
    def test_the_checksum_is_crc_32c(self):
        self.assertEqual(model_mark.crc32c(b"123456789"), 0xE3069283)
        self.assertEqual(model_mark.crc32c(b"6789", model_mark.crc32c(b"12345")), 0xE3069283)

    # The engine computes the mark itself: it takes the adapter with this one, and says what it expected of one with another.
    def test_it_is_the_engines(self):
        mark = model_mark.mark_of(model_of("llama-qv"))["tessera.model.vectors"]
        for given, code in ((mark, 0), (str(int(mark) ^ 1), 1)):
            folder = self.copied("llama-qv")
            self.with_texts(folder, {"tessera.model.vectors": given})
            result = logits_by(folder, model_of("llama-qv"))
            self.assertEqual(result.returncode, code, result.stderr)
            if code != 0:
                self.assertIn(f"found {given}, expected {mark}, the mark of {model_of('llama-qv')}", result.stderr)

    def test_a_model_of_another_kind_has_none(self):
        with self.assertRaisesRegex(SystemExit, "found the architecture qwen3, expected llama"):
            model_mark.mark_of(GOLDEN / "tiny/qwen3.gguf")

    def test_vectors_of_16_bits_count_as_those_of_32(self):
        class Fake:
            path = "m.gguf"

            def __init__(self, kind, data):
                self.kind, self.data = kind, data

            def tensor_named(self, _):
                return [2], self.kind, 0

            def read(self, _, size):
                return self.data[:size]
        expected = struct.pack("<2f", 1.5, -2.0)
        for kind, data in ((0, expected), (1, struct.pack("<2e", 1.5, -2.0)), (30, struct.pack("<2H", 0x3FC0, 0xC000))):
            self.assertEqual(model_mark.floats_of(Fake(kind, data), "a"), expected, kind)
        with self.assertRaisesRegex(SystemExit, "tensor a: found type 8, expected F32, F16 or BF16"):
            model_mark.floats_of(Fake(8, b""), "a")


if __name__ == "__main__":
    unittest.main()
