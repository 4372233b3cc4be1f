"""One program in a process of its own: built and warmed beside others, then measured while every other one is stopped."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import statistics
import time
import traceback
from contextlib import nullcontext
from typing import Any, Callable

from . import catalogue, profiled
from .catalogue import Program

LOAD_SECONDS, WINDOW_SECONDS = 0.35, 0.65  # a program's steps back to back: first not counted, then counted
SHORT_LOAD, SHORT_WINDOW = 0.15, 0.25  # programs that are run for their traces
LEAST_STEPS, MOST_STEPS = 5, 200
WARMING = 4  # how many run their first steps at a time
PROFILED_STEPS = 2


class Place:
    """The files through which a worker and the coordinator communicate."""

    def __init__(self, folder: str, name: str) -> None:
        self.base = os.path.join(folder, name)

    def say(self, word: str) -> None:
        open(f"{self.base}.{word}", "w").close()

    def said(self, word: str) -> bool:
        return os.path.exists(f"{self.base}.{word}")

    def write(self, result: dict[str, Any]) -> None:
        with open(self.base + ".part", "w") as file:
            json.dump(result, file)
        os.rename(self.base + ".part", self.base + ".json")

    def wait(self, word: str) -> None:
        while not self.said(word):
            time.sleep(0.002)


class Slot:
    """One of a few places to run first steps in, so that peaks of memory do not add up."""

    def __init__(self, folder: str, number: int) -> None:
        self.file = open(os.path.join(folder, f"slot{number % WARMING}"), "w")

    def __enter__(self) -> None:
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: Any) -> None:
        fcntl.flock(self.file, fcntl.LOCK_UN)


def run_worker(program: Program, folder: str, number: int, device: str) -> None:
    place = Place(folder, program.name)
    result: dict[str, Any] = {"name": program.name, "status": "failed"}
    try:
        _measured(program, place, result, folder, number, device)
        result["status"] = "ok"
    except BaseException as error:
        result["error"] = " ".join(f"{type(error).__name__}: {error}".split())[:400]
        result["where"] = traceback.format_exc()[-1500:]
    place.say("measured")
    place.write(result)


def _measured(program: Program, place: Place, result: dict[str, Any], folder: str, number: int, device: str) -> None:
    import torch
    began = time.perf_counter()
    work = prepared(program, device)
    result["parameters"] = sum(parameter.numel() for parameter in work.model.parameters())
    result["build_s"] = time.perf_counter() - began
    crowded = False
    with nullcontext() if program.engine == "compile" else Slot(folder, number):  # compiling takes long
        try:
            _first_steps(work, result, device)
        except torch.OutOfMemoryError:  # beside others; once more when it is alone
            crowded = True
        if device == "cuda":
            gc.collect()
            torch.cuda.empty_cache()
    place.say("ready")
    place.wait("go")
    if crowded:
        _first_steps(work, result, device)
    _memory(work, result, device)
    result["add_us"] = pace(device)
    timed(work, result, device, program.trace)
    steps = 1 if program.trace else PROFILED_STEPS
    path = place.base + ".trace"
    trace = profiled.profile(work.run, steps, path)
    place.say("measured")
    profiled.remove(path)
    del work
    events = profiled.timed_events(trace)
    result["kernels"] = profiled.grouped(events, steps)
    result["kernel_sum_ms"] = sum(row["total_us"] for row in result["kernels"]) / 1e3
    result["launches"] = sum(row["calls"] for row in result["kernels"])
    if program.trace:
        profiled.save_short(trace, place.base + ".trace.gz")


def _first_steps(work: Any, result: dict[str, Any], device: str) -> None:
    import torch
    began = time.perf_counter()
    for _ in range(2):
        work.run()
    _wait(device)
    result["first_steps_s"] = time.perf_counter() - began
    if device == "cuda":
        result["reserved_bytes"] = torch.cuda.max_memory_reserved()


def prepared(program: Program, device: str) -> Any:
    import torch
    torch.manual_seed(0)
    with torch.device(device):
        work = catalogue.build(program)
        return work.prepare(program.engine == "compile")


def _wait(device: str) -> None:
    import torch
    if device == "cuda":
        torch.cuda.synchronize()


def _memory(work: Any, result: dict[str, Any], device: str) -> None:
    import torch
    if device != "cuda":
        work.run()
        return
    gc.collect()
    torch.cuda.synchronize()
    result["resting_bytes"] = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    work.run()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    result["peak_bytes"] = torch.cuda.max_memory_allocated()
    result["peak_requested_bytes"] = stats.get("requested_bytes.all.peak", 0)
    result["reserved_again_bytes"] = torch.cuda.max_memory_reserved()


def pace(device: str) -> float:
    """Microseconds the host takes to issue an addition of one number to an idle card."""
    import torch
    x, found = torch.ones(1, device=device), []
    for _ in range(5):
        _wait(device)
        began = time.perf_counter()
        for _ in range(200):
            x + x
        found.append((time.perf_counter() - began) / 200 * 1e6)
    _wait(device)
    return statistics.median(found)


def timed(work: Any, result: dict[str, Any], device: str, short: bool) -> None:
    """Steps issued to an idle device, then steps back to back: load first, then the counted window."""
    from collect.sensors import Sensors
    load, window = (SHORT_LOAD, SHORT_WINDOW) if short else (LOAD_SECONDS, WINDOW_SECONDS)
    gc.collect()
    gc.disable()
    try:
        issue, whole = _issued(work.run, device)
        result["issue_ms"], result["idle_wall_ms"] = 1e3 * min(issue), 1e3 * min(whole)
        each = max(min(whole), 1e-5)
        for _ in range(_steps(load, each)):
            work.run()
        _wait(device)
        count = _steps(window, each)
        times, wall = _back_to_back(work.run, count, device)
        result["sm_mhz"], _, result["watts"], result["celsius"] = Sensors().read()
    finally:
        gc.enable()
    times.sort()
    result.update(steps=count, latency_ms=statistics.median(times), least_ms=times[0],
                  p90_ms=times[int(0.9 * (count - 1))], wall_ms=1e3 * wall / count)


def _steps(seconds: float, each: float) -> int:
    return min(MOST_STEPS, max(LEAST_STEPS, int(seconds / each) + 1))


def _issued(run: Callable[[], Any], device: str) -> tuple[list[float], list[float]]:
    issue, whole = [], []
    for _ in range(3):
        _wait(device)
        began = time.perf_counter()
        run()
        issue.append(time.perf_counter() - began)
        _wait(device)
        whole.append(time.perf_counter() - began)
    return issue, whole


def _back_to_back(run: Callable[[], Any], count: int, device: str) -> tuple[list[float], float]:
    """Milliseconds between events at the ends of successive steps, and the host's seconds for all of them."""
    import torch
    if device != "cuda":
        return [1e3 * _clocked(run) for _ in range(count)], 0.0
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    torch.cuda.synchronize()
    began = time.perf_counter()
    marks[0].record()
    for mark in marks[1:]:
        run()
        mark.record()
    torch.cuda.synchronize()
    wall = time.perf_counter() - began
    return [start.elapsed_time(end) for start, end in zip(marks, marks[1:])], wall


def _clocked(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began
