#!/usr/bin/env python3
"""Single kernels of PyTorch at shapes drawn at random, in windows of 20 ms, in the form that Tilecast reads (src/measure/measurement.h).

    python3 tools/collect/windows/draw.py --out h200_draw.csv --seed 11 --budget-seconds 300

A draw that no choice was based on says how forecasts of single kernels err; a table of another seed is another draw.
"""

import argparse
import csv
import math
import os
import random
import sys
from dataclasses import dataclass
from typing import Callable

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.windows import attention, attention_form, regimes, small, small_rows  # noqa: E402
from collect.windows.rows import Deadline, short  # noqa: E402

COLUMNS = ["gpu", "source", "engine", "engine_version", "kernel_source", "family", "dtype", "dims",
           "runtime", "warmth", "latency_us"]
LINEAR = {"bf16": 160, "fp8": 90, "tf32": 70, "fp32": 70, "fp16": 30}
BATCHED = {"bf16": 80, "fp32": 60, "tf32": 20}
ATTENTION = {("flash", "forward"): 60, ("cudnn", "forward"): 60, ("flash", "backward"): 40,
             ("cudnn", "backward"): 40, ("efficient", "forward"): 15, ("efficient", "backward"): 15,
             ("default", "forward"): 30}
GROUPS = {"norms": 16, "pointwise": 14, "copies": 10, "embeddings": 10, "losses": 6}
STREAMS = 40
MOST_OPERATIONS = {"bf16": 4e12, "fp16": 4e12, "fp8": 8e12, "tf32": 1.2e12, "fp32": 3e11}
MOST_NUMBERS = 6e8  # of a tensor


@dataclass(frozen=True)
class Case:
    text: str
    form: tuple  # kernel source, family, dtype, dims, warmth
    calls: Callable  # builds the calls


def even(draw, low, high):
    """A whole number, even in the logarithm."""
    return int(round(math.exp(draw.uniform(math.log(low), math.log(high)))))


def side(draw, low, high):
    """A side of a product: half of them multiples of 128, most others of 8 or 16, a few odd."""
    step = draw.choice((128, 128, 128, 64, 16, 8, 1))
    return max(step, even(draw, low, high) // step * step)


def linear(draw, dtype):
    while True:
        m = draw.choice((even(draw, 1, 20000), side(draw, 16, 20000)))
        n, k = (draw.choice(regimes.LAYERS) if draw.random() < 0.3 else
                (side(draw, 128, 40000), side(draw, 64, 20000)))
        if dtype == "fp8":
            m, n, k = (max(16, each // 16 * 16) for each in (m, n, k))
        if 2 * m * n * k < MOST_OPERATIONS[dtype] and max(m * n, n * k, m * k) < MOST_NUMBERS:
            break
    case = regimes.Case("gemm", (m, n, k), dtype)
    item = regimes.ITEM[dtype]
    sets = max(1, min(8, int(3e8 / (n * k * item)))) if m < n // 4 else 1  # as regimes.product() takes turns
    return Case(f"linear {dtype} {m}x{n}x{k}",
                ("cublas", "gemm", "fp8_static" if dtype == "fp8" else dtype, f"m={m};n={n};k={k}",
                 f"warm;weight-copies={sets}" if sets > 1 else "warm"),
                lambda: regimes.build(case))


def batched(draw, dtype):
    while True:
        b, head = draw.choice((even(draw, 2, 800), draw.choice((8, 12, 16, 32, 64, 128)))), draw.choice((64, 64, 80, 128))
        length = draw.choice((even(draw, 1, 4096), side(draw, 32, 4096)))
        other = length if draw.random() < 0.6 else side(draw, 16, 4096)
        m, n, k = draw.choice(((length, other, head), (length, head, other), (length, other, side(draw, 16, 1024))))
        if b * max(m * n, n * k, m * k) < MOST_NUMBERS and 2 * b * m * n * k < MOST_OPERATIONS[dtype] / 2:
            break
    item = lambda: small.product_item("bmm", dtype, (b, m, n, k)).calls
    return Case(f"bmm {dtype} {b}x{m}x{n}x{k}",
                ("cublas", "bmm", dtype, f"batch={b};m={m};n={n};k={k};layout=nn", "warm"), item)


def attended(draw, backend, direction):
    dim = draw.choice((64, 64, 128, 128, 128, 80, 96, 72, 192, 256))
    length = draw.choice((even(draw, 64, 32768), 1 << draw.randint(7, 15)))
    tokens = even(draw, length, max(length, 32768))
    heads = draw.choice((8, 12, 16, 24, 32, 40))
    shared = draw.choice((1, 1, 4, 8)) if heads % 8 == 0 and backend != "efficient" else 1
    if backend == "default" and draw.random() < 0.7:  # one token after others: which kernel ran is not known
        return None
    mask = draw.choice(("causal", "causal", "full"))
    case = attention.Case(backend, direction, max(1, tokens // length), length, length, heads, heads // shared, dim, mask)
    family, dims = attention_form.shape_of({name: str(value) for name, value in case.values.items()})
    return Case(f"attention {case}",
                (attention_form.SOURCES[backend], family, "bf16", ";".join(f"{name}={value}" for name, value in dims.items()), "warm"),
                lambda: [attention.build(case)])


def operators(draw, group):
    """Every operator of a group that is one kernel of a family, at one size."""
    from collect.windows import small_ops
    if group == "losses":
        tokens, width = even(draw, 64, 8192), draw.choice((32000, 50257, 128256, 151936))
    else:
        tokens, width = even(draw, 1, 16384), 128 * even(draw, 4, 96)
    found = small_ops.GROUPS[group](tokens, width)
    for name, call in found.items():
        form = small_rows.operator({"op": name, "dims": f"{tokens}x{width}"})
        if form:
            yield Case(f"{name} {tokens}x{width}", (*form, "warm"), lambda call=call: [call])


def streamed(draw):
    import torch
    op, inputs, function = draw.choice((("add", 2, torch.add), ("mul", 1, lambda a: a * 0.5),
                                        ("gelu", 1, torch.nn.functional.gelu), ("silu", 1, torch.nn.functional.silu)))
    dtype, kind = draw.choice((("bf16", torch.bfloat16), ("fp32", torch.float32)))
    count = even(draw, 2e4, 2e8)

    def calls():
        data = [torch.randn(count, device="cuda").to(kind) for _ in range(inputs)]
        return [lambda: function(*data)]
    return Case(f"{op} {dtype} {count}", ("torch", "elementwise", dtype, f"elements={count};inputs={inputs};op={op}", "warm"), calls)


def plan(seed):
    """Batches of cases, in a random order, so that a draw cut short is a draw as well."""
    draw = random.Random(seed)
    batches = [lambda d=dtype, s=draw.random(): [linear(random.Random(s), d)] for dtype, number in LINEAR.items() for _ in range(number)]
    batches += [lambda d=dtype, s=draw.random(): [batched(random.Random(s), d)] for dtype, number in BATCHED.items() for _ in range(number)]
    batches += [lambda w=which, s=draw.random(): [case for case in [attended(random.Random(s), *w)] if case] for which, number in ATTENTION.items() for _ in range(number)]
    batches += [lambda g=group, s=draw.random(): list(operators(random.Random(s), g)) for group, number in GROUPS.items() for _ in range(number)]
    batches += [lambda s=draw.random(): [streamed(random.Random(s))] for _ in range(STREAMS)]
    draw.shuffle(batches)
    return batches


def measured(bench, case):
    """Microseconds a launch, in windows of 20 ms after a pause."""
    load = bench.load(case.calls())
    try:
        return bench.window(load, 2, 0.02, 2000.0).mean_us
    finally:
        bench.drop(load)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="h200_draw.csv")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--gpu", default="H200-SXM")
    parser.add_argument("--source", default="tilecast-h200-draw", help="name of the table; of one that is to judge, another")
    parser.add_argument("--budget-seconds", type=float, default=300)
    options = parser.parse_args()
    import torch
    from collect.windows.bench import Bench
    deadline, bench, count = Deadline(options.budget_seconds), Bench(), 0
    with open(options.out, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(COLUMNS)
        for number, batch in enumerate(plan(options.seed)):
            if deadline.passed():
                print(f"draw: time is up after {number} batches")
                break
            try:
                cases = batch()
            except Exception as error:
                print("FAILED to build", short(error), flush=True)
                continue
            for case in cases:
                try:
                    us = measured(bench, case)
                except Exception as error:
                    print("FAILED", case.text, short(error), flush=True)
                    torch.cuda.synchronize()
                    continue
                if us < small_rows.SHORTEST_US:
                    continue
                source, family, dtype, dims, warmth = case.form
                out.writerow([options.gpu, options.source, "pytorch", torch.__version__, source, family, dtype, dims, "graph", warmth, f"{us:.4f}"])
                count += 1
            file.flush()
            if torch.cuda.memory_reserved() > 60e9:
                torch.cuda.empty_cache()
    print(f"draw: {count} rows in {deadline.elapsed():.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
