"""Builds memory-bound kernels: elementwise, norms, softmax, copies, reductions, rotary."""

import torch
import torch.nn.functional as F

from . import triton_kernels
from .data import DTYPES

UNARY = {"gelu": F.gelu, "silu": F.silu, "relu": torch.relu, "tanh": torch.tanh,
         "pow": lambda x: torch.pow(x, 2.5)}
BINARY = {"add": torch.add, "mul": torch.mul, "div": torch.div}


def elementwise(case, data):
    dtype, shape, op = DTYPES[case.dtype], (case["elements"],), case["op"]
    a = data.normal(shape, dtype)
    if op in BINARY:
        b, out, function = data.normal(shape, dtype), data.output(shape, dtype), BINARY[op]
        return lambda: function(a, b, out=out)
    if op == "pow":  # a negative number has no power 2.5
        a = torch.abs(a)
    function = UNARY[op]
    return lambda: function(a)


def rowwise(case, data):
    """layernorm, rmsnorm or softmax over the last dimension, forward or backward."""
    dtype, shape = DTYPES[case.dtype], (case["rows"], case["cols"])
    x = data.normal(shape, dtype)
    scale = data.normal((shape[1],), dtype)
    shift = data.normal((shape[1],), dtype)
    wanted = {"layernorm": (x, scale, shift), "rmsnorm": (x, scale), "softmax": (x,)}
    forward = {
        "layernorm": lambda: F.layer_norm(x, (shape[1],), scale, shift),
        "rmsnorm": lambda: F.rms_norm(x, (shape[1],), scale, 1e-6),
        "softmax": lambda: torch.softmax(x, -1),
    }[case.family]
    if not case.backward:
        return forward
    inputs = wanted[case.family]
    for tensor in inputs:
        tensor.requires_grad_()
    out, grad = forward(), data.normal(shape, dtype)
    return lambda: torch.autograd.grad(out, inputs, grad, retain_graph=True)


def copy(case, data):
    source = data.normal((case["elements"],), DTYPES[case.dtype])
    target_type = torch.float32 if case.get("op") == "cast_fp32" else DTYPES[case.dtype]
    target = data.output((case["elements"],), target_type)
    return lambda: target.copy_(source)


def transpose(case, data):
    rows, cols, dtype = case["rows"], case["cols"], DTYPES[case.dtype]
    turned = data.normal((rows, cols), dtype).t()
    target = data.output((cols, rows), dtype)
    return lambda: target.copy_(turned)


def reduction(case, data):
    x = data.normal((case["rows"], case["cols"]), DTYPES[case.dtype])
    axis = case.get("axis", -1)
    if case.get("op") == "max":
        return lambda: torch.amax(x, axis)
    return lambda: torch.sum(x, axis)


def gated_activation(case, data):
    dtype, shape = DTYPES[case.dtype], (case["rows"], case["cols"])
    a, b, out = data.normal(shape, dtype), data.normal(shape, dtype), data.output(shape, dtype)
    if case.kernel_source == "triton_fused":
        return lambda: triton_kernels.silu_mul(a, b, out)
    return lambda: torch.mul(F.silu(a), b, out=out)


def rope(case, data):
    tokens, heads, head_dim = case["tokens"], case["heads"], case["head-dim"]
    dtype = DTYPES[case.dtype]
    shape = (tokens, heads, head_dim)
    x, out = data.normal(shape, dtype), data.output(shape, dtype)
    cos = data.normal((tokens, head_dim // 2), torch.float32)
    sin = data.normal((tokens, head_dim // 2), torch.float32)
    return lambda: triton_kernels.rope(x, cos, sin, out)
