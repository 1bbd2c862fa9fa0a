#!/usr/bin/env python3
"""Prints read_only_blocks.jsonl: two random blocks in each format that is only read, and the FP32 numbers that the Python package gguf
makes of them, as bits.

    python3 tests/golden/make_read_only_blocks.py > tests/golden/read_only_blocks.jsonl

The package is that of the source which scripts/fetch_peer_source.sh fetches. It needs numpy (Debian: python3-numpy).
"""
import importlib
import json
import subprocess
import sys
import types
from pathlib import Path

import numpy

FORMATS = ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4")
FETCH = Path(__file__).resolve().parents[2] / "scripts/fetch_peer_source.sh"


def package():
    """The package's modules `constants` and `quants`, without the rest of it, which needs more packages."""
    source = subprocess.run([FETCH], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    whole = types.ModuleType("gguf")
    whole.__path__ = [f"{source}/gguf-py/gguf"]
    sys.modules["gguf"] = whole
    return importlib.import_module("gguf.constants"), importlib.import_module("gguf.quants")


def put_scales(name, blocks, random):
    """Small finite scales, with either sign, in random blocks of a format: a row each."""
    halves = (random.uniform(0.001, 1, len(blocks)) * random.choice([-1, 1], len(blocks))).astype(numpy.float16).view(numpy.uint16)
    at = {"TQ1_0": 52, "TQ2_0": 64}.get(name, 0)
    if name == "MXFP4":
        blocks[:, 0] = random.integers(0, 253, len(blocks))
    elif name == "IQ1_M":
        for i in range(4):
            blocks[:, 49 + 2 * i] = blocks[:, 49 + 2 * i] & 15 | (halves >> 4 * i & 15) << 4
    elif name != "NVFP4":
        blocks[:, at:at + 2] = halves.view(numpy.uint8).reshape(-1, 2)


def random_blocks(name, bytes_per_block, count, random):
    blocks = random.integers(0, 256, (count, bytes_per_block), dtype=numpy.uint8)
    put_scales(name, blocks, random)
    return blocks


def main():
    constants, quants = package()
    random = numpy.random.default_rng(28)
    for name in FORMATS:
        kind = constants.GGMLQuantizationType[name]
        for block in random_blocks(name, constants.GGML_QUANT_SIZES[kind][1], 2, random):
            bits = quants.dequantize(block.reshape(1, -1), kind).astype("<f4").tobytes().hex()
            print(json.dumps({"format": name, "bytes": block.tobytes().hex(), "bits": bits}))


if __name__ == "__main__":
    main()
