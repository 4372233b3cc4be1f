#!/usr/bin/env python3
"""Which kernels cuBLAS takes for fp32 products on the card at hand: names, grids and times, by PyTorch's profiler.

    tools/plans/collect_cublas_fp32.py -o choices.csv [--linear 5000] [--batched 2500]

Shapes are drawn from a seed: linear layers without a bias and with one (which takes another way through the library), and
batched products whose second operand is as it is or transposed, as attention reads its keys. TF32 stays off. A row is one
product; `reductions` counts the kernels that add up its parts, and `us` is the time of all its kernels together.
data/measurements/h200_cublas_fp32.csv.gz holds two draws; tools/plans/fit_cublas_fp32.py fits plans to it.

    tools/plans/collect_cublas_fp32.py --rows choices.csv --gpu H200-SXM -o rows.csv

writes a table's products without a bias, of half a GFLOP and more, in the words of src/measure/measurement.h, to train on.
"""
import argparse
import collections
import csv
import json
import math
import random
import re

try:
    import torch
except ImportError:  # --rows needs none
    torch = None

COLUMNS = ["op", "bias", "second", "B", "M", "N", "K", "kernel", "grid_x", "grid_y", "grid_z", "block", "registers", "shared",
           "reductions", "us"]
MOST_FLOP, MOST_ELEMENTS = 4e11, 1 << 28
LEAST_FLOP = 5e8
SHAPES_A_PROFILE = 250

Shape = collections.namedtuple("Shape", "op bias second b m n k")  # n is the reduction, as in NeuSight's tables


def side(random_, least, most):
    """Between the two, even in the logarithm: round half of the time, any multiple of four else, odd now and then."""
    x = int(round(math.exp(random_.uniform(math.log(least), math.log(most)))))
    kind = random_.random()
    if kind < 0.5:
        step = max(1, 1 << max(0, x.bit_length() - 3))
        return max(least, x // step * step)
    return max(least, x // 4 * 4) if kind < 0.9 else x


def fits(s):
    sizes = (s.m * s.n, s.n * s.k, s.m * s.k)
    return 2.0 * s.b * s.m * s.n * s.k <= MOST_FLOP and s.b * max(sizes) <= MOST_ELEMENTS


def draw(linear, batched, seed):
    random_ = random.Random(seed)
    shapes = []
    while len(shapes) < linear:
        m, n, k = side(random_, 1, 65536), side(random_, 32, 32768), side(random_, 16, 65536)
        shape = Shape("linear", random_.random() < 0.5, "t", 1, m, n, k)
        if fits(shape):
            shapes.append(shape)
    while len(shapes) < linear + batched:
        b, m = side(random_, 2, 2048), side(random_, 1, 4096)
        n, k = side(random_, 8, 4096), side(random_, 8, 4096)
        shape = Shape("bmm", False, random_.choice("nt"), b, m, n, k)
        if fits(shape):
            shapes.append(shape)
    random_.shuffle(shapes)
    return shapes


def product_of(shape, pool):
    """A call of the product on operands that are cut from one pool."""
    left = pool[:shape.b * shape.m * shape.n].view(shape.b, shape.m, shape.n)
    right = pool[-shape.b * shape.n * shape.k:]
    if shape.op == "linear":
        weight, bias = right.view(shape.k, shape.n), pool[:shape.k] if shape.bias else None
        return lambda: torch.nn.functional.linear(left[0], weight, bias)
    if shape.second == "n":
        right = right.view(shape.b, shape.n, shape.k)
    else:
        right = right.view(shape.b, shape.k, shape.n).transpose(1, 2)
    return lambda: torch.bmm(left, right)


def profiled(shapes, pool, mark):
    """(shape, kernels) of each: a marker's kernel stands between the products of two shapes."""
    calls = [product_of(shape, pool) for shape in shapes]
    for call in calls:
        call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for call in calls:
            mark.erfinv_()
            call()
        torch.cuda.synchronize()
    path = "/tmp/cublas_choices_trace.json"
    profile.export_chrome_trace(path)
    with open(path) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("cat") == "kernel"]
    events.sort(key=lambda e: e["ts"])
    groups = []
    for event in events:
        if "erfinv" in event["name"]:
            groups.append([])
        elif groups:
            groups[-1].append(event)
    assert len(groups) == len(shapes), (len(groups), len(shapes))
    return zip(shapes, groups)


def short_name(kernel):
    """The name without template arguments; what is left has the tile and the way of launching."""
    found = re.search(r"sm80_xmma_gemm\w*?tilesize\w+?_execute_(split_k_)?kernel|cutlass_80_simt_sgemm_\w+", kernel)
    if found:
        return found.group(0)
    return "gemvx_kernel" if "gemvx" in kernel else re.sub(r"[<(].*", "", kernel.replace("void ", ""))


def row_of(shape, kernels):
    products = [e for e in kernels if "splitKreduce" not in e["name"]]
    main = max(products or kernels, key=lambda e: e["dur"])
    details = main["args"]
    return [shape.op, int(shape.bias), shape.second, shape.b, shape.m, shape.n, shape.k, short_name(main["name"]),
            *details["grid"],
            "x".join(map(str, details["block"])), details.get("registers per thread", ""), details.get("shared memory", ""),
            len(kernels) - 1, round(sum(e["dur"] for e in kernels), 3)]


def write_rows(table, gpu, out):
    """Small products are left out: a profiler's times lack the gap that a graph has before each kernel."""
    with open(table) as read, open(out, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow("gpu source engine engine_version kernel_source family dtype dims runtime warmth run latency_us".split())
        for row in csv.DictReader(read):
            if row["bias"] == "1" or 2.0 * int(row["B"]) * int(row["M"]) * int(row["N"]) * int(row["K"]) < LEAST_FLOP:
                continue
            dims = f"m={row['M']};n={row['K']};k={row['N']}"
            family = "gemm" if row["op"] == "linear" else "bmm"
            if family == "bmm":
                dims = f"batch={row['B']};{dims};layout={'tn' if row['second'] == 't' else 'nn'}"
            rows.writerow([gpu, "tilecast-h200-2026-11", "pytorch", "2.11.0", "cublas", family, "fp32", dims, "graph", "warm",
                           "burst", row["us"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--rows", help="a table of this script's to write anew, in place of measuring")
    parser.add_argument("--gpu", default="H200-SXM", help="with --rows: the card it was measured on")
    parser.add_argument("--linear", type=int, default=5000)
    parser.add_argument("--batched", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.rows:
        write_rows(options.rows, options.gpu, options.out)
        return
    torch.backends.cuda.matmul.allow_tf32 = False
    pool = torch.randn(2 * MOST_ELEMENTS, device="cuda")
    mark = torch.zeros(32, device="cuda")
    shapes = draw(options.linear, options.batched, options.seed)
    with open(options.out, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for begin in range(0, len(shapes), SHAPES_A_PROFILE):
            for shape, kernels in profiled(shapes[begin:begin + SHAPES_A_PROFILE], pool, mark):
                if kernels:
                    table.writerow(row_of(shape, kernels))
            file.flush()
            print(begin, flush=True)
    print(torch.__version__, torch.version.cuda, torch.cuda.get_device_name(), flush=True)


if __name__ == "__main__":
    main()
