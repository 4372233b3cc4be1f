#!/usr/bin/env python3
"""Norms of images in training, forward and backward: which kernels PyTorch launches, and how long each takes.

    python3 tools/collect/windows/norms.py --out results --budget-seconds 40

One table, `norms.csv`: a row for every kernel of a direction of a case. Cases are drawn by a fixed seed; `half` is by a hash of the case.
Times are the profiler's, the mean of two calls after one that is not counted. Parameters are in fp32, as under autocast.
"""

import argparse
import math
import os
import random
import sys
from dataclasses import dataclass

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.programs.catalogue import half_of  # noqa: E402
from collect.windows.rows import Deadline, Rows, attempt, card_name  # noqa: E402
from collect.windows.together import kernels_of, measure_all  # noqa: E402

COLUMNS = ["case", "half", "kind", "dtype", "layout", "batch", "channels", "side", "groups", "direction", "name", "grid", "block", "calls",
           "us", "card"]
MOST_ELEMENTS = 1e8


@dataclass(frozen=True)
class Case:
    kind: str  # batch | instance | group
    dtype: str
    layout: str
    batch: int
    channels: int
    side: tuple
    groups: int = 1

    @property
    def name(self):
        return (f"{self.kind} {self.dtype} {self.layout} {self.batch} {self.channels} {'x'.join(map(str, self.side))}"
                f"{f' g{self.groups}' if self.kind == 'group' else ''}")

    @property
    def half(self):
        return half_of(self.name)


def drawn(draw):
    kind = draw.choice(("batch", "batch", "batch", "instance", "group"))
    axes = draw.choice((2, 2, 2, 3, 1))
    side = {1: (draw.choice((1, 128, 400, 1000, 2048)),), 2: (draw.choice((1, 4, 7, 14, 28, 56, 112)),) * 2,
            3: (draw.choice((8, 16, 32, 48, 64)),) * 3}[axes]
    channels = draw.choice((16, 32, 48, 64, 96, 128, 256, 512, 1024))
    return Case(kind, draw.choice(("float32", "bfloat16", "float16")), draw.choice(("first", "first", "last")) if axes == 2 else "first",
                draw.choice((1, 2, 4, 16, 32, 64, 128)), channels, side, draw.choice((8, 16)) if kind == "group" else 1)


def cases(count):
    draw, found = random.Random(31), {}
    while len(found) < count:
        case = drawn(draw)
        elements = case.batch * case.channels * math.prod(case.side)
        enough = math.prod(case.side) > 1 and (case.batch > 1 or case.kind != "batch")
        if 1e4 < elements < MOST_ELEMENTS and enough:
            found[case.name] = case
    return list(found.values())


def prepared(case):
    """Its calls: forward, and backward over the gradients that autograd would hand on."""
    import torch
    from torch.nn import functional as f
    memory = torch.channels_last if case.layout == "last" else torch.contiguous_format
    make = lambda: torch.randn((case.batch, case.channels, *case.side), device="cuda",
                               dtype=getattr(torch, case.dtype)).contiguous(memory_format=memory)
    image, gradient = make().requires_grad_(), make()
    weight, bias = (torch.ones(case.channels, device="cuda", requires_grad=True) for _ in range(2))
    mean, variance = torch.zeros(case.channels, device="cuda"), torch.ones(case.channels, device="cuda")
    if case.kind == "group":
        weight, bias = (part.detach().to(image.dtype).requires_grad_() for part in (weight, bias))
    call = {"batch": lambda: f.batch_norm(image, mean, variance, weight, bias, True),
            "instance": lambda: f.instance_norm(image, None, None, weight, bias),
            "group": lambda: f.group_norm(image, case.groups, weight, bias)}[case.kind]
    result = call()
    backward = lambda: torch.autograd.grad(result, (image, weight, bias), gradient, retain_graph=True)
    return {"forward": call, "backward": backward}


def measure(group, rows, card):
    import torch
    ready = []
    for case in group:
        def warm(case):
            calls = prepared(case)
            for call in calls.values():
                call()
            torch.cuda.synchronize()
            ready.append((case, calls))
        attempt(warm, case)

    for place, direction, kernel in kernels_of([calls for _, calls in ready], after=torch.cuda.synchronize):
        case = ready[place][0]
        rows.add(case=case.name, half=case.half, kind=case.kind, dtype=case.dtype, layout=case.layout, batch=case.batch,
                 channels=case.channels, side="x".join(map(str, case.side)), groups=case.groups, direction=direction,
                 name=kernel["kernel"][:160], grid=kernel["grid"], block=kernel["block"], calls=kernel["calls"],
                 us=kernel["total_us"], card=card)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results")
    parser.add_argument("--budget-seconds", type=float, default=40.0)
    parser.add_argument("--cases", type=int, default=360)
    args = parser.parse_args()
    plan = cases(args.cases)
    deadline, rows, card = Deadline(args.budget_seconds), Rows(args.out, "norms", COLUMNS), card_name()
    measure_all(plan, lambda group: measure(group, rows, card), rows, deadline)


if __name__ == "__main__":
    main()
