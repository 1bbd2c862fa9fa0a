"""The mark of a model (model/files/marked_model.h), which a file carries that fits this model alone. The standard library is enough.

    texts = {"made_by": "ds2d.py"} | mark_of("model.gguf")       # {"tessera.model.vectors": "1234"}

It is the CRC-32C of the model's vectors as FP32: the output norm, then those of each layer. Models of the architecture llama without
biases have no others, and no others are trained for.
"""
import struct
import sys
from array import array

from gguf_header import GgufHeader

KEY = "tessera.model.vectors"
VECTORS = ("attn_norm", "ffn_norm")   # A layer's, in the order in which a pass reads them.
F32, F16, BF16 = 0, 1, 30


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC = _table()


def crc32c(data, crc=0):
    """0xE3069283 for "123456789"."""
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = _CRC[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def floats_of(file, name):
    """A vector's numbers as the bytes of FP32, little-endian."""
    shape, kind, _ = file.tensor_named(name)
    count = shape[0]
    if kind == F32:
        return file.read(name, 4 * count)
    if kind not in (F16, BF16):
        raise SystemExit(f"{file.path}: tensor {name}: found type {kind}, expected F32, F16 or BF16")
    raw = file.read(name, 2 * count)
    if kind == F16:
        return struct.pack(f"<{count}f", *struct.unpack(f"<{count}e", raw))
    halves = array("H", raw)
    if sys.byteorder == "big":
        halves.byteswap()
    return struct.pack(f"<{count}I", *(half << 16 for half in halves))


def vectors_mark(file):
    architecture = file.metadata.get("general.architecture")
    if architecture != "llama":
        raise SystemExit(f"{file.path}: found the architecture {architecture}, expected llama")
    for name in file.tensors:
        if name.endswith(".bias"):
            raise SystemExit(f"{file.path}: found the tensor {name}, expected a model without biases")
    names = ["output_norm.weight"]
    names += [f"blk.{layer}.{vector}.weight" for layer in range(file.metadata["llama.block_count"]) for vector in VECTORS]
    crc = 0
    for name in names:
        crc = crc32c(floats_of(file, name), crc)
    return crc


def mark_of(path):
    """For the metadata of a safetensors file, whose values are texts."""
    return {KEY: str(vectors_mark(GgufHeader(path)))}
