#!/usr/bin/env python3
"""Convolutions of all kinds, their gradients by data and by filter: which kernels PyTorch launches, and how long each takes.

    python3 tools/collect/windows/convolutions.py --out results --budget-seconds 90

One table, `convolutions.csv`: a row for every kernel of a direction of a case. Cases are drawn by a fixed seed, kinds in turn, so that a
run cut short has some of each; `half` is by a hash of the case. Times are the profiler's, the mean of two calls after one that is not counted.
"""

import argparse
import hashlib
import math
import os
import random
import sys
import tempfile
from dataclasses import dataclass, field

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.programs import profiled  # noqa: E402
from collect.windows.rows import Deadline, Rows, attempt, card_name  # noqa: E402

COLUMNS = ["case", "half", "kind", "dtype", "layout", "batch", "inputs", "outputs", "side", "kernel", "stride", "padding",
           "dilation", "groups", "transposed", "direction", "name", "grid", "block", "calls", "us", "peak_bytes", "card"]
DTYPES = ("float32", "float16", "bfloat16")
DIRECTIONS = ("forward", "data", "filter")
COUNTED, TOGETHER = 2, 12  # calls of a direction; cases in one profile
MOST_ELEMENTS, MOST_OPERATIONS = 3e7, 4e11


@dataclass(frozen=True)
class Case:
    kind: str
    dtype: str
    layout: str  # first | last
    batch: int
    inputs: int
    outputs: int
    side: tuple
    kernel: tuple
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1
    transposed: bool = False

    @property
    def name(self):
        shown = lambda sizes: "x".join(str(size) for size in sizes)
        return (f"{self.kind} {self.dtype} {self.layout} {self.batch} {self.inputs}>{self.outputs} {shown(self.side)} "
                f"k{shown(self.kernel)} s{self.stride} p{self.padding} d{self.dilation} g{self.groups}")

    @property
    def half(self):
        return "choose" if hashlib.sha256(self.name.encode()).digest()[0] % 2 == 0 else "judge"

    def results(self):
        if self.transposed:
            return tuple((size - 1) * self.stride - 2 * self.padding + self.dilation * (taps - 1) + 1
                         for size, taps in zip(self.side, self.kernel))
        return tuple((size + 2 * self.padding - self.dilation * (taps - 1) - 1) // self.stride + 1
                     for size, taps in zip(self.side, self.kernel))

    def is_small(self):
        results = self.results()
        if min(results) < 1:
            return False
        inside, outside = math.prod(self.side), math.prod(results)
        positions = inside if self.transposed else outside
        operations = 2 * self.batch * positions * math.prod(self.kernel) * self.inputs * self.outputs / self.groups
        elements = self.batch * max(inside * self.inputs, outside * self.outputs)
        return elements <= MOST_ELEMENTS and 1e7 <= operations <= MOST_OPERATIONS


def _channels(draw):
    return draw.choice((16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 768, 1024))


def _common(draw):
    return {"dtype": draw.choice(DTYPES), "batch": draw.choice((1, 4, 8, 16, 32, 64, 128))}


def flat(draw):
    taps = draw.choice((1, 3, 3, 3, 5, 7))
    dilation = draw.choice((1, 1, 1, 2))
    inputs = draw.choice((3, 3, *(_channels(draw) for _ in range(8))))
    return Case("2d", layout=draw.choice(("first", "last")), inputs=inputs, outputs=_channels(draw),
                side=(draw.choice((7, 14, 28, 56, 112, 32, 64, 128)),) * 2, kernel=(taps,) * 2,
                stride=draw.choice((1, 1, 2)), padding=dilation * (taps // 2), dilation=dilation, **_common(draw))


def line(draw):
    taps, dilation = draw.choice((1, 3, 3, 5, 9)), draw.choice((1, 1, 2, 4, 16))
    return Case("1d", layout="first", inputs=_channels(draw), outputs=_channels(draw),
                side=(draw.choice((256, 500, 1000, 2048, 4000, 16000)),), kernel=(taps,), stride=draw.choice((1, 1, 2)),
                padding=dilation * (taps // 2), dilation=dilation, **_common(draw))


def volume(draw):
    taps, side = draw.choice((1, 3, 3, 3)), draw.choice((8, 14, 16, 24, 32, 48, 64))
    deep = draw.choice((side, side, 4, 8, 16))
    inputs = draw.choice((1, 3, *(_channels(draw) for _ in range(6))))
    return Case("3d", layout=draw.choice(("first", "first", "last")), inputs=inputs, outputs=_channels(draw),
                side=(deep, side, side), kernel=(taps,) * 3, stride=draw.choice((1, 1, 2)), padding=taps // 2,
                **_common(draw))


def transposed(draw):
    taps, stride, padding = draw.choice(((4, 2, 1), (2, 2, 0), (3, 1, 1), (4, 1, 0), (5, 2, 2)))
    axes = draw.choice((2, 2, 3, 1))
    return Case("transposed", layout=draw.choice(("first", "first", "last")) if axes == 2 else "first",
                inputs=_channels(draw), outputs=_channels(draw),
                side=(draw.choice((4, 8, 16, 32, 64) if axes > 1 else (256, 1024, 4000)),) * axes, kernel=(taps,) * axes,
                stride=stride, padding=padding, transposed=True, **_common(draw))


def grouped(draw):
    groups, each = draw.choice((2, 4, 8, 16, 32)), draw.choice((4, 8, 16, 24, 32, 48, 64))
    axes, taps = draw.choice((2, 2, 1)), draw.choice((1, 3, 3, 5))
    if axes == 1:
        taps = draw.choice((3, 9, 31, 128))
    side = (draw.choice((14, 28, 56)),) * 2 if axes == 2 else (draw.choice((500, 1000, 4000)),)
    return Case("grouped", layout=draw.choice(("first", "last")) if axes == 2 else "first", inputs=groups * each,
                outputs=groups * each, side=side, kernel=(taps,) * axes, stride=draw.choice((1, 1, 2)), padding=taps // 2,
                groups=groups, **_common(draw))


def depthwise(draw):
    channels, taps = _channels(draw), draw.choice((3, 3, 5, 7))
    return Case("depthwise", layout=draw.choice(("first", "last")), inputs=channels, outputs=channels,
                side=(draw.choice((7, 14, 28, 56, 112)),) * 2, kernel=(taps,) * 2, stride=draw.choice((1, 1, 2)),
                padding=taps // 2, groups=channels, **_common(draw))


KINDS = (flat, line, volume, transposed, grouped, depthwise)


def cases(count):
    draw, found, names = random.Random(7), [], set()
    while len(found) < count:
        case = KINDS[len(found) % len(KINDS)](draw)
        if case.is_small() and case.name not in names:
            names.add(case.name)
            found.append(case)
    return found


@dataclass
class Prepared:
    """A case's tensors and its calls by direction."""
    case: Case
    calls: dict = field(default_factory=dict)
    peaks: dict = field(default_factory=dict)


def prepared(case):
    import torch
    dtype, axes = getattr(torch, case.dtype), len(case.side)
    memory = {(2, "last"): torch.channels_last, (3, "last"): torch.channels_last_3d}.get((axes, case.layout),
                                                                                         torch.contiguous_format)
    make = lambda *shape: torch.randn(shape, device="cuda", dtype=dtype).contiguous(memory_format=memory)
    image = make(case.batch, case.inputs, *case.side)
    ends = (case.inputs, case.outputs) if case.transposed else (case.outputs, case.inputs)
    weight = make(ends[0], ends[1] // case.groups, *case.kernel)
    every = lambda number: [number] * axes
    words = (every(case.stride), every(case.padding), every(case.dilation), case.transposed, every(0), case.groups)
    gradient = make(case.batch, case.outputs, *case.results())
    backward = lambda mask: torch.ops.aten.convolution_backward(gradient, image, weight, None, *words, mask)
    return Prepared(case, {"forward": lambda: torch.ops.aten.convolution(image, weight, None, *words),
                           "data": lambda: backward([True, False, False]),
                           "filter": lambda: backward([False, True, False])})


def measure(group, rows, card):
    """Profiles the cases of a group together: calls are marked by case and direction."""
    import torch
    ready = []
    for case in group:
        def warm(case):
            made = prepared(case)
            for direction, call in made.calls.items():
                torch.cuda.reset_peak_memory_stats()
                before = torch.cuda.memory_allocated()
                call()
                torch.cuda.synchronize()
                made.peaks[direction] = torch.cuda.max_memory_allocated() - before
            ready.append(made)
        attempt(warm, case)

    def step(mark):
        for place, made in enumerate(ready):
            for direction, call in made.calls.items():
                mark(f"{place}:{direction}")
                for _ in range(COUNTED):
                    call()
    path = os.path.join(tempfile.mkdtemp(), "trace.json")
    events = profiled.timed_events(profiled.profile(step, 1, path))
    profiled.remove(path)
    for row in profiled.grouped(events, COUNTED):
        if not row["phase"]:
            continue
        place, direction = row["phase"].split(":")
        made = ready[int(place)]
        case = made.case
        rows.add(case=case.name, half=case.half, kind=case.kind, dtype=case.dtype, layout=case.layout, batch=case.batch,
                 inputs=case.inputs, outputs=case.outputs, side="x".join(map(str, case.side)),
                 kernel="x".join(map(str, case.kernel)), stride=case.stride, padding=case.padding, dilation=case.dilation,
                 groups=case.groups, transposed=int(case.transposed), direction=direction, name=row["kernel"][:160],
                 grid=row["grid"], block=row["block"], calls=row["calls"], us=row["total_us"],
                 peak_bytes=made.peaks[direction], card=card)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results")
    parser.add_argument("--budget-seconds", type=float, default=90.0)
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    plan = cases(args.cases)
    if args.list:
        for case in plan:
            print(case.half, case.name)
        return
    deadline, rows, card = Deadline(args.budget_seconds), Rows(args.out, "convolutions", COLUMNS), card_name()
    for first in range(0, len(plan), TOGETHER):
        if deadline.passed():
            break
        measure(plan[first:first + TOGETHER], rows, card)
    print(f"{rows.count} kernels of {min(first + TOGETHER, len(plan))} cases, {deadline.elapsed():.1f} s", flush=True)


if __name__ == "__main__":
    main()
