"""Linear layers for training steps: fp8 products after torchao's recipes, and adapters of low rank.

fp8_tensor: one current scale per tensor, e4m3 forward, e5m2 for gradients, fast accumulation in the
forward product alone. fp8_row: a scale per row of either operand, powers of two, e4m3 throughout;
without fast accumulation the product runs unscaled and is scaled afterwards. fp8_row_gw_hp: rows forward
and in the input gradient (its weight has one scale), the weight gradient in bf16. Inputs and weights are
kept for the backward pass in bf16 and cast again there.
"""

import torch
import torch.nn.functional as F
from torch import nn

from .fp8_ops import E4M3, E5M2, narrow, row, scale_of, turned


def tensor_cast(x, kind):
    scale = scale_of(torch.max(torch.abs(x)), kind)
    return narrow(x, scale, kind), scale.reciprocal()


def scaled(a, b, scale_a, scale_b, fast):
    """a [m, k] @ b [n, k].T; both contiguous."""
    return torch._scaled_mm(a, b.t(), scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast)


def row_scaled_later(a, b, scale_a, scale_b):
    one = torch.ones((), device=a.device)
    out = scaled(a, b, one, one, False)
    out *= scale_a * scale_b.t()
    return out


class TensorProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        a, scale_a = tensor_cast(x, E4M3)
        b, scale_b = tensor_cast(weight, E4M3)
        return scaled(a, b, scale_a, scale_b, True)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        g, scale_g = tensor_cast(grad, E5M2)
        w, scale_w = tensor_cast(weight, E4M3)
        grad_x = scaled(g, turned(w), scale_g, scale_w, False)
        a, scale_a = tensor_cast(x, E4M3)
        return grad_x, scaled(turned(g), turned(a), scale_g, scale_a, False)


class RowProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        a, scale_a = row(x, None, E4M3)
        b, scale_b = row(weight, None, E4M3)
        return scaled(a, b, scale_a, scale_b.t(), True)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        g, scale_g = row(grad, None, E4M3)
        w, scale_w = _columns(weight)
        grad_x = row_scaled_later(g, w, scale_g, scale_w)
        g, scale_g = _columns(grad)
        a, scale_a = _columns(x)
        return grad_x, row_scaled_later(g, a, scale_g, scale_a)


def _columns(x):
    """A scale per column; values transposed, scales [columns, 1]."""
    scale = scale_of(torch.amax(torch.abs(x), 0, keepdim=True), E4M3, True)
    return turned(narrow(x, scale, E4M3)), scale.reciprocal().t()


class RowProductWideWeightGrad(RowProduct):
    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        g, scale_g = row(grad, None, E4M3)
        w, scale_w = tensor_cast(weight, E4M3)
        grad_x = row_scaled_later(g, turned(w), scale_g, scale_w.expand(w.shape[1], 1))
        return grad_x, grad.t() @ x


RECIPES = {"fp8_tensor": TensorProduct, "fp8_row": RowProduct, "fp8_row_gw_hp": RowProductWideWeightGrad}


class Float8Linear(nn.Module):
    def __init__(self, linear, recipe):
        super().__init__()
        self.weight, self.recipe = linear.weight, recipe

    def forward(self, x):
        out = RECIPES[self.recipe].apply(x.reshape(-1, x.shape[-1]), self.weight)
        return out.view(*x.shape[:-1], -1)


class LoraLinear(nn.Module):
    """A frozen layer and an adapter in bf16: y = W x + 2 B A x."""

    def __init__(self, linear, rank):
        super().__init__()
        self.weight = linear.weight
        outputs, inputs = linear.weight.shape
        like = dict(device=linear.weight.device, dtype=linear.weight.dtype)
        self.down = nn.Parameter(torch.randn(rank, inputs, **like) * 0.02)
        self.up = nn.Parameter(torch.zeros(outputs, rank, **like))

    def forward(self, x):
        return F.linear(x, self.weight) + 2.0 * F.linear(F.linear(x, self.down), self.up)


LINEARS = ("q", "k", "v", "out", "gate", "up", "down")


def convert(block, precision, rank=0, targets=LINEARS):
    """Replaces the linear layers of a block in place."""
    for name in LINEARS:
        linear = getattr(block, name)
        if rank and name in targets:
            setattr(block, name, LoraLinear(linear, rank))
        elif precision in RECIPES:
            setattr(block, name, Float8Linear(linear, precision))
