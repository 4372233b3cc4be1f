"""Dense decoders for inference in bf16: prefill and one decode step, greedy.

`Fused` runs the operators serving engines run: one launch each, linear layers fused where their
input is the same. `Plain` computes the same function as transformers does, an operator at a time.
"""

import torch
import torch.nn.functional as F
from torch import nn

from . import kernels
from .marks import operator


def allow_attention(backend):
    torch.backends.cuda.enable_flash_sdp(backend == "flash")
    torch.backends.cuda.enable_cudnn_sdp(backend == "cudnn")
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_math_sdp(False)


def _weight(*size):
    data = torch.empty(size, dtype=torch.bfloat16, device="cuda").normal_(0.0, 0.02)
    return nn.Parameter(data, requires_grad=False)


def _scale(size):
    data = 1 + 0.1 * torch.randn(size, dtype=torch.bfloat16, device="cuda")
    return nn.Parameter(data, requires_grad=False)


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.attn_norm, self.mlp_norm = _scale(shape.hidden), _scale(shape.hidden)
        self.qkv, self.out = (_weight(shape.qkv_cols, shape.hidden),
                              _weight(shape.hidden, shape.q_cols))
        self.qkv_bias = _weight(shape.qkv_cols) if shape.qkv_bias else None
        self.q_norm = _scale(shape.head_dim) if shape.qk_norm else None
        self.k_norm = _scale(shape.head_dim) if shape.qk_norm else None
        self.gate_up, self.down = (_weight(2 * shape.inter, shape.hidden),
                                   _weight(shape.hidden, shape.inter))
        self._separate(shape)

    def _separate(self, shape):
        """The parts of the fused weights, as views, for the plain operators."""
        cols = [shape.q_cols, shape.kv_cols, shape.kv_cols]
        self.q, self.k, self.v = (nn.Buffer(part) for part in self.qkv.data.split(cols))
        self.gate, self.up = (nn.Buffer(part) for part in self.gate_up.data.chunk(2))
        biases = [None] * 3 if self.qkv_bias is None else self.qkv_bias.data.split(cols)
        self.q_bias, self.k_bias, self.v_bias = (
            None if part is None else nn.Buffer(part) for part in biases)


class Weights(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.embedding = _weight(shape.vocab, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = _scale(shape.hidden)
        self.head = self.embedding if shape.tied else _weight(shape.vocab, shape.hidden)
        half = torch.arange(0, shape.head_dim, 2, device="cuda", dtype=torch.float32)
        self.frequencies = nn.Buffer(shape.theta ** (-half / shape.head_dim))
        angles = torch.arange(shape.positions, device="cuda")[:, None] * self.frequencies
        self.cos, self.sin = nn.Buffer(angles.cos()), nn.Buffer(angles.sin())


class Request:
    """Token ids, positions and the cache of one step."""

    def __init__(self, shape, mode, batch, length, cache):
        self.batch, self.prefill = batch, mode == "prefill"
        self.steps = length if self.prefill else 1
        first = 0 if self.prefill else length - 1
        self.ids = torch.randint(0, shape.vocab, (batch * self.steps,), device="cuda")
        self.cache_positions = torch.arange(first, length, device="cuda")
        self.positions = self.cache_positions.repeat(batch)
        starts = torch.arange(batch, device="cuda") * length
        self.slots = (starts[:, None] + self.cache_positions).reshape(-1).contiguous()
        size = (batch, length, shape.kv_heads, shape.head_dim)
        count = batch * length * shape.kv_cols
        parts = cache[:2 * shape.layers * count].view(2 * shape.layers, *size)
        self.keys, self.values = list(parts[:shape.layers]), list(parts[shape.layers:])

    def own_cache(self):
        """A tensor of its own per layer: a compiler does not see that parts never overlap."""
        self.keys = [part.clone() for part in self.keys]
        self.values = [part.clone() for part in self.values]


def attend(q, k, v, causal):
    """q [batch, steps, heads, dim], k and v [batch, length, kv heads, dim]; views are fine."""
    grouped = q.shape[2] != k.shape[2]
    out = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                         is_causal=causal, enable_gqa=grouped)
    return out.transpose(1, 2)


class Fused(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = weights

    def forward(self, request):
        weights, shape = self.weights, self.weights.shape
        with operator("embedding"):
            residual = F.embedding(request.ids, weights.embedding)
        x = None
        for index, layer in enumerate(weights.layers):
            with operator("attn_norm"):
                x = self.norm(residual, None, layer.attn_norm) if x is None else \
                    self.norm(x, residual, layer.attn_norm)
            x = self.attention(layer, x, request, index)
            with operator("mlp_norm"):
                x = self.norm(x, residual, layer.mlp_norm)
            with operator("gate_up"):
                x = F.linear(x, layer.gate_up)
            with operator("silu_mul"):
                gated = torch.empty((x.shape[0], shape.inter), dtype=x.dtype, device=x.device)
                kernels.silu_mul(x, gated)
            with operator("down"):
                x = F.linear(gated, layer.down)
        with operator("final_norm"):
            x = self.norm(x, residual, weights.norm)
        last = x.view(request.batch, request.steps, shape.hidden)[:, -1]
        with operator("lm_head"):
            logits = F.linear(last, weights.head)
        with operator("argmax"):
            return logits, torch.argmax(logits, -1)

    def norm(self, x, residual, weight):
        out = torch.empty_like(x)
        kernels.rmsnorm(x, residual, weight, out, self.weights.shape.eps)
        return out

    def attention(self, layer, x, request, index):
        shape = self.weights.shape
        with operator("qkv"):
            qkv = F.linear(x, layer.qkv, layer.qkv_bias)
        if shape.qk_norm:
            with operator("q_norm"):
                kernels.head_norm(qkv, layer.q_norm, 0, shape.heads, shape.head_dim, shape.eps)
            with operator("k_norm"):
                kernels.head_norm(qkv, layer.k_norm, shape.q_cols, shape.kv_heads,
                                  shape.head_dim, shape.eps)
        with operator("rope"):
            kernels.rope(qkv, request.positions, self.weights.cos, self.weights.sin,
                         shape.heads + shape.kv_heads)
        keys, values = request.keys[index], request.values[index]
        with operator("kv_write"):
            kernels.kv_write(qkv, request.slots, keys, values, shape.q_cols, shape.kv_cols)
        heads = qkv.view(request.batch, request.steps, -1, shape.head_dim)
        q, k, v = heads.split([shape.heads, shape.kv_heads, shape.kv_heads], dim=2)
        with operator("attention"):
            out = attend(q, k, v, True) if request.prefill else attend(q, keys, values, False)
        with operator("attn_out"):
            return F.linear(out.reshape(x.shape[0], shape.q_cols), layer.out)


class Plain(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = weights

    def forward(self, request):
        weights = self.weights
        with operator("embedding"):
            x = F.embedding(request.ids.view(request.batch, request.steps), weights.embedding)
        with operator("rope_table"):
            cos, sin = self.rope_table(request.cache_positions, x.dtype)
        for index, layer in enumerate(weights.layers):
            with operator("attn_norm"):
                normed = self.norm(x, layer.attn_norm)
            out = self.attention(layer, normed, request, index, cos, sin)
            with operator("attn_add"):
                x = x + out
            with operator("mlp_norm"):
                normed = self.norm(x, layer.mlp_norm)
            with operator("gate"):
                gate = F.linear(normed, layer.gate)
            with operator("up"):
                up = F.linear(normed, layer.up)
            with operator("silu_mul"):
                gated = F.silu(gate) * up
            with operator("down"):
                out = F.linear(gated, layer.down)
            with operator("mlp_add"):
                x = x + out
        with operator("final_norm"):
            x = self.norm(x, weights.norm)
        with operator("lm_head"):
            logits = F.linear(x[:, -1], weights.head)
        with operator("argmax"):
            return logits, torch.argmax(logits, -1)

    def norm(self, x, weight):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.weights.shape.eps)
        return weight * wide.to(x.dtype)

    def rope_table(self, positions, dtype):
        angles = positions[:, None].float() * self.weights.frequencies
        angles = torch.cat((angles, angles), -1)[None, :, None]
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def attention(self, layer, x, request, index, cos, sin):
        shape = self.weights.shape
        size = (*x.shape[:2], -1, shape.head_dim)
        with operator("q"):
            q = F.linear(x, layer.q, layer.q_bias).view(size)
        with operator("k"):
            k = F.linear(x, layer.k, layer.k_bias).view(size)
        with operator("v"):
            v = F.linear(x, layer.v, layer.v_bias).view(size)
        if shape.qk_norm:
            with operator("q_norm"):
                q = self.norm(q, layer.q_norm)
            with operator("k_norm"):
                k = self.norm(k, layer.k_norm)
        with operator("rope"):
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        keys, values = request.keys[index], request.values[index]
        with operator("kv_write"):
            keys.index_copy_(1, request.cache_positions, k)
            values.index_copy_(1, request.cache_positions, v)
        with operator("attention"):
            out = attend(q, k, v, True) if request.prefill else attend(q, keys, values, False)
        with operator("attn_out"):
            return F.linear(out.reshape(*x.shape[:2], shape.q_cols), layer.out)


def rotate(x, cos, sin):
    """Rotary embedding in plain operators: the halves of each head are a pair."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


MODELS = {"fused": Fused, "plain": Plain}
