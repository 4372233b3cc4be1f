#!/usr/bin/env python3
"""fp8 training: the three products of linear layers by kind of scale beside bf16, and the casts around them.

    python3 tools/collect/windows/fp8.py --out results

Products: 20 ms after a pause (`window`), a few of them under 1.4 s of load (`steady`); every shape in all
variants, and the first shapes once more at the end (`pass` 2). Casts: chains in a graph, eager and compiled.
"""

import argparse
import os
import random
import sys
import time
from dataclasses import dataclass

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.windows.rows import Deadline, Rows, card_name, short  # noqa: E402

VARIANTS = ["bf16", "tensor_fast", "tensor_slow", "row_fast", "row_slow", "block"]
STEADY_VARIANTS = ["bf16", "tensor_fast", "tensor_slow", "row_fast", "block"]
PRODUCTS = ["forward", "input_grad", "weight_grad"]
MODELS = {"1b": (2048, 3072, 8192), "3b": (3072, 5120, 8192), "8b": (4096, 6144, 14336),
          "70b": (8192, 10240, 28672)}  # hidden, merged q, k and v, inner size
TOKENS = [2048, 4096, 8192, 16384, 32768]
PRODUCT_COLUMNS = ["card", "pass", "model", "layer", "tp", "tokens", "product", "variant", "m", "n", "k", "regime",
                   "launches", "time_us", "min_us", "tflops", "energy_watts", "instant_watts", "watts", "sm_mhz",
                   "cycle_mhz", "celsius", "throttle"]
CAST_COLUMNS = ["card", "op", "engine", "kind", "rows", "cols", "warmth", "launches", "graph_us", "min_us", "eager_us",
                "sm_mhz", "watts"]
KERNEL_COLUMNS = ["card", "what", "variant", "dims", "index", "kernel", "grid", "block", "us"]
SIZES = [(8192, 4096), (2048, 4096), (8192, 14336), (8192, 2048), (14336, 4096), (32768, 4096), (8192, 28672),
         (2048, 2048)]
COMPILED_SIZES = SIZES[:6]
IDLE, STEADY_SECONDS, ROTATION = 0.045, 1.4, 300e6


@dataclass(frozen=True)
class Case:
    model: str
    layer: str
    tp: int
    tokens: int
    product: str
    m: int
    n: int
    k: int

    @property
    def ops(self):
        return 2.0 * self.m * self.n * self.k


def layers(model, tp):
    """(name, outputs, inputs) of a rank's linear layers; the head stays bf16 in training and is left out."""
    hidden, qkv, inner = MODELS[model]
    return [("qkv", qkv // tp, hidden), ("out", hidden, hidden // tp), ("gate_up", 2 * inner // tp, hidden),
            ("gate", inner // tp, hidden), ("down", hidden, inner // tp)]


def product_cases():
    found = {}
    for model in MODELS:
        for tp in (1, 2, 4, 8):
            for layer, n, k in layers(model, tp):
                for tokens in TOKENS:
                    for product, sides in zip(PRODUCTS, ((tokens, n, k), (tokens, k, n), (n, k, tokens))):
                        if all(side % 128 == 0 for side in sides):
                            found.setdefault((product, *sides), Case(model, layer, tp, tokens, product, *sides))
    cases = list(found.values())
    random.Random(17).shuffle(cases)
    return cases


def steady_cases():
    wanted = [("8b", "gate", 1, 8192), ("8b", "down", 1, 8192), ("8b", "qkv", 1, 8192), ("70b", "gate", 8, 8192),
              ("1b", "gate", 1, 8192)]
    cases = []
    for model, layer, tp, tokens in wanted:
        n, k = next((n, k) for name, n, k in layers(model, tp) if name == layer)
        cases.append(Case(model, layer, tp, tokens, "forward", tokens, n, k))
        if layer in ("gate", "down") and model != "1b":
            cases.append(Case(model, layer, tp, tokens, "weight_grad", n, k, tokens))
    n, k = 14336, 4096
    return cases + [Case("8b", "gate", 1, 8192, "input_grad", 8192, k, n)]


def operands(case):
    import torch
    return (torch.randn(case.m, case.k, device="cuda", dtype=torch.bfloat16),
            torch.randn(case.n, case.k, device="cuda", dtype=torch.bfloat16))


class Sweep:
    def __init__(self, folder, smoke):
        from collect.windows.bench import Bench
        self.bench, self.card, self.smoke = Bench(), card_name(), smoke
        self.products = Rows(folder, "h200_fp8_products", PRODUCT_COLUMNS)
        self.casts = Rows(folder, "h200_fp8_casts", CAST_COLUMNS)
        self.kernels = Rows(folder, "h200_fp8_kernels", KERNEL_COLUMNS)

    def product(self, case, turn=1, steady=False):
        from collect.windows import fp8_ops
        x, w = operands(case)
        for variant in STEADY_VARIANTS if steady else VARIANTS:
            try:
                load = self.bench.load([fp8_ops.product_call(variant, case.product, x, w)])
            except Exception as error:
                print("FAILED", variant, case, short(error), flush=True)
                continue
            try:
                self.note(case, variant, turn, "window", self.bench.window(load, 1 if self.smoke else 2, IDLE))
                if steady:
                    seconds = 0.7 if self.smoke else STEADY_SECONDS
                    self.note(case, variant, turn, "steady", self.bench.steady(load, seconds)[0])
                    time.sleep(0.2)
            finally:
                self.bench.drop(load)

    def note(self, case, variant, turn, regime, sample):
        sm, _, watts, celsius = sample.readings
        self.products.add(card=self.card, **{"pass": turn}, model=case.model, layer=case.layer, tp=case.tp,
                          tokens=case.tokens, product=case.product, variant=variant, m=case.m, n=case.n, k=case.k,
                          regime=regime, launches=sample.launches, time_us=sample.mean_us, min_us=sample.min_us,
                          tflops=case.ops / sample.mean_us / 1e6, energy_watts=sample.energy_watts,
                          instant_watts=sample.instant_watts, watts=watts, sm_mhz=sm, cycle_mhz=sample.cycle_mhz,
                          celsius=celsius, throttle=sample.throttle)

    def product_names(self, cases):
        from collect.windows import fp8_ops, kernel_names
        calls, labels = [], []
        for case in cases:
            x, w = operands(case)
            for variant in VARIANTS:
                try:
                    call = fp8_ops.product_call(variant, case.product, x, w)
                    call()
                except Exception:
                    continue
                calls.append(call)
                labels.append((case.product, variant, f"{case.m}x{case.n}x{case.k}"))
        self.list_kernels(labels, kernel_names.launched(calls))

    def list_kernels(self, labels, found):
        from collect.windows import kernel_names
        for (what, variant, dims), kernels in zip(labels, found):
            for index, (name, grid, block, us) in enumerate(kernels):
                self.kernels.add(card=self.card, what=what, variant=variant, dims=dims, index=index,
                                 kernel=kernel_names.brief(name, 200), grid=grid, block=block, us=us)

    def cast(self, op, engine, kind, rows, cols, calls, warmth):
        copies = None if len(calls) == 1 else len(calls) * max(1, 100 // len(calls))
        load = self.bench.load(calls, copies)
        try:
            sample = self.bench.window(load, 1 if self.smoke else 2, 0.0, 2000.0)
        finally:
            self.bench.drop(load)
        sm, _, watts, _ = sample.readings
        self.casts.add(card=self.card, op=op, engine=engine, kind=kind, rows=rows, cols=cols, warmth=warmth,
                       launches=load.copies, graph_us=sample.mean_us, min_us=sample.min_us,
                       eager_us=eager_us(calls[0]) if warmth == "warm" else "", sm_mhz=sm, watts=watts)


def eager_us(call):
    """Microseconds a call among plain ones: the host's pace, or the kernels'."""
    import torch
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(10):
        call()
    torch.cuda.synchronize()
    return 1e5 * (time.perf_counter() - began)


def cast_calls(rows, cols, engines):
    """(op, engine, kind, function of an input) of all casts of one size."""
    import torch
    from collect.windows import fp8_ops as ops
    scale = torch.full((1,), 90.0, device="cuda")
    for name, function in ops.CASTS.items():
        for label, kind in (("e4m3", ops.E4M3), ("e5m2", ops.E5M2)):
            if label == "e5m2" and name not in ops.ALSO_E5M2:
                continue
            for engine in engines:
                call = torch.compile(function, dynamic=False) if engine == "compile" else function
                yield name, engine, label, lambda x, call=call, kind=kind: call(x, scale, kind)


def warm(index, smoke):
    """Compiles the casts of one size, for the cache that the timed run reads."""
    import torch
    settings()
    size = (256, 512) if smoke else COMPILED_SIZES[index]
    x = torch.randn(*size, device="cuda", dtype=torch.bfloat16)
    for name, _, label, function in cast_calls(*size, ["compile"]):
        try:
            function(x)
        except Exception as error:
            print("FAILED to compile", name, label, size, short(error), flush=True)


def settings():
    import torch
    torch._dynamo.config.recompile_limit = 64
    torch._dynamo.config.accumulated_recompile_limit = 4096
    torch.set_grad_enabled(False)


def sweep_casts(sweep, smoke, deadline):
    import torch
    from collect.windows import fp8_ops as ops
    for rows, cols in [(256, 512)] if smoke else SIZES:
        if deadline.passed():
            print("casts: time is up at", rows, cols, flush=True)
            return
        count = 1 + min(24, int(ROTATION / (rows * cols * 2)))
        inputs = [torch.randn(rows, cols, device="cuda", dtype=torch.bfloat16) for _ in range(count)]
        engines = ["eager"] + (["compile"] if smoke or (rows, cols) in COMPILED_SIZES else [])
        for name, engine, label, function in cast_calls(rows, cols, engines):
            for warmth, chosen in (("warm", inputs[:1]), ("cold", inputs)):
                if warmth == "cold" and (count < 4 or label == "e5m2"):
                    continue
                calls = [lambda x=x: function(x) for x in chosen]
                attempt(lambda: sweep.cast(name, engine, label, rows, cols, calls, warmth), name, engine, rows, cols)
        scale = torch.full((1,), 90.0, device="cuda")
        for engine, found in (("eager", ops.single_kernels(inputs[0])), ("triton", ops.triton_casts(inputs[0], scale))):
            for name, call in found.items():
                attempt(lambda: sweep.cast(name, engine, "e4m3", rows, cols, [call], "warm"), name, engine, rows, cols)


def attempt(work, *what):
    import torch
    try:
        work()
    except Exception as error:
        print("FAILED", *what, short(error), flush=True)
        torch.cuda.synchronize()


def cast_names(sweep, smoke):
    import torch
    from collect.windows import fp8_ops as ops
    from collect.windows import kernel_names
    rows, cols = (256, 512) if smoke else SIZES[0]
    x = torch.randn(rows, cols, device="cuda", dtype=torch.bfloat16)
    calls, labels = [], []
    for name, engine, label, function in cast_calls(rows, cols, ["eager", "compile"]):
        calls.append(lambda function=function: function(x))
        labels.append((name, f"{engine}_{label}", f"{rows}x{cols}"))
    scale = torch.full((1,), 90.0, device="cuda")
    for engine, found in (("eager", ops.single_kernels(x)), ("triton", ops.triton_casts(x, scale))):
        for name, call in found.items():
            calls.append(call)
            labels.append((name, f"{engine}_single", f"{rows}x{cols}"))
    sweep.list_kernels(labels, kernel_names.launched(calls, 2))


def check():
    """Relative error of every variant against the fp64 product of the bf16 operands."""
    import torch
    from collect.windows import fp8_ops
    for product in PRODUCTS:
        x, w = (torch.randn(side, 2048, device="cuda", dtype=torch.bfloat16) for side in (1024, 512))
        true = x.double() @ w.double().t()
        for variant in VARIANTS:
            try:
                out = fp8_ops.product_call(variant, product, x, w)().double()
                print(f"{product} {variant}: relative error {float((out - true).norm() / true.norm()):.4f}")
            except Exception as error:
                print("FAILED check", product, variant, short(error), flush=True)


def sweep_products(sweep, smoke, deadline):
    import torch
    cases, done = product_cases(), []
    for case in steady_cases()[:1] if smoke else steady_cases():
        attempt(lambda: sweep.product(case, 1, True), case)
    print(f"fp8: steady loads done after {deadline.elapsed():.0f} s", flush=True)
    for case in cases[:2] if smoke else cases:
        if deadline.passed(0.9):
            break
        attempt(lambda: sweep.product(case), case)
        done.append(case)
        if torch.cuda.memory_reserved() > 60e9:
            torch.cuda.empty_cache()
    for case in done[:12]:
        if deadline.passed():
            break
        attempt(lambda: sweep.product(case, 2), case)
    print(f"fp8: {len(done)} of {len(cases)} shapes, {sweep.products.count} rows after {deadline.elapsed():.0f} s",
          flush=True)
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="results")
    parser.add_argument("--products-seconds", type=float, default=290)
    parser.add_argument("--casts-seconds", type=float, default=110)
    parser.add_argument("--names-seconds", type=float, default=30)
    parser.add_argument("--warm", type=int, default=-1, help="only compile the casts of this size")
    parser.add_argument("--smoke", action="store_true", help="every path once, briefly")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print(*steady_cases(), *product_cases(), f"{len(product_cases())} products", sep="\n")
        return 0
    if options.warm >= 0:
        warm(options.warm, options.smoke)
        return 0
    import torch
    settings()
    check()
    sweep = Sweep(options.out, options.smoke)
    began = Deadline(0)
    sweep_casts(sweep, options.smoke, Deadline(options.casts_seconds))
    print(f"fp8: {sweep.casts.count} rows of casts after {began.elapsed():.0f} s", flush=True)
    torch.cuda.empty_cache()
    done = sweep_products(sweep, options.smoke, Deadline(options.products_seconds))
    torch.cuda.empty_cache()
    deadline = Deadline(options.names_seconds)
    attempt(lambda: cast_names(sweep, options.smoke), "names of casts")
    for start in range(0, len(done), 4):  # names last: the profiler stays attached once it has run
        if deadline.passed():
            print("fp8: names cut short at", start, flush=True)
            break
        attempt(lambda: sweep.product_names(done[start:start + 4]), "names", start)
        torch.cuda.empty_cache()
    print(f"fp8: {sweep.kernels.count} kernels, {began.elapsed():.0f} s in all", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
