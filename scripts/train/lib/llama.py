"""A frozen model of the llama architecture in JAX, FP32, from the weights of a GGUF file.

    model = Llama("model.gguf")
    hidden = forward(model.weights, model.shape, model.weights["embed"][tokens], positions, mask)    # [rows, width], before the norm
    logits = head(model.weights, model.shape, hidden)

Rows see what `mask` [rows, rows] says. `adapters` add low-rank products to matrices of the layers; a `prefix` is keys and values without a
position, which the rows of `sees_prefix` see. Layers are a scan whose parts are computed again in the backward pass, so memory stays small.
scripts/train/check_model.py compares it with tessera_quantize states.
"""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gguf import Gguf

HIDDEN = -1e30   # Instead of minus infinity, whose gradient is not a number.


class Shape(NamedTuple):
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int
    vocabulary: int
    epsilon: float
    rope_base: float


MATRICES = {"q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down",
            "attn_norm": "attn_norm", "ffn_norm": "ffn_norm"}


class Llama:
    def __init__(self, path):
        file = Gguf(path)
        self.metadata = file.metadata
        found = file.metadata.get("general.architecture")
        if found != "llama":
            raise SystemExit(f"{path}: found the architecture {found}, expected llama")
        for name in file.tensors:
            if name.endswith(".bias") or name == "rope_freqs.weight":
                raise SystemExit(f"{path}: found the tensor {name}, expected a model without biases and factors of RoPE")
        if file.metadata.get("llama.rope.scaling.type", "none") != "none":
            raise SystemExit(f"{path}: found scaled RoPE, expected plain RoPE")
        self.shape = self._shape(file)
        layers = range(self.shape.layers)
        self.weights = {ours: jnp.asarray(np.stack([file.tensor(f"blk.{i}.{theirs}.weight") for i in layers]))
                        for ours, theirs in MATRICES.items()}
        self.weights["embed"] = jnp.asarray(file.tensor("token_embd.weight"))
        self.weights["norm"] = jnp.asarray(file.tensor("output_norm.weight"))
        tied = "output.weight" not in file.tensors
        self.weights["head"] = self.weights["embed"] if tied else jnp.asarray(file.tensor("output.weight"))

    @staticmethod
    def _shape(file):
        get = lambda key, otherwise=None: file.metadata.get(f"llama.{key}", otherwise)
        width, heads = get("embedding_length"), get("attention.head_count")
        size = get("attention.key_length", width // heads)
        if get("rope.dimension_count", size) != size:
            raise SystemExit(f"{file.path}: found RoPE on a part of a head, expected on all of it")
        return Shape(get("block_count"), width, heads, get("attention.head_count_kv", heads), size, get("feed_forward_length"),
                     file.tensors["token_embd.weight"][0][1], get("attention.layer_norm_rms_epsilon"), get("rope.freq_base", 10000.0))


def rms_norm(x, weight, epsilon):
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + epsilon) * weight


def angles(positions, size, base):
    """[rows, 1, size / 2]"""
    return (positions[:, None] * base ** (-jnp.arange(0, size, 2) / size))[:, None, :]


def rotate_pairs(x, angle):
    """As GGUF's llama has it: neighbours 2i and 2i + 1 are a pair. x: [rows, heads, size]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)


def rotate_halves(x, angle):
    """As Hugging Face's llama has it: i and i + size / 2 are a pair."""
    first, second = jnp.split(x, 2, axis=-1)
    cos, sin = jnp.cos(angle), jnp.sin(angle)
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def attend(q, k, v, mask):
    """q: [rows, heads, size]; k, v: [columns, kv_heads, size]; mask: [rows, columns]."""
    rows, heads, size = q.shape
    grouped = q.reshape(rows, k.shape[1], heads // k.shape[1], size)
    scores = jnp.einsum("rkgs,cks->kgrc", grouped, k) / np.sqrt(size)
    shares = jax.nn.softmax(jnp.where(mask[None, None], scores, HIDDEN), axis=-1)
    return jnp.einsum("kgrc,cks->rkgs", shares, v).reshape(rows, heads * size)


def product(x, layer, name, adapter, scale):
    y = x @ layer[name].T
    return y if name not in adapter else y + scale * (x @ adapter[name][0].T) @ adapter[name][1].T


def run_layer(x, layer, shape, angle, mask, adapter, scale, prefix, sees_prefix):
    h = rms_norm(x, layer["attn_norm"], shape.epsilon)
    heads = lambda name, count: product(h, layer, name, adapter, scale).reshape(-1, count, shape.head_size)
    q, k = (rotate_pairs(heads(name, count), angle) for name, count in (("q", shape.heads), ("k", shape.kv_heads)))
    v = heads("v", shape.kv_heads)
    if prefix is not None:
        k, v = jnp.concatenate([prefix[0], k]), jnp.concatenate([prefix[1], v])
        mask = jnp.concatenate([jnp.broadcast_to(sees_prefix[:, None], (len(x), len(prefix[0]))), mask], axis=1)
    x = x + product(attend(q, k, v, mask), layer, "o", adapter, scale)
    h = rms_norm(x, layer["ffn_norm"], shape.epsilon)
    inner = jax.nn.silu(product(h, layer, "gate", adapter, scale)) * product(h, layer, "up", adapter, scale)
    return x + product(inner, layer, "down", adapter, scale)


def forward(weights, shape, rows, positions, mask, adapters=None, scale=1.0, prefix=None, sees_prefix=None, every=False):
    """rows: [rows, width]. adapters: {name: (A [layers, rank, in], B [layers, out, rank])}. prefix: keys and values, each
    [layers, slots, kv_heads, head_size]. every: what each layer makes of the rows, too: [layers, rows, width]."""
    angle = angles(positions, shape.head_size, shape.rope_base)
    layers = {name: weights[name] for name in MATRICES}

    @jax.checkpoint
    def step(x, each):
        layer, adapter, kept = each
        x = run_layer(x, layer, shape, angle, mask, adapter, scale, kept, sees_prefix)
        return x, (x if every else None)
    hidden, all_hidden = jax.lax.scan(step, rows, (layers, adapters or {}, prefix))
    return (hidden, all_hidden) if every else hidden


def head(weights, shape, hidden):
    return rms_norm(hidden, weights["norm"], shape.epsilon) @ weights["head"].T


def causal(rows):
    return jnp.tril(jnp.ones((rows, rows), bool))
