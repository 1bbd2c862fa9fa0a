"""Reads and writes safetensors files with numpy alone.

    tensors, texts = read("states.safetensors")          # {"tokens": a view of the file, ...}, {"made_by": "tessera_states", ...}
    write("head.safetensors", {"fc.weight": weights}, {"made_by": "eagle_head.py"})

Arrays that are read are views of the mapped file: what is not looked at takes no memory. A file is written whole or not at all.
"""
import json
import os
import struct
import tempfile
from pathlib import Path

import numpy as np
from safetensors_header import read_header

TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
         "U8": np.uint8, "BOOL": np.bool_}
NAMES = {np.dtype(kind): name for name, kind in TYPES.items()}


def read(path):
    header, texts, begin = read_header(path)
    data = np.memmap(path, np.uint8, "r", begin) if os.path.getsize(path) > begin else np.zeros(0, np.uint8)
    return {name: data[slice(*entry["data_offsets"])].view(TYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}, texts


def framed(tensors, texts):
    """The header's bytes, and the tensors in the order of theirs: wide numbers first, then by name."""
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header, end = ({"__metadata__": texts} if texts else {}), 0
    for name in order:
        begin, end = end, end + tensors[name].nbytes
        header[name] = {"dtype": NAMES[tensors[name].dtype], "shape": list(tensors[name].shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, order


def replace(path, write_to):
    """Calls write_to(file) with a temporary file, which then takes the place of `path`."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            write_to(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def write(path, tensors, texts=None):
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    header, order = framed(tensors, texts or {})

    def write_to(file):
        file.write(header)
        for name in order:
            file.write(tensors[name].tobytes())
    replace(path, write_to)


def write_text(path, text):
    replace(path, lambda file: file.write(text.encode()))
