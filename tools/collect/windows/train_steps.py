#!/usr/bin/env python3
"""Training steps of decoders cut to a few layers: bf16 and fp8, recomputation, adapters; times and memory.

    python3 tools/collect/windows/train_steps.py --out results --budget-seconds 400

Engine `compile` compiles every block on its own, as torchtitan's apply_compile does, and the loss; norm, head and
optimizer stay eager. A row holds steps back to back for a second after some load.
"""

import argparse
import gc
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
    model: str  # 1b | 3b | 8b: shapes of Llama 3.2 and 3.1
    layers: int
    batch: int
    length: int
    precision: str = "bf16"  # or a recipe of float8_layers.py
    engine: str = "eager"
    recompute: str = "none"  # none | attention | alternate | ops | full
    rank: int = 0  # of adapters; 0: everything is trained
    targets: str = ""  # qv | all
    turn: int = 1  # 2: the same case once more


KEYS = [field.name for field in fields(Case)]
COLUMNS = ["card", *KEYS, "vocab", "latency_ms", "p10_ms", "p90_ms", "repeats", "wall_ms", "burst_ms", "issue_ms",
           "forward_ms", "backward_ms", "optimizer_ms", "peak_bytes", "reserved_bytes", "resting_bytes",
           "after_forward_bytes", "parameters", "trained", "first_call_s", "add_us", "sm_mhz", "watts", "loss"]
KERNEL_COLUMNS = ["card", *KEYS, "kernel", "count", "total_us"]
VOCAB = 32000
MODELS = {"1b": SHAPES["llama-3.2-1b"], "8b": SHAPES["llama-3.1-8b"],
          "3b": Shape("llama-3.2-3b", 3072, 28, 24, 8, 128, 8192, 128256, tied=True, theta=500000.0)}
WARM_SECONDS, WINDOW_SECONDS = 0.3, 1.0


def cases(smoke):
    if smoke:
        return smoke_cases()
    found, sizes = [], [(1, 8192), (1, 2048), (4, 2048)]
    for size in sizes:
        for model in ("8b", "1b") + (("3b",) if size == sizes[0] else ()):
            for engine in ("eager", "compile"):
                for precision in ("bf16", "fp8_tensor", "fp8_row"):
                    found.append(Case(model, 4, *size, precision, engine))
    for how in ("full", "alternate", "attention", "ops"):
        found += [Case("8b", 4, 1, 8192, "bf16", "eager", how), Case("8b", 4, 4, 2048, "bf16", "eager", how),
                  Case("1b", 4, 1, 8192, "bf16", "eager", how), Case("8b", 4, 1, 8192, "bf16", "compile", how)]
    found += [Case("8b", 4, 1, 8192, "fp8_tensor", engine, "full") for engine in ("eager", "compile")]
    for model, layers in (("8b", 8), ("1b", 16)):
        lora = lambda batch, length, rank, targets, **more: Case(model, layers, batch, length, rank=rank,
                                                                 targets=targets, **more)
        found += [lora(*size, 64, "qv") for size in sizes] + [lora(1, 8192, 8, "qv"), lora(4, 2048, 8, "all"),
                  lora(1, 8192, 64, "all"), lora(1, 8192, 64, "all", recompute="full"),
                  lora(1, 8192, 64, "all", engine="compile")]
    found.append(Case("8b", 4, 1, 8192, "fp8_row_gw_hp", "compile"))
    again = [Case(model, 4, 1, 8192, precision, turn=2) for model in ("8b", "1b")
             for precision in ("bf16", "fp8_tensor")]
    return found + again


def smoke_cases():
    make = lambda **more: Case("1b", 2, 1, 1024, **more)
    found = [make(precision=precision, engine=engine)
             for precision in ("bf16", "fp8_tensor", "fp8_row", "fp8_row_gw_hp") for engine in ("eager", "compile")]
    found += [make(recompute=how, engine=engine)
              for how in ("full", "attention", "ops") for engine in ("eager", "compile")]
    found += [make(precision="fp8_tensor", recompute="full", engine=engine) for engine in ("eager", "compile")]
    return found + [make(rank=8, targets="qv"), make(rank=64, targets="all", recompute="full"),
                    make(rank=64, targets="all", engine="compile"), make(recompute="alternate")]


def build_model(case):
    import torch
    from collect.models import training
    from collect.windows import float8_layers, recompute
    shape = replace(MODELS[case.model], layers=case.layers, vocab=VOCAB, tied=False)

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(shape.vocab, shape.hidden)
            self.blocks = torch.nn.ModuleList(recompute.Block(shape, "") for _ in range(shape.layers))
            self.norm = torch.nn.RMSNorm(shape.hidden, eps=shape.eps)
            self.head = torch.nn.Linear(shape.hidden, shape.vocab, bias=False)
            training.Decoder._rope_table(self, shape)

        def forward(self, ids, targets):
            x, places = self.embedding(ids), (self.cos[:, :ids.shape[1]], self.sin[:, :ids.shape[1]])
            for block in self.blocks:
                x = block(x, *places)
            return self.loss(self.head(self.norm(x)), targets)

        def loss(self, logits, targets):
            return cross_entropy(logits, targets)

    with torch.device("cuda"):
        model = Decoder().bfloat16()
        _long_rope(model, shape)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, 0.0, 0.02)
    if case.rank:
        model.requires_grad_(False)
    chosen = ("q", "v") if case.targets == "qv" else float8_layers.LINEARS
    for block in model.blocks:
        float8_layers.convert(block, case.precision, case.rank, chosen)
    recompute.apply(model, case.recompute)
    if case.engine == "compile":
        for block in model.blocks:
            block.compile(dynamic=False, fullgraph=True)
        model.loss = torch.compile(cross_entropy, dynamic=False)
    return model


def _long_rope(model, shape):
    import torch
    half = torch.arange(0, shape.head_dim, 2, dtype=torch.float32)
    angles = torch.arange(8192)[:, None] * shape.theta ** (-half / shape.head_dim)
    angles = torch.cat((angles, angles), -1)[None, :, None]
    model.cos, model.sin = (torch.nn.Buffer(part.bfloat16()) for part in (angles.cos(), angles.sin()))


def cross_entropy(logits, targets):
    import torch.nn.functional as F
    return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))


class Step:
    def __init__(self, case):
        import torch
        gc.collect()
        torch.cuda.empty_cache()
        torch._dynamo.reset()
        self.model = build_model(case)
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.optimizer = torch.optim.AdamW(trained, lr=1e-5, fused=True)
        self.ids, self.targets = (torch.randint(0, VOCAB, (case.batch, case.length), device="cuda") for _ in range(2))
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.trained = sum(parameter.numel() for parameter in trained)

    def __call__(self, between=lambda name: None):
        loss = self.model(self.ids, self.targets)
        between("forward")
        loss.backward()
        self.last = loss.detach()
        del loss
        between("backward")
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        between("optimizer")


def memory(step):
    import torch
    seen = {}

    def note(name):
        if name == "forward":
            seen["after_forward_bytes"] = torch.cuda.memory_allocated()
    torch.cuda.synchronize()
    seen["resting_bytes"] = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step(note)
    torch.cuda.synchronize()
    return {**seen, "peak_bytes": torch.cuda.max_memory_allocated(), "reserved_bytes": torch.cuda.max_memory_reserved()}


def window(step, repeats, sensors):
    """Milliseconds of each step by events, milliseconds a step by the host's clock, what the sensors said."""
    import torch
    from collect.models import clock
    marks = [clock.event() for _ in range(repeats + 1)]
    gc.collect()
    gc.disable()
    torch.cuda.synchronize()
    began = time.perf_counter()
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    readings = clock.watch(marks[-1], sensors)
    torch.cuda.synchronize()
    wall = 1e3 * (time.perf_counter() - began) / repeats
    gc.enable()
    return [first.elapsed_time(second) for first, second in zip(marks, marks[1:])], wall, readings


def phases(step, rounds):
    """Medians of the times between events at the phases' ends, of steps back to back."""
    import torch
    from collect.models import clock
    found = []
    for _ in range(rounds):
        marks = [("", clock.event())]
        marks[0][1].record()

        def note(name):
            marks.append((name, clock.event()))
            marks[-1][1].record()
        step(note)
        found.append(marks)
    torch.cuda.synchronize()
    return {later + "_ms": statistics.median(marks[index][1].elapsed_time(marks[index + 1][1]) for marks in found)
            for index, later in enumerate(("forward", "backward", "optimizer"))}


class Sweep:
    def __init__(self, folder):
        from collect.sensors import Sensors
        self.card, self.sensors = card_name(), Sensors()
        self.rows = Rows(folder, "h200_training_steps", COLUMNS)
        self.kernels = Rows(folder, "h200_training_kernels", KERNEL_COLUMNS)

    def time(self, case):
        import torch
        from collect.models import clock
        from collect.windows import steps
        step = Step(case)
        began = time.perf_counter()
        step()
        torch.cuda.synchronize()
        first = time.perf_counter() - began
        seconds = clock.warm_up(step)
        measured = memory(step)
        repeats = max(3, int(WINDOW_SECONDS / seconds))
        times, wall, readings = window(step, repeats, self.sensors)
        measured.update(phases(step, 3 if seconds > 0.1 else 7))
        issue, _ = clock.host_times(step, 3)
        burst = steps.Sweep.burst(None, step)
        tenths = statistics.quantiles(times, n=10, method="inclusive")
        late = readings[len(readings) // 2:]
        middle = lambda index: statistics.median(reading[index] for reading in late)
        self.rows.add(card=self.card, **values(case), vocab=VOCAB, latency_ms=statistics.median(times),
                      p10_ms=tenths[0], p90_ms=tenths[-1], repeats=repeats, wall_ms=wall, burst_ms=burst,
                      issue_ms=statistics.median(issue), **measured, parameters=step.parameters, trained=step.trained,
                      first_call_s=first, add_us=steps.host_pace()[0], sm_mhz=middle(0), watts=middle(2),
                      loss=float(step.last))

    def profile(self, case):
        """Kernel times of one step, summed by name."""
        from collect.windows import kernel_names
        step, found = Step(case), {}
        step()
        for name, _, _, us in kernel_names.launched([step])[0]:
            count, total = found.get(name, (0, 0.0))
            found[name] = (count + 1, total + us)
        for name, (count, total) in sorted(found.items(), key=lambda item: -item[1][1]):
            self.kernels.add(card=self.card, **values(case), kernel=kernel_names.brief(name), count=count,
                             total_us=total)


def values(case):
    return {key: getattr(case, key) for key in KEYS}


def warm(index, of, smoke):
    """Compiles a share of the compiled cases with a layer or two each, for the cache that the timed run reads."""
    import torch
    compiled = [case for case in cases(smoke) if case.engine == "compile"]
    for case in compiled[index::of]:
        layers = 2 if case.rank or case.recompute == "alternate" else 1  # blocks that differ
        attempt(lambda case: (Step(replace(case, layers=layers))(), torch.cuda.synchronize()), case)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="results")
    parser.add_argument("--budget-seconds", type=float, default=400)
    parser.add_argument("--warm", default="", help="i/n: only compile the i-th of n shares")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first so many cases")
    parser.add_argument("--engines", default="eager,compile")
    parser.add_argument("--smoke", action="store_true", help="every path once, briefly")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print(*cases(options.smoke), f"{len(cases(options.smoke))} cases", sep="\n")
        return 0
    if options.warm:
        warm(*map(int, options.warm.split("/")), options.smoke)
        return 0
    from collect.models import clock
    global WINDOW_SECONDS
    clock.WARM_SECONDS = WARM_SECONDS
    if options.smoke:
        clock.WARM_SECONDS = WINDOW_SECONDS = 0.03
    deadline, sweep, timed = Deadline(options.budget_seconds), Sweep(options.out), []
    for case in cases(options.smoke)[options.skip:]:
        if case.engine not in options.engines.split(","):
            continue
        if deadline.passed(0.78):
            print("train_steps: time is up at", *astuple(case), flush=True)
            break
        if attempt(sweep.time, case):
            timed.append(case)
    print(f"train_steps: {sweep.rows.count} rows after {deadline.elapsed():.0f} s", flush=True)
    for case in sorted(timed, key=lambda case: case.engine == "compile"):
        if deadline.passed():
            print("train_steps: profiles cut short at", *astuple(case), flush=True)
            break
        if case.turn == 1:
            attempt(sweep.profile, case)
    print(f"train_steps: {sweep.kernels.count} kernel rows, {deadline.elapsed():.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
