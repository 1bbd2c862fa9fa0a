"""Reads GGUF files: metadata (gguf_header.py), and tensors as FP32.

    file = Gguf("model.gguf")
    file.metadata["llama.block_count"], file.tensor("blk.0.attn_q.weight")      # a numpy array [outputs, inputs]

Formats: F32, F16, BF16, Q4_0, Q4_1, Q8_0, Q6_K; others are an error that names tensor and type.
"""
import numpy as np
from gguf_header import GgufHeader


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


class Gguf(GgufHeader):
    def tensor(self, name):
        shape, kind, _ = self.tensor_named(name)
        if kind not in FORMATS:
            raise SystemExit(f"{self.path}: tensor {name}: found type {kind}, expected {', '.join(f[0] for f in FORMATS.values())}")
        _, numbers, size, dequantize = FORMATS[kind]
        raw = np.frombuffer(self.read(name, int(np.prod(shape)) // numbers * size), np.uint8)
        return np.asarray(dequantize(raw.reshape(-1, size)), np.float32).reshape(shape[::-1])
