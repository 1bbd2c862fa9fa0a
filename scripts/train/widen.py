#!/usr/bin/env python3
"""Writes what was trained for a small model as the same for a model that was made around it. The standard library is enough.

    build/bin/tessera_random_model --around=small.gguf --shape=4b --out=large.gguf
    scripts/train/widen.py --part exit.safetensors --model large.gguf --out exit.4b.safetensors

PART is an exit predictor (exit_predictor.py) or prefix slots and forecasts (ds2d.py). In such a model a hidden state is the small model's
and then zeros, the small model's heads come before others, and its layers lie evenly among others (apps/lab/models/around_model.h). So rows
and heads are the small ones and then zeros, layers that the small model does not have get zeros, and a predictor's layer is the first
before which as many of the small model's layers lie. What comes of it is what comes of it in the small model.
"""
import json
import math
import struct
import sys
from pathlib import Path

sys.path[1:1] = [f"{Path(__file__).resolve().parent}/lib", f"{Path(__file__).resolve().parents[1]}/lib"]
from gguf_header import GgufHeader  # noqa: E402
from model_mark import KEY as MARK, mark_of  # noqa: E402
from output_file import check_output, output_file  # noqa: E402
from safetensors_header import read_header  # noqa: E402
from script_main import flag_parser, run_main  # noqa: E402

SQUARE, TABLE = "predictor.map", "predictor.weight"                           # [width, width]; [vocabulary, width].
FORECASTS, PREFIX = "forecasts", ("prefix.keys", "prefix.values")             # [forecasts, width]; [layers, slots, key heads, head size].
KINDS = ({SQUARE}, {TABLE}, {FORECASTS, *PREFIX})
BYTES = {"F32": 4, "F16": 2, "BF16": 2}


def read_flags():
    flags = flag_parser(__doc__)
    for name in ("--part", "--model", "--out"):
        flags.add_argument(name, required=True, metavar="FILE")
    given = flags.parse_args()
    check_output("--out", given.out, files={"--part": given.part, "--model": given.model})
    return given


class Tensor:
    """A shape, and numbers as the file has them."""
    def __init__(self, kind, shape, data):
        self.kind, self.shape, self.data = kind, shape, data

    def padded(self, shape):
        """With zeros behind in each dimension. A shape of no dimensions is one number."""
        def grown(at, dimension):
            size = math.prod(self.shape[dimension:]) * BYTES[self.kind]
            if dimension == len(shape) - 1:
                return self.data[at:at + size] + bytes((shape[dimension] - self.shape[dimension]) * BYTES[self.kind])
            step = size // max(self.shape[dimension], 1)
            parts = [grown(at + i * step, dimension + 1) for i in range(self.shape[dimension])]
            missing = (shape[dimension] - self.shape[dimension]) * math.prod(shape[dimension + 1:]) * BYTES[self.kind]
            return b"".join(parts) + bytes(missing)
        return Tensor(self.kind, shape, grown(0, 0))


def read_tensor(path, begin, name, entry):
    get = entry.get if isinstance(entry, dict) else {}.get
    kind, shape, offsets = (get(key) for key in ("dtype", "shape", "data_offsets"))
    dimensions = 4 if name in PREFIX else 2
    lists = all(isinstance(each, list) and all(type(number) is int and number >= 0 for number in each) for each in (shape, offsets))
    if kind not in BYTES or not lists or len(shape) != dimensions or len(offsets) != 2 or math.prod(shape) == 0:
        raise SystemExit(f"{path}: tensor {name}: found {json.dumps(entry)}, expected {dimensions} dimensions of {', '.join(BYTES)}")
    size, there = math.prod(shape) * BYTES[kind], Path(path).stat().st_size - begin
    if offsets[1] - offsets[0] != size or offsets[1] > there:   # Before as much is read: offsets may say anything.
        raise SystemExit(f"{path}: tensor {name}: found bytes {offsets[0]} to {offsets[1]} of {there}, expected {size} of {kind} {shape}")
    with open(path, "rb") as file:
        file.seek(begin + offsets[0])
        return Tensor(kind, shape, file.read(size))


def read_part(path):
    header, texts, begin = read_header(path)
    if set(header) not in KINDS:
        raise SystemExit(f"{path}: found the tensors {', '.join(header)[:200]}, expected {SQUARE}, {TABLE} or {FORECASTS} and "
                         f"{', '.join(PREFIX)}")
    return {name: read_tensor(path, begin, name, entry) for name, entry in header.items()}, texts


class Large:
    """The sizes of the large model."""
    def __init__(self, path):
        self.path, model = path, GgufHeader(path)

        def number(key, otherwise=None):
            key = f"{model.metadata.get('general.architecture')}.{key}"
            found = model.metadata.get(key, otherwise)
            if type(found) is not int or found < 1:
                raise SystemExit(f"{path}: {key}: found {found}, expected a whole number from 1 on")
            return found
        self.width, self.layers = number("embedding_length"), number("block_count")
        heads = number("attention.head_count")
        self.key_heads, self.head_size = number("attention.head_count_kv", heads), number("attention.key_length", self.width // heads)

    def expect(self, fits, part, small):
        if not fits:
            raise SystemExit(f"{self.path}: found {self.layers} layers of width {self.width}, with {self.key_heads} key heads of "
                             f"{self.head_size}, expected a model around that of {part}, which has {small}")

    def layer_after(self, layer, small):
        """The first layer before which `layer` of the small model's lie."""
        return next(number for number in range(self.layers + 1) if number * small // self.layers >= layer)

    def small_layer(self, layer, small):
        """AroundModel::SmallLayer."""
        before = layer * small // self.layers
        return before if (layer + 1) * small // self.layers > before else None


def number_of(path, texts, key):
    found = texts.get(key)
    if not isinstance(found, str) or not found.isdecimal() or len(found) > 9:
        raise SystemExit(f"{path}: metadata {key}: found {json.dumps(found)}, expected a whole number, as exit_predictor.py writes it")
    return int(found)


def wide_predictor(path, name, tensor, texts, large):
    layer, small = number_of(path, texts, "layer"), number_of(path, texts, "layers")
    rows, columns = tensor.shape
    large.expect(large.width >= columns and large.layers >= small and 0 < layer < small, path, f"{small} layers of width {columns}")
    wide = tensor.padded([large.width if name == SQUARE else rows, large.width])
    return {name: wide}, texts | {"layer": str(large.layer_after(layer, small)), "layers": str(large.layers)}


def wide_forecasts(path, tensors, texts, large):
    rows, width = tensors[FORECASTS].shape
    small, slots, heads, size = tensors[PREFIX[0]].shape
    fits = large.width >= width and large.layers >= small and large.key_heads >= heads and large.head_size == size
    if tensors[PREFIX[1]].shape != tensors[PREFIX[0]].shape:
        raise SystemExit(f"{path}: tensor {PREFIX[1]}: found {tensors[PREFIX[1]].shape}, expected {tensors[PREFIX[0]].shape}, "
                         f"as {PREFIX[0]} has")
    large.expect(fits, path, f"{small} layers of width {width}, with {heads} key heads of {size}")
    wide = {FORECASTS: tensors[FORECASTS].padded([rows, large.width])}
    for name in PREFIX:
        kind, data = tensors[name].kind, tensors[name].data
        step = len(data) // small
        own = [Tensor(kind, [slots, heads, size], data[i * step:(i + 1) * step]).padded([slots, large.key_heads, size]).data
               for i in range(small)]
        places = (large.small_layer(layer, small) for layer in range(large.layers))
        parts = [bytes(len(own[0])) if place is None else own[place] for place in places]
        wide[name] = Tensor(kind, [large.layers, slots, large.key_heads, size], b"".join(parts))
    return wide, texts | (mark_of(large.path) if MARK in texts else {})


def write(path, tensors, texts):
    header, at = {"__metadata__": texts}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": tensor.kind, "shape": tensor.shape, "data_offsets": [at, at + len(tensor.data)]}
        at += len(tensor.data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with output_file(path) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.data)


def main():
    given = read_flags()
    tensors, texts = read_part(given.part)
    large = Large(given.model)
    if FORECASTS in tensors:
        write(given.out, *wide_forecasts(given.part, tensors, texts, large))
    else:
        (name, tensor), = tensors.items()
        write(given.out, *wide_predictor(given.part, name, tensor, texts, large))


if __name__ == "__main__":
    run_main(main)
