#!/usr/bin/env python3
"""Compares the model that trainings use (lib/llama.py) with the engine: hidden states, and each token's likeliest next one.

    build/bin/tessera_quantize states --prompt_file=README.md --path=reference --layers=0,1,last --logits=top:1 --out=states.safetensors
    "$(scripts/train/environment.sh)" scripts/train/check_model.py --model model.gguf --states states.safetensors

--path=reference computes in FP32, too: then the largest difference, as a share of a layer's largest number, is that of roundings. It
fails beyond --most, or where more than one next token in a hundred differs.
"""
import json
import sys
from pathlib import Path

sys.path.insert(1, f"{Path(__file__).resolve().parent}/lib")
from training import flag_parser, need_jax, positive  # noqa: E402


def read_flags():
    flags = flag_parser(__doc__)
    flags.add_argument("--model", required=True, metavar="FILE")
    flags.add_argument("--states", required=True, metavar="FILE")
    flags.add_argument("--texts", type=positive, default=4)
    flags.add_argument("--most", type=float, default=1e-3)
    return flags.parse_args()


def compare(model, states, i, layers, differences):
    """Adds to `differences` by layer; (next tokens that are the same, all)."""
    import jax.numpy as jnp
    import numpy as np
    from llama import causal, forward, head
    rows, tokens = states.text(i), states.tokens[states.text(i)]
    begin = model.weights["embed"][tokens]
    last, every = forward(model.weights, model.shape, begin, jnp.arange(len(tokens)), causal(len(tokens)), every=True)
    for layer in layers:
        ours, engine = np.asarray(begin if layer == 0 else every[layer - 1]), states.hidden(layer, rows)
        differences[layer] = max(differences.get(layer, 0), float(np.abs(ours - engine).max() / np.abs(engine).max()))
    if "top_tokens" not in states.tensors:
        return 0, 0
    best = np.asarray(jnp.argmax(head(model.weights, model.shape, last), axis=1))
    return int((best == states.tensors["top_tokens"][rows, 0]).sum()), len(tokens)


def main():
    given = read_flags()
    need_jax()
    from llama import Llama
    from states import States
    model, states = Llama(given.model), States(given.states)
    layers = sorted(int(name.split(".")[1]) for name in states.tensors if name.startswith("hidden."))
    differences, same, tokens = {}, 0, 0
    for i in range(min(given.texts, len(states.prompts))):
        found = compare(model, states, i, layers, differences)
        same, tokens = same + found[0], tokens + found[1]
    print(json.dumps({"differences": differences, "same_next_tokens": same, "tokens": tokens}))
    if max(differences.values(), default=0) > given.most or same < 0.99 * tokens:
        raise SystemExit(f"found differences beyond {given.most}, or other next tokens")


if __name__ == "__main__":
    from script_main import run_main
    run_main(main)
