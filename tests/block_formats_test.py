"""Tests of the block formats that are only read: their numbers are those of the Python package gguf, bit for bit.

    python3 tests/block_formats_test.py -v

A GGUF file holds many random blocks of each format, as the matrices of layers; tessera_quantize widens them to FP32. The package is that
of the source which scripts/fetch_peer_source.sh fetches; it decodes all of these formats but Q1_0 and Q2_0, which are defined here. It
needs numpy (Debian: python3-numpy).
"""
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/golden"))
import make_read_only_blocks as golden

WIDTH = 256
MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")  # A layer has them all in one format.
VALUES = len(MATRICES) * WIDTH * WIDTH   # IQ1's grid has 2,048 entries, and each is met: 57,344 of them are drawn.


def text(string):
    return struct.pack("<Q", len(string)) + string.encode()


def metadata(layers):
    """What a llama of this many layers needs; each pair of key and value."""
    numbers = {"context_length": 64, "embedding_length": WIDTH, "feed_forward_length": WIDTH, "block_count": layers,
               "attention.head_count": 4, "attention.head_count_kv": 4}
    pairs = [text("general.architecture") + struct.pack("<I", 8) + text("llama"),
             text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5)]
    return pairs + [text(f"llama.{key}") + struct.pack("<II", 4, number) for key, number in numbers.items()]


def gguf_file(layers):
    """A model with a layer for each (type, bytes of its matrices); these come first."""
    tensors = [(f"blk.{i}.{matrix}.weight", (WIDTH, WIDTH), kind, content[len(content) // 7 * m:len(content) // 7 * (m + 1)])
               for i, (kind, content) in enumerate(layers) for m, matrix in enumerate(MATRICES)]
    ones = numpy.ones(WIDTH, dtype="<f4").tobytes()
    tensors += [(f"blk.{i}.{norm}.weight", (WIDTH,), 0, ones) for i in range(len(layers)) for norm in ("attn_norm", "ffn_norm")]
    tensors += [("output_norm.weight", (WIDTH,), 0, ones), ("token_embd.weight", (WIDTH, 32), 0, ones * 32)]
    infos, data = b"", b""
    for name, shape, kind, content in tensors:
        infos += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += content + bytes(-len(content) % 32)
    pairs = metadata(len(layers))
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs) + infos
    return header + bytes(-len(header) % 32) + data


def decode_q1_0(blocks):
    bits = numpy.unpackbits(blocks[:, 2:], axis=1, bitorder="little").astype(numpy.float32)
    return (bits * 2 - 1) * blocks[:, :2].copy().view(numpy.float16).astype(numpy.float32)


def decode_q2_0(blocks):
    codes = (blocks[:, 2:].reshape(len(blocks), 16, 1) >> numpy.array([0, 2, 4, 6], dtype=numpy.uint8)) & 3
    return (codes.reshape(len(blocks), 64).astype(numpy.float32) - 1) * blocks[:, :2].copy().view(numpy.float16).astype(numpy.float32)


class Formats(unittest.TestCase):
    def blocks(self):
        """For each format: its name, GGUF's number, random blocks, and their numbers."""
        constants, quants = golden.package()
        random = numpy.random.default_rng(7)
        for name in (*golden.FORMATS, "Q1_0", "Q2_0"):
            kind = constants.GGMLQuantizationType[name]
            values, size = constants.GGML_QUANT_SIZES[kind]
            blocks = golden.random_blocks(name, size, VALUES // values, random)
            own = {"Q1_0": decode_q1_0, "Q2_0": decode_q2_0}.get(name)
            yield name, int(kind), blocks, own(blocks) if own else quants.dequantize(blocks, kind)

    def widened(self, layers):
        """The matrices of a model with these layers, as FP32."""
        with tempfile.TemporaryDirectory() as folder:
            old, new = Path(folder) / "old.gguf", Path(folder) / "new.gguf"
            old.write_bytes(gguf_file(layers))
            ended = subprocess.run([ROOT / "build/bin/tessera_quantize", "--format=F32", old, new], capture_output=True, text=True)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            vectors = 4 * WIDTH * (2 * len(layers) + 1 + 32)
            return new.read_bytes()[-len(layers) * VALUES * 4 - vectors:-vectors]

    def test_numbers_are_those_of_the_package_to_the_last_bit(self):
        formats = list(self.blocks())
        data = self.widened([(kind, blocks.tobytes()) for _, kind, blocks, _ in formats])
        for i, (name, _, _, expected) in enumerate(formats):
            found = numpy.frombuffer(data, dtype="<u4", count=VALUES, offset=4 * VALUES * i)
            bits = numpy.ascontiguousarray(expected, dtype="<f4").view("<u4").ravel()
            self.assertEqual(numpy.count_nonzero(found != bits), 0, name)

    def test_another_bit_is_seen(self):
        name, kind, blocks, expected = next(self.blocks())
        blocks = blocks.copy()
        blocks[-1, 2] ^= 1
        differing = numpy.count_nonzero(numpy.frombuffer(self.widened([(kind, blocks.tobytes())]), dtype="<f4") != expected.ravel())
        self.assertIn(differing, range(1, 9), f"one index of {name} stands for eight numbers")

    def test_repacked_formats_are_refused_with_the_way_out(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind, name, plain in ((31, "Q4_0_4_4", "Q4_0"), (33, "Q4_0_8_8", "Q4_0"), (36, "IQ4_NL_4_4", "IQ4_NL")):
                path = Path(folder) / "model.gguf"
                path.write_bytes(gguf_file([(kind, bytes(7 * 36864))]))
                ended = subprocess.run([ROOT / "build/bin/tessera_inspect", f"--model={path}"], capture_output=True, text=True)
                self.assertNotEqual(ended.returncode, 0)
                self.assertIn(f"({name}, repacked for one kind of processor and withdrawn: take the model in {plain}", ended.stderr)


if __name__ == "__main__":
    unittest.main()
