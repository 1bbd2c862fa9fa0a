#!/usr/bin/env python3
"""Writes an adapter of a PEFT folder as the GGUF file that llama.cpp's --lora takes. The standard library is enough.

    scripts/train/adapter_to_gguf.py --model model.gguf --adapter tasks/pirate --out pirate.gguf

Numbers keep the folder's 16 or 32 bits. For models of the architecture llama, the rows of B of queries and keys are put in the order of
GGUF, where neighbours are a pair. What a file of one alpha cannot say is refused: alphas by module, ranks by module with rsLoRA, DoRA,
biases, whole modules. The mark of the model, if the folder has one, goes along.
"""
import json
import math
import re
import struct
import sys
from pathlib import Path

sys.path[1:1] = [f"{Path(__file__).resolve().parent}/lib", f"{Path(__file__).resolve().parents[1]}/lib"]
from gguf_header import ALIGNMENT, TEXT, GgufHeader  # noqa: E402
from model_mark import KEY as MARK  # noqa: E402
from safetensors_header import read_header  # noqa: E402
from script_main import flag_parser, run_main  # noqa: E402

MATRICES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
            "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
NAME = re.compile(r"base_model\.model\.model\.layers\.(\d+)\.(\w+\.\w+)\.lora_([AB])\.weight")
TYPES = {"F32": (0, 4), "F16": (1, 2), "BF16": (30, 2)}   # GGUF's number, and bytes of each.
UINT32, FLOAT32 = 4, 6
TURNS = {"llama": True, "qwen2": False, "qwen3": False, "gemma3": False}   # Whether the rows of q and k lie in another order.
REFUSED = ("use_dora", "use_qalora", "fan_in_fan_out", "lora_bias", "modules_to_save", "alpha_pattern", "layer_replication")


def read_flags():
    flags = flag_parser(__doc__)
    for name in ("--model", "--adapter", "--out"):
        flags.add_argument(name, required=True, metavar="PATH")
    return flags.parse_args()


def read_config(folder):
    path = Path(folder, "adapter_config.json")
    if not path.is_file():
        raise SystemExit(f"{path}: found no file, expected a PEFT folder")
    config = json.loads(path.read_text("utf-8"))
    found = {key: config[key] for key in REFUSED if config.get(key)}
    if config.get("peft_type") != "LORA" or config.get("bias", "none") != "none" or found:
        found = found or {key: config.get(key) for key in ("peft_type", "bias")}
        raise SystemExit(f"{path}: found {json.dumps(found)}, expected LoRA alone, of one alpha")
    if config.get("use_rslora") and config.get("rank_pattern"):
        raise SystemExit(f"{path}: found rank_pattern with use_rslora, expected one of them: a GGUF file has one alpha")
    return config


def alpha_of(config):
    """A GGUF file's scale is alpha / rank; rsLoRA's is alpha / sqrt(rank)."""
    return config["lora_alpha"] * (math.sqrt(config["r"]) if config.get("use_rslora") else 1)


def turned(data, heads, rows):
    """From Hugging Face's order of rows, halves of a head a pair, to GGUF's, neighbours a pair."""
    if rows % (2 * heads) != 0:
        raise SystemExit(f"found {rows} rows of {heads} heads, expected pairs of rows in each")
    size, head = len(data) // rows, rows // heads
    order = (h * head + half * (head // 2) + i for h in range(heads) for i in range(head // 2) for half in (0, 1))
    return b"".join(data[row * size:(row + 1) * size] for row in order)


class Adapter:
    """The tensors of a folder by GGUF's names: (shape, type, bytes), shapes fastest dimension first."""
    def __init__(self, folder, model):
        self.path = f"{folder}/adapter_model.safetensors"
        header, self.texts, self.begin = read_header(self.path)
        self.architecture = model.metadata.get("general.architecture")
        if self.architecture not in TURNS:
            raise SystemExit(f"{model.path}: found the architecture {self.architecture}, expected one of {', '.join(TURNS)}")
        get = lambda key, otherwise=None: model.metadata.get(f"{self.architecture}.attention.{key}", otherwise)
        self.heads = {"attn_q": get("head_count"), "attn_k": get("head_count_kv", get("head_count"))} if TURNS[self.architecture] else {}
        self.tensors = dict(sorted(self._tensor(name, entry) for name, entry in header.items()))
        if not self.tensors:
            raise SystemExit(f"{self.path}: found no tensor, expected some")

    def _tensor(self, name, entry):
        parts = NAME.fullmatch(name)
        if parts is None or parts[2] not in MATRICES:
            raise SystemExit(f"{self.path}: found the tensor {name}, expected A and B of {', '.join(MATRICES)} alone")
        if entry["dtype"] not in TYPES or len(entry["shape"]) != 2:
            raise SystemExit(f"{self.path}: tensor {name}: found {entry['dtype']} {entry['shape']}, expected a matrix of "
                             f"{', '.join(TYPES)}")
        (begin, end), (rows, columns), (kind, size) = entry["data_offsets"], entry["shape"], TYPES[entry["dtype"]]
        with open(self.path, "rb") as file:
            file.seek(self.begin + begin)
            data = file.read(end - begin)
        if len(data) != rows * columns * size:
            raise SystemExit(f"{self.path}: tensor {name}: found {len(data)} bytes, expected {rows * columns * size}")
        matrix = MATRICES[parts[2]]
        if parts[3] == "B" and matrix in self.heads:
            data = turned(data, self.heads[matrix], rows)
        return f"blk.{parts[1]}.{matrix}.weight.lora_{parts[3].lower()}", ((columns, rows), kind, data)


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def header_of(adapter, alpha):
    entries = [text(key) + struct.pack("<I", TEXT) + text(value) for key, value in
               (("general.architecture", adapter.architecture), ("general.type", "adapter"), ("adapter.type", "lora"))]
    entries.append(text("adapter.lora.alpha") + struct.pack("<If", FLOAT32, alpha))
    if MARK in adapter.texts:
        entries.append(text(MARK) + struct.pack("<II", UINT32, int(adapter.texts[MARK])))
    table, at = [], 0
    for name, (shape, kind, data) in adapter.tensors.items():
        table.append(text(name) + struct.pack("<IQQIQ", 2, *shape, kind, at))
        at += -(-len(data) // ALIGNMENT) * ALIGNMENT
    return struct.pack("<4sIQQ", b"GGUF", 3, len(table), len(entries)) + b"".join(entries) + b"".join(table)


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def main():
    given = read_flags()
    alpha = alpha_of(read_config(given.adapter))
    adapter = Adapter(given.adapter, GgufHeader(given.model))
    part = Path(f"{given.out}.part")
    with open(part, "wb") as file:
        file.write(padded(header_of(adapter, alpha)))
        for _, _, data in adapter.tensors.values():
            file.write(padded(data))
    part.replace(given.out)


if __name__ == "__main__":
    run_main(main)
