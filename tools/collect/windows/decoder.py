"""A decoder in plain PyTorch, as people write one, for prefill and decode with a contiguous cache.

Styles differ in how operators are written, not in what is computed:
merged    one product for q, k and v and one for gate and up; norm and rotation in fp32 by hand
separate  a product each; F.rms_norm; rotation in bf16 as transformers has it
hf        as transformers: a product each, its RMSNorm, its rotation, cache with heads first
"""

import torch
import torch.nn.functional as F

from .small_ops import rms_hf, rope_halves, rope_hf

STYLES = ("merged", "separate", "hf")


def _weight(*size):
    return torch.empty(size, dtype=torch.bfloat16, device="cuda").normal_(0.0, 0.02)


def _layer(shape):
    return {"attn_norm": _weight(shape.hidden) + 1, "mlp_norm": _weight(shape.hidden) + 1,
            "qkv": _weight(shape.qkv_cols, shape.hidden), "out": _weight(shape.hidden, shape.q_cols),
            "gate_up": _weight(2 * shape.inter, shape.hidden),
            "down": _weight(shape.hidden, shape.inter)}


class Weights:
    def __init__(self, shape):
        self.shape = shape
        self.embedding = _weight(shape.vocab, shape.hidden)
        self.head = self.embedding if shape.tied else _weight(shape.vocab, shape.hidden)
        self.norm = _weight(shape.hidden) + 1
        self.layers = [_layer(shape) for _ in range(shape.layers)]
        half = torch.arange(0, shape.head_dim, 2, device="cuda", dtype=torch.float32)
        places = torch.arange(16384, device="cuda", dtype=torch.float32)
        angles = places[:, None] * shape.theta ** (-half / shape.head_dim)
        self.half_cos, self.half_sin = angles.cos()[:, None], angles.sin()[:, None]
        whole = torch.cat((angles, angles), -1)
        self.cos, self.sin = whole.cos().bfloat16(), whole.sin().bfloat16()


class Step:
    """One prefill, or one decode step whose new token is the last of `length` keys."""

    def __init__(self, weights, style, mode, batch, length):
        self.weights, self.style, self.batch, self.length = weights, style, batch, length
        self.prefill = mode == "prefill"
        self.new = length if self.prefill else 1
        shape = weights.shape
        self.ids = torch.randint(0, shape.vocab, (batch, self.new), device="cuda")
        self.places = torch.arange(length - self.new, length, device="cuda")
        size = (batch, shape.kv_heads, length, shape.head_dim) if style == "hf" else \
            (batch, length, shape.kv_heads, shape.head_dim)
        self.caches = [(_weight(*size), _weight(*size)) for _ in range(shape.layers)]

    def __call__(self):
        with torch.no_grad():
            return self.run()

    def run(self):
        weights, shape = self.weights, self.weights.shape
        x = F.embedding(self.ids, weights.embedding)
        for layer, cache in zip(weights.layers, self.caches):
            x = x + self.attention(layer, cache, self.norm(x, layer["attn_norm"]))
            x = x + self.mlp(layer, self.norm(x, layer["mlp_norm"]))
        x = self.norm(x[:, -1:], weights.norm)
        return torch.argmax(F.linear(x, weights.head).float(), -1)

    def norm(self, x, weight):
        if self.style == "separate":
            return F.rms_norm(x, (x.shape[-1],), weight, 1e-5)
        if self.style == "hf":
            return rms_hf(x, weight)
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return (wide * scale).type_as(x) * weight

    def mlp(self, layer, x):
        inter = self.weights.shape.inter
        if self.style == "merged":
            gate, up = F.linear(x, layer["gate_up"]).split(inter, -1)
        else:
            gate = F.linear(x, layer["gate_up"][:inter])
            up = F.linear(x, layer["gate_up"][inter:])
        return F.linear(F.silu(gate) * up, layer["down"])

    def projections(self, layer, x):
        shape = self.weights.shape
        cols = [shape.q_cols, shape.kv_cols, shape.kv_cols]
        if self.style == "merged":
            parts = F.linear(x, layer["qkv"]).split(cols, -1)
        else:
            parts = [F.linear(x, part) for part in layer["qkv"].split(cols)]
        return [part.view(self.batch, self.new, -1, shape.head_dim) for part in parts]

    def attention(self, layer, cache, x):
        shape, weights = self.weights.shape, self.weights
        q, k, v = self.projections(layer, x)
        first, last = self.length - self.new, self.length
        if self.style == "merged":
            cos, sin = weights.half_cos[first:last], weights.half_sin[first:last]
            q = rope_halves(q.float(), cos, sin).type_as(x).transpose(1, 2)
            k = rope_halves(k.float(), cos, sin).type_as(x).transpose(1, 2)
            v = v.transpose(1, 2)
        else:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
            q, k = rope_hf(q, k, weights.cos[None, first:last], weights.sin[None, first:last])
        k, v = self.write(cache, k, v)
        grouped = shape.heads != shape.kv_heads
        out = F.scaled_dot_product_attention(q, k, v, is_causal=self.prefill, enable_gqa=grouped)
        return F.linear(out.transpose(1, 2).reshape(self.batch, self.new, -1), layer["out"])

    def write(self, cache, k, v):
        """Stores keys and values and returns those to attend to, heads first."""
        keys, values = cache
        if self.style == "hf":
            keys.index_copy_(2, self.places, k)
            values.index_copy_(2, self.places, v)
        elif self.style == "separate":
            keys.index_copy_(1, self.places, k.transpose(1, 2))
            values.index_copy_(1, self.places, v.transpose(1, 2))
        else:
            keys[:, self.length - self.new:].copy_(k.transpose(1, 2))
            values[:, self.length - self.new:].copy_(v.transpose(1, 2))
        if self.prefill:
            return k, v
        return (keys, values) if self.style == "hf" else (keys.transpose(1, 2), values.transpose(1, 2))
