#!/usr/bin/env python3
"""Times, clocks and watts of a few dozen kernels: bursts, 20 ms windows, steady load, duty.

    python3 tools/collect/windows/regimes.py --out results --budget-seconds 300
"""

import argparse
import os
import random
import sys
from dataclasses import dataclass, replace

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.windows.rows import Deadline, Rows, card_name, short  # noqa: E402

COLUMNS = ["card", "what", "shape", "dtype", "data", "regime", "duty", "launches", "time_us",
           "min_us", "energy_watts", "instant_watts", "watts", "sm_mhz", "cycle_mhz", "mem_mhz",
           "celsius", "throttle", "ops", "bytes"]
TRACE_COLUMNS = ["card", "what", "shape", "dtype", "data", "ms", "us", "sm_mhz", "cycle_mhz",
                 "instant_watts", "throttle"]
DRAWS = ["normal", "zeros", "constant", "bits"]
ITEM = {"bf16": 2, "fp16": 2, "fp8": 1, "tf32": 4, "fp32": 4, "fp64": 8, "int8": 1}


@dataclass(frozen=True)
class Case:
    what: str  # gemm | attention_* | copy | add | sum | gelu | pipe
    shape: tuple
    dtype: str
    data: str = "normal"
    steady: bool = True
    duties: tuple = ()

    @property
    def text(self):
        return "x".join(str(side) for side in self.shape)


def cube(side):
    return (side, side, side)


def product_cases():
    halves = (0.5, 0.25)
    for dtype, main in (("bf16", 8192), ("fp8", 8192), ("fp32", 4096), ("tf32", 8192),
                        ("fp16", 8192)):
        for data in DRAWS:
            yield Case("gemm", cube(main), dtype, data, True,
                       halves if data == "normal" and dtype != "fp16" else ())
    for dtype, sides in (("bf16", (1024, 2048, 4096, 16384)), ("fp8", (2048, 4096, 16384)),
                         ("tf32", (2048, 4096)), ("fp32", (1024, 2048, 8192)), ("fp16", (4096,)),
                         ("fp64", (4096,)), ("int8", (8192,))):
        for side in sides:
            yield Case("gemm", cube(side), dtype, "normal", True, halves if side == 4096 else ())
    for data in DRAWS[1:]:
        yield Case("gemm", cube(4096), "bf16", data)
    for m in (16, 64, 256, 512, 1024):
        yield Case("gemm", (m, 8192, 8192), "bf16", "normal", True, halves if m == 64 else ())
    for m in (64, 512):
        yield Case("gemm", (m, 8192, 8192), "fp8")
        yield Case("gemm", (m, 8192, 8192), "bf16", "zeros")


def other_cases():
    halves = (0.5, 0.25)
    size = (4, 4096, 32, 128)  # batch, length, heads, head dim; causal
    for what in ("attention_cudnn", "attention_flash"):
        yield Case(what, size, "bf16", "normal", True, halves)
        yield Case(what, size, "bf16", "zeros")
        yield Case(what + "_bwd", size, "bf16", "normal")
    for data in ("normal", "zeros", "bits"):
        yield Case("copy", (1 << 28,), "bf16", data, True, halves if data == "normal" else ())
        yield Case("add", (1 << 28,), "bf16", data)
    yield Case("add", (1 << 22,), "bf16")  # stays in the L2
    yield Case("sum", (1 << 28,), "bf16")
    yield Case("gelu", (1 << 28,), "bf16")
    yield Case("gelu", (1 << 22,), "bf16")
    for kind in ("fma_fp32", "fma_fp64", "exp2"):
        yield Case("pipe", (kind,), "fp64" if kind == "fma_fp64" else "fp32", "normal", True,
                   halves if kind == "fma_fp32" else ())
        yield Case("pipe", (kind,), "fp64" if kind == "fma_fp64" else "fp32", "zeros")


def short_cases():
    """Bursts and 20 ms windows only: the rest of types, sizes and draws."""
    for side in (1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384):
        for dtype in ("bf16", "fp8", "fp16", "tf32", "fp32"):
            if dtype == "fp32" and side > 8192:
                continue
            for data in DRAWS if side in (1024, 2048, 4096, 8192) else DRAWS[:1]:
                yield Case("gemm", cube(side), dtype, data, False)
    for m in (1, 32, 128, 384, 768, 2048):
        for n, k in ((4096, 4096), (28672, 8192), (8192, 28672)):
            for dtype in ("bf16", "fp8"):
                yield Case("gemm", (m, n, k), dtype, "normal", False)


LAYERS = [(4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336), (8192, 8192), (10240, 8192),
          (57344, 8192), (8192, 28672), (3072, 3072), (2048, 8192), (16384, 2048), (5120, 5120),
          (27648, 5120), (128256, 4096), (1280, 1280), (1536, 8960)]  # n, k of linear layers
ROWS = [8, 24, 48, 96, 160, 192, 320, 512, 640, 1024, 1536, 2048, 3000, 4096, 6000, 8192, 16384]


def linear_cases():
    """Random linear layers of models, bursts and 20 ms windows only."""
    draw, found = random.Random(7), []
    for _ in range(420):
        n, k = draw.choice(LAYERS)
        m = draw.choice(ROWS)
        dtype = draw.choice(["bf16", "bf16", "bf16", "fp8", "fp8", "fp16", "tf32", "fp32"])
        if dtype in ("tf32", "fp32") and 2 * m * n * k > 4e11:
            m = min(m, 1024)
        if dtype == "fp8":
            m = -(-m // 16) * 16
        if m * n <= 6e8 and not (dtype == "fp32" and 2 * m * n * k > 4e11):
            found.append(Case("gemm", (m, n, k), dtype, "normal", False))
    return list(dict.fromkeys(found))


def plan(smoke, linear=False):
    if linear:
        return linear_cases()
    if smoke:
        found = [Case("gemm", cube(2048), dtype, data, data == "bits", (0.5,))
                 for dtype in ITEM for data in DRAWS]
        found = found[::3] + [Case("gemm", cube(2048), "fp8", "bits"),
                              Case("gemm", cube(2048), "int8")]
        return found + [replace(case, steady=False, duties=()) for case in other_cases()
                        if case.data == "normal"]
    long = list(product_cases()) + list(other_cases())
    known = {(case.what, case.shape, case.dtype, case.data) for case in long}
    rest = [case for case in short_cases()
            if (case.what, case.shape, case.dtype, case.data) not in known]
    return long + rest


def cost(case):
    """(operations, least bytes) of a call."""
    item = ITEM[case.dtype]
    if case.what == "gemm":
        m, n, k = case.shape
        return 2 * m * n * k, item * (m * k + n * k) + 2 * m * n
    if case.what.startswith("attention"):
        batch, length, heads, dim = case.shape
        ops = 2 * batch * heads * length * length * dim  # half of the square
        return (ops * 5 // 2 if case.what.endswith("bwd") else ops), 8 * batch * length * heads * dim
    if case.what == "pipe":
        from collect.windows.device_clock import OPERATIONS
        return OPERATIONS // 4 if case.shape[0] == "exp2" else OPERATIONS, 0
    streams = {"copy": 2, "add": 3, "sum": 1, "gelu": 2}[case.what]
    return case.shape[0], streams * item * case.shape[0]


def fill(shape, dtype, data):
    """Numbers of a draw. `bits`: sign and mantissa bits at random, exponents over 32 values."""
    import torch
    if dtype == torch.int8:
        return torch.randint(-127, 128, shape, dtype=dtype, device="cuda")
    if dtype == torch.float8_e4m3fn:
        if data == "bits":
            raw = torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda")
            return torch.where((raw & 127) == 127, raw & 254, raw).view(dtype)
        return fill(shape, torch.bfloat16, data).to(dtype)
    if data == "zeros":
        return torch.zeros(shape, dtype=dtype, device="cuda")
    if data == "constant":
        return torch.full(shape, 0.5, dtype=dtype, device="cuda")
    if data == "normal":
        wide = dtype if dtype == torch.float64 else torch.float32
        return torch.randn(shape, dtype=wide, device="cuda").to(dtype)
    mantissa = 1 + torch.rand(shape, dtype=torch.float32, device="cuda")
    sign = 1 - 2 * torch.randint(0, 2, shape, device="cuda").float()
    limit = 7 if dtype == torch.float16 else 16
    power = torch.randint(-limit, limit, shape, device="cuda").float()
    return (sign * mantissa * torch.exp2(power)).to(dtype)


def build(case):
    """The calls of a case, to be run in turn."""
    import torch
    from collect.windows import device_clock
    types = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.float8_e4m3fn,
             "fp64": torch.float64, "int8": torch.int8}
    kind = types.get(case.dtype, torch.float32)
    if case.what == "gemm":
        return product(case, kind)
    if case.what.startswith("attention"):
        return [attention(case)]
    if case.what == "pipe":
        return [device_clock.pipe(case.shape[0], lambda shape, dtype: fill(shape, dtype, case.data))]
    a = fill(case.shape, kind, case.data)
    if case.what == "sum":
        return [lambda: torch.sum(a)]
    out = torch.empty_like(a)
    if case.what == "copy":
        return [lambda: out.copy_(a)]
    if case.what == "gelu":
        return [lambda: torch.nn.functional.gelu(a)]
    b = fill(case.shape, kind, case.data)
    return [lambda: torch.add(a, b, out=out)]


def product(case, kind):
    """x @ w.T; where few rows leave the weights the larger part, several weights take turns."""
    import torch
    torch.backends.cuda.matmul.allow_tf32 = case.dtype == "tf32"
    m, n, k = case.shape
    sets = max(1, min(8, int(3e8 / (n * k * ITEM[case.dtype])))) if m < n // 4 else 1
    x = fill((m, k), kind, case.data)
    weights = [fill((n, k), kind, case.data).t() for _ in range(sets)]
    if case.dtype == "fp8":
        one = torch.ones((), device="cuda")
        return [lambda w=w: torch._scaled_mm(x, w, scale_a=one, scale_b=one,
                                             out_dtype=torch.bfloat16, use_fast_accum=True)
                for w in weights]
    if case.dtype == "int8":
        return [lambda w=w: torch._int_mm(x, w) for w in weights]
    out = torch.empty(m, n, dtype=kind, device="cuda")
    return [lambda w=w: torch.mm(x, w, out=out) for w in weights]


def attention(case):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    backend = SDPBackend.CUDNN_ATTENTION if "cudnn" in case.what else SDPBackend.FLASH_ATTENTION
    batch, length, heads, dim = case.shape
    q, k, v = (fill((batch, length, heads, dim), torch.bfloat16, case.data).transpose(1, 2)
               for _ in range(3))

    def forward():
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    if not case.what.endswith("_bwd"):
        return forward
    for tensor in (q, k, v):
        tensor.requires_grad_()
    out = forward()
    grad = fill((batch, length, heads, dim), torch.bfloat16, case.data).transpose(1, 2)
    return lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)


class Sweep:
    def __init__(self, folder, smoke):
        from collect.windows.bench import Bench
        self.bench, self.card, self.smoke = Bench(), card_name(), smoke
        self.rows = Rows(folder, "h200_regimes", COLUMNS)
        self.trace = Rows(folder, "h200_regimes_trace", TRACE_COLUMNS)

    def run(self, case):
        calls = build(case)
        bench, brief = self.bench, self.smoke
        few = bench.load(calls, 1)
        launches = max(1, min(10, int(20e3 / few.replay_us)))
        bench.drop(few)
        few = bench.load(calls, launches)
        self.note(case, "burst", bench.burst(few, 2 if brief else 5 if case.steady else 3))
        bench.drop(few)
        load = bench.load(calls)
        try:
            self.note(case, "window", bench.window(load, 1 if brief else 3 if case.steady else 2))
            if case.steady:
                sample, trace = bench.steady(load, 0.7 if brief else 2.0)
                self.note(case, "steady", sample)
                self.note_trace(case, trace)
            for share in case.duties:
                self.note(case, "duty", bench.duty(load, share, 0.2 if brief else 1.5), share)
        finally:
            bench.drop(load)

    def note(self, case, regime, sample, duty=1.0):
        ops, moved = cost(case)
        sm, memory, watts, celsius = sample.readings
        self.rows.add(card=self.card, what=case.what, shape=case.text, dtype=case.dtype,
                      data=case.data, regime=regime, duty=duty if duty == 1.0 else sample.busy,
                      launches=sample.launches, time_us=sample.mean_us, min_us=sample.min_us,
                      energy_watts=sample.energy_watts, instant_watts=sample.instant_watts,
                      watts=watts, sm_mhz=sm, cycle_mhz=sample.cycle_mhz, mem_mhz=memory,
                      celsius=celsius, throttle=sample.throttle, ops=ops, bytes=moved)

    def note_trace(self, case, trace):
        """All chunks of the first 300 ms, then every fifth."""
        for index, (ms, us, sm, _, _, _, instant, throttle, clock) in enumerate(trace):
            if ms < 300 or index % 5 == 0:
                self.trace.add(card=self.card, what=case.what, shape=case.text, dtype=case.dtype,
                               data=case.data, ms=ms, us=us, sm_mhz=sm, cycle_mhz=clock,
                               instant_watts=instant, throttle=throttle)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="results")
    parser.add_argument("--budget-seconds", type=float, default=300)
    parser.add_argument("--smoke", action="store_true", help="every path once, briefly")
    parser.add_argument("--linear", action="store_true", help="random linear layers instead")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    cases = plan(options.smoke, options.linear)
    if options.list:
        print(*cases, f"{len(cases)} cases", sep="\n")
        return 0
    import torch
    deadline, sweep = Deadline(options.budget_seconds), Sweep(options.out, options.smoke)
    for index, case in enumerate(cases):
        if deadline.passed():
            print(f"regimes: time is up after {index} of {len(cases)}")
            break
        try:
            sweep.run(case)
        except Exception as error:
            print("FAILED", case.what, case.text, case.dtype, case.data, short(error), flush=True)
        if torch.cuda.memory_reserved() > 90e9:
            torch.cuda.empty_cache()
    print(f"regimes: {sweep.rows.count} rows in {deadline.elapsed():.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
