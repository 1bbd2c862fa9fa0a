#!/usr/bin/env python3
"""Trains a LoRA adapter on dialogues, and writes it as PEFT does: adapter_config.json and adapter_model.safetensors in a folder.

    "$(scripts/train/environment.sh)" scripts/train/adapter.py --model model.gguf --data dialogues.jsonl --out adapter
    build/bin/tessera_generate --model=model.gguf --adapter=mine:adapter --prompt "..."

A line of --data is {"messages": [..., {"role": "assistant", "content": "..."}]}, as tessera_tokenize reads messages; what the last one
says is learnt, with the end of text behind it. The model's weights are those of the GGUF file, dequantized, and stay as they are. A tenth
of the lines is held out, or --held_out names a file of others: the loss per token and the share of tokens that come out right are shown
before and after. The adapter has the mark of the model, by which others refuse it; the seed is in adapter.untrained. In GGUF the rows of
q and k lie in another order than in PEFT's base: they are put back as the adapter is written.
"""
import json
import subprocess
import sys
from pathlib import Path

sys.path[1:1] = [f"{Path(__file__).resolve().parent}/lib", f"{Path(__file__).resolve().parents[1]}/lib"]
from dialogues import read_dialogues  # noqa: E402
from json_lines import json_lines  # noqa: E402
from training import generator, held_out, need_jax, positive, train, training_flags, untrained  # noqa: E402

PLACES = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj", "o": "self_attn.o_proj", "gate": "mlp.gate_proj",
          "up": "mlp.up_proj", "down": "mlp.down_proj"}


def read_flags():
    flags = training_flags(__doc__, steps=600, rate=1e-3)
    flags.add_argument("--model", required=True, metavar="FILE")
    flags.add_argument("--data", required=True, metavar="FILE")
    flags.add_argument("--held_out", metavar="FILE")
    flags.add_argument("--rank", type=positive, default=8)
    flags.add_argument("--alpha", type=float, default=16.0)
    flags.add_argument("--targets", default=",".join(PLACES), help="some of q,k,v,o,gate,up,down")
    flags.add_argument("--length", type=positive, default=256)
    flags.add_argument("--bin", default="build/bin", metavar="FOLDER")
    given = flags.parse_args()
    given.names = given.targets.split(",")
    for name in given.names:
        if name not in PLACES or given.names.count(name) > 1:
            flags.error(f"--targets: found {name!r}, expected some of {', '.join(PLACES)}, each once")
    return given


def tokens_of(given, metadata, dialogues):
    """(tokens, where the answer begins) of each, by tessera_tokenize."""
    program = Path(given.bin) / "tessera_tokenize"
    if not program.exists():
        raise SystemExit(f"{program} is missing, expected a program that scripts/build.sh makes (--bin)")
    requests = [line for i, (messages, answer) in enumerate(dialogues)
                for line in ({"id": 2 * i, "messages": messages}, {"id": 2 * i + 1, "text": answer})]
    ended = subprocess.run([str(program), f"--model={given.model}", "--jsonl"], input="".join(json.dumps(r) + "\n" for r in requests),
                           capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(f"{program}: {ended.stderr.strip()}")
    lists = [json.loads(line)["tokens"] for line in json_lines(ended.stdout)]
    begin, end = metadata.get("tokenizer.ggml.bos_token_id"), metadata["tokenizer.ggml.eos_token_id"]
    texts = []
    for prompt, answer in zip(lists[0::2], lists[1::2]):
        if metadata.get("tokenizer.ggml.add_bos_token") and answer[:1] == [begin]:
            answer = answer[1:]
        texts.append((prompt + answer + [end], len(prompt)))
    return texts


def padded(given, text):
    """A long text keeps its end: the answer."""
    import numpy as np
    tokens, begin = text
    cut = max(0, len(tokens) - given.length - 1)
    tokens, begin = tokens[cut:], max(begin - cut, 1)
    row = np.zeros(given.length + 1, np.int32)
    row[:len(tokens)] = tokens
    places = np.arange(1, given.length + 1)
    return {"tokens": row, "counts": (places >= begin) & (places < len(tokens))}


def seed(given, weights):
    """B is zero, so that the untrained adapter changes nothing."""
    import jax.numpy as jnp
    random, parameters = generator(given.seed), {}
    for name in given.names:
        layers, rows, columns = weights[name].shape
        down = random.normal(0, columns ** -0.5, (layers, given.rank, columns))
        parameters[name] = (jnp.asarray(down, jnp.float32), jnp.zeros((layers, rows, given.rank)))
    return parameters


def make_views(given, model):
    import jax
    import jax.numpy as jnp
    from llama import causal, forward, head
    mask, positions, scale = causal(given.length), jnp.arange(given.length), given.alpha / given.rank

    def logarithms(parameters, text, weights):
        rows = weights["embed"][text["tokens"][:-1]]
        hidden = forward(weights, model.shape, rows, positions, mask, parameters, scale)
        return jax.nn.log_softmax(head(weights, model.shape, hidden))

    def loss(parameters, text, frozen):
        chosen = jnp.take_along_axis(logarithms(parameters, text, frozen), text["tokens"][1:, None], axis=1)[:, 0]
        return -jnp.sum(chosen * text["counts"]) / jnp.maximum(jnp.sum(text["counts"]), 1)

    @jax.jit
    def scores(parameters, text, frozen):
        logs, labels = logarithms(parameters, text, frozen), text["tokens"][1:]
        chosen = jnp.take_along_axis(logs, labels[:, None], axis=1)[:, 0]
        right = (jnp.argmax(logs, axis=1) == labels) & text["counts"]
        return jnp.sum(chosen * text["counts"]), jnp.sum(right), jnp.sum(text["counts"])
    return loss, scores


def in_peft_order(rows, heads):
    """From GGUF's order of the rows of q and k, neighbours a pair, to that of PEFT's base, halves a pair."""
    count, columns = rows.shape
    return rows.reshape(heads, count // heads // 2, 2, columns).swapaxes(1, 2).reshape(count, columns)


def write_adapter(folder, given, shape, mark, parameters):
    import numpy as np
    from tensors import write, write_text
    tensors = {}
    for name, (down, up) in parameters.items():
        heads = {"q": shape.heads, "k": shape.kv_heads}.get(name)
        for layer in range(shape.layers):
            place = f"base_model.model.model.layers.{layer}.{PLACES[name]}"
            rows = np.asarray(up[layer], np.float32)
            tensors[f"{place}.lora_A.weight"] = np.asarray(down[layer], np.float32)
            tensors[f"{place}.lora_B.weight"] = rows if heads is None else in_peft_order(rows, heads)
    write(f"{folder}/adapter_model.safetensors", tensors, {"format": "pt"} | mark)
    alpha = int(given.alpha) if given.alpha.is_integer() else given.alpha
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": given.rank, "lora_alpha": alpha, "lora_dropout": 0.0, "bias": "none",
              "fan_in_fan_out": False, "use_rslora": False, "use_dora": False, "inference_mode": True,
              "target_modules": [PLACES[name].split(".")[1] for name in given.names], "base_model_name_or_path": Path(given.model).name}
    write_text(f"{folder}/adapter_config.json", json.dumps(config, indent=2) + "\n")


def main():
    given = read_flags()
    dialogues = read_dialogues(given.data)
    need_jax()
    from llama import Llama
    from model_mark import mark_of
    model, mark = Llama(given.model), mark_of(given.model)
    texts = [padded(given, text) for text in tokens_of(given, model.metadata, dialogues)]
    held = held_out(len(texts)) if given.held_out is None else [False] * len(texts)
    trained = [text for text, out in zip(texts, held) if not out]
    others = [text for text, out in zip(texts, held) if out]
    if given.held_out is not None:
        others = [padded(given, text) for text in tokens_of(given, model.metadata, read_dialogues(given.held_out))]
    if not trained or not others:
        raise SystemExit(f"{given.data}: found {len(texts)} dialogues, expected at least 2: a tenth is held out")
    loss, scores = make_views(given, model)

    def figures(parameters):
        sums = [sum(values) for values in zip(*([float(value) for value in scores(parameters, text, model.weights)] for text in others))]
        return {"tokens right": sums[1] / sums[2], "loss": -sums[0] / sums[2]}

    def batch_of(step):
        order = generator(given.seed, step // len(trained) + 1).permutation(len(trained))   # Each once, then all again.
        return trained[order[step % len(trained)]]
    begin = seed(given, model.weights)
    write_adapter(untrained(given.out), given, model.shape, mark, begin)
    write_adapter(given.out, given, model.shape, mark, train(given, begin, loss, batch_of, figures, model.weights))


if __name__ == "__main__":
    from script_main import run_main
    run_main(main)
