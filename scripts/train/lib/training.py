"""What all trainings share: flags, Adam, checkpoints, progress, held-out figures, a drawing.

    flags = training_flags(__doc__, steps=300, rate=1e-3)
    flags.add_argument("--layer", type=int, required=True)
    best = train(given, seed_parameters, loss, batch_of, figures_of, model.weights)

loss(parameters, batch, frozen) is differentiated by the parameters alone; batch_of(step) gives a batch, figures_of(parameters) named
numbers of what is held out. What is frozen is handed over: XLA would copy a constant. The same flags give the same numbers on the same
machine, since batches are drawn by seed and step. Every --every steps, parameters and figures go to OUT.checkpoint.npz; a run that finds it
goes on from there, if its flags are the same. OUT.svg shows loss and held-out figures, whose first values are those of the untrained seed.
JAX is loaded by the functions that need it, so that --help works without.
"""
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(1, f"{Path(__file__).resolve().parents[2]}/lib")
from script_main import flag_parser, positive  # noqa: E402

FIRST, SECOND, TINY = 0.9, 0.99, 1e-8   # Adam's.
WARMUP = 0.05                            # As a share of the steps.


def training_flags(words, steps, rate):
    flags = flag_parser(words)
    flags.add_argument("--out", required=True, metavar="FILE")
    flags.add_argument("--steps", type=positive, default=steps)
    flags.add_argument("--rate", type=float, default=rate)
    flags.add_argument("--seed", type=int, default=0)
    flags.add_argument("--every", type=positive, default=50)
    return flags


def need_jax():
    try:
        import jax  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        raise SystemExit("found a Python without JAX, expected that which scripts/train/environment.sh prints") from None


def say(text):
    print(text, file=sys.stderr, flush=True)


def generator(*seeds):
    import numpy as np  # pylint: disable=import-outside-toplevel
    return np.random.default_rng(seeds)


def untrained(out):
    """Where the seed is written: head.safetensors, head.untrained.safetensors, which programs take for what it is by its name."""
    path = Path(out)
    return str(path.with_name(f"{path.stem}.untrained.safetensors")) if path.suffix == ".safetensors" else f"{out}.untrained"


def held_out(count):
    """Whether text number i is one of the tenth that is not trained on."""
    return [i % 10 == 9 or (count < 10 and i == count - 1 and count > 1) for i in range(count)]


class Checkpoint:
    """Arrays in the order of a tree's leaves, the step and the history, beside the flags that made them."""
    def __init__(self, given):
        self.path = f"{given.out}.checkpoint.npz"
        self.flags = json.dumps({name: str(value) for name, value in sorted(vars(given).items()) if name != "out"})

    def save(self, leaves, step, history):
        import numpy as np  # pylint: disable=import-outside-toplevel
        from tensors import replace  # pylint: disable=import-outside-toplevel
        about = json.dumps({"flags": self.flags, "step": step, "history": history})
        replace(self.path, lambda file: np.savez(file, about=np.array(about), **{f"leaf{i}": leaf for i, leaf in enumerate(leaves)}))

    def load(self, count):
        """(leaves, step, history), or None if there is nothing to go on from."""
        import numpy as np  # pylint: disable=import-outside-toplevel
        if not os.path.exists(self.path):
            return None
        with np.load(self.path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            if about["flags"] != self.flags:
                raise SystemExit(f"{self.path}: found other flags, expected those of this run: {about['flags']}; remove it to begin anew")
            return [file[f"leaf{i}"] for i in range(count)], about["step"], about["history"]


def make_step(loss, rate, steps):
    """(parameters, moments, batch, step) -> the next ones and the loss. Gradients are cut to the length 1."""
    import jax  # pylint: disable=import-outside-toplevel
    import jax.numpy as jnp  # pylint: disable=import-outside-toplevel

    @jax.jit
    def step_once(parameters, first, second, batch, frozen, step):
        value, slope = jax.value_and_grad(loss)(parameters, batch, frozen)
        length = jnp.sqrt(sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(slope)))
        slope = jax.tree.map(lambda leaf: leaf / jnp.maximum(length, 1), slope)
        first = jax.tree.map(lambda m, g: FIRST * m + (1 - FIRST) * g, first, slope)
        second = jax.tree.map(lambda m, g: SECOND * m + (1 - SECOND) * g * g, second, slope)
        now = step + 1.0
        warm = jnp.minimum(1.0, now / (WARMUP * steps + 1))
        speed = rate * warm * 0.5 * (1 + jnp.cos(jnp.pi * step / steps))
        move = lambda p, m, v: p - speed * (m / (1 - FIRST ** now)) / (jnp.sqrt(v / (1 - SECOND ** now)) + TINY)
        return jax.tree.map(move, parameters, first, second), first, second, value
    return step_once


def draw_history(given, history):
    from svg import draw  # pylint: disable=import-outside-toplevel
    from tensors import write_text  # pylint: disable=import-outside-toplevel
    figures = {}
    for step, values in history["figures"]:
        for name, value in values.items():
            figures.setdefault(name, []).append((step, value))
    untrained = {f"{name}, untrained": [(0, curve[0][1]), (given.steps, curve[0][1])] for name, curve in list(figures.items())[:1]}
    write_text(f"{given.out}.svg", draw([("loss", {"training": history["loss"]}), ("held out", figures | untrained)]))


def figures_text(values):
    return ", ".join(f"{name} {value:.4f}" for name, value in values.items())


def train(given, parameters, loss, batch_of, figures_of, frozen):
    import jax  # pylint: disable=import-outside-toplevel
    import jax.numpy as jnp  # pylint: disable=import-outside-toplevel
    checkpoint, zeros = Checkpoint(given), jax.tree.map(jnp.zeros_like, parameters)
    leaves, tree = jax.tree.flatten((parameters, zeros, zeros))
    begin, history = 0, {"loss": [], "figures": []}
    kept = checkpoint.load(len(leaves))
    if kept is None:
        history["figures"].append((0, figures_of(parameters)))
        say(f"untrained: {figures_text(history['figures'][0][1])}")
    else:
        leaves, begin, history = kept
        say(f"going on after step {begin} of {given.steps}, from {checkpoint.path}")
    state = jax.tree.unflatten(tree, [jnp.asarray(leaf) for leaf in leaves])
    step_once, started, recent = make_step(loss, given.rate, given.steps), time.monotonic(), []
    for step in range(begin, given.steps):
        *state, value = step_once(*state, batch_of(step), frozen, float(step))
        recent.append(float(value))
        if (step + 1) % given.every != 0 and step + 1 != given.steps:
            continue
        history["loss"].append((step + 1, sum(recent) / len(recent)))
        history["figures"].append((step + 1, figures_of(state[0])))
        left = (time.monotonic() - started) / (step + 1 - begin) * (given.steps - step - 1)
        say(f"step {step + 1} of {given.steps}: loss {history['loss'][-1][1]:.4f}; held out: "
            f"{figures_text(history['figures'][-1][1])}; {left:.0f} s left")
        recent = []
        checkpoint.save([jax.device_get(leaf) for leaf in jax.tree.leaves(tuple(state))], step + 1, history)
        draw_history(given, history)
    print(json.dumps({"untrained": history["figures"][0][1], "trained": history["figures"][-1][1], "steps": given.steps}))
    return state[0]
