"""Tokens are those of others: of llama.cpp's vocabularies with their texts, and of the Python package tokenizers.

    python3 tests/tokens_test.py -v      # after a build
"""
import bz2
import json
import re
import struct
import subprocess
import sys
import tempfile
import unicodedata
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/bin/tessera_tokenize"
sys.path.insert(0, str(ROOT / "tests"))
from word_rules import RULES, random_texts  # noqa: E402


def fetched(script):
    """The folder that a script prints in its last line."""
    return Path(subprocess.run([ROOT / "scripts" / script], capture_output=True, text=True, check=True).stdout.split()[-1])


def tokens_of(model, texts):
    """What tessera_tokenize says of each text; the message where it refuses the model."""
    requests = "".join(json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts))
    done = subprocess.run([PROGRAM, f"--model={model}", "--jsonl"], input=requests, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [str(number) for number in range(len(texts))]
    return [answer["tokens"] for answer in answers]


def fields(data):
    """Key, first and last byte of each field of metadata."""
    sizes = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    at = 24

    def skip(kind, at):
        if kind == 8:
            return at + 8 + struct.unpack_from("<Q", data, at)[0]
        if kind != 9:
            return at + sizes[kind]
        kind, count = struct.unpack_from("<IQ", data, at)
        at += 12
        if kind != 8:
            return at + count * sizes[kind]
        for _ in range(count):
            at = skip(8, at)
        return at

    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        begin, after_key = at, skip(8, at)
        at = skip(struct.unpack_from("<I", data, after_key)[0], after_key + 4)
        yield data[begin + 8:after_key].decode(), begin, at


def without(data, key):
    """The file, of which no tensor follows, without a field."""
    begin, end = next((begin, end) for name, begin, end in fields(data) if name == key)
    count = struct.unpack_from("<Q", data, 16)[0]
    return data[:16] + struct.pack("<Q", count - 1) + data[24:begin] + data[end:]


def string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def strings(key, texts):
    return string(key) + struct.pack("<IIQ", 9, 8, len(texts)) + b"".join(map(string, texts))


class Table(unittest.TestCase):
    def test_the_table_of_unicode_is_what_its_script_writes(self):
        script = ROOT / "scripts/make_unicode_table.py"
        done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "ReadMe.txt").write_text("data of the Unicode Character Database, for Version\n16.0.0 of the Standard")
            done = subprocess.run([sys.executable, script, "--check", f"--data={folder}"], capture_output=True, text=True)
        self.assertIn('expected the data of that version', done.stderr)


class PeerVocabularies(unittest.TestCase):
    """Each vocabulary of llama.cpp that comes with texts and their tokens."""

    @classmethod
    def setUpClass(cls):
        cls.models = fetched("fetch_peer_source.sh") / "models"
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def texts(self, name):
        path = self.models / f"ggml-vocab-{name}.gguf"
        texts = Path(f"{path}.inp").read_bytes().decode().split("\n__ggml_vocab_test__\n")
        tokens = [[int(word) for word in line.split()] for line in Path(f"{path}.out").read_text().split("\n")]
        return path, texts, tokens[:len(texts)]

    def names(self):
        return sorted(path.name.removeprefix("ggml-vocab-").removesuffix(".gguf.inp") for path in self.models.glob("*.gguf.inp"))

    def test_every_text_has_the_tokens_that_its_model_was_trained_on(self):
        kinds = {"bert-bge": "bert", "gemma-4": "gemma4"}  # Kinds of tokenizers that are not there.
        self.assertGreater(len(self.names()), 14)
        for name in self.names():
            with self.subTest(name):
                path, texts, wanted = self.texts(name)
                found = tokens_of(path, texts)
                if name in kinds:
                    self.assertIn(f'found "{kinds[name]}", expected gpt2 or llama', found)
                else:
                    self.assertEqual(found, wanted)

    def test_a_file_without_the_name_of_its_rule_is_known_by_its_merges(self):
        known = ["command-r", "deepseek-coder", "deepseek-llm", "falcon", "gpt-2", "llama-bpe", "mpt", "qwen2", "refact", "starcoder"]
        for name in known:
            with self.subTest(name):
                path, texts, wanted = self.texts(name)
                bare = Path(self.folder.name, f"{name}.gguf")
                bare.write_bytes(without(path.read_bytes(), "tokenizer.ggml.pre"))
                self.assertEqual(tokens_of(bare, texts), wanted)
                if name == "llama-bpe":
                    self.assertEqual(tokens_of(bare, ["3333+777"]), [[8765, 18, 10, 15831]])
        _, texts, wanted = self.texts("mpt")
        self.assertEqual(tokens_of(self.models / "ggml-vocab-gpt-neox.gguf", texts), wanted)

    def test_merges_that_are_not_known_are_refused_with_the_way_out(self):
        refused = tokens_of(self.models / "ggml-vocab-aquila.gguf", ["a"])
        self.assertRegex(refused, "tokenizer.ggml.pre: found none, and these 99743 merges .*llama-bpe.*gguf_new_metadata.py")


class Package(unittest.TestCase):
    """Random texts of all kinds of Unicode, by each rule that a regular expression says. All pairs of bytes merge, in a random order: so
    another cut makes other tokens."""

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(fetched("fetch_tokenizers.sh")))
        import tokenizers
        cls.package = tokenizers
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        import random
        alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
        cls.merges = [(left, right) for left in alphabet for right in alphabet]
        random.Random(4).shuffle(cls.merges)
        cls.tokens = alphabet + [left + right for left, right in cls.merges]
        vocabulary = {text: number for number, text in enumerate(cls.tokens)}
        cls.tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=cls.merges))

    def model(self, rule):
        path = Path(self.folder.name, "pairs.gguf")
        path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 4) +
                         string("tokenizer.ggml.model") + struct.pack("<I", 8) + string("gpt2") +
                         string("tokenizer.ggml.pre") + struct.pack("<I", 8) + string(rule) +
                         strings("tokenizer.ggml.tokens", self.tokens) +
                         strings("tokenizer.ggml.merges", [" ".join(merge) for merge in self.merges]))
        return path

    def test_random_texts_have_the_same_tokens(self):
        normalizers, cutters = self.package.normalizers, self.package.pre_tokenizers
        for name, (patterns, form_c) in RULES.items():
            with self.subTest(name):
                splits = [cutters.Split(self.package.Regex(pattern), "isolated") for pattern in patterns]
                self.tokenizer.pre_tokenizer = cutters.Sequence(splits + [cutters.ByteLevel(add_prefix_space=False, use_regex=False)])
                self.tokenizer.normalizer = normalizers.NFC() if form_c else normalizers.Sequence([])
                texts = random_texts(name, 400)
                if form_c:  # The package knows fewer marks, those of Unicode 13.
                    same = [text for text in texts if normalizers.NFC().normalize_str(text) == unicodedata.normalize("NFC", text)]
                    self.assertGreater(len(same), 0.9 * len(texts))
                    texts = same
                found = tokens_of(self.model(name), texts)
                self.assertIsInstance(found, list, found)
                for text, tokens in zip(texts, found, strict=True):
                    self.assertEqual(tokens, self.tokenizer.encode(text).ids, f"{name}: {text!a}")

    def test_the_examples_of_unicode_are_normalized(self):
        """Form C of the first three columns of each line is the second. Two models have the same rule, and one of them normalizes."""
        lines = bz2.open("/usr/share/unicode/NormalizationTest.txt.bz2", "rt", encoding="utf-8").read().splitlines()
        columns = [["".join(chr(int(code, 16)) for code in column.split()) for column in line.split(";")[:3]]
                   for line in lines if line[:1] not in ("#", "@", "")]
        self.assertGreater(len(columns), 18000)
        given = [text for line in columns for text in line]
        wanted = [line[1] for line in columns for _ in line]
        self.assertEqual(tokens_of(self.model("olmo"), given), tokens_of(self.model("gpt-2"), wanted))

    def test_every_name_has_a_rule_that_is_tried(self):
        refused = tokens_of(self.model("no such rule"), ["a"])
        names = re.search(r"expected one of ([^\n]*)", refused)[1].split(", ")
        self.assertGreater(len(names), 80)
        self.assertLessEqual(set(RULES), set(names))


if __name__ == "__main__":
    unittest.main()
