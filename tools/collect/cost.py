"""The least work a case must do: bytes through device memory and floating-point operations.

Used to choose how many copies of a kernel go into one CUDA graph and how many input sets
make the data cold, and by check.py to find measurements faster than the chip can be.
"""

from dataclasses import dataclass

from .case import ELEMENT_BYTES

COLD_BYTES_PER_SECOND = 4.8e12  # H200 data sheet
TENSOR_FLOPS_PER_SECOND = {  # dense peaks at the 1980 MHz boost clock
    "fp8": 2.14e15, "bf16": 1.07e15, "fp16": 1.07e15, "tf32": 5.35e14, "fp32": 6.7e13}


@dataclass(frozen=True)
class Cost:
    bytes: float
    flops: float = 0.0  # only those of matrix products


def of(case):
    return _COSTS[case.family](case, ELEMENT_BYTES[case.dtype])


def floor_seconds(case):
    """No cold run of the case can take less."""
    cost = of(case)
    return max(cost.bytes / COLD_BYTES_PER_SECOND,
               cost.flops / TENSOR_FLOPS_PER_SECOND[case.dtype])


def guess_seconds(case):
    """A rough expected time, for choosing repeat counts only."""
    cost = of(case)
    return max(2.2e-6, cost.bytes / 3.5e12 + 0.5e-6,
               1.7 * cost.flops / TENSOR_FLOPS_PER_SECOND[case.dtype])


def _gemm(case, size):
    batch, m, n, k = case.get("batch", 1), case["m"], case["n"], case["k"]
    out_size = 2 if case.dtype == "fp8" else size
    return Cost(batch * ((m * k + n * k) * size + m * n * out_size), 2.0 * batch * m * n * k)


def _attention(case, size):
    batch, q_len, kv_len = case["batch"], case["q-len"], case["kv-len"]
    width, kv_width = case["heads"] * case["head-dim"], case["kv-heads"] * case["head-dim"]
    q_bytes = batch * q_len * width * size
    kv_bytes = batch * kv_len * kv_width * size
    flops = 4.0 * batch * q_len * kv_len * width
    if case["causal"]:
        flops *= 0.5
    if case.backward:
        return Cost(4 * q_bytes + 4 * kv_bytes, 2.5 * flops)
    return Cost(2 * q_bytes + 2 * kv_bytes, flops)


def _rowwise(case, size):
    """Norms and softmax: forward reads and writes once, backward reads two tensors."""
    streams = 3 if case.backward else 2
    return Cost(streams * case["rows"] * case["cols"] * size)


def _elementwise(case, size):
    return Cost(case["elements"] * (case["inputs"] + 1) * size)


def _copy(case, size):
    out_size = 4 if case.get("op") == "cast_fp32" else size
    return Cost(case["elements"] * (size + out_size))


def _transpose(case, size):
    return Cost(2 * case["rows"] * case["cols"] * size)


def _reduction(case, size):
    return Cost(case["rows"] * case["cols"] * size)


def _gated(case, size):
    return Cost(3 * case["rows"] * case["cols"] * size)


def _rope(case, size):
    tokens, half = case["tokens"], case["head-dim"] // 2
    return Cost(2 * tokens * case["heads"] * 2 * half * size + 2 * tokens * half * 4)


def _embedding(case, size):
    moved = case["tokens"] * case["cols"] * size
    if case.backward:  # the dense gradient of the table is zeroed first
        return Cost(moved + case["vocab"] * case["cols"] * size)
    return Cost(moved + moved * min(1.0, case["vocab"] / max(1, case["tokens"])))


def _cross_entropy(case, size):
    streams = 2 if case.backward else 1
    return Cost(streams * case["rows"] * case["cols"] * size)


def _optimizer(case, size):
    kind = case["kind"]
    streams = 7 if kind.startswith("adam") else 5 if "momentum" in kind else 3
    return Cost(streams * case["params"] * size)


_COSTS = {
    "gemm": _gemm, "bmm": _gemm,
    "attention_prefill": _attention, "attention_decode": _attention,
    "layernorm": _rowwise, "rmsnorm": _rowwise, "softmax": _rowwise,
    "elementwise": _elementwise, "copy": _copy, "transpose": _transpose,
    "reduction": _reduction, "gated_activation": _gated, "rope": _rope,
    "embedding": _embedding, "cross_entropy": _cross_entropy, "optimizer": _optimizer,
}
