"""Reads GGUF files: metadata, and tensors as FP32.

    file = Gguf("model.gguf")
    file.metadata["llama.block_count"], file.tensor("blk.0.attn_q.weight")      # a numpy array [outputs, inputs]

Formats: F32, F16, BF16, Q4_0, Q4_1, Q8_0, Q6_K; others are an error that names tensor and type.
"""
import struct
from pathlib import Path

import numpy as np

NUMBERS = {0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "<u1", 10: "<u8", 11: "<i8", 12: "<f8"}
TEXT, ARRAY = 8, 9
ALIGNMENT = 32


def halves(raw):
    return np.ascontiguousarray(raw).view("<f2").astype(np.float32)


def nibbles(raw):
    return np.concatenate([raw & 15, raw >> 4], axis=1).astype(np.float32)


def q4_0(raw):
    return (nibbles(raw[:, 2:]) - 8) * halves(raw[:, :2])


def q4_1(raw):
    return nibbles(raw[:, 4:]) * halves(raw[:, :2]) + halves(raw[:, 2:4])


def q8_0(raw):
    return np.ascontiguousarray(raw[:, 2:]).view(np.int8).astype(np.float32) * halves(raw[:, :2])


def q6_k(raw):
    low, high = raw[:, :128].reshape(-1, 2, 64), raw[:, 128:192].reshape(-1, 2, 1, 32)
    scales = np.ascontiguousarray(raw[:, 192:208]).view(np.int8).astype(np.float32)
    fours = np.concatenate([low & 15, low >> 4], axis=2).reshape(-1, 2, 4, 32)
    twos = (high >> np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)) & 3
    codes = (fours | (twos << 4)).astype(np.float32).reshape(-1, 16, 16) - 32
    return (codes * scales[:, :, None]).reshape(-1, 256) * halves(raw[:, 208:210])


# By the number of the type: its name, numbers and bytes per block, and what turns blocks into numbers.
FORMATS = {0: ("F32", 1, 4, lambda raw: raw.view("<f4")), 1: ("F16", 1, 2, halves),
           30: ("BF16", 1, 2, lambda raw: (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)),
           2: ("Q4_0", 32, 18, q4_0), 3: ("Q4_1", 32, 20, q4_1), 8: ("Q8_0", 32, 34, q8_0), 14: ("Q6_K", 256, 210, q6_k)}


class Gguf:
    def __init__(self, path):
        self.path, self.at = path, 0
        if not Path(path).is_file():
            raise SystemExit(f"{path}: found no file, expected a GGUF file")
        self.data = np.memmap(path, np.uint8, "r")
        magic, version, tensors, entries = struct.unpack("<4sIQQ", self._take(24).tobytes())
        if magic != b"GGUF" or version not in (2, 3):
            raise SystemExit(f"{path}: found {magic} version {version}, expected GGUF version 2 or 3")
        self.metadata = {}
        for _ in range(entries):
            name = self._text()
            self.metadata[name] = self._value(self._number("<u4"))
        self.tensors = {}
        for _ in range(tensors):
            name = self._text()
            shape = [self._number("<u8") for _ in range(self._number("<u4"))]
            self.tensors[name] = (shape, self._number("<u4"), self._number("<u8"))
        alignment = self.metadata.get("general.alignment", ALIGNMENT)
        self.begin = -(-self.at // alignment) * alignment

    def _take(self, count):
        if self.at + count > len(self.data):
            raise SystemExit(f"{self.path}: found {len(self.data)} bytes, expected more")
        self.at += count
        return self.data[self.at - count:self.at]

    def _number(self, kind):
        return self._take(np.dtype(kind).itemsize).view(kind)[0].item()

    def _text(self):
        return self._take(self._number("<u8")).tobytes().decode("utf-8", "replace")

    def _value(self, kind):
        if kind == TEXT:
            return self._text()
        if kind != ARRAY:
            return self._number(NUMBERS[kind])
        kind, count = self._number("<u4"), self._number("<u8")
        if kind in NUMBERS:
            return self._take(count * np.dtype(NUMBERS[kind]).itemsize).view(NUMBERS[kind])
        return [self._value(kind) for _ in range(count)]

    def tensor(self, name):
        if name not in self.tensors:
            raise SystemExit(f"{self.path}: found no tensor {name}, expected one")
        shape, kind, offset = self.tensors[name]
        if kind not in FORMATS:
            raise SystemExit(f"{self.path}: tensor {name}: found type {kind}, expected {', '.join(f[0] for f in FORMATS.values())}")
        _, numbers, size, dequantize = FORMATS[kind]
        count = int(np.prod(shape)) // numbers * size
        raw = np.array(self.data[self.begin + offset:self.begin + offset + count])
        if len(raw) != count:
            raise SystemExit(f"{self.path}: tensor {name}: found {len(raw)} bytes, expected {count}")
        return np.asarray(dequantize(raw.reshape(-1, size)), np.float32).reshape(shape[::-1])
