#!/usr/bin/env python3
"""Trains a reward head: from the hidden state at the end of a step it tells how likely the answer comes out right.

    build/bin/tessera_scale texts --data=FOLDER --out=labels.jsonl > requests.jsonl
    build/bin/tessera_quantize states --jsonl --layers=last --numbers=f16 --out=states.safetensors < requests.jsonl
    "$(scripts/train/environment.sh)" scripts/train/reward.py --model m.gguf --states s.safetensors --labels l.jsonl --out r.safetensors

Each answer is known to be right or wrong, and the end of each of its lines is labelled with that, as labels from rollouts are (Wang et al.
2024, arXiv 2312.08935): ends before the last count --earlier times as much as it. The state is what --layer layers have made of the token,
by default all, after the model's output norm. The head is linear, or has a hidden layer of --hidden units. Its inputs are brought to mean
0 and variance 1 over the half that is trained on, which is folded into its weights: the file has none of it. --decay is weight decay.

Questions are split by their texts as tessera_scale --split does it: trained on one half, measured on the other. Held out are shown: the
area under the curve (AUC: how often a right answer has the larger score than a wrong one), and how often the best of N of a question's
answers is right, with 95 % intervals over questions, beside one answer, the untrained seed, and the figures that the labels' file has, such
as mean_log_probability. OUT is what tessera_scale score --scorer=reward:OUT reads; the seed is in reward.untrained.safetensors.
"""
import json
import sys
from pathlib import Path

sys.path[1:1] = [f"{Path(__file__).resolve().parent}/lib", f"{Path(__file__).resolve().parents[1]}/lib"]
from labels import auc, auc_interval, best_of, interval, questions_of, read_labels  # noqa: E402
from training import generator, need_jax, positive, train, training_flags, untrained  # noqa: E402

FIGURES = ("mean_log_probability", "self_certainty", "judge")   # A head is compared with these, where the labels' file has them.


def read_flags():
    flags = training_flags(__doc__, steps=400, rate=1e-3)
    flags.add_argument("--model", required=True, metavar="FILE")
    flags.add_argument("--states", required=True, metavar="FILE")
    flags.add_argument("--labels", required=True, metavar="FILE")
    flags.add_argument("--layer", type=positive, help="default: all layers")
    flags.add_argument("--hidden", type=int, default=0)
    flags.add_argument("--earlier", type=float, default=0.5)
    flags.add_argument("--decay", type=float, default=0.1)
    flags.add_argument("--batch", type=positive, default=256)
    given = flags.parse_args()
    if not 0 <= given.hidden <= 8192:
        raise SystemExit(f"--hidden: found {given.hidden}, expected 0 to 8192")
    if not 0 <= given.earlier <= 1 or given.decay < 0:
        raise SystemExit(f"--earlier, --decay: found {given.earlier} and {given.decay}, expected 0 to 1, and 0 or more")
    return given


class Texts:
    """The states at the ends of steps, after the model's output norm, and what they are to say."""
    def __init__(self, given, labels):
        import numpy as np
        from gguf import Gguf
        from tensors import read
        model = Gguf(given.model)
        architecture = model.metadata["general.architecture"]
        self.layers = model.metadata[f"{architecture}.block_count"]
        self.layer = given.layer or self.layers
        tensors, _ = read(given.states)
        for name in ("starts", f"hidden.{self.layer}"):
            if name not in tensors:
                raise SystemExit(f"{given.states}: found no tensor {name}, expected a file of tessera_quantize states with it")
        starts = np.array(tensors["starts"])
        lengths = np.diff(starts)
        if len(lengths) != len(labels) or any(length != label.tokens for length, label in zip(lengths, labels)):
            raise SystemExit(f"{given.labels}: found labels of {len(labels)} texts, expected those of the {len(lengths)} in "
                             f"{given.states}, in their order and of their lengths")
        self.first = np.cumsum([0] + [len(label.ends) for label in labels])   # Each text's first end, and the number of all.
        places = np.concatenate([start + np.array(label.ends) for start, label in zip(starts, labels)])
        norm = model.tensor("output_norm.weight")
        hidden = np.asarray(tensors[f"hidden.{self.layer}"][places], np.float32)
        if hidden.shape[1] != len(norm):
            raise SystemExit(f"{given.states}: found a width of {hidden.shape[1]}, expected {len(norm)}, that of {given.model}")
        epsilon = model.metadata[f"{architecture}.attention.layer_norm_rms_epsilon"]
        self.states = hidden / np.sqrt(np.mean(hidden * hidden, axis=1, keepdims=True) + epsilon) * norm
        self.rights = np.concatenate([[float(label.right)] * len(label.ends) for label in labels]).astype(np.float32)
        self.weights = np.concatenate([[given.earlier] * (len(label.ends) - 1) + [1] for label in labels]).astype(np.float32)
        self.trained = np.flatnonzero(np.concatenate([[label.trained] * len(label.ends) for label in labels]) & (self.weights > 0))
        self.mean = self.states[self.trained].mean(axis=0)
        self.deviation = self.states[self.trained].std(axis=0) + 1e-6
        self.inputs = (self.states - self.mean) / self.deviation


def seed(given, width):
    import numpy as np
    draws = generator(given.seed)
    linear = lambda outputs, inputs: np.float32(draws.standard_normal((outputs, inputs)) / np.sqrt(inputs))
    if given.hidden == 0:
        return {"out.weight": 0.1 * linear(1, width), "out.bias": np.zeros(1, np.float32)}
    return {"hidden.weight": linear(given.hidden, width), "hidden.bias": np.zeros(given.hidden, np.float32),
            "out.weight": 0.1 * linear(1, given.hidden), "out.bias": np.zeros(1, np.float32)}


def logits(parameters, inputs):
    """[rows], of jax or numpy arrays."""
    if "hidden.weight" in parameters:
        inner = inputs @ parameters["hidden.weight"].T + parameters["hidden.bias"]
        inputs = inner * (inner > 0)
    return (inputs @ parameters["out.weight"].T)[:, 0] + parameters["out.bias"][0]


def make_loss(given):
    import jax
    import jax.numpy as jnp

    def loss(parameters, batch, _):
        found = logits(parameters, batch["inputs"])
        each = jax.nn.softplus(found) - batch["rights"] * found
        decay = sum(jnp.sum(value * value) for name, value in parameters.items() if name.endswith("weight"))
        return jnp.sum(batch["weights"] * each) / jnp.sum(batch["weights"]) + given.decay / 2 * decay
    return loss


def folded(parameters, texts):
    """As the engine reads them: the first layer takes states that are not brought to mean 0 and variance 1."""
    import numpy as np
    parameters = {f"reward.{name}": np.asarray(value, np.float32) for name, value in parameters.items()}
    first = "reward.hidden" if "reward.hidden.weight" in parameters else "reward.out"
    weight = parameters[f"{first}.weight"] / texts.deviation
    return parameters | {f"{first}.weight": weight, f"{first}.bias": parameters[f"{first}.bias"] - weight @ texts.mean}


def last_scores(parameters, texts):
    """The score of each text: at the end of its last step."""
    import numpy as np
    parameters = {name: np.asarray(value, np.float32) for name, value in parameters.items()}
    return list(map(float, logits(parameters, texts.inputs[texts.first[1:] - 1])))


def rounded(found):
    return dict(zip(("mean", "low", "high"), (round(value, 4) for value in found)))


def report(held, labels, scorers):
    """{scorer: {"auc": ..., "best_of": {"2": ..., "4": ...}}}, and the gain of the head over others, question by question."""
    counts = [count for count in (1, 2, 4, 8, 16, 32) if count <= min(map(len, held))]
    found = {name: {"auc": rounded(auc_interval(held, labels, scores)), "best_of": {}} for name, scores in scorers.items()}
    for count in counts:
        shares = {name: [best_of(question, labels, scores, count) for question in held] for name, scores in scorers.items()}
        for name, values in shares.items():
            found[name]["best_of"][str(count)] = rounded(interval(values))
            if name != "reward":
                over = rounded(interval([ours - theirs for ours, theirs in zip(shares["reward"], values)]))
                found[name].setdefault("gain_of_reward", {})[str(count)] = over
    return found


def write_table(found):
    counts = list(next(iter(found.values()))["best_of"])
    show = lambda value, scale=100: f"{scale * value['mean']:.1f} ({scale * value['low']:.1f} to {scale * value['high']:.1f})"
    lines = [["held out", "AUC, %"] + [f"best of {count}, %" for count in counts] + ["reward is better by"]]
    for name, values in found.items():
        better = values.get("gain_of_reward")
        lines.append([name, show(values["auc"])] + [show(values["best_of"][count]) for count in counts] +
                     [show(better[counts[-1]]) if better else "-"])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip(), file=sys.stderr)


def main():
    given = read_flags()
    labels = read_labels(given.labels)
    need_jax()
    import numpy as np
    from model_mark import mark_of
    from tensors import write
    texts = Texts(given, labels)
    held_places = [i for i, label in enumerate(labels) if not label.trained]
    held = questions_of(labels, held_places)

    def figures(parameters):
        scores = last_scores(parameters, texts)
        accuracy = np.mean([(scores[i] > 0) == labels[i].right for i in held_places])
        best = np.mean([best_of(question, labels, scores, len(question)) for question in held])
        return {"AUC": auc(held, labels, scores), "verdicts": float(accuracy), "best of all": float(best)}

    def batch_of(step):
        draws = texts.trained[np.sort(generator(given.seed, step + 1).integers(0, len(texts.trained), given.batch))]
        return {"inputs": texts.inputs[draws], "rights": texts.rights[draws], "weights": texts.weights[draws]}
    begin = seed(given, texts.states.shape[1])
    about = {"made_by": "reward.py", "layer": str(texts.layer), "layers": str(texts.layers), "activation": "relu"} | mark_of(given.model)
    write(untrained(given.out), folded(begin, texts), about)
    best = train(given, begin, make_loss(given), batch_of, figures, {})
    write(given.out, folded(best, texts), about)
    scorers = {"reward": last_scores(best, texts), "untrained": last_scores(begin, texts)}
    for name in FIGURES:
        if all(name in label.figures for label in labels):
            scorers[name] = [label.figures[name] for label in labels]
    found = report(held, labels, scorers)
    write_table(found)
    print(json.dumps({"questions": len(held), "texts": len(held_places), "held_out": found}))


if __name__ == "__main__":
    from script_main import run_main
    run_main(main)
