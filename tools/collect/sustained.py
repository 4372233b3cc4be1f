#!/usr/bin/env python3
"""How far clocks fall under steady load: runs a few kernels for seconds each.

    python3 tools/collect/sustained.py --out h200_sustained.csv

The sweep times bursts of some milliseconds; a training run keeps the card at its power limit.
For each case the time per launch in the first 20 ms after a pause and in the last half of the
run, with the clock and power the card reported then.
"""

import argparse
import csv
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from collect.case import make  # noqa: E402

COLUMNS = ["kernel_source", "family", "dtype", "dims", "runtime", "warmth", "burst_us",
           "steady_us", "burst_mhz", "steady_mhz", "steady_watts", "seconds"]


def cases():
    for dtype, side in [("bf16", 2048), ("bf16", 4096), ("bf16", 8192), ("bf16", 16384),
                        ("fp16", 8192), ("fp8", 8192), ("tf32", 4096), ("fp32", 4096)]:
        yield make("gemm", dtype, "cublas", m=side, n=side, k=side)
    yield make("gemm", "bf16", "cublas", m=64, n=8192, k=8192)
    yield make("gemm", "bf16", "cublas", m=512, n=8192, k=8192)
    for source in ["flash_attention_2", "cudnn"]:
        yield make("attention_prefill", "bf16", source, batch=4, q_len=4096, kv_len=4096,
                   heads=32, kv_heads=32, head_dim=128, causal=1)
    yield make("elementwise", "bf16", "torch", elements=1 << 28, inputs=2, op="add")
    yield make("rmsnorm", "bf16", "torch", rows=16384, cols=8192)


def run_case(case, timer, data, work, layout, sensors, seconds):
    import torch
    data.reset()
    calls = [work.build(case, data) for _ in range(layout.of(case).sets)]
    timer.warm_up(calls)
    copies = layout.Layout(len(calls), max(len(calls), layout.of(case).copies), False)
    graph = timer.capture(calls, copies)
    graph.replay()
    torch.cuda.synchronize()
    time.sleep(0.5)  # let the card cool down from the last case
    samples, began = [], time.monotonic()
    while time.monotonic() - began < seconds:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(4):
            graph.replay()
        end.record()
        mhz, _, watts, _ = sensors.read()
        end.synchronize()
        samples.append((time.monotonic() - began, 1e3 * start.elapsed_time(end) / 4
                        / copies.copies, mhz, watts))
    graph.reset()
    return summary(samples, seconds)


def summary(samples, seconds):
    burst = [sample for sample in samples if sample[0] < 0.02] or samples[:1]
    steady = [sample for sample in samples if sample[0] > seconds / 2] or samples[-1:]
    middle = lambda part, index: statistics.median(sample[index] for sample in part)
    return [f"{middle(burst, 1):.3f}", f"{middle(steady, 1):.3f}", middle(burst, 2),
            middle(steady, 2), middle(steady, 3), seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="h200_sustained.csv")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of each run")
    options = parser.parse_args()
    from collect import data, layout, sensors, timing, work
    timer, arenas, card = timing.Timer(), data.Data(), sensors.Sensors()
    with open(options.out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for case in cases():
            try:
                row = run_case(case, timer, arenas, work, layout, card, options.seconds)
            except Exception as error:
                print("FAILED", *case.key, str(error)[:150])
                continue
            writer.writerow([*case.key[:6], *row])
            file.flush()
            print(*case.key, *row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
