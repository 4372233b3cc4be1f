#!/usr/bin/env python3
"""Attention through PyTorch, forward and backward, by backend: 20 ms windows and bursts.

    python3 tools/collect/windows/attention.py --out results --budget-seconds 330

Tensors lie as [batch, length, heads, head dim]. Backward rows hold the backward kernels alone.
`flash_window` calls PyTorch's copy of FlashAttention 2 with a window; `flex` is compiled
flex_attention with the same window.
"""

import argparse
import os
import sys
from dataclasses import astuple, dataclass, fields

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.windows.rows import Deadline, Rows, card_name, short  # noqa: E402


@dataclass(frozen=True)
class Case:
    backend: str  # default | cudnn | flash | efficient | math | flash_window | flex
    direction: str  # forward | backward
    batch: int
    q_len: int
    kv_len: int
    heads: int
    kv_heads: int
    head_dim: int
    mask: str  # causal | full
    window: int = 0

    @property
    def values(self):
        return {field.name: getattr(self, field.name) for field in fields(self)}


KEYS = [field.name for field in fields(Case)]
COLUMNS = ["card", *KEYS, "regime", "launches", "time_us", "min_us", "sm_mhz", "cycle_mhz", "watts",
           "ops"]
KERNEL_COLUMNS = ["card", *KEYS, "index", "kernel", "grid", "block", "us"]
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
HEADS = {64: 32, 72: 16, 80: 16, 96: 32, 128: 32, 192: 16, 256: 16}
BOTH = ("forward", "backward")


def sized(length, dim, share=1):
    """(batch, heads): 16k tokens up to 16k, fewer heads beyond."""
    heads = HEADS[dim] if length < 32768 else 16 if length < 65536 else 8
    return max(1, 16384 // length), heads, max(1, heads // share)


def square(backend, length, dim, mask, share=1, directions=BOTH, batch=None, heads=None):
    found, count, grouped = sized(length, dim, share)
    batch = found if batch is None else batch
    if heads is not None:
        count = grouped = heads
    return [Case(backend, direction, batch, length, length, count, grouped, dim, mask)
            for direction in directions]


def main_cases():
    found = []
    for share in (1, 8):
        for length in LENGTHS:
            for dim in (128, 64):
                for mask in ("causal", "full"):
                    for backend in ("cudnn", "flash"):
                        if length == 65536 and mask == "full":
                            continue
                        found += square(backend, length, dim, mask, share)
    return found


def other_dims():
    found = []
    for dim in (72, 80, 96, 192, 256):
        for backend in ("cudnn", "flash"):
            for length in (256, 1024, 4096, 16384):
                for mask in ("causal", "full"):
                    found += square(backend, length, dim, mask)
            for length in (1024, 8192):
                found += square(backend, length, dim, "causal", 8)
    return found


def encoders():
    """Vision and speech towers: odd lengths, all keys seen."""
    found = []
    shapes = [(64, 197, 12, 64), (32, 577, 16, 64), (16, 729, 16, 72), (16, 1024, 16, 72),
              (32, 257, 16, 80), (4, 1370, 16, 80), (4, 4096, 16, 80), (8, 1500, 20, 64),
              (8, 512, 12, 64), (1, 197, 12, 64), (1, 577, 16, 64), (1, 729, 16, 72)]
    for batch, length, heads, dim in shapes:
        for backend in ("cudnn", "flash", "efficient", "default"):
            found += square(backend, length, dim, "full", 1, BOTH, batch, heads)
    return found


def smaller_backends():
    found = []
    for length in (512, 2048, 8192):
        for dim in (64, 80, 128):
            for mask in ("causal", "full"):
                found += square("efficient", length, dim, mask)
    for length in (128, 512, 1024):
        for dim in (64, 128):
            found += square("math", length, dim, "causal")
    for length in (128, 512, 2048, 8192, 32768):
        for dim, share in ((64, 1), (128, 1), (128, 8), (256, 1), (72, 1)):
            found += square("default", length, dim, "causal", share)
    return found


def decodes():
    """One new token against a cache; and 16 tokens, as in speculation."""
    found = []
    for share in (8, 1, 4):
        for kv_len in (512, 2048, 8192, 32768):
            for batch in (1, 8, 64):
                if batch * kv_len * (32 // share) > 64 * 2048 * 32:
                    continue
                for backend in ("default", "cudnn", "flash"):
                    found.append(Case(backend, "forward", batch, 1, kv_len, 32, 32 // share, 128,
                                      "full"))
    for backend in ("cudnn", "flash", "efficient"):
        found.append(Case(backend, "forward", 8, 1, 2048, 32, 32, 64, "full"))
        found.append(Case(backend, "forward", 8, 16, 2048, 32, 32, 128, "full"))
    return found


def windowed():
    found = []
    for length in (2048, 8192, 32768):
        for window in (128, 1024, 4096):
            if window < length:
                for dim, share in ((128, 1), (64, 8), (256, 1)):
                    batch, heads, grouped = sized(length, dim, share)
                    found += [Case("flash_window", direction, batch, length, length, heads,
                                   grouped, dim, "causal", window) for direction in BOTH]
    return found


def flex():
    found = []
    for length, window, dim, share in ((8192, 1024, 128, 1), (8192, 0, 128, 1), (8192, 128, 64, 8),
                                       (32768, 4096, 128, 8)):
        batch, heads, grouped = sized(length, dim, share)
        found += [Case("flex", direction, batch, length, length, heads, grouped, dim, "causal",
                       window) for direction in BOTH]
    return found


def plan(smoke):
    if smoke:
        few = main_cases()[::45] + other_dims()[::25] + encoders()[::20] + smaller_backends()[::12]
        return few + decodes()[::9] + windowed()[::10] + flex()[:2]
    found = main_cases() + decodes() + other_dims() + encoders() + smaller_backends() + windowed()
    return list(dict.fromkeys(found + flex()))


def operations(case):
    """Operations of the products: a causal mask counts half, a window by its keys; backward 2.5 times."""
    keys = case.kv_len
    if case.window:  # the first queries see fewer keys
        window = min(case.window, case.kv_len)
        keys = window - window * (window - 1) / 2 / case.kv_len
    elif case.mask == "causal" and case.q_len > 1:
        keys = case.kv_len / 2
    forward = 4 * case.batch * case.heads * case.q_len * keys * case.head_dim
    return int(forward * (2.5 if case.direction == "backward" else 1))


def build(case):
    import torch
    shape = lambda length, heads: (case.batch, length, heads, case.head_dim)
    make = lambda length, heads: torch.randn(shape(length, heads), device="cuda",
                                             dtype=torch.bfloat16)
    q = make(case.q_len, case.heads)
    k, v = make(case.kv_len, case.kv_heads), make(case.kv_len, case.kv_heads)
    grad = make(case.q_len, case.heads) if case.direction == "backward" else None
    if case.backend == "flash_window":
        return flash_window(case, q, k, v, grad)
    q, k, v = (tensor.transpose(1, 2).detach() for tensor in (q, k, v))
    if grad is not None:
        for tensor in (q, k, v):
            tensor.requires_grad_()
    forward = flex_call(case, q, k, v) if case.backend == "flex" else sdpa_call(case, q, k, v)
    if grad is None:
        def without_gradients():
            with torch.no_grad():
                return forward()
        return without_gradients
    out, grad = forward(), grad.transpose(1, 2)
    return lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)


def sdpa_call(case, q, k, v):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    one = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
           "efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}
    grouped, causal = case.heads != case.kv_heads, case.mask == "causal"
    call = lambda: torch.nn.functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, enable_gqa=grouped)
    if case.backend == "default":
        return call

    def limited():
        with sdpa_kernel(one[case.backend]):
            return call()
    return limited


def flash_window(case, q, k, v, grad):
    """aten's FlashAttention 2 with a window of earlier keys."""
    import torch
    sizes = (None, None, case.q_len, case.kv_len, 0.0, True)
    window = {"window_size_left": case.window - 1, "window_size_right": 0}
    forward = lambda: torch.ops.aten._flash_attention_forward(q, k, v, *sizes, False, **window)
    if grad is None:
        return forward
    out, summed, state, unused = forward()[:4]
    return lambda: torch.ops.aten._flash_attention_backward(grad, q, k, v, out, summed, *sizes,
                                                            state, unused, **window)


_flex_compiled = []


def flex_call(case, q, k, v):
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    if not _flex_compiled:
        _flex_compiled.append(torch.compile(flex_attention, dynamic=False))
        torch._dynamo.config.cache_size_limit = 64
    window = case.window or case.kv_len

    def seen(batch, head, query, key):
        return (query >= key) & (query - key < window)

    mask = create_block_mask(seen, None, None, case.q_len, case.kv_len, device="cuda")
    grouped = case.heads != case.kv_heads
    return lambda: _flex_compiled[0](q, k, v, block_mask=mask, enable_gqa=grouped)


class Sweep:
    def __init__(self, folder, smoke):
        from collect.windows.bench import Bench
        self.bench, self.card, self.smoke = Bench(), card_name(), smoke
        self.rows = Rows(folder, "h200_attention", COLUMNS)
        self.kernels = Rows(folder, "h200_attention_kernels", KERNEL_COLUMNS)

    def time(self, case):
        call = build(case)
        load = self.bench.load([call])
        try:
            self.note(case, "window", self.bench.window(load, 2, 0.01, 2000.0))
            few = load
            if load.copies > 12:
                few = self.bench.load([call], 10)
            self.note(case, "burst", self.bench.burst(few, 2, 0.05))
            if few is not load:
                self.bench.drop(few)
        finally:
            self.bench.drop(load)

    def note(self, case, regime, sample):
        sm, _, watts, _ = sample.readings
        self.rows.add(card=self.card, **case.values, regime=regime, launches=sample.launches,
                      time_us=sample.mean_us, min_us=sample.min_us, sm_mhz=sm,
                      cycle_mhz=sample.cycle_mhz, watts=watts, ops=operations(case))

    def names(self, cases):
        from collect.windows import kernel_names
        built = []
        for case in cases:
            try:
                built.append((case, build(case)))
            except Exception:
                pass
        found = kernel_names.launched([call for _, call in built])
        for (case, _), kernels in zip(built, found):
            for index, (name, grid, block, us) in enumerate(kernels):
                self.kernels.add(card=self.card, **case.values, index=index,
                                 kernel=kernel_names.brief(name), grid=grid, block=block, us=us)


def list_names(sweep, timed, deadline):
    """Names in a second pass: the profiler stays attached once it has run."""
    import torch
    timed = [case for case in timed if case.q_len <= 16384]
    for start in range(0, len(timed), 30):
        if deadline.passed():
            print("attention: names cut short at", start)
            return
        try:
            sweep.names(timed[start:start + 30])
        except Exception as error:
            print("FAILED names", start, short(error), flush=True)
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="results")
    parser.add_argument("--budget-seconds", type=float, default=330)
    parser.add_argument("--smoke", action="store_true", help="every path once, briefly")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    cases = plan(options.smoke)
    if options.list:
        print(*cases, f"{len(cases)} cases", sep="\n")
        return 0
    import torch
    deadline, sweep = Deadline(options.budget_seconds), Sweep(options.out, options.smoke)
    print("torch", torch.__version__, "cudnn", torch.backends.cudnn.version(), "overhead us",
          sweep.bench.timer.replay_overhead_us, "gap us", sweep.bench.gap_us, flush=True)
    timed = []
    for case in cases:
        if deadline.passed(0.82):
            print(f"attention: time is up after {len(timed)} of {len(cases)}")
            break
        try:
            sweep.time(case)
            timed.append(case)
        except Exception as error:
            print("FAILED", *astuple(case), short(error), flush=True)
        if torch.cuda.memory_reserved() > 90e9:
            torch.cuda.empty_cache()
    print(f"attention: timed {len(timed)} in {deadline.elapsed():.0f} s", flush=True)
    list_names(sweep, timed, deadline)
    print(f"attention: {sweep.rows.count} rows in {deadline.elapsed():.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
