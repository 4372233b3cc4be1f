#!/usr/bin/env python3
"""Small kernels in PyTorch: chains of one operator in a CUDA graph, the host's pace, names.

    python3 tools/collect/windows/small.py --out results --budget-seconds 260

Parts: operators (by group, tokens and hidden size), streams (elementwise of 0.1 to 200 MB, warm
and cold), products (fp32, batched, unaligned), compiled (torch.compile of a few operators).
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.windows.rows import Deadline, Rows, card_name, short  # noqa: E402

COLUMNS = ["card", "part", "op", "dims", "dtype", "warmth", "launches", "graph_us",
           "eager_us", "sm_mhz", "cycle_mhz", "watts"]
KERNEL_COLUMNS = ["card", "part", "op", "dims", "dtype", "index", "kernel", "grid", "block", "us"]
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384)
HIDDEN = (1024, 4096, 8192)
STREAM_MB = (0.1, 0.2, 0.5, 1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200)
COLD_BYTES = 300e6


@dataclass
class Item:
    part: str
    op: str
    dims: str
    dtype: str
    calls: list
    warmth: str = "warm"


def operator_sizes(smoke):
    """(group, tokens, width)"""
    if smoke:
        found = [(group, 64, 1024) for group in ("norms", "pointwise", "copies", "rotations",
                                                 "cache_writes", "embeddings")]
        return found + [("sampling", 8, 32000), ("losses", 512, 32000)]
    found = [(group, tokens, hidden) for tokens in TOKENS for hidden in HIDDEN
             for group in ("norms", "pointwise", "copies", "rotations", "cache_writes",
                           "embeddings")]
    found += [("norms", tokens, 2048) for tokens in TOKENS]
    found += [("sampling", rows, vocab) for rows in (1, 8, 64, 256) for vocab in (32000, 128256)]
    found += [("losses", rows, vocab) for rows in (512, 2048, 8192) for vocab in (32000, 128256)]
    return found


def operators(smoke):
    from collect.windows import small_ops
    for group, tokens, width in operator_sizes(smoke):
        found = small_ops.GROUPS[group](tokens, width)
        yield [Item(group, op, f"{tokens}x{width}", "bf16", [call]) for op, call in found.items()]


def streams(smoke):
    import torch
    functions = {"add": (2, torch.add), "copy": (1, lambda a: a.clone()),
                 "scale": (1, lambda a: a * 0.5), "gelu": (1, torch.nn.functional.gelu)}
    for megabytes in STREAM_MB[::7] if smoke else STREAM_MB:
        batch = []
        for op, (inputs, function) in functions.items():
            for dtype, kind in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
                count = int(megabytes * 1e6 / (inputs + 1) / (2 if dtype == "bf16" else 4))
                for warmth in ("warm", "cold"):
                    sets = 1 if warmth == "warm" else int(max(2, min(256, COLD_BYTES / megabytes / 1e6)))
                    data = [[torch.randn(count, device="cuda").to(kind) for _ in range(inputs)]
                            for _ in range(sets)]
                    calls = [lambda function=function, one=one: function(*one) for one in data]
                    batch.append(Item("streams", op, f"{count}", dtype, calls, warmth))
        yield batch


def product_shapes():
    """(op, dtype, sides): linear m, n, k or batched b, m, n, k."""
    for dtype in ("fp32", "tf32"):
        for side in (256, 512, 1024, 2048, 4096):
            yield "linear", dtype, (side, side, side)
        for m in (1, 16, 128, 1024, 4096):
            for n, k in ((1024, 1024), (4096, 1024), (3072, 768), (768, 3072)):
                yield "linear", dtype, (m, n, k)
    for dtype in ("fp32", "bf16", "tf32"):
        for b in (12, 64, 192, 512):
            for m, n, k in ((128, 128, 64), (512, 512, 64), (1024, 1024, 64), (512, 64, 512),
                            (1024, 64, 1024), (1, 512, 64), (1, 64, 512), (197, 197, 64),
                            (197, 64, 197), (2048, 2048, 128)):
                if b * m * n < 1.2e9:
                    yield "bmm", dtype, (b, m, n, k)
    for dtype in ("bf16", "fp32", "fp16"):
        for m in (1, 16, 128, 1000, 4096):
            pairs = [(4096, 4096), (4097, 4096), (4098, 4096), (4100, 4096), (4104, 4096),
                     (4096, 4097), (4096, 4098), (4096, 4100), (4095, 4095), (50257, 1024),
                     (50257, 1280), (30522, 768), (1001, 2048), (1000, 2048), (51865, 1280)]
            for n, k in pairs if dtype == "bf16" else pairs[:2] + pairs[5:6] + pairs[9:10]:
                yield "unaligned", dtype, (m, n, k)
    for m in (128, 4096):
        yield "addmm", "bf16", (m, 3072, 768)
        yield "addmm", "fp32", (m, 3072, 768)


def product_item(op, dtype, sides):
    import torch
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(dtype, torch.float32)
    make = lambda *shape: torch.randn(shape, device="cuda").to(kind)
    if op == "bmm":
        b, m, n, k = sides
        first, second = make(b, m, k), make(b, k, n)
        call = lambda: torch.bmm(first, second)
    else:
        m, n, k = sides
        x, weight, bias = make(m, k), make(n, k), make(n)
        call = (lambda: torch.addmm(bias, x, weight.t())) if op == "addmm" else \
            (lambda: torch.mm(x, weight.t()))

    def run():
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        return call()
    return Item("products", op, "x".join(map(str, sides)), dtype, [run])


def products(smoke):
    shapes = list(product_shapes())
    shapes = shapes[::30] if smoke else shapes
    for start in range(0, len(shapes), 20):
        yield [product_item(*shape) for shape in shapes[start:start + 20]]


def compiled(smoke):
    import torch
    from collect.windows import small_ops
    torch._dynamo.config.cache_size_limit = 64
    for tokens, hidden in ((64, 4096),) if smoke else ((1, 4096), (64, 4096), (4096, 4096)):
        batch, found = [], small_ops.compiled_inputs(tokens, hidden)
        for op, (function, inputs) in list(found.items())[:3 if smoke else None]:
            call = torch.compile(function, dynamic=False)
            with torch.no_grad():
                call(*inputs)
            run = lambda call=call, inputs=inputs: call(*inputs)
            batch.append(Item("compiled", op, f"{tokens}x{hidden}", "bf16", [run]))
        yield batch


PARTS = {"operators": operators, "streams": streams, "products": products, "compiled": compiled}


class Sweep:
    def __init__(self, folder):
        from collect.windows.bench import Bench
        self.bench, self.card = Bench(), card_name()
        self.rows = Rows(folder, "h200_small", COLUMNS)
        self.kernels = Rows(folder, "h200_small_kernels", KERNEL_COLUMNS)

    def run(self, item):
        load = self.bench.load(item.calls, self.launches(item))
        try:
            sample = self.bench.window(load, 1, 0.0, 2000.0)
        finally:
            self.bench.drop(load)
        if sample.mean_us < 0.1:
            return  # nothing is launched, as for a transposed single row
        sm, _, watts, _ = sample.readings
        self.rows.add(card=self.card, part=item.part, op=item.op, dims=item.dims,
                      dtype=item.dtype, warmth=item.warmth, launches=load.copies,
                      graph_us=sample.mean_us,
                      eager_us=self.eager(item) if item.warmth == "warm" else "", sm_mhz=sm,
                      cycle_mhz=sample.cycle_mhz, watts=watts)

    def launches(self, item):
        """Cold cases run over every set as often as makes a millisecond."""
        if len(item.calls) == 1:
            return None
        return len(item.calls) * max(1, 200 // len(item.calls))

    def eager(self, item):
        """Microseconds a call among plain launches: the host's pace, or the kernel's."""
        import torch
        torch.cuda.synchronize()
        began, count = time.perf_counter(), 0
        while count < 40 and (count < 5 or time.perf_counter() - began < 2e-3):
            item.calls[0]()
            count += 1
        torch.cuda.synchronize()
        return 1e6 * (time.perf_counter() - began) / count

    def names(self, items):
        from collect.windows import kernel_names
        warm = [item for item in items if item.warmth == "warm"]
        found = kernel_names.launched([item.calls[0] for item in warm], 2)
        for item, kernels in zip(warm, found):
            for index, (name, grid, block, us) in enumerate(kernels):
                self.kernels.add(card=self.card, part=item.part, op=item.op, dims=item.dims,
                                 dtype=item.dtype, index=index, kernel=kernel_names.brief(name),
                                 grid=grid, block=block, us=us)


def sweep_part(sweep, part, smoke, deadline, work):
    import torch
    batches = PARTS[part](smoke)
    while not deadline.passed():
        try:
            batch = next(batches)
        except StopIteration:
            return
        except Exception as error:
            print("FAILED to build", part, short(error), flush=True)
            return
        work(batch)
        del batch
        if torch.cuda.memory_reserved() > 60e9:
            torch.cuda.empty_cache()
    print("small: time is up in", part, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="results")
    parser.add_argument("--budget-seconds", type=float, default=260)
    parser.add_argument("--parts", default="products,streams,operators,compiled")
    parser.add_argument("--smoke", action="store_true", help="every path once, briefly")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print(len(operator_sizes(options.smoke)), "groups of operators,",
              len(list(product_shapes())), "products")
        return 0
    import torch
    deadline, sweep = Deadline(options.budget_seconds), Sweep(options.out)
    print("tiny kernel in a graph", sweep.bench.tiny_us, "us", flush=True)

    def timed(batch):
        for item in batch:
            try:
                sweep.run(item)
            except Exception as error:
                print("FAILED", item.part, item.op, item.dims, short(error), flush=True)
                torch.cuda.synchronize()

    def named(batch):
        try:
            sweep.names(batch)
        except Exception as error:
            print("FAILED names", batch[0].part, batch[0].dims, short(error), flush=True)

    for part in options.parts.split(","):
        sweep_part(sweep, part, options.smoke, deadline, timed)
        print(f"small: {part}, {sweep.rows.count} rows after {deadline.elapsed():.0f} s", flush=True)
    for part in options.parts.split(","):
        if part != "streams":  # names in a second pass: the profiler stays attached
            sweep_part(sweep, part, options.smoke, deadline, named)
    print(f"small: {sweep.kernels.count} kernels, {deadline.elapsed():.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
