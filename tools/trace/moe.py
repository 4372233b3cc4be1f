#!/usr/bin/env python3
"""Records a mixture-of-experts model before and after its kernel was tuned, for docs/walkthrough.md.

    tilecast tune fused-moe --gpu H200 --tokens 64,8192 --experts 128 --hidden 4096 --inter 1536 --tp 2 --topk 8 -o tuned
    python3 tools/trace/moe.py --out traces --tuned tuned=tuned/E=128,N=768,device_name=NVIDIA_H200.json

A prefill of 4 x 2048 tokens and a decode step of 64 sequences, once with each engine's default
configuration and, with --tuned, once with the file's. Writes a PyTorch profiler trace of each, and moe_steps.csv:
ms of every step, plain launches and as a CUDA graph, all variants in turns so that they meet the
same clocks.
"""

import argparse
import csv
import json
import os
import statistics
import sys

import torch

import moe_model
from moe_model import EXPERTS, RANK, MoeDecoder, route
from record import record

import configs
from collect.models import inference
from collect.models.clock import capture, event
from collect.sensors import Sensors, describe

STEPS = {"prefill": (4, 2048), "decode": (64, 2048)}  # sequences, tokens of each
ROUNDS, WARM_ROUNDS = 15, 3
COLUMNS = ["variant", "step", "runtime", "ms", "lowest_ms", "highest_ms", "sm_mhz", "watts"]


def from_file(path):
    """The entry nearest to the tokens, as vLLM takes it."""
    with open(path) as file:
        table = {int(tokens): config for tokens, config in json.load(file).items()}
    return lambda tokens, _experts: table[min(table, key=lambda known: abs(known - tokens))]


def variants(tuned):
    """{name: (choice of a configuration, attention of the prefill)}"""
    found = {f"{engine}_default": (choose, "flash") for engine, choose in configs.DEFAULTS.items()}
    for name, path in tuned.items():
        found[name] = (from_file(path), "flash")
        found[name + "_cudnn"] = (from_file(path), "cudnn")
    return found


def steps_of(model, cache, attention):
    """{step: call}"""

    def make(mode, batch, length):
        request = inference.Request(RANK, mode, batch, length, cache)

        def run():
            inference.allow_attention(attention if mode == "prefill" else "flash")
            return model(request)
        return run
    return {mode: make(mode, *size) for mode, size in STEPS.items()}


def in_turns(calls, head_start):
    """{name: [(ms, MHz, W)]}, one call of each per round."""
    sensors, start, end = Sensors(), event(), event()
    samples = {name: [] for name in calls}
    for turn in range(WARM_ROUNDS + ROUNDS):
        for name, call in calls.items():
            if head_start:
                torch.cuda._sleep(200_000)
            start.record()
            call()
            end.record()
            mhz, _, watts, _ = sensors.read()
            torch.cuda.synchronize()
            if turn >= WARM_ROUNDS:
                samples[name].append((start.elapsed_time(end), mhz or 0, watts or 0))
    return samples


def times_of(calls):
    """Rows of COLUMNS of {variant: {step: call}}."""
    flat = {(variant, step): call for variant, steps in calls.items() for step, call in steps.items()}
    graphs = {name: capture(call) for name, call in flat.items()}
    both = {"eager": in_turns(flat, False),
            "graph": in_turns({name: graph.replay for name, graph in graphs.items()}, True)}
    for runtime, found in both.items():
        for (variant, step), samples in found.items():
            ms = sorted(sample[0] for sample in samples)
            yield [variant, step, runtime, f"{statistics.median(ms):.4f}", f"{ms[0]:.4f}", f"{ms[-1]:.4f}",
                   round(statistics.mean(sample[1] for sample in samples)),
                   round(statistics.mean(sample[2] for sample in samples))]


class Watched(MoeDecoder):
    """Notes how uneven each layer's routing is: tokens of the busiest expert over the mean."""

    def experts(self, layer, x):
        _, chosen = route(layer, x)
        count = torch.bincount(chosen.flatten(), minlength=EXPERTS)
        print(f"busiest expert over mean: {count.max() * EXPERTS / chosen.numel():.2f}", flush=True)
        return super().experts(layer, x)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--tuned", action="append", default=[], metavar="NAME=FILE",
                        help="NAME=FILE of `tilecast tune -o`; again for more")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    torch.manual_seed(20261115)
    print(describe(), flush=True)
    with torch.no_grad():
        weights = moe_model.weights_of(RANK)
        size = max(RANK.cache_bytes(*size) for size in STEPS.values())
        cache = torch.empty(size // 2, dtype=torch.bfloat16, device="cuda").normal_()
        steps_of(Watched(weights, configs.default_by_tokens), cache, "flash")["prefill"]()
        ready = {}
        for name, (choose, attention) in variants(dict(one.split("=", 1) for one in options.tuned)).items():
            steps = steps_of(MoeDecoder(weights, choose), cache, attention)
            try:
                record("moe_" + name, steps, options.out)
                ready[name] = steps
            except RuntimeError as error:  # a backend that refuses the shape must not hide the others
                print(f"{name}: {' '.join(str(error).split())[:300]}", flush=True)
        with open(os.path.join(options.out, "moe_steps.csv"), "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for row in times_of(ready):
                writer.writerow(row)
                print(*row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
