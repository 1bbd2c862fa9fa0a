#!/usr/bin/env python3
"""Trains a draft head of the EAGLE-3 kind: one decoder layer that reads three hidden states of the model and writes tokens ahead.

    build/bin/tessera_quantize states --jsonl --generate --layers=2,15,27,last --numbers=f16 --out=states.safetensors < requests
    "$(scripts/train/environment.sh)" scripts/train/eagle_head.py --model m.gguf --states s.safetensors --layers=2,15,27 --out e.safetensors

At a token t the layer sees the fused hidden states of t and the embedding of the next token, and says what the model will write after that.
Its own output stands for the hidden states further ahead: training unrolls --depth such steps, the i-th of which weighs 0.8^i. Its head has
the --draft_vocabulary most frequent tokens. Tensors have the names of the public layout: fc, midlayer, norm, lm_head, and d2t, by which the
model's token is the draft's number plus d2t of it; OUT.json is the configuration beside them. Matrices are written in --numbers, which is
what the engine keeps them in. Held out, in a tenth of the texts: how often all of the first 1, 2, ... draft tokens are what the model
writes. head.untrained.safetensors and its .json hold the seed.
"""
import sys
from pathlib import Path

sys.path.insert(1, f"{Path(__file__).resolve().parent}/lib")
from training import generator, need_jax, positive, train, training_flags, untrained  # noqa: E402

SHARE = 0.8   # What a step further ahead weighs.
HELD = 32     # Held-out pieces that are looked at.


def read_flags():
    flags = training_flags(__doc__, steps=600, rate=1e-3)
    flags.add_argument("--model", required=True, metavar="FILE")
    flags.add_argument("--states", required=True, metavar="FILE")
    flags.add_argument("--layers", default="2,15,27")
    flags.add_argument("--depth", type=positive, default=4)
    flags.add_argument("--draft_vocabulary", type=positive, default=8192)
    flags.add_argument("--length", type=positive, default=128)
    flags.add_argument("--batch", type=positive, default=2)
    flags.add_argument("--numbers", choices=("f16", "f32"), default="f16")
    given = flags.parse_args()
    try:
        given.fused = tuple(int(layer) for layer in given.layers.split(","))
    except ValueError:
        flags.error(f"--layers: found {given.layers}, expected three numbers with commas between")
    if len(given.fused) != 3:
        flags.error(f"--layers: found {given.layers}, expected three numbers with commas between")
    if not 0 < given.fused[0] < given.fused[1] < given.fused[2]:
        flags.error(f"--layers: found {given.layers}, expected ascending numbers above 0")
    return given


def seed(given, shape, count):
    """Products that keep the size of what they read; the fusion begins as a mean."""
    import jax.numpy as jnp
    import numpy as np
    random, width, heads = generator(given.seed), shape.width, shape.heads * shape.head_size
    keys = shape.kv_heads * shape.head_size
    drawn = lambda rows, columns: jnp.asarray(random.normal(0, columns ** -0.5, (rows, columns)), jnp.float32)
    ones, at = jnp.ones(width), "midlayer."
    return {"fc.weight": jnp.asarray(np.concatenate([np.eye(width) / 3] * 3, axis=1), jnp.float32),
            at + "self_attn.q_proj.weight": drawn(heads, 2 * width), at + "self_attn.k_proj.weight": drawn(keys, 2 * width),
            at + "self_attn.v_proj.weight": drawn(keys, 2 * width), at + "self_attn.o_proj.weight": drawn(width, heads),
            at + "mlp.gate_proj.weight": drawn(shape.feed_forward, width), at + "mlp.up_proj.weight": drawn(shape.feed_forward, width),
            at + "mlp.down_proj.weight": drawn(width, shape.feed_forward), at + "input_layernorm.weight": ones,
            at + "hidden_norm.weight": ones, at + "post_attention_layernorm.weight": ones, "norm.weight": ones,
            "lm_head.weight": drawn(count, width)}


def attend_ahead(shape, q, keys, values, masks):
    """Each row sees earlier rows by the first of keys and values, and of the others its own alone."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    rows, group = q.shape[0], shape.heads // shape.kv_heads
    q = q.reshape(rows, shape.kv_heads, group, shape.head_size) / np.sqrt(shape.head_size)
    scores = [jnp.where(masks[None, None], jnp.einsum("rkgs,cks->kgrc", q, keys[0]), -1e30)]
    scores += [jnp.einsum("rkgs,rks->kgr", q, key)[..., None] for key in keys[1:]]
    shares = jax.nn.softmax(jnp.concatenate(scores, axis=-1), axis=-1)
    mixed = jnp.einsum("kgrc,cks->rkgs", shares[..., :rows], values[0])
    for i, value in enumerate(values[1:]):
        mixed += jnp.einsum("kgr,rks->rkgs", shares[..., rows + i], value)
    return mixed.reshape(rows, -1)


def ahead(parameters, shape, depth, fused, embedded):
    """fused: [rows, 3 width]; embedded: [rows + depth, width], of row t token t + 1. Logits of each step: [depth, rows, count]."""
    import jax
    import jax.numpy as jnp
    from llama import angles, causal, rms_norm, rotate_halves
    rows, p = len(fused), lambda name: parameters[f"midlayer.{name}.weight"]
    g, keys, values, logits = fused @ parameters["fc.weight"].T, [], [], []
    for i in range(depth):
        x = jnp.concatenate([rms_norm(embedded[i:i + rows], p("input_layernorm"), shape.epsilon),
                             rms_norm(g, p("hidden_norm"), shape.epsilon)], axis=1)
        angle = angles(jnp.arange(rows) + i, shape.head_size, shape.rope_base)
        split = lambda name: (x @ p(f"self_attn.{name}_proj").T).reshape(rows, -1, shape.head_size)
        keys.append(rotate_halves(split("k"), angle))
        values.append(split("v"))
        seen = attend_ahead(shape, rotate_halves(split("q"), angle), keys, values, causal(rows))
        g = g + seen @ p("self_attn.o_proj").T
        h = rms_norm(g, p("post_attention_layernorm"), shape.epsilon)
        g = g + (jax.nn.silu(h @ p("mlp.gate_proj").T) * (h @ p("mlp.up_proj").T)) @ p("mlp.down_proj").T
        logits.append(rms_norm(g, parameters["norm.weight"], shape.epsilon) @ parameters["lm_head.weight"].T)
    return jnp.stack(logits)


class Pieces:
    """Parts of texts, padded to one length, with what the model says of each row."""
    def __init__(self, given, model, states, kept):
        import jax
        from llama import head
        self.given, self.model, self.states, self.kept = given, model, states, kept
        self.head = jax.jit(lambda weights, hidden: head(weights, model.shape, hidden))

    def piece(self, begin, count):
        import numpy as np
        given, shape = self.given, self.model.shape
        rows = given.length + given.depth + 1
        last = np.zeros((rows, shape.width), np.float32)
        last[:count] = self.states.hidden(shape.layers, slice(begin, begin + count))
        fused = np.zeros((given.length, 3 * shape.width), np.float32)
        fused[:count] = np.concatenate([self.states.hidden(layer, slice(begin, begin + count)) for layer in given.fused], axis=1)
        tokens = np.zeros(rows, np.int32)
        tokens[:count] = self.states.tokens[begin:begin + count]
        logits = np.asarray(self.head(self.model.weights, last))
        best = logits.argmax(axis=1)
        return {"fused": fused, "tokens": tokens, "teacher": logits[:, self.kept], "best": best, "count": np.int32(count),
                "known": np.isin(best, self.kept)}

    def batch(self, parts):
        import numpy as np
        each = [self.piece(*part) for part in parts]
        return {name: np.stack([piece[name] for piece in each]) for name in each[0]}


def make_views(given, model, kept):
    """(loss, matches): of a batch of pieces."""
    import jax
    import jax.numpy as jnp
    rows, depth = given.length, given.depth
    tokens_of_draft = jnp.asarray(kept)

    def one(parameters, piece, weights):
        embedded = weights["embed"][piece["tokens"][1:rows + depth + 1]]
        logits = ahead(parameters, model.shape, depth, piece["fused"], embedded)
        cut = lambda values: jnp.stack([values[i + 1:i + 1 + rows] for i in range(depth)])   # What the model says at the row it speaks of.
        there = jnp.arange(rows)[None] + 1 + jnp.arange(depth)[:, None] < piece["count"]
        return logits, cut(piece["teacher"]), cut(piece["best"]), there, there & cut(piece["known"])

    def loss(parameters, batch, frozen):
        def of_piece(piece):
            logits, teacher, _, _, counts = one(parameters, piece, frozen)
            losses = -jnp.sum(jax.nn.softmax(teacher) * jax.nn.log_softmax(logits), axis=-1)
            weights = SHARE ** jnp.arange(depth)[:, None] * counts
            return jnp.sum(losses * weights), jnp.sum(weights)
        sums, weights = jax.vmap(of_piece)(batch)
        return jnp.sum(sums) / jnp.maximum(jnp.sum(weights), 1)

    @jax.jit
    def matches(parameters, batch, frozen):
        def of_piece(piece):
            logits, _, best, there, _ = one(parameters, piece, frozen)
            right = tokens_of_draft[jnp.argmax(logits, axis=-1)] == best
            return jnp.sum(jnp.cumprod(right, axis=0) * there[-1:], axis=1), jnp.sum(there[-1])
        return jax.vmap(of_piece)(batch)
    return loss, matches


def frequent_tokens(given, states, shape):
    import numpy as np
    counts = np.bincount(states.tokens[states.rows(states.trained)], minlength=shape.vocabulary)
    count = min(given.draft_vocabulary, shape.vocabulary)
    return np.sort(np.argsort(-counts, kind="stable")[:count]).astype(np.int64)


def configuration(given, shape, count):
    """Below eagle_config a state is numbered by the layer whose output it is, from 0 on: what 2 layers have made is that of layer 1."""
    import json
    return json.dumps({"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": shape.width, "num_attention_heads": shape.heads,
                       "num_key_value_heads": shape.kv_heads, "head_dim": shape.head_size, "intermediate_size": shape.feed_forward,
                       "num_hidden_layers": 1, "vocab_size": shape.vocabulary, "draft_vocab_size": count,
                       "rms_norm_eps": shape.epsilon, "rope_theta": shape.rope_base, "hidden_act": "silu",
                       "eagle_config": {"eagle_aux_hidden_state_layer_ids": [layer - 1 for layer in given.fused],
                                        "use_aux_hidden_state": True}}, indent=2) + "\n"


def main():
    given = read_flags()
    need_jax()
    import numpy as np
    from llama import Llama
    from states import States
    from tensors import write, write_text
    model = Llama(given.model)
    states = States(given.states, (*given.fused, model.shape.layers))
    kept = frequent_tokens(given, states, model.shape)
    pieces, parts = Pieces(given, model, states, kept), states.pieces(states.trained, given.length)
    held = [pieces.batch([part]) for part in states.pieces(states.held, given.length)[:HELD]]
    loss, matches = make_views(given, model, kept)

    def figures(parameters):
        found = [matches(parameters, batch, model.weights) for batch in held]
        right, rows = sum(np.asarray(each[0])[0] for each in found), max(sum(int(each[1][0]) for each in found), 1)
        return {f"first {i + 1}": float(right[i] / rows) for i in range(given.depth)}

    def batch_of(step):
        draws = generator(given.seed, step + 1).integers(0, len(parts), given.batch)
        return pieces.batch([parts[draw] for draw in draws])

    def put(path, parameters):
        known = np.zeros(model.shape.vocabulary, np.bool_)
        known[kept] = True
        matrices = np.float16 if given.numbers == "f16" else np.float32
        tensors = {name: np.asarray(value, np.float32 if value.ndim == 1 else matrices) for name, value in parameters.items()}
        write(path, tensors | {"d2t": kept - np.arange(len(kept)), "t2d": known},
              {"made_by": "eagle_head.py", "layers": given.layers})
    begin = seed(given, model.shape, len(kept))
    put(untrained(given.out), begin)
    for path in (f"{untrained(given.out)}.json", f"{given.out}.json"):
        write_text(path, configuration(given, model.shape, len(kept)))
    put(given.out, train(given, begin, loss, batch_of, figures, model.weights))


if __name__ == "__main__":
    from script_main import run_main
    run_main(main)
