"""The texts and hidden states of a file that tessera_quantize states wrote, split into those to train on and those held out.

    states = States("states.safetensors", layers=(8, 30))
    states.trained, states.held          # numbers of texts
    states.rows(states.trained)          # numbers of their rows, ascending
    states.hidden(8, rows)               # FP32
"""
import numpy as np
from tensors import read
from training import held_out


class States:
    def __init__(self, path, layers=()):
        self.path = path
        self.tensors, self.texts = read(path)
        for name in ("tokens", "starts", "prompts", *(f"hidden.{layer}" for layer in layers)):
            if name not in self.tensors:
                there = ", ".join(name for name in sorted(self.tensors) if name.startswith("hidden."))
                raise SystemExit(f"{path}: found no tensor {name}, expected a file of tessera_quantize states with it; "
                                 f"there are {there or 'none'}")
        self.tokens = np.array(self.tensors["tokens"])
        self.starts, self.prompts = np.array(self.tensors["starts"]), np.array(self.tensors["prompts"])
        held = held_out(len(self.prompts))
        self.held = [i for i, out in enumerate(held) if out]
        self.trained = [i for i, out in enumerate(held) if not out]
        if not self.held:
            raise SystemExit(f"{path}: found {len(self.prompts)} texts, expected at least 2: a tenth is held out")

    def text(self, i):
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def rows(self, texts):
        return np.concatenate([np.arange(self.starts[i], self.starts[i + 1]) for i in texts])

    def hidden(self, layer, rows):
        return np.asarray(self.tensors[f"hidden.{layer}"][rows], np.float32)

    def pieces(self, texts, length):
        """(first row, rows) of parts of texts, at most `length` long, none shorter than 8."""
        parts = []
        for i in texts:
            begin, end = int(self.starts[i]), int(self.starts[i + 1])
            parts += [(at, min(length, end - at)) for at in range(begin, end, length) if min(length, end - at) >= 8]
        if not parts:
            raise SystemExit(f"{self.path}: found only texts of less than 8 tokens, expected longer ones")
        return parts
