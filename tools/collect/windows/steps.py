#!/usr/bin/env python3
"""Whole steps as programs run them: plain decoders, training, models of transformers.

    python3 tools/collect/windows/steps.py --out results --budget-seconds 500

Every row carries the host's pace of that moment: microseconds of a plain `add` on one number,
and of a turn of an empty Python loop.
"""

import argparse
import os
import statistics
import sys
import time
from dataclasses import astuple, dataclass, fields, replace

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.models.shapes import SHAPES, Shape  # noqa: E402
from collect.windows.rows import Deadline, Rows, attempt, card_name  # noqa: E402


@dataclass(frozen=True)
class Case:
    kind: str  # decoder | train | hf | hf_train
    model: str
    style: str  # merged | separate | hf | plain
    mode: str  # prefill | decode | train | forward
    engine: str  # graph | eager | compile
    dtype: str
    batch: int
    length: int

    @property
    def values(self):
        return {field.name: getattr(self, field.name) for field in fields(self)}


KEYS = [field.name for field in fields(Case)]
COLUMNS = ["card", *KEYS, "layers", "vocab", "latency_ms", "p10_ms", "p90_ms", "repeats", "burst_ms",
           "issue_ms", "wall_ms", "add_us", "loop_ns", "first_call_s", "sm_mhz", "watts",
           "note"]
KERNEL_COLUMNS = ["card", *KEYS, "kernel", "count", "total_us"]
MORE = {shape.name: shape for shape in [
    Shape("llama-3.2-3b", 3072, 28, 24, 8, 128, 8192, 128256, tied=True, theta=500000.0),
    Shape("qwen2.5-1.5b", 1536, 28, 12, 2, 128, 8960, 151936, tied=True, theta=1e6),
    replace(SHAPES["llama-3.1-8b"], name="llama-8b-4l", layers=4, vocab=32000),
    replace(SHAPES["llama-3.2-1b"], name="llama-1b-4l", layers=4, vocab=32000),
    Shape("mistral-7b-v0.3", 4096, 32, 32, 8, 128, 14336, 32768, theta=1e6),
    Shape("llama-2-7b", 4096, 32, 32, 32, 128, 11008, 32000),
    Shape("mistral-nemo-12b", 5120, 40, 32, 8, 128, 14336, 131072, theta=1e6),
]}
MORE |= {f"{name}-4l": replace(MORE[name], name=f"{name}-4l", layers=4, vocab=32000)
         for name in ("mistral-7b-v0.3", "llama-2-7b")}
DECODERS = [("llama-3.2-1b", ("merged", "separate", "hf")), ("llama-3.1-8b", ("merged", "separate")),
            ("llama-3.2-3b", ("merged", "hf")), ("qwen2.5-1.5b", ("merged", "hf"))]
PREFILLS = [(1, 128), (1, 512), (1, 2048), (1, 8192), (8, 512), (4, 2048)]
DECODES = [(1, 512), (1, 8192), (8, 2048), (32, 2048), (64, 1024), (128, 512)]


def shape_of(name):
    return MORE.get(name) or SHAPES[name]


def decoder_cases(smoke):
    if smoke:
        return [Case("decoder", "llama-1b-4l", style, mode, "graph", "bf16", 2, 256)
                for style in ("merged", "separate", "hf") for mode in ("prefill", "decode")]
    found = []
    for model, styles in DECODERS:
        for style in styles:
            found += [Case("decoder", model, style, "prefill", "graph", "bf16", *size)
                      for size in PREFILLS]
            found += [Case("decoder", model, style, "decode", "graph", "bf16", *size)
                      for size in DECODES]
        found.append(Case("decoder", model, styles[0], "prefill", "eager", "bf16", 1, 512))
        found.append(Case("decoder", model, styles[0], "decode", "eager", "bf16", 8, 2048))
    return found


def train_cases(smoke):
    make = lambda model, batch, length, engine="eager", dtype="bf16": Case(
        "train", model, "plain", "train", engine, dtype, batch, length)
    if smoke:
        return [make("llama-1b-4l", 1, 2048), make("llama-1b-4l", 1, 2048, "eager", "autocast_bf16")]
    sizes = [(1, 2048), (2, 4096), (1, 8192), (8, 4096), (1, 32768)]
    found = [make("tinyllama-1.1b", *size) for size in sizes]
    found += [make("llama-8b-4l", *size) for size in sizes]
    found += [make("llama-3.2-1b", *size) for size in sizes[:3]]
    found += [make("llama-1b-4l", *size) for size in (sizes[0], sizes[2], sizes[4])]
    found += [make("gpt2-large", 2, 1024), make("gpt2-large", 8, 1024)]
    found += [make("tinyllama-1.1b", *size, "eager", "autocast_bf16") for size in sizes[:3]]
    return found


def compile_cases(smoke):
    make = lambda model, batch, length: Case("train", model, "plain", "train", "compile", "bf16",
                                             batch, length)
    if smoke:
        return [make("llama-1b-4l", 1, 2048)]
    return [make("llama-1b-4l", 1, 8192), make("llama-8b-4l", 1, 8192),
            make("llama-8b-4l", 1, 2048), make("llama-8b-4l", 1, 32768),
            make("llama-1b-4l", 1, 2048), make("llama-1b-4l", 1, 32768),
            make("llama-8b-4l", 8, 4096)]


FRESH_DECODERS = [("mistral-7b-v0.3", ("merged", "separate")), ("llama-2-7b", ("merged", "hf")),
                  ("mistral-nemo-12b", ("merged", "hf")), ("tinyllama-1.1b", ("separate", "hf"))]
FRESH_PREFILLS = [(1, 512), (1, 4096), (8, 1024), (2, 8192)]
FRESH_DECODES = [(1, 2048), (16, 4096), (64, 512), (128, 1024)]


def fresh_cases(smoke):
    """Models and sizes that no other part has."""
    found = []
    for model, styles in FRESH_DECODERS[-1:] if smoke else FRESH_DECODERS:
        for style in styles:
            found += [Case("decoder", model, style, mode, "graph", "bf16", *size)
                      for mode, sizes in (("prefill", FRESH_PREFILLS), ("decode", FRESH_DECODES))
                      for size in (sizes[:1] if smoke else sizes)]
    trained = [Case("train", f"{model}-4l", "plain", "train", engine, "bf16", 1, length)
               for engine in ("eager", "compile") for model in ("mistral-7b-v0.3", "llama-2-7b")
               for length in (2048, 8192, 32768)]
    return found + trained[:1 if smoke else None]


def hf_cases(smoke):
    from collect.windows import hf_models
    found = []
    for name, (_, length, batches, labels) in hf_models.MODELS.items():
        for batch in batches[:1] if smoke else batches:
            for engine in ("eager", "graph"):
                found.append(Case("hf", name, "hf", "forward", engine, "bf16", batch, length))
        if labels is not None and not smoke or name in ("vit-base", "t5-base"):
            found.append(Case("hf_train", name, "hf", "train", "eager", "bf16", batches[1], length))
        if name in ("vit-base", "bert-base") and not smoke:
            found.append(Case("hf", name, "hf", "forward", "graph", "fp32", batches[1], length))
    return found


PARTS = {"decoder": decoder_cases, "train": train_cases, "compile": compile_cases, "hf": hf_cases,
         "fresh": fresh_cases}


class Prepared:
    """Builds the step of a case and keeps the model while the next case has the same one."""

    def __init__(self):
        self.key, self.model = None, None

    def step(self, case):
        key = (case.kind.split("_")[0], case.model, case.dtype, case.engine == "compile")
        if self.key != key or case.kind == "hf_train":
            self.key = self.model = None
            _free()
            self.model, self.key = self.build(case), key
        if case.kind == "decoder":
            from collect.windows import decoder
            return decoder.Step(self.model, case.style, case.mode, case.batch, case.length)
        if case.kind == "train":
            return _train_step(self.model, case)
        return _hf_step(*self.model, case)

    def build(self, case):
        if case.kind == "decoder":
            from collect.windows import decoder
            return decoder.Weights(shape_of(case.model))
        if case.kind == "train":
            return _trainer(case)
        from collect.windows import hf_models
        return hf_models.build(case.model, case.dtype)


def _trainer(case):
    """The model of models/training.py with tables long enough, and its optimizer."""
    import torch
    from collect.models import training
    shape = shape_of(case.model)
    if shape.kind == "gpt2":
        shape = replace(shape, positions=max(shape.positions, case.length))
    with torch.device("cuda"):
        model = training.Decoder(shape, "plain", False)
    if shape.kind != "gpt2":
        half = torch.arange(0, shape.head_dim, 2, dtype=torch.float32, device="cuda")
        angles = torch.arange(32768, device="cuda")[:, None] * shape.theta ** (-half / shape.head_dim)
        angles = torch.cat((angles, angles), -1)[None, :, None]
        model.cos, model.sin = (torch.nn.Buffer(part.bfloat16())
                                for part in (angles.cos(), angles.sin()))
    if case.dtype == "bf16":
        model = model.bfloat16()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    call = torch.compile(model, dynamic=False) if case.engine == "compile" else model
    return model, optimizer, call


def _train_step(built, case):
    import torch
    from collect.models.training import precision
    model, optimizer, call = built
    vocab = shape_of(case.model).vocab
    ids, targets = (torch.randint(0, vocab, (case.batch, case.length), device="cuda")
                    for _ in range(2))

    def step():
        with precision(case):
            loss = call(ids, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return step


def _hf_step(model, inputs, case):
    import torch
    from collect.windows import hf_models
    given = inputs(case.batch)
    if case.mode == "forward":
        def forward():
            with torch.no_grad():
                return model(**given)[0]
        return forward
    given = hf_models.MODELS[case.model][3](given)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)

    def step():
        model(**given).loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return step


def _free():
    import gc
    import torch
    gc.collect()
    torch.cuda.empty_cache()


def host_pace():
    """(microseconds of an eager add on one number, nanoseconds of a turn of a Python loop)"""
    import torch
    one = torch.zeros(1, device="cuda")
    adds = []
    for _ in range(5):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(400):
            one + one
        adds.append((time.perf_counter() - began) / 400 * 1e6)
        torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(100_000):
        pass
    return statistics.median(adds), (time.perf_counter() - began) * 1e4


class Sweep:
    def __init__(self, folder):
        from collect.sensors import Sensors
        self.card, self.sensors, self.prepared = card_name(), Sensors(), Prepared()
        self.rows = Rows(folder, "h200_steps", COLUMNS)
        self.kernels = Rows(folder, "h200_steps_kernels", KERNEL_COLUMNS)

    def time(self, case):
        import torch
        from collect.models import clock
        step = self.prepared.step(case)
        began = time.perf_counter()
        step()
        torch.cuda.synchronize()
        first = time.perf_counter() - began
        graph = clock.capture(step) if case.engine == "graph" else None
        run = graph.replay if graph else step
        seconds = clock.warm_up(run)
        clock.MIN_REPEATS = 3 if seconds > 0.3 else 9
        times, readings = clock.back_to_back(run, clock.repeats_for(seconds), self.sensors,
                                             graph is not None)
        burst = self.burst(run)
        issue, wall = ("", "") if graph else self.host(run, 3 if seconds > 0.3 else 7)
        pace = host_pace()
        self.note(case, times, readings, burst, issue, wall, pace, first)
        if graph:
            graph.reset()

    def burst(self, run):
        """The shortest of three steps, each after idle time."""
        from collect.models import clock
        import torch
        found = []
        for _ in range(3):
            torch.cuda.synchronize()
            time.sleep(0.06)
            start, end = clock.event(), clock.event()
            torch.cuda._sleep(600_000)
            start.record()
            run()
            end.record()
            torch.cuda.synchronize()
            found.append(start.elapsed_time(end))
        return min(found)

    def host(self, run, repeats):
        from collect.models import clock
        issue, wall = clock.host_times(run, repeats)
        return statistics.median(issue), statistics.median(wall)

    def note(self, case, times, readings, burst, issue, wall, pace, first):
        tenths = statistics.quantiles(times, n=10, method="inclusive")
        layers, vocab = "", ""
        if case.kind in ("decoder", "train"):
            layers, vocab = shape_of(case.model).layers, shape_of(case.model).vocab
        late = readings[len(readings) // 2:]
        middle = lambda index: statistics.median(reading[index] for reading in late)
        self.rows.add(card=self.card, **case.values, layers=layers, vocab=vocab,
                      latency_ms=statistics.median(times), p10_ms=tenths[0], p90_ms=tenths[-1],
                      repeats=len(times), burst_ms=burst, issue_ms=issue, wall_ms=wall,
                      add_us=pace[0], loop_ns=pace[1], first_call_s=first, sm_mhz=middle(0),
                      watts=middle(2), note=_note(case))

    def profile(self, case):
        """Kernel times of one plain step, summed by name."""
        from collect.windows import kernel_names
        step = self.prepared.step(case)
        values, found = {**case.values, "engine": _plain_engine(case)}, {}
        for name, _, _, us in kernel_names.launched([step])[0]:
            count, total = found.get(name, (0, 0.0))
            found[name] = (count + 1, total + us)
        for name, (count, total) in sorted(found.items(), key=lambda item: -item[1][1]):
            self.kernels.add(card=self.card, **values, kernel=kernel_names.brief(name),
                             count=count, total_us=total)


def _plain_engine(case):
    """Kernels are listed from the step outside of a graph."""
    return "eager" if case.engine == "graph" else case.engine


def _note(case):
    if case.kind != "hf" or case.engine != "graph":
        return ""
    from collect.windows import hf_models
    return "explicit mask" if case.model in hf_models.MASKED_IN_GRAPHS else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="results")
    parser.add_argument("--budget-seconds", type=float, default=500)
    parser.add_argument("--parts", default="decoder,hf,train,compile")
    parser.add_argument("--smoke", action="store_true", help="every path once, briefly")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for part in ("decoder", "train", "compile", "fresh"):
            print(*PARTS[part](options.smoke), sep="\n")
        return 0
    import torch
    from collect.models import clock
    torch.set_float32_matmul_precision("highest")
    clock.WARM_SECONDS, clock.AIM_SECONDS, clock.MAX_REPEATS = 0.15, 0.3, 21
    if options.smoke:
        clock.WARM_SECONDS = clock.AIM_SECONDS = 0.02
    deadline, sweep, timed = Deadline(options.budget_seconds), Sweep(options.out), []
    for part in options.parts.split(","):
        for case in PARTS[part](options.smoke):
            if deadline.passed(0.85):
                print("steps: time is up at", *astuple(case))
                break
            if attempt(sweep.time, case):
                timed.append(case)
        print(f"steps: {part}, {sweep.rows.count} rows after {deadline.elapsed():.0f} s", flush=True)
    once = {replace(case, engine=_plain_engine(case)): case for case in timed}
    for case in once.values():
        if deadline.passed():
            print("steps: profiles cut short at", *astuple(case))
            break
        attempt(sweep.profile, case)
    print(f"steps: {sweep.kernels.count} kernel rows, {deadline.elapsed():.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
