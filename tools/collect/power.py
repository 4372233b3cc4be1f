#!/usr/bin/env python3
"""What the card draws: mean power of kernels, decode and prefill steps under steady load.

    python3 tools/collect/power.py --out h200_power.csv

Each case is replayed from a CUDA graph: a second to settle, then 1.8 s between two readings of
the card's energy counter (nvmlDeviceGetTotalEnergyConsumption, millijoules), which unlike its
power reading has no window to lag behind in. Columns: time of one call, watts, SM clock (median),
operations and bytes of a call by count, and the share of the time that the card was busy: cases
that end in 0.5 or 0.25 pause between bursts of about 12 ms.
"""

import argparse
import csv
import ctypes
import os
import sys
import time

import torch
import torch.nn.functional as functional

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from collect.sensors import SM_CLOCK, Sensors  # noqa: E402

SETTLE_SECONDS, MEASURE_SECONDS, BURST_SECONDS = 1.0, 1.8, 6e-3


class Card(Sensors):
    def joules(self):
        value = ctypes.c_ulonglong()
        self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle, ctypes.byref(value))
        return value.value / 1e3

    def clock(self):
        return self._clock(SM_CLOCK)


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def captured(calls):
    """A graph of the calls in turn, some milliseconds long, and how many it holds."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    began = time.time()
    for call in calls:
        call()
    torch.cuda.synchronize()
    each = (time.time() - began) / len(calls)
    count = max(len(calls), min(400, int(BURST_SECONDS / max(each, 1e-6))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(count):
            calls[i % len(calls)]()
    return graph, count


def loop(card, graph, share, seconds):
    """(replays, busy seconds, seconds, joules, MHz) of a loop that is busy for `share` of it."""
    replays, busy, clocks = 0, 0.0, []
    began, joules = time.time(), card.joules()
    while time.time() - began < seconds:
        start = time.time()
        graph.replay()
        graph.replay()
        clocks.append(card.clock())
        torch.cuda.synchronize()
        took = time.time() - start
        replays, busy = replays + 2, busy + took
        if share < 1:
            time.sleep(took * (1 / share - 1))
    return replays, busy, time.time() - began, card.joules() - joules, sorted(clocks)[len(clocks) // 2]


def run(card, write, name, calls, ops, moved, share=1.0):
    graph, count = captured(calls)
    loop(card, graph, share, SETTLE_SECONDS)
    replays, busy, seconds, joules, clock = loop(card, graph, share, MEASURE_SECONDS)
    write([name, round(busy / replays / count * 1e6, 2), round(joules / seconds, 1), clock, ops, moved,
           round(busy / seconds, 3)])


def streams(card, write):
    n = 1 << 28
    a, b, c = random(n), random(n), random(n)
    for share in (1.0, 0.5, 0.25):
        name = "add" if share == 1 else f"add{share:g}"
        run(card, write, name, [lambda: torch.add(a, b, out=c)], 0, 6 * n, share)
    run(card, write, "copy", [lambda: c.copy_(a)], 0, 4 * n)
    a.zero_(), b.zero_()
    run(card, write, "add_zeros", [lambda: torch.add(a, b, out=c)], 0, 6 * n)
    small = [random(1 << 22) for _ in range(3)]
    run(card, write, "add_in_l2", [lambda: torch.add(small[0], small[1], out=small[2])], 0, 0)


def product(card, write, m, k, n, dtype="bf16", share=1.0):
    x, size = random(m, k), 2
    weights = [random(n, k) for _ in range(max(2, int(3e8 / (k * n)) + 1))]  # more than L2 holds
    calls = [lambda w=w: torch.mm(x, w.t()) for w in weights]
    if dtype == "fp8":
        size, x, one = 1, x.to(torch.float8_e4m3fn), torch.ones((), device="cuda")
        weights = [w.to(torch.float8_e4m3fn) for w in weights]
        calls = [lambda w=w: torch._scaled_mm(x, w.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
                 for w in weights]
    name = f"gemm_{dtype}_{m}x{k}x{n}" + ("" if share == 1 else f"_d{share:g}")
    run(card, write, name, calls, 2 * m * k * n, (m * k + k * n) * size + 2 * m * n, share)


def attention(card, write, batch, queries, keys):
    q, k, v = random(batch, 32, queries, 128), random(batch, 8, keys, 128), random(batch, 8, keys, 128)
    causal = queries > 1
    run(card, write, f"attn_{batch}x{queries}x{keys}",
        [lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)],
        4 * batch * 32 * queries * keys * 128 // (2 if causal else 1), 4 * (q.numel() + k.numel()))


def model_steps(card, write):
    """Products, norms and attention of Llama 3.1 8B's layers; keys of four layers take turns."""
    hidden, inter, layers = 4096, 14336, 32
    weights = [(random(6144, hidden), random(hidden, hidden), random(2 * inter, hidden), random(hidden, inter))
               for _ in range(layers)]
    parameters = layers * (6144 * hidden + hidden * hidden + 3 * inter * hidden)

    def step(batch, queries, keys):
        x = random(batch * queries, hidden) * 0.1
        cache = [(random(batch, 8, keys, 128), random(batch, 8, keys, 128)) for _ in range(4)]
        causal = queries > 1

        def forward():
            y = x
            for i, (qkv, output, gate_up, down) in enumerate(weights):
                z = functional.rms_norm(y, (hidden,)) @ qkv.t()
                q = z[:, :hidden].view(batch, queries, 32, 128).transpose(1, 2)
                o = functional.scaled_dot_product_attention(q, *cache[i % 4], is_causal=causal, enable_gqa=True)
                y = y + o.transpose(1, 2).reshape(batch * queries, hidden) @ output.t()
                g = functional.rms_norm(y, (hidden,)) @ gate_up.t()
                y = y + (functional.silu(g[:, :inter]) * g[:, inter:]) @ down.t()
            return y

        pairs = layers * 4 * batch * 32 * queries * keys * 128 // (2 if causal else 1)
        run(card, write, f"llama8b_{batch}x{queries}x{keys}", [forward], 2 * parameters * batch * queries + pairs,
            2 * parameters + layers * 4 * batch * 8 * keys * 128)

    for shape in ((1, 1, 2048), (8, 1, 2048), (32, 1, 2048), (128, 1, 2048), (256, 1, 1024),
                  (1, 256, 256), (1, 1024, 1024), (4, 2048, 2048)):
        step(*shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="h200_power.csv")
    options = parser.parse_args()
    card = Card()
    with open(options.out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")

        def write(row):
            writer.writerow(row)
            file.flush()
            print(*row, flush=True)

        write(["case", "us", "watts", "mhz", "ops", "bytes", "busy"])
        time.sleep(1.5)
        joules, began = card.joules(), time.time()
        time.sleep(2)
        write(["idle", 0, round((card.joules() - joules) / (time.time() - began), 1), card.clock(), 0, 0, 0])
        streams(card, write)
        for rows in (1, 8, 32, 64, 128, 256, 512, 2048, 8192):
            product(card, write, rows, 8192, 8192)
        product(card, write, 4096, 4096, 4096)
        product(card, write, 128, 4096, 28672)
        product(card, write, 16384, 1024, 16384)
        for share in (0.5, 0.25):
            product(card, write, 8192, 8192, 8192, share=share)
        for rows in (32, 256, 8192):
            product(card, write, rows, 8192, 8192, "fp8")
        attention(card, write, 4, 4096, 4096)
        attention(card, write, 64, 1, 4096)
        model_steps(card, write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
