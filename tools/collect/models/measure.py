#!/usr/bin/env python3
"""Times whole models on a CUDA GPU: inference and training steps, phases, memory and kernels.

    python3 tools/collect/models/measure.py --list
    python3 tools/collect/models/measure.py --out results --part inference --pass time
    python3 tools/collect/models/measure.py --out results --part inference --pass burst
    python3 tools/collect/models/measure.py --out results --part inference --pass profile

Timing (steady, or in bursts after pauses) and profiling are separate passes: a profiler once
started slows later launches. Started again with the same --out, or with --skip OLD.csv, finished
cases are left out.
"""

import argparse
import os
import signal
import sys
import time
import traceback

sys.path[0] = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

from collect.models import plan, shapes  # noqa: E402

COMPILE_LIMIT_SECONDS = 150
REPLAYS = 3  # profiled steps
HOST_REPEATS = 11


def software():
    import torch
    import triton
    cudnn = torch.backends.cudnn.version()
    return (f"torch {torch.__version__} cuda {torch.version.cuda} cudnn {cudnn} "
            f"triton {triton.__version__}")


class Session:
    def __init__(self, options):
        import torch
        from collect import sensors
        from collect.models import clock, kernel_trace, marks, rows, steps
        self.torch, self.clock, self.marks, self.trace = torch, clock, marks, kernel_trace
        self.steps, self.options = steps, options
        self.sensors = sensors.Sensors()
        card = str(torch.cuda.get_device_properties(0).uuid)[:8]
        self.rows = rows.Rows(options.out, options.gpu, card, software(), options.skip)
        self.began, self.failures = time.monotonic(), 0
        torch.manual_seed(20261115)
        print(sensors.describe(), "|", software(), "| card", card, "|", _processor(), flush=True)

    def run(self, cases):
        kind = self.options.kind
        if kind == "burst":
            cases = [case for case in cases if _heats(case)]
        left = [case for case in cases if (case.key, kind) not in self.rows.done]
        print(f"{len(left)} of {len(cases)} cases to {kind}", flush=True)
        for model, group in _by_model(left):
            serving = [case for case in group if case.mode in ("prefill", "decode")]
            server = self.guard(serving[0], lambda: self.server(model, serving)) \
                if serving and not self.late() else None
            for case in group:
                if self.late():
                    print("time is up before", *case.key, flush=True)
                    return
                if case in serving and server is None:
                    continue
                self.guard(case, lambda: self.one(case, server))
            server = None
            self.steps.free()

    def late(self):
        return time.monotonic() - self.began > self.options.budget_seconds

    def guard(self, case, work):
        """Runs the work; a failure is noted and the next case goes on."""
        began = time.monotonic()
        try:
            if case.engine.startswith("compile"):
                signal.alarm(COMPILE_LIMIT_SECONDS)
            result = work()
            print(f"{time.monotonic() - self.began:6.1f} s  +{time.monotonic() - began:5.1f}",
                  *case.key, flush=True)
            return result
        except Exception as error:
            self.failures += 1
            self.rows.failed(case, self.options.kind, f"{type(error).__name__}: {error}")
            print("FAILED", *case.key, traceback.format_exc(limit=-4), flush=True)
            return None
        finally:
            signal.alarm(0)
            self.marks.label_steps(False)
            self.steps.free()

    def shape(self, model):
        shape = shapes.SHAPES[model]
        return shapes.tiny(shape) if self.options.tiny else shape

    def server(self, model, cases):
        with self.torch.no_grad():
            return self.steps.Server(self.shape(model), cases)

    def one(self, case, server):
        if case.mode in ("prefill", "decode"):
            with self.torch.no_grad():
                return self.serve(case, server)
        return self.train(case)

    # Inference

    def serve(self, case, server):
        torch, clock = self.torch, self.clock
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run = server.step(case)
        began = time.monotonic()
        run()
        torch.cuda.synchronize()
        first_seconds = time.monotonic() - began
        step_bytes = torch.cuda.max_memory_allocated() - before
        graph = clock.capture(run) if case.engine.endswith("cudagraph") else None
        if self.options.kind == "profile":
            self.profile_serving(case, run, graph)
            return
        call = run if graph is None else graph.replay
        if self.options.kind == "burst":
            clock.warm_up(call)
            times, readings = clock.after_pauses(call, self.sensors)
            self.rows.samples(case, "burst_ms", times[::2], readings,
                              "first step after a pause of 0.25 s")
            self.rows.samples(case, "burst_second_ms", times[1::2], readings,
                              "second step after the pause")
            return
        repeats = clock.repeats_for(clock.warm_up(call))
        times, readings = clock.back_to_back(call, repeats, self.sensors, graph is not None)
        self.rows.samples(case, "latency_ms", times, readings)
        if graph is None:
            self.host(case, run, repeats)
        self.rows.value(case, "weights_bytes", server.weight_bytes)
        self.rows.value(case, "cache_bytes",
                        server.shape.cache_bytes(case.batch, case.length))
        self.rows.value(case, "step_peak_bytes", step_bytes,
                        "above weights and cache: activations and workspace")
        if case.engine == "compile":
            self.rows.value(case, "first_call_s", first_seconds)

    def host(self, case, run, repeats):
        issue, whole = self.clock.host_times(run, repeats)
        self.rows.samples(case, "issue_ms", issue, notes="host time to issue, idle device")
        self.rows.samples(case, "wall_ms", whole, notes="one step, synchronised")

    def profile_serving(self, case, run, graph):
        labelled = self.trace_of(run, 1, True) if not case.engine.startswith("compile") else None
        call = run if graph is None else graph.replay
        found = self.trace_of(call, REPLAYS, False)
        if labelled is None or not self.trace.label(found, labelled):
            found, steps = (self.trace_of(run, 1, True), 1) if graph is None else (found, REPLAYS)
            print("kernels of the replay are not labelled", *case.key)
        else:
            steps = REPLAYS
        self.note_kernels(case, found, steps)

    def trace_of(self, run, steps, host):
        from torch.profiler import ProfilerActivity, profile
        torch, path = self.torch, f"/tmp/models_{os.getpid()}.json"
        activities = [ProfilerActivity.CUDA] + ([ProfilerActivity.CPU] if host else [])
        self.marks.label_steps(host)
        run()
        torch.cuda.synchronize()
        with profile(activities=activities) as profiler:
            for _ in range(steps):
                run()
            torch.cuda.synchronize()
        self.marks.label_steps(False)
        profiler.export_chrome_trace(path)
        return self.trace.kernels(path)

    def note_kernels(self, case, found, steps):
        self.rows.kernel_list(case, self.trace.grouped(found, steps))
        for metric, value in self.trace.summary(found, steps).items():
            self.rows.value(case, metric, value, "profiled")

    # Training

    def train(self, case):
        torch, clock = self.torch, self.clock
        trainer = self.steps.Trainer(self.shape(case.model), case)
        began = time.monotonic()
        trainer.step()
        torch.cuda.synchronize()
        first_seconds = time.monotonic() - began
        trainer.step()
        if self.options.kind == "profile":
            found = self.trace_of(trainer.step, 2, True)
            self.note_kernels(case, found, 2)
            return
        memory = trainer.measure_memory()
        repeats = clock.repeats_for(clock.warm_up(trainer.step))
        self.time_phases(case, trainer, repeats)
        self.host(case, trainer.step, HOST_REPEATS)
        for metric, value in memory.items():
            self.rows.value(case, metric, value)
        if case.engine == "compile":
            self.rows.value(case, "first_call_s", first_seconds)

    def time_phases(self, case, trainer, repeats):
        """Steps queued one after the other, with events between the phases."""
        phases = []

        def run():
            marks = [("start", self.clock.event())]
            marks[0][1].record()

            def note(name):
                marks.append((name, self.clock.event()))
                marks[-1][1].record()

            trainer.step(note)
            phases.append(marks)

        times, readings = self.clock.back_to_back(run, repeats, self.sensors, False)
        self.rows.samples(case, "latency_ms", times, readings)
        for index in range(1, len(phases[0])):
            parts = [marks[index - 1][1].elapsed_time(marks[index][1]) for marks in phases]
            self.rows.samples(case, f"{phases[0][index][0]}_ms", parts, readings)


def _heats(case):
    """Whether a steady run of the case may meet the power limit."""
    return case.engine == "cudagraph" and (case.mode == "prefill" or case.batch >= 32)


def _by_model(cases):
    groups = {}
    for case in cases:
        groups.setdefault(case.model, []).append(case)
    return list(groups.items())


def _processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":")[1].strip() for line in file if "model name" in line), "")
    except OSError:
        return ""


def _shrunk(cases):
    """Small sizes for a trial, each kind of case once."""
    from dataclasses import replace
    small = {}
    for case in cases:
        found = replace(case, batch=2, length=64)
        small.setdefault(found.key, found)
    return list(small.values())


def _on_alarm(_signal, _frame):
    raise TimeoutError("compilation took too long")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gpu", default="H200-SXM", help="the card's name, as `tilecast gpus` has it")
    parser.add_argument("--out", default="models", help="folder of the result files")
    parser.add_argument("--part", default="inference,training,compile", help="comma-separated")
    parser.add_argument("--models", default="", help="comma-separated; all when empty")
    parser.add_argument("--pass", dest="kind", choices=["time", "burst", "profile"], default="time")
    parser.add_argument("--skip", nargs="*", default=[], help="result files with finished cases")
    parser.add_argument("--budget-seconds", type=float, default=580)
    parser.add_argument("--tiny", action="store_true", help="try every path at small sizes")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    cases = [case for part in options.part.split(",") for case in plan.PARTS[part]()
             if not options.models or case.model in options.models.split(",")]
    if options.tiny:
        cases = _shrunk(cases)
    if options.list:
        for case in cases:
            print(*case.key)
        return 0
    signal.signal(signal.SIGALRM, _on_alarm)
    session = Session(options)
    session.run(cases)
    return 1 if session.failures else 0


if __name__ == "__main__":
    sys.exit(main())
