#!/usr/bin/env python3
"""The same search for plain products: the kernel with one expert, y[m,n] = x[m,k] w[n,k].T, bf16.

    python3 tools/tune/gemm_sweep.py --out results

results/gemm_tiles.csv        one row a shape and configuration
results/gemm_tiles_again.csv  the best ones once more, in turns, and cuBLAS beside them
"""

import argparse
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import binaries  # noqa: E402
import configs  # noqa: E402
import results  # noqa: E402

ROWS = (1, 16, 64, 256, 1024, 4096)
WEIGHTS = ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336))  # n, k: Llama 3 8B
SHAPE = ["m", "n", "k"]
COLUMNS = [*SHAPE, *configs.NAMES, "us", "samples", "sm_mhz"]
AGAIN_COLUMNS = [*SHAPE, *configs.NAMES, "us", "spread", "sm_mhz"]
AGAIN = 80
MANY_BYTES = 400e6  # weights that take turns, so that none is in L2 from the launch before


class Product:
    def __init__(self, m, n, k):
        import torch

        import fused_moe
        make = lambda *size: torch.randn(size, dtype=torch.bfloat16, device="cuda")
        copies = int(max(1, -(-MANY_BYTES // (2 * n * k))))
        self.x, self.y, self.w = make(m, k), make(m, n), [make(1, n, k) for _ in range(copies)]
        self.ones, self.m = torch.ones(m, device="cuda"), m
        self.torch, self.moe, self.aligned = torch, fused_moe, {}

    def calls(self, config):
        block = config["BLOCK_SIZE_M"]
        if block not in self.aligned:
            nobody = self.torch.zeros((self.m, 1), dtype=self.torch.int64, device="cuda")
            self.aligned[block] = self.moe.align(nobody, 1, block)
        routing = self.aligned[block]
        return [lambda w=w: self.moe.product(self.x, w, self.y, self.ones, routing, 1, config)
                for w in self.w]

    def library_calls(self):
        return [lambda w=w: self.torch.mm(self.x, w[0].T, out=self.y) for w in self.w]


def run_shape(bench, shape, usable):
    product = Product(*shape)
    wanted = [config for config in configs.grid() if configs.without_group(config) in usable]
    random.Random(20261115).shuffle(wanted)
    bench.warm_up(product.calls(wanted[0]))
    best, found = float("inf"), {}
    for config in wanted:
        us, samples = bench.measure(product.calls(config), best)
        best = min(best, us)
        found[tuple(config.values())] = (us, samples, bench.clock.read())
    chosen = sorted(found, key=lambda values: found[values][0])[:AGAIN]
    library = product.library_calls()
    bench.warm_up(library, 0.01)
    timed = bench.in_turns([product.calls(configs.of(values)) for values in chosen] + [library],
                           [found[values][0] for values in chosen] + [best])
    rows = [[*shape, *values, f"{us:.2f}", *rest] for values, (us, *rest) in found.items()]
    named = [*chosen, ("cublas", *[""] * (len(configs.NAMES) - 1))]
    again = [[*shape, *values, f"{us:.2f}", f"{spread:.4f}", mhz]
             for values, (us, spread, mhz) in zip(named, timed, strict=True)]
    line = f"best {min(row[0] for row in timed[:-1]):.1f} us, cuBLAS {timed[-1][0]:.1f} us"
    return rows, again, line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--processes", type=int, default=15)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    path = lambda name: os.path.join(options.out, name)
    usable = binaries.prepare(options.out, options.processes)
    from bench import Bench
    bench = Bench()
    done = results.finished(path("gemm_tiles_again.csv"), SHAPE)
    for n, k in WEIGHTS:
        for m in ROWS:
            if (str(m), str(n), str(k)) in done:
                continue
            start = time.monotonic()
            rows, again, line = run_shape(bench, (m, n, k), usable)
            results.append(path("gemm_tiles.csv"), COLUMNS, rows)
            results.append(path("gemm_tiles_again.csv"), AGAIN_COLUMNS, again)
            print(f"{m} x {n} x {k}: {time.monotonic() - start:.1f} s, {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
