"""Reads the header of a safetensors file with the standard library alone.

    header, texts, begin = read_header("adapter_model.safetensors")
    header["a"]["dtype"], header["a"]["shape"], header["a"]["data_offsets"]      # from byte `begin` of the file on
"""
import json
import os
import struct
from pathlib import Path


def read_header(path):
    if not Path(path).is_file():
        raise SystemExit(f"{path}: found no file, expected a safetensors file")
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0] if size > 8 else size
        if length > size - 8:
            raise SystemExit(f"{path}: found a header of {length} bytes, expected at most {max(size - 8, 0)}")
        try:
            header = json.loads(file.read(length))
        except ValueError:
            raise SystemExit(f"{path}: found a header that is no JSON, expected a safetensors file") from None
    if not isinstance(header, dict) or not isinstance(header.get("__metadata__", {}), dict):
        raise SystemExit(f"{path}: found a header that is no object of tensors, expected a safetensors file")
    return header, header.pop("__metadata__", {}), 8 + length
