#!/usr/bin/env python3
"""Writes an adapter of a PEFT folder as the GGUF file that llama.cpp's --lora takes. The standard library is enough.

    scripts/train/adapter_to_gguf.py --model model.gguf --adapter tasks/pirate --out pirate.gguf

Numbers keep the folder's 16 or 32 bits. For models of the architecture llama, the rows of B of queries and keys are put in the order of
GGUF, where neighbours are a pair. Keys of rank_pattern and alpha_pattern are patterns, and the first that fits a module counts, as PEFT has
it. What a file of one alpha cannot say is refused: modules whose scales (alpha / rank, with rsLoRA alpha / sqrt(rank)) are not one number
over their ranks, DoRA, biases, whole modules; so are matrices that do not fit the configuration or the model. The mark of the model, if the
folder has one, goes along. A list of target_modules and the matrices that the folder has must be the same.
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
from name_pattern import module_pattern  # noqa: E402
from output_file import check_output, output_file  # noqa: E402
from safetensors_header import read_header  # noqa: E402
from script_main import flag_parser, run_main  # noqa: E402

MATRICES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
            "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
NAME = re.compile(r"base_model\.model\.model\.layers\.(0|[1-9][0-9]{0,8})\.(\w+\.\w+)\.lora_([AB])\.weight")
TYPES = {"F32": (0, 4), "F16": (1, 2), "BF16": (30, 2)}   # GGUF's number, and bytes of each.
UINT32, FLOAT32 = 4, 6
LEAST_FLOAT, MOST_FLOAT = 2.0 ** -149, (2 - 2.0 ** -23) * 2.0 ** 127   # What 32 bits hold.
MOST_RANK = 1024   # As model/files/adapter_file.h.
ALPHA = "a number other than 0 that 32 bits hold"
TURNS = {"llama": True, "qwen2": False, "qwen3": False, "gemma3": False}   # Whether the rows of q and k lie in another order.
REFUSED = ("use_dora", "use_qalora", "fan_in_fan_out", "lora_bias", "modules_to_save", "layer_replication")


def read_flags():
    flags = flag_parser(__doc__)
    for name in ("--model", "--adapter", "--out"):
        flags.add_argument(name, required=True, metavar="PATH")
    given = flags.parse_args()
    check_output("--out", given.out, files={"--model": given.model}, folders={"--adapter": given.adapter})
    return given


def wrong_value(path, config, key, expected):
    found = json.dumps(config[key]) if key in config else "nothing"
    raise SystemExit(f"{path}: {key}: found {found}, expected {expected}")


def is_rank(value):
    return type(value) is int and 1 <= value <= MOST_RANK


def check_numbers(path, config):
    if not is_rank(config.get("r")):
        wrong_value(path, config, "r", f"a whole number from 1 to {MOST_RANK}")
    if not isinstance(config.get("use_rslora"), (bool, type(None))):
        wrong_value(path, config, "use_rslora", "true or false")
    if not is_alpha(config.get("lora_alpha"), config):
        wrong_value(path, config, "lora_alpha", f"{ALPHA}, with rsLoRA also times the rank's root")
    for key, is_right, expected in (("rank_pattern", is_rank, f"whole numbers from 1 to {MOST_RANK} by module"),
                                    ("alpha_pattern", lambda alpha: is_alpha(alpha, config), f"{ALPHA}, by module")):
        values = config.get(key)
        if values is not None and not (isinstance(values, dict) and all(map(is_right, values.values()))):
            wrong_value(path, config, key, expected)
        for name in values or ():
            try:
                module_pattern(name)
            except ValueError as error:
                raise SystemExit(f"{path}: {key}: found {json.dumps(name)}, expected a pattern that is read: {error}") from None


def is_alpha(alpha, config):
    if type(alpha) not in (int, float) or not LEAST_FLOAT <= abs(alpha) <= MOST_FLOAT:
        return False
    return not config.get("use_rslora") or abs(alpha) * math.sqrt(MOST_RANK) <= MOST_FLOAT


def read_config(folder):
    path = Path(folder, "adapter_config.json")
    if not path.is_file():
        raise SystemExit(f"{path}: found no file, expected a PEFT folder")
    try:
        config = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise SystemExit(f"{path}: found no JSON ({error}), expected a PEFT configuration") from None
    if not isinstance(config, dict):
        raise SystemExit(f"{path}: found {json.dumps(config)[:60]}, expected an object")
    found = {key: config[key] for key in REFUSED if config.get(key)}
    if config.get("peft_type") != "LORA" or config.get("bias", "none") != "none" or found:
        found = found or {key: config.get(key) for key in ("peft_type", "bias")}
        raise SystemExit(f"{path}: found {json.dumps(found)}, expected LoRA alone")
    check_numbers(path, config)
    return config


def by_pattern(path, config, key, module, otherwise):
    """The number of the first pattern that fits the module, as PEFT has it."""
    for name, number in (config.get(key) or {}).items():
        try:
            if module_pattern(name).matches(module):
                return number
        except ValueError as error:
            raise SystemExit(f"{path}: {key}: found {json.dumps(name)}, expected a pattern that is read: {error}") from None
    return otherwise


def rank_of(path, config, module):
    return by_pattern(path, config, "rank_pattern", module, config["r"])


def is_named(module, name):
    return module == name or module.endswith(f".{name}")


def check_targets(path, config, modules):
    """modules: those that have an A and B. Where target_modules is one text, a pattern, the tensors alone say what it means."""
    targets = config.get("target_modules")
    if isinstance(targets, str):
        return
    if not isinstance(targets, list) or not targets or not all(isinstance(name, str) for name in targets):
        wrong_value(path, config, "target_modules", "names of modules, or a pattern")
    for module in sorted(modules):
        if not any(is_named(module, name) for name in targets):
            wrong_value(path, config, "target_modules", f"a name of {module} too, which has an A or B")
    for name in targets:
        if not any(is_named(module, name) for module in modules):
            wrong_value(path, config, "target_modules", f"names of modules that have an A and B, which {name} is not")


def alpha_of(path, config, modules):
    """The one alpha of all modules: a GGUF file's scale is alpha / rank; rsLoRA's is alpha / sqrt(rank)."""
    alphas = {}
    for module in sorted(modules):
        alpha = by_pattern(path, config, "alpha_pattern", module, config["lora_alpha"])
        root = math.sqrt(rank_of(path, config, module)) if config.get("use_rslora") else 1
        alphas.setdefault(alpha * root, module)
    if len(alphas) > 1:
        (first, module), (other, another) = list(alphas.items())[:2]
        given = " and ".join(key for key in ("alpha_pattern", "rank_pattern", "use_rslora") if config.get(key))
        raise SystemExit(f"{path}: found {given}, by which alpha is {first:g} for {module} and {other:g} for {another}, expected one "
                         "alpha for all modules, as a GGUF file has it")
    return next(iter(alphas))


def turned(data, heads, rows):
    """From Hugging Face's order of rows, halves of a head a pair, to GGUF's, neighbours a pair."""
    if rows % (2 * heads) != 0:
        raise ValueError(f"found {rows} rows of {heads} heads, expected pairs of rows in each: a multiple of {2 * heads}")
    size, head = len(data) // rows, rows // heads
    order = (h * head + half * (head // 2) + i for h in range(heads) for i in range(head // 2) for half in (0, 1))
    return b"".join(data[row * size:(row + 1) * size] for row in order)


class Adapter:
    """The tensors of a folder by GGUF's names: (shape, type, bytes), shapes fastest dimension first."""
    def __init__(self, folder, model, config):
        self.path, self.model, self.config = f"{folder}/adapter_model.safetensors", model, config
        self.config_path = Path(folder, "adapter_config.json")
        header, self.texts, self.begin = read_header(self.path)
        self.architecture = model.metadata.get("general.architecture")
        if self.architecture not in TURNS:
            raise SystemExit(f"{model.path}: found the architecture {self.architecture}, expected one of {', '.join(TURNS)}")
        self.layers, self.heads = self._number_of_model("block_count"), {}
        if TURNS[self.architecture]:
            heads = self._number_of_model("attention.head_count")
            self.heads = {"attn_q": heads, "attn_k": self._number_of_model("attention.head_count_kv", heads)}
        self.tensors = dict(sorted(self._tensor(name, entry) for name, entry in header.items()))
        if not self.tensors:
            raise SystemExit(f"{self.path}: found no tensor, expected some")
        for name in header:
            other = name.replace(".lora_A.", ".lora_B.") if ".lora_A." in name else name.replace(".lora_B.", ".lora_A.")
            if other not in header:
                self._wrong(name, f"no {other}", "A and B of each module")
        modules = {f"model.layers.{parts[1]}.{parts[2]}" for parts in map(NAME.fullmatch, header)}
        check_targets(self.config_path, config, modules)
        self.alpha = alpha_of(self.config_path, config, modules)

    def _wrong(self, name, found, expected):
        raise SystemExit(f"{self.path}: tensor {name}: found {found}, expected {expected}")

    def _number_of_model(self, key, otherwise="nothing"):
        key = f"{self.architecture}.{key}"
        number = self.model.metadata.get(key, otherwise)
        if type(number) is not int or number < 1:
            raise SystemExit(f"{self.model.path}: {key}: found {number}, expected a whole number from 1 on")
        return number

    def _tensor(self, name, entry):
        parts = NAME.fullmatch(name)
        if parts is None or parts[2] not in MATRICES:
            raise SystemExit(f"{self.path}: found the tensor {name}, expected A and B of {', '.join(MATRICES)} alone")
        (rows, columns), kind, data = self._read(name, entry)
        matrix = MATRICES[parts[2]]
        self._check_shape(name, parts, f"blk.{parts[1]}.{matrix}.weight", [rows, columns])
        if parts[3] == "B" and matrix in self.heads:
            try:
                data = turned(data, self.heads[matrix], rows)
            except ValueError as error:
                raise SystemExit(f"{self.path}: tensor {name}: {error}") from None
        return f"blk.{parts[1]}.{matrix}.weight.lora_{parts[3].lower()}", ((columns, rows), kind, data)

    def _read(self, name, entry):
        """(shape, GGUF's number of the type, bytes)"""
        get = entry.get if isinstance(entry, dict) else {}.get
        shape, offsets, dtype = (get(key) for key in ("shape", "data_offsets", "dtype"))
        for pair in (shape, offsets):
            if not isinstance(pair, list) or len(pair) != 2 or any(type(number) is not int or number < 0 for number in pair):
                self._wrong(name, json.dumps(entry), "a matrix, and where its bytes begin and end")
        if dtype not in TYPES:
            self._wrong(name, dtype, f"one of {', '.join(TYPES)}")
        kind, size = TYPES[dtype]
        if offsets[1] - offsets[0] != shape[0] * shape[1] * size:
            self._wrong(name, f"{offsets[1] - offsets[0]} bytes", f"{shape[0] * shape[1] * size} of {dtype} {shape}")
        if self.begin + offsets[1] > Path(self.path).stat().st_size:
            self._wrong(name, "the end of the file", f"{offsets[1] - offsets[0]} bytes")
        with open(self.path, "rb") as file:
            file.seek(self.begin + offsets[0])
            return shape, kind, file.read(offsets[1] - offsets[0])

    def _check_shape(self, name, parts, weight, found):
        """A has the rank's rows and the weight's inputs; B the weight's outputs and the rank's columns."""
        if int(parts[1]) >= self.layers:
            self._wrong(name, f"layer {parts[1]}", f"0 to {self.layers - 1}, the layers of {self.model.path}")
        rank = rank_of(self.config_path, self.config, f"model.layers.{parts[1]}.{parts[2]}")
        is_a = parts[3] == "A"
        if weight not in self.model.tensors and self.model.metadata.get("split.count", 1) != 1:
            shape = [found[1], found[0]]   # The weight is in another file of the model.
        else:
            shape = self.model.tensor_named(weight)[0]
        if len(shape) != 2:
            raise SystemExit(f"{self.model.path}: tensor {weight}: found {shape}, expected a matrix")
        expected = [rank, shape[0]] if is_a else [shape[1], rank]
        if found != expected:
            self._wrong(name, found, f"{expected}: rank {rank} of adapter_config.json, and {'inputs' if is_a else 'outputs'} of {weight} "
                                     f"of {self.model.path}")


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def mark_of(adapter):
    found = adapter.texts[MARK]
    if not re.fullmatch("[0-9]{1,10}", str(found)) or int(found) >= 1 << 32:
        raise SystemExit(f"{adapter.path}: metadata {MARK}: found {json.dumps(found)}, expected a number of 32 bits")
    return int(found)


def header_of(adapter):
    entries = [text(key) + struct.pack("<I", TEXT) + text(value) for key, value in
               (("general.architecture", adapter.architecture), ("general.type", "adapter"), ("adapter.type", "lora"))]
    entries.append(text("adapter.lora.alpha") + struct.pack("<If", FLOAT32, adapter.alpha))
    if MARK in adapter.texts:
        entries.append(text(MARK) + struct.pack("<II", UINT32, mark_of(adapter)))
    table, at = [], 0
    for name, (shape, kind, data) in adapter.tensors.items():
        table.append(text(name) + struct.pack("<IQQIQ", 2, *shape, kind, at))
        at += -(-len(data) // ALIGNMENT) * ALIGNMENT
    return struct.pack("<4sIQQ", b"GGUF", 3, len(table), len(entries)) + b"".join(entries) + b"".join(table)


def padded(data):
    return data + bytes(-len(data) % ALIGNMENT)


def main():
    given = read_flags()
    config = read_config(given.adapter)
    adapter = Adapter(given.adapter, GgufHeader(given.model), config)
    with output_file(given.out) as file:
        file.write(padded(header_of(adapter)))
        for _, _, data in adapter.tensors.values():
            file.write(padded(data))


if __name__ == "__main__":
    run_main(main)
