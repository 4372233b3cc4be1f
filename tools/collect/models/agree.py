#!/usr/bin/env python3
"""Checks that the fused and the plain operators compute the same function, at small sizes.

    python3 tools/collect/models/agree.py

Also that a decode step after a prefill gives what a longer prefill gives.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.models import plan, shapes  # noqa: E402

TOLERANCE = 3e-2  # bf16 through two layers
BATCH, LENGTH = 3, 80


def distance(a, b):
    return ((a.double() - b.double()).norm() / b.double().norm()).item()


def check(name):
    import torch
    from collect.models import inference
    shape = shapes.tiny(shapes.SHAPES[name])
    inference.allow_attention("flash")
    weights = inference.Weights(shape)
    fused, plain = inference.Fused(weights), inference.Plain(weights)
    size = shape.cache_bytes(BATCH, LENGTH) // 2
    caches = [torch.full((size,), float("nan"), dtype=torch.bfloat16, device="cuda")
              for _ in range(2)]
    long = [inference.Request(shape, "prefill", BATCH, LENGTH, cache) for cache in caches]
    long[1].ids = long[0].ids
    by_fused, by_plain = fused(long[0])[0], plain(long[1])[0]
    found = {"prefill": distance(by_fused, by_plain),
             "keys": distance(long[0].keys[1], long[1].keys[1]),
             "values": distance(long[0].values[1], long[1].values[1])}
    for model, request, expected in ((fused, long[0], by_fused), (plain, long[1], by_plain)):
        for part in request.keys + request.values:
            part[:, -1] = float("nan")  # the step has to write the last token itself
        cache = caches[0] if request is long[0] else caches[1]
        short = inference.Request(shape, "decode", BATCH, LENGTH, cache)
        short.ids = long[0].ids.view(BATCH, LENGTH)[:, -1].contiguous()
        found[f"decode {type(model).__name__}"] = distance(model(short)[0], expected)
        short.ids = (short.ids + 1) % shape.vocab
        assert distance(model(short)[0], expected) > 0.1, "another token, yet the same result"
    return found


def main():
    import torch
    torch.manual_seed(1)
    good = True
    with torch.no_grad():
        for name in plan.LANGUAGE_MODELS:
            found = check(name)
            print(name, *(f"{what} {value:.1e}" for what, value in found.items()), flush=True)
            good = good and all(value < TOLERANCE for value in found.values())
    print("agree" if good else "DISAGREE")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
