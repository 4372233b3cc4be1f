"""Builds matrix products: `x @ weight.T` as a linear layer calls it, and batched products."""

import torch

from .data import DTYPES


def gemm(case, data):
    m, n, k = case["m"], case["n"], case["k"]
    if case.dtype == "fp8":
        return _fp8(m, n, k, data)
    torch.backends.cuda.matmul.allow_tf32 = case.dtype == "tf32"
    dtype = DTYPES[case.dtype]
    x, weight = data.normal((m, k), dtype), data.normal((n, k), dtype)
    out, transposed = data.output((m, n), dtype), weight.t()
    return lambda: torch.mm(x, transposed, out=out)


def _fp8(m, n, k, data):
    kind = torch.float8_e4m3fn
    x = data.normal((m, k), torch.bfloat16).to(kind)
    weight = data.normal((n, k), torch.bfloat16).to(kind)
    transposed, scale = weight.t(), torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(x, transposed, scale_a=scale, scale_b=scale,
                                    out_dtype=torch.bfloat16, use_fast_accum=True)


def bmm(case, data):
    batch, m, n, k = case["batch"], case["m"], case["n"], case["k"]
    dtype = DTYPES[case.dtype]
    a, b = data.normal((batch, m, k), dtype), data.normal((batch, k, n), dtype)
    out = data.output((batch, m, n), dtype)
    return lambda: torch.bmm(a, b, out=out)
