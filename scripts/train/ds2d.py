#!/usr/bin/env python3
"""Trains what lets a model draft for itself (DS2D of one-for-all): prefix slots and forecast embeddings. The model stays as it is.

    build/bin/tessera_quantize states --jsonl --generate --layers=none --out=texts.safetensors < requests
    "$(scripts/train/environment.sh)" scripts/train/ds2d.py --model model.gguf --states texts.safetensors --out ds2d.safetensors

--slots are keys and values in each layer, without a position; --forecasts are rows that may follow any token. Forecast k of a token at
position p has position p + k, sees the slots, the text up to that token and forecasts 1 to k of it, and says the token k + 1 ahead. Rows of
the text never see a slot, so their logits stay the model's own. Labels are what the model wrote itself: each step takes a part of a text
and --groups tokens of it that it wrote, with their forecasts; groups do not see each other. Held out, in a tenth of the texts: how often
forecast k's best token is right, and how often it is among its best 4. OUT holds prefix.keys and prefix.values [layers, slots, kv heads,
head size], keys in GGUF's order of pairs, and forecasts [forecasts, width], and the mark of the model, by which others refuse it; the seed
is in ds2d.untrained.safetensors.
"""
import sys
from pathlib import Path

sys.path.insert(1, f"{Path(__file__).resolve().parent}/lib")
from training import generator, need_jax, positive, train, training_flags, untrained  # noqa: E402

AMONG = 4
HELD = 24   # Held-out parts of texts that are looked at.


def read_flags():
    flags = training_flags(__doc__, steps=1000, rate=1e-2)
    flags.add_argument("--model", required=True, metavar="FILE")
    flags.add_argument("--states", required=True, metavar="FILE")
    flags.add_argument("--slots", type=positive, default=16)
    flags.add_argument("--forecasts", type=positive, default=3)
    flags.add_argument("--length", type=positive, default=144)
    flags.add_argument("--groups", type=positive, default=32)
    given = flags.parse_args()
    if given.length < given.forecasts + 8:
        flags.error(f"--length: found {given.length}, expected at least {given.forecasts + 8}")
    return given


def seed(given, model):
    import jax.numpy as jnp
    import numpy as np
    shape, random = model.shape, generator(given.seed)
    slots = (shape.layers, given.slots, shape.kv_heads, shape.head_size)
    embed = np.asarray(model.weights["embed"])
    drawn = lambda size, sizes: jnp.asarray(random.normal(0, size, sizes), jnp.float32)
    return {"prefix.keys": drawn(1.0, slots), "prefix.values": drawn(0.02, slots),
            "forecasts": jnp.asarray(embed.mean(axis=0), jnp.float32) + drawn(float(embed.std()), (given.forecasts, shape.width))}


def layout(given):
    """mask_of(last): which rows the rows see, where group j's forecasts follow text row last[j]; text rows come first."""
    import jax.numpy as jnp
    length, m = given.length, given.forecasts
    group, number = jnp.repeat(jnp.arange(given.groups), m), jnp.tile(jnp.arange(m), given.groups)

    def mask_of(last):
        text = jnp.concatenate([jnp.tril(jnp.ones((length, length), bool)), jnp.zeros((length, len(group)), bool)], axis=1)
        sees_text = jnp.arange(length)[None] <= last[group][:, None]
        sees_forecasts = (group[:, None] == group[None]) & (number[None] <= number[:, None])
        return jnp.concatenate([text, jnp.concatenate([sees_text, sees_forecasts], axis=1)])
    return group, number, mask_of


def make_views(given, model):
    import jax
    import jax.numpy as jnp
    from llama import forward, head
    group, number, mask_of = layout(given)

    def logits_of(parameters, batch, weights):
        last = batch["last"]
        rows = jnp.concatenate([weights["embed"][batch["tokens"]], parameters["forecasts"][number]])
        positions = jnp.concatenate([jnp.arange(given.length), last[group] + number + 1])
        sees_prefix = jnp.arange(len(rows)) >= given.length
        hidden = forward(weights, model.shape, rows, positions, mask_of(last),
                         prefix=(parameters["prefix.keys"], parameters["prefix.values"]), sees_prefix=sees_prefix)
        labels = batch["tokens"][jnp.minimum(last[group] + number + 2, given.length - 1)]
        return head(weights, model.shape, hidden[given.length:]), labels

    def loss(parameters, batch, frozen):
        logits, labels = logits_of(parameters, batch, frozen)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1))

    @jax.jit
    def matches(parameters, batch, frozen):
        logits, labels = logits_of(parameters, batch, frozen)
        best = jax.lax.top_k(logits, AMONG)[1]
        by_number = lambda right: jnp.mean(right.reshape(given.groups, given.forecasts), axis=0)
        return by_number(best[:, 0] == labels), by_number(jnp.any(best == labels[:, None], axis=1))
    return loss, matches


class Parts:
    """Parts of texts in which the model wrote enough itself."""
    def __init__(self, given, states, texts):
        self.given, self.states, self.parts = given, states, []
        for i in texts:
            begin, end, written = int(states.starts[i]), int(states.starts[i + 1]), int(states.starts[i] + states.prompts[i])
            if end - max(written - 1, begin) >= given.forecasts + 2 and end - begin >= given.forecasts + 2:
                self.parts.append((begin, max(written, begin + 1), end))
        if not self.parts:
            raise SystemExit(f"{states.path}: found no text of which the model wrote {given.forecasts + 2} tokens, expected some")

    def draw(self, random, which):
        """The last `length` tokens up to some place of the written part, and groups in it."""
        import numpy as np
        begin, written, end = self.parts[which]
        length, ahead = self.given.length, self.given.forecasts + 1
        stop = int(random.integers(min(end, written + ahead), end + 1))
        first = max(begin, stop - length)
        tokens = np.zeros(length, np.int32)
        tokens[:stop - first] = self.states.tokens[first:stop]
        least, most = max(written - 1 - first, 0), stop - first - 1 - ahead   # The last row that is seen, and what comes after it.
        return {"tokens": tokens, "last": random.integers(min(least, most), most + 1, self.given.groups).astype(np.int32)}


def main():
    given = read_flags()
    need_jax()
    import numpy as np
    from llama import Llama
    from model_mark import mark_of
    from states import States
    from tensors import write
    model, states = Llama(given.model), States(given.states)
    trained, held = Parts(given, states, states.trained), Parts(given, states, states.held)
    loss, matches = make_views(given, model)
    looked_at = [held.draw(generator(given.seed, 0, i), i % len(held.parts)) for i in range(HELD)]

    def figures(parameters):
        found = [matches(parameters, batch, model.weights) for batch in looked_at]
        first, among = (np.mean([np.asarray(each[k]) for each in found], axis=0) for k in (0, 1))
        return ({f"forecast {k + 1}": float(value) for k, value in enumerate(first)} |
                {f"forecast {k + 1}, best {AMONG}": float(value) for k, value in enumerate(among)})

    def batch_of(step):
        random = generator(given.seed, step + 1)
        return trained.draw(random, int(random.integers(0, len(trained.parts))))
    begin = seed(given, model)
    texts = {"made_by": "ds2d.py", "slots": str(given.slots), "forecasts": str(given.forecasts)} | mark_of(given.model)
    as_arrays = lambda parameters: {name: np.asarray(value, np.float32) for name, value in parameters.items()}
    write(untrained(given.out), as_arrays(begin), texts)
    write(given.out, as_arrays(train(given, begin, loss, batch_of, figures, model.weights)), texts)


if __name__ == "__main__":
    from script_main import run_main
    run_main(main)
