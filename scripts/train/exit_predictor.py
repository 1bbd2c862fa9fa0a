#!/usr/bin/env python3
"""Trains an early-exit predictor: from the hidden state after a layer it tells which tokens the whole model will like.

    build/bin/tessera_quantize states --jsonl --generate --layers=17,last --numbers=f16 --out=states.safetensors < requests
    "$(scripts/train/environment.sh)" scripts/train/exit_predictor.py --model m.gguf --states s.safetensors --layer 17 --out x.safetensors

--kind vocabulary is a map W of [vocabulary, width]: a token's score is its row times the hidden state. --kind width is a map M of
[width, width] before the model's own output norm and head. The teacher is what the model makes of its last hidden state. The loss is that
of Lever: TAU^2 KL(teacher || predictor) over the vocabulary at temperature TAU, and --weight times KL over the candidates of a draft,
both renormalised there. Candidates are the top_tokens of --candidates, a file that tessera_quantize states wrote for the same texts with
the draft (--tokens_of=states.safetensors --layers=none --logits=top:10). Held out, in a tenth of the texts: how often the best token is
the model's own, over the vocabulary and, with candidates, among these. OUT holds predictor.weight or predictor.map, and says after which
of how many layers it comes; the seed is in exit.untrained.safetensors. Numbers are F16 unless --numbers says f32: memory has them as the
file has.
"""
import sys
from pathlib import Path

sys.path.insert(1, f"{Path(__file__).resolve().parent}/lib")
from training import generator, need_jax, positive, train, training_flags, untrained  # noqa: E402


def read_flags():
    flags = training_flags(__doc__, steps=300, rate=3e-4)
    flags.add_argument("--model", required=True, metavar="FILE")
    flags.add_argument("--states", required=True, metavar="FILE")
    flags.add_argument("--candidates", metavar="FILE")
    flags.add_argument("--layer", type=int, required=True)
    flags.add_argument("--kind", choices=("vocabulary", "width"), default="width")
    flags.add_argument("--numbers", choices=("f16", "f32"), default="f16")
    flags.add_argument("--tau", type=float, default=2.0)
    flags.add_argument("--weight", type=float, default=1.0)
    flags.add_argument("--batch", type=positive, default=128)
    return flags.parse_args()


def read_candidates(given, states):
    """[rows, count] tokens, or None."""
    import numpy as np
    from tensors import read
    if given.candidates is None:
        return None
    tensors, _ = read(given.candidates)
    if "top_tokens" not in tensors:
        raise SystemExit(f"{given.candidates}: found no tensor top_tokens, expected a file of tessera_quantize states --logits=top:N")
    if not np.array_equal(tensors["tokens"], states.tokens):
        raise SystemExit(f"{given.candidates}: found other texts, expected those of {given.states} (--tokens_of)")
    return np.array(tensors["top_tokens"])


def seed(given, model, states):
    """What a predictor knows before it is trained: the model's own head, read at this layer."""
    import jax.numpy as jnp
    import numpy as np
    if given.kind == "width":
        return {"predictor.map": jnp.eye(model.shape.width)}
    rows = states.rows(states.trained)
    some = states.hidden(given.layer, rows[generator(given.seed).integers(0, len(rows), 512)])
    typical = np.median(np.sqrt(np.mean(some * some, axis=1)))
    return {"predictor.weight": model.weights["head"] * model.weights["norm"] / typical}


def make_loss(given, model, scores):
    import jax
    import jax.numpy as jnp
    from llama import head

    def divergence(teacher, student):
        return jnp.mean(jnp.sum(jnp.exp(teacher) * (teacher - student), axis=-1))

    def loss(parameters, batch, weights):
        teacher, student = head(weights, model.shape, batch["last"]), scores(parameters, batch["hidden"], weights)
        value = given.tau ** 2 * divergence(jax.nn.log_softmax(teacher / given.tau), jax.nn.log_softmax(student / given.tau))
        if "candidates" in batch:
            chosen = [jnp.take_along_axis(logits, batch["candidates"], axis=1) for logits in (teacher, student)]
            value += given.weight * divergence(*(jax.nn.log_softmax(logits) for logits in chosen))
        return value
    return loss


def make_figures(model, scores, batches):
    import jax
    import jax.numpy as jnp
    from llama import head

    @jax.jit
    def agreements(parameters, batch, weights):
        teacher, student = head(weights, model.shape, batch["last"]), scores(parameters, batch["hidden"], weights)
        found = {"top 1": jnp.argmax(teacher, 1) == jnp.argmax(student, 1)}
        if "candidates" in batch:
            chosen = [jnp.take_along_axis(logits, batch["candidates"], axis=1) for logits in (teacher, student)]
            found["among candidates"] = jnp.argmax(chosen[0], 1) == jnp.argmax(chosen[1], 1)
        return {name: jnp.mean(values) for name, values in found.items()}

    def figures(parameters):
        found = [agreements(parameters, batch, model.weights) for batch in batches]
        return {name: float(sum(each[name] for each in found) / len(found)) for name in found[0]}
    return figures


def main():
    given = read_flags()
    need_jax()
    import jax.numpy as jnp
    import numpy as np
    from llama import Llama, head
    from states import States
    from tensors import write
    model = Llama(given.model)
    last, states = model.shape.layers, States(given.states, (given.layer, model.shape.layers))
    candidates, trained, held = read_candidates(given, states), states.rows(states.trained), states.rows(states.held)

    def batch_at(rows):
        batch = {"hidden": states.hidden(given.layer, rows), "last": states.hidden(last, rows)}
        return batch if candidates is None else batch | {"candidates": candidates[rows]}

    def scores(parameters, hidden, weights):
        if given.kind == "vocabulary":
            return hidden @ parameters["predictor.weight"].T
        return head(weights, model.shape, hidden @ parameters["predictor.map"].T)

    def batch_of(step):
        draws = generator(given.seed, step + 1).integers(0, len(trained), given.batch)
        return batch_at(np.sort(trained[draws]))
    step = max(1, len(held) // 2048)   # Some of the rows, spread over all held-out texts.
    batches = [batch_at(held[::step][at:at + given.batch]) for at in range(0, len(held[::step]), given.batch)]
    begin = seed(given, model, states)
    texts = {"made_by": "exit_predictor.py", "layer": str(given.layer), "layers": str(last), "kind": given.kind}
    numbers = np.float16 if given.numbers == "f16" else np.float32
    as_arrays = lambda parameters: {name: np.asarray(jnp.float32(value)).astype(numbers) for name, value in parameters.items()}
    write(untrained(given.out), as_arrays(begin), texts)
    loss, figures = make_loss(given, model, scores), make_figures(model, scores, batches)
    write(given.out, as_arrays(train(given, begin, loss, batch_of, figures, model.weights)), texts)


if __name__ == "__main__":
    from script_main import run_main
    run_main(main)
