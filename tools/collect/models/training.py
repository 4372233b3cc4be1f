"""Models for training steps, an operator at a time: GPT-2 and Llama, random weights, no dropout.

`autocast_bf16`: parameters, gradients and optimizer state in fp32, forward under
torch.autocast(bfloat16). `bf16`: parameters, gradients and optimizer state in bf16, no fp32 copy.
`fp32`: everything in fp32, TF32 off. The targets are given, so logits are not shifted.
"""

from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from .inference import rotate
from .marks import operator


class Conv1D(nn.Module):
    """A linear layer whose weight lies [in, out], as transformers' GPT-2 has it."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs).normal_(0.0, 0.02))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        flat = torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight)
        return flat.view(*x.shape[:-1], -1)


class Gpt2Block(nn.Module):
    def __init__(self, shape, ops):
        super().__init__()
        linear = Conv1D if ops == "hf" else nn.Linear
        self.hf, self.heads, self.head_dim = ops == "hf", shape.heads, shape.head_dim
        self.attn_norm = nn.LayerNorm(shape.hidden, eps=shape.eps)
        self.qkv = linear(shape.hidden, 3 * shape.hidden)
        self.out = linear(shape.hidden, shape.hidden)
        self.mlp_norm = nn.LayerNorm(shape.hidden, eps=shape.eps)
        self.up = linear(shape.hidden, shape.inter)
        self.down = linear(shape.inter, shape.hidden)
        causal = torch.ones(shape.positions, shape.positions, dtype=torch.bool).tril()
        self.mask = nn.Buffer(causal[None, None]) if self.hf else None

    def forward(self, x):
        with operator("attn_norm"):
            normed = self.attn_norm(x)
        with operator("qkv"):
            q, k, v = self.qkv(normed).split(x.shape[-1], dim=-1)
        with operator("attention"):
            q, k, v = (part.view(*x.shape[:2], self.heads, self.head_dim).transpose(1, 2)
                       for part in (q, k, v))
            if self.hf:
                out = self.eager_attention(q, k, v)
            else:
                out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            out = out.transpose(1, 2).reshape(x.shape)
        with operator("attn_out"):
            out = self.out(out)
        with operator("attn_add"):
            x = x + out
        with operator("mlp_norm"):
            normed = self.mlp_norm(x)
        with operator("up"):
            wide = self.up(normed)
        with operator("gelu"):
            wide = new_gelu(wide) if self.hf else F.gelu(wide, approximate="tanh")
        with operator("down"):
            out = self.down(wide)
        with operator("mlp_add"):
            return x + out

    def eager_attention(self, q, k, v):
        """transformers' eager attention: product, scale, causal mask, softmax, product."""
        length = q.shape[2]
        scores = torch.matmul(q, k.transpose(-1, -2))
        scores = scores / torch.full([], self.head_dim ** 0.5, dtype=q.dtype, device=q.device)
        lowest = torch.full([], torch.finfo(q.dtype).min, dtype=q.dtype, device=q.device)
        scores = torch.where(self.mask[:, :, :length, :length], scores, lowest)
        return torch.matmul(F.softmax(scores, dim=-1), v)


def new_gelu(x):
    """transformers' gelu_new in plain operators."""
    return 0.5 * x * (1.0 + torch.tanh(0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))))


class LlamaBlock(nn.Module):
    def __init__(self, shape, _ops):
        super().__init__()
        self.head_dim = shape.head_dim
        self.attn_norm = nn.RMSNorm(shape.hidden, eps=shape.eps)
        self.q = nn.Linear(shape.hidden, shape.q_cols, bias=False)
        self.k = nn.Linear(shape.hidden, shape.kv_cols, bias=False)
        self.v = nn.Linear(shape.hidden, shape.kv_cols, bias=False)
        self.out = nn.Linear(shape.q_cols, shape.hidden, bias=False)
        self.mlp_norm = nn.RMSNorm(shape.hidden, eps=shape.eps)
        self.gate = nn.Linear(shape.hidden, shape.inter, bias=False)
        self.up = nn.Linear(shape.hidden, shape.inter, bias=False)
        self.down = nn.Linear(shape.inter, shape.hidden, bias=False)

    def forward(self, x, cos, sin):
        size = (*x.shape[:2], -1, self.head_dim)
        with operator("attn_norm"):
            normed = self.attn_norm(x)
        with operator("q"):
            q = self.q(normed).view(size)
        with operator("k"):
            k = self.k(normed).view(size)
        with operator("v"):
            v = self.v(normed).view(size)
        with operator("rope"):
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        with operator("attention"):
            out = F.scaled_dot_product_attention(
                q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True,
                enable_gqa=q.shape[2] != k.shape[2])
            out = out.transpose(1, 2).reshape(*x.shape[:2], -1)
        with operator("attn_out"):
            out = self.out(out)
        with operator("attn_add"):
            x = x + out
        with operator("mlp_norm"):
            normed = self.mlp_norm(x)
        with operator("gate"):
            gate = self.gate(normed)
        with operator("up"):
            up = self.up(normed)
        with operator("silu_mul"):
            gated = F.silu(gate) * up
        with operator("down"):
            out = self.down(gated)
        with operator("mlp_add"):
            return x + out


class Decoder(nn.Module):
    """Embedding, blocks, norm, head (tied where the shape says so) and the mean cross-entropy."""

    def __init__(self, shape, ops, recompute):
        super().__init__()
        gpt2 = shape.kind == "gpt2"
        self.gpt2, self.recompute = gpt2, recompute
        block = Gpt2Block if gpt2 else LlamaBlock
        self.embedding = nn.Embedding(shape.vocab, shape.hidden)
        self.places = nn.Embedding(shape.positions, shape.hidden) if gpt2 else None
        self.blocks = nn.ModuleList(block(shape, ops) for _ in range(shape.layers))
        norm = nn.LayerNorm if gpt2 else nn.RMSNorm
        self.norm = norm(shape.hidden, eps=shape.eps)
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False)
        if shape.tied:
            self.head.weight = self.embedding.weight
        if not gpt2:
            self._rope_table(shape)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0.0, 0.02)

    def _rope_table(self, shape):
        half = torch.arange(0, shape.head_dim, 2, dtype=torch.float32)
        places = torch.arange(4096, dtype=torch.float32)[:, None]
        angles = places * shape.theta ** (-half / shape.head_dim)
        angles = torch.cat((angles, angles), -1)[None, :, None]
        self.cos = nn.Buffer(angles.cos().bfloat16())
        self.sin = nn.Buffer(angles.sin().bfloat16())

    def forward(self, ids, targets):
        length = ids.shape[1]
        with operator("embedding"):
            x = self.embedding(ids)
            if self.gpt2:
                x = x + self.places(torch.arange(length, device=ids.device))
        extra = () if self.gpt2 else (self.cos[:, :length], self.sin[:, :length])
        for block in self.blocks:
            if self.recompute:
                x = checkpoint(block, x, *extra, use_reentrant=False, preserve_rng_state=False)
            else:
                x = block(x, *extra)
        with operator("final_norm"):
            x = self.norm(x)
        with operator("lm_head"):
            logits = self.head(x)
        with operator("loss"):
            return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))


def build(shape, case):
    with torch.device("cuda"):
        model = Decoder(shape, case.ops, case.checkpoint == 1)
    return model.bfloat16() if case.dtype == "bf16" else model


def precision(case):
    if case.dtype == "autocast_bf16":
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return nullcontext()
