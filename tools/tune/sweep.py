#!/usr/bin/env python3
"""Times every configuration of fused_moe.py for every shape, and the best of each shape again.

    python3 tools/tune/sweep.py --out results --budget-seconds 560

results/fused_moe.csv        one row a shape and configuration: us of each pass
results/fused_moe_again.csv  the best ones and the engines' defaults once more, in turns
results/fused_moe_binaries.csv  shared memory, registers and compile time of each binary

Started again with the same --out it goes on where it stopped: whole shapes are skipped. Times
are medians over replays of a CUDA graph of several launches, one launch's share, with the gap
between two launches in it. A configuration that takes over twice the best so far is timed once.
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
from shapes import LAYERS, TOKENS  # noqa: E402

PASSES = ("up", "down")
SHAPE = ["layer", "tokens", "hidden", "inter", "experts", "topk"]
COLUMNS = [*SHAPE, *configs.NAMES, "up_us", "down_us", "up_samples", "down_samples", "sm_mhz"]
AGAIN_COLUMNS = [*SHAPE, *configs.NAMES, "up_us", "down_us", "up_spread", "down_spread", "sm_mhz"]
AGAIN = 80  # the best of both passes together, and half as many of the first alone


def sweep_shape(bench, batch, wanted):
    """{configuration: (up us, down us, up samples, down samples, MHz)}"""
    best = dict.fromkeys(PASSES, float("inf"))
    found = {}
    for config in wanted:
        times = {}
        for which in PASSES:
            times[which] = bench.measure(batch.calls(which, config), best[which])
            best[which] = min(best[which], times[which][0])
        found[tuple(config.values())] = (*(times[p][0] for p in PASSES), *(times[p][1] for p in PASSES),
                                         bench.clock.read())
    return found


def again(bench, batch, found, defaults):
    """{configuration: (up us, down us, up spread, down spread, MHz)} of the best and the defaults."""
    chosen = sorted(found, key=lambda values: found[values][0] + found[values][1])[:AGAIN]
    chosen += sorted(found, key=lambda values: found[values][0])[:AGAIN // 2]
    chosen = list(dict.fromkeys(chosen + [tuple(config.values()) for config in defaults]))
    jobs = [(values, at, which) for values in chosen for at, which in enumerate(PASSES)]
    timed = bench.in_turns([batch.calls(which, configs.of(values)) for values, _, which in jobs],
                           [found[values][at] for values, at, _ in jobs])
    pairs = zip(timed[::2], timed[1::2], strict=True)
    return {values: (up[0], down[0], up[1], down[1], down[2])
            for values, (up, down) in zip(chosen, pairs, strict=True)}


def run_shape(bench, data, tokens, usable):
    """The rows of both files and a line for the reader."""
    layer = data.layer
    shape = [layer.name, tokens, layer.hidden, layer.inter, layer.experts, layer.topk]
    defaults = [rule(tokens, layer.experts) for rule in configs.DEFAULTS.values()]
    wanted = [config for config in configs.for_shape(tokens, layer.experts)
              if configs.without_group(config) in usable]
    random.Random(20261115).shuffle(wanted)
    batch = data.batch(tokens)
    for which in PASSES:
        bench.warm_up(batch.calls(which, defaults[0]))
    found = sweep_shape(bench, batch, wanted)
    more = again(bench, batch, found, defaults)
    rows = [[*shape, *values, f"{a:.2f}", f"{b:.2f}", *rest] for values, (a, b, *rest) in found.items()]
    again_rows = [[*shape, *values, f"{a:.2f}", f"{b:.2f}", f"{c:.4f}", f"{d:.4f}", mhz]
                  for values, (a, b, c, d, mhz) in more.items()]
    both = lambda values: more[values][0] + more[values][1]
    best = min(more, key=both)
    line = (f"{len(found)} configurations; default {both(tuple(defaults[0].values())):.1f} us, "
            f"best {both(best):.1f} us {best}")
    return rows, again_rows, line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    parser.add_argument("--budget-seconds", type=float, default=560)
    parser.add_argument("--processes", type=int, default=15)
    parser.add_argument("--tokens", type=int, nargs="*", default=TOKENS)
    parser.add_argument("--layers", nargs="*")
    options = parser.parse_args()
    began = time.monotonic()
    os.makedirs(options.out, exist_ok=True)
    path = lambda name: os.path.join(options.out, name)
    usable = binaries.prepare(options.out, options.processes)
    from bench import Bench
    from layer_data import LayerData
    bench, longest = Bench(), 10.0
    done = results.finished(path("fused_moe_again.csv"), ("layer", "tokens"))
    for layer in LAYERS:
        if options.layers and layer.name not in options.layers:
            continue
        todo = [tokens for tokens in options.tokens if (layer.name, str(tokens)) not in done]
        data = LayerData(layer) if todo else None
        for tokens in todo:
            start = time.monotonic()
            if options.budget_seconds - (start - began) < 1.5 * longest:
                print(f"time is up at {layer.name} {tokens}", flush=True)
                return 0
            rows, again_rows, line = run_shape(bench, data, tokens, usable)
            results.append(path("fused_moe.csv"), COLUMNS, rows)
            results.append(path("fused_moe_again.csv"), AGAIN_COLUMNS, again_rows)
            longest = time.monotonic() - start
            print(f"{layer.name} {tokens}: {longest:.1f} s, {line}", flush=True)
        del data
    print("the sweep is complete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
