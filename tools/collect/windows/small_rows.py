#!/usr/bin/env python3
r"""Rows of h200_small.csv that are one kernel of a family, in the words of src/measure/measurement.h.

    python3 tools/collect/windows/small_rows.py h200_small.csv h200_small_kernels.csv \
        > h200_small_rows.csv

Of operators that are several kernels, those that a chain of their own was not measured of come from
the table of profiled kernels, whose sum is 1.02 times the chain's time in the median (tenth and
ninetieth percentile 0.95 and 1.07).

Kernel sources say how PyTorch walks the tensors (src/kernel/torch_walk.h): torch (contiguous,
vectorized), torch_strided, torch_widen and torch_strided_widen (bf16 to fp32), torch_narrow (fp32
to bf16), torch_cat, torch_index.
"""

import csv
import gzip
import io
import sys

HEAD = ["gpu", "source", "engine", "engine_version", "kernel_source", "family", "dtype", "dims",
        "runtime", "warmth", "latency_us"]
SOURCE = "tilecast-h200-windows-2026-11"
VERSION = "2.11.0+cu130"
DIM = 128
SHORTEST_US = 0.5  # less is an empty graph: PyTorch found nothing to do


def pointwise(source, op, inputs, scale):
    return lambda t, h: (source, "elementwise", "bf16",
                         f"elements={int(t * h * scale)};inputs={inputs};op={op}")


def copy(source, scale=1.0):
    return lambda t, h: (source, "copy", "bf16", f"elements={int(t * h * scale)}")


def rowwise(family, dtype="bf16", backward=False):
    return lambda t, h: ("torch", family, dtype,
                         f"rows={t};cols={h}" + (";backward=true" if backward else ""))


def is_plain(op, t, h):
    """Whether the strides of a case come to nothing, so that the vectorized kernel runs."""
    return t == 1 and op in ("add_slices", "add_bias", "slice_rows", "copy_unaligned", "heads_first",
                             "transpose_2d", "copy_every_second") or h == DIM


# Bytes that broadcasting reads once count for nothing: such an operand is no input.
CASES = {
    "add": pointwise("torch", "add", 2, 1), "scale": pointwise("torch", "mul", 1, 1),
    "silu": pointwise("torch", "silu", 1, 3.5), "mul": pointwise("torch", "mul", 2, 3.5),
    "gelu": pointwise("torch", "gelu", 1, 4),
    "add_slices": pointwise("torch_strided", "add", 2, 1),
    "add_bias": pointwise("torch_strided", "add", 1, 1),
    "mul_row": pointwise("torch_strided", "mul", 1, 1),
    "half_neg": pointwise("torch_strided", "mul", 1, 0.5),
    "half_mul": pointwise("torch_strided", "mul", 1, 0.5),
    "head_mul": pointwise("torch_strided", "mul", 1, 1),
    "slice_rows": copy("torch_strided"), "copy_unaligned": copy("torch_strided"),
    "heads_first": copy("torch_strided"), "clone": copy("cuda_memcpy"),
    "cast_to_fp32": copy("torch_widen"), "cast_to_bf16": copy("torch_narrow"),
    "cat_halves": copy("torch_cat"), "cat_two": copy("torch", 2.0),
    "kv_index_copy_prefill": copy("torch_index", 0.25),
    "transpose_2d": lambda t, h: ("torch", "copy", "bf16", f"rows={t};cols={h};transpose=true"),
    "layernorm": rowwise("layernorm"), "layernorm_fp32": rowwise("layernorm", "fp32"),
    "rmsnorm": rowwise("rmsnorm"), "softmax": rowwise("softmax"),
    "softmax_fp32": rowwise("softmax", "fp32"), "mean": rowwise("reduction", "fp32"),
    "layernorm_bwd": rowwise("layernorm", backward=True),
    "rmsnorm_bwd": rowwise("rmsnorm", backward=True),
    "cross_entropy_bwd": rowwise("cross_entropy", "fp32", backward=True),
    "embedding": lambda t, h: ("torch", "embedding", "bf16", f"tokens={t};vocab=128256;cols={h}"),
}


def operator(row):
    t, h = map(int, row["dims"].split("x"))
    if row["op"] not in CASES or is_plain(row["op"], t, h):
        return None
    return CASES[row["op"]](t, h)


def stream(row):
    n, op = int(row["dims"]), row["op"]
    if op == "copy":
        return "cuda_memcpy", "copy", row["dtype"], f"elements={n}"
    name, inputs = {"add": ("add", 2), "scale": ("mul", 1), "gelu": ("gelu", 1)}[op]
    return "torch", "elementwise", row["dtype"], f"elements={n};inputs={inputs};op={name}"


def product(row):
    sides = row["dims"].split("x")
    if row["op"] == "bmm":
        names, family, extra = ("batch", "m", "n", "k"), "bmm", ";layout=nn"
    elif row["op"] in ("linear", "unaligned"):
        names, family, extra = ("m", "n", "k"), "gemm", ""
    else:
        return None
    dims = ";".join(f"{name}={side}" for name, side in zip(names, sides)) + extra
    return "cublas", family, row["dtype"], dims


def translated(row):
    reader = {"products": product, "streams": stream}.get(row["part"])
    if reader is None and row["part"] not in ("compiled", "sampling"):
        reader = operator
    found = reader(row) if reader and float(row["graph_us"]) >= SHORTEST_US else None
    if found is None:
        return None
    source, family, dtype, dims = found
    return ["H200-SXM", SOURCE, "pytorch", VERSION, source, family, dtype, dims, "graph",
            row["warmth"], row["graph_us"]]


# operator -> (part of a kernel's name, its row)
STRIDED_PAIRS = "elementwise_kernel<128, 2, gpu_kernel_impl_nocast<BinaryFunctor"
PIECES = [
    ("rope_halves_fp32", STRIDED_PAIRS, "fp32", pointwise("torch_strided", "mul", 1, 0.5)),
    ("rmsnorm_hf", STRIDED_PAIRS, "fp32", pointwise("torch_strided", "mul", 1, 1)),
    ("rmsnorm_hf", "pow_tensor_scalar", "fp32", pointwise("torch", "square", 1, 1)),
    ("gelu_new_hf", "pow_tensor_scalar", "bf16", pointwise("torch", "square", 1, 4)),
    ("gelu_new_hf", "tanh_kernel", "bf16", pointwise("torch", "tanh", 1, 4)),
    ("rope_halves_fp32", "elementwise_kernel<128, 4, gpu_kernel_impl<direct_copy", "bf16",
     copy("torch_strided_widen")),
    ("silu_mul_packed", "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<silu", "bf16",
     pointwise("torch_strided", "silu", 1, 3.5)),
    ("silu_mul_packed", "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<BinaryFunctor", "bf16",
     pointwise("torch_strided", "mul", 2, 3.5)),
]


def pieces(table):
    """One row for each piece and size: the mean of its kernels there."""
    found = {}
    for row in table:
        for op, part, dtype, case in PIECES:
            if row["op"] == op and part in row["kernel"]:
                found.setdefault((row["dims"], op, part, dtype), (case, []))[1].append(float(row["us"]))
    for (dims, _, _, dtype), (case, times) in found.items():
        source, family, _, text = case(*map(int, dims.split("x")))
        yield ["H200-SXM", SOURCE, "pytorch", VERSION, source, family, dtype, text, "graph", "warm",
               f"{sum(times) / len(times):.4f}"]


def opened(path):
    return io.TextIOWrapper(gzip.open(path)) if path.endswith(".gz") else open(path, newline="")


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(HEAD)
    for path in sys.argv[1:]:
        with opened(path) as table:
            rows = csv.DictReader(table)
            out.writerows(pieces(rows) if "kernel" in rows.fieldnames else
                          filter(None, map(translated, rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
