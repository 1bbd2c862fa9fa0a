#!/usr/bin/env python3
"""Writes a small model's exit predictor as one for a model that was made around it. The standard library is enough.

    build/bin/tessera_random_model --around=small.gguf --shape=4b --out=large.gguf
    scripts/train/widen_predictor.py --predictor exit.safetensors --model large.gguf --out exit.4b.safetensors

In such a model a hidden state is the small model's and then zeros, and the small model's layers lie evenly among the others
(apps/bench/around_model.h). So the predictor's map is the small one's and then zeros, and its layer the one before which as many of the
small model's layers lie. Scores are the small model's.
"""
import json
import struct
import sys
from pathlib import Path

sys.path[1:1] = [f"{Path(__file__).resolve().parent}/lib", f"{Path(__file__).resolve().parents[1]}/lib"]
from gguf_header import GgufHeader  # noqa: E402
from output_file import check_output, output_file  # noqa: E402
from safetensors_header import read_header  # noqa: E402
from script_main import flag_parser, run_main  # noqa: E402

SQUARE, TABLE = "predictor.map", "predictor.weight"   # [width, width] and [vocabulary, width].
BYTES = {"F32": 4, "F16": 2, "BF16": 2}


def read_flags():
    flags = flag_parser(__doc__)
    for name in ("--predictor", "--model", "--out"):
        flags.add_argument(name, required=True, metavar="FILE")
    given = flags.parse_args()
    check_output("--out", given.out, files={"--predictor": given.predictor, "--model": given.model})
    return given


def number_of(path, texts, key):
    found = texts.get(key)
    if not isinstance(found, str) or not found.isdecimal() or len(found) > 9:
        raise SystemExit(f"{path}: metadata {key}: found {json.dumps(found)}, expected a whole number, as exit_predictor.py writes it")
    return int(found)


def read_predictor(path):
    """(name, type, rows, columns, bytes, texts) of the one tensor."""
    header, texts, begin = read_header(path)
    name = next(iter(header), None)
    entry = header[name] if name in (SQUARE, TABLE) and len(header) == 1 and isinstance(header[name], dict) else {}
    kind, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    numbers = [number for pair in (shape, offsets) if isinstance(pair, list) and len(pair) == 2 for number in pair]
    if kind not in BYTES or len(numbers) != 4 or any(type(number) is not int or number < 0 for number in numbers):
        raise SystemExit(f"{path}: found {json.dumps(header)[:200]}, expected {SQUARE} or {TABLE}, as exit_predictor.py writes them")
    with open(path, "rb") as file:
        file.seek(begin + offsets[0])
        data = file.read(offsets[1] - offsets[0])
    if len(data) != shape[0] * shape[1] * BYTES[kind]:
        raise SystemExit(f"{path}: tensor {name}: found {len(data)} bytes, expected {shape[0] * shape[1] * BYTES[kind]} of {kind} {shape}")
    return name, kind, *shape, data, texts


def number_of_model(model, key):
    key = f"{model.metadata.get('general.architecture')}.{key}"
    number = model.metadata.get(key)
    if type(number) is not int or number < 1:
        raise SystemExit(f"{model.path}: {key}: found {number}, expected a whole number from 1 on")
    return number


def layer_among(layer, small, layers):
    """The first layer of the large model before which `layer` of the small one's lie: AroundModel::SmallLayer."""
    return next(number for number in range(layers + 1) if number * small // layers >= layer)


def main():
    given = read_flags()
    name, kind, rows, columns, data, texts = read_predictor(given.predictor)
    layer, small = number_of(given.predictor, texts, "layer"), number_of(given.predictor, texts, "layers")
    model = GgufHeader(given.model)
    width, layers = number_of_model(model, "embedding_length"), number_of_model(model, "block_count")
    if width < columns or layers < small or not 0 < layer < small:
        raise SystemExit(f"{given.model}: found {layers} layers of width {width}, expected a model around that of {given.predictor}, "
                         f"which has {small} of width {columns}")
    size = columns * BYTES[kind]
    zeros = bytes((width - columns) * BYTES[kind])
    large_rows = width if name == SQUARE else rows
    total = large_rows * width * BYTES[kind]
    told = texts | {"layer": str(layer_among(layer, small, layers)), "layers": str(layers)}
    header = json.dumps({"__metadata__": told, name: {"dtype": kind, "shape": [large_rows, width], "data_offsets": [0, total]}}).encode()
    header += b" " * (-len(header) % 8)
    with output_file(given.out) as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for row in range(rows):
            file.write(data[row * size:(row + 1) * size] + zeros)
        for _ in range(large_rows - rows):
            file.write(bytes(width * BYTES[kind]))


if __name__ == "__main__":
    run_main(main)
