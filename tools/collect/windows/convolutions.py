#!/usr/bin/env python3
"""Convolutions of all kinds, their gradients by data and by filter: which kernels PyTorch launches, and how long each takes.

    python3 tools/collect/windows/convolutions.py --out results --budget-seconds 90
    python3 tools/collect/windows/convolutions.py --set layers --out results --budget-seconds 240

One table, `convolutions.csv` or `convolution_layers.csv`: a row for every kernel of a direction of a case. Cases are drawn by a fixed seed,
kinds in turn, so that a run cut short has some of each: shapes of any kind, or (`layers`) such as networks have, where cuDNN's choice among
its engines is to be seen. `half` is by a hash of the case. Times are the profiler's, the mean of two calls after one that is not counted.
"""

import argparse
import math
import os
import random
import sys
from dataclasses import dataclass, field

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.programs.catalogue import half_of  # noqa: E402
from collect.windows.rows import Deadline, Rows, attempt, card_name  # noqa: E402
from collect.windows.together import kernels_of, measure_all  # noqa: E402

COLUMNS = ["case", "half", "kind", "dtype", "layout", "batch", "inputs", "outputs", "side", "kernel", "stride", "padding",
           "dilation", "groups", "transposed", "direction", "name", "grid", "block", "calls", "us", "peak_bytes", "card"]
DTYPES = ("float32", "float16", "bfloat16")
DIRECTIONS = ("forward", "data", "filter")
MOST_ELEMENTS, LEAST_OPERATIONS, MOST_OPERATIONS = 3e7, 1e7, 4e11


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
        return half_of(self.name)

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
        return elements <= MOST_ELEMENTS and LEAST_OPERATIONS <= operations <= MOST_OPERATIONS


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


def grouped_layer(draw):
    """Bottlenecks in groups: the width of a group, how many there are, and the image go together."""
    each = draw.choice((4, 8, 8, 16, 16, 24, 32, 32, 40, 48, 56, 64, 64, 72, 80, 112, 128))
    groups = draw.choice([n for n in (2, 3, 4, 6, 8, 9, 14, 16, 18, 32, 64) if 32 <= n * each <= 2048])
    return Case("grouped", layout=draw.choice(("first", "last")), inputs=groups * each, outputs=groups * each,
                side=(draw.choice((7, 14, 14, 28, 28, 56, 112)),) * 2, kernel=(3, 3), stride=draw.choice((1, 1, 1, 2)),
                padding=1, groups=groups, **_common(draw))


def grouped_line(draw):
    each = draw.choice((8, 16, 32, 48, 64))
    groups = draw.choice([n for n in (2, 4, 8, 16, 32) if n * each <= 1024])
    taps = draw.choice((3, 5, 15, 31, 63, 128))
    return Case("grouped", layout="first", inputs=groups * each, outputs=groups * each,
                side=(draw.choice((128, 250, 499, 750, 1500, 3000)),), kernel=(taps,), padding=taps // 2, groups=groups,
                **_common(draw))


def flat_layer(draw):
    """Plain convolutions whose channels are any multiple of eight, many or few."""
    taps = draw.choice((1, 1, 3, 3, 3, 5))
    channels = lambda: draw.choice((8, 16, 24, 32, 40, 48, 56, 64, 72, 88, 96, 112, 120, 136, 160, 184, 200, 224, 256, 288,
                                    352, 416, 480, 512, 640, 736, 896, 1024, 1536, 2048))
    return Case("2d", layout=draw.choice(("first", "last")), inputs=channels(), outputs=channels(),
                side=(draw.choice((7, 14, 28, 56, 112, 16, 32, 64)),) * 2, kernel=(taps,) * 2, padding=taps // 2,
                stride=draw.choice((1, 1, 1, 2)), **_common(draw))


def first_layer(draw):
    """An image of few channels, or its patches."""
    taps, stride, padding = draw.choice(((3, 1, 1), (3, 2, 1), (7, 2, 3), (5, 1, 2), (4, 4, 0), (8, 8, 0), (14, 14, 0),
                                         (16, 16, 0), (32, 32, 0)))
    return Case("2d", layout=draw.choice(("first", "last")), inputs=draw.choice((1, 3, 3, 3, 4)),
                outputs=draw.choice((16, 24, 32, 64, 96, 192, 384, 768, 1024) if stride > 2 else (16, 24, 32, 48, 64, 96)),
                side=(draw.choice((32, 64, 128, 224, 256)),) * 2, kernel=(taps,) * 2, stride=stride, padding=padding,
                **_common(draw))


def last_layer(draw):
    """Few channels come out."""
    taps = draw.choice((1, 3, 3, 7))
    return Case("2d", layout=draw.choice(("first", "last")), inputs=draw.choice((16, 32, 64, 128, 256)),
                outputs=draw.choice((1, 2, 3, 3, 4, 12, 21)), side=(draw.choice((28, 32, 64, 128, 256)),) * 2,
                kernel=(taps,) * 2, padding=taps // 2, **_common(draw))


def squeezed_layer(draw):
    """Images of one position: scales of channels."""
    wide = draw.choice((32, 64, 96, 144, 240, 480, 576, 672, 960, 1152))
    narrow = draw.choice((8, 16, 24, 32, 56, 112, 232))
    ends = draw.choice(((wide, narrow), (narrow, wide)))
    return Case("2d", layout=draw.choice(("first", "last")), inputs=ends[0], outputs=ends[1], side=(1, 1), kernel=(1, 1),
                **_common(draw))


def line_layer(draw):
    """Sound: long lines of few channels, dilated or in steps."""
    taps, stride = draw.choice(((2, 1), (3, 1), (3, 1), (3, 2), (7, 1), (10, 5), (8, 4), (1, 1)))
    dilation = draw.choice((1, 1, 2, 8, 64)) if stride == 1 and taps > 1 else 1
    channels = lambda: draw.choice((32, 64, 80, 128, 256, 512))
    return Case("1d", layout="first", inputs=draw.choice((1, channels(), channels(), channels())), outputs=channels(),
                side=(draw.choice((400, 1500, 3000, 8000, 24000)),), kernel=(taps,), stride=stride,
                padding=dilation * (taps // 2), dilation=dilation, **_common(draw))


def depthwise_line(draw):
    channels, taps = draw.choice((144, 256, 384, 512, 1024)), draw.choice((3, 4, 7, 15, 31))
    return Case("depthwise", layout="first", inputs=channels, outputs=channels, side=(draw.choice((128, 400, 1000, 2048)),),
                kernel=(taps,), padding=taps // 2, groups=channels, **_common(draw))


def depthwise_layer(draw):
    channels, taps = draw.choice((16, 24, 40, 72, 120, 144, 232, 240, 480, 576, 672, 960, 1152)), draw.choice((3, 3, 5, 7))
    return Case("depthwise", layout=draw.choice(("first", "last")), inputs=channels, outputs=channels,
                side=(draw.choice((7, 14, 28, 56, 112)),) * 2, kernel=(taps,) * 2, stride=draw.choice((1, 1, 2)),
                padding=taps // 2, groups=channels, **_common(draw))


LAYERS = (grouped_layer, flat_layer, grouped_layer, line_layer, first_layer, depthwise_layer, flat_layer, grouped_layer,
          transposed, last_layer, squeezed_layer, grouped_line, depthwise_line, volume)
SETS = {"shapes": (7, KINDS, "convolutions"), "layers": (23, LAYERS, "convolution_layers")}


def cases(count, which="shapes"):
    seed, kinds, _ = SETS[which]
    draw, found, names = random.Random(seed), [], set()
    while len(found) < count:
        case = kinds[len(found) % len(kinds)](draw)
        if (case.is_small() or case.side == (1, 1)) and case.name not in names:
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

    for place, direction, kernel in kernels_of([made.calls for made in ready]):
        made = ready[place]
        case = made.case
        rows.add(case=case.name, half=case.half, kind=case.kind, dtype=case.dtype, layout=case.layout, batch=case.batch,
                 inputs=case.inputs, outputs=case.outputs, side="x".join(map(str, case.side)),
                 kernel="x".join(map(str, case.kernel)), stride=case.stride, padding=case.padding, dilation=case.dilation,
                 groups=case.groups, transposed=int(case.transposed), direction=direction, name=kernel["kernel"][:160],
                 grid=kernel["grid"], block=kernel["block"], calls=kernel["calls"], us=kernel["total_us"],
                 peak_bytes=made.peaks[direction], card=card)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="results")
    parser.add_argument("--budget-seconds", type=float, default=90.0)
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--set", choices=sorted(SETS), default="shapes")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    plan = cases(args.cases, args.set)
    if args.list:
        for case in plan:
            print(case.half, case.name)
        return
    deadline, rows, card = Deadline(args.budget_seconds), Rows(args.out, SETS[args.set][2], COLUMNS), card_name()
    measure_all(plan, lambda group: measure(group, rows, card), rows, deadline)


if __name__ == "__main__":
    main()
