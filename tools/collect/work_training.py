"""Builds training-side kernels: embedding, cross-entropy and optimizer steps."""

import torch
import torch.nn.functional as F

from .data import DTYPES

LARGEST_PARAMETER = 1 << 24  # optimizer parameters are split into tensors of at most this size


def embedding(case, data):
    dtype, tokens, cols = DTYPES[case.dtype], case["tokens"], case["cols"]
    table = data.shared("table", lambda: data.normal((case["vocab"], cols), dtype))
    ids = data.integers(case["vocab"], (tokens,))
    if not case.backward:
        return lambda: F.embedding(ids, table)
    table.requires_grad_()
    out, grad = F.embedding(ids, table), data.normal((tokens, cols), dtype)
    return lambda: torch.autograd.grad(out, table, grad, retain_graph=True)


def cross_entropy(case, data):
    logits = data.normal((case["rows"], case["cols"]), DTYPES[case.dtype])
    target = data.integers(case["cols"], (case["rows"],))
    if not case.backward:
        return lambda: F.cross_entropy(logits, target)
    logits.requires_grad_()
    loss = F.cross_entropy(logits, target)
    return lambda: torch.autograd.grad(loss, logits, retain_graph=True)


def optimizer(case, data):
    params, left = [], case["params"]
    while left > 0:
        size = min(left, LARGEST_PARAMETER)
        param = torch.randn(size, dtype=DTYPES[case.dtype], device="cuda", requires_grad=True)
        param.grad = data.normal((size,), DTYPES[case.dtype])
        params.append(param)
        left -= size
    return _make_optimizer(case["kind"], params, case.runtime == "graph").step


def _make_optimizer(kind, params, in_graph):
    implementation = {"fused": {"fused": True}, "foreach": {"foreach": True},
                      "single": {"foreach": False}}[kind.rsplit("_", 1)[1]]
    if kind.startswith("adam"):
        maker = torch.optim.AdamW if kind.startswith("adamw") else torch.optim.Adam
        return maker(params, lr=1e-5, capturable=in_graph, **implementation)
    momentum = 0.9 if "momentum" in kind else 0.0
    return torch.optim.SGD(params, lr=1e-5, momentum=momentum, **implementation)
