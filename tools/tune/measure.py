#!/usr/bin/env python3
"""Times given configurations of the fused-MoE kernel for one layer, for `tilecast tune --measure`.

    python3 tools/tune/measure.py --tokens 64 --hidden 2048 --inter 768 --experts 128 --topk 8 \\
        16,64,128,1,4,4 32,64,128,1,4,3

A configuration is BLOCK_SIZE_M,BLOCK_SIZE_N,BLOCK_SIZE_K,GROUP_SIZE_M,num_warps,num_stages. One
line each: the configuration and us of the pass asked for, or `failed` and why. Protocol as in
sweep.py, all configurations in turns.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import configs  # noqa: E402
from shapes import Layer  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("tokens", "hidden", "inter", "experts", "topk"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--pass", dest="which", choices=("up", "down", "both"), default="both")
    parser.add_argument("config", nargs="+")
    options = parser.parse_args()
    from layer_data import LayerData
    from bench import Bench
    bench = Bench()
    layer = Layer("given", options.experts, options.topk, options.hidden, options.inter)
    batch = LayerData(layer).batch(options.tokens)
    passes = ("up", "down") if options.which == "both" else (options.which,)
    ready, problems = {}, {}
    for text in options.config:
        try:
            ready[text] = try_out(bench, batch, passes, configs.of(map(int, text.split(","))))
        except Exception as error:  # a configuration that cannot run must not hide the others
            problems[text] = " ".join(str(error).split())[:200]
    timed = iter(bench.in_turns([calls for parts in ready.values() for calls, _ in parts],
                                [guess for parts in ready.values() for _, guess in parts]))
    us = {text: sum(next(timed)[0] for _ in parts) for text, parts in ready.items()}
    for text in options.config:
        print(text, f"{us[text]:.2f}" if text in us else f"failed {problems[text]}")
    return 0


def try_out(bench, batch, passes, config):
    """(calls, us of one) of each pass; compiles on the way."""
    parts = []
    for which in passes:
        calls = batch.calls(which, config)
        bench.warm_up(calls, 0.02)
        parts.append((calls, bench.once(calls)))
    return parts


if __name__ == "__main__":
    sys.exit(main())
