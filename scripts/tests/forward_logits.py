#!/usr/bin/env python3
"""Computes tests/golden/forward.jsonl: logits of tiny models with each optional tensor there and not there.

    python3 scripts/tests/forward_logits.py > tests/golden/forward.jsonl
    python3 scripts/tests/forward_logits.py --check              # ends with 1 if the file holds other logits

A forward pass as papers and model cards describe it, one number at a time in FP64, from none of the engine's code. Weights are made
from the tensors' names: tests/fakes/forward_model.h makes the same numbers, all of them exact in FP16 or FP32. A line of the file is a
model: its architecture, the optional tensors that it has ("rope.dimension_count": only the first half of a head turns), the tokens that
it reads, and every eighth logit after the last of them.
"""
import functools
import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, f"{ROOT}/scripts/lib")
from script_main import flag_parser, run_main  # noqa: E402

DATA = ROOT / "tests/golden/forward.jsonl"
TOLERANCE = 1e-6  # Sums in another order, by another version of Python, differ by far less.
WIDTH, FEED_FORWARD, HEADS, KV_HEADS, VOCABULARY, WINDOW, EPSILON, BASE = 32, 64, 4, 2, 265, 4, 1e-5, 1000.0
LOCAL_BASE = 10000.0  # gemma3: of layers with a window.
TOKENS = [1, 50, 60, 70, 80, 90, 100, 110, 120, 64]
QKV = ["attn_q.bias", "attn_k.bias", "attn_v.bias"]
ALL = QKV + ["attn_output.bias", "ffn_gate.bias", "ffn_up.bias", "ffn_down.bias"]


def cases():
    """(architecture, optional tensors)"""
    head = ["output.weight"]
    for architecture, biases in (("llama", ALL), ("qwen2", QKV), ("qwen3", QKV), ("gemma3", QKV)):
        yield architecture, []
        yield architecture, head
        yield from ((architecture, head + [bias]) for bias in biases)
        yield architecture, head + biases
    yield "qwen2", ["output.bias"]
    yield "qwen2", head + ["output.bias"]
    yield "qwen2", head + QKV + ["output.bias"]
    yield "llama", head + ["rope_freqs.weight"]
    yield "gemma3", head + ["rope_freqs.weight"]
    for architecture in ("llama", "qwen2", "qwen3", "gemma3"):
        yield architecture, head + ["rope.dimension_count"]
    yield "llama", head + ["rope.dimension_count", "rope_freqs.weight"]


@functools.cache
def numbers(name, count):
    """Multiples of 1/1024 from -1 to below 1: FNV-1a of the name, and SplitMix64 from there on."""
    mask = (1 << 64) - 1
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 & mask
    values = []
    for _ in range(count):
        state = state + 0x9E3779B97F4A7C15 & mask
        mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & mask
        values.append(((mixed ^ mixed >> 31) >> 53) / 1024 - 1)
    return values


def tensor(name, count):
    values = numbers(name, count)
    if name.endswith("norm.weight"):
        return [1 + value / 2 for value in values]
    if name == "rope_freqs.weight":
        return [2 + value for value in values]
    if name == "token_embd.weight":
        return values
    return [value / (2 if name.endswith(("bias", "ffn_down.weight")) else 4) for value in values]


def dot(a, b):
    return math.fsum(x * y for x, y in zip(a, b))


def norm(x, weight):
    scale = 1 / math.sqrt(dot(x, x) / len(x) + EPSILON)
    return [value * scale * w for value, w in zip(x, weight)]


def silu(x):
    return x / (1 + math.exp(-x))


def gelu(x):
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


class Model:
    def __init__(self, architecture, optional):
        self.optional = set(optional)
        self.gemma = architecture == "gemma3"
        self.head_norms = architecture in ("qwen3", "gemma3")
        self.head_size = 16 if self.head_norms else 8
        self.adjacent_pairs = architecture == "llama"
        self.layers = 7 if self.gemma else 2
        self.activation = gelu if self.gemma else silu
        self.keys, self.values = [[] for _ in range(self.layers)], [[] for _ in range(self.layers)]
        self.turned = self.head_size // 2 if "rope.dimension_count" in self.optional else self.head_size
        self.factors = tensor("rope_freqs.weight", self.turned // 2) if "rope_freqs.weight" in self.optional else None

    def multiply(self, prefix, label, rows, x):
        weight = tensor(f"{prefix}{label}.weight", rows * len(x))
        y = [dot(weight[row * len(x):(row + 1) * len(x)], x) for row in range(rows)]
        if f"{label}.bias" in self.optional:
            y = [value + bias for value, bias in zip(y, tensor(f"{prefix}{label}.bias", rows))]
        return y

    def norm(self, name, x):
        return norm(x, tensor(name, len(x)))

    def rotate(self, head, position, local):
        size, turned = self.turned, list(head)
        for pair in range(size // 2):
            i, j = (2 * pair, 2 * pair + 1) if self.adjacent_pairs else (pair, pair + size // 2)
            angle = position * (LOCAL_BASE if local else BASE) ** (-2 * pair / size)
            if self.factors and not local:
                angle /= self.factors[pair]
            turned[i] = head[i] * math.cos(angle) - head[j] * math.sin(angle)
            turned[j] = head[i] * math.sin(angle) + head[j] * math.cos(angle)
        return turned

    def heads(self, block, label, count, x, position, local):
        """Queries or keys, by head."""
        flat = self.multiply(block, f"attn_{label}", count * self.head_size, x)
        heads = [flat[head * self.head_size:(head + 1) * self.head_size] for head in range(count)]
        if self.head_norms:
            heads = [self.norm(f"{block}attn_{label}_norm.weight", head) for head in heads]
        return [self.rotate(head, position, local) for head in heads]

    def attend(self, layer, x, position):
        block = f"blk.{layer}."
        local = self.gemma and layer % 6 != 5
        queries = self.heads(block, "q", HEADS, x, position, local)
        self.keys[layer].append(self.heads(block, "k", KV_HEADS, x, position, local))
        self.values[layer].append(self.multiply(block, "attn_v", KV_HEADS * self.head_size, x))
        first = max(0, position + 1 - WINDOW) if local else 0
        mixed = []
        for head, query in enumerate(queries):
            shared = head // (HEADS // KV_HEADS)
            scores = [dot(query, keys[shared]) / math.sqrt(self.head_size) for keys in self.keys[layer][first:]]
            shares = [math.exp(score - max(scores)) for score in scores]
            column = shared * self.head_size
            mixed += [dot(shares, [values[column + i] for values in self.values[layer][first:]]) / math.fsum(shares)
                      for i in range(self.head_size)]
        return self.multiply(block, "attn_output", WIDTH, mixed)

    def feed_forward(self, layer, x):
        block = f"blk.{layer}."
        gate, up = (self.multiply(block, f"ffn_{part}", FEED_FORWARD, x) for part in ("gate", "up"))
        return self.multiply(block, "ffn_down", WIDTH, [self.activation(g) * u for g, u in zip(gate, up)])

    def read(self, token, position):
        """The last hidden state."""
        table = tensor("token_embd.weight", VOCABULARY * WIDTH)
        x = table[token * WIDTH:(token + 1) * WIDTH]
        if self.gemma:
            x = [value * math.sqrt(WIDTH) for value in x]
        for layer in range(self.layers):
            block = f"blk.{layer}."
            for part, before, after in ((functools.partial(self.attend, position=position), "attn_norm", "post_attention_norm"),
                                        (self.feed_forward, "ffn_norm", "post_ffw_norm")):
                added = part(layer, self.norm(f"{block}{before}.weight", x))
                if self.gemma:
                    added = self.norm(f"{block}{after}.weight", added)
                x = [a + b for a, b in zip(x, added)]
        return self.norm("output_norm.weight", x)

    def logits(self, tokens):
        for position, token in enumerate(tokens):
            state = self.read(token, position)
        table = tensor("output.weight" if "output.weight" in self.optional else "token_embd.weight", VOCABULARY * WIDTH)
        logits = [dot(table[row * WIDTH:(row + 1) * WIDTH], state) for row in range(VOCABULARY)]
        if "output.bias" in self.optional:
            logits = [logit + bias for logit, bias in zip(logits, tensor("output.bias", VOCABULARY))]
        return logits


def lines():
    for architecture, optional in cases():
        logits = [round(logit, 7) for logit in Model(architecture, optional).logits(TOKENS)[::8]]
        yield {"architecture": architecture, "optional": optional, "tokens": TOKENS, "logits": logits}


def check():
    """Ends the program where the file holds something else."""
    kept = [json.loads(line) for line in DATA.read_text().splitlines()]
    for found, expected in zip(kept, made := list(lines())):
        if any(found[key] != expected[key] for key in ("architecture", "optional", "tokens")):
            sys.exit(f"{DATA}: found the model {found}, expected {expected}")
        off = max(abs(a - b) for a, b in zip(found["logits"], expected["logits"], strict=True))
        if off > TOLERANCE:
            sys.exit(f"{DATA}: {found['architecture']} with {found['optional']}: found logits off by {off}, expected at most {TOLERANCE}")
    if len(kept) != len(made):
        sys.exit(f"{DATA}: found {len(kept)} lines, expected {len(made)}")


def main():
    flags = flag_parser(__doc__)
    flags.add_argument("--check", action="store_true")
    if flags.parse_args().check:
        return check()
    for line in lines():
        print(json.dumps(line))


if __name__ == "__main__":
    run_main(main)
