"""Tests of scripts/train/adapter_to_gguf.py: the file is what llama.cpp's own converter makes of the same folder, and our engine reads the
same adapter from it; and of the mark by which a model knows its files.

    python3 tests/adapter_to_gguf_test.py -v
"""
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN, SCRIPT, BIN = ROOT / "tests/golden", ROOT / "scripts/train/adapter_to_gguf.py", ROOT / "build/bin"
sys.dont_write_bytecode = True
sys.path[1:1] = [str(ROOT / "scripts/train/lib"), str(ROOT / "scripts/train")]
import adapter_to_gguf  # noqa: E402
import model_mark  # noqa: E402
from gguf_header import GgufHeader  # noqa: E402
from name_pattern import module_pattern  # noqa: E402
from output_file import output_file  # noqa: E402
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

    def run_script(self, adapter, model, out=None):
        out = out or self.folder / "adapter.gguf"
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
        self.with_header(folder, lambda header: {"__metadata__": texts} | header)

    def with_header(self, folder, change):
        """change: from the tensors of the header to all of it."""
        path = folder / "adapter_model.safetensors"
        header, _, begin = read_header(path)
        numbers, text = path.read_bytes()[begin:], json.dumps(change(header)).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + numbers)

    def assert_refused(self, said, folder, model, out=None):
        """In one sentence, and nothing new is left."""
        before = sorted(self.folder.rglob("*"))
        _, result = self.run_script(folder, model, out)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(said, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)


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
        self.assertEqual(adapter_to_gguf.alpha_of("", {"r": 4, "lora_alpha": 6}, {"a"}), 6)
        self.assertEqual(adapter_to_gguf.alpha_of("", {"r": 4, "lora_alpha": 6, "use_rslora": True}, {"a"}), 12)
        self.assertEqual(GgufHeader(self.made(self.copied("llama-all", use_rslora=True), model_of("llama-all"))).metadata
                         ["adapter.lora.alpha"], 16)

    def test_the_mark_goes_along(self):
        folder = self.copied("llama-qv")
        self.with_texts(folder, model_mark.mark_of(model_of("llama-qv")))
        metadata = GgufHeader(self.made(folder, model_of("llama-qv"))).metadata
        self.assertEqual(str(metadata["tessera.model.vectors"]), model_mark.mark_of(model_of("llama-qv"))["tessera.model.vectors"])

    def test_what_one_alpha_cannot_say_is_refused(self):
        for changed, said in (({"use_dora": True}, "use_dora"), ({"bias": "all"}, "bias"), ({"peft_type": "IA3"}, "IA3"),
                              ({"alpha_pattern": {"q_proj": 4}}, "alpha_pattern, by which alpha is 4 for .*q_proj and 16 for .*v_proj"),
                              ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
                              ({"alpha_pattern": {"layers.1": 4, r"layers\.1\..*": 8}, "use_rslora": True}, "and use_rslora, by which")):
            folder = self.copied("llama-qv", **({"alpha_pattern": {}, "rank_pattern": {}} | changed))
            out, result = self.run_script(folder, model_of("llama-qv"))
            self.assertNotEqual(result.returncode, 0, changed)
            self.assertRegex(result.stderr, f"adapter_config.json: found .*{said}")
            self.assertNotIn("Traceback", result.stderr)
            self.assertFalse(out.exists())
            shutil.rmtree(self.folder / "peft")

    def test_what_is_no_adapter_or_no_model_is_named(self):
        _, result = self.run_script(self.folder / "none", model_of("llama-qv"))
        self.assertIn(f"{self.folder}/none/adapter_config.json: found no file", result.stderr)
        _, result = self.run_script(GOLDEN / "lora/llama-qv", GOLDEN / "README.md")
        self.assertIn("expected GGUF version 2 or 3", result.stderr)


    def test_what_does_not_fit_the_configuration_or_the_model_is_named(self):
        model, first = model_of("llama-qv"), "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
        moved = lambda header, to: {to if name == first else name: entry for name, entry in header.items()}
        for change, said in (
                (lambda header: {name: entry for name, entry in header.items() if name != first},
                 f"tensor {first.replace('lora_A', 'lora_B')}: found no {first}, expected A and B"),
                (lambda header: {name: entry for name, entry in header.items() if name != first.replace("lora_A", "lora_B")},
                 f"tensor {first}: found no {first.replace('lora_A', 'lora_B')}, expected A and B"),
                (lambda header: moved(header, first.replace("layers.0", "layers.2")), "found layer 2, expected 0 to 1, the layers of"),
                (lambda header: moved(header, first.replace("q_proj", "o_projection")), "found the tensor"),
                (lambda header: header | {first: header[first] | {"shape": [64, 8]}}, f"tensor {first}: found [64, 8], expected [8, 64]"),
                (lambda header: header | {first: header[first] | {"shape": [8, -64]}}, f"tensor {first}: found {{"),
                (lambda header: header | {first: header[first] | {"shape": [9, 64]}}, f"tensor {first}: found "),
                (lambda header: header | {first: header[first] | {"dtype": "I8"}}, f"tensor {first}: found I8, expected one of F32"),
                (lambda header: header | {first: 7}, f"tensor {first}: found 7, expected a matrix"),
                (lambda header: [header], "found a header that is no object of tensors"),
                (lambda header: {"__metadata__": {"tessera.model.vectors": "4294967296"}} | header,
                 'found "4294967296", expected a number')):
            folder = self.copied("llama-qv")
            self.with_header(folder, change)
            with self.subTest(said):
                self.assert_refused(said, folder, model)

    def test_ranks_are_those_of_the_configuration(self):
        model = model_of("llama-qv")
        first = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
        self.assert_refused(f"tensor {first}: found [8, 64], expected [16, 64]: rank 16", self.copied("llama-qv", r=16), model)
        for name in ("q_proj", "self_attn.q_proj", "model.layers.0.self_attn.q_proj"):
            with self.subTest(name):
                self.assert_refused(f"tensor {first}: found [8, 64], expected [2, 64]: rank 2",
                                    self.copied("llama-qv", rank_pattern={name: 2}), model)
        self.made(self.copied("llama-qv", r=16, rank_pattern={"q_proj": 8, "v_proj": 8}), model)
        self.made(self.copied("llama-qv", rank_pattern={"proj": 2}), model)   # Names no module: PEFT compares whole words.

    def test_patterns_are_read_as_peft_has_them(self):
        """By the rule of PEFT itself, and as our engine reads the same folder."""
        module, model = "model.layers.1.self_attn.v_proj", model_of("llama-qv")
        for key in ("v_proj", r"layers\.[01]\.self_attn\.[qv]_proj", ".*", r"(?!.*q_proj).*", "q_proj|v_proj", "^model.*", "proj", "",
                    r"layers\.\d+", "[a-z]_proj$", "v_pro.?", r"\w+", "(?:self_attn|mlp).v_proj", "v_proj.*x", "V_proj"):
            with self.subTest(key):
                self.assertEqual(module_pattern(key).matches(module), bool(re.match(rf"(.*\.)?({key})$", module)))
        for ranks, code in (({"[qv]_proj": 8}, 0), ({r"layers\.0\..*": 8, r"layers\.1\..*": 8}, 0), ({"v_proj": 8, ".*": 8}, 0),
                            ({"q_proj": 8}, 1), ({r"layers\.0\..*": 8}, 1), ({".*": 4, "[qv]_proj": 8}, 1)):
            with self.subTest(ranks):
                folder = self.copied("llama-qv", r=4, lora_alpha=16, rank_pattern=ranks)
                self.assertEqual(logits_by(folder, model).returncode, code)
                out, result = self.run_script(folder, model)
                self.assertEqual(result.returncode, code, result.stderr)
                if code == 0:
                    self.assertEqual(logits_by(out, model).stdout, logits_by(folder, model).stdout)

    def test_alphas_by_pattern_are_one_alpha_where_a_file_can_say_it(self):
        model = model_of("llama-qv")
        for changed, alpha in (({"alpha_pattern": {".*_proj": 4}}, 4), ({"lora_alpha": 3, "alpha_pattern": {"[qv]_proj": 6}}, 6),
                               ({"alpha_pattern": {"none": 4}, "lora_alpha": 8}, 8),
                               ({"r": 2, "rank_pattern": {".*": 8}, "alpha_pattern": {"q_proj": 5, "v_proj": 5}, "use_rslora": True},
                                5 * math.sqrt(8))):
            with self.subTest(changed):
                folder = self.copied("llama-qv", **({"alpha_pattern": {}, "rank_pattern": {}, "r": 8, "use_rslora": False} | changed))
                made = self.made(folder, model)
                self.assertAlmostEqual(GgufHeader(made).metadata["adapter.lora.alpha"], alpha, 5)
                self.assertEqual(logits_by(made, model).stdout, logits_by(folder, model).stdout)

    def test_patterns_that_the_engine_refuses_are_refused(self):
        model = model_of("llama-qv")
        for key in (r"(q)_\1", "(?<=a)q_proj", "(?i)q_proj", "(?i:q)_proj", "q++_proj", "(?>q)_proj", "ü", "(", "q)(p", "a{2,1}"):
            for pattern in ("rank_pattern", "alpha_pattern"):
                with self.subTest(key):
                    folder = self.copied("llama-qv", **{"rank_pattern": {}, "alpha_pattern": {}, pattern: {key: 8}})
                    self.assertNotEqual(logits_by(folder, model).returncode, 0)
                    self.assert_refused(f"adapter_config.json: {pattern}: found {json.dumps(key)}, expected a pattern that is read: ",
                                        folder, model)
        with unittest.mock.patch("name_pattern.MOST_SECONDS", 0.1), self.assertRaisesRegex(ValueError, "takes longer than"):
            module_pattern("(?:.|.)*!").matches("model.layers.11.self_attn.q_proj")

    def test_numbers_of_the_configuration_are_checked(self):
        for changed, said in (({"lora_alpha": "16"}, 'lora_alpha: found "16", expected a number'),
                              ({"lora_alpha": None}, "lora_alpha: found null"), ({"lora_alpha": True}, "lora_alpha: found true"),
                              ({"lora_alpha": float("nan")}, "lora_alpha: found NaN"), ({"lora_alpha": 10 ** 400}, "lora_alpha: found 10"),
                              ({"lora_alpha": 0}, "lora_alpha: found 0"), ({"lora_alpha": 1e-50}, "lora_alpha: found 1e-50"),
                              ({"lora_alpha": 3e38, "use_rslora": True}, "lora_alpha: found 3e+38"), ({"r": 0}, "r: found 0, expected"),
                              ({"r": "8"}, 'r: found "8"'), ({"r": 1025}, "r: found 1025"), ({"use_rslora": 1}, "use_rslora: found 1"),
                              ({"rank_pattern": {"q_proj": 0}}, "rank_pattern: found {"),
                              ({"rank_pattern": [8]}, "rank_pattern: found [8]"),
                              ({"alpha_pattern": {"q_proj": 0}}, "alpha_pattern: found {"),
                              ({"alpha_pattern": "q_proj"}, 'alpha_pattern: found "q_proj"')):
            with self.subTest(changed):
                self.assert_refused(f"adapter_config.json: {said}", self.copied("llama-qv", **changed), model_of("llama-qv"))
        folder = self.copied("llama-qv")
        path = folder / "adapter_config.json"
        for text, said in (("[1]", "found [1], expected an object"), ("{", "found no JSON"),
                           ('{"peft_type": "LORA", "r": 8}', "lora_alpha: found nothing, expected a number")):
            path.write_text(text)
            self.assert_refused(f"adapter_config.json: {said}", folder, model_of("llama-qv"))

    def test_targets_are_the_matrices_that_the_folder_has(self):
        for targets, words in ((["q_proj"], "a name of model.layers.0.self_attn.v_proj too"),
                               (["q_proj", "v_proj", "down_proj"], "which down_proj is not"),
                               ([], "expected names of modules, or a pattern"), (None, "expected names of modules, or a pattern")):
            result = self.run_script(self.copied("llama-qv", target_modules=targets), model_of("llama-qv"))[1]
            self.assertEqual(result.returncode, 1)
            self.assertIn("adapter_config.json: target_modules: found ", result.stderr)
            self.assertIn(words, result.stderr)
        self.made(self.copied("llama-qv", target_modules=".*_proj"), model_of("llama-qv"))

    def test_rows_that_are_no_heads_name_file_and_tensor(self):
        with self.assertRaisesRegex(ValueError, "found 68 rows of 4 heads, expected pairs of rows in each: a multiple of 8"):
            adapter_to_gguf.turned(bytes(68), 4, 68)

        class Odd(GgufHeader):
            def __init__(self, path):
                super().__init__(path)
                self.metadata["llama.attention.head_count"] = 5
        folder = GOLDEN / "lora/llama-qv"
        said = r"adapter_model.safetensors: tensor base_model.*q_proj.lora_B.weight: found 64 rows of 5 heads"
        with self.assertRaisesRegex(SystemExit, said):
            adapter_to_gguf.Adapter(folder, Odd(model_of("llama-qv")), adapter_to_gguf.read_config(folder))


class Outputs(WithFolder):
    def test_what_is_read_and_what_is_no_file_is_not_replaced(self):
        model, folder = self.folder / "model.gguf", self.copied("llama-qv")
        shutil.copy(model_of("llama-qv"), model)
        (self.folder / "link").symlink_to(model)
        (self.folder / "hard").hardlink_to(model)
        (self.folder / "within").symlink_to(folder)
        os.mkfifo(self.folder / "pipe")
        before = model.read_bytes(), (folder / "adapter_model.safetensors").read_bytes()
        for out, said in ((model, "found the file of --model"), (self.folder / "link", "found the file of --model"),
                          (self.folder / "hard", "found the file of --model"), (folder / "adapter_model.safetensors", "in the folder of"),
                          (folder / "new.gguf", "found a file in the folder of --adapter"), (folder / "a/new.gguf", "in the folder of"),
                          (self.folder / "within/new.gguf", "found a file in the folder of --adapter"), (self.folder, "found a folder"),
                          (self.folder / "pipe", "found what is no regular file"), (Path("/dev/null"), "found what is no regular file")):
            with self.subTest(out):
                self.assert_refused(f"--out: {out}: found", folder, model, out)
                self.assert_refused(said, folder, model, out)
        self.assertEqual((model.read_bytes(), (folder / "adapter_model.safetensors").read_bytes()), before)
        self.assert_refused("No such file", folder, model, self.folder / "none/new.gguf")

    def test_a_file_that_is_there_is_replaced_whole_and_keeps_its_permissions(self):
        out, other = self.folder / "adapter.gguf", self.folder / "other.gguf"
        out.symlink_to(other)
        other.write_text("before")
        other.chmod(0o640)
        self.made(GOLDEN / "lora/llama-qv", model_of("llama-qv"))
        self.assertTrue(out.is_symlink())
        self.assertEqual((other.read_bytes()[:4], other.stat().st_mode & 0o777), (b"GGUF", 0o640))
        with self.assertRaisesRegex(ZeroDivisionError, "later"), output_file(out) as file:
            file.write(b"half")
            raise ZeroDivisionError("later")
        self.assertEqual(other.read_bytes()[:4], b"GGUF")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["adapter.gguf", "other.gguf"])


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
